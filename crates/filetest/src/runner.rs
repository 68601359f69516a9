//! Finds test files and runs their units on many threads.

use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use kingpost_ir::signature::CallConv;
use kingpost_reader::{Error, Header, Position, Setting, Target, TestCommand, TestFile};
use target_lexicon::Triple;

use crate::allocation;
use crate::directives;
use crate::job::{Job, describe_word};
use crate::options::Options;
use crate::plan;
use crate::report::{Findings, Outcome, Report, UnitReport};
use crate::selection;
use crate::shell::{file_word, quoted};
use crate::subtests::{Per, What};
use crate::target;
use crate::unit::Unit;
use crate::watch::{self, Progress, Work};

/// Limit of CPU time for compiling and checking a unit. Its calls have a limit of their own.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs all files of these paths; folders are searched for `.clif` and `.ra` files, in order of their names.
///
/// `progress` receives the number of finished files and the number of all files.
///
/// # Errors
/// If a path cannot be read, or the system starts no thread.
pub fn run(paths: &[PathBuf], options: &Options, progress: impl Fn(usize, usize) + Sync) -> io::Result<Report> {
    let mut files = Vec::new();
    for path in paths {
        find_files(path, &mut files)?;
    }
    files.retain(|path| options.selects_file(path));
    let parts = files.into_iter().enumerate().filter(|&(index, _)| options.shard.takes(index));
    let files: Vec<PathBuf> = parts.map(|(_, path)| path).collect();
    let (count, options) = (files.len(), Arc::new(options.clone()));
    let sources = files.into_iter().map(|path| Source { options: Arc::clone(&options), from: Origin::File(path) });
    run_sources(sources.collect(), options.jobs, |done| progress(done, count))
}

/// A text to run, and its options.
struct Source {
    options: Arc<Options>,
    from: Origin,
}

enum Origin {
    File(PathBuf),
    Text { name: String, text: Vec<u8>, command: Option<String> },
}

fn run_sources(sources: Vec<Source>, jobs: usize, progress: impl Fn(usize)) -> io::Result<Report> {
    let jobs = if jobs == 0 { thread::available_parallelism().map_or(1, usize::from) } else { jobs };
    let reports = watch::each(sources, jobs, LIMIT, Work { run: run_source, late }, progress)?;
    Ok(Report { units: reports.into_iter().flatten().collect() })
}

fn run_source(source: &Source, step: &Progress) -> Vec<UnitReport> {
    let Source { options, from } = source;
    match from {
        Origin::File(path) => {
            let name = path.display().to_string();
            match fs::read(path) {
                Ok(text) => run_bytes(&name, &text, None, options, step),
                Err(error) => whole_file(&name, "test", error.to_string()),
            }
        }
        Origin::Text { name, text, command } => run_bytes(name, text, command.as_deref(), options, step),
    }
}

/// Returns the report of a file whose unit exceeded its CPU time.
fn late(source: &Source, unit: Option<[String; 2]>) -> Vec<UnitReport> {
    let (name, verb) = match &source.from {
        Origin::File(path) => (path.display().to_string(), "test"),
        Origin::Text { name, command, .. } => (name.clone(), command.as_deref().unwrap_or("test")),
    };
    let text = format!("did not end within {} s of CPU time; the units after it were not run", LIMIT.as_secs());
    let mut units = whole_file(&name, verb, text);
    if let ([report], Some([unit, command])) = (&mut units[..], unit) {
        (report.unit, report.command) = (unit, command);
    }
    units
}

