//! `cat`, `verify`, `print-cfg`: functions are read one by one and shown.

use crate::args::{FilesArgs, VerifyArgs};
use crate::input::{self, Input};
use crate::outcome::{Outcome, Stop, Verdict};
use crate::{output, target};
use kingpost_ir::Function;
use kingpost_ir::verifier::Verifier;
use kingpost_reader::{Options, Parser};
use std::io::Write;
use std::path::PathBuf;

/// Hands every function of the files to `visit`; errors in the text are said, and reading goes on behind them.
fn each_function(files: &[PathBuf], mut visit: impl FnMut(&Input, &Function) -> Result<Verdict, Stop>) -> Outcome {
    let mut verdict = Verdict::Good;
    let mut func = Function::default();
    for path in files {
        let input = input::read(path)?;
        let mut parser = match Parser::new(&input.text, Options::default()) {
            Ok(parser) => parser,
            Err(error) => {
                output::complain(&error.in_file(&input.name).to_string());
                verdict = Verdict::Bad;
                continue;
            }
        };
        loop {
            match parser.next_function(&mut func) {
                Ok(true) => {
                    if visit(&input, &func)? == Verdict::Bad {
                        verdict = Verdict::Bad;
                    }
                }
                Ok(false) => break,
                Err(error) => {
                    output::complain(&error.in_file(&input.name).to_string());
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
    let verdict = each_function(&args.files, |_, func| {
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
    let verdict = each_function(&args.files, |_, func| {
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
    each_function(&args.files, |input, func| match verifier.verify(func, Some(info)) {
        Ok(()) => Ok(Verdict::Good),
        Err(errors) => {
            for line in errors.to_string().lines() {
                output::complain(&format!("{}: {}: {line}", input.name, func.name));
            }
            Ok(Verdict::Bad)
        }
    })
}
