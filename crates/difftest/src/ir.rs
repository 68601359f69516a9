//! Generated programs: interpreter and compiled code agree bit for bit, traps included, under every allocator at
//! every optimization level. The interpreter also agrees on the optimized program.
//!
//! [`run`] compiles each program many times for one kind of x86-64 processor, [`run_vectors`] compiles a program of
//! vectors a few times for all kinds.

use crate::emulated::{self, Batch};
use crate::failure::{Failure, Report};
use crate::native::{
    Caller, Cpu, Lane, NotLoaded, Outcome, Request, display, load, needs_frame_pointers, runs_here, triple,
};
use kingpost_codegen::ALLOCATORS;
use kingpost_interpreter::{DataValue, Environment, Interpreter, Limits, Stop};
use kingpost_ir::Function;
use kingpost_ir::analyses::Analyses;
use kingpost_opt::Optimizer;
use kingpost_testgen::ir::{Program, generate, generate_accesses, generate_vectors, generate_with_frequencies, shrink};
use std::fmt::Write;
use std::ops::Range;

/// Instructions that the interpreter may execute for one call.
const FUEL: u64 = 2_000_000;
/// Lanes for one CPU: allocators and optimization levels.
const LANES: u64 = 2 * ALLOCATORS.len() as u64;

/// Compiles the programs of `seeds` under every allocator, alternating between any CPU, one with SSE4.1 and this
/// one, and compares.
///
/// # Errors
/// The first program that is compiled wrongly, shrunken to a filetest; or the reason why no comparison is possible.
pub fn run(seeds: Range<u64>) -> Result<Report, Box<Failure>> {
    compare(&Mode { target: "ir", generate, all_lanes: true }, seeds)
}

/// Compiles programs of vectors for any CPU, one with SSE4.1, this one and AArch64, each time with one allocator at
/// one optimization level, in turns, and compares. Ten consecutive seeds cover all lanes of all CPUs.
///
/// # Errors
/// The error of [`run`].
pub fn run_vectors(seeds: Range<u64>) -> Result<Report, Box<Failure>> {
    compare(&Mode { target: "vectors", generate: generate_vectors, all_lanes: false }, seeds)
}

/// Compares the programs of [`run`] with the lanes of [`run_vectors`]: many programs at little cost.
///
/// # Errors
/// The error of [`run`].
pub fn run_in_turns(seeds: Range<u64>) -> Result<Report, Box<Failure>> {
    compare(&Mode { target: "ir-turns", generate, all_lanes: false }, seeds)
}

/// Compares programs that mostly access a few places of memory, with and without alias regions, with the lanes of
/// [`run_in_turns`].
///
/// # Errors
/// The error of [`run`].
pub fn run_accesses(seeds: Range<u64>) -> Result<Report, Box<Failure>> {
    compare(&Mode { target: "accesses", generate: generate_accesses, all_lanes: false }, seeds)
}

/// Compares programs whose blocks have wrong frequencies, with the lanes of [`run_in_turns`]. The text of a failure does not
/// have the frequencies.
///
/// # Errors
/// The error of [`run`].
pub fn run_frequencies(seeds: Range<u64>) -> Result<Report, Box<Failure>> {
    compare(&Mode { target: "frequencies", generate: generate_with_frequencies, all_lanes: false }, seeds)
}

/// The generator of programs, and the lanes that compile them.
struct Mode {
    /// Name of the fuzz target.
    target: &'static str,
    generate: fn(u64) -> Program,
    /// Whether each program is compiled by all lanes for one CPU in turns, instead of by one lane in turns for all
    /// CPUs.
    all_lanes: bool,
}

impl Mode {
    /// Returns `true` if a lane compiles the program of a seed for a CPU, an index of [`Cpu::ALL`].
    fn compiles_here(&self, seed: u64, cpu: usize, lane: usize) -> bool {
        if self.all_lanes { cpu as u64 == seed % 3 } else { lane as u64 == (seed + 3 * cpu as u64) % LANES }
    }

    fn compiles_elsewhere(&self, seed: u64, lane: usize) -> bool {
        self.all_lanes || lane as u64 == seed % LANES
    }
}

