//! Kingpost against published Cranelift: the same CLIF, the same CPU flags, verifiers and checkers off, in one run.
//!
//! ```text
//! kingpost-bench                     modules of ../shared/corpus/wasm-clif, if they are there, then the shapes
//! kingpost-bench compile FILE...     compile time and code size, per file and in all
//! kingpost-bench shapes [MAX]        the same on generated functions of growing size, with the fitted growth
//! kingpost-bench parse FILE...       reading alone
//! kingpost-bench memory NAME FILE    peak memory of one compiler, for `compile` to call
//! kingpost-bench regalloc ...        register allocators against regalloc2: see `regalloc/mod.rs`
//! ```
//!
//! Times are CPU seconds of the compiling thread, the least of several rounds in which the compilers take turns.
//! Reading is timed apart. Functions that some side refuses are left out for all, and counted. A
//! file that ends in `.xz` is unpacked by `xz`.

mod measure;
mod ours;
mod parse;
pub mod regalloc;
mod shapes;
mod upstream;

use anyhow::{Context, Result, bail};
use measure::{Compiler, Row, measure};

/// Does what the command line says.
///
/// # Errors
/// A command line that makes no sense, files that cannot be read.
pub fn run(args: &[&str]) -> Result<()> {
    match args {
        [] => everything(),
        ["compile", files @ ..] if !files.is_empty() => compile(files),
        ["shapes"] => shapes::report(100_000),
        ["shapes", max] => shapes::report(max.parse()?),
        ["parse", files @ ..] if !files.is_empty() => {
            files.iter().try_for_each(|file| parse::report(file, &read(file)?))
        }
        ["memory", name, file] => memory(name, file),
        ["regalloc", args @ ..] => regalloc::main(args),
        _ => {
            bail!("usage: kingpost-bench compile FILE... | shapes [MAX] | parse FILE... | memory NAME FILE | regalloc")
        }
    }
}

/// All compilers, upstream's default first: the others are compared with it.
fn compilers() -> Result<Vec<Box<dyn Compiler>>> {
    let mut compilers: Vec<Box<dyn Compiler>> = Vec::new();
    for algorithm in ["backtracking", "single_pass"] {
        compilers.push(Box::new(upstream::Cranelift::new(algorithm)?));
    }
    for &(allocator, _) in kingpost_codegen::ALLOCATORS {
        compilers.push(Box::new(ours::Kingpost::new(allocator)?));
    }
    Ok(compilers)
}

/// Where the modules are, relative to the project.
const MODULES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus/wasm-clif");

/// Paths of the modules that are measured without being asked for.
fn modules() -> Vec<String> {
    let names = ["argon2", "source-map", "zstd", "tree-sitter", "lua", "sqlite", "brotli", "draco-decoder", "rapier3d"];
    names.iter().map(|name| format!("{MODULES}/{name}.clif.xz")).collect()
}

fn everything() -> Result<()> {
    let files = modules();
    let files: Vec<&str> =
        files.iter().map(String::as_str).filter(|file| std::path::Path::new(file).exists()).collect();
    if files.is_empty() {
        println!("SKIPPED: modules: no {MODULES}");
    } else {
        compile(&files)?;
        let file = files[files.len() - 1];
        parse::report(file, &read(file)?)?;
    }
    shapes::report(100_000)
}

fn read(file: &str) -> Result<String> {
    if !file.ends_with(".xz") {
        return std::fs::read_to_string(file).with_context(|| format!("cannot read {file}"));
    }
    let output = std::process::Command::new("xz").args(["-dc", file]).output().context("cannot start xz")?;
    anyhow::ensure!(output.status.success(), "xz {file}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

fn compile(files: &[&str]) -> Result<()> {
    let mut total: Vec<Row> = Vec::new();
    for file in files {
        let mut compilers = compilers()?;
        let text = read(file)?;
        let rows = measure(&mut compilers, &text, 3)?;
        println!("{file}");
        print_rows(&rows, file);
        if total.is_empty() {
            total = rows;
        } else {
            total.iter_mut().zip(&rows).for_each(|(sum, row)| sum.add(row));
        }
    }
    println!("all");
    print_rows(&total, "");
    Ok(())
}

fn print_rows(rows: &[Row], file: &str) {
    println!(
        "  {:28} {:>9} {:>8} {:>9} {:>9} {:>12} {:>10}",
        "compiler", "functions", "refused", "seconds", "ratio", "code bytes", "peak MiB"
    );
    for row in rows {
        let memory = if file.is_empty() { None } else { peak_of(&row.name, file) };
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

/// Peak memory of one compiler on one file in KiB, measured in a process of its own.
fn peak_of(name: &str, file: &str) -> Option<u64> {
    let output =
        std::process::Command::new(std::env::current_exe().ok()?).args(["memory", name, file]).output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

fn memory(name: &str, file: &str) -> Result<()> {
    let mut compilers = compilers()?;
    let compiler = compilers.iter_mut().find(|c| c.name() == name).context("no such compiler")?;
    let text = read(file)?;
    compiler.load(&text)?;
    for index in 0..compiler.len() {
        let _refused = compiler.compile(index);
    }
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("no VmHWM")?;
    println!("{}", line.trim().trim_end_matches(" kB"));
    Ok(())
}
