//! `alloc`: allocations of functions side by side, by several allocators. Also prints allocation problems and their
//! solutions, as text that can be parsed again.

use crate::args::AllocArgs;
use crate::cat_verify::functions_of;
use crate::diagnostics::Diagnostic;
use crate::exit_status::{Outcome, Stop, Verdict};
use crate::explain::{allocators, compilers, explanation};
use crate::input::{self, Input};
use crate::output::{self, TableFormat};
use crate::target::{self, Choice};
use cpu_time::ThreadTime;
use kingpost_checker::Checker;
use kingpost_codegen::{Compiler, Options, Stage, TargetIsa, solution_text};
use kingpost_explain::{COLUMNS, TableFacts, TableRow};
use kingpost_ir::extfunc::FuncName;
use kingpost_mach::ModuleBuffer;
use kingpost_reader::Header;
use kingpost_regalloc::{AllocError, Allocation, ClassEnv, Cost, MachineEnv, Problem, text};
use std::io::Write;
use std::time::Duration;

pub(crate) fn alloc(args: &AllocArgs) -> Outcome {
    target::check(&args.target)?;
    let names = allocators(args.regalloc.as_deref(), args.regalloc_command.as_deref())?;
    let input = input::read(&args.file)?;
    let is_ra = match args.file.extension() {
        Some(extension) => extension == "ra" || extension == "mach",
        // Standard input has no name. Functions begin with a word that does not occur in problems.
        None => !input.text().split(|&byte| byte == b'\n').any(|line| line.starts_with(b"function ")),
    };
    if args.format != TableFormat::Text || args.plots.is_some() {
        return if is_ra { problem_table(args, &input, &names) } else { function_table(args, &input, &names) };
    }
    match &names[..] {
        [name] if is_ra => problems(args, &input, name),
        [name] if args.ra => functions(args, &input, name),
        _ if args.ra => Err(Stop::Usage("--regalloc all: the text form holds one solution of a problem".into())),
        _ if is_ra => costs(args, &input, &names),
        _ => columns(args, &names, &input),
    }
}

/// Prints the allocations of the functions of a file, one column per allocator, next to the lines of the functions.
fn columns(args: &AllocArgs, names: &[Choice], input: &Input) -> Outcome {
    let mut out = output::stdout();
    let mut separator = "";
    let prepare = |header: &Header| compilers(&args.target, names, header);
    let mut search = args.selection.search();
    let verdict = functions_of(input, &mut search, prepare, |place, compilers, func| {
        let Some(explanation) = explanation(place, compilers, func) else { return Ok(Verdict::Bad) };
        write!(out, "{separator}{}", kingpost_explain::text(&explanation))?;
        separator = "\n";
        Ok(Verdict::Good)
    })?;
    search.finish()?;
    out.flush()?;
    Ok(verdict)
}

/// Solves the problems of a `.ra` file, for the machine of the file or of the target, and prints them with their
/// solutions.
fn problems(args: &AllocArgs, input: &Input, name: &Choice) -> Outcome {
    let mut out = output::stdout();
    let mut is_first = true;
    let compiler = target::compiler(&args.target, Some(name), true)?;
    let verdict = solve(args, input, std::slice::from_ref(name), |_, env, problem, answer, _| {
        if std::mem::take(&mut is_first) {
            // The machine of a file may be another one than the target.
            if env == compiler.isa().env() {
                write!(out, "{}", register_names(compiler.isa()))?;
            }
            write!(out, "{env}")?;
        }
        Ok(write!(out, "\n{problem}{}", text::display_allocation(problem, answer))?)
    })?;
    out.flush()?;
    Ok(verdict)
}

/// Prints the costs of the solutions of several allocators, one line per problem and allocator.
fn costs(args: &AllocArgs, input: &Input, names: &[Choice]) -> Outcome {
    let mut out = output::stdout();
    let verdict = solve(args, input, names, |name, env, problem, answer, _| {
        Ok(writeln!(out, "%{}: {name:<13} {}", problem.name, Cost::of(problem, env, answer))?)
    })?;
    out.flush()?;
    Ok(verdict)
}

