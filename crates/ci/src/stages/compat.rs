//! The workspace `cranelift-compat`, which depends on Cranelift, and its clients.

use crate::cargo::cargo;
use crate::output;
use crate::session::{Session, in_ci};
use crate::stages::corpus::allocators;
use crate::stages::emulated;
use crate::tier::Tier;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;
use std::process::Command;

const CLIENT: &str = "clients/rustpython";

/// Programs of WebAssembly on Wasmtime.
const WASMTIME: &str = "clients/wasmtime";

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
    }
    Ok(())
}

/// Newer versions of Cranelift, with the versions of Rust that they need.
const NEWER: [(&str, &str); 2] = [("0.136.5", "1.96.0"), ("0.137.1", "1.97.0")];

/// Generated modules with the first allocator, and with each other one.
const GENERATED: [&str; 2] = ["10000", "500"];

/// Runs programs, the official tests of WebAssembly and generated modules on Wasmtime with every allocator and the checker, and with
/// the first allocator the tests with all settings of the client. Then tests the program that compiles ahead of time, and runs its
/// output, on AArch64 by an emulator. Runs a part of this on newer versions of Wasmtime.
pub(crate) fn wasmtime(session: &mut Session) -> Result<()> {
    let folder = session.root.join("cranelift-compat").join(WASMTIME);
    if !fetch(session, &folder)? {
        return Ok(());
    }
    session.run(&mut in_folder(cargo(&["fmt", "--all", "--check"]), &folder))?;
    let allocators = allocators(session)?;
    for (index, allocator) in allocators.iter().enumerate() {
        let is_first = index == 0;
        let mut run = |words: &[&str]| {
            let mut command = in_folder(cargo(&[&["run", "--quiet", "--"], words].concat()), &folder);
            command.env("KINGPOST_REGALLOC", allocator).env("KINGPOST_CHECKER", "1");
            session.run(command.env("KINGPOST_CASES", GENERATED[usize::from(!is_first)]))
        };
        let text = run(&["check"])?;
        let programs = count_as_expected(&text);
        let text = run(if is_first { &["suite"] } else { &["suite", "none", "speed"] })?;
        let files = passed_files(&text);
        let text = run(&["generated"])?;
        let modules = equal_modules(&text);
        session.count("programs on Wasmtime", programs);
        session.count("files of the official tests", files);
        session.count("generated modules", modules);
    }
    let text = session.run(&mut in_folder(cargo(&["test"]), &folder))?;
    session.count("tests", output::tests(&text).0);
    let target =
        session.root.join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| folder.join("target").into()));
    let compiler = target.join("debug/kingpost-wasm");
    let stock = |options: &[&str]| {
        let words = [&["run", "--quiet", "--package", "stock-client"], options, &["--"]].concat();
        let mut command = in_folder(cargo(&words), &folder);
        command.arg(&compiler).args(&allocators);
        command
    };
    let text = session.run(&mut stock(&[]))?;
    session.count("runs on Wasmtime without a compiler", count_as_expected(&text));
    if emulated::is_available(session, "WebAssembly on AArch64")? {
        let mut command = stock(&["--target", emulated::TARGET]);
        emulated::emulate(&mut command, "");
        let text = session.run(&mut command)?;
        session.count("runs on AArch64", count_as_expected(&text));
        for (index, allocator) in allocators.iter().enumerate() {
            let mut run = |words: &[&str]| {
                let mut command = in_folder(cargo(&["run", "--quiet", "--target", emulated::TARGET, "--"]), &folder);
                emulated::emulate(&mut command, "");
                command.env("KINGPOST_REGALLOC", allocator).env("KINGPOST_CHECKER", "1");
                session.run(command.args(words).env("KINGPOST_CASES", "100"))
            };
            let programs = count_as_expected(&run(&["check"])?);
            // Padding makes all calls use veneers on this machine.
            let settings: &[&str] =
                if index == 0 { &["suite", "none", "speed", "padding"] } else { &["suite", "speed"] };
            let files = passed_files(&run(settings)?);
            let modules = if index == 0 { equal_modules(&run(&["generated"])?) } else { 0 };
            session.count("programs on AArch64", programs);
            session.count("files of the official tests on AArch64", files);
            session.count("generated modules on AArch64", modules);
        }
    }
    NEWER.into_iter().try_for_each(|(version, rust)| newer(session, &allocators, version, rust))
}

/// Runs programs with every allocator, and the official tests and the program that compiles ahead of time with the first, on the
/// version of Wasmtime that belongs to a newer version of Cranelift.
fn newer(session: &mut Session, allocators: &[String], version: &str, rust: &str) -> Result<()> {
    if !has_rust(rust) {
        session.skip(format!("Cranelift {version} needs Rust {rust}: `rustup toolchain install {rust}`"));
        return Ok(());
    }
    prepare_version(session, &[version])?;
    let folder = session.root.join("cranelift-compat/.upstream").join(version).join("clients/wasmtime");
    for (index, allocator) in allocators.iter().enumerate() {
        let mut run = |words: &[&str]| {
            let words = [&["run", "--quiet", "--"], words].concat();
            let mut command = in_folder(with_version(rust, &words), &folder);
            session.run(command.env("KINGPOST_REGALLOC", allocator).env("KINGPOST_CHECKER", "1"))
        };
        let text = run(&["check"])?;
        let files = if index == 0 { run(&["suite", "none", "speed"])? } else { String::new() };
        session.count("programs on newer Wasmtime", count_as_expected(&text));
        session.count("files on newer Wasmtime", passed_files(&files));
    }
    let text = session.run(&mut in_folder(with_version(rust, &["test"]), &folder))?;
    session.count("tests", output::tests(&text).0);
    Ok(())
}

/// Returns how many files of the official tests passed.
fn passed_files(text: &str) -> u64 {
    text.lines().filter_map(|line| number(line, " files passed")).sum()
}

/// Returns how many generated modules were equal.
fn equal_modules(text: &str) -> u64 {
    text.lines().filter_map(|line| number(line, " modules equal")).sum()
}

fn count_as_expected(text: &str) -> u64 {
    text.lines().filter(|line| line.ends_with(": as expected")).count() as u64
}

/// Returns the number before `unit` in a line of a report.
fn number(line: &str, unit: &str) -> Option<u64> {
    line.split_once(": ")?.1.split_once(unit)?.0.parse().ok()
}

/// Makes the copy of Cranelift's code generator, and fetches what the package in `folder` depends on. Returns `false`
/// if there is no network, which is an error in CI.
fn fetch(session: &mut Session, folder: &Path) -> Result<bool> {
    match prepare(session).and_then(|()| session.run(&mut in_folder(cargo(&["fetch"]), folder))) {
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
fn has_rust(version: &str) -> bool {
    with_version(version, &["--version"]).output().is_ok_and(|output| output.status.success())
}

/// Returns a command of the Cargo that `rustup` has with this version of Rust.
fn with_version(version: &str, words: &[&str]) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", version, "cargo"]).args(words);
    command
}

/// Returns the number at the beginning of a text.
fn minor(text: &str) -> Option<u32> {
    text.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn in_folder(mut command: Command, folder: &Path) -> Command {
    command.current_dir(folder);
    command
}
