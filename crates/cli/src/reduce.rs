//! `reduce`: reduces a file on which a command fails, as long as the command fails in the same way.
//!
//! Functions are cut and simplified like generated programs (`kingpost_testgen::ir::shrink`), and allocation problems
//! like generated problems (`kingpost_testgen::shrink`). Every candidate is valid. The lines before the functions and
//! the comments after each function are kept.

use crate::args::ReduceArgs;
use crate::exit_status::{Outcome, Stop, Verdict};
use crate::input::{self, Input};
use crate::output;
use indicatif::ProgressBar;
use kingpost_ir::Function;
use kingpost_regalloc::text;
use kingpost_testgen::ir::{self, Program};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use tempfile::TempDir;

pub(crate) fn reduce(args: &ReduceArgs) -> Outcome {
    let input = input::read(&args.file)?;
    let is_ra = args.file.extension().is_some_and(|extension| extension == "ra");
    let mut trial = Trial::new(args)?;
    let source = String::from_utf8_lossy(input.text()).into_owned();
    if !trial.fails(&source) {
        let how = args.message.as_ref().map(|message| format!(" with `{message}`")).unwrap_or_default();
        return Err(Stop::Failure(format!("{}: the command does not fail{how}", input.name)));
    }
    let reduced = if is_ra { problem(&input, &source, &mut trial)? } else { functions(&input, &source, &mut trial)? };
    trial.progress.finish_and_clear();
    output::write_whole(&args.output, reduced.as_bytes())?;
    Ok(Verdict::Good)
}

/// The command that is run on candidates.
struct Trial<'a> {
    args: &'a ReduceArgs,
    folder: TempDir,
    candidate: PathBuf,
    /// Exit status and output of the command on the whole file.
    first: Option<(ExitStatus, String)>,
    progress: ProgressBar,
}

impl<'a> Trial<'a> {
    fn new(args: &'a ReduceArgs) -> Result<Trial<'a>, Stop> {
        let folder = tempfile::tempdir()?;
        let name = args.file.file_name().filter(|_| !input::is_stream(&args.file)).unwrap_or("input.clif".as_ref());
        let candidate = folder.path().join(name);
        Ok(Trial { args, candidate, folder, first: None, progress: ProgressBar::new_spinner() })
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
        let Ok(output) = command.env("TMPDIR", self.folder.path()).output() else { return false };
        let said = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
        let (status, message) = self.first.get_or_insert_with(|| {
            let placed = || said.iter().flat_map(|text| text.lines()).find_map(placed_message).map(str::to_string);
            (output.status, self.args.message.clone().or_else(placed).unwrap_or_default())
        });
        !output.status.success() && output.status == *status && said.iter().any(|text| text.contains(message.as_str()))
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
    let env = file.env.map(|env| format!("{env}\n")).unwrap_or_default();
    let whole = |problem: &kingpost_regalloc::Problem| format!("{expected}{env}{problem}");
    if file.cases.is_empty() {
        return Err(Stop::Failure(format!("{}:1:1: there is no problem to reduce", input.name)));
    }
    let case = file.cases.iter().find(|case| trial.fails(&whole(&case.problem)));
    let case = case.ok_or_else(|| Stop::Failure(format!("{}: the command fails on no problem alone", input.name)))?;
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
