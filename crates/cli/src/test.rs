//! `test`, `run`, `interpret`.

use crate::args::{FilesArgs, TestArgs, Via};
use crate::input;
use crate::outcome::{Outcome, Verdict};
use crate::{output, target};
use kingpost_codegen::Settings;
use kingpost_filetest::{Options, Report};
use std::io::Write;

impl From<Via> for kingpost_filetest::Via {
    fn from(via: Via) -> kingpost_filetest::Via {
        match via {
            Via::Jit => kingpost_filetest::Via::Jit,
            Via::Object => kingpost_filetest::Via::Object,
        }
    }
}

/// Test files, as their `test` lines say.
pub(crate) fn test(args: &TestArgs) -> Outcome {
    let allocators = match args.regalloc.as_str() {
        "all" => Vec::new(),
        name => {
            target::allocator(name)?;
            vec![name.to_string()]
        }
    };
    let bless = std::env::var_os("KINGPOST_BLESS").is_some_and(|value| value != "0");
    let options = Options { targets: args.targets.clone(), allocators, jobs: args.jobs, bless, via: args.via.into() };
    let (streams, paths): (Vec<_>, Vec<_>) = args.paths.iter().cloned().partition(|path| input::is_stream(path));
    let mut report = kingpost_filetest::run(&paths, &options)?;
    for path in &streams {
        let input = input::read(path)?;
        report.units.extend(kingpost_filetest::run_text(&input.name, &input.text, None, &options).units);
    }
    say(&report)
}

/// The run directives of files, whatever their `test` lines say.
pub(crate) fn directives(command: &str, args: &FilesArgs) -> Outcome {
    let options = Options { allocators: vec![Settings::default().regalloc_algorithm], ..Options::default() };
    let mut report = Report::default();
    for path in &args.files {
        let input = input::read(path)?;
        report.units.extend(kingpost_filetest::run_text(&input.name, &input.text, Some(command), &options).units);
    }
    say(&report)
}

fn say(report: &Report) -> Outcome {
    let mut out = output::stdout();
    write!(out, "{report}")?;
    out.flush()?;
    Ok(if report.failed() == 0 { Verdict::Good } else { Verdict::Bad })
}
