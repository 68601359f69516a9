//! Reports of test runs for programs: JSON, and XML as JUnit writes it.

use kingpost_filetest::{Outcome, Report, UnitReport};
use serde_json::json;
use std::fmt::Write;

/// Returns the report as one JSON object: the counts, and all units with their outcomes.
pub(crate) fn json(report: &Report) -> String {
    let unit = |unit: &UnitReport| {
        let (outcome, messages) = match &unit.outcome {
            Outcome::Passed => ("passed", Vec::new()),
            Outcome::Failed(texts) => ("failed", texts.clone()),
            Outcome::Skipped(reason) => ("skipped", vec![reason.clone()]),
        };
        json!({
            "file": unit.file,
            "unit": unit.unit,
            "outcome": outcome,
            "messages": messages,
            "prints": unit.prints,
            "repeat": unit.command,
        })
    };
    let units: Vec<String> = report.units.iter().map(|each| unit(each).to_string()).collect();
    let units = if units.is_empty() { String::new() } else { format!("\n{}\n", units.join(",\n")) };
    let (passed, failed, skipped) = (report.passed(), report.failed(), report.skipped());
    format!("{{\"passed\":{passed},\"failed\":{failed},\"skipped\":{skipped},\"units\":[{units}]}}\n")
}

/// Returns the report as XML. A suite is a file, and a case is a unit.
pub(crate) fn junit(report: &Report) -> String {
    let counts = |units: &[UnitReport]| {
        let failures = units.iter().filter(|unit| matches!(unit.outcome, Outcome::Failed(_))).count();
        let skipped = units.iter().filter(|unit| matches!(unit.outcome, Outcome::Skipped(_))).count();
        format!("tests=\"{}\" failures=\"{failures}\" errors=\"0\" skipped=\"{skipped}\"", units.len())
    };
    let head = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>";
    let mut text = format!("{head}\n<testsuites name=\"kingpost\" {}>\n", counts(&report.units));
    // Writing to a string does not fail.
    for suite in report.units.chunk_by(|a, b| a.file == b.file) {
        let _ = writeln!(text, "  <testsuite name=\"{}\" {}>", escaped(&suite[0].file), counts(suite));
        for unit in suite {
            let (file, name) = (escaped(&unit.file), escaped(&unit.unit));
            let _ = write!(text, "    <testcase classname=\"{file}\" name=\"{name}\"");
            let _ = match &unit.outcome {
                Outcome::Passed => writeln!(text, "/>"),
                Outcome::Skipped(reason) => writeln!(text, "><skipped message=\"{}\"/></testcase>", escaped(reason)),
                Outcome::Failed(texts) => {
                    let all = format!("{}\nrepeat: {}", texts.join("\n"), unit.command);
                    let first = texts.first().and_then(|text| text.lines().next()).unwrap_or_default();
                    writeln!(text, "><failure message=\"{}\">{}</failure></testcase>", escaped(first), escaped(&all))
                }
            };
        }
        text += "  </testsuite>\n";
    }
    text + "</testsuites>\n"
}

/// Returns a text for XML, without the characters that XML cannot contain.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\n' | '\t' => escaped.push(character),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            _ => escaped.push(character),
        }
    }
    escaped
}
