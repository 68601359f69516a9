//! Generated programs: interpreter and compiled code agree bit for bit, traps included, under every allocator.

use crate::failure::{Failure, Report};
use crate::native::{Caller, Lane, NotLoaded, Outcome, Request, display, load, runs_here};
use kingpost_interpreter::{DataValue, Environment, Interpreter, Limits, Stop};
use kingpost_ir::Function;
use kingpost_jit::LoadError;
use kingpost_testgen::ir::{Program, generate, shrink};
use std::fmt::Write;
use std::ops::Range;

/// Instructions that the interpreter may execute for one call.
const FUEL: u64 = 2_000_000;

/// Compiles the programs of `seeds` under every allocator, for any CPU or for this one in turns, and compares.
///
/// # Errors
/// The first program that is compiled wrongly, shrunken to a filetest; or what keeps the comparison from being made.
pub fn run(seeds: Range<u64>) -> Result<Report, Box<Failure>> {
    let mut report = Report::default();
    if !runs_here() {
        report.skip("this machine does not run x86-64 code on Linux");
        return Ok(report);
    }
    let mut lanes = [Lane::all(false), Lane::all(true)];
    let system = |seed, error: LoadError| Box::new(Failure { seed, what: error.to_string(), text: String::new() });
    let mut caller = Caller::new(&lanes[0][0]).map_err(|error| system(seeds.start, error))?;
    for seed in seeds {
        let program = generate(seed);
        let lanes = &mut lanes[(seed % 2) as usize];
        if let Err(Trouble { lane, .. }) = judge(&program, lanes, &mut caller, &mut report) {
            return Err(shrunken(seed, &program, &mut lanes[lane..=lane], &mut caller));
        }
    }
    Ok(report)
}

/// The filetest of a seed's program as it is generated.
pub fn show(seed: u64) -> String {
    let program = generate(seed);
    let expected = expected(&program);
    filetest(&program, &expected, &[])
}

/// What is wrong, and in which lane.
struct Trouble {
    lane: usize,
    kind: Kind,
    what: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Compile,
    Ending,
}

