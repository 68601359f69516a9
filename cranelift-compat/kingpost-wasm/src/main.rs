//! Compiles modules of WebAssembly ahead of time with our code generator.
//!
//! A program loads the output by `Module::deserialize` of the published Wasmtime, which needs no compiler for this.
//!
//! | file | holds |
//! |---|---|
//! | `compile.rs` | the command `compile` |
//! | `progress.rs` | the count of functions on a terminal |

mod compile;
mod progress;

use clap::Parser;
use std::process::ExitCode;

/// Compiles WebAssembly ahead of time for the version of Wasmtime that this program is built with, 48 by default.
#[derive(Parser)]
#[command(version, name = "kingpost-wasm")]
enum Command {
    Compile(compile::Compile),
}

fn main() -> ExitCode {
    let Command::Compile(mut command) = Command::parse();
    match command.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}
