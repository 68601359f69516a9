//! `test`, `run`, `interpret`.

use crate::args::{ReportFormat, RunArgs, TestArgs, Via};
use crate::diagnostics::report as report_line;
use crate::exit_status::{Outcome, Stop, Verdict};
use crate::input;
use crate::progress::Line;
use crate::target::Choice;
use crate::{cat_verify, output, target, test_report};
use indicatif::ProgressBar;
use kingpost_codegen::ALLOCATORS;
use kingpost_filetest::{KnownWrong, Options, Outcome as UnitOutcome, Report};
use std::io::Write;
use std::path::{Path, PathBuf};

impl From<Via> for kingpost_filetest::Via {
    fn from(via: Via) -> kingpost_filetest::Via {
        match via {
            Via::Jit => kingpost_filetest::Via::Jit,
            Via::Object => kingpost_filetest::Via::Object,
        }
    }
}

/// Runs test files according to their `test` lines.
pub(crate) fn test(args: &TestArgs) -> Outcome {
    let allocators = match args.regalloc.as_str() {
        "all" => Vec::new(),
        name => vec![target::allocator(name)?],
    };
    let opt_levels = match args.level.as_deref() {
        None => Vec::new(),
        Some("all") => ["none", "speed", "speed_and_size"].map(String::from).into(),
        Some(level) => vec![level.to_string()],
    };
    let bless = std::env::var_os("KINGPOST_BLESS").is_some_and(|value| value != "0");
    let known_wrong = args.known_wrong.as_deref().map(known_wrong).transpose()?.unwrap_or_default();
    let options = Options::default().with(|options| {
        options.targets = args.targets.clone();
        options.allocators = allocators;
        options.program = args.regalloc_command.clone();
        options.opt_levels = opt_levels;
        options.settings = args.set.clone();
        options.jobs = args.jobs;
        options.bless = bless;
        options.via = args.via.into();
        options.known_wrong = known_wrong;
        options.files = args.file.clone();
        options.shard = args.shard;
        options.functions = args.function.clone();
        options.list = args.list;
    });
    let (streams, paths): (Vec<_>, Vec<_>) = args.paths.iter().cloned().partition(|path| input::is_stream(path));
    // Drawn only on a terminal.
    let bar = ProgressBar::no_length();
    let progress = |done: usize, files: usize| {
        bar.set_length(files as u64);
        bar.set_position(done as u64);
    };
    let report = kingpost_filetest::run(&paths, &options, progress);
    bar.finish_and_clear();
    let mut report = report?;
    for path in &streams {
        let input = input::read(path)?;
        report.units.extend(kingpost_filetest::run_text(&input.name, input.text(), None, &options).units);
    }
    if report.units.is_empty() && args.targets.is_empty() {
        let paths: Vec<String> = args.paths.iter().map(|path| path.display().to_string()).collect();
        return Err(Stop::Failure(format!("{}: there is nothing to test", paths.join(" "))));
    }
    if args.list {
        let mut out = output::stdout();
        report.units.iter().try_for_each(|unit| writeln!(out, "{}: {}", unit.file, unit.unit))?;
        out.flush()?;
        return Ok(Verdict::Good);
    }
    let text = match args.format {
        ReportFormat::Text => report.to_string(),
        ReportFormat::Json => test_report::json(&report),
        ReportFormat::Junit => test_report::junit(&report),
    };
    match &args.output {
        None => say(&text)?,
        Some(path) => {
            output::write_whole(path, text.as_bytes())?;
            say(&report.to_string())?;
        }
    }
    Ok(verdict(&report))
}

/// Reads a list of directives that must not hold.
fn known_wrong(path: &Path) -> Result<KnownWrong, Stop> {
    let input = input::read(path)?;
    let text = String::from_utf8_lossy(input.text());
    KnownWrong::parse(&text).map_err(|(line, what)| Stop::Failure(format!("{}:{line}:1: {what}", input.name)))
}

/// Runs the run directives of files, regardless of their `test` lines, or calls from the command line.
pub(crate) fn directives(command: &str, args: &RunArgs) -> Outcome {
    let regalloc = Choice::of(args.regalloc.as_deref(), args.regalloc_command.as_deref());
    target::compiler(&args.target, regalloc.as_ref(), false)?;
    let is_call = |path: &&PathBuf| path.to_str().is_some_and(|text| text.starts_with('%') && text.contains('('));
    let (calls, files): (Vec<&PathBuf>, Vec<&PathBuf>) = args.files.iter().partition(is_call);
    let calls: Vec<String> = calls.iter().map(|call| call.display().to_string()).collect();
    if files.is_empty() {
        return Err(Stop::Usage(format!("{command}: there is no file")));
    }
    let allocators = vec![ALLOCATORS[0].0.to_string()];
    let words = args.target.words().map(|(key, value)| value.map_or(key.to_string(), |value| format!("{key}={value}")));
    let regalloc = args.regalloc.iter().map(|name| format!("regalloc_algorithm={name}"));
    let words = words.chain(regalloc).collect();
    let options = Options::default().with(|options| {
        options.allocators = allocators;
        options.targets = args.target.target.iter().cloned().collect();
        options.words = words;
        options.program = args.regalloc_command.clone();
        options.limit = args.limit;
        options.calls = calls.clone();
    });
    let mut verdict = Verdict::Good;
    for path in files {
        let input = input::read(path)?;
        if cat_verify::verify_text(&input, &args.target)? == Verdict::Bad {
            verdict = Verdict::Bad;
            continue;
        }
        // The results are printed afterwards.
        let line = Line::new(false);
        line.show(|| format!("{}: {command} {}", input.name, calls.join(" ")));
        let report = kingpost_filetest::run_text(&input.name, input.text(), Some(command), &options);
        drop(line);
        let is_good = if calls.is_empty() { say_directives(&report)? } else { say_results(&report, calls.len())? };
        verdict = verdict.and(is_good);
    }
    Ok(verdict)
}

/// Prints the report on a file's directives. A directive that could not be run is an error, because it was requested.
fn say_directives(report: &Report) -> Outcome {
    say(&report.to_string())?;
    Ok(if report.skipped() == 0 { verdict(report) } else { Verdict::Bad })
}

/// Prints the results of calls, one line per call, and reports calls without results.
fn say_results(report: &Report, calls: usize) -> Outcome {
    let mut out = output::stdout();
    let mut verdict = Verdict::Good;
    for unit in &report.units {
        unit.prints.iter().try_for_each(|line| writeln!(out, "{line}"))?;
        out.flush()?;
        match &unit.outcome {
            UnitOutcome::Failed(texts) => texts.iter().for_each(|text| report_line(text)),
            UnitOutcome::Skipped(reason) if unit.prints.len() < calls => report_line(reason),
            UnitOutcome::Skipped(_) | UnitOutcome::Passed => {}
        }
        if unit.prints.len() < calls {
            verdict = Verdict::Bad;
        }
    }
    Ok(verdict)
}

fn verdict(report: &Report) -> Verdict {
    if report.failed() == 0 { Verdict::Good } else { Verdict::Bad }
}

fn say(text: &str) -> Result<(), Stop> {
    let mut out = output::stdout();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}
