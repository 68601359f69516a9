//! Runs the official tests of WebAssembly on the published Wasmtime and Cranelift, with our register allocators.
//!
//! `wasm suite` runs all files with all settings of Wasmtime, `wasm suite none speed` with these.

use wasm_suite::on_wasmtime;
use wasmtime::{Result, bail};

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["suite", ref names @ ..] => on_wasmtime::run_all(names, &[("KINGPOST_REGALLOC", "regalloc2")]),
        ["wast", settings, folder, file] => on_wasmtime::run_file(settings, folder, file),
        _ => bail!("usage: wasm suite [SETTINGS...] | wast SETTINGS FOLDER FILE"),
    }
}
