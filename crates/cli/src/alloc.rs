//! `alloc`: what allocators make of functions, in columns; allocation problems and their solutions, as text that reads again.

use crate::args::AllocArgs;
use crate::diagnostics::{Diagnostic, complain};
use crate::explain::{allocators, explanation};
use crate::input::{self, Input};
use crate::outcome::{Outcome, Stop, Verdict};
use crate::show::functions_of;
use crate::{output, target};
use kingpost_checker::Checker;
use kingpost_codegen::solution_text;
use kingpost_ir::Function;
use kingpost_mach::ModuleBuffer;
use kingpost_reader::Parser;
use kingpost_regalloc::{Allocation, MachineEnv, text};
use std::io::Write;

pub(crate) fn alloc(args: &AllocArgs) -> Outcome {
    target::check(&args.target)?;
    let names = allocators(args.regalloc.as_deref())?;
    let input = input::read(&args.file)?;
    let is_ra = match args.file.extension() {
        Some(extension) => extension == "ra" || extension == "mach",
        // Standard input has no name; functions begin with a word that problems do not have.
        None => !input.text.split(|&byte| byte == b'\n').any(|line| line.starts_with(b"function ")),
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

/// What allocators make of the functions of a file, beside their lines.
fn columns(args: &AllocArgs, names: &[String], input: &Input) -> Outcome {
    let mut out = output::stdout();
    let mut separator = "";
    let verdict = functions_of(input, &mut |place, func| {
        let Some(explanation) = explanation(&args.target, names, place, func)? else { return Ok(Verdict::Bad) };
        write!(out, "{separator}{}", kingpost_explain::text(&explanation))?;
        separator = "\n";
        Ok(Verdict::Good)
    })?;
    out.flush()?;
    Ok(verdict)
}

/// The problems of a `.ra` file, for its machine or the target's.
fn problems(args: &AllocArgs, input: &Input, name: &str) -> Outcome {
    let source = String::from_utf8_lossy(&input.text);
    let file = text::parse(&source).map_err(|error| Stop::Failure(format!("{}:{error}", input.name)))?;
    let compiler = target::compiler(&args.target, Some(name), true)?;
    let env: &MachineEnv = file.env.as_ref().unwrap_or_else(|| compiler.isa().env());
    let (mut allocator, mut checker, mut answer) = (compiler.new_allocator(), Checker::new(), Allocation::default());
    let mut out = output::stdout();
    let mut verdict = Verdict::Good;
    write!(out, "{env}")?;
    for case in &file.cases {
        let problem = &case.problem;
        let mut bad = |text: String| {
            complain(&format!("{}: {}: {text}", input.name, problem.name));
            verdict = Verdict::Bad;
        };
        if let Err(errors) = problem.verify_with(env) {
            errors.iter().for_each(|error| bad(error.to_string()));
            continue;
        }
        if let Err(error) = allocator.allocate(problem, env, &mut answer) {
            bad(error.to_string());
            continue;
        }
        if let Err(errors) = checker.check(problem, env, &answer) {
            errors.iter().for_each(|error| bad(error.to_string()));
        }
        write!(out, "\n{problem}{}", text::display_allocation(problem, &answer))?;
    }
    out.flush()?;
    Ok(verdict)
}

/// The problems that lowering makes of functions.
fn functions(args: &AllocArgs, input: &Input, name: &str) -> Outcome {
    let bad_text = |error: kingpost_reader::Error| {
        Diagnostic::of_text(input, &error).complain();
        Verdict::Bad
    };
    let mut parser = match Parser::new(&input.text, kingpost_reader::Options::default()) {
        Ok(parser) => parser,
        Err(error) => return Ok(bad_text(error)),
    };
    let compiler = match target::with_header(&args.target, Some(name), true, parser.header()) {
        Ok(compiler) => compiler,
        Err(refused) => {
            Diagnostic::at(input, parser.header().start_of(&refused.key), refused.text).complain();
            return Ok(Verdict::Bad);
        }
    };
    let (mut cx, mut module, mut func) = (compiler.context(), ModuleBuffer::default(), Function::default());
    let mut out = output::stdout();
    let mut verdict = Verdict::Good;
    write!(out, "{}", compiler.isa().env())?;
    loop {
        match parser.next_function(&mut func) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                verdict = bad_text(error);
                break;
            }
        }
        module.clear();
        if let Err(error) = compiler.compile(&mut cx, &mut func, &mut module) {
            let (start, name) = (parser.function_start(), func.name.to_string());
            Diagnostic::of_function(input, start, &name, error.findings()).iter().for_each(Diagnostic::complain);
            verdict = Verdict::Bad;
            continue;
        }
        write!(out, "\n{}", solution_text(&func.name, &cx.code().problem, cx.allocation()))?;
    }
    out.flush()?;
    Ok(verdict)
}
