//! `test`, `run`, `interpret`.

use crate::args::{RunArgs, TestArgs, Via};
use crate::exit_status::{Outcome, Stop, Verdict};
use crate::input;
use crate::{cat_verify, output, target};
use indicatif::ProgressBar;
use kingpost_codegen::ALLOCATORS;
use kingpost_filetest::{KnownWrong, Options, Report};
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
    let opt_levels = match args.opt.as_deref() {
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
    say(&report)
}

/// Reads a list of directives that must not hold.
fn known_wrong(path: &Path) -> Result<KnownWrong, Stop> {
    let input = input::read(path)?;
    let text = String::from_utf8_lossy(input.text());
    KnownWrong::parse(&text).map_err(|(line, what)| Stop::Failure(format!("{}:{line}:1: {what}", input.name)))
}

/// Runs the run directives of files, regardless of their `test` lines.
pub(crate) fn directives(command: &str, args: &RunArgs) -> Outcome {
    let is_call = |path: &&PathBuf| path.to_str().is_some_and(|text| text.starts_with('%') && text.contains('('));
    let (calls, files): (Vec<&PathBuf>, Vec<&PathBuf>) = args.files.iter().partition(is_call);
    let calls = calls.iter().map(|call| call.display().to_string()).collect();
    let allocators = vec![ALLOCATORS[0].0.to_string()];
    let options = Options::default().with(|options| {
        options.allocators = allocators;
        options.calls = calls;
    });
    let (mut report, mut verdict) = (Report::default(), Verdict::Good);
    for path in files {
        let input = input::read(path)?;
        if cat_verify::verify_text(&input, &target::TargetArgs::default())? == Verdict::Bad {
            verdict = Verdict::Bad;
            continue;
        }
        report.units.extend(kingpost_filetest::run_text(&input.name, input.text(), Some(command), &options).units);
    }
    Ok(if verdict == Verdict::Good || !report.units.is_empty() { say(&report)?.and(verdict) } else { verdict })
}

fn say(report: &Report) -> Outcome {
    let mut out = output::stdout();
    write!(out, "{report}")?;
    out.flush()?;
    Ok(if report.failed() == 0 { Verdict::Good } else { Verdict::Bad })
}
