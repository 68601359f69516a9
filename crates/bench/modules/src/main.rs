//! Writes the CLIF of a WebAssembly module as Wasmtime gives it to Cranelift, before Cranelift's own passes:
//!
//! ```text
//! cargo run --manifest-path crates/bench/modules/Cargo.toml -- glue.wasm lua.clif
//! cargo run --manifest-path crates/bench/modules/Cargo.toml -- esbuild.wasm esbuild.clif 2
//! ```
//!
//! The last number N takes every Nth function. Only published packages are used: Cranelift logs each function at the
//! level `trace`, and the logger of this program keeps these texts.

use anyhow::{Context, Result, anyhow, bail};
use log::{LevelFilter, Log, Metadata, Record};
use std::fmt::Write;
use std::sync::Mutex;
use wasmtime::{Config, Engine, OptLevel, RegallocAlgorithm};

/// Module of Cranelift whose messages are kept.
const SOURCE: &str = "cranelift_codegen::context";

/// Beginning of the message that has a function.
const HEAD: &str = "Optimizing (opt level None):\n";

/// Namespace of calls of the runtime's own functions, which are left out because they do not depend on the module.
const BUILTINS: u32 = 3 << 28;

/// The functions so far.
struct Functions(Mutex<Vec<String>>);

static FUNCTIONS: Functions = Functions(Mutex::new(Vec::new()));

impl Log for Functions {
    fn enabled(&self, metadata: &Metadata) -> bool {
        metadata.target() == SOURCE
    }

    fn log(&self, record: &Record) {
        if record.target() != SOURCE {
            return;
        }
        let message = record.args().to_string();
        if let (Some(function), Ok(mut functions)) = (message.strip_prefix(HEAD), self.0.lock()) {
            functions.push(compact(function));
        }
    }

    fn flush(&self) {}
}

/// Returns the text without comments and without blanks that align columns.
fn compact(function: &str) -> String {
    let mut text = String::new();
    for line in function.lines() {
        let code = line.split("  ;").next().unwrap_or_default();
        for word in code.split_whitespace() {
            let begins = text.is_empty() || text.ends_with('\n');
            text.push_str(if begins { "" } else { " " });
            text.push_str(word);
        }
        text.push('\n');
    }
    text
}

/// Returns namespace and index of a function `u0:7`, by which functions are in order.
fn place(function: &str) -> (u32, u32) {
    let name = function.strip_prefix("function u").and_then(|rest| rest.split('(').next());
    let (space, index) = name.and_then(|name| name.split_once(':')).unwrap_or(("", ""));
    (space.parse().unwrap_or(u32::MAX), index.parse().unwrap_or(u32::MAX))
}

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let (input, output, every) = match &words[..] {
        [input, output] => (input, output, 1),
        [input, output, every] => (input, output, every.parse()?),
        _ => bail!("usage: kingpost-modules MODULE.wasm OUTPUT.clif [N]"),
    };
    let module = std::fs::read(input).with_context(|| input.clone())?;
    log::set_logger(&FUNCTIONS).map_err(|error| anyhow!("{error}"))?;
    log::set_max_level(LevelFilter::Trace);
    let mut config = Config::new();
    // What comes after the message is not used, so the fastest way there is.
    config.cranelift_opt_level(OptLevel::None).cranelift_regalloc_algorithm(RegallocAlgorithm::SinglePass);
    let compiled = Engine::new(&config).and_then(|engine| engine.precompile_module(&module));
    compiled.map_err(|error| anyhow!("{input}: {error:?}"))?;

    let mut functions = std::mem::take(&mut *FUNCTIONS.0.lock().expect("no thread has panicked"));
    functions.retain(|function| place(function).0 != BUILTINS);
    functions.sort_by_key(|function| place(function));
    let (all, mut kept, mut text) = (functions.len(), 0, String::new());
    for function in functions.iter().step_by(every) {
        kept += 1;
        writeln!(text, "{function}")?;
    }
    std::fs::write(output, text).with_context(|| output.clone())?;
    println!("{output}: {kept} of {all} functions");
    Ok(())
}