/// Writes a table of the solutions of the problems of a `.ra` file.
fn problem_table(args: &AllocArgs, input: &Input, names: &[Choice]) -> Outcome {
    let mut rows = Vec::new();
    let verdict = solve(args, input, names, |allocator, env, problem, answer, nanoseconds| {
        let function = format!("%{}", problem.name);
        let facts = TableFacts { file: &input.name, function, allocator, bytes: None, nanoseconds };
        rows.push(TableRow::new(facts, problem, env, answer));
        Ok(())
    })?;
    write_table(args, &rows)?;
    Ok(verdict)
}

/// Solves the problems of a `.ra` file by each allocator, for the machine of the file or of the target. `each`
/// receives the name of the allocator, the machine, the problem, the answer and the times of the rounds.
fn solve(
    args: &AllocArgs,
    input: &Input,
    names: &[Choice],
    mut each: impl FnMut(&str, &MachineEnv, &Problem, &Allocation, Vec<u64>) -> Result<(), Stop>,
) -> Outcome {
    let source = String::from_utf8_lossy(input.text());
    let file = text::parse(&source).map_err(|error| Stop::Failure(format!("{}:{error}", input.name)))?;
    if file.cases.is_empty() {
        Diagnostic::at(input, 0, "there is no problem".into()).report();
        return Ok(Verdict::Bad);
    }
    let compilers = names.iter().map(|name| target::compiler(&args.target, Some(name), true));
    let compilers = compilers.collect::<Result<Vec<Compiler>, Stop>>()?;
    let (mut checker, mut answer, mut search) = (Checker::new(), Allocation::default(), args.selection.search());
    let mut verdict = Verdict::Good;
    for case in &file.cases {
        let problem = &case.problem;
        if !search.wants(&FuncName::Named(problem.name.clone())) {
            continue;
        }
        let mut bad = |start: usize, message: String| {
            let function = Some(format!("%{}", problem.name));
            Diagnostic { function, ..Diagnostic::at(input, start, message) }.report();
            verdict = Verdict::Bad;
        };
        let machine = |compiler: &Compiler| file.env.clone().unwrap_or_else(|| compiler.isa().env().clone());
        if let Some(Err(errors)) = compilers.first().map(|compiler| problem.verify_with(&machine(compiler))) {
            errors.iter().for_each(|error| bad(case.positions.of(error.at), error.to_string()));
            continue;
        }
        for (name, compiler) in names.iter().zip(&compilers) {
            let (env, mut allocator) = (machine(compiler), compiler.new_allocator());
            let mut times = Vec::new();
            for _ in 0..args.rounds {
                let start = cpu_time();
                // The error is reported below.
                if allocator.allocate(problem, &env, &mut answer).is_ok() {
                    times.push(cpu_time().saturating_sub(start).as_nanos() as u64);
                }
            }
            if let Err(error) = allocator.allocate(problem, &env, &mut answer) {
                let at = match error {
                    AllocError::TooFewRegisters { inst, .. } | AllocError::FixedConflict { inst, .. } => {
                        case.positions.inst(inst)
                    }
                    _ => None,
                };
                bad(at.unwrap_or(case.positions.problem), error.to_string());
                continue;
            }
            if let Err(errors) = checker.check(problem, &env, &answer) {
                errors.iter().for_each(|error| bad(case.positions.problem, error.to_string()));
            }
            each(name.text(), &env, problem, &answer, times)?;
        }
    }
    search.finish()?;
    Ok(verdict)
}

/// Width of the names of registers in bytes.
const REGISTER_BYTES: u8 = 8;

/// Returns the CPU time of this thread.
fn cpu_time() -> Duration {
    ThreadTime::now().as_duration()
}

