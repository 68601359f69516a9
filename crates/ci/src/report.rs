//! The table of stages, and the last lines of a run.

use crate::tier::Tier;
use serde_json::{Value, json};
use std::fmt;

/// Named numbers, in the order in which they were first counted.
#[derive(Clone, Default, Debug)]
pub(crate) struct Counts(Vec<(String, u64)>);

impl Counts {
    /// Adds to the number of a name.
    pub(crate) fn add(&mut self, name: &str, number: u64) {
        match self.0.iter_mut().find(|(other, _)| other == name) {
            Some((_, sum)) => *sum += number,
            None => self.0.push((name.to_string(), number)),
        }
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.0.iter().map(|(name, number)| format!("{number} {name}")).collect();
        f.write_str(&parts.join(", "))
    }
}

/// Outcome of one stage.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) name: &'static str,
    /// Seconds that passed; nothing depends on them.
    pub(crate) seconds: f64,
    /// CPU seconds of the programs that it ran.
    pub(crate) cpu_seconds: f64,
    pub(crate) counts: Counts,
    /// Parts that were left out, with the reasons.
    pub(crate) skipped: Vec<String>,
    /// The first failure, and how to repeat it.
    pub(crate) failure: Option<String>,
}

impl Done {
    pub(crate) fn is_failed(&self) -> bool {
        self.failure.is_some()
    }

    pub(crate) fn json(&self) -> Value {
        json!([self.seconds, self.cpu_seconds, self.counts.0, self.skipped, self.failure])
    }

    /// Reads what [`Done::json`] wrote.
    pub(crate) fn of_json(name: &'static str, value: &Value) -> Done {
        let text = |value: &Value| value.as_str().map(str::to_string);
        let array = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let count = |pair: &Value| Some((text(&pair[0])?, pair[1].as_u64()?));
        Done {
            name,
            seconds: value[0].as_f64().unwrap_or_default(),
            cpu_seconds: value[1].as_f64().unwrap_or_default(),
            counts: Counts(array(&value[2]).iter().filter_map(count).collect()),
            skipped: array(&value[3]).iter().filter_map(text).collect(),
            failure: text(&value[4]),
        }
    }
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Done { name, seconds, cpu_seconds, counts, skipped, failure } = self;
        let outcome = if failure.is_some() { "FAILED" } else { "passed" };
        write!(f, "{name}: {outcome} in {seconds:.0} s, {cpu_seconds:.0} s of CPU time; {counts}")?;
        skipped.iter().try_for_each(|what| write!(f, "\n  SKIPPED: {what}"))
    }
}

/// Outcomes of the stages of a run.
#[derive(Default, Debug)]
pub(crate) struct Report(Vec<Done>);

impl Report {
    pub(crate) fn add(&mut self, done: Done) {
        self.0.push(done);
    }

    pub(crate) fn is_failed(&self) -> bool {
        self.0.iter().any(Done::is_failed)
    }

    /// Returns the table of stages and the last lines, of all stages of the tier if `is_whole`; `seconds` is the time of
    /// the run, in which stages overlapped.
    pub(crate) fn end(&self, tier: Tier, is_whole: bool, seconds: f64) -> String {
        let mut text = format!("\n{:<12}{:>8}{:>8}  counts\n", "stage", "seconds", "CPU");
        for Done { name, seconds, cpu_seconds, counts, .. } in &self.0 {
            text += format!("{name:<12}{seconds:>8.0}{cpu_seconds:>8.0}  {counts}").trim_end();
            text.push('\n');
        }
        let cpu_seconds = self.0.iter().map(|done| done.cpu_seconds).sum::<f64>();
        text += &format!("{:<12}{seconds:>8.0}{cpu_seconds:>8.0}\n\n", "all");
        let skips = self.0.iter().flat_map(|done| done.skipped.iter().map(move |what| (done.name, what)));
        skips.for_each(|(name, what)| text += &format!("SKIPPED: {name}: {what}\n"));
        let names: Vec<&str> = self.0.iter().filter(|done| !done.is_failed()).map(|done| done.name).collect();
        let target = tier.target();
        match self.0.iter().find_map(|done| Some((done.name, done.failure.as_ref()?))) {
            Some((name, failure)) => text += &format!("make {target}: FAILED in stage {name}\n\n{failure}\n"),
            None if is_whole => text += &format!("make {target}: all passed: {}\n", names.join(", ")),
            None => text += &format!("make {target}: these stages passed: {}\n", names.join(", ")),
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_name_what_passed_and_what_was_skipped() {
        let mut counts = Counts::default();
        counts.add("tests", 2);
        counts.add("tests", 3);
        let (skipped, failure) = (vec!["a: no z3".into()], None);
        let mut report = Report::default();
        let unit = Done { name: "unit", seconds: 1.4, cpu_seconds: 2.6, counts, skipped, failure };
        report.add(Done::of_json("unit", &unit.json()));
        let expected = "
stage        seconds     CPU  counts
unit               1       3  5 tests
all                1       3

SKIPPED: unit: a: no z3
make test: all passed: unit
";
        assert_eq!(report.end(Tier::Test, true, 1.2), expected);
        let (counts, skipped, failure) = (Counts::default(), Vec::new(), Some("what\nrepeat: x".into()));
        report.add(Done { name: "gate", seconds: 0.0, cpu_seconds: 0.0, counts, skipped, failure });
        assert!(report.end(Tier::Test, true, 1.2).ends_with("make test: FAILED in stage gate\n\nwhat\nrepeat: x\n"));
    }
}
