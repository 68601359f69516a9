//! Run directives: their calls, and the check of a call's ending.

use std::fmt;

use kingpost_interpreter::DataValue;
use kingpost_ir::near::near_suffix;
use kingpost_reader::{Comment, Comparison, Datum, Invocation, Position, RunCommand, TestFunction};

use crate::job::Job;
use crate::outcome::{Ending, display};
use crate::report::Findings;

/// A directive of a function.
#[derive(Debug)]
pub(crate) struct Directive {
    /// Index of the function in the file.
    pub(crate) function: usize,
    /// Position in the file; line 0 for a call that is not from a file.
    pub(crate) position: Position,
    pub(crate) command: RunCommand,
}

/// Returns all directives of the file, or the calls requested instead; malformed ones are failures.
pub(crate) fn directives(job: &Job, findings: &mut Findings) -> Vec<Directive> {
    if !job.calls.is_empty() {
        return job.calls.iter().filter_map(|call| asked_for(job, call, findings)).collect();
    }
    let mut directives = Vec::new();
    let failures = findings.failures.len();
    for (function, test) in job.file.functions.iter().enumerate() {
        for comment in &test.comments {
            match RunCommand::parse(comment, &test.function.signature) {
                Ok(Some(command)) => directives.push(Directive { function, position: comment.position(), command }),
                Ok(None) => {}
                Err(error) => findings.fail(error.in_file(job.name)),
            }
        }
    }
    if directives.is_empty() && findings.failures.len() == failures {
        // Other subtests also use such files.
        findings.note(format_args!("{}: nothing ran: no function has a run directive", job.name));
    }
    directives
}

/// Returns the directive that prints the results of a call such as `%f(1, 2)`.
fn asked_for(job: &Job, call: &str, findings: &mut Findings) -> Option<Directive> {
    let name = call.split('(').next().unwrap_or_default().trim();
    let functions = &job.file.functions;
    let Some(function) = functions.iter().position(|test| test.function.name.to_string() == name) else {
        let names: Vec<String> = functions.iter().map(|test| test.function.name.to_string()).collect();
        let near = near_suffix(name, names.iter().map(String::as_str));
        findings.fail(format_args!("{}: there is no function `{name}`{near}", job.name));
        return None;
    };
    let test = &functions[function];
    let text = format!("; print: {call}");
    let comment = Comment { entity: kingpost_ir::AnyEntity::Function, text: &text, start: 0, line: 0, column: 1 };
    match RunCommand::parse(&comment, &test.function.signature) {
        Ok(command) => command.map(|command| Directive { function, position: Position::default(), command }),
        Err(error) => {
            findings.fail(format_args!("{call}: {}", error.kind));
            None
        }
    }
}

/// Call of a directive.
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

/// Compares the ending of a directive's call with its expectation.
#[derive(Debug)]
pub(crate) struct Judge<'a> {
    /// The name of the file.
    pub(crate) file: &'a str,
    pub(crate) test: &'a TestFunction<'a>,
    position: Position,
    pub(crate) command: &'a RunCommand,
    /// Whether its expectation is wrong, and must not hold.
    is_known_wrong: bool,
}

impl<'a> Judge<'a> {
    pub(crate) fn new(job: &Job<'a>, test: &'a TestFunction<'a>, directive: &'a Directive) -> Judge<'a> {
        let is_known_wrong = job.known_wrong.contains(job.name, directive.position.line);
        Judge { file: job.name, test, position: directive.position, command: &directive.command, is_known_wrong }
    }

    pub(crate) fn judge(&self, ending: Ending, findings: &mut Findings) {
        if !self.is_known_wrong {
            return self.compare(ending, findings);
        }
        let mut found = Findings::default();
        self.compare(ending, &mut found);
        findings.expectations += found.expectations;
        if found.failures.is_empty() && found.skips.is_empty() {
            findings.fail(format_args!("{}{} holds, but is listed as wrong", self.place(), self.call()));
        }
        findings.skips.append(&mut found.skips);
    }

    fn compare(&self, ending: Ending, findings: &mut Findings) {
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
                findings.prints.push(format!("{}{} {ending}", self.place(), self.call()));
            }
            (RunCommand::Trap { code, .. }, Ending::Trapped(found)) if *found == Some(*code) => {}
            (RunCommand::Trap { code, .. }, _) => self.fail(&ending, format_args!("a trap with {code}"), findings),
            (RunCommand::Run { expected, .. }, _) => {
                self.fail(&ending, format_args!("{}", display(&values(expected))), findings);
            }
            (RunCommand::RunNonZero, _) => self.fail(&ending, format_args!("a value other than 0"), findings),
        }
    }

    /// Returns the directive's file, line and column.
    fn place(&self) -> String {
        if self.position.line == 0 { String::new() } else { format!("{}:{}: ", self.file, self.position) }
    }

    /// Returns the function and its arguments.
    fn call(&self) -> String {
        let arguments: Vec<String> = Call::of(self.command).arguments.iter().map(ToString::to_string).collect();
        format!("{}({})", self.test.function.name, arguments.join(", "))
    }

    fn fail(&self, ending: &Ending, expected: fmt::Arguments, findings: &mut Findings) {
        findings.fail(format_args!("{}{} {ending}, expected {expected}", self.place(), self.call()));
    }
}
