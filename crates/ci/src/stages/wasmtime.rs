//! WebAssembly on Wasmtime with our compiler.

use crate::cargo::cargo;
use crate::output;
use crate::session::Session;
use crate::stages::compat::{fetch, has_rust, in_folder, prepare_version, with_version};
use crate::stages::corpus::allocators;
use crate::stages::emulated;
use anyhow::Result;
use std::path::{Path, PathBuf};

/// Programs of WebAssembly on Wasmtime, and programs for WASI.
const WASMTIME: &str = "clients/wasmtime";
const PROGRAMS: &str = "clients/programs";

/// The official tests on Wasmer, and the version of Cranelift on which it depends.
const WASMER: &str = "clients/wasmer";
const WASMER_VERSION: &str = "0.135.0";

/// The target of programs for WASI, and the headers for C, which SQLite is in.
const WASI: &str = "wasm32-wasip1";
const WASI_HEADERS: &str = "/usr/include/wasm32-wasi";

/// Newer versions of Cranelift, with the versions of Rust that they need.
const NEWER: [(&str, &str); 2] = [("0.136.5", "1.96.0"), ("0.137.1", "1.97.0")];

/// Generated modules with the first allocator, and with each other one.
const GENERATED: [&str; 2] = ["10000", "500"];

/// Runs programs, the official tests of WebAssembly and generated modules on Wasmtime with every allocator and the checker, and with
/// the first allocator the tests with all settings of the client. Then tests the program that compiles ahead of time, and runs its
/// output, on AArch64 by an emulator. Runs a part of this on newer versions of Wasmtime.
pub(crate) fn run(session: &mut Session) -> Result<()> {
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
        let files = output::passed_files(&text);
        let text = run(&["generated"])?;
        let modules = equal_modules(&text);
        session.count("programs on Wasmtime", programs);
        session.count("files of the official tests", files);
        session.count("generated modules", modules);
    }
    let text = session.run(&mut in_folder(cargo(&["test"]), &folder))?;
    session.count("tests", output::tests(&text).0);
    let compiler = build_folder(session, &folder).join("debug/kingpost-wasm");
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
            let files = output::passed_files(&run(settings)?);
            let modules = if index == 0 { equal_modules(&run(&["generated"])?) } else { 0 };
            session.count("programs on AArch64", programs);
            session.count("files of the official tests on AArch64", files);
            session.count("generated modules on AArch64", modules);
        }
    }
    programs(session, &allocators)?;
    wasmer(session, &allocators)?;
    NEWER.into_iter().try_for_each(|(version, rust)| newer(session, &allocators, version, rust))
}

/// Compares programs for WASI, compiled with each allocator, with the same programs compiled by Rust for this machine.
fn programs(session: &mut Session, allocators: &[String]) -> Result<()> {
    let subject = "programs for WASI";
    if !emulated::has_standard_library(session, WASI, subject)? {
        return Ok(());
    }
    let has_headers = Path::new(WASI_HEADERS).is_dir();
    if !has_headers {
        session.skip("SQLite for WASI: no headers for C (the package wasi-libc has them)");
    }
    let has_sqlite = has_headers && session.has_tools(&["clang"], "SQLite for WASI")?;
    let folder = session.root.join("cranelift-compat").join(PROGRAMS);
    let features: &[&str] = if has_sqlite { &["--features", "sqlite"] } else { &[] };
    for target in [&["--target", WASI][..], &[]] {
        let mut build = in_folder(cargo(&[&["build", "--release"], features, target].concat()), &folder.join("guests"));
        build.env("CFLAGS_wasm32_wasip1", format!("--sysroot=/usr -isystem {WASI_HEADERS}"));
        session.run(&mut build)?;
    }
    session.run(&mut in_folder(cargo(&["fmt", "--all", "--check"]), &folder))?;
    let guests = build_folder(session, &folder.join("guests"));
    for allocator in allocators {
        let mut command = in_folder(cargo(&["run", "--quiet", "--", "check"]), &folder);
        command.arg(guests.join(WASI).join("release")).arg(guests.join("release"));
        command.env("KINGPOST_REGALLOC", allocator).env("KINGPOST_CHECKER", "1");
        let text = session.run(&mut command)?;
        session.count("programs for WASI", count_as_expected(&text));
    }
    Ok(())
}

/// Runs the official tests of WebAssembly on Wasmer with each allocator.
fn wasmer(session: &mut Session, allocators: &[String]) -> Result<()> {
    prepare_version(session, &[WASMER_VERSION])?;
    let folder = session.root.join("cranelift-compat").join(WASMER);
    session.run(&mut in_folder(cargo(&["fmt", "--check"]), &folder))?;
    for allocator in allocators {
        let mut command = in_folder(cargo(&["run", "--quiet", "--", "suite"]), &folder);
        command.env("KINGPOST_REGALLOC", allocator).env("KINGPOST_CHECKER", "1");
        let text = session.run(&mut command)?;
        session.count("files on Wasmer", output::passed_files(&text));
    }
    Ok(())
}

/// Returns the folder in which Cargo builds the package in `folder`.
fn build_folder(session: &Session, folder: &Path) -> PathBuf {
    session.root.join(std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| folder.join("target"), PathBuf::from))
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
        session.count("files on newer Wasmtime", output::passed_files(&files));
    }
    let text = session.run(&mut in_folder(with_version(rust, &["test"]), &folder))?;
    session.count("tests", output::tests(&text).0);
    Ok(())
}

/// Returns how many generated modules were equal.
fn equal_modules(text: &str) -> u64 {
    text.lines().filter_map(|line| output::number(line, " modules equal")).sum()
}

fn count_as_expected(text: &str) -> u64 {
    text.lines().filter(|line| line.ends_with(": as expected")).count() as u64
}
