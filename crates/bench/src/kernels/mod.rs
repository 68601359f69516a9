//! Run time of compiled code: well-known kernels compiled by us, by Cranelift and by C compilers, in one process.
//!
//! Each kernel is a C file in `kernels/`, which `cc` compiles. Next to it is its translation by a plain front end
//! ([`translate`]), which Cranelift and we compile. All versions of all kernels are linked into one program. The
//! program calls them in turns, round after round, and compares their results with the expectation in the file. The
//! least time of all rounds counts, as the mean of four places of the code. The spread is the ratio of the median to the
//! least time, and the column `placement` how much the place changes the least time.
//!
//! | file | holds |
//! |---|---|
//! | `module_functions.rs`, `linear_memory.c` | functions of real modules in place of kernels |
//! | `suite.rs` | functions that are measured together |
//! | `kernel.rs` | the files and results of a kernel |
//! | `translate.rs`, `translate/`, `words.rs` | the front end |
//! | `machine.rs` | the targets and their tools |
//! | `versions.rs` | the compilers: from CLIF or C to objects |
//! | `program.rs` | the program that contains and runs all versions |
//! | `instructions.rs` | executed instructions, under an emulator |
//! | `llvm.rs` | compile time beside LLVM's |

pub(crate) mod instructions;
mod kernel;
pub(crate) mod llvm;
mod machine;
mod module_functions;
mod program;
mod suite;
mod translate;
mod versions;
mod words;

use crate::measure::geometric_mean;
use anyhow::{Context, Result, ensure};
use kernel::Kernel;
use program::Sample;
use std::path::{Path, PathBuf};
use suite::Suite;

/// Folder of the kernels.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/kernels");

/// Returns the kernels with these names, or all; or functions of real modules instead: [`module_functions`].
///
/// # Errors
/// If there is no such kernel or function.
pub(crate) fn suite(of_modules: bool, only: &[String]) -> Result<Suite> {
    if of_modules {
        return module_functions::suite(only);
    }
    let surroundings = "#include <stdint.h>\nstatic void prepare(void) {}\nstatic uint64_t digest(void) { return 0; }";
    Ok(Suite { kernels: kernels(only)?, surroundings })
}

/// Returns all kernels, by name.
fn kernels(only: &[String]) -> Result<Vec<Kernel>> {
    let mut kernels = Vec::new();
    for c in sources()? {
        let name = name_of(&c);
        if !only.is_empty() && !only.contains(&name) {
            continue;
        }
        let text = std::fs::read_to_string(&c)?;
        let clif = c.with_extension("clif");
        let clif = std::fs::read_to_string(&clif).with_context(|| format!("cannot read {}", clif.display()))?;
        let (argument, result) = expectation(&text, "measured")?;
        kernels.push(Kernel { name, c: Some(c), clif, argument, result });
    }
    ensure!(!kernels.is_empty(), "no such kernel");
    Ok(kernels)
}

fn sources() -> Result<Vec<PathBuf>> {
    let entries: Result<Vec<_>, _> = std::fs::read_dir(FOLDER)?.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut files = entries?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "c"));
    files.sort();
    Ok(files)
}

