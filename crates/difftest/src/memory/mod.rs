//! Every access that may be folded, at the first and the last bytes of memory, and one byte beyond.
//!
//! A case is a function with an address in one of several shapes, a load, an operation on the loaded value, and
//! perhaps a store. The memory is located between two pages without access, so that an access that is too wide, or
//! at another place, faults. The interpreter computes the expected result of the operation, and a model of memory
//! the expected loads and stores. One index shape adds 32-bit numbers whose sum wraps before it is extended.

mod plan;

use crate::failure::{Failure, Report};
use crate::native::{Caller, Cpu, Lane, NotLoaded, Outcome, Request, load, runs_here};
use kingpost_interpreter::{DataValue, Environment, Interpreter};
use kingpost_ir::Function;
use kingpost_ir::types::I64;
use kingpost_isolate::SharedMemory;
use kingpost_testgen::rng::Rng;
use plan::{Case, Plan};
use std::ops::Range;

/// Functions per seed.
const CASES: usize = 60;

/// Largest number of candidates for shrinking a failing case.
const TRIALS: usize = 2000;

/// Compares the cases of `seeds` under every allocator.
///
/// # Errors
/// The first case that is compiled wrongly, shrunken; or the reason why no comparison is possible.
pub fn run(seeds: Range<u64>) -> Result<Report, Box<Failure>> {
    let mut report = Report::default();
    if !runs_here() {
        report.skip("this machine does not run x86-64 code on Linux");
        return Ok(report);
    }
    let mut lanes = Cpu::ALL.map(Lane::all);
    for seed in seeds {
        let lanes = &mut lanes[(seed % 3) as usize];
        let rng = &mut Rng::new(seed);
        let plans: Vec<Plan> = (0..CASES).map(|_| Plan::new(rng)).collect();
        judge(&plans, rng, lanes, &mut report).map_err(|mismatch| failure(seed, &plans, mismatch, lanes))?;
    }
    Ok(report)
}

/// A fault, with its lane, and with its case if it is due to one.
struct Mismatch {
    lane: usize,
    case: Option<usize>,
    what: String,
}

/// Returns the failure of a seed, with its case shrunken.
fn failure(seed: u64, plans: &[Plan], mismatch: Mismatch, lanes: &mut [Lane]) -> Box<Failure> {
    let lane = &mut lanes[mismatch.lane..=mismatch.lane];
    // The inputs differ from the first run, so several are tried.
    let mut fails = |plan: &Plan| {
        let again = |n| judge(std::slice::from_ref(plan), &mut Rng::new(n), lane, &mut Report::default()).err();
        (0..4).find_map(again)
    };
    // A store to a wrong place is only detected at the end.
    let suspects: Vec<usize> = mismatch.case.map_or_else(|| (0..plans.len()).collect(), |case| vec![case]);
    let guilty = suspects.into_iter().find(|&case| fails(&plans[case]).is_some()).or(mismatch.case);
    let repeat = format!("repeat with: make fuzz TARGET=memory N=1 SEED={seed}");
    let Some(plan) = guilty.map(|case| &plans[case]) else {
        return Box::new(Failure { seed, what: format!("{}\n{repeat}", mismatch.what), text: String::new() });
    };
    let small = shrink(plan, |candidate| fails(candidate).is_some());
    let what = fails(&small).unwrap_or(mismatch).what;
    let text = format!("test compile\ntarget x86_64\n\n{}", small.case(0).native);
    Box::new(Failure { seed, what: format!("{what}\n{repeat}"), text })
}

/// Returns a simpler plan for which `fails` returns `true`, as it must for `plan`.
fn shrink(plan: &Plan, mut fails: impl FnMut(&Plan) -> bool) -> Plan {
    let mut best = plan.clone();
    for _ in 0..TRIALS {
        match best.simpler().into_iter().find(&mut fails) {
            Some(simpler) => best = simpler,
            None => break,
        }
    }
    best
}

/// A call of a case's function, and its expected ending.
struct Expectation {
    case: usize,
    input: Vec<u64>,
    outcome: Outcome,
}

