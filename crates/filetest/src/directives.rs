//! Run directives: their calls, and the check of a call's ending.

use std::fmt;

use kingpost_interpreter::DataValue;
use kingpost_ir::near::{distance, near_suffix};
use kingpost_reader::{Comment, Comparison, Datum, Invocation, Position, RunCommand, TestFile, TestFunction};

use crate::job::Job;
use crate::outcome::{Ending, display};
use crate::report::Findings;

/// Directives with a call.
const CALLS: [&str; 3] = ["run", "print", "trap"];

/// Directives that compare output.
const CHECKS: [&str; 5] = ["check", "nextln", "sameln", "unordered", "regex"];

/// Returns the first comment of a file whose first word is nearly a directive.
pub(crate) fn misspelt(file: &TestFile) -> Option<Misspelt> {
    let comments = file.functions.iter().flat_map(|test| &test.comments);
    file.preamble_comments.iter().chain(comments).find_map(|comment| {
        let (word, rest) = comment.text.trim_start_matches([';', ' ']).split_once(':')?;
        let is_call = rest.trim_start().starts_with('%') && rest.contains('(');
        let near = if is_call { near_directive(word, &CALLS)? } else { near_directive(word, &CHECKS)? };
        Some(Misspelt { position: comment.position(), word: word.to_string(), near })
    })
}

/// Returns the directive that a word nearly is: the letters are equal in another order, or few of them differ.
fn near_directive(word: &str, known: &[&'static str]) -> Option<&'static str> {
    let letters = |word: &str| {
        let mut letters: Vec<u8> = word.to_lowercase().into_bytes();
        letters.sort_unstable();
        letters
    };
    // A shorter word than these may be any English word.
    let is_near = |other: &str| distance(word, other) <= (word.len() / 4).max(1) || letters(word) == letters(other);
    let is_word = word.len() >= 2 && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_known = CALLS.iter().chain(&CHECKS).any(|known| *known == word);
    known.iter().copied().find(|other| is_word && !is_known && is_near(other))
}

/// A comment whose first word is nearly a directive.
pub(crate) struct Misspelt {
    position: Position,
    word: String,
    near: &'static str,
}

impl Misspelt {
    /// Returns the error in a file: the position and the directive that it nearly is.
    pub(crate) fn in_file(&self, name: &str) -> String {
        format!("{name}:{}: there is no directive `{}`; near: {}", self.position, self.word, self.near)
    }
}

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
        if let (Ending::NotSupported(reason), false) = (&ending, self.is_requested()) {
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
            (RunCommand::Print { .. }, Ending::Returned(found)) if self.is_requested() => {
                findings.prints.push(display(found));
            }
            (RunCommand::Print { .. }, Ending::Returned(_)) => {
                findings.prints.push(format!("{}{} {ending}", self.place(), self.call()));
            }
            (RunCommand::Print { .. }, _) => findings.fail(format_args!("{}{} {ending}", self.place(), self.call())),
            (RunCommand::Trap { code, .. }, Ending::Trapped(found)) if *found == Some(*code) => {}
            (RunCommand::Trap { code, .. }, _) => self.fail(&ending, format_args!("a trap with {code}"), findings),
            (RunCommand::Run { expected, .. }, _) => {
                self.fail(&ending, format_args!("{}", display(&values(expected))), findings);
            }
            (RunCommand::RunNonZero, _) => self.fail(&ending, format_args!("a value other than 0"), findings),
        }
    }

    /// Returns `true` if the call is not from a file.
    fn is_requested(&self) -> bool {
        self.position.line == 0
    }

    /// Returns the directive's file, line and column.
    fn place(&self) -> String {
        if self.is_requested() { String::new() } else { format!("{}:{}: ", self.file, self.position) }
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
