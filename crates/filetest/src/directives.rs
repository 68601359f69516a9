//! Run directives: what they call, and whether the ending is the one they ask for.

use std::fmt;

use kingpost_interpreter::DataValue;
use kingpost_ir::TrapCode;
use kingpost_reader::{Comparison, Datum, Invocation, RunCommand, TestFunction};

use crate::report::Findings;
use crate::subtests::Job;

/// What a directive calls.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    /// The name it gives, without the sign.
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

/// How a call ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ending {
    /// With these results.
    Returned(Vec<DataValue>),
    /// With a code, if it is known.
    Trapped(Option<TrapCode>),
    /// Something is missing here.
    NotSupported(String),
    /// It went wrong in another way.
    Wrong(String),
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Ending::Returned(values) => write!(f, "returned {}", display(values)),
            Ending::Trapped(Some(code)) => write!(f, "trapped with {code}"),
            Ending::Trapped(None) => f.write_str("trapped at an address without a trap code"),
            Ending::NotSupported(text) | Ending::Wrong(text) => f.write_str(text),
        }
    }
}

/// Values as directives write them.
pub(crate) fn display(values: &[DataValue]) -> String {
    match values {
        [value] => value.to_string(),
        _ => format!("[{}]", values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")),
    }
}

/// Compares the ending of a directive's call with what it asks for.
#[derive(Debug)]
pub(crate) struct Judge<'a> {
    pub(crate) job: &'a Job<'a>,
    pub(crate) test: &'a TestFunction<'a>,
    pub(crate) line: u32,
    pub(crate) command: &'a RunCommand,
}

impl Judge<'_> {
    pub(crate) fn judge(&self, ending: Ending, findings: &mut Findings) {
        if let Ending::NotSupported(reason) = ending {
            return findings.skip(reason);
        }
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
        findings.fail(format_args!("{}:{}: {} {ending}, expected {expected}", self.job.name, self.line, self.call()));
    }
}