fn name_of(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the argument and result of the line `// KIND: ARGUMENT => RESULT`.
fn expectation(text: &str, kind: &str) -> Result<(u64, u64)> {
    let line = text.lines().find_map(|line| line.strip_prefix("// ")?.strip_prefix(kind)?.strip_prefix(": "));
    let line = line.with_context(|| format!("no line `// {kind}: ARGUMENT => RESULT`"))?;
    let (argument, result) = line.split_once(" => ").context("no ` => `")?;
    Ok((argument.parse()?, result.parse()?))
}

/// Returns the CLIF file of a kernel: a run test of few rounds.
fn clif(name: &str, text: &str) -> Result<String> {
    let (argument, result) = expectation(text, "tested")?;
    let title = text.lines().next().unwrap_or_default().trim_start_matches("// ");
    let mut clif = format!("; {title}\n; Made from {name}.c by `kingpost-bench kernels --translate`.\n");
    clif += "test interpret\ntest run\ntarget x86_64\ntarget aarch64\n";
    for function in translate::translate(text).with_context(|| format!("{name}.c"))? {
        // Aliases are omitted, because the builder has resolved all of them.
        let text = function.to_string();
        clif.extend(text.lines().filter(|line| !line.contains(" -> v")).flat_map(|line| ["\n", line]));
        clif += "\n";
    }
    Ok(clif + &format!("\n; run: %{name}({argument}) == {}\n", result as i64))
}

/// Writes the CLIF files of all kernels.
///
/// # Errors
/// If a kernel is not in the front end's language.
pub(crate) fn translate() -> Result<()> {
    for c in sources()? {
        std::fs::write(c.with_extension("clif"), clif(&name_of(&c), &std::fs::read_to_string(&c)?)?)?;
    }
    Ok(())
}

/// Times of one version of a kernel.
pub(crate) struct Measured {
    pub(crate) kernel: String,
    /// The compiler, its allocator and its optimization level.
    pub(crate) version: String,
    pub(crate) sample: Sample,
    /// Size of the code in bytes.
    pub(crate) bytes: usize,
}

/// Compiles and runs the kernels. Leaves the objects and the program in `folder`. The rows are grouped by version.
///
/// # Errors
/// If a compiler refuses a kernel, or a kernel's result differs from the expectation in its file.
pub(crate) fn measure(suite: &Suite, rounds: usize, folder: &Path) -> Result<Vec<Measured>> {
    let kernels = &suite.kernels;
    let versions = versions::all(&machine::X86_64, suite);
    std::fs::create_dir_all(folder)?;
    let mut bytes = Vec::new();
    for version in &versions {
        for kernel in kernels {
            let size = version.build(kernel, &machine::X86_64, folder);
            bytes.push(size.with_context(|| format!("{} by {}", kernel.name, version.name()))?);
        }
    }
    let samples = program::run(suite, &versions, rounds, folder)?;
    let pairs = versions.iter().flat_map(|version| kernels.iter().map(move |kernel| (version, kernel)));
    let measured = pairs.zip(samples).zip(bytes).map(|(((version, kernel), sample), bytes)| Measured {
        kernel: kernel.name.clone(),
        version: version.name(),
        sample,
        bytes,
    });
    Ok(measured.collect())
}

/// Compares all versions of each kernel, and prints a table.
///
/// # Errors
/// See [`measure`].
pub(crate) fn report(suite: &Suite, rounds: usize, folder: &Path) -> Result<()> {
    let measured = measure(suite, rounds, folder)?;
    let versions: Vec<&[Measured]> = measured.chunk_by(|a, b| a.version == b.version).collect();
    for (index, first) in versions[0].iter().enumerate() {
        println!("{}", first.kernel);
        println!("  {HEADER}");
        versions.iter().for_each(|version| print_row(&version[index], first));
    }
    println!("all {} kernels, against {}", versions[0].len(), versions[0][0].version);
    println!("  {:30} {:>9} {:>9} {:16} {:>9}", "compiled by", "time", "worst", "", "bytes");
    for version in &versions {
        let Summary { time, worst, worst_kernel, bytes, .. } = Summary::of(version, versions[0]);
        println!("  {:30} {time:>9.3} {worst:>9.3} {worst_kernel:16} {bytes:>9.3}", version[0].version);
    }
    Ok(())
}

const HEADER: &str = "compiled by                       time in us   spread placement    ratio     bytes    ratio";

fn print_row(row: &Measured, first: &Measured) {
    println!(
        "  {:30} {:>13.1} {:>7.1}% {:>8.1}% {:>8.3} {:>9} {:>8.3}",
        row.version,
        row.sample.least / 1000.0,
        100.0 * (row.sample.spread() - 1.0),
        100.0 * (row.sample.placement - 1.0),
        row.sample.least / first.sample.least,
        row.bytes,
        row.bytes as f64 / first.bytes as f64
    );
}

/// Comparison of a version with the first one, over all kernels.
pub(crate) struct Summary {
    /// Geometric mean of the ratios of times.
    pub(crate) time: f64,
    /// The greatest ratio of times, and its kernel.
    pub(crate) worst: f64,
    pub(crate) worst_kernel: String,
    /// Geometric mean of the ratios of the median to the least time.
    pub(crate) spread: f64,
    /// Geometric mean of the ratios of bytes.
    pub(crate) bytes: f64,
}

impl Summary {
    pub(crate) fn of(version: &[Measured], first: &[Measured]) -> Summary {
        let pairs = || version.iter().zip(first);
        let time = |(row, first): (&Measured, &Measured)| row.sample.least / first.sample.least;
        let worst = pairs().max_by(|&a, &b| time(a).total_cmp(&time(b)));
        Summary {
            time: geometric_mean(pairs().map(time)),
            worst: worst.map_or(f64::NAN, time),
            worst_kernel: worst.map_or_else(String::new, |(row, _)| row.kernel.clone()),
            spread: geometric_mean(version.iter().map(|row| row.sample.spread())),
            bytes: geometric_mean(pairs().map(|(row, first)| row.bytes as f64 / first.bytes as f64)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clif_files_are_translations() {
        for c in sources().unwrap() {
            let expected = clif(&name_of(&c), &std::fs::read_to_string(&c).unwrap()).unwrap();
            let found = std::fs::read_to_string(c.with_extension("clif")).unwrap();
            assert_eq!(found, expected, "{}: run `kingpost-bench kernels --translate`", c.display());
        }
    }
}
