//! The fault of one case, and counts over many cases.

use std::collections::BTreeMap;
use std::fmt;

/// A shrunken case that fails.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Its seed.
    pub seed: u64,
    /// Description of the fault.
    pub what: String,
    /// The case as text, for generated programs a filetest.
    pub text: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "; seed {}", self.seed)?;
        self.what.lines().try_for_each(|line| writeln!(f, "; {line}"))?;
        f.write_str(&self.text)
    }
}

/// Counts over many cases.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Report {
    /// Cases, for generated programs the programs.
    pub cases: u64,
    /// Functions compiled, once per allocator.
    pub functions: u64,
    /// Calls whose endings were compared.
    pub calls: u64,
    /// Calls that had to trap, and did.
    pub traps: u64,
    /// Faults planted in code, which had to be refused unless the code means the same, and were.
    pub faults: u64,
    /// Cases left out, by reason.
    pub skipped: BTreeMap<String, u64>,
}

impl Report {
    pub(crate) fn skip(&mut self, reason: impl fmt::Display) {
        *self.skipped.entry(reason.to_string()).or_default() += 1;
    }

    /// Adds the counts of another report.
    pub fn add(&mut self, other: &Report) {
        self.cases += other.cases;
        self.functions += other.functions;
        self.calls += other.calls;
        self.traps += other.traps;
        self.faults += other.faults;
        for (reason, count) in &other.skipped {
            *self.skipped.entry(reason.clone()).or_default() += count;
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { cases, functions, calls, traps, faults, skipped } = self;
        write!(f, "{cases} cases, {functions} functions, {calls} calls, {traps} of them trap")?;
        if *faults > 0 {
            write!(f, ", {faults} planted faults")?;
        }
        skipped.iter().try_for_each(|(reason, count)| write!(f, "\n  {count} left out: {reason}"))
    }
}
