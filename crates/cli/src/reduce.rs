//! `reduce`: reduces a file on which a command fails, as long as the command fails in the same way.
//!
//! Functions are cut and simplified like generated programs (`kingpost_testgen::ir::shrink`), and allocation problems
//! like generated problems (`kingpost_testgen::shrink`). Every candidate is valid. The lines before the functions and
//! the comments after each function are kept. An allocation problem with an allocation keeps it, and both are cut
//! (`kingpost_testgen::shrink_answer`).

use crate::args::ReduceArgs;
use crate::exit_status::{Outcome, Stop, Verdict};
use crate::input::{self, Input};
use crate::output;
use crate::target::{self, TargetArgs};
use indicatif::ProgressBar;
use kingpost_ir::Function;
use kingpost_regalloc::{Allocation, Problem, text};
use kingpost_testgen::ir::{self, Program};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use tempfile::TempDir;

pub(crate) fn reduce(args: &ReduceArgs) -> Outcome {
    let input = input::read(&args.file)?;
    let is_ra = args.file.extension().is_some_and(|extension| extension == "ra");
    let source = String::from_utf8_lossy(input.text()).into_owned();
    let mut trial = Trial::new(args)?;
    trial.names = names(&source);
    let fails = trial.fails(&source);
    if let Some(error) = &trial.cannot_start {
        return Err(Stop::Failure(format!("cannot run `{}`: {error}", args.command[0].display())));
    }
    if !fails {
        let how = args.message.as_ref().map(|message| format!(" with `{message}`")).unwrap_or_default();
        return Err(Stop::Failure(format!("{}: the command does not fail{how}", input.name)));
    }
    let reduced = if is_ra { problem(&input, &source, &mut trial)? } else { functions(&input, &source, &mut trial)? };
    trial.progress.finish_and_clear();
    output::write_whole(&args.output, reduced.as_bytes())?;
    Ok(Verdict::Good)
}

/// Returns the names after the words `function` and `problem` at the beginnings of lines.
fn names(source: &str) -> Vec<String> {
    let name = |line: &str| {
        let rest = line.strip_prefix("function ").or_else(|| line.strip_prefix("problem "))?;
        rest.split(['(', ' ']).next().map(str::to_string)
    };
    source.lines().filter_map(name).filter(|name| !name.is_empty()).collect()
}

/// The command that is run on candidates.
struct Trial<'a> {
    args: &'a ReduceArgs,
    folder: TempDir,
    candidate: PathBuf,
    /// Names of functions and problems of the file.
    names: Vec<String>,
    /// Exit status of the command on the whole file, and the message that identifies the failure.
    first: Option<(ExitStatus, Message)>,
    /// Reason for which the command could not be started.
    cannot_start: Option<std::io::Error>,
    progress: ProgressBar,
}

/// Text that identifies a failure.
enum Message {
    /// A text that the output must contain.
    Given(String),
    /// A line that the output must contain, but for the numbers of entities.
    Line(String),
}

impl Message {
    /// Returns the message of a failure: the first message at a line of a file, or else the first line that names
    /// a function, or else the first line.
    fn of(said: &[String; 2], names: &[String]) -> Message {
        let lines = || said.iter().flat_map(|text| text.lines()).filter(|line| !line.trim().is_empty());
        let placed = lines().find_map(placed_message);
        let named = || lines().find(|line| names.iter().any(|name| has_word(line, name)));
        let errors = || said.iter().rev().flat_map(|text| text.lines()).find(|line| !line.trim().is_empty());
        Message::Line(without_numbers(placed.or_else(named).or_else(errors).unwrap_or_default()))
    }

    fn is_in(&self, said: &[String; 2]) -> bool {
        match self {
            Message::Given(text) => said.iter().any(|said| said.contains(text)),
            Message::Line(line) => said.iter().any(|said| without_numbers(said).contains(line)),
        }
    }
}

/// Returns `true` if `word` occurs in `line` and does not continue there.
fn has_word(line: &str, word: &str) -> bool {
    let continues = |rest: &str| rest.starts_with(|next: char| next.is_alphanumeric() || next == '_');
    line.match_indices(word).any(|(index, _)| !continues(&line[index + word.len()..]))
}

/// Returns a text with `#` for the numbers of values, instructions, registers and other entities, which change when a
/// file is reduced, and for numbers in parentheses, such as numbers of threads. Types keep their numbers.
fn without_numbers(text: &str) -> String {
    const ENTITIES: [&str; 13] = ["v", "block", "inst", "i", "b", "r", "x", "ss", "fn", "sig", "gv", "slot", "s"];
    const TYPES: [&str; 5] = ["i8", "i16", "i32", "i64", "i128"];
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'%';
    let mut short = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.bytes().position(|byte| !is_part(byte)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let kind = word.trim_end_matches(|c: char| c.is_ascii_digit());
        let in_parentheses = kind.is_empty() && short.ends_with('(') && after.starts_with(')');
        let is_entity = ENTITIES.contains(&kind) && !TYPES.contains(&word);
        match kind.len() < word.len() && (is_entity || in_parentheses) {
            true => short.extend([kind, "#"]),
            false => short.push_str(word),
        }
        let next = after.chars().next();
        short.extend(next);
        rest = &after[next.map_or(0, char::len_utf8)..];
    }
    short
}