/// Writes a table of the allocations of functions.
fn function_table(args: &AllocArgs, input: &Input, names: &[Choice]) -> Outcome {
    let options = Options::default().with(|options| options.time = args.rounds > 0);
    let prepare = |header: &Header| {
        let defaults = || target::defaults().with(|settings| settings.verify_each = true);
        let compiler = |name: &Choice| target::with_header(defaults(), &args.target, Some(name), header);
        names.iter().map(|name| Ok((name, compiler(name)?.with_options(options.clone())))).collect()
    };
    let (mut rows, mut search) = (Vec::new(), args.selection.search().without_output());
    let verdict =
        functions_of(input, &mut search, prepare, |place, compilers: &mut Vec<(&Choice, Compiler)>, func| {
            for (name, compiler) in compilers {
                let (mut cx, mut module, mut nanoseconds) = (compiler.context(), ModuleBuffer::default(), Vec::new());
                for _ in 0..args.rounds.max(1) {
                    let (mut copy, before) = (func.clone(), cx.stats().stage_seconds[Stage::Regalloc as usize]);
                    module = ModuleBuffer::default();
                    if let Err(error) = compiler.compile(&mut cx, &mut copy, &mut module) {
                        place.report(func, error.findings());
                        return Ok(Verdict::Bad);
                    }
                    let seconds = cx.stats().stage_seconds[Stage::Regalloc as usize] - before;
                    nanoseconds.extend((args.rounds > 0).then_some((seconds * 1e9) as u64));
                }
                let (function, bytes) = (func.name.to_string(), module.functions().map(|view| view.code.len()).sum());
                let facts =
                    TableFacts { file: &input.name, function, allocator: name.text(), bytes: Some(bytes), nanoseconds };
                rows.push(TableRow::new(facts, &cx.code().problem, compiler.isa().env(), cx.allocation()));
            }
            Ok(Verdict::Good)
        })?;
    search.finish()?;
    write_table(args, &rows)?;
    Ok(verdict)
}

/// Writes plots of rows, and the rows in a format for programs.
fn write_table(args: &AllocArgs, rows: &[TableRow]) -> Result<(), Stop> {
    let mut out = output::stdout();
    if let Some(folder) = &args.plots {
        std::fs::create_dir_all(folder).map_err(|error| Stop::Failure(format!("{}: {error}", folder.display())))?;
        for plot in kingpost_explain::plots(rows) {
            output::write_whole(&folder.join(format!("{}.svg", plot.name)), plot.svg.as_bytes())?;
        }
    }
    match args.format {
        TableFormat::Text => {}
        TableFormat::Json => output::json_rows(&mut out, rows.iter().map(TableRow::json))?,
        TableFormat::Csv => {
            writeln!(out, "{}", COLUMNS.join(","))?;
            rows.iter().try_for_each(|row| writeln!(out, "{}", row.csv()))?;
        }
    }
    Ok(out.flush()?)
}

/// Lowers functions and prints their allocation problems and solutions.
fn functions(args: &AllocArgs, input: &Input, name: &Choice) -> Outcome {
    let prepare = |header: &Header| {
        let defaults = target::defaults().with(|settings| settings.verify_each = true);
        let compiler = target::with_header(defaults, &args.target, Some(name), header)?;
        let cx = compiler.context();
        Ok((compiler, cx))
    };
    let mut out = output::stdout();
    let mut is_first = true;
    let mut search = args.selection.search();
    let verdict = functions_of(input, &mut search, prepare, |place, (compiler, cx), func| {
        if std::mem::take(&mut is_first) {
            write!(out, "{}{}", register_names(compiler.isa()), compiler.isa().env())?;
        }
        if let Err(error) = compiler.compile(cx, func, &mut ModuleBuffer::default()) {
            place.report(func, error.findings());
            return Ok(Verdict::Bad);
        }
        write!(out, "\n{}", solution_text(&func.name, &cx.code().problem, cx.allocation()))?;
        Ok(Verdict::Good)
    })?;
    search.finish()?;
    out.flush()?;
    Ok(verdict)
}

/// Returns comments with the target's names of the allocatable registers, one line for each class.
fn register_names(isa: &dyn TargetIsa) -> String {
    let line = |class: &ClassEnv| {
        let names: Vec<String> =
            class.order.iter().map(|&reg| format!("{reg} {}", isa.reg_name(reg, REGISTER_BYTES))).collect();
        format!("; {}\n", names.join(", "))
    };
    isa.env().classes.iter().map(line).collect()
}
