//! Runs programs of WebAssembly with Wasmtime and our code generator.
//!
//! `wasmtime-client check` runs the programs, `wasmtime-client suite` the official tests, and `wasmtime-client generated` generated modules.

mod generated;
mod programs;

use wasm_suite::{Cranelift, on_wasmtime};
use wasmtime::error::Context;
use wasmtime::{Engine, OptLevel, Result, bail};

/// Selects Cranelift's compiler.
const CRANELIFT: &Cranelift = &[("KINGPOST_CRANELIFT", "always")];

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["check"] => check(),
        ["suite", ref names @ ..] => on_wasmtime::run_all(names, CRANELIFT),
        ["wast", settings, folder, file] => on_wasmtime::run_file(settings, folder, file),
        ["generated"] => generated::run_all(),
        ["generated", first, end] => generated::run_range(first, end),
        ["generate", number, file] => generated::write(number, file),
        _ => bail!(
            "usage: wasmtime-client check | suite [SETTINGS...] | wast SETTINGS FOLDER FILE | generated [FIRST END] \
             | generate NUMBER FILE"
        ),
    }
}

fn engine(level: OptLevel) -> Result<Engine> {
    let mut config = on_wasmtime::config();
    config.cranelift_opt_level(level);
    Engine::new(&config)
}

/// Runs the programs at each level.
fn check() -> Result<()> {
    for level in [OptLevel::None, OptLevel::Speed] {
        let engine = engine(level)?;
        for (name, run) in programs::ALL {
            run(&engine).with_context(|| format!("{name} at {level:?}"))?;
            println!("{name} at {level:?}: as expected");
        }
    }
    println!("kingpost {}", cranelift_codegen::kingpost_version());
    Ok(())
}
