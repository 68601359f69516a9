//! `check`: verifies allocations given as text.

use crate::args::CheckArgs;
use crate::exit_status::{Outcome, Stop, Verdict};
use crate::{diagnostics, input, output, target};
use kingpost_checker::text::check_text;
use std::io::Write;

/// Prints for each problem of each file whether its allocation is accepted, with the reasons of a rejection.
pub(crate) fn check(args: &CheckArgs) -> Outcome {
    let compiler = target::compiler(&args.target, None, true)?;
    let mut out = output::stdout();
    let mut outcome = Verdict::Good;
    for file in &args.files {
        let input = input::read(file).map_err(malformed)?;
        let text = String::from_utf8_lossy(input.text());
        let verdicts = check_text(&text, compiler.isa().env());
        let verdicts = verdicts.map_err(|error| Stop::Malformed(format!("{}:{error}", input.name)))?;
        for verdict in verdicts {
            for finding in &verdict.findings {
                diagnostics::report(&format!("{}:{finding}", input.name));
                outcome = Verdict::Bad;
            }
            let accepted = if verdict.findings.is_empty() { "accepted" } else { "rejected" };
            writeln!(out, "{}: %{}: {accepted}", input.name, verdict.name)?;
        }
    }
    out.flush()?;
    Ok(outcome)
}

/// Converts a failure to [`Stop::Malformed`], because a file that cannot be read has no verdict.
fn malformed(stop: Stop) -> Stop {
    match stop {
        Stop::Failure(text) => Stop::Malformed(text),
        other => other,
    }
}
