//! Programs for WASI on Wasmtime, and the official tests of WebAssembly on Wasmer.

use crate::cargo::cargo;
use crate::output;
use crate::session::Session;
use crate::stages::compat::{fetch, fetch_version, in_folder};
use crate::stages::corpus::allocators;
use crate::stages::emulated;
use crate::stages::wasmtime::{build_folder, count_as_expected};
use anyhow::Result;
use std::path::Path;

/// Programs for WASI.
const PROGRAMS: &str = "clients/programs";

/// The target of programs for WASI, and the headers for C, which SQLite is in.
const WASI: &str = "wasm32-wasip1";
const WASI_HEADERS: &str = "/usr/include/wasm32-wasi";

/// The official tests on Wasmer, and the version of Cranelift on which it depends.
const WASMER: &str = "clients/wasmer";
const WASMER_VERSION: &str = "0.135.0";

/// Compares programs for WASI, compiled with each allocator, with the same programs compiled by Rust for this machine.
pub(crate) fn run(session: &mut Session) -> Result<()> {
    let folder = session.root.join("cranelift-compat").join(PROGRAMS);
    if !emulated::has_standard_library(session, WASI, "programs for WASI")? || !fetch(session, &folder)? {
        return Ok(());
    }
    let has_headers = Path::new(WASI_HEADERS).is_dir();
    if !has_headers {
        session.skip("SQLite for WASI: no headers for C (the package wasi-libc has them)");
    }
    let has_sqlite = has_headers && session.has_tools(&["clang"], "SQLite for WASI")?;
    let features: &[&str] = if has_sqlite { &["--features", "sqlite"] } else { &[] };
    for target in [&["--target", WASI][..], &[]] {
        let mut build = in_folder(cargo(&[&["build", "--release"], features, target].concat()), &folder.join("guests"));
        build.env("CFLAGS_wasm32_wasip1", format!("--sysroot=/usr -isystem {WASI_HEADERS}"));
        session.run(&mut build)?;
    }
    session.run(&mut in_folder(cargo(&["fmt", "--all", "--check"]), &folder))?;
    let guests = build_folder(session, &folder.join("guests"));
    for allocator in allocators(session)? {
        let mut command = in_folder(cargo(&["run", "--quiet", "--", "check"]), &folder);
        command.arg(guests.join(WASI).join("release")).arg(guests.join("release"));
        command.env("KINGPOST_REGALLOC", allocator).env("KINGPOST_CHECKER", "1");
        let text = session.run(&mut command)?;
        session.count("programs for WASI", count_as_expected(&text));
    }
    Ok(())
}

/// Runs the official tests of WebAssembly on Wasmer with each allocator.
pub(crate) fn wasmer(session: &mut Session) -> Result<()> {
    let folder = session.root.join("cranelift-compat").join(WASMER);
    if !fetch_version(session, &[WASMER_VERSION], &folder)? {
        return Ok(());
    }
    session.run(&mut in_folder(cargo(&["fmt", "--check"]), &folder))?;
    for allocator in allocators(session)? {
        let mut command = in_folder(cargo(&["run", "--quiet", "--", "suite"]), &folder);
        command.env("KINGPOST_REGALLOC", allocator).env("KINGPOST_CHECKER", "1");
        let text = session.run(&mut command)?;
        session.count("files on Wasmer", output::passed_files(&text));
    }
    Ok(())
}
