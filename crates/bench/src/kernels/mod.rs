//! Run time of compiled code: well-known kernels, ours against Cranelift's and `cc -O1`, in one process.
//!
//! Each kernel is a C file in `kernels/`, which `cc` compiles, and beside it what a plain front end ([`translate`]) makes of
//! it, which Cranelift and we compile. All versions of all kernels are linked into one program. It calls them in turns, round
//! after round, and compares what they return with what the file says. The least time of all rounds counts; the spread is how
//! much more the median took.
//!
//! | file | holds |
//! |---|---|
//! | `translate.rs`, `words.rs` | the front end |
//! | `versions.rs` | the compilers: from CLIF or C to objects |
//! | `program.rs` | the program that is linked and run |

mod program;
mod translate;
mod versions;
mod words;

use anyhow::{Context, Result, ensure};
use program::Sample;
use std::path::{Path, PathBuf};
use versions::Version;

/// Where the kernels are.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/kernels");

/// A kernel: a function `u64 NAME(u64)`.
pub(crate) struct Kernel {
    name: String,
    c: PathBuf,
    clif: String,
    /// The argument of the measured call, and what it returns.
    argument: u64,
    result: u64,
}

/// All kernels, by name.
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
        kernels.push(Kernel { name, c, clif, argument, result });
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

/// The argument and result of the line `// KIND: ARGUMENT => RESULT`.
fn expectation(text: &str, kind: &str) -> Result<(u64, u64)> {
    let line = text.lines().find_map(|line| line.strip_prefix("// ")?.strip_prefix(kind)?.strip_prefix(": "));
    let line = line.with_context(|| format!("no line `// {kind}: ARGUMENT => RESULT`"))?;
    let (argument, result) = line.split_once(" => ").context("no ` => `")?;
    Ok((argument.parse()?, result.parse()?))
}

/// What stands in the CLIF file of a kernel: a run test of few rounds.
fn clif(name: &str, text: &str) -> Result<String> {
    let (argument, result) = expectation(text, "tested")?;
    let title = text.lines().next().unwrap_or_default().trim_start_matches("// ");
    let mut clif = format!("; {title}\n; Made from {name}.c by `kingpost-bench kernels --translate`.\n");
    clif += "test interpret\ntest run\ntarget x86_64\ntarget aarch64\n";
    for function in translate::translate(text).with_context(|| format!("{name}.c"))? {
        // The builder has resolved all aliases; to name them is of no use.
        let text = function.to_string();
        clif.extend(text.lines().filter(|line| !line.contains(" -> v")).flat_map(|line| ["\n", line]));
        clif += "\n";
    }
    Ok(clif + &format!("\n; run: %{name}({argument}) == {}\n", result as i64))
}

/// Writes the CLIF files.
///
/// # Errors
/// A kernel that is not of the front end's language.
pub(crate) fn translate() -> Result<()> {
    for c in sources()? {
        std::fs::write(c.with_extension("clif"), clif(&name_of(&c), &std::fs::read_to_string(&c)?)?)?;
    }
    Ok(())
}

/// Compiles, runs and compares; leaves objects and program in `folder`.
///
/// # Errors
/// A kernel that some side refuses or that returns something else than its file says.
pub(crate) fn report(only: &[String], rounds: usize, folder: &Path) -> Result<()> {
    let kernels = kernels(only)?;
    let mut versions = versions::all()?;
    std::fs::create_dir_all(folder)?;
    let mut bytes = Vec::new();
    for version in &mut versions {
        for kernel in &kernels {
            let size = version.build(kernel, folder);
            bytes.push(size.with_context(|| format!("{} by {}", kernel.name, version.name()))?);
        }
    }
    let samples = program::run(&kernels, &versions, rounds, folder)?;
    for (index, kernel) in kernels.iter().enumerate() {
        println!("{}", kernel.name);
        println!("  {HEADER}");
        for (number, version) in versions.iter().enumerate() {
            let at = |number: usize| number * kernels.len() + index;
            print_row(version, bytes[at(number)], samples[at(number)], bytes[at(0)], samples[at(0)]);
        }
    }
    print_summary(&kernels, &versions, &bytes, &samples);
    Ok(())
}

const HEADER: &str = "compiled by                       time in us   spread    ratio     bytes    ratio";

fn print_row(version: &Version, bytes: usize, sample: Sample, first_bytes: usize, first: Sample) {
    println!(
        "  {:30} {:>13.1} {:>7.1}% {:>8.3} {:>9} {:>8.3}",
        version.name(),
        sample.least / 1000.0,
        100.0 * (sample.median / sample.least - 1.0),
        sample.least / first.least,
        bytes,
        bytes as f64 / first_bytes as f64
    );
}

/// Geometric means over the kernels of the ratios to the first version, and the worst of each.
fn print_summary(kernels: &[Kernel], versions: &[Version], bytes: &[usize], samples: &[Sample]) {
    let count = kernels.len();
    println!("all {count} kernels, against {}", versions[0].name());
    println!("  {:30} {:>9} {:>9} {:16} {:>9}", "compiled by", "time", "worst", "", "bytes");
    for (number, version) in versions.iter().enumerate() {
        let of_version = number * count..(number + 1) * count;
        let times: Vec<f64> =
            samples[of_version.clone()].iter().zip(samples).map(|(sample, first)| sample.least / first.least).collect();
        let sizes = bytes[of_version].iter().zip(bytes).map(|(&bytes, &first)| bytes as f64 / first as f64);
        let worst = (0..count).max_by(|&a, &b| times[a].total_cmp(&times[b])).unwrap_or(0);
        println!(
            "  {:30} {:>9.3} {:>9.3} {:16} {:>9.3}",
            version.name(),
            geometric_mean(times.iter().copied()),
            times[worst],
            kernels[worst].name,
            geometric_mean(sizes)
        );
    }
}

fn geometric_mean(ratios: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = ratios.fold((0.0, 0.0), |(sum, count), ratio| (sum + ratio.ln(), count + 1.0));
    f64::exp(sum / count)
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
