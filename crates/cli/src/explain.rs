//! `explain`: a page about what becomes of functions; `print-cfg`: their graphs.

use crate::args::{ExplainArgs, FilesArgs, TargetArgs};
use crate::diagnostics::Diagnostic;
use crate::outcome::{Outcome, Stop, Verdict};
use crate::show::{Place, each_function};
use crate::{output, target};
use kingpost_codegen::{ALLOCATORS, Compiler};
use kingpost_explain::{Explanation, page};
use kingpost_ir::Function;
use kingpost_ir::near::near_suffix;
use std::io::Write;

/// The names of allocators that an option stands for: one, `all`, or the default.
pub(crate) fn allocators(option: Option<&str>) -> Result<Vec<String>, Stop> {
    match option {
        None => Ok(vec![ALLOCATORS[0].0.to_string()]),
        Some("all") => Ok(ALLOCATORS.iter().map(|(name, _)| name.to_string()).collect()),
        Some(name) => target::allocator(name).map(|_| vec![name.to_string()]),
    }
}

/// Explains what allocators make of a function. What is wrong with it is said.
pub(crate) fn explanation(
    args: &TargetArgs,
    allocators: &[String],
    place: &Place,
    func: &Function,
) -> Result<Option<Explanation>, Stop> {
    let compiler = |name: &String| target::with_header(args, Some(name), true, place.header);
    let compilers: Result<Vec<Compiler>, _> = allocators.iter().map(compiler).collect();
    let compilers = match compilers {
        Ok(compilers) => compilers,
        Err(refused) => {
            Diagnostic::at(place.input, place.header.start_of(&refused.key), refused.text).complain();
            return Ok(None);
        }
    };
    match kingpost_explain::explain(func, compilers) {
        Ok(explanation) => Ok(Some(explanation)),
        Err(error) => {
            let name = func.name.to_string();
            let found = Diagnostic::of_function(place.input, place.start, &name, error.findings());
            found.iter().for_each(Diagnostic::complain);
            Ok(None)
        }
    }
}

/// Writes one page about the functions of a file.
pub(crate) fn explain(args: &ExplainArgs) -> Outcome {
    target::check(&args.target)?;
    let names = allocators(args.regalloc.as_deref())?;
    let (mut explanations, mut known) = (Vec::new(), Vec::new());
    let verdict = each_function(std::slice::from_ref(&args.file), |place, func| {
        let name = func.name.to_string();
        let is_wanted = args.function.is_empty() || args.function.contains(&name);
        known.push(name);
        if !is_wanted {
            return Ok(Verdict::Good);
        }
        let explanation = explanation(&args.target, &names, place, func)?;
        let verdict = if explanation.is_some() { Verdict::Good } else { Verdict::Bad };
        explanations.extend(explanation);
        Ok(verdict)
    })?;
    if let Some(missing) = args.function.iter().find(|name| !known.contains(name)) {
        let hint = near_suffix(missing, known.iter().map(String::as_str));
        return Err(Stop::Usage(format!("--function {missing}: there is no such function{hint}")));
    }
    if explanations.is_empty() {
        let none = Stop::Failure(format!("{}: there is no function to explain", args.file.display()));
        return if verdict == Verdict::Bad { Ok(verdict) } else { Err(none) };
    }
    output::write_whole(&args.output, page(&args.file.display().to_string(), &explanations).as_bytes())?;
    Ok(verdict)
}

/// Prints control-flow graphs.
pub(crate) fn print_cfg(args: &FilesArgs) -> Outcome {
    let mut out = output::stdout();
    let verdict = each_function(&args.files, |_, func| {
        write!(out, "{}", kingpost_explain::dot(func))?;
        Ok(Verdict::Good)
    })?;
    out.flush()?;
    Ok(verdict)
}
