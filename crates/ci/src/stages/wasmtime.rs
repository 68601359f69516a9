//! WebAssembly on Wasmtime with our compiler: on this machine, on AArch64 and on newer versions of Wasmtime.

use crate::cargo::cargo;
use crate::output;
use crate::session::Session;
use crate::stages::compat::{fetch, fetch_version, has_rust, in_folder, with_version};
use crate::stages::corpus::allocators;
use crate::stages::emulated;
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Programs of WebAssembly on Wasmtime.
const CLIENT: &str = "clients/wasmtime";

/// Newer versions of Cranelift, with the versions of Rust that they need.
const NEWER: [(&str, &str); 2] = [("0.136.5", "1.96.0"), ("0.137.1", "1.97.0")];

/// Generated modules with the first allocator, and with each other one.
const GENERATED: [&str; 2] = ["10000", "500"];

/// Runs programs, the official tests of WebAssembly and generated modules on Wasmtime with every allocator and the checker, and with
/// the first allocator the tests with all settings of the client. Then tests the program that compiles ahead of time, and runs its
/// output.
pub(crate) fn run(session: &mut Session) -> Result<()> {
    let folder = session.root.join("cranelift-compat").join(CLIENT);
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
        let programs = count_as_expected(&run(&["check"])?);
        let files = output::passed_files(&run(if is_first { &["suite"] } else { &["suite", "none", "speed"] })?);
        let modules = equal_modules(&run(&["generated"])?);
        session.count("programs on Wasmtime", programs);
        session.count("files of the official tests", files);
        session.count("generated modules", modules);
    }
    let text = session.run(&mut in_folder(cargo(&["test"]), &folder))?;
    session.count("tests", output::tests(&text).0);
    let text = session.run(&mut stock(session, &folder, &[], &allocators))?;
    session.count("runs on Wasmtime without a compiler", count_as_expected(&text));
    Ok(())
}

/// Runs the same programs and tests on AArch64, by an emulator. Only the first allocator has all levels and generated modules.
pub(crate) fn on_aarch64(session: &mut Session) -> Result<()> {
    let folder = session.root.join("cranelift-compat").join(CLIENT);
    if !emulated::is_available(session, "WebAssembly on AArch64")? || !fetch(session, &folder)? {
        return Ok(());
    }
    let allocators = allocators(session)?;
    session.run(&mut in_folder(cargo(&["build", "--package", "kingpost-wasm"]), &folder))?;
    let mut command = stock(session, &folder, &["--target", emulated::TARGET], &allocators);
    emulated::emulate(&mut command, "");
    let text = session.run(&mut command)?;
    session.count("runs on Wasmtime without a compiler", count_as_expected(&text));
    for (index, allocator) in allocators.iter().enumerate() {
        let mut run = |words: &[&str]| {
            let mut command = in_folder(cargo(&["run", "--quiet", "--target", emulated::TARGET, "--"]), &folder);
            emulated::emulate(&mut command, "");
            command.env("KINGPOST_REGALLOC", allocator).env("KINGPOST_CHECKER", "1");
            session.run(command.args(words).env("KINGPOST_CASES", "100"))
        };
        let programs = count_as_expected(&run(&["check"])?);
        // Padding makes all calls use veneers on this machine.
        let settings: &[&str] = if index == 0 { &["suite", "none", "speed", "padding"] } else { &["suite", "speed"] };
        let files = output::passed_files(&run(settings)?);
        let modules = if index == 0 { equal_modules(&run(&["generated"])?) } else { 0 };
        session.count("programs on Wasmtime", programs);
        session.count("files of the official tests", files);
        session.count("generated modules", modules);
    }
    Ok(())
}

/// Returns the command that runs the output of the program that compiles ahead of time, which must have been built.
fn stock(session: &Session, folder: &Path, options: &[&str], allocators: &[String]) -> Command {
    let words = [&["run", "--quiet", "--package", "stock-client"], options, &["--"]].concat();
    let mut command = in_folder(cargo(&words), folder);
    command.arg(build_folder(session, folder).join("debug/kingpost-wasm")).args(allocators);
    command
}

/// Runs programs with every allocator, and the official tests and the program that compiles ahead of time with the first, on the
/// versions of Wasmtime that belong to newer versions of Cranelift.
pub(crate) fn newer(session: &mut Session) -> Result<()> {
    let allocators = allocators(session)?;
    NEWER.into_iter().try_for_each(|(version, rust)| on_version(session, &allocators, version, rust))
}

fn on_version(session: &mut Session, allocators: &[String], version: &str, rust: &str) -> Result<()> {
    if !has_rust(rust) {
        session.skip(format!("Cranelift {version} needs Rust {rust}: `rustup toolchain install {rust}`"));
        return Ok(());
    }
    let folder = session.root.join("cranelift-compat/.upstream").join(version).join(CLIENT);
    if !fetch_version(session, &[version], &folder)? {
        return Ok(());
    }
    for (index, allocator) in allocators.iter().enumerate() {
        let mut run = |words: &[&str]| {
            let words = [&["run", "--quiet", "--"], words].concat();
            let mut command = in_folder(with_version(rust, &words), &folder);
            session.run(command.env("KINGPOST_REGALLOC", allocator).env("KINGPOST_CHECKER", "1"))
        };
        let text = run(&["check"])?;
        let files = if index == 0 { run(&["suite", "none", "speed"])? } else { String::new() };
        session.count("programs on newer Wasmtime", count_as_expected(&text));
        session.count("files on newer Wasmtime", output::passed_files(&files));
    }
    let text = session.run(&mut in_folder(with_version(rust, &["test"]), &folder))?;
    session.count("tests", output::tests(&text).0);
    Ok(())
}

/// Returns the folder in which Cargo builds the package in `folder`.
pub(super) fn build_folder(session: &Session, folder: &Path) -> PathBuf {
    session.root.join(std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| folder.join("target"), PathBuf::from))
}

/// Returns how many generated modules were equal.
fn equal_modules(text: &str) -> u64 {
    text.lines().filter_map(|line| output::number(line, " modules equal")).sum()
}

/// Returns how many programs had the expected results.
pub(super) fn count_as_expected(text: &str) -> u64 {
    text.lines().filter(|line| line.ends_with(": as expected")).count() as u64
}
