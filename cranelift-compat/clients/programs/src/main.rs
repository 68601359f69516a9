//! Runs and measures programs for WASI on Wasmtime, compiled by Kingpost, Cranelift and Winch.
//!
//! `programs-client check WASM NATIVE` runs each module of the folder `WASM`, compiled by Kingpost without and with optimizations, and
//! the program of the same name in the folder `NATIVE`: output and exit codes have to be equal. `programs-client compile FILE`
//! measures the compilers, and `programs-client measure FILE...` the compilers and their code.

mod check;
mod compiler;
mod measure;
mod table;
mod wasi;

use std::path::Path;
use wasmtime::{Result, bail};

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["check", modules, programs] => check::run(Path::new(modules), Path::new(programs)),
        ["compile", file] => table::run(&[file], false),
        ["measure", ref files @ ..] if !files.is_empty() => table::run(files, true),
        ["one", compiler, runs, file] => measure::run(compiler, runs == "runs", Path::new(file)),
        _ => bail!("usage: programs-client check WASM NATIVE | compile FILE | measure FILE..."),
    }
}
