//! `cat`, `verify`, `print-cfg`: functions are read one by one and shown.

use crate::args::{FilesArgs, VerifyArgs};
use crate::diagnostics::Diagnostic;
use crate::input::{self, Input};
use crate::outcome::{Outcome, Stop, Verdict};
use crate::{output, target};
use kingpost_ir::Function;
use kingpost_ir::verifier::Verifier;
use kingpost_reader::{Options, Parser};
use std::io::Write;
use std::path::PathBuf;

/// Hands every function of the files to `visit`, with its first byte; errors in the text are said, and reading goes on behind them.
fn each_function(
    files: &[PathBuf],
    mut visit: impl FnMut(&Input, usize, &Function) -> Result<Verdict, Stop>,
) -> Outcome {
    let mut verdict = Verdict::Good;
    let mut func = Function::default();
    for path in files {
        let input = input::read(path)?;
        let mut parser = match Parser::new(&input.text, Options::default()) {
            Ok(parser) => parser,
            Err(error) => {
                Diagnostic::of_text(&input, &error).complain();
                verdict = Verdict::Bad;
                continue;
            }
        };
        loop {
            match parser.next_function(&mut func) {
                Ok(true) => {
                    if visit(&input, parser.function_start(), &func)? == Verdict::Bad {
                        verdict = Verdict::Bad;
                    }
                }
                Ok(false) => break,
                Err(error) => {
                    Diagnostic::of_text(&input, &error).complain();
                    verdict = Verdict::Bad;
                    if !parser.skip_to_next_function() {
                        break;
                    }
                }
            }
        }
    }
    Ok(verdict)
}

/// Prints functions, with an empty line between them.
pub(crate) fn cat(args: &FilesArgs) -> Outcome {
    let mut out = output::stdout();
    let mut separator = "";
    let verdict = each_function(&args.files, |_, _, func| {
        write!(out, "{separator}{func}")?;
        separator = "\n";
        Ok(Verdict::Good)
    })?;
    out.flush()?;
    Ok(verdict)
}

/// Prints control-flow graphs.
pub(crate) fn print_cfg(args: &FilesArgs) -> Outcome {
    let mut out = output::stdout();
    let verdict = each_function(&args.files, |_, _, func| {
        write!(out, "{}", kingpost_filetest::cfg_text(func))?;
        Ok(Verdict::Good)
    })?;
    out.flush()?;
    Ok(verdict)
}

/// Says what is wrong with functions; nothing if all are valid.
pub(crate) fn verify(args: &VerifyArgs) -> Outcome {
    let info = target::compiler(&args.target, None, false)?.target_info();
    let mut verifier = Verifier::default();
    each_function(&args.files, |input, start, func| match verifier.verify(func, Some(info)) {
        Ok(()) => Ok(Verdict::Good),
        Err(errors) => {
            let diagnostics = Diagnostic::of_function(input, start, &func.name.to_string(), errors.0);
            diagnostics.iter().for_each(Diagnostic::complain);
            Ok(Verdict::Bad)
        }
    })
}
