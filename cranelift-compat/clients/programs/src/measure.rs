//! Measures one compiler on one module, in a process of its own.

use crate::compiler;
use crate::wasi::{self, Program};
use cpu_time::{ProcessTime, ThreadTime};
use cranelift_codegen::timing::{self, Pass, Profiler};
use std::any::Any;
use std::cell::Cell;
use std::fs;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;
use wasmtime::error::Context;
use wasmtime::{Engine, Module, Result};

/// Number of compilations, instances and runs. The fastest one counts.
const COMPILATIONS: usize = 3;
const INSTANCES: usize = 50;
const RUNS: usize = 3;

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

/// Prints a line of numbers, see [`Figures`](crate::table::Figures).
pub fn run(name: &str, with_runs: bool, file: &Path) -> Result<()> {
    let compiler = compiler::named(name)?;
    let bytes = fs::read(file).with_context(|| file.display().to_string())?;
    let engine = Engine::new(&compiler::config(compiler.strategy, compiler.level))?;
    let sum = CompileTime::default();
    timing::set_thread_profiler(Box::new(sum.clone()));
    let (mut whole, mut alone) = (Duration::MAX, Duration::MAX);
    for _ in 0..COMPILATIONS {
        sum.0.set(Duration::ZERO);
        let start = ProcessTime::now();
        engine.precompile_module(&bytes)?;
        whole = whole.min(start.elapsed());
        alone = alone.min(sum.0.get());
    }
    let module = Module::from_binary(&engine, &bytes)?;
    let code: usize = module.functions().map(|function| function.len).sum();
    let (start, run) = if with_runs { times(&module)? } else { Default::default() };
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    println!("{} {} {code} {} {}", ms(whole), ms(alone), ms(start), ms(run));
    Ok(())
}

/// Returns how long it takes to make an instance, and to run the program.
fn times(module: &Module) -> Result<(Duration, Duration)> {
    let linked = wasi::link(module)?;
    let folder = std::env::temp_dir();
    let (mut start, mut run) = (Duration::MAX, Duration::MAX);
    for index in 0..INSTANCES {
        let before = ThreadTime::now();
        let program = Program::new(&linked, &folder)?;
        start = start.min(before.elapsed());
        if index < RUNS {
            let before = ThreadTime::now();
            program.run()?;
            run = run.min(before.elapsed());
        }
    }
    Ok((start, run))
}
