//! Comparison of register allocators on equal problems: ours, and both algorithms of published regalloc2.
//!
//! Times are CPU seconds of the allocating thread: the least of several rounds, in which all allocators take turns
//! within milliseconds. Contexts are reused from problem to problem, verification is off everywhere, and the
//! conversion of problems and answers for regalloc2 is not timed. Our checker verifies every answer, including
//! regalloc2's, and [`Cost`](kingpost_regalloc::Cost) gives its cost. A problem that one allocator refuses is left
//! out for all, counted and listed. Bytes are the peak of an allocator's memory over the case, including contexts and
//! answer, measured in a separate process. An allocator that takes more than 60 CPU seconds there is printed as `≥`,
//! does not take part in the case, and is named.

mod cases;
pub mod duel;
pub(crate) mod growth;
pub mod probe;
mod rival;
mod rows;
pub(crate) mod table;

use crate::args::{RegallocArgs, TableFormat};
use anyhow::{Context, Result};
use cases::Case;
use duel::{FASTALLOC, ION, Outcome};
use probe::{Probe, be_quiet};
use std::path::PathBuf;

/// Options of a run.
struct Options {
    names: Vec<&'static str>,
    /// Cases: `shape:NAME:SIZE` or paths.
    cases: Vec<String>,
    rounds: usize,
    bytes: bool,
    /// The largest size, if growth is measured.
    growth: Option<usize>,
    shapes: Vec<&'static str>,
}

/// Runs the measurement that the command line requests.
///
/// # Errors
/// If a name does not exist, or a file cannot be read.
pub(crate) fn main(args: &RegallocArgs) -> Result<()> {
    let options = Options::new(args)?;
    be_quiet();
    if let Some(max) = options.growth {
        return growth::report(&options.names, &options.shapes, max, options.rounds);
    }
    if args.format != TableFormat::Text || args.plots.is_some() {
        return rows::write(args, &options.names, &options.cases, options.rounds);
    }
    let mut outcomes = Vec::new();
    for spec in &options.cases {
        let outcome = measure(spec, &options)?;
        table::print(&outcome);
        table::worst(&outcome, args.worst);
        outcomes.push(outcome);
    }
    table::summary(&outcomes);
    Ok(())
}

/// Compares our allocators with both rivals, on files and on all shapes of one size.
///
/// # Errors
/// If a file cannot be read.
pub(crate) fn compare(ours: &[&'static str], files: &[PathBuf], size: usize, rounds: usize) -> Result<Vec<Outcome>> {
    be_quiet();
    let names = [ION, FASTALLOC].into_iter().chain(ours.iter().copied()).collect();
    let shapes = crate::shapes::SHAPES.iter().map(|(name, _)| format!("shape:{name}:{size}"));
    let cases = files.iter().map(|file| file.display().to_string()).chain(shapes).collect();
    let options = Options { names, cases, rounds, bytes: false, growth: None, shapes: Vec::new() };
    options.cases.iter().map(|spec| measure(spec, &options)).collect()
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
    fn new(args: &RegallocArgs) -> Result<Options> {
        let all_shapes: Vec<&'static str> = crate::shapes::SHAPES.iter().map(|&(name, _)| name).collect();
        let ours = pick(&args.only, &duel::names())?;
        let (rounds, size) = if args.quick { (2, 10_000) } else { (5, 100_000) };
        let (rounds, size) = (args.rounds.unwrap_or(rounds), args.size.unwrap_or(size));
        let mut files = args.files.clone();
        if files.is_empty() && args.shapes.is_none() && args.growth.is_none() {
            files = crate::modules();
        }
        let shapes = match &args.shapes {
            Some(list) => pick(list, &all_shapes)?,
            None if args.files.is_empty() => all_shapes,
            None => Vec::new(),
        };
        let mut cases: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        cases.extend(shapes.iter().map(|name| format!("shape:{name}:{size}")));
        let rivals: &[&str] = if args.no_rivals || args.growth.is_some() { &[] } else { &[ION, FASTALLOC] };
        let command = args.regalloc_command.as_deref().map(duel::external);
        let names = rivals.iter().copied().chain(ours).chain(command).collect();
        Ok(Options { names, cases, rounds, bytes: !args.quick, growth: args.growth, shapes })
    }
}

/// Returns the names of `known` that a list contains. The word `none` is ignored.
fn pick(list: &[String], known: &[&'static str]) -> Result<Vec<&'static str>> {
    let find = |word: &String| known.iter().copied().find(|name| name == word);
    let words = list.iter().filter(|&word| word != "none");
    words.map(|word| find(word).with_context(|| format!("{word} is none of: {}", known.join(", ")))).collect()
}