fn compare(mode: &Mode, seeds: Range<u64>) -> Result<Report, Box<Failure>> {
    let mut report = Report::default();
    let mut cases = Vec::new();
    for seed in seeds {
        let program = (mode.generate)(seed);
        match expected(&program) {
            Ok(expected) => {
                let case = Case { seed, program, expected };
                judge_optimized(mode, &case)?;
                cases.push(case);
            }
            Err(reason) => report.skip(format_args!("the interpreter says: {reason}")),
        }
    }
    report.cases = cases.len() as u64;
    if runs_here() {
        here(mode, &cases, &mut report)?;
    } else {
        report.skip("this machine does not run x86-64 code on Linux");
    }
    match emulated::is_here() {
        Ok(()) => elsewhere(mode, &cases, &mut report)?,
        Err(reason) => report.skip(reason),
    }
    Ok(report)
}

/// A program and the interpreter's outcomes of its inputs.
struct Case {
    seed: u64,
    program: Program,
    expected: Vec<Outcome>,
}

/// Compares on this machine, program by program.
fn here(mode: &Mode, cases: &[Case], report: &mut Report) -> Result<(), Box<Failure>> {
    let mut lanes = Cpu::ALL.map(|cpu| Lane::at_all_levels(&triple(), &cpu.words()));
    let system = |what: String| Box::new(Failure { seed: 0, what, text: String::new() });
    let mut caller = Caller::new(&lanes[0][0]).map_err(system)?;
    for case in cases {
        let lanes = lanes.iter_mut().enumerate().flat_map(|(cpu, lanes)| {
            let chosen = lanes.iter_mut().enumerate().filter(move |&(n, _)| mode.compiles_here(case.seed, cpu, n));
            chosen.map(|(_, lane)| lane)
        });
        let mut lanes: Vec<&mut Lane> = lanes.collect();
        let judged = judge(&case.program, &case.expected, &mut lanes, &mut caller, report);
        if let Err(Mismatch { lane, what, .. }) = judged {
            let lane = &mut lanes[lane..=lane];
            return Err(shrunken(mode, case, &lane_words(lane[0]), &what, |program| {
                let expected = expected(program).ok()?;
                judge(program, &expected, lane, &mut caller, &mut Report::default()).err()
            }));
        }
    }
    Ok(())
}

/// Compares by the emulator, all programs at once. Only the seed determines whether the processor is a plain one,
/// so that the seed repeats a failure. The choice is constant for as many consecutive seeds as there are lanes.
fn elsewhere(mode: &Mode, cases: &[Case], report: &mut Report) -> Result<(), Box<Failure>> {
    if cases.is_empty() {
        return Ok(());
    }
    let mut lanes = emulated::lanes(false);
    let plain = lanes.len();
    lanes.extend(emulated::lanes(true));
    let all: Vec<(&Program, &[Outcome])> = cases.iter().map(|case| (&case.program, &case.expected[..])).collect();
    let takes = |case: usize, lane: usize| {
        let seed = cases[case].seed;
        seed / LANES % 2 == (lane / plain) as u64 && mode.compiles_elsewhere(seed, lane % plain)
    };
    if let Err((case, Mismatch { lane, what, .. })) = judge_batch(&all, &mut lanes, takes, report) {
        let lane = &mut lanes[lane..=lane];
        return Err(shrunken(mode, &cases[case], &lane_words(&lane[0]), &what, |program| {
            let expected = expected(program).ok()?;
            judge_batch(&[(program, &expected)], lane, |_, _| true, &mut Report::default())
                .err()
                .map(|(_, mismatch)| mismatch)
        }));
    }
    Ok(())
}

/// Compares the emulator's outcomes with the expected ones. A lane compiles a case if `takes` returns `true`.
/// Returns the first program that differs.
fn judge_batch(
    cases: &[(&Program, &[Outcome])],
    lanes: &mut [Lane],
    takes: impl Fn(usize, usize) -> bool,
    report: &mut Report,
) -> Result<(), (usize, Mismatch)> {
    let mut batch = Batch::new();
    // Per call: its program, lane and input.
    let mut calls = Vec::new();
    for (case, (program, _)) in cases.iter().enumerate() {
        for (lane, compiler) in lanes.iter_mut().enumerate().filter(|&(lane, _)| takes(case, lane)) {
            match batch.add(compiler, &program.functions, &program.inputs) {
                Ok(()) => calls.extend((0..program.inputs.len()).map(|input| (case, lane, input))),
                Err(NotLoaded::Compile(_, error)) if error.is_unsupported() => report.skip(error),
                Err(error) => {
                    let what = format!("{compiler}: {error}");
                    return Err((case, Mismatch { lane, kind: Kind::Compile, what }));
                }
            }
            report.functions += program.functions.len() as u64;
        }
    }
    let endings = batch.run().map_err(|what| (0, Mismatch { lane: 0, kind: Kind::Compile, what }))?;
    for (found, (case, lane, input)) in endings.into_iter().zip(calls) {
        let (program, expected) = cases[case];
        let expected = &expected[input];
        report.calls += 1;
        report.traps += u64::from(matches!(expected, Outcome::Trapped(_)));
        if found != *expected {
            let what = differs(&lanes[lane], program, input, &found, expected);
            return Err((case, Mismatch { lane, kind: Kind::Ending, what }));
        }
    }
    Ok(())
}

