//! Comparison of Kingpost with published Cranelift: equal CLIF, equal CPU flags, verifiers and checkers off, in one
//! run.
//!
//! `kingpost-bench --help` lists the measurements, which [`args`] defines.
//!
//! Times are CPU seconds of the compiling thread: the least of several rounds, in which the compilers take turns.
//! Parsing is timed separately. Functions that one compiler refuses are left out for all compilers, and counted.

mod args;
mod kernels;
mod measure;
mod module;
mod optimisers;
mod ours;
mod parse;
pub mod regalloc;
mod report;
mod shapes;
mod upstream;
mod vectors;

use anyhow::{Context, Result};
use args::{Command, CommandLine, ReportArgs};
use clap::Parser;
use measure::{Compiler, Row, measure};
use std::path::{Path, PathBuf};

/// Runs the command of the command line.
///
/// # Errors
/// If a file cannot be read.
pub fn run() -> Result<()> {
    match CommandLine::parse().command {
        None => report::write(&ReportArgs::default()),
        Some(Command::Report(args)) => report::write(&args),
        Some(Command::Compile { opt_level, target, files }) => compile(&files, &opt_level, &target),
        Some(Command::Optimise { target, files }) => optimisers::report(&files, &target),
        Some(Command::Shapes { max }) => shapes::report(max),
        Some(Command::Parse { files }) => files.iter().try_for_each(|file| parse(file)),
        Some(Command::Module { files }) => files.iter().try_for_each(|file| module(file)),
        Some(Command::Vectors { cpu, opt_level, keep }) => vectors::report(&cpu, &opt_level, keep.as_deref()),
        Some(Command::Memory { name, file }) => memory(&name, &file),
        Some(Command::Kernels { translate: true, .. }) => kernels::translate(),
        Some(Command::Kernels { only, rounds, folder, llvm: true, .. }) => {
            kernels::llvm::report(&only, rounds.min(kernels::llvm::ROUNDS), &folder)
        }
        Some(Command::Kernels { only, rounds, folder, modules, .. }) => {
            kernels::report(&kernels::suite(modules, &only)?, rounds, &folder)
        }
        Some(Command::Instructions { only, target, folder, modules }) => {
            kernels::instructions::report(&kernels::suite(modules, &only)?, &target, &folder)
        }
        Some(Command::Regalloc(args)) => regalloc::main(&args),
    }
}

/// The default target.
const X86_64: &str = "x86_64";

/// Returns all compilers. The first one is upstream's default, which is the baseline of the comparison.
fn compilers(opt_level: &str, target: &str) -> Result<Vec<Box<dyn Compiler>>> {
    let mut compilers: Vec<Box<dyn Compiler>> = Vec::new();
    for algorithm in ["backtracking", "single_pass"] {
        compilers.push(Box::new(upstream::Cranelift::new(algorithm, opt_level, target)?));
    }
    for allocator in kingpost_codegen::ALLOCATORS.iter().map(|&(name, _)| name) {
        compilers.push(Box::new(ours::Kingpost::new(allocator, opt_level, target)?));
    }
    Ok(compilers)
}

/// Folder to which `crates/bench/modules/all.sh` writes the modules.
const MODULES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/modules/clif");

/// Folder with the packed modules beside the project.
const SHARED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus/wasm-clif");

/// Returns the modules that are measured by default, if they exist.
fn modules() -> Vec<PathBuf> {
    let names = ["argon2", "source-map", "zstd", "tree-sitter", "lua", "sqlite", "brotli", "draco-decoder", "rapier3d"];
    let files: Vec<PathBuf> = names.iter().filter_map(|name| module_file(name)).collect();
    if files.is_empty() {
        println!("SKIPPED: modules: no {MODULES}; crates/bench/modules/all.sh writes them");
    }
    files
}

/// Returns the file of a module, if it exists.
fn module_file(name: &str) -> Option<PathBuf> {
    let written = Path::new(MODULES).join(format!("{name}.clif"));
    let packed = Path::new(SHARED).join(format!("{name}.clif.xz"));
    [written, packed].into_iter().find(|file| file.exists())
}

/// Returns the text of a file, unpacked, or of `shape:NAME:SIZE`.
fn read(file: &Path) -> Result<String> {
    if let Some(shape) = file.to_str().and_then(|spec| spec.strip_prefix("shape:")) {
        return shapes::text(shape);
    }
    if file.extension().is_none_or(|extension| extension != "xz") {
        return std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()));
    }
    let output = std::process::Command::new("xz").arg("-dc").arg(file).output().context("cannot start xz")?;
    anyhow::ensure!(output.status.success(), "xz {}: {}", file.display(), String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

fn parse(file: &Path) -> Result<()> {
    parse::report(&file.display().to_string(), &read(file)?)
}

fn module(file: &Path) -> Result<()> {
    module::report(&file.display().to_string(), &read(file)?)
}

fn compile(files: &[PathBuf], opt_level: &str, target: &str) -> Result<()> {
    let mut total: Vec<Row> = Vec::new();
    for file in files {
        let mut compilers = compilers(opt_level, target)?;
        let text = read(file)?;
        let rows = measure(&mut compilers, &text, 3)?;
        println!("{}", file.display());
        print_rows(&rows, (target == X86_64 && opt_level == "none").then_some(file));
        if total.is_empty() {
            total = rows;
        } else {
            total.iter_mut().zip(&rows).for_each(|(sum, row)| sum.add(row));
        }
    }
    println!("all");
    print_rows(&total, None);
    Ok(())
}

/// Prints a table of the rows. The peak of memory is measured on `file`, if there is one, by [`memory`].
fn print_rows(rows: &[Row], file: Option<&Path>) {
    println!(
        "  {:28} {:>9} {:>8} {:>9} {:>9} {:>12} {:>10}",
        "compiler", "functions", "refused", "seconds", "ratio", "code bytes", "peak MiB"
    );
    for row in rows {
        let memory = file.and_then(|file| peak_of(&row.name, file));
        println!(
            "  {:28} {:>9} {:>8} {:>9.3} {:>8.2}x {:>12} {:>10}",
            row.name,
            row.functions,
            row.refused,
            row.seconds,
            rows[0].seconds / row.seconds,
            row.code_bytes,
            memory.map_or("-".into(), |kib| (kib / 1024).to_string()),
        );
    }
}

/// Measures the peak memory of one compiler on one file in a separate process, in KiB.
fn peak_of(name: &str, file: &Path) -> Option<u64> {
    let output =
        std::process::Command::new(std::env::current_exe().ok()?).args(["memory", name]).arg(file).output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

fn memory(name: &str, file: &Path) -> Result<()> {
    let mut compilers = compilers("none", X86_64)?;
    let compiler = compilers.iter_mut().find(|c| c.name() == name).context("no such compiler")?;
    let text = read(file)?;
    compiler.load(&text)?;
    for index in 0..compiler.len() {
        compiler.take(index);
        let _refused = compiler.compile(index);
    }
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM")?;
    println!("{}", line.trim().trim_end_matches(" kB"));
    Ok(())
}
