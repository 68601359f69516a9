//! `cat`, `verify`: functions are read one by one and shown.

use crate::args::{FilesArgs, VerifyArgs};
use crate::diagnostics::Diagnostic;
use crate::input::{self, Input};
use crate::outcome::{Outcome, Stop, Verdict};
use crate::{output, target};
use kingpost_ir::Function;
use kingpost_ir::verifier::Verifier;
use kingpost_reader::{Header, Options, Parser};
use std::io::Write;
use std::path::PathBuf;

/// Where a function stands.
pub(crate) struct Place<'a> {
    pub(crate) input: &'a Input,
    /// The lines before the first function.
    pub(crate) header: &'a Header,
    /// The function's first byte.
    pub(crate) start: usize,
}

/// Hands every function of the files to `visit`; errors in the text are said, and reading goes on behind them.
pub(crate) fn each_function(
    files: &[PathBuf],
    mut visit: impl FnMut(&Place, &Function) -> Result<Verdict, Stop>,
) -> Outcome {
    let mut verdict = Verdict::Good;
    for path in files {
        if functions_of(&input::read(path)?, &mut visit)? == Verdict::Bad {
            verdict = Verdict::Bad;
        }
    }
    Ok(verdict)
}

/// The same for the functions of one text.
pub(crate) fn functions_of(
    input: &Input,
    visit: &mut dyn FnMut(&Place, &Function) -> Result<Verdict, Stop>,
) -> Outcome {
    let mut verdict = Verdict::Good;
    let mut func = Function::default();
    let mut parser = match Parser::new(&input.text, Options::default()) {
        Ok(parser) => parser,
        Err(error) => {
            Diagnostic::of_text(input, &error).complain();
            return Ok(Verdict::Bad);
        }
    };
    let header = parser.header().clone();
    loop {
        match parser.next_function(&mut func) {
            Ok(true) => {
                let place = Place { input, header: &header, start: parser.function_start() };
                if visit(&place, &func)? == Verdict::Bad {
                    verdict = Verdict::Bad;
                }
            }
            Ok(false) => return Ok(verdict),
            Err(error) => {
                Diagnostic::of_text(input, &error).complain();
                verdict = Verdict::Bad;
                if !parser.skip_to_next_function() {
                    return Ok(verdict);
                }
            }
        }
    }
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

/// Says what is wrong with functions; nothing if all are valid.
pub(crate) fn verify(args: &VerifyArgs) -> Outcome {
    let info = target::compiler(&args.target, None, false)?.target_info();
    let mut verifier = Verifier::default();
    each_function(&args.files, |place, func| match verifier.verify(func, Some(info)) {
        Ok(()) => Ok(Verdict::Good),
        Err(errors) => {
            let diagnostics = Diagnostic::of_function(place.input, place.start, &func.name.to_string(), errors.0);
            diagnostics.iter().for_each(Diagnostic::complain);
            Ok(Verdict::Bad)
        }
    })
}
