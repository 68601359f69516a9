//! `explain`: a page about the compilation of functions. `print-cfg`: their graphs.

use crate::args::ExplainArgs;
use crate::cat_verify::{FilesArgs, FunctionPosition, any_header, each_function, functions_of};
use crate::diagnostics::{Diagnostic, Refused};
use crate::exit_status::{Outcome, Stop, Verdict};
use crate::input::{self, Input};
use crate::target::{Choice, TargetArgs};
use crate::{output, target};
use kingpost_codegen::settings::ValidateFailure;
use kingpost_codegen::{ALLOCATORS, Compiler, Options};
use kingpost_explain::{Explanation, page};
use kingpost_ir::Function;
use kingpost_ir::extfunc::FuncName;
use kingpost_mach::Isa;
use kingpost_reader::Header;
use kingpost_regalloc::text;
use std::io::Write;

/// Returns the allocators that options select: one, `all`, or the default, and then the external one.
pub(crate) fn allocators(option: Option<&str>, command: Option<&str>) -> Result<Vec<Choice>, Stop> {
    let mut names = match option {
        None if command.is_some() => Vec::new(),
        None => vec![ALLOCATORS[0].0.to_string()],
        Some("all") => ALLOCATORS.iter().map(|(name, _)| name.to_string()).collect(),
        Some(name) => vec![target::allocator(name)?],
    };
    let mut choices: Vec<Choice> = names.drain(..).map(Choice::Name).collect();
    choices.extend(command.map(|command| Choice::Command(command.into())));
    Ok(choices)
}

/// Returns one compiler for each allocator, which records listings.
pub(crate) fn compilers(args: &TargetArgs, allocators: &[Choice], header: &Header) -> Result<Vec<Compiler>, Refused> {
    // A function without a proof is explained too.
    let defaults = || {
        target::defaults().with(|settings| {
            settings.verify_each = true;
            settings.validate_failure = ValidateFailure::Report;
        })
    };
    let options = Options::default().with(|options| options.list = true);
    let compiler = |choice: &Choice| target::with_header(defaults(), args, Some(choice), header);
    allocators.iter().map(|choice| Ok(compiler(choice)?.with_options(options.clone()))).collect()
}

/// Compiles a function with each compiler and explains the results. Reports errors in the function.
pub(crate) fn explanation(place: &FunctionPosition, compilers: &[Compiler], func: &Function) -> Option<Explanation> {
    kingpost_explain::explain(func, compilers).inspect_err(|error| place.report(func, error.findings())).ok()
}

/// Writes one page about the functions of a file.
pub(crate) fn explain(args: &ExplainArgs) -> Outcome {
    target::check(&args.target)?;
    let names = allocators(args.regalloc.as_deref(), args.regalloc_command.as_deref())?;
    let (mut explanations, mut search) = (Vec::new(), args.selection.search().without_output());
    let input = input::read(&args.file)?;
    if args.file.extension().is_some_and(|extension| extension == "ra") {
        return explain_problems(args, &input, &names);
    }
    if !args.whole_file && args.selection.is_empty() {
        choose(&input)?;
    }
    let prepare = |header: &Header| compilers(&args.target, &names, header);
    let verdict = functions_of(&input, &mut search, prepare, |place, compilers, func| {
        let explanation = explanation(place, compilers, func);
        let verdict = if explanation.is_some() { Verdict::Good } else { Verdict::Bad };
        explanations.extend(explanation);
        Ok(verdict)
    })?;
    search.finish()?;
    write_page(args, &input, "function", &explanations, verdict)
}

/// Largest number of lines of functions on a page. A browser shows such a page, of about ten megabytes, without waiting.
const LINES: usize = 50_000;

/// Number of functions that a large file offers.
const OFFERED: usize = 20;

