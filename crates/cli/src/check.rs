//! `check`: verifies allocations given as text.

use crate::args::CheckArgs;
use crate::exit_status::{Outcome, Stop, Verdict};
use crate::output::{self, ListFormat};
use crate::progress::Line;
use crate::{diagnostics, input, target};
use kingpost_checker::text::{Broken, Finding, Verdict as CaseVerdict, check_text};
use kingpost_explain::cost_json;
use serde_json::json;
use std::io::Write;

/// Prints for each problem of each file whether its allocation is accepted, with the reasons of a rejection.
pub(crate) fn check(args: &CheckArgs) -> Outcome {
    let compiler = target::compiler(&args.target, None, true)?;
    let mut out = output::stdout();
    let mut outcome = Verdict::Good;
    let mut rows = Vec::new();
    let line = Line::new(args.format == ListFormat::Text);
    for file in &args.files {
        let input = input::read(file).map_err(malformed)?;
        line.show(|| input.name.clone());
        let text = String::from_utf8_lossy(input.text());
        let verdicts = check_text(&text, compiler.isa().env());
        let verdicts = verdicts.map_err(|error| Stop::Malformed(format!("{}:{error}", input.name)))?;
        for verdict in verdicts {
            for finding in &verdict.findings {
                if args.format == ListFormat::Text {
                    diagnostics::report(&format!("{}:{finding}", input.name));
                }
                outcome = Verdict::Bad;
            }
            match (args.format, &verdict.cost) {
                (ListFormat::Json, _) => rows.push(row(&input.name, &verdict)),
                (_, Some(cost)) => writeln!(out, "{}: %{}: accepted: {cost}", input.name, verdict.name)?,
                (_, None) => writeln!(out, "{}: %{}: rejected", input.name, verdict.name)?,
            }
        }
    }
    if args.format == ListFormat::Json {
        output::json_rows(&mut out, rows)?;
    }
    out.flush()?;
    Ok(outcome)
}

/// Returns the result for one problem as a JSON object.
fn row(file: &str, verdict: &CaseVerdict) -> serde_json::Value {
    let finding = |finding: &Finding| {
        let (line, column) = (finding.line, finding.col);
        let message = match &finding.what {
            Broken::Problem(error) => format!("problem: {error}"),
            Broken::Allocation(error) => error.to_string(),
        };
        json!({ "line": line, "column": column, "message": message })
    };
    let findings: Vec<serde_json::Value> = verdict.findings.iter().map(finding).collect();
    json!({
        "file": file,
        "function": format!("%{}", verdict.name),
        "accepted": findings.is_empty(),
        "findings": findings,
        "cost": verdict.cost.as_ref().map(cost_json),
    })
}

/// Converts a failure to [`Stop::Malformed`], because a file that cannot be read has no verdict.
fn malformed(stop: Stop) -> Stop {
    match stop {
        Stop::Failure(text) => Stop::Malformed(text),
        other => other,
    }
}
