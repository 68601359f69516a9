//! `cat`, `verify`: read functions one by one and show them.

use crate::diagnostics::{Diagnostic, Refused};
use crate::exit_status::{Outcome, Stop, Verdict};
use crate::input::{self, Input};
use crate::progress::Progress;
use crate::target::TargetArgs;
use crate::{output, target};
use kingpost_ir::Function;
use kingpost_ir::extfunc::FuncName;
use kingpost_ir::near::near_suffix;
use kingpost_ir::verifier::{Verifier, VerifierError};
use kingpost_reader::{Header, Options, Parser};
use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;

/// Functions to which a command is restricted.
#[derive(clap::Args, Debug)]
pub(crate) struct Selection {
    /// Only the function with this name, such as `%f` or `u0:1`; may be repeated.
    #[arg(long = "function", value_name = "NAME")]
    names: Vec<String>,
}

impl Selection {
    /// Returns a record of the functions that are found.
    pub(crate) fn search(&self) -> Search<'_> {
        Search::of(&self.names)
    }

    /// Returns `true` if no function is named: all are selected.
    pub(crate) fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

/// The functions that an option selects, and the functions that were found.
pub(crate) struct Search<'a> {
    /// The selected functions; all if empty.
    wanted: &'a [String],
    found: Vec<String>,
    /// Whether results are printed while functions are read.
    prints: bool,
}

impl<'a> Search<'a> {
    /// Returns a record for these functions, or for all functions if there are none.
    pub(crate) fn of(wanted: &'a [String]) -> Search<'a> {
        Search { wanted, found: Vec::new(), prints: true }
    }

    /// Returns the record for a command that prints nothing before all functions are read.
    pub(crate) fn without_output(self) -> Search<'a> {
        Search { prints: false, ..self }
    }

    /// Records that a function is there. Returns `true` if it is selected.
    pub(crate) fn wants(&mut self, name: &FuncName) -> bool {
        if self.wanted.is_empty() {
            return true;
        }
        let name = name.to_string();
        let is_wanted = self.wanted.contains(&name);
        self.found.push(name);
        is_wanted
    }

    /// Checks that each selected function was found.
    ///
    /// # Errors
    /// If a function was not found.
    pub(crate) fn finish(&self) -> Result<(), Stop> {
        let Some(missing) = self.wanted.iter().find(|name| !self.found.contains(name)) else { return Ok(()) };
        let near = near_suffix(missing, self.found.iter().map(String::as_str));
        Err(Stop::Usage(format!("--function {missing}: there is no such function{near}")))
    }
}

#[derive(clap::Args, Debug)]
pub(crate) struct FilesArgs {
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// Files; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

#[derive(clap::Args, Debug)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    pub(crate) target: TargetArgs,
    /// Files; `-` is standard input.
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
}

/// Position of a function in a text.
pub(crate) struct FunctionPosition<'a> {
    pub(crate) input: &'a Input,
    /// Offset of the function.
    pub(crate) start: usize,
}

impl FunctionPosition<'_> {
    /// Reports the findings about the function.
    pub(crate) fn report(&self, func: &Function, findings: Vec<VerifierError>) {
        let found = Diagnostic::of_function(self.input, self.start, &func.name.to_string(), findings);
        found.iter().for_each(Diagnostic::report);
    }
}

/// Accepts any header, for subcommands that use only the functions.
pub(crate) fn any_header(_: &Header) -> Result<(), Refused> {
    Ok(())
}

/// Calls `visit` for every selected function of the files, with the result of `prepare` for the header of the file. Reports
/// errors in the text and continues after them.
pub(crate) fn each_function<T>(
    files: &[PathBuf],
    mut search: Search,
    mut prepare: impl FnMut(&Header) -> Result<T, Refused>,
    mut visit: impl FnMut(&FunctionPosition, &mut T, &mut Function) -> Result<Verdict, Stop>,
) -> Outcome {
    let mut verdict = Verdict::Good;
    for path in files {
        verdict = verdict.and(functions_of(&input::read(path)?, &mut search, &mut prepare, &mut visit)?);
    }
    search.finish()?;
    Ok(verdict)
}

/// Calls `visit` for every selected function of one text, like [`each_function`].
pub(crate) fn functions_of<T>(
    input: &Input,
    search: &mut Search,
    mut prepare: impl FnMut(&Header) -> Result<T, Refused>,
    mut visit: impl FnMut(&FunctionPosition, &mut T, &mut Function) -> Result<Verdict, Stop>,
) -> Outcome {
    let mut verdict = Verdict::Good;
    let progress = Progress::new(input, search.prints);
    let mut func = Function::default();
    let mut parser = match Parser::new(input.text(), Options::default()) {
        Ok(parser) => parser,
        Err(error) => {
            Diagnostic::of_text(input, &error).report();
            return Ok(Verdict::Bad);
        }
    };
    let mut prepared = match prepare(parser.header()) {
        Ok(prepared) => prepared,
        Err(refused) => {
            Diagnostic::of_header(input, parser.header(), refused).report();
            return Ok(Verdict::Bad);
        }
    };
    loop {
        match parser.next_function(&mut func) {
            Ok(true) => {
                progress.at(parser.position(), &func.name);
                if !search.wants(&func.name) {
                    continue;
                }
                let place = FunctionPosition { input, start: parser.function_start() };
                verdict = verdict.and(visit(&place, &mut prepared, &mut func)?);
            }
            Ok(false) => return Ok(verdict),
            Err(error) => {
                Diagnostic::of_text(input, &error).report();
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
    let verdict = each_function(&args.files, args.selection.search(), any_header, |_, (), func| {
        write!(out, "{separator}{func}")?;
        separator = "\n";
        Ok(Verdict::Good)
    })?;
    out.flush()?;
    Ok(verdict)
}

/// Reports errors in functions. Prints nothing if all functions are valid.
pub(crate) fn verify(args: &VerifyArgs) -> Outcome {
    target::check(&args.target)?;
    let mut verdict = Verdict::Good;
    for path in &args.files {
        verdict = verdict.and(verify_text(&input::read(path)?, &args.target)?);
    }
    Ok(verdict)
}

/// Reports errors in the functions of one text.
pub(crate) fn verify_text(input: &Input, args: &TargetArgs) -> Outcome {
    let mut verifier = Verifier::default();
    let prepare = |header: &Header| match target::with_header(target::defaults(), args, None, header) {
        Ok(compiler) => Ok(Some(compiler.target_info())),
        // The rules of the language apply to unsupported targets, too.
        Err(refused) if refused.key.is_empty() => Ok(None),
        Err(refused) => Err(refused),
    };
    let mut defined = HashMap::new();
    functions_of(input, &mut Search::of(&[]).without_output(), prepare, |place, info, func| {
        let mut verdict = Verdict::Good;
        let first = *defined.entry(func.name.clone()).or_insert(place.start);
        if first != place.start {
            let message = format!("{} is defined twice, first at {}:{}", func.name, input.name, input.position(first));
            Diagnostic::at(input, place.start, message).report();
            verdict = Verdict::Bad;
        }
        if let Err(errors) = verifier.verify(func, *info) {
            place.report(func, errors.0);
            verdict = Verdict::Bad;
        }
        Ok(verdict)
    })
}
