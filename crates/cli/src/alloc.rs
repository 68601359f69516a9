//! `alloc`: allocations of functions side by side, by several allocators. Also prints allocation problems and their
//! solutions, as text that can be parsed again.

use crate::args::AllocArgs;
use crate::cat_verify::functions_of;
use crate::diagnostics::Diagnostic;
use crate::exit_status::{Outcome, Stop, Verdict};
use crate::explain::{allocators, compilers, explanation};
use crate::input::{self, Input};
use crate::{output, target};
use kingpost_checker::Checker;
use kingpost_codegen::solution_text;
use kingpost_mach::ModuleBuffer;
use kingpost_reader::Header;
use kingpost_regalloc::{AllocError, Allocation, MachineEnv, text};
use std::io::Write;

pub(crate) fn alloc(args: &AllocArgs) -> Outcome {
    target::check(&args.target)?;
    let names = allocators(args.regalloc.as_deref())?;
    let input = input::read(&args.file)?;
    let is_ra = match args.file.extension() {
        Some(extension) => extension == "ra" || extension == "mach",
        // Standard input has no name. Functions begin with a word that does not occur in problems.
        None => !input.text().split(|&byte| byte == b'\n').any(|line| line.starts_with(b"function ")),
    };
    match &names[..] {
        [name] if is_ra => problems(args, &input, name),
        [name] if args.ra => functions(args, &input, name),
        _ if is_ra || args.ra => {
            Err(Stop::Usage("--regalloc all: the text form holds one solution of a problem".into()))
        }
        _ => columns(args, &names, &input),
    }
}

/// Prints the allocations of the functions of a file, one column per allocator, next to the lines of the functions.
fn columns(args: &AllocArgs, names: &[String], input: &Input) -> Outcome {
    let mut out = output::stdout();
    let mut separator = "";
    let prepare = |header: &Header| compilers(&args.target, names, header);
    let verdict = functions_of(input, prepare, |place, compilers, func| {
        let Some(explanation) = explanation(place, compilers, func) else { return Ok(Verdict::Bad) };
        write!(out, "{separator}{}", kingpost_explain::text(&explanation))?;
        separator = "\n";
        Ok(Verdict::Good)
    })?;
    out.flush()?;
    Ok(verdict)
}

/// Solves the problems of a `.ra` file, for the machine of the file or of the target, and prints them with their
/// solutions.
fn problems(args: &AllocArgs, input: &Input, name: &str) -> Outcome {
    let source = String::from_utf8_lossy(input.text());
    let file = text::parse(&source).map_err(|error| Stop::Failure(format!("{}:{error}", input.name)))?;
    if file.cases.is_empty() {
        Diagnostic::at(input, 0, "there is no problem".into()).report();
        return Ok(Verdict::Bad);
    }
    let compiler = target::compiler(&args.target, Some(name), true)?;
    let env: &MachineEnv = file.env.as_ref().unwrap_or_else(|| compiler.isa().env());
    let (mut allocator, mut checker, mut answer) = (compiler.new_allocator(), Checker::new(), Allocation::default());
    let mut out = output::stdout();
    let mut verdict = Verdict::Good;
    write!(out, "{env}")?;
    for case in &file.cases {
        let problem = &case.problem;
        let mut bad = |start: usize, message: String| {
            let function = Some(format!("%{}", problem.name));
            Diagnostic { function, ..Diagnostic::at(input, start, message) }.report();
            verdict = Verdict::Bad;
        };
        if let Err(errors) = problem.verify_with(env) {
            errors.iter().for_each(|error| bad(case.positions.of(error.at), error.to_string()));
            continue;
        }
        if let Err(error) = allocator.allocate(problem, env, &mut answer) {
            let at = match error {
                AllocError::TooFewRegisters { inst, .. } | AllocError::FixedConflict { inst, .. } => {
                    case.positions.inst(inst)
                }
                _ => None,
            };
            bad(at.unwrap_or(case.positions.problem), error.to_string());
            continue;
        }
        if let Err(errors) = checker.check(problem, env, &answer) {
            errors.iter().for_each(|error| bad(case.positions.problem, error.to_string()));
        }
        write!(out, "\n{problem}{}", text::display_allocation(problem, &answer))?;
    }
    out.flush()?;
    Ok(verdict)
}

/// Lowers functions and prints their allocation problems and solutions.
fn functions(args: &AllocArgs, input: &Input, name: &str) -> Outcome {
    let prepare = |header: &Header| {
        let defaults = target::defaults().with(|settings| settings.verify_each = true);
        let compiler = target::with_header(defaults, &args.target, Some(name), header)?;
        let cx = compiler.context();
        Ok((compiler, cx))
    };
    let mut out = output::stdout();
    let mut is_first = true;
    let verdict = functions_of(input, prepare, |place, (compiler, cx), func| {
        if std::mem::take(&mut is_first) {
            write!(out, "{}", compiler.isa().env())?;
        }
        if let Err(error) = compiler.compile(cx, func, &mut ModuleBuffer::default()) {
            place.report(func, error.findings());
            return Ok(Verdict::Bad);
        }
        write!(out, "\n{}", solution_text(&func.name, &cx.code().problem, cx.allocation()))?;
        Ok(Verdict::Good)
    })?;
    out.flush()?;
    Ok(verdict)
}