/// What the interpreter makes of each input; an error if it cannot tell.
fn expected(program: &Program) -> Result<Vec<Outcome>, String> {
    let environment = Environment::new(&program.functions);
    let mut interpreter = Interpreter::with_limits(&environment, Limits { fuel: FUEL, ..Limits::default() });
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

fn judge(program: &Program, lanes: &mut [Lane], caller: &mut Caller, report: &mut Report) -> Result<(), Trouble> {
    judge_as(program, &program.functions, lanes, caller, report)
}

/// Compares what `compiled` does with what the program does; they differ only in tests of this test.
fn judge_as(
    program: &Program,
    compiled: &[Function],
    lanes: &mut [Lane],
    caller: &mut Caller,
    report: &mut Report,
) -> Result<(), Trouble> {
    let expected = match expected(program) {
        Ok(expected) => expected,
        Err(reason) => {
            report.skip(format_args!("the interpreter says: {reason}"));
            return Ok(());
        }
    };
    let mut modules = Vec::new();
    for (lane, compiler) in lanes.iter_mut().enumerate() {
        match load(compiler, compiled, 1) {
            Ok(module) => modules.push(module),
            Err(NotLoaded::Compile(_, error)) if error.is_unsupported() => {
                report.skip(error);
                return Ok(());
            }
            Err(error) => return Err(Trouble { lane, kind: Kind::Compile, what: format!("{compiler}: {error}") }),
        }
    }
    let mut requests = Vec::new();
    for module in &modules {
        requests.extend(program.inputs.iter().map(|input| Request { module, entry: 0, input: input.clone() }));
    }
    let endings = caller.call(&requests, &mut []);
    let endings = endings.map_err(|error| Trouble { lane: 0, kind: Kind::Compile, what: error.to_string() })?;
    report.cases += 1;
    report.functions += (program.functions.len() * modules.len()) as u64;
    for (n, found) in endings.iter().enumerate() {
        let (lane, input) = (n / expected.len(), n % expected.len());
        report.calls += 1;
        report.traps += u64::from(matches!(expected[input], Outcome::Trapped(_)));
        if *found != expected[input] {
            let arguments = arguments(&program.functions[0], &program.inputs[input]);
            let what = format!("{}: ({arguments}) {found}, expected: {}", lanes[lane], expected[input]);
            return Err(Trouble { lane, kind: Kind::Ending, what });
        }
    }
    Ok(())
}

fn shrunken(seed: u64, program: &Program, lane: &mut [Lane], caller: &mut Caller) -> Box<Failure> {
    let mut judge = |candidate: &Program| judge(candidate, lane, caller, &mut Report::default()).err();
    let kind = judge(program).map(|trouble| trouble.kind);
    let small = match kind {
        Some(kind) => shrink(program, |candidate| judge(candidate).is_some_and(|trouble| trouble.kind == kind)),
        None => program.clone(),
    };
    let what = judge(&small).map_or_else(|| "fails only sometimes".into(), |trouble| trouble.what);
    let what = format!("{what}\nrepeat with: make fuzz TARGET=ir N=1 SEED={seed}");
    let text = filetest(&small, &expected(&small), &lane[0].flags);
    Box::new(Failure { seed, what, text })
}

fn arguments(function: &Function, input: &[u64]) -> String {
    let params = function.signature.params.iter().zip(input);
    let values = params.map(|(param, &bits)| DataValue::new(param.value_type, bits.into()).to_string());
    values.collect::<Vec<_>>().join(", ")
}

/// The program as a filetest, with the interpreter's endings as directives.
fn filetest(program: &Program, expected: &Result<Vec<Outcome>, String>, flags: &[String]) -> String {
    let mut text = "test interpret\ntest run\nset enable_multi_ret_implicit_sret\ntarget x86_64".to_string();
    flags.iter().for_each(|flag| text += &format!(" {flag}"));
    text += "\n";
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
    use kingpost_ir::verifier::verify;
    use kingpost_ir::{InstData, Opcode};

    #[test]
    fn smoke() {
        let report = run(0..120).unwrap_or_else(|failure| panic!("{failure}"));
        assert!(!runs_here() || report.cases > 100, "{report}");
    }

    /// The comparison sees a planted fault: exclusive or becomes or in what is compiled.
    #[test]
    fn planted_faults_are_seen() {
        if !runs_here() {
            return;
        }
        let mut lanes = Lane::all(false);
        let mut caller = Caller::new(&lanes[0]).unwrap();
        let (mut planted, mut seen) = (0, 0);
        for seed in 0..40 {
            let program = generate(seed);
            let mut compiled = program.functions.clone();
            let f = &mut compiled[0];
            let insts: Vec<_> = f.layout.blocks().flat_map(|block| f.layout.block_insts(block)).collect();
            // The checksum at the end is made of these.
            let Some(&inst) = insts.iter().rev().find(|&&inst| f.dfg.opcode(inst) == Opcode::Bxor) else { continue };
            let args = [f.dfg.inst_args(inst)[0], f.dfg.inst_args(inst)[1]];
            let ty = f.dfg.ctrl_type(inst);
            f.dfg.replace_inst(inst, InstData::binary(Opcode::Bor, ty, args));
            planted += 1;
            let judged = judge_as(&program, &compiled, &mut lanes, &mut caller, &mut Report::default());
            seen += u32::from(judged.is_err());
        }
        assert!(planted > 20 && seen * 2 > planted, "{seen} of {planted}");
    }

    #[test]
    fn programs_read_again() {
        for seed in 0..60 {
            let functions = generate(seed).functions;
            let text: String = functions.iter().map(ToString::to_string).collect();
            let read = kingpost_reader::parse_functions(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
            let again: String = read.iter().map(ToString::to_string).collect();
            assert_eq!(again, text);
            read.iter().for_each(|function| assert_eq!(verify(function, None), Ok(())));
        }
    }
}
