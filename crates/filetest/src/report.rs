//! Outcomes of the units of a test run, and their text.

use std::collections::BTreeMap;
use std::fmt;

/// Outcome of one unit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// All expectations hold.
    Passed,
    /// Some expectations do not hold, one text each.
    Failed(Vec<String>),
    /// A requirement is missing here, and all tested expectations hold.
    Skipped(String),
}

/// A file × subtest × target × allocator, and its outcome.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnitReport {
    /// Path of the file.
    pub file: String,
    /// Subtest, target and allocator, as `test run, target x86_64, allocator linear`.
    pub unit: String,
    /// Outcome of the unit.
    pub outcome: Outcome,
    /// Output of `print` directives.
    pub prints: Vec<String>,
    /// The command that repeats this unit.
    pub command: String,
}

/// All units of a test run, in the order of files and units.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Report {
    /// The units.
    pub units: Vec<UnitReport>,
}

impl Report {
    /// Returns the number of units that passed.
    pub fn passed(&self) -> usize {
        self.units.iter().filter(|unit| unit.outcome == Outcome::Passed).count()
    }

    /// Returns the number of units that failed.
    pub fn failed(&self) -> usize {
        self.units.iter().filter(|unit| matches!(unit.outcome, Outcome::Failed(_))).count()
    }

    /// Returns the number of units that were skipped.
    pub fn skipped(&self) -> usize {
        self.units.iter().filter(|unit| matches!(unit.outcome, Outcome::Skipped(_))).count()
    }

    /// Returns the number of skipped units for each reason, with the first file of each.
    fn skips(&self) -> BTreeMap<&str, (usize, &str)> {
        let mut skips = BTreeMap::new();
        for unit in &self.units {
            if let Outcome::Skipped(reason) = &unit.outcome {
                skips.entry(reason.as_str()).or_insert((0, unit.file.as_str())).0 += 1;
            }
        }
        skips
    }
}

impl fmt::Display for Report {
    /// Writes printed text, the reasons of skips, the failures each with the command that repeats it, and a last line
    /// with the counts.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for lines in self.units.chunk_by(|a, b| a.file == b.file && a.prints == b.prints) {
            // Units of a file nearly always have equal output.
            lines[0].prints.iter().try_for_each(|line| writeln!(f, "{line}"))?;
        }
        for (reason, (count, file)) in self.skips() {
            writeln!(f, "skipped {count}: {reason} (first in {file})")?;
        }
        for alike in self.units.chunk_by(|a, b| a.file == b.file && a.outcome == b.outcome) {
            let (unit, others) = (&alike[0], &alike[1..]);
            let Outcome::Failed(texts) = &unit.outcome else { continue };
            writeln!(f, "\nFAILED {}: {}", unit.file, unit.unit)?;
            texts.iter().try_for_each(|text| write_indented(f, text))?;
            writeln!(f, "  repeat: {}", unit.command)?;
            others.iter().try_for_each(|other| writeln!(f, "  the same: {}", other.unit))?;
        }
        writeln!(f, "{} passed, {} failed, {} skipped", self.passed(), self.failed(), self.skipped())
    }
}

fn write_indented(f: &mut fmt::Formatter, text: &str) -> fmt::Result {
    text.lines().try_for_each(|line| writeln!(f, "  {line}"))
}

/// Findings of a subtest so far.
#[derive(Default, Debug)]
pub(crate) struct Findings {
    pub(crate) failures: Vec<String>,
    pub(crate) skips: Vec<String>,
    pub(crate) prints: Vec<String>,
    /// Number of expectations that were compared.
    pub(crate) expectations: usize,
}

impl Findings {
    pub(crate) fn fail(&mut self, text: impl fmt::Display) {
        self.failures.push(text.to_string());
    }

    pub(crate) fn skip(&mut self, reason: impl fmt::Display) {
        self.skips.push(reason.to_string());
    }

    /// Records a note, which is no expectation.
    pub(crate) fn note(&mut self, text: impl fmt::Display) {
        self.prints.push(format!("note: {text}"));
    }

    /// Returns the outcome: a failure outweighs a skip, and a skip outweighs passed expectations.
    pub(crate) fn outcome(&mut self) -> Outcome {
        if !self.failures.is_empty() {
            return Outcome::Failed(std::mem::take(&mut self.failures));
        }
        match self.skips.first() {
            Some(reason) => Outcome::Skipped(reason.clone()),
            None => Outcome::Passed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_reasons() {
        let unit = |file: &str, outcome| UnitReport {
            file: file.into(),
            unit: "test cat".into(),
            outcome,
            prints: Vec::new(),
            command: format!("kingpost test {file}"),
        };
        let skipped = |reason: &str| Outcome::Skipped(reason.into());
        let units = vec![
            unit("a", Outcome::Passed),
            unit("b", skipped("x")),
            unit("c", skipped("x")),
            unit("d", Outcome::Failed(vec!["one\ntwo".into()])),
        ];
        let expected = "\
skipped 2: x (first in b)

FAILED d: test cat
  one
  two
  repeat: kingpost test d
1 passed, 1 failed, 2 skipped
";
        assert_eq!(Report { units }.to_string(), expected);
    }

    #[test]
    fn failures_outweigh_skips() {
        let mut findings = Findings::default();
        assert_eq!(findings.outcome(), Outcome::Passed);
        findings.skip("missing");
        assert_eq!(findings.outcome(), Outcome::Skipped("missing".into()));
        findings.fail("wrong");
        assert_eq!(findings.outcome(), Outcome::Failed(vec!["wrong".into()]));
    }
}
