//! Compile time of the kernels beside LLVM's: code generation alone.
//!
//! The functions of all kernels are copied until they have 10^5 instructions of CLIF. We compile them, and Cranelift does.
//! LLVM's `llc` compiles as many copies of the functions in clang's optimized IR of the same C: what a C compiler passes
//! to its code generator. Its time is the sum over its passes that `-time-passes` reports, which leaves out its start, the
//! parsing of IR and its verifier. All times are CPU seconds, the least of the rounds.

use super::kernel::Kernel;
use crate::measure::{Compiler, measure};
use anyhow::{Context, Result, anyhow, ensure};
use std::path::Path;
use std::process::Command;

/// Number of instructions of CLIF.
const SIZE: usize = 100_000;
/// Maximum number of rounds.
pub(crate) const ROUNDS: usize = 3;
/// Names of `llc`; the first that starts is taken.
const NAMES: [&str; 8] = ["llc", "llc-20", "llc-19", "llc-18", "llc-17", "llc-16", "llc-15", "llc-14"];
const LEVELS: [&str; 3] = ["-O0", "-O1", "-O2"];

/// Compiles copies of the kernels by all compilers, and prints a table. Leaves LLVM's files in `folder`.
///
/// # Errors
/// If a compiler refuses a kernel.
pub(crate) fn report(only: &[String], rounds: usize, folder: &Path) -> Result<()> {
    let kernels = super::suite(false, only)?.kernels;
    let text: String = kernels.iter().map(|kernel| functions_of(&kernel.clif)).collect();
    let parsed = kingpost_reader::parse_functions(&text).map_err(|error| anyhow!("{error}"))?;
    let insts: usize = parsed.iter().map(|function| function.dfg.num_insts()).sum();
    let copies = SIZE.div_ceil(insts);
    let mut rows: Vec<(String, f64)> = Vec::new();
    for opt_level in ["none", "speed"] {
        let mut compilers: Vec<Box<dyn Compiler>> = crate::compilers(opt_level, crate::X86_64)?;
        for row in measure(&mut compilers, &text.repeat(copies), rounds)? {
            ensure!(row.refused == 0, "{} refuses {} functions", row.name, row.refused);
            rows.push((format!("{} {opt_level}", row.name), row.seconds));
        }
    }
    match llvm(&kernels, copies, rounds, folder)? {
        Some(times) => rows.extend(times),
        None => println!("SKIPPED: LLVM: no clang or llc"),
    }
    println!("{copies} copies of {} functions: {} instructions of CLIF", parsed.len(), copies * insts);
    println!("  {:30} {:>12} {:>9}", "compiled by", "CPU ms", "ratio");
    for (name, seconds) in &rows {
        println!("  {name:30} {:>12.1} {:>9.3}", 1000.0 * seconds, seconds / rows[0].1);
    }
    Ok(())
}

/// Returns the functions of a test, without the directives above them.
fn functions_of(clif: &str) -> &str {
    clif.find("\nfunction ").map_or(clif, |start| &clif[start..])
}

/// Returns the CPU seconds of LLVM by level. `None` if a tool is not installed.
fn llvm(kernels: &[Kernel], copies: usize, rounds: usize, folder: &Path) -> Result<Option<Vec<(String, f64)>>> {
    let starts = |name: &&str| Command::new(name).arg("--version").output().is_ok();
    let Some(llc) = NAMES.into_iter().find(starts).filter(|_| starts(&"clang")) else { return Ok(None) };
    std::fs::create_dir_all(folder)?;
    let mut times = LEVELS.map(|level| (format!("{llc} {level}"), 0.0));
    for kernel in kernels {
        let file = folder.join(format!("{}.ll", kernel.name));
        let mut clang = Command::new("clang");
        clang.args([
            "-O1",
            "-msse4.2",
            "-fwrapv",
            "-ffp-contract=off",
            "-fno-math-errno",
            "-w",
            "-S",
            "-emit-llvm",
            "-o",
        ]);
        run(clang.arg(&file).args(&kernel.c))?;
        std::fs::write(&file, copied(&std::fs::read_to_string(&file)?, copies))?;
        for (level, (_, sum)) in LEVELS.into_iter().zip(&mut times) {
            let mut least = f64::INFINITY;
            for _ in 0..rounds {
                let mut command = Command::new(llc);
                command.args([level, "-filetype=obj", "-frame-pointer=all", "-disable-verify", "-time-passes", "-o"]);
                let report = run(command.arg(file.with_extension("o")).arg(&file))?;
                least = least.min(seconds(&report).with_context(|| format!("no time in the report of {llc}"))?);
            }
            *sum += least;
        }
    }
    Ok(Some(times.into()))
}

/// Returns what a program prints to its error output.
fn run(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot start {}", command.get_program().display()))?;
    let report = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "{command:?} failed: {report}");
    Ok(report)
}

/// Returns the CPU seconds of all passes in a report of `-time-passes`.
fn seconds(report: &str) -> Option<f64> {
    let passes = &report[report.find("... Pass execution timing report ...")?..];
    let (_, total) = passes.split_once("Total Execution Time: ")?;
    total.split_whitespace().next()?.parse().ok()
}

/// Returns LLVM's IR with `copies` copies of each function that it defines. The copies of a function call each other's
/// copies.
fn copied(text: &str, copies: usize) -> String {
    let mut bodies = String::new();
    let mut is_inside = false;
    for line in text.lines() {
        is_inside |= line.starts_with("define ");
        if is_inside {
            bodies += line;
            bodies += "\n";
        }
        is_inside &= line != "}";
    }
    let defined: Vec<&str> = bodies
        .lines()
        .filter(|line| line.starts_with("define "))
        .filter_map(|line| line.split_once('@')?.1.split_once('('))
        .map(|(name, _)| name)
        .collect();
    let mut all = text.to_string();
    for copy in 1..copies {
        let mut parts = bodies.split('@');
        all.extend(parts.next());
        for part in parts {
            all += "@";
            let end = part.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(part.len());
            let (name, rest) = part.split_at(end);
            all += name;
            if defined.contains(&name) {
                all += &format!(".{copy}");
            }
            all += rest;
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_copied_with_their_calls() {
        let text = "@table = global i32 0\ndefine i32 @f(i32 %0) {\n  %2 = call i32 @f(i32 %0)\n  store i32 %2, i32* @table\n  \
                    call void @g()\n  ret i32 %2\n}\ndeclare void @g()\n";
        let copy = "define i32 @f.1(i32 %0) {\n  %2 = call i32 @f.1(i32 %0)\n  store i32 %2, i32* @table\n  call void @g()\n  \
                    ret i32 %2\n}\n";
        assert_eq!(copied(text, 2), format!("{text}{copy}"));
        assert_eq!(copied(text, 1), text);
    }

    #[test]
    fn seconds_of_passes_are_read() {
        let report = "===---\n  Instruction Selection and Scheduling\n  Total Execution Time: 0.5 seconds\n\
                      ... Pass execution timing report ...\n===---\n  Total Execution Time: 0.0034 seconds (0.0055 wall clock)\n";
        assert_eq!(seconds(report), Some(0.0034));
        assert_eq!(seconds(""), None);
    }
}