impl<'a> Trial<'a> {
    fn new(args: &'a ReduceArgs) -> Result<Trial<'a>, Stop> {
        let folder = tempfile::tempdir()?;
        let name = args.file.file_name().filter(|_| !input::is_stream(&args.file)).unwrap_or("input.clif".as_ref());
        let candidate = folder.path().join(name);
        let (names, first, cannot_start, progress) = (Vec::new(), None, None, ProgressBar::new_spinner());
        Ok(Trial { args, candidate, folder, names, first, cannot_start, progress })
    }

    /// Returns `true` if the command fails on a text in the way in which it failed first.
    fn fails(&mut self, text: &str) -> bool {
        self.progress.inc(1);
        self.progress.set_message(format!("{} trials, {} lines", self.progress.position(), text.lines().count()));
        if std::fs::write(&self.candidate, text).is_err() {
            return false;
        }
        let Some((program, words)) = self.args.command.split_first() else { return false };
        let has_place = words.iter().any(|word| word == "{}");
        let words = words.iter().map(|word| if word == "{}" { self.candidate.as_os_str() } else { word.as_os_str() });
        let mut command = Command::new(program);
        command.args(words).args((!has_place).then_some(Path::new(&self.candidate)));
        let output = match command.env("TMPDIR", self.folder.path()).output() {
            Ok(output) => output,
            Err(error) => {
                self.cannot_start = Some(error);
                return false;
            }
        };
        let said = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        let (status, message) = self.first.get_or_insert_with(|| {
            let given = self.args.message.clone().map(Message::Given);
            (output.status, given.unwrap_or_else(|| Message::of(&said, &self.names)))
        });
        !output.status.success() && output.status == *status && message.is_in(&said)
    }
}

/// Returns the message after `file:line:column: ` in a line.
fn placed_message(line: &str) -> Option<&str> {
    let (place, message) = line.split_once(": ")?;
    let mut numbers = place.rsplitn(3, ':');
    let mut is_number = || numbers.next().is_some_and(|number| number.parse::<u32>().is_ok());
    (is_number() && is_number()).then_some(message)
}

/// Reduces the first problem on which the command fails without the other problems.
fn problem(input: &Input, source: &str, trial: &mut Trial) -> Result<String, Stop> {
    let file = text::parse(source).map_err(|error| Stop::Failure(format!("{}:{error}", input.name)))?;
    // The first line may contain the expectation of a test.
    let expected: String =
        source.lines().take_while(|line| line.starts_with(';')).map(|line| format!("{line}\n")).collect();
    let machine = file.env;
    let env = machine.as_ref().map(|env| format!("{env}\n")).unwrap_or_default();
    let whole = |problem: &Problem| format!("{expected}{env}{problem}");
    if file.cases.is_empty() {
        return Err(Stop::Failure(format!("{}:1:1: there is no problem to reduce", input.name)));
    }
    let answered = |problem: &Problem, answer: &Allocation| {
        format!("{}{}", whole(problem), text::display_allocation(problem, answer))
    };
    let case = file.cases.iter().find(|case| match &case.allocation {
        Some(answer) => trial.fails(&answered(&case.problem, answer)),
        None => trial.fails(&whole(&case.problem)),
    });
    let case = case.ok_or_else(|| Stop::Failure(format!("{}: the command fails on no problem alone", input.name)))?;
    // A command that ignores the allocation fails without it, too.
    if let Some(answer) = case.allocation.as_ref().filter(|_| !trial.fails(&whole(&case.problem))) {
        let machine = match machine {
            Some(machine) => machine,
            None => target::compiler(&TargetArgs::default(), None, false)?.isa().env().clone(),
        };
        let fails = |problem: &Problem, answer: &Allocation| trial.fails(&answered(problem, answer));
        let (problem, answer) = kingpost_testgen::shrink_answer::shrink(&case.problem, answer, &machine, fails);
        return Ok(answered(&problem, &answer));
    }
    Ok(whole(&kingpost_testgen::shrink::shrink(&case.problem, |problem| trial.fails(&whole(problem)))))
}

/// Reduces the functions. Keeps only one if the command fails on it without the others.
fn functions(input: &Input, source: &str, trial: &mut Trial) -> Result<String, Stop> {
    let functions = kingpost_reader::parse_functions(input.text())
        .map_err(|error| Stop::Failure(format!("{}:{error}", input.name)))?;
    if functions.is_empty() {
        return Err(Stop::Failure(format!("{}:1:1: there is no function to reduce", input.name)));
    }
    let around = Around::new(source, &functions);
    let program = |functions: Vec<Function>| Program {
        pinned: functions.iter().map(|_| Default::default()).collect(),
        functions,
        inputs: Vec::new(),
    };
    let alone = functions.iter().find(|function| trial.fails(&around.text(std::slice::from_ref(*function))));
    let functions = alone.map_or(functions.clone(), |function| vec![function.clone()]);
    let reduced = ir::shrink(&program(functions), |program| trial.fails(&around.text(&program.functions)));
    Ok(around.text(&reduced.functions))
}

/// Text around the functions of a file.
struct Around {
    header: String,
    /// The comments after each function, by its name.
    behind: HashMap<String, String>,
}

impl Around {
    fn new(source: &str, functions: &[Function]) -> Around {
        let (mut header, mut behind) = (String::new(), HashMap::new());
        let (mut names, mut current, mut is_inside) = (functions.iter().map(|f| f.name.to_string()), None, false);
        for line in source.lines() {
            if line.starts_with("function ") {
                (current, is_inside) = (names.next(), true);
            } else if line.starts_with('}') {
                is_inside = false;
            } else if !is_inside {
                let place = match &current {
                    None => &mut header,
                    Some(name) => behind.entry(String::clone(name)).or_default(),
                };
                *place += line;
                *place += "\n";
            }
        }
        Around { header, behind }
    }

    fn text(&self, functions: &[Function]) -> String {
        let each = functions.iter().map(|function| {
            let behind = self.behind.get(&function.name.to_string()).map(|text| text.trim_end()).unwrap_or_default();
            format!("{function}{behind}\n")
        });
        format!("{}\n{}", self.header.trim_end(), each.collect::<Vec<_>>().join("\n")).trim_start().to_string()
    }
}