fn differs(lane: &Lane, program: &Program, input: usize, found: &Outcome, expected: &Outcome) -> String {
    let arguments = arguments(&program.functions[0], &program.inputs[input]);
    format!("{lane}: ({arguments}) {found}, expected: {expected}")
}

/// Returns the filetest of a seed's program, not shrunken.
pub fn show(seed: u64) -> String {
    let program = generate(seed);
    let expected = expected(&program);
    filetest(&program, &expected, "x86_64\ntarget aarch64")
}

/// Compares the interpreter's outcomes of the program optimized for speed or size in turns.
fn judge_optimized(mode: &Mode, case: &Case) -> Result<(), Box<Failure>> {
    let judge = |program: &Program, before: &[Outcome]| {
        let what = match expected(&optimized(program, case.seed % 2 == 1)) {
            Ok(after) if after == before => return None,
            Ok(after) => format!("optimized, it {}, before: {}", list(&after), list(before)),
            Err(reason) => format!("optimized, the interpreter says: {reason}"),
        };
        Some(Mismatch { lane: 0, kind: Kind::Ending, what })
    };
    match judge(&case.program, &case.expected) {
        None => Ok(()),
        Some(Mismatch { what, .. }) => {
            Err(shrunken(mode, case, "x86_64", &what, |program| judge(program, &expected(program).ok()?)))
        }
    }
}