/// Adds the test files below a path, with a list of folders instead of recursion.
fn find_files(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut left = vec![path.to_path_buf()];
    while let Some(path) = left.pop() {
        if !fs::metadata(&path).map_err(|error| named(&path, error))?.is_dir() {
            files.push(path);
            continue;
        }
        let mut entries = Vec::new();
        for entry in fs::read_dir(&path).map_err(|error| named(&path, error))? {
            let entry = entry.map_err(|error| named(&path, error))?;
            // Links to folders are not followed, because they could lead back here.
            let is_folder = entry.file_type().map_err(|error| named(&path, error))?.is_dir();
            let entry = entry.path();
            if is_folder
                || (entry.extension().is_some_and(|extension| extension == "clif" || extension == "ra")
                    && !entry.is_dir())
            {
                entries.push(entry);
            }
        }
        entries.sort();
        left.extend(entries.into_iter().rev());
    }
    Ok(())
}

fn named(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Returns a unit for an error of a file as a whole.
fn whole_file(name: &str, verb: &str, text: String) -> Vec<UnitReport> {
    let outcome = Outcome::Failed(vec![text]);
    let (file, command) = (name.to_string(), format!("kingpost {verb} {}", file_word(name)));
    vec![UnitReport { file, unit: "the file".into(), outcome, prints: Vec::new(), command }]
}

/// Runs one text under a name. A `command` replaces its `test` lines, with this machine as target if there is no
/// `target` line.
pub fn run_text(name: &str, text: &[u8], command: Option<&str>, options: &Options) -> Report {
    let from = Origin::Text { name: name.into(), text: text.to_vec(), command: command.map(str::to_string) };
    let source = Source { options: Arc::new(options.clone()), from };
    run_sources(vec![source], 1, |_| ())
        .unwrap_or_else(|error| Report { units: whole_file(name, command.unwrap_or("test"), error.to_string()) })
}

fn run_bytes(name: &str, text: &[u8], command: Option<&str>, options: &Options, step: &Progress) -> Vec<UnitReport> {
    let verb = command.unwrap_or("test");
    let text = match std::str::from_utf8(text) {
        Ok(text) => text,
        Err(error) => {
            let position = Position::of(text, error.valid_up_to());
            return whole_file(name, verb, format!("{name}:{position}: the text is not valid UTF-8"));
        }
    };
    if command.is_none() && Path::new(name).extension().is_some_and(|extension| extension == "ra") {
        return if options.functions.is_empty() { allocation::run(name, text, options, step) } else { Vec::new() };
    }
    // Files with `test run` have this convention by default.
    let mut reading = kingpost_reader::Options::default();
    reading.default_call_conv = (command == Some("run")).then_some(CallConv::SystemV);
    match kingpost_reader::parse_test(text, reading) {
        Ok(file) if file.functions.is_empty() => {
            whole_file(name, verb, format!("{name}:1:1: the file has no function"))
        }
        Ok(mut file) => {
            if let Some(command) = command {
                override_commands(&mut file.header, command, options);
            }
            if let Some(error) = directives::misspelt(&file) {
                return whole_file(name, verb, error.in_file(name));
            }
            if !selection::selects(&file, options) {
                return Vec::new();
            }
            if file.header.commands.is_empty() {
                whole_file(name, verb, format!("{name}:1:1: the file has no `test` line, as `test run`"))
            } else {
                let mut units = run_units(name, &file, options, step);
                if let Some(command) = command {
                    let target: String = options.targets.iter().map(|target| format!(" --target {target}")).collect();
                    let words: String = options.words.iter().map(|word| format!(" --set {word}")).collect();
                    let calls: String = options.calls.iter().map(|call| format!(" {}", quoted(call))).collect();
                    let repeat = format!("kingpost {command}{target}{words} {}{calls}", file_word(name));
                    units.iter_mut().for_each(|unit| unit.command.clone_from(&repeat));
                }
                units
            }
        }
        Err(error) => {
            let help = error.kind.hint().map(|hint| format!("\n  help: {hint}")).unwrap_or_default();
            whole_file(name, verb, format!("{}{help}", Error::in_file(error, name)))
        }
    }
}

/// Replaces the `test` lines of a file by one. Keeps the `target` lines of the requested architecture, which is by
/// default the architecture of this machine, and adds the requested words to them.
fn override_commands(header: &mut Header, command: &str, options: &Options) {
    header.commands = vec![TestCommand { start: 0, name: command.to_string(), options: Vec::new() }];
    let wanted = options.targets.first().cloned().unwrap_or_else(|| Triple::host().architecture.to_string());
    let architecture = target::triple(&wanted).map(|triple| triple.architecture);
    header.targets.retain(|target| target::triple(&target.triple).map(|triple| triple.architecture) == architecture);
    if header.targets.is_empty() {
        let settings = header.settings.len();
        header.targets.push(Target { triple: wanted.clone(), flags: Vec::new(), settings, start: 0 });
    }
    // Calls have one result each.
    if !options.calls.is_empty() || !options.targets.is_empty() {
        header.targets.truncate(1);
    }
    for target in &mut header.targets {
        if !options.targets.is_empty() {
            target.triple.clone_from(&wanted);
        }
        target.flags.extend(options.words.iter().map(|word| {
            let (name, value) = word.split_once('=').map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
            Setting { start: 0, name: name.into(), value: value.map(str::to_string) }
        }));
    }
}

fn run_units(name: &str, file: &TestFile, options: &Options, step: &Progress) -> Vec<UnitReport> {
    let missing = file.header.features.iter().find(|feature| feature.wanted);
    let units = plan::units(&file.header, options);
    let selected = selection::Selected::new(file, options);
    let reports = units.iter().map(|(what, unit)| {
        let mut findings = Findings::default();
        let command = unit.repeat(name, options.via);
        step.begin(unit.name(), command.clone());
        match missing {
            _ if options.list => {}
            Some(feature) => findings.skip(format_args!("feature {}", feature.name)),
            None => run_unit(name, selected.for_subtest(&unit.command.name), *what, unit, options, &mut findings),
        }
        let outcome = findings.outcome();
        UnitReport { file: name.to_string(), unit: unit.name(), outcome, prints: findings.prints, command }
    });
    reports.collect()
}

fn run_unit(name: &str, file: &TestFile, what: What, unit: &Unit, options: &Options, findings: &mut Findings) {
    let at_command = |text: std::fmt::Arguments<'_>| {
        format!("{name}:{}: {text}", Position::of(file.text.as_bytes(), unit.command.start))
    };
    let subtest = match what {
        What::Run(subtest) if subtest.per != Per::File && unit.target.is_none() => {
            return findings.fail(at_command(format_args!("test {} needs a target line", unit.command.name)));
        }
        What::Run(subtest) => subtest,
        What::NotSupported => return findings.skip(format_args!("test {} is not supported", unit.command.name)),
        What::Unknown => {
            return findings.fail(at_command(format_args!("there is no test command `{}`", unit.command.name)));
        }
    };
    let info = match target::verifier_info(&file.header, unit.target) {
        Ok(info) => info,
        Err(target::NoCompiler::Skip(reason)) => return findings.skip(reason),
        Err(target::NoCompiler::Fail { key, text }) => return findings.fail(describe_word(name, file, &key, &text)),
    };
    let Options { bless, via, limit, ref calls, ref known_wrong, .. } = *options;
    let job = Job { name, file, unit, info, bless, via, limit, calls, known_wrong };
    // A panic is a bug of Kingpost; it must not hide the results of the other files.
    let caught = catch_unwind(AssertUnwindSafe(|| {
        if !subtest.needs_verifier || job.verify(findings) {
            (subtest.run)(&job, findings);
        }
    }));
    let is_silent = findings.failures.is_empty() && findings.skips.is_empty() && findings.prints.is_empty();
    if findings.expectations == 0 && is_silent && options.functions.is_empty() {
        findings.fail(at_command(format_args!("the file expects nothing")));
    }
    if let Err(panic) = caught {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        findings.fail(format_args!("bug: panic: {text}"));
    }
}
