//! Results as tables for programs, one row for each function and allocator, and plots of their costs.
//!
//! The columns are the columns of `kingpost alloc --format csv`; `bytes` of code is empty, because nothing is emitted. A function is
//! in the table once for each allocator that solves it. Refusals are listed on standard error.

use super::cases::Case;
use super::duel::{Contestant, Entry, answer, contestants, entries};
use crate::args::{RegallocArgs, TableFormat};
use anyhow::Result;
use cpu_time::ThreadTime;
use kingpost_checker::Checker;
use kingpost_explain::{COLUMNS, TableFacts, TableRow, plots};
use kingpost_regalloc::Allocation;

/// Solves all cases, and writes the rows to standard output, and plots to their folder.
///
/// # Errors
/// If a file cannot be read or written.
pub(super) fn write(args: &RegallocArgs, names: &[&'static str], cases: &[String], rounds: usize) -> Result<()> {
    let mut rows = Vec::new();
    for spec in cases {
        let case = Case::load(spec)?;
        let mut contestants = contestants(&case, names);
        for entry in entries(&case) {
            for contestant in &mut contestants {
                match row(contestant, &entry, &case.name, rounds) {
                    Ok(row) => rows.push(row),
                    Err(reason) => eprintln!("{} {}: {reason}", contestant.name, entry.problem.name),
                }
            }
        }
    }
    if let Some(folder) = &args.plots {
        std::fs::create_dir_all(folder)?;
        for plot in plots(&rows) {
            std::fs::write(folder.join(format!("{}.svg", plot.name)), plot.svg)?;
        }
    }
    match args.format {
        TableFormat::Text => {}
        TableFormat::Csv => {
            println!("{}", COLUMNS.join(","));
            rows.iter().for_each(|row| println!("{}", row.csv()));
        }
        TableFormat::Json => {
            let rows: Vec<String> = rows.iter().map(TableRow::json).collect();
            println!("[{}]", rows.join(",\n"));
        }
    }
    Ok(())
}

/// Returns the row of an allocator for one problem, with the times of all rounds.
fn row(contestant: &mut Contestant, entry: &Entry<'_>, file: &str, rounds: usize) -> Result<TableRow, String> {
    let mut out = Allocation::default();
    let mut nanoseconds = Vec::new();
    for _ in 0..if contestant.is_timed() { rounds } else { 0 } {
        let start = ThreadTime::now();
        contestant.run(entry, &mut out)?;
        nanoseconds.push(start.elapsed().as_nanos() as u64);
    }
    answer(contestant, entry, &mut Checker::new(), &mut out)?;
    let (allocator, function) = (contestant.name, entry.problem.name.clone());
    let facts = TableFacts { file, function, allocator, bytes: None, nanoseconds };
    Ok(TableRow::new(facts, entry.problem, entry.env, &out))
}
