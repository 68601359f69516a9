//! `opt`: functions after the optimizer, as text.

use crate::args::OptArgs;
use crate::cat_verify::each_function;
use crate::dump::stage;
use crate::exit_status::{Outcome, Verdict};
use crate::{output, target};
use kingpost_codegen::{CompileError, DumpReceiver, OptLevel, Options, Pass, Passes, Stage};
use kingpost_mach::ModuleBuffer;
use kingpost_reader::Header;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};

/// Keeps the text of the last pass.
#[derive(Default)]
struct Optimized(Mutex<String>);

impl DumpReceiver for Optimized {
    fn takes(&self, stage: Stage, _: &str) -> bool {
        (stage as usize) < Stage::Lower as usize
    }

    fn take(&self, _: Stage, _: &str, text: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }
}

/// Prints optimized functions, with an empty line between them.
pub(crate) fn opt(args: &OptArgs) -> Outcome {
    let optimized = Arc::new(Optimized::default());
    let mut passes = Passes::default();
    if !args.passes.is_empty() {
        let only: Vec<Stage> = args.passes.iter().filter_map(|name| stage(name)).collect();
        passes = Passes::of(Pass::ALL.into_iter().filter(|&pass| only.contains(&Stage::of_pass(pass))));
    }
    let options = Options::default().with(|options| {
        options.dump = Some(optimized.clone());
        options.stop_after = Some(Stage::StrengthReduction);
        options.passes = passes;
        options.rules.only = args.only_rule;
        options.rules.most = args.rule_limit;
    });
    target::check(&args.target)?;
    let prepare = |header: &Header| {
        let defaults = target::defaults().with(|settings| {
            settings.opt_level = OptLevel::Speed;
            settings.verify_each = true;
        });
        let compiler = target::with_header(defaults, &args.target, None, header)?.with_options(options.clone());
        let cx = compiler.context();
        Ok((compiler, cx))
    };
    let mut out = output::stdout();
    let mut separator = "";
    let verdict = each_function(&args.files, args.selection.search(), prepare, |place, (compiler, cx), func| {
        match compiler.compile(cx, func, &mut ModuleBuffer::default()) {
            Ok(()) | Err(CompileError::Stopped) => {
                let text = std::mem::take(&mut *optimized.0.lock().unwrap_or_else(PoisonError::into_inner));
                write!(out, "{separator}{text}")?;
                separator = "\n";
                Ok(Verdict::Good)
            }
            Err(error) => {
                place.report(func, error.findings());
                Ok(Verdict::Bad)
            }
        }
    })?;
    out.flush()?;
    Ok(verdict)
}
