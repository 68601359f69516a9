//! Tests that others wrote.

use crate::session::Session;
use crate::stages::filetests::test;
use crate::tier::Tier;
use anyhow::{Context, Result, bail, ensure};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Directives that contradict the meaning of their opcodes.
const KNOWN_WRONG: &[&str] = &["--known-wrong", ".ci/known-wrong"];
const TARGETS: [&str; 2] = ["x86_64", "aarch64"];
/// Settings that the modules of WebAssembly need.
const MODULE_SETTINGS: &[&str] =
    &["--set", "is_pic", "--set", "preserve_frame_pointers", "--set", "enable_multi_ret_implicit_sret"];

/// A run test: a row of the list beside them.
struct RunTest {
    path: PathBuf,
    tier: String,
    targets: String,
}

pub(crate) fn run(session: &mut Session) -> Result<()> {
    let Some(corpus) = session.corpus() else { return Ok(()) };
    test(session, &[corpus.join("clif-frontend")])?;
    let tests = run_tests(&corpus.join("clif-runtests"))?;
    scalars(session, &tests)?;
    vectors(session, &tests)?;
    allocator_cases(session, &corpus.join("regalloc-cases"))?;
    modules(session, &corpus.join("wasm-clif"))
}

fn run_tests(folder: &Path) -> Result<Vec<RunTest>> {
    let path = folder.join("manifest.tsv");
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let rows = text.lines().skip(1).filter_map(|line| {
        let mut columns = line.split('\t');
        let (file, tier, targets) = (columns.next()?, columns.next()?, columns.next()?);
        Some(RunTest { path: folder.join(file), tier: tier.into(), targets: targets.into() })
    });
    Ok(rows.collect())
}

/// Runs all tests; tests of the tiers T1 and T2 may not be skipped for their opcodes.
fn scalars(session: &mut Session, tests: &[RunTest]) -> Result<()> {
    let (first, others): (Vec<&RunTest>, Vec<&RunTest>) =
        tests.iter().partition(|test| test.tier == "T1" || test.tier == "T2");
    let text = test(session, &with_paths(&["--regalloc", "all"], &first))?;
    let is_allowed = |line: &str| ["CPU", "host", "target"].iter().any(|word| line.contains(word));
    if let Some(line) = text.lines().find(|line| line.starts_with("skipped") && !is_allowed(line)) {
        bail!("a test of tier T1 or T2 is skipped: {line}");
    }
    test(session, &with_paths(&["--regalloc", "all"], &others)).map(drop)
}

