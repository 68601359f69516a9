//! Run directives: what they call, and whether the ending is the one they ask for.

use std::fmt;

use kingpost_interpreter::DataValue;
use kingpost_reader::{Comparison, Datum, Invocation, RunCommand, TestFunction};

use crate::outcome::{Ending, display};
use crate::report::Findings;

/// What a directive calls.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    /// The name it calls, without the sign.
    pub(crate) name: Option<&'a str>,
    pub(crate) arguments: Vec<DataValue>,
}

impl<'a> Call<'a> {
    pub(crate) fn of(command: &'a RunCommand) -> Call<'a> {
        let invocation: Option<&Invocation> = match command {
            RunCommand::Run { invocation, .. } | RunCommand::Trap { invocation, .. } => Some(invocation),
            RunCommand::Print { invocation } => invocation.as_ref(),
            RunCommand::RunNonZero => None,
        };
        Call {
            name: invocation.map(|invocation| invocation.name.as_str()),
            arguments: invocation.map(|invocation| values(&invocation.args)).unwrap_or_default(),
        }
    }
}

fn values(data: &[Datum]) -> Vec<DataValue> {
    data.iter().map(|datum| DataValue::new(datum.ty, datum.bits)).collect()
}

/// Compares the ending of a directive's call with what it asks for.
#[derive(Debug)]
pub(crate) struct Judge<'a> {
    /// The name of the file.
    pub(crate) file: &'a str,
    pub(crate) test: &'a TestFunction<'a>,
    pub(crate) line: u32,
    pub(crate) command: &'a RunCommand,
}

impl Judge<'_> {
    pub(crate) fn judge(&self, ending: Ending, findings: &mut Findings) {
        if let Ending::NotSupported(reason) = ending {
            return findings.skip(reason);
        }
        findings.expectations += 1;
        match (self.command, &ending) {
            (RunCommand::Run { comparison, expected, .. }, Ending::Returned(found)) => {
                let expected = values(expected);
                if (expected == *found) != (*comparison == Comparison::Equals) {
                    let relation = if *comparison == Comparison::Equals { "" } else { "other than " };
                    self.fail(&ending, format_args!("{relation}{}", display(&expected)), findings);
                }
            }
            (RunCommand::RunNonZero, Ending::Returned(found)) => {
                if found.iter().all(|value| value.bits() == 0) {
                    self.fail(&ending, format_args!("a value other than 0"), findings);
                }
            }
            (RunCommand::Print { .. }, _) => {
                findings.prints.push(format!("{}: {} {ending}", self.line, self.call()));
            }
            (RunCommand::Trap { code, .. }, Ending::Trapped(found)) if *found == Some(*code) => {}
            (RunCommand::Trap { code, .. }, _) => self.fail(&ending, format_args!("a trap with {code}"), findings),
            (RunCommand::Run { expected, .. }, _) => {
                self.fail(&ending, format_args!("{}", display(&values(expected))), findings);
            }
            (RunCommand::RunNonZero, _) => self.fail(&ending, format_args!("a value other than 0"), findings),
        }
    }

    /// The function and its arguments.
    fn call(&self) -> String {
        let arguments: Vec<String> = Call::of(self.command).arguments.iter().map(ToString::to_string).collect();
        format!("{}({})", self.test.function.name, arguments.join(", "))
    }

    fn fail(&self, ending: &Ending, expected: fmt::Arguments, findings: &mut Findings) {
        findings.fail(format_args!("{}:{}: {} {ending}, expected {expected}", self.file, self.line, self.call()));
    }
}
