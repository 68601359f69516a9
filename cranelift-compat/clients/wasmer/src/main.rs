//! Runs the official tests of WebAssembly on Wasmer with our code generator.
//!
//! `wasmer-client suite` runs all files without and with optimizations, `wasmer-client suite speed` with these settings.

use std::error::Error;
use std::path::Path;
use wasm_suite::Cranelift;
use wasmer::Store;
use wasmer::sys::{Cranelift as Compiler, CraneliftOptLevel, EngineBuilder, Features};
use wasmer_wast::Wast;

/// Selects Cranelift's compiler.
const CRANELIFT: &Cranelift = &[("KINGPOST_CRANELIFT", "always")];

/// Settings with which all files run.
const SETTINGS: [&str; 2] = ["none", "speed"];

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["suite"] => suite(&SETTINGS),
        ["suite", ref names @ ..] => suite(names),
        ["wast", settings, folder, file] => run_file(settings, folder, file),
        _ => Err("usage: wasmer-client suite [SETTINGS...] | wast SETTINGS FOLDER FILE".into()),
    }
}

fn suite(names: &[&str]) -> Result<(), Box<dyn Error>> {
    names.iter().try_for_each(|name| level(name).map(drop))?;
    wasm_suite::run_all(names, CRANELIFT)?;
    println!("kingpost {}", cranelift_codegen::kingpost_version());
    Ok(())
}

fn level(name: &str) -> Result<CraneliftOptLevel, Box<dyn Error>> {
    match name {
        "none" => Ok(CraneliftOptLevel::None),
        "speed" => Ok(CraneliftOptLevel::Speed),
        _ => Err(format!("there are no settings `{name}`").into()),
    }
}

/// Runs one file in this process.
fn run_file(settings: &str, folder: &str, file: &str) -> Result<(), Box<dyn Error>> {
    let mut compiler = Compiler::new();
    compiler.opt_level(level(settings)?);
    let store = Store::new(EngineBuilder::new(compiler).set_features(Some(Features::all())));
    let mut wast = Wast::new_with_spectest(store);
    wast.fail_fast = false;
    wast.run_buffer(Path::new(file), wasm_suite::file(folder, file)?.as_bytes())?;
    Ok(())
}