/// Returns the words, the list of wrong directives, and the paths of tests.
fn with_paths<'a>(words: &[&'a str], tests: &[&'a RunTest]) -> Vec<&'a OsStr> {
    let words = words.iter().chain(KNOWN_WRONG).map(|word| OsStr::new(*word));
    words.chain(tests.iter().map(|test| test.path.as_os_str())).collect()
}

/// Runs the tests of vectors (tier T4) for processors that they do not name, and with few registers.
fn vectors(session: &mut Session, tests: &[RunTest]) -> Result<()> {
    let vectors: Vec<&RunTest> = tests.iter().filter(|test| test.tier == "T4").collect();
    let (levels, registers): (&[&str], &[&str]) = match session.tier {
        Tier::Deep => (&["", "has_sse3 has_ssse3 has_sse41", "haswell"], &["all", "few"]),
        _ => (&["has_sse3 has_ssse3 has_sse41"], &["few"]),
    };
    for flags in levels {
        let folder = tempfile::tempdir_in(&session.scratch)?;
        for test in vectors.iter().filter(|test| test.targets.contains("x86_64")) {
            let text = fs::read_to_string(&test.path).with_context(|| test.path.display().to_string())?;
            let name = test.path.file_name().context("a test has a name")?;
            fs::write(folder.path().join(name), with_target(&text, &format!("target x86_64 {flags}")))?;
        }
        for registers in registers {
            let set = format!("regalloc_registers={registers}");
            let path = folder.path().to_str().context("the path of a folder")?;
            with_allocators(session, &["--set", &set, path].map(OsStr::new))?;
        }
    }
    let few = ["--set", "regalloc_registers=few", "--target", "aarch64"];
    let arm: Vec<&RunTest> = vectors.into_iter().filter(|test| test.targets.contains("aarch64")).collect();
    with_allocators(session, &with_paths(&few, &arm))
}

/// Runs tests with every allocator in the deepest tier, and else each test with one allocator, in turns.
fn with_allocators(session: &mut Session, words: &[&OsStr]) -> Result<()> {
    if session.tier == Tier::Deep {
        return test(session, &[&["--regalloc", "all"].map(OsStr::new), words].concat()).map(drop);
    }
    let allocators = allocators(session)?;
    for (number, allocator) in (1..).zip(&allocators) {
        let part = format!("{number}/{}", allocators.len());
        test(session, &[&["--regalloc", allocator, "--shard", &part].map(OsStr::new), words].concat())?;
    }
    Ok(())
}

/// Returns a test with one target line in place of its own; the numbers of lines stay.
fn with_target(text: &str, target: &str) -> String {
    let is_target = |line: &str| line.starts_with("target ");
    let last = text.lines().filter(|line| is_target(line)).count();
    let mut seen = 0;
    let lines = text.lines().map(|line| {
        seen += usize::from(is_target(line));
        match is_target(line) {
            true if seen == last => format!("{target}\n"),
            true => "\n".to_string(),
            false => format!("{line}\n"),
        }
    });
    lines.collect()
}

/// Returns the names of the register allocators, as the program lists them, and of the baseline.
///
/// # Errors
/// If it lists none.
pub(crate) fn allocators(session: &mut Session) -> Result<Vec<String>> {
    let mut command = session.program("kingpost")?;
    let text = session.run(command.args(["alloc", "--regalloc", "help"]))?;
    let mut names: Vec<String> =
        text.lines().filter_map(|line| line.split_whitespace().next()).map(Into::into).collect();
    ensure!(!names.is_empty(), "kingpost lists no register allocator");
    names.push("spill_all".into());
    Ok(names)
}

/// Compiles cases that were hard on the allocator of another compiler.
fn allocator_cases(session: &mut Session, folder: &Path) -> Result<()> {
    let mut cases: Vec<PathBuf> = fs::read_dir(folder)
        .with_context(|| folder.display().to_string())?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "clif"))
        .collect();
    cases.sort();
    for allocator in allocators(session)? {
        for case in &cases {
            compile(session, case, &["--regalloc", &allocator])?;
        }
    }
    Ok(())
}

/// Compiles modules of WebAssembly: the smallest, or in the deepest tier all.
fn modules(session: &mut Session, folder: &Path) -> Result<()> {
    if !session.has_tools(&["xz"], "modules of WebAssembly")? {
        return Ok(());
    }
    let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    let packed = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let packed = packed.filter(|path| path.to_string_lossy().ends_with(".clif.xz"));
    let mut modules = packed.map(|path| Ok((fs::metadata(&path)?.len(), path))).collect::<Result<Vec<_>>>()?;
    modules.sort();
    if session.tier < Tier::Deep {
        modules.truncate(1);
    }
    for (_, packed) in modules {
        let path = session.scratch.join(packed.file_stem().context("a module has a name")?);
        let status = Command::new("xz").arg("-dc").arg(&packed).stdout(File::create(&path)?).status()?;
        ensure!(status.success(), "xz: {}: {status}", packed.display());
        for target in TARGETS {
            for allocator in allocators(session)? {
                let words = [&["--target", target, "--regalloc", &allocator], MODULE_SETTINGS].concat();
                compile(session, &path, &words)?;
            }
        }
        fs::remove_file(&path)?;
    }
    Ok(())
}

/// Compiles a file; every stage is verified.
fn compile(session: &mut Session, file: &Path, words: &[&str]) -> Result<()> {
    let object = session.scratch.join("object.o");
    let mut command = session.program("kingpost")?;
    session.run(command.arg("compile").arg(file).arg("-o").arg(object).arg("--verify-each").args(words))?;
    session.count("files compiled", 1);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_replaced_in_place() {
        let text = "test run\ntarget a\nset x\ntarget b c\nfunction\n";
        assert_eq!(with_target(text, "target d"), "test run\n\nset x\ntarget d\nfunction\n");
    }
}