/// Checks that a page about all functions of a file is not too large to be read.
///
/// # Errors
/// With the largest functions if it is.
fn choose(input: &Input) -> Result<(), Stop> {
    let text = String::from_utf8_lossy(input.text());
    let mut functions: Vec<(usize, &str)> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix("function "), functions.last_mut()) {
            (Some(head), _) => functions.push((1, head.split('(').next().unwrap_or(head))),
            (None, Some((lines, _))) => *lines += 1,
            (None, None) => {}
        }
    }
    let lines: usize = functions.iter().map(|(lines, _)| lines).sum();
    if lines <= LINES {
        return Ok(());
    }
    let count = functions.len();
    functions.sort_by_key(|&(lines, _)| std::cmp::Reverse(lines));
    let offered = functions.iter().take(OFFERED).map(|(lines, name)| format!("\n  {lines:>6} lines  {name}"));
    let offered: String = offered.collect();
    Err(Stop::Failure(format!(
        "{}: {count} functions with {lines} lines are too much for a page: choose some with `--function`, or all with \
         `--whole-file`. The largest functions:{offered}",
        input.name
    )))
}

/// Writes a page about all explanations. There must be one.
fn write_page(
    args: &ExplainArgs,
    input: &Input,
    what: &str,
    explanations: &[Explanation],
    verdict: Verdict,
) -> Outcome {
    if explanations.is_empty() {
        if verdict == Verdict::Good {
            Diagnostic::at(input, 0, format!("there is no {what} to explain")).report();
        }
        return Ok(Verdict::Bad);
    }
    output::write_whole(&args.output, page(&args.file.display().to_string(), explanations).as_bytes())?;
    Ok(verdict)
}

/// Writes one page about the problems of a `.ra` file, for the machine of the file or of the target.
fn explain_problems(args: &ExplainArgs, input: &Input, names: &[Choice]) -> Outcome {
    let source = String::from_utf8_lossy(input.text());
    let file = text::parse(&source).map_err(|error| Stop::Failure(format!("{}:{error}", input.name)))?;
    let compilers = names.iter().map(|name| Ok((name, target::compiler(&args.target, Some(name), true)?)));
    let compilers = compilers.collect::<Result<Vec<(&Choice, Compiler)>, Stop>>()?;
    let (mut explanations, mut verdict, mut search) =
        (Vec::new(), Verdict::Good, args.selection.search().without_output());
    for case in &file.cases {
        let (problem, target) = (&case.problem, compilers[0].1.isa());
        if !search.wants(&FuncName::Named(problem.name.clone())) {
            continue;
        }
        // Registers have names if the machine of the file is the target.
        let env = file.env.as_ref().unwrap_or(target.env());
        let isa = (env.to_string() == target.env().to_string()).then_some(target as &dyn Isa);
        let mut allocators: Vec<_> =
            compilers.iter().map(|(name, compiler)| (name.text().to_string(), compiler.new_allocator())).collect();
        let errors = match problem.verify_with(env) {
            Err(errors) => errors.iter().map(|error| (case.positions.of(error.at), error.to_string())).collect(),
            Ok(()) => match kingpost_explain::explain_problem(problem, env, isa, &mut allocators) {
                Ok(explanation) => {
                    explanations.push(explanation);
                    continue;
                }
                Err(error) => vec![(case.positions.problem, error.to_string())],
            },
        };
        verdict = Verdict::Bad;
        for (at, message) in errors {
            let function = Some(format!("%{}", problem.name));
            Diagnostic { function, ..Diagnostic::at(input, at, message) }.report();
        }
    }
    search.finish()?;
    write_page(args, input, "problem", &explanations, verdict)
}

/// Prints control-flow graphs.
pub(crate) fn print_cfg(args: &FilesArgs) -> Outcome {
    let mut out = output::stdout();
    let verdict = each_function(&args.files, args.selection.search(), any_header, |_, (), func| {
        write!(out, "{}", kingpost_explain::dot(func))?;
        Ok(Verdict::Good)
    })?;
    out.flush()?;
    Ok(verdict)
}