fn list(outcomes: &[Outcome]) -> String {
    outcomes.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Returns the program with its functions optimized.
fn optimized(program: &Program, prefers_size: bool) -> Program {
    let mut program = program.clone();
    let (mut optimizer, mut analyses) = (Optimizer::default().preferring_size(prefers_size), Analyses::default());
    for function in &mut program.functions {
        function.dfg.resolve_all_aliases();
        optimizer.run_all(function, &mut analyses);
    }
    program
}

/// Returns the words of a `target` line.
fn lane_words(lane: &Lane) -> String {
    let mut words = lane.architecture.to_string();
    lane.flags.iter().for_each(|flag| words += &format!(" {flag}"));
    words
}

/// A fault, and its lane.
struct Mismatch {
    lane: usize,
    kind: Kind,
    what: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Compile,
    Ending,
}

/// Returns the interpreter's outcome of each input, or an error if there is none.
fn expected(program: &Program) -> Result<Vec<Outcome>, String> {
    let environment = Environment::new(&program.functions);
    let mut interpreter = Interpreter::with_limits(&environment, Limits::default().with(|limits| limits.fuel = FUEL));
    let entry = environment.by_index(0).ok_or("no function")?;
    let types: Vec<_> = program.functions[0].signature.params.iter().map(|param| param.value_type).collect();
    let mut outcomes = Vec::new();
    for input in &program.inputs {
        let arguments: Vec<DataValue> =
            types.iter().zip(input).map(|(&ty, &bits)| DataValue::new(ty, bits.into())).collect();
        outcomes.push(match interpreter.call_id(entry, &arguments) {
            Ok(values) => Outcome::Returned(values),
            Err(Stop::Trap(code)) => Outcome::Trapped(code),
            Err(stop) => return Err(stop.to_string()),
        });
    }
    Ok(outcomes)
}

fn judge(
    program: &Program,
    expected: &[Outcome],
    lanes: &mut [&mut Lane],
    caller: &mut Caller,
    report: &mut Report,
) -> Result<(), Mismatch> {
    judge_as(program, &program.functions, expected, lanes, caller, report)
}

/// Compares the outcomes of `compiled` with the program's outcomes; the two differ only in tests of this module.
fn judge_as(
    program: &Program,
    compiled: &[Function],
    expected: &[Outcome],
    lanes: &mut [&mut Lane],
    caller: &mut Caller,
    report: &mut Report,
) -> Result<(), Mismatch> {
    let mut modules = Vec::new();
    for (lane, compiler) in lanes.iter_mut().enumerate() {
        match load(compiler, compiled, 1) {
            Ok(module) => modules.push(module),
            Err(NotLoaded::Compile(_, error)) if error.is_unsupported() => {
                report.skip(error);
                return Ok(());
            }
            Err(error) => return Err(Mismatch { lane, kind: Kind::Compile, what: format!("{compiler}: {error}") }),
        }
    }
    let mut requests = Vec::new();
    for module in &modules {
        requests.extend(program.inputs.iter().map(|input| Request { module, entry: 0, input: input.clone() }));
    }
    let endings = caller.call(&requests, &mut []);
    let endings = endings.map_err(|error| Mismatch { lane: 0, kind: Kind::Compile, what: error.to_string() })?;
    report.functions += (program.functions.len() * modules.len()) as u64;
    for (n, found) in endings.iter().enumerate() {
        let (lane, input) = (n / expected.len(), n % expected.len());
        report.calls += 1;
        report.traps += u64::from(matches!(expected[input], Outcome::Trapped(_)));
        if *found != expected[input] {
            let what = differs(lanes[lane], program, input, found, &expected[input]);
            return Err(Mismatch { lane, kind: Kind::Ending, what });
        }
    }
    Ok(())
}

/// Shrinks the case as long as `judge` finds a fault of one kind. `target` are the words of a `target` line.
/// `first` is the text of the original fault, which may not occur again.
fn shrunken(
    mode: &Mode,
    case: &Case,
    target: &str,
    first: &str,
    mut judge: impl FnMut(&Program) -> Option<Mismatch>,
) -> Box<Failure> {
    let Case { seed, program, .. } = case;
    let kind = judge(program).map(|mismatch| mismatch.kind);
    let small = match kind {
        Some(kind) => shrink(program, |candidate| judge(candidate).is_some_and(|mismatch| mismatch.kind == kind)),
        None => program.clone(),
    };
    let what = judge(&small).map_or_else(|| format!("fails only sometimes: {first}"), |mismatch| mismatch.what);
    let what = format!("{what}\nrepeat with: make fuzz TARGET={} N=1 SEED={seed}", mode.target);
    let text = filetest(&small, &expected(&small), target);
    Box::new(Failure { seed: *seed, what, text })
}

fn arguments(function: &Function, input: &[u64]) -> String {
    let params = function.signature.params.iter().zip(input);
    let values = params.map(|(param, &bits)| DataValue::new(param.value_type, bits.into()).to_string());
    values.collect::<Vec<_>>().join(", ")
}

/// Returns the program as a filetest, with the interpreter's endings as directives.
fn filetest(program: &Program, expected: &Result<Vec<Outcome>, String>, target: &str) -> String {
    let frames = if needs_frame_pointers(&program.functions) { "set preserve_frame_pointers\n" } else { "" };
    let mut text = format!(
        "test interpret\ntest run\nset enable_multi_ret_implicit_sret\nset opt_level=speed\n{frames}target {target}\n"
    );
    for function in program.functions.iter().rev() {
        // Writing to a string does not fail.
        let _ = write!(text, "\n{function}");
    }
    let Ok(expected) = expected else { return text };
    for (input, outcome) in program.inputs.iter().zip(expected) {
        let call = format!("{}({})", program.functions[0].name, arguments(&program.functions[0], input));
        text += &match outcome {
            Outcome::Returned(values) if values.is_empty() => format!("; run: {call}\n"),
            Outcome::Returned(values) => format!("; run: {call} == {}\n", display(values)),
            Outcome::Trapped(code) => format!("; trap: {call} == {code}\n"),
            Outcome::Wrong(text) => format!("; {text}\n"),
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_ir::preamble::AliasRegionData;
    use kingpost_ir::verifier::verify;
    use kingpost_ir::{InstData, Opcode, TrapCode};
    use kingpost_testgen::ir::TARGET;

    #[test]
    fn smoke() {
        let report = run(0..40).unwrap_or_else(|failure| panic!("{failure}"));
        assert!(!runs_here() || report.cases > 30, "{report}");
    }

    #[test]
    fn smoke_of_vectors() {
        let report = run_vectors(0..40).unwrap_or_else(|failure| panic!("{failure}"));
        assert!(!runs_here() || report.cases > 30, "{report}");
    }

    #[test]
    fn smoke_of_frequencies() {
        let report = run_frequencies(0..40).unwrap_or_else(|failure| panic!("{failure}"));
        assert!(!runs_here() || report.cases > 30, "{report}");
    }

    /// Checks that the comparison detects a planted fault: exclusive or becomes or in the compiled functions.
    #[test]
    fn planted_faults_are_seen() {
        if !runs_here() {
            return;
        }
        let mut lanes = Lane::all(Cpu::Any);
        let mut caller = Caller::new(&lanes[0]).unwrap();
        let mut lanes: Vec<&mut Lane> = lanes.iter_mut().collect();
        let (mut planted, mut seen) = (0, 0);
        for seed in 0..40 {
            let program = generate(seed);
            let mut compiled = program.functions.clone();
            let f = &mut compiled[0];
            let insts: Vec<_> = f.layout.blocks().flat_map(|block| f.layout.block_insts(block)).collect();
            // The checksum at the end consists of these.
            let Some(&inst) = insts.iter().rev().find(|&&inst| f.dfg.opcode(inst) == Opcode::Bxor) else { continue };
            let args = [f.dfg.inst_args(inst)[0], f.dfg.inst_args(inst)[1]];
            let ty = f.dfg.ctrl_type(inst);
            f.dfg.replace_inst(inst, InstData::binary(Opcode::Bor, ty, args));
            planted += 1;
            let expected = expected(&program).unwrap();
            let judged = judge_as(&program, &compiled, &expected, &mut lanes, &mut caller, &mut Report::default());
            seen += u32::from(judged.is_err());
        }
        assert!(planted > 20 && seen * 2 > planted, "{seen} of {planted}");
    }

    #[test]
    fn smoke_of_accesses() {
        let report = run_accesses(0..40).unwrap_or_else(|failure| panic!("{failure}"));
        assert!(!runs_here() || report.cases > 30, "{report}");
    }

    /// Checks that programs of accesses detect an optimizer that assumes accesses without an alias region to be
    /// disjoint from all named ones: they get a region of their own before it runs.
    #[test]
    fn a_region_of_accesses_without_one_is_seen() {
        let mut seen = 0;
        for seed in 0..200 {
            let program = generate_accesses(seed);
            let mut apart = program.clone();
            apart.functions.iter_mut().for_each(name_all_accesses);
            seen += u32::from(expected(&optimized(&apart, false)) != expected(&program));
        }
        assert!(seen > 10, "{seen}");
    }

    fn name_all_accesses(f: &mut Function) {
        let description = "none".into();
        let user_id = f.alias_regions.len() as u32;
        let own = Some(f.alias_regions.push(AliasRegionData { user_id, description }));
        let insts: Vec<_> = f.layout.blocks().flat_map(|block| f.layout.block_insts(block)).collect();
        for inst in insts {
            if let Some(flags) = f.dfg.inst(inst).memflags().filter(|flags| flags.alias_region().is_none())
                && f.dfg.opcode(inst) != Opcode::Bitcast
            {
                f.dfg.set_memflags(inst, flags.with_alias_region(own).unwrap());
            }
        }
    }

    /// Checks which calls throw, by a trap in place of every exception.
    #[test]
    fn programs_throw() {
        let code = TrapCode::user(250).unwrap();
        let mut thrown = 0;
        for seed in 0..400 {
            let mut program = generate(seed);
            let thrower = program.functions.last_mut().filter(|f| f.name.to_string() == "%throw");
            let Some(f) = thrower else { continue };
            let last = f.layout.entry_block().and_then(|block| f.layout.last_inst(block)).unwrap();
            let block = f.layout.entry_block().unwrap();
            let others: Vec<_> = f.layout.block_insts(block).filter(|&inst| inst != last).collect();
            others.into_iter().for_each(|inst| f.layout.remove_inst(inst));
            f.dfg.replace_inst(last, InstData::trap(code));
            let outcomes = expected(&program).unwrap();
            thrown += outcomes.iter().filter(|outcome| **outcome == Outcome::Trapped(code)).count();
        }
        assert!(thrown > 50, "{thrown}");
    }

    #[test]
    fn programs_read_again() {
        for seed in 0..60 {
            let functions = generate(seed).functions;
            let text: String = functions.iter().map(ToString::to_string).collect();
            let read = kingpost_reader::parse_functions(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
            let again: String = read.iter().map(ToString::to_string).collect();
            assert_eq!(again, text);
            read.iter().for_each(|function| assert_eq!(verify(function, Some(TARGET)), Ok(())));
        }
    }
}
