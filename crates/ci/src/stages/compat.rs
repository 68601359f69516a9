//! The workspace `cranelift-compat`, which depends on Cranelift, and its clients.

use crate::cargo::cargo;
use crate::output;
use crate::session::{Session, in_ci};
use crate::stages::corpus::allocators;
use crate::tier::Tier;
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const CLIENT: &str = "clients/rustpython";

/// Cranelift's code generator with our register allocators.
const REGALLOC2: &str = "clients/regalloc2";

/// The name by which its own allocator is selected.
const UPSTREAM: &str = "regalloc2";

pub(crate) fn run(session: &mut Session) -> Result<()> {
    let folder = session.root.join("cranelift-compat");
    let compat = |words: &[&str]| in_folder(cargo(words), &folder);
    if !fetch(session, &folder)? {
        return Ok(());
    }
    session.run(&mut compat(&["fmt", "--all", "--check"]))?;
    let mut tests = compat(&["test", "--workspace"]);
    if session.tier < Tier::Deep {
        // Few tests run, so that most of the time is the build, of Cranelift among others.
        tests.args(["--lib", "--test", "context", "--test", "generated"]);
        tests.env("CARGO_PROFILE_DEV_OPT_LEVEL", "0").env("KINGPOST_CASES", "200");
    }
    let text = session.run(&mut tests)?;
    session.count("tests", output::tests(&text).0);
    if session.tier == Tier::Deep {
        session.run(&mut compat(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
        client(session, &folder.join(CLIENT))?;
        regalloc2(session, &folder.join(REGALLOC2))?;
    }
    Ok(())
}

/// Compiles our tests, and runs the official tests of WebAssembly, with Cranelift's code generator and our register allocators.
fn regalloc2(session: &mut Session, folder: &Path) -> Result<()> {
    let tests = session.root.join("filetests/run");
    let mut files: Vec<PathBuf> = fs::read_dir(&tests)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "clif"));
    files.sort();
    session.run(&mut in_folder(cargo(&["fmt", "--all", "--check"]), folder))?;
    let mut expected: Option<[u64; 3]> = None;
    for allocator in [UPSTREAM, "ssa", "linear", "backtracking"] {
        let with = |words: &[&str]| {
            let mut command = in_folder(cargo(&[&["run", "--quiet"], words].concat()), folder);
            command.env("KINGPOST_REGALLOC", allocator).env("KINGPOST_CHECKER", "1");
            command
        };
        // Some of our functions need a setting that this client does not set: the same ones with every allocator.
        let text = session.end_of(with(&["--"]).args(&files))?.text;
        let summary = summary(&text).with_context(|| format!("{allocator}: {text}"))?;
        let expected = *expected.get_or_insert(summary);
        ensure!(summary == expected, "{allocator}: {summary:?}, {UPSTREAM}'s own: {expected:?}\n{text}");
        if allocator != UPSTREAM {
            session.count("functions of Cranelift with our allocators", summary[0]);
            let text = session.run(&mut with(&["--bin", "wasm", "--", "suite", "none", "speed"]))?;
            session.count("files of the official tests", output::passed_files(&text));
        }
    }
    Ok(())
}

/// Returns how many functions the client compiled, and how many commands passed and failed.
fn summary(text: &str) -> Option<[u64; 3]> {
    let line = text.lines().rfind(|line| line.starts_with("compiled "))?;
    let numbers: Vec<u64> = line.split(' ').filter_map(|word| word.trim_end_matches([',', ';']).parse().ok()).collect();
    let [compiled, _bytes, _refused, passed, failed] = numbers[..] else { return None };
    Some([compiled, passed, failed])
}

/// Makes the copy of Cranelift's code generator, and fetches what the package in `folder` depends on. Returns `false`
/// if there is no network, which is an error in CI.
pub(crate) fn fetch(session: &mut Session, folder: &Path) -> Result<bool> {
    fetch_version(session, &[], folder)
}

/// Makes the packages for a version of Cranelift, and fetches what the package in `folder` depends on. Returns `false` if there is no
/// network, which is an error in CI.
pub(crate) fn fetch_version(session: &mut Session, version: &[&str], folder: &Path) -> Result<bool> {
    match prepare_version(session, version).and_then(|()| session.run(&mut in_folder(cargo(&["fetch"]), folder))) {
        Ok(_) => Ok(true),
        Err(error) if in_ci() => Err(error),
        Err(_) => {
            session.skip("Cranelift cannot be fetched");
            Ok(false)
        }
    }
}

/// Makes the copy of Cranelift's code generator that the packages build on.
pub(crate) fn prepare(session: &mut Session) -> Result<()> {
    prepare_version(session, &[])
}

/// Makes the packages for a version of Cranelift; for ours without one.
fn prepare_version(session: &mut Session, version: &[&str]) -> Result<()> {
    let folder = session.root.join("cranelift-compat/prepare");
    let words = [&["run", "--quiet", "--", "prepare"], version].concat();
    session.run(&mut in_folder(cargo(&words), &folder)).map(drop)
}

/// Runs the tests of a client with every allocator, if the compiler is new enough for it or `rustup` has one that is.
fn client(session: &mut Session, folder: &Path) -> Result<()> {
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).context("the client's manifest")?;
    let needed = manifest.lines().find_map(|line| minor(line.strip_prefix("rust-version = \"1.")?));
    let version = session.run(&mut cargo(&["--version"]))?;
    let have = version.strip_prefix("cargo 1.").and_then(minor);
    let (Some(needed), Some(have)) = (needed, have) else { bail!("{CLIENT}: no version of Rust") };
    let newer = format!("1.{needed}.0");
    let is_old = have < needed;
    if is_old && !has_rust(&newer) {
        session.skip(format!("{CLIENT} needs Rust 1.{needed}, this is 1.{have}: `rustup toolchain install {newer}`"));
        return Ok(());
    }
    session.run(&mut in_folder(cargo(&["fmt", "--check"]), folder))?;
    for allocator in allocators(session)? {
        let test = if is_old { with_version(&newer, &["test"]) } else { cargo(&["test"]) };
        let text =
            session.run(in_folder(test, folder).env("KINGPOST_REGALLOC", allocator).env("KINGPOST_CHECKER", "1"))?;
        session.count("tests of a client", output::tests(&text).0);
    }
    Ok(())
}

/// Returns `true` if `rustup` has this version of Rust.
pub(crate) fn has_rust(version: &str) -> bool {
    with_version(version, &["--version"]).output().is_ok_and(|output| output.status.success())
}

/// Returns a command of the Cargo that `rustup` has with this version of Rust.
pub(crate) fn with_version(version: &str, words: &[&str]) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", version, "cargo"]).args(words);
    command
}

/// Returns the number at the beginning of a text.
fn minor(text: &str) -> Option<u32> {
    text.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

pub(crate) fn in_folder(mut command: Command, folder: &Path) -> Command {
    command.current_dir(folder);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_has_the_counts() {
        let text = "a.clif: %f: wrong\ncompiled 12 functions to 345 bytes, refused 6; 78 commands passed, 9 failures\n";
        assert_eq!(summary(text), Some([12, 78, 9]));
        assert_eq!(summary("error: could not compile"), None);
    }
}