fn judge(plans: &[Plan], rng: &mut Rng, lanes: &mut [Lane], report: &mut Report) -> Result<(), Mismatch> {
    let cases: Vec<Case> = plans.iter().enumerate().map(|(number, plan)| plan.case(number)).collect();
    let read = |text: String| {
        kingpost_reader::parse_functions(&text).map_err(|error| Mismatch {
            lane: 0,
            case: None,
            what: format!("{error}\n{text}"),
        })
    };
    let natives = read(cases.iter().map(|case| case.native.as_str()).collect())?;
    let oracles = read(cases.iter().map(|case| case.oracle.as_str()).collect())?;
    for (index, lane) in lanes.iter_mut().enumerate() {
        let fail = |case, what| Mismatch { lane: index, case, what };
        let module = match load(lane, &natives, natives.len()) {
            Ok(module) => module,
            Err(NotLoaded::Compile(_, error)) if error.is_unsupported() => {
                report.skip(error);
                continue;
            }
            Err(error) => return Err(fail(None, format!("{lane}: {error}"))),
        };
        let mut arena = SharedMemory::new(1).map_err(|error| fail(None, error.to_string()))?;
        arena.bytes_mut().fill_with(|| rng.bits() as u8);
        let mut model = Model { bytes: arena.bytes().to_vec(), base: arena.address() as u64 };
        let expectations = expectations(&cases, &oracles, &mut model, rng).map_err(|what| fail(None, what))?;
        let mut caller = Caller::new(lane).map_err(|error| fail(None, error))?;
        let requests: Vec<Request> = expectations
            .iter()
            .map(|expectation| Request { module: &module, entry: expectation.case, input: expectation.input.clone() })
            .collect();
        let found = caller.call(&requests, &mut [&mut arena]).map_err(|error| fail(None, error.to_string()))?;
        report.functions += natives.len() as u64;
        for (expectation, found) in expectations.iter().zip(found) {
            report.calls += 1;
            report.traps += u64::from(matches!(expectation.outcome, Outcome::Trapped(_)));
            if expectation.outcome != found {
                let input = &expectation.input;
                let what = format!("{lane}: ({input:#x?}) {found}, expected: {}", expectation.outcome);
                return Err(fail(Some(expectation.case), what));
            }
        }
        if arena.bytes() != model.bytes {
            return Err(fail(None, format!("{lane}: a store changed bytes beside its place")));
        }
    }
    report.cases += plans.len() as u64;
    Ok(())
}

/// Contents of memory after the calls so far.
struct Model {
    bytes: Vec<u8>,
    base: u64,
}

impl Model {
    fn word(&self, at: usize, size: usize) -> u64 {
        let mut word = [0; 8];
        word[..size].copy_from_slice(&self.bytes[at..at + size]);
        u64::from_le_bytes(word)
    }
}

/// Calls each function at the first and last place, and one byte before and after if it may trap there. Returns the
/// expected endings.
fn expectations(
    cases: &[Case],
    oracles: &[Function],
    model: &mut Model,
    rng: &mut Rng,
) -> Result<Vec<Expectation>, String> {
    let environment = Environment::new(oracles);
    let mut interpreter = Interpreter::new(&environment);
    let mut expectations = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let size = case.store.or(case.load.map(|(size, ..)| size)).unwrap_or(1);
        let len = model.bytes.len();
        for (place, valid) in [(0, true), (len - size, true), (usize::MAX, false), (len - size + 1, false)] {
            if !valid && case.code.is_none() {
                continue;
            }
            let index = [rng.bits(), rng.bits() % 64, (rng.bits() as i8) as u64][rng.range(0..3)];
            let operand = [rng.bits(), rng.bits() % 8][rng.range(0..2)] & u64::MAX >> (64 - case.ty.bits());
            let address = model.base.wrapping_add(place as u64);
            let offset = case.plan.offset(index);
            let window = if place == 0 { 0 } else { len - 8 };
            let input = vec![address.wrapping_sub(offset), index, operand, model.base + window as u64];
            let outcome = match case.code {
                Some(code) if !valid => Outcome::Trapped(code),
                _ => called(&mut interpreter, number, case, model, place, operand, window)?,
            };
            expectations.push(Expectation { case: number, input, outcome });
        }
    }
    Ok(expectations)
}

fn called(
    interpreter: &mut Interpreter,
    number: usize,
    case: &Case,
    model: &mut Model,
    place: usize,
    operand: u64,
    window: usize,
) -> Result<Outcome, String> {
    let loaded = case.load.map_or(0, |(size, signed, bits)| {
        let word = model.word(place, size);
        let unused = 64 - 8 * size as u32;
        let word = if signed { ((word << unused) as i64 >> unused) as u64 } else { word };
        word & u64::MAX >> (64 - bits)
    });
    let arguments = [loaded, operand].map(|bits| DataValue::new(case.ty, bits.into()));
    let values = interpreter.call(&format!("g{number}"), &arguments).map_err(|stop| stop.to_string())?;
    let Some(size) = case.store else { return Ok(Outcome::Returned(values)) };
    model.bytes[place..place + size].copy_from_slice(&values[0].bits().to_le_bytes()[..size]);
    let window = DataValue::new(I64, model.word(window, 8).into());
    Ok(Outcome::Returned(vec![window]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smoke() {
        let report = run(0..4).unwrap_or_else(|failure| panic!("{failure}"));
        assert!(!runs_here() || report.calls > 300, "{report}");
    }

    #[test]
    fn shrinking_keeps_what_matters() {
        let fails = |plan: &Plan| plan.case(0).native.contains("imul");
        let mut shrunken = 0;
        for plan in (0..400).map(|seed| Plan::new(&mut Rng::new(seed))).filter(fails) {
            let text = shrink(&plan, fails).case(0).native;
            assert!(text.contains("imul") && !text.contains("store") && !text.contains("ishl"), "{text}");
            shrunken += 1;
        }
        assert!(shrunken > 3);
    }
}
