//! The table of counts: one line per case, with the columns of its heading.

use crate::stages::STAGES;
use crate::workload::{Case, Made};
use anyhow::{Context, Result, bail, ensure};
use std::fmt;
use std::str::FromStr;

/// Factor by which a count may exceed the table.
const TOLERANCE: f64 = 1.01;
/// Tolerated difference, because the table has one decimal.
const ROUNDING: f64 = 0.1;
/// Number of columns about the code: bytes, spills, fills and moves.
pub(crate) const CODE_COLUMNS: usize = 4;
const HEADING: &str = "# What compiling a generated module costs with a warm compiler: instructions retired per CLIF instruction, all\n\
    # and by stage; heap allocations; then bytes of code, spills, fills and moves. Written by `make gate-bless`.\n";
const COUNTED_WITH: &str = "# Counted with ";

/// The counts of one case.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Row {
    pub(crate) case: Case,
    /// Instructions retired per CLIF instruction.
    pub(crate) whole: f64,
    /// Instructions retired per CLIF instruction by stage, indexed like [`STAGES`].
    pub(crate) stages: [f64; STAGES.len()],
    /// Total number of heap allocations.
    pub(crate) allocations: u64,
    pub(crate) made: Made,
}

impl Row {
    /// Returns every count with its name.
    fn counts(&self) -> Vec<(&'static str, f64)> {
        let mut counts = vec![("all", self.whole)];
        counts.extend(STAGES.iter().zip(self.stages).map(|(&(name, _), count)| (name, count)));
        let Made { code_bytes, spills, fills, moves, .. } = self.made;
        let made = [
            ("allocations", self.allocations),
            ("bytes", code_bytes),
            ("spills", spills),
            ("fills", fills),
            ("moves", moves),
        ];
        counts.extend(made.map(|(name, count)| (name, count as f64)));
        counts
    }
}

/// The counts of all cases, and the compiler of the program.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Table {
    pub(crate) rustc: String,
    pub(crate) rows: Vec<Row>,
}

/// Differences from an older table.
#[derive(Default, Debug)]
pub(crate) struct Differences {
    pub(crate) better: Vec<String>,
    pub(crate) worse: Vec<String>,
}

impl Table {
    pub(crate) fn new(rustc: &str) -> Table {
        Table { rustc: rustc.into(), rows: Vec::new() }
    }

    /// Returns the number of counts.
    pub(crate) fn counts(&self) -> usize {
        self.rows.iter().map(|row| row.counts().len()).sum()
    }

    /// Returns the counts of `new` that differ from these by more than the tolerance, and the cases that only one
    /// table has.
    pub(crate) fn compare(&self, new: &Table) -> Differences {
        let mut differences = Differences::default();
        for row in &new.rows {
            let Some(old) = self.rows.iter().find(|old| old.case == row.case) else {
                differences.worse.push(format!("{}: not in the table", row.case));
                continue;
            };
            for ((name, new), (_, old)) in row.counts().into_iter().zip(old.counts()) {
                let line = || format!("{}: {name} {new:.1}, in the table {old:.1}", row.case);
                if new > old * TOLERANCE + ROUNDING {
                    differences.worse.push(line());
                } else if new * TOLERANCE + ROUNDING < old {
                    differences.better.push(line());
                }
            }
        }
        let gone = self.rows.iter().filter(|old| new.rows.iter().all(|row| row.case != old.case));
        differences.worse.extend(gone.map(|old| format!("{}: no longer counted", old.case)));
        differences
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEADING}{COUNTED_WITH}{}", self.rustc)?;
        write!(f, "{:8}{:14}{:6}{:>8}", "target", "allocator", "level", "all")?;
        STAGES.iter().try_for_each(|(name, _)| write!(f, "{name:>10}"))?;
        writeln!(f, "{:>13}{:>9}{:>9}{:>8}{:>8}{:>8}", "allocations", "insts", "bytes", "spills", "fills", "moves")?;
        for Row { case, whole, stages, allocations, made } in &self.rows {
            write!(f, "{:8}{:14}{:6}{whole:>8.1}", case.target, case.allocator, case.opt_level)?;
            stages.iter().try_for_each(|count| write!(f, "{count:>10.1}"))?;
            let Made { insts, code_bytes, spills, fills, moves } = made;
            writeln!(f, "{allocations:>13}{insts:>9}{code_bytes:>9}{spills:>8}{fills:>8}{moves:>8}")?;
        }
        Ok(())
    }
}

impl FromStr for Table {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Table> {
        let rustc = text
            .lines()
            .find_map(|line| line.strip_prefix(COUNTED_WITH))
            .context("no line says with what it was counted")?;
        let mut table = Table::new(rustc);
        // The names of the columns are in the first line that is no comment.
        for line in text.lines().filter(|line| !line.starts_with('#')).skip(1) {
            table.rows.push(row(line).with_context(|| format!("in {line:?}"))?);
        }
        ensure!(!table.rows.is_empty(), "no rows");
        Ok(table)
    }
}

fn row(line: &str) -> Result<Row> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [target, allocator, opt_level, whole, counts @ ..] = &words[..] else { bail!("too few columns") };
    let (stages, rest) = counts.split_at_checked(STAGES.len()).context("too few columns")?;
    let stages: Vec<f64> = stages.iter().map(|count| count.parse()).collect::<Result<_, _>>()?;
    let (allocations, made) = rest.split_first().context("too few columns")?;
    Ok(Row {
        case: Case::new(target, allocator, opt_level),
        whole: whole.parse()?,
        stages: stages.try_into().expect("as many as there are stages"),
        allocations: allocations.parse()?,
        made: made.join(" ").parse()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(whole: f64, spills: u64) -> Table {
        let made = Made { insts: 100, code_bytes: 400, spills, fills: 3, moves: 5 };
        let row =
            Row { case: Case::new("x86_64", "ssa", "none"), whole, stages: [1.0; STAGES.len()], allocations: 0, made };
        Table { rustc: "rustc 1".into(), rows: vec![row] }
    }

    #[test]
    fn a_table_reads_as_it_is_written() {
        let table = table(1234.5, 7);
        assert_eq!(table.to_string().parse::<Table>().unwrap(), table);
    }

    #[test]
    fn what_is_above_the_tolerance_is_worse() {
        let old = table(1000.0, 7);
        assert!(old.compare(&table(1009.0, 7)).worse.is_empty());
        assert_eq!(old.compare(&table(1011.0, 7)).worse.len(), 1);
        assert_eq!(old.compare(&table(1000.0, 8)).worse.len(), 1);
        assert_eq!(old.compare(&table(900.0, 7)).better.len(), 1);
        assert_eq!(old.compare(&Table::new("rustc 1")).worse.len(), 1);
    }
}
