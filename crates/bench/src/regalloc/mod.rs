//! Register allocators on the same problems: ours, and published regalloc2 with both its algorithms.
//!
//! ```text
//! kingpost-bench regalloc [OPTION...] [FILE...]      the functions of CLIF files, lowered for x86-64, and shapes
//!     --only NAME[,NAME...]    only these of ours (always against both rivals); `--only none` measures the rivals
//!     --no-rivals              ours alone
//!     --shapes NAME[,...]|none which generated shapes; by default all, but none with files
//!     --size N                 instructions of a shape, by default 100,000
//!     --rounds N               rounds of which the best counts, by default 5
//!     --quick                  shapes of 10,000, two rounds, no bytes
//!     --growth [MAX]           instead: exponents of steps, bytes and CPU time of ours from 10^4 to MAX, by default 10^6
//! ```
//!
//! Without files and `--shapes`, the modules of `../shared/corpus/wasm-clif` are measured, if they are there, and all
//! shapes.
//!
//! Times are CPU seconds of the thread that allocates, the least of several rounds in which all take turns within
//! milliseconds. Contexts are used again from problem to problem, verification is off everywhere, and turning a problem
//! into regalloc2's terms and back is not timed. Every answer, regalloc2's too, is judged by our checker and priced by
//! [`Cost`](kingpost_regalloc::Cost). A problem that somebody refuses is left out for all, counted and listed. Bytes are the
//! most that one had allocated at once over the case, contexts and answer included, from a process of its own; one that takes
//! more than 60 CPU seconds there is printed as `≥`, takes no part in the case, and is named.

mod cases;
pub mod duel;
mod growth;
pub mod probe;
mod rival;
mod table;

use anyhow::{Context, Result, bail};
use cases::Case;
use duel::{FASTALLOC, ION, Outcome};
use probe::Probe;
use std::path::Path;

/// What is asked for.
struct Options {
    names: Vec<&'static str>,
    /// `shape:NAME:SIZE` or paths.
    cases: Vec<String>,
    rounds: usize,
    bytes: bool,
    /// The largest size, if growth is asked for.
    growth: Option<usize>,
    shapes: Vec<&'static str>,
}

/// Panics of a rival are refusals; nobody wants to read them.
fn be_quiet() {
    std::panic::set_hook(Box::new(|_| {}));
}

/// Does what the words after `regalloc` say.
///
/// # Errors
/// Words that make no sense, files that cannot be read.
pub fn main(args: &[&str]) -> Result<()> {
    let options = Options::parse(args)?;
    be_quiet();
    if let Some(max) = options.growth {
        return growth::report(&options.names, &options.shapes, max, options.rounds);
    }
    let mut outcomes = Vec::new();
    for spec in &options.cases {
        let outcome = measure(spec, &options)?;
        table::print(&outcome);
        outcomes.push(outcome);
    }
    table::summary(&outcomes);
    Ok(())
}

fn measure(spec: &str, options: &Options) -> Result<Outcome> {
    let mut left_out = Vec::new();
    let mut bytes = vec![None; options.names.len()];
    if options.bytes {
        let probes = probe::probe(spec, &options.names);
        for ((&name, bytes), probe) in options.names.iter().zip(&mut bytes).zip(probes) {
            match probe {
                Probe::Done { bytes: n, .. } => *bytes = Some(n),
                Probe::Over => left_out.push(name),
                Probe::Unknown => {}
            }
        }
    }
    let case = Case::load(spec)?;
    let mut outcome = duel::duel(&case, &options.names, &left_out, options.rounds);
    outcome.rows.iter_mut().zip(bytes).for_each(|(row, bytes)| row.bytes = bytes);
    Ok(outcome)
}

impl Options {
    fn parse(args: &[&str]) -> Result<Options> {
        let all_shapes: Vec<&'static str> = crate::shapes::SHAPES.iter().map(|&(name, _)| name).collect();
        let mut ours: Vec<&'static str> = vec!["ssa", "linear", "backtracking"];
        let (mut rivals, mut bytes, mut growth) = (vec![ION, FASTALLOC], true, None);
        let (mut rounds, mut size) = (5, 100_000);
        let (mut shapes, mut files) = (None, Vec::new());
        let mut args = args.iter().copied().peekable();
        while let Some(word) = args.next() {
            let mut value = || args.next().with_context(|| format!("{word} needs a value"));
            match word {
                "--only" => ours = pick(value()?, &duel::names())?,
                "--no-rivals" => rivals.clear(),
                "--shapes" => shapes = Some(pick(value()?, &all_shapes)?),
                "--size" => size = value()?.parse()?,
                "--rounds" => rounds = value()?.parse()?,
                "--quick" => (rounds, size, bytes) = (2, 10_000, false),
                "--growth" => {
                    let max = args.next_if(|word| word.parse::<usize>().is_ok());
                    growth = Some(max.map_or(Ok(1_000_000), str::parse)?);
                }
                _ if word.starts_with("--") => bail!("regalloc knows no option {word}"),
                file => files.push(file.to_string()),
            }
        }
        let only_files = !files.is_empty();
        if files.is_empty() && shapes.is_none() && growth.is_none() {
            files = crate::modules().into_iter().filter(|file| Path::new(file).exists()).collect();
            if files.is_empty() {
                println!("SKIPPED: modules: no {}", crate::MODULES);
            }
        }
        let shapes = shapes.unwrap_or(if only_files { Vec::new() } else { all_shapes });
        let mut cases = files;
        cases.extend(shapes.iter().map(|name| format!("shape:{name}:{size}")));
        let names = if growth.is_some() { ours } else { rivals.into_iter().chain(ours).collect() };
        Ok(Options { names, cases, rounds, bytes, growth, shapes })
    }
}

/// Those of `known` that a list with commas names.
fn pick(list: &str, known: &[&'static str]) -> Result<Vec<&'static str>> {
    let find = |word: &str| known.iter().copied().find(|&name| name == word);
    let words = list.split(',').filter(|&word| word != "none");
    words.map(|word| find(word).with_context(|| format!("{word} is none of: {}", known.join(", ")))).collect()
}
