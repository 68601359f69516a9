//! Runs programs of WebAssembly with Wasmtime and our code generator, or compiles a module and measures it.
//!
//! `wasmtime-client check` runs the programs, `wasmtime-client suite` the official tests, and `wasmtime-client generated` generated modules.
//! `wasmtime-client compile FILE` prints CPU time and size.

mod generated;
mod parallel;
mod programs;
mod suite;

use cpu_time::{ProcessTime, ThreadTime};
use cranelift_codegen::timing::{self, Pass, Profiler};
use std::any::Any;
use std::cell::Cell;
use std::fs;
use std::rc::Rc;
use std::time::Duration;
use wasmtime::error::Context;
use wasmtime::{Config, Engine, OptLevel, Result, bail};

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["check"] => check(),
        ["compile", file] => compile(file),
        ["suite", ref names @ ..] => suite::run_all(names),
        ["wast", settings, folder, file] => suite::run_file(settings, folder, file),
        ["generated"] => generated::run_all(),
        ["generated", first, end] => generated::run_range(first, end),
        ["generate", number, file] => generated::write(number, file),
        _ => bail!(
            "usage: wasmtime-client check | compile FILE | suite [SETTINGS...] | wast SETTINGS FOLDER FILE \
             | generated [FIRST END] | generate NUMBER FILE"
        ),
    }
}

/// Returns Wasmtime's default settings, with compilation on one thread: files run in parallel, and the selection of a compiler and
/// measurements are per thread.
fn config() -> Config {
    let mut config = Config::new();
    config.parallel_compilation(false);
    config
}

fn engine(level: OptLevel) -> Result<Engine> {
    let mut config = config();
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

/// Sums the CPU time of `Context::compile`.
#[derive(Clone, Default)]
struct CompileTime(Rc<Cell<Duration>>);

/// A running compilation, which ends when this is dropped.
struct Running {
    start: ThreadTime,
    sum: CompileTime,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.sum.0.set(self.sum.0.get() + self.start.elapsed());
    }
}

impl Profiler for CompileTime {
    fn start_pass(&self, pass: Pass) -> Box<dyn Any> {
        match pass {
            Pass::compile => Box::new(Running { start: ThreadTime::now(), sum: self.clone() }),
            _ => Box::new(()),
        }
    }
}

/// Prints milliseconds of CPU for the whole compilation and for the code generator alone, and the size of the code.
fn compile(file: &str) -> Result<()> {
    let bytes = fs::read(file).with_context(|| file.to_string())?;
    let engine = engine(OptLevel::Speed)?;
    let sum = CompileTime::default();
    timing::set_thread_profiler(Box::new(sum.clone()));
    for _ in 0..3 {
        sum.0.set(Duration::ZERO);
        let start = ProcessTime::now();
        let artifact = engine.precompile_module(&bytes)?;
        let (whole, alone) = (start.elapsed().as_secs_f64() * 1e3, sum.0.get().as_secs_f64() * 1e3);
        println!("{file}: {whole:.0} ms, `Context::compile` {alone:.0} ms, artifact {} bytes", artifact.len());
    }
    Ok(())
}
