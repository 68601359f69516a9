//! Tables that compare the compilers. Each one runs in processes of its own, in several rounds.

use crate::compiler::{self, Compiler};
use std::path::Path;
use std::process::Command;
use wasmtime::error::Context;
use wasmtime::{Result, ensure};

/// The fastest one of so many processes counts.
const ROUNDS: usize = 3;

/// Time and size of one compiler for one module.
#[derive(Clone, Copy)]
pub struct Figures {
    /// Milliseconds of CPU for Wasmtime's whole compilation.
    whole: f64,
    /// Milliseconds of CPU for `Context::compile` alone; for Winch, of trampolines.
    alone: f64,
    /// Bytes of code.
    bytes: f64,
    /// Milliseconds of CPU to make an instance, and to run the program. 0 if it did not run.
    start: f64,
    run: f64,
}

const COLUMNS: [(&str, fn(&Figures) -> f64); 5] = [
    ("compile ms", |figures| figures.whole),
    ("`Context` ms", |figures| figures.alone),
    ("bytes", |figures| figures.bytes),
    ("start ms", |figures| figures.start),
    ("run ms", |figures| figures.run),
];

/// Prints a table for each module, and one of geometric means.
pub fn run(files: &[&str], with_runs: bool) -> Result<()> {
    let mut all = Vec::new();
    for file in files {
        let mut best: Vec<Option<Figures>> = vec![None; compiler::ALL.len()];
        for _ in 0..ROUNDS {
            for (compiler, best) in compiler::ALL.iter().zip(&mut best) {
                let found = measure(compiler, with_runs, file)?;
                *best = Some(best.map_or(found, |before| before.min(found)));
            }
        }
        let figures: Vec<Figures> = best.into_iter().flatten().collect();
        let name = Path::new(file).file_stem().unwrap_or_default();
        print(&name.display().to_string(), with_runs, |compiler, of| {
            let (value, first) = (of(&figures[compiler]), of(&figures[0]));
            format!("{value:.*} ({:.2})", if value < 10.0 { 3 } else { 0 }, value / first)
        });
        all.push(figures);
    }
    if all.len() > 1 {
        print("geometric mean, in parentheses the largest", with_runs, |compiler, of| {
            let ratios = || all.iter().map(|figures| of(&figures[compiler]) / of(&figures[0]));
            let mean = (ratios().map(f64::ln).sum::<f64>() / all.len() as f64).exp();
            format!("{mean:.3} ({:.2})", ratios().fold(0.0, f64::max))
        });
    }
    Ok(())
}

/// Prints a table of cells, which are functions of the compiler's index and the column.
fn print(title: &str, with_runs: bool, cell: impl Fn(usize, fn(&Figures) -> f64) -> String) {
    let columns = if with_runs { &COLUMNS[..] } else { &COLUMNS[..3] };
    let heads: String = columns.iter().map(|(name, _)| format!(" {name} |")).collect();
    println!("\n| {title} |{heads}\n|{}", "---|".repeat(columns.len() + 1));
    for (index, compiler) in compiler::ALL.iter().enumerate() {
        let cells: String = columns.iter().map(|&(_, of)| format!(" {} |", cell(index, of))).collect();
        println!("| {} |{cells}", compiler.name);
    }
}

impl Figures {
    fn min(self, other: Self) -> Self {
        Self {
            whole: self.whole.min(other.whole),
            alone: self.alone.min(other.alone),
            bytes: self.bytes,
            start: self.start.min(other.start),
            run: self.run.min(other.run),
        }
    }
}

/// Measures one module in another process.
fn measure(compiler: &Compiler, with_runs: bool, file: &str) -> Result<Figures> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["one", compiler.name, if with_runs { "runs" } else { "compiles" }, file]);
    command.env_remove("KINGPOST_CHECKER").envs(compiler.variables());
    let output = command.output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{} on {file}: {errors}", compiler.name);
    let numbers: std::result::Result<Vec<f64>, _> = text.split_whitespace().map(str::parse).collect();
    let numbers = numbers.with_context(|| format!("{} on {file}: {text}", compiler.name))?;
    let [whole, alone, bytes, start, run] = numbers[..] else { wasmtime::bail!("{} on {file}: {text}", compiler.name) };
    Ok(Figures { whole, alone, bytes, start, run })
}
