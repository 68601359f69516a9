//! Every access that may fold, at the first and the last bytes of memory, and one byte beyond.
//!
//! A case is a function of an address in one of several shapes, a load, what is done with the loaded value, and perhaps a
//! store. The memory lies between two pages that nobody may touch, so an access that is wider than it should be, or at
//! another place, is a fault. What is done with the loaded value is judged by the interpreter; loads and stores by a model
//! of the memory. One index shape adds 32-bit numbers whose sum wraps before it is extended.

use crate::failure::{Failure, Report};
use crate::native::{Caller, Lane, NotLoaded, Outcome, Request, load, runs_here};
use kingpost_interpreter::{DataValue, Environment, Interpreter};
use kingpost_ir::types::I64;
use kingpost_ir::{Function, TrapCode, Type};
use kingpost_jit::isolate::SharedMemory;
use kingpost_testgen::rng::Rng;
use std::ops::Range;

/// Functions per seed.
const CASES: usize = 60;

/// Compares the cases of `seeds` under every allocator.
///
/// # Errors
/// The first case that is compiled wrongly; or what keeps the comparison from being made.
pub fn run(seeds: Range<u64>) -> Result<Report, Box<Failure>> {
    let mut report = Report::default();
    if !runs_here() {
        report.skip("this machine does not run x86-64 code on Linux");
        return Ok(report);
    }
    let mut lanes = [Lane::all(false), Lane::all(true)];
    for seed in seeds {
        let lanes = &mut lanes[(seed % 2) as usize];
        judge(seed, lanes, &mut report)?;
    }
    Ok(report)
}

/// A shape of address: lines that compute it from `v0`, the base, and `v1`, the index.
struct Shape {
    index_type: &'static str,
    lines: String,
    /// The value that holds the address.
    address: &'static str,
    /// Added to it by the access.
    displacement: i32,
    /// What the address is, less the base, for an index.
    offset: Box<dyn Fn(u64) -> u64>,
}

fn shape(rng: &mut Rng) -> Shape {
    let displacement = match rng.range(0..4) {
        0 => 0,
        1 => rng.range(0..256) as i32 - 128,
        2 => rng.bits() as i32,
        _ => i32::MAX - rng.range(0..2) as i32,
    };
    let shift = rng.range(0..5) as u32;
    let constant = [rng.bits() as i32, -(rng.range(1..200) as i32), rng.range(0..5000) as i32][rng.range(0..3)];
    let (wide, kind) = (rng.chance(50), rng.range(0..9));
    let scaled = |index: &str| match (shift, wide) {
        (0, _) => format!("v10 = iadd v0, {index}\n"),
        (_, true) => format!("v8 = iconst.i64 {shift}\nv9 = ishl {index}, v8\nv10 = iadd v0, v9\n"),
        (_, false) => format!("v8 = iconst.i8 {shift}\nv9 = ishl {index}, v8\nv10 = iadd v9, v0\n"),
    };
    let (index_type, lines, offset): (_, String, Box<dyn Fn(u64) -> u64>) = match kind {
        0 => ("i64", "v10 = iadd v0, v1\n".into(), Box::new(|index| index)),
        1 => ("i64", "v10 -> v0\n".into(), Box::new(|_| 0)),
        2 => {
            let lines = format!("v4 = iconst.i64 {constant}\nv10 = iadd v0, v4\n");
            ("i64", lines, Box::new(move |_| constant as u64))
        }
        3 => ("i64", scaled("v1"), Box::new(move |index| index << shift)),
        4 => {
            let lines = format!("v5 = uextend.i64 v1\n{}", scaled("v5"));
            ("i32", lines, Box::new(move |index| u64::from(index as u32) << shift))
        }
        5 => {
            let lines = format!("v5 = sextend.i64 v1\n{}", scaled("v5"));
            ("i32", lines, Box::new(move |index| (i64::from(index as i32) << shift) as u64))
        }
        // The sum wraps at 32 bits.
        6 => {
            let sum = format!("v4 = iconst.i32 {constant}\nv5 = iadd v1, v4\nv6 = uextend.i64 v5\n");
            let offset = move |index| u64::from((index as u32).wrapping_add(constant as u32)) << shift;
            ("i32", sum + &scaled("v6"), Box::new(offset))
        }
        // So does the shifted index.
        7 => {
            let lines = format!("v4 = iconst.i32 {shift}\nv5 = ishl v1, v4\nv6 = uextend.i64 v5\nv10 = iadd v0, v6\n");
            ("i32", lines, Box::new(move |index| u64::from((index as u32) << shift)))
        }
        _ => {
            let sum = format!("v4 = iconst.i64 {constant}\nv5 = iadd v1, v4\n");
            ("i64", sum + &scaled("v5"), Box::new(move |index| index.wrapping_add(constant as u64) << shift))
        }
    };
    Shape { index_type, lines, address: "v10", displacement, offset }
}

/// A load: opcode with suffix, bytes, type of the result.
const LOADS: &[(&str, usize, &str)] = &[
    ("load.i8", 1, "i8"),
    ("load.i16", 2, "i16"),
    ("load.i32", 4, "i32"),
    ("load.i64", 8, "i64"),
    ("load.f32", 4, "f32"),
    ("load.f64", 8, "f64"),
    ("uload8.i16", 1, "i16"),
    ("uload8.i32", 1, "i32"),
    ("uload8.i64", 1, "i64"),
    ("sload8.i16", 1, "i16"),
    ("sload8.i32", 1, "i32"),
    ("sload8.i64", 1, "i64"),
    ("uload16.i32", 2, "i32"),
    ("uload16.i64", 2, "i64"),
    ("sload16.i32", 2, "i32"),
    ("sload16.i64", 2, "i64"),
    ("uload32.i64", 4, "i64"),
    ("sload32.i64", 4, "i64"),
];

/// What may be done with a loaded integer `v50` and `v2` of type `T`, and the type of the result `v60`.
const INT_USES: &[(&str, &str)] = &[
    ("v60 = iadd v50, v2", "T"),
    ("v60 = iadd v2, v50", "T"),
    ("v60 = isub v50, v2", "T"),
    ("v60 = isub v2, v50", "T"),
    ("v60 = band v2, v50", "T"),
    ("v60 = bor v2, v50", "T"),
    ("v60 = bxor v50, v2", "T"),
    ("v60 = imul v2, v50", "T"),
    ("v61 = iconst.T 12\nv60 = imul v50, v61", "T"),
    ("v61 = iconst.T 12\nv60 = iadd v50, v61", "T"),
    ("v61 = iconst.T 12\nv60 = icmp ult v50, v61", "i8"),
    ("v60 = umulhi v2, v50", "T"),
    ("v60 = icmp slt v50, v2", "i8"),
    ("v60 = icmp ugt v2, v50", "i8"),
    ("v60 = icmp eq v50, v50", "i8"),
    ("v61 = icmp eq v50, v2\nv60 = select v61, v50, v2", "T"),
    ("v60 = select v2, v50, v2", "T"),
    ("v60 = select v50, v2, v2", "T"),
    ("v60 = smax v50, v2", "T"),
    ("v60 = ishl v50, v2", "T"),
    ("v60 = ishl v2, v50", "T"),
    ("v60 = rotr v2, v50", "T"),
    ("v60 = popcnt v50", "T"),
    ("v60 = clz v50", "T"),
    ("v60 = ctz v50", "T"),
    ("v60 = bnot v50", "T"),
    ("v60 = ineg v50", "T"),
    ("v60 = bmask.i32 v50", "i32"),
    ("v61 = iconst.T 1\nv62 = bor v50, v61\nv60 = udiv v2, v62", "T"),
    ("v61 = iconst.T 1\nv62 = bor v2, v61\nv60 = urem v50, v62", "T"),
    ("v60, v61 = uadd_overflow v2, v50", "T"),
    ("v60 = fcvt_from_sint.f64 v50", "f64"),
    ("v60 = fcvt_from_uint.f32 v50", "f32"),
    ("v60 -> v50", "T"),
];

/// As [`INT_USES`], for those that change the width.
const WIDENING: &[(&str, &str)] = &[("v60 = uextend.i64 v50", "i64"), ("v60 = sextend.i64 v50", "i64")];
const NARROWING: &[(&str, &str)] =
    &[("v60 = ireduce.i8 v50", "i8"), ("v61 = ireduce.i8 v50\nv60 = uextend.i32 v61", "i32")];

/// As [`INT_USES`], for floats. None gives a NaN whose bits are not defined.
const FLOAT_USES: &[(&str, &str)] = &[
    ("v61 = fadd v2, v50\nv60 = fcmp lt v61, v50", "i8"),
    ("v61 = fsub v2, v50\nv60 = fcmp gt v61, v50", "i8"),
    ("v61 = fmul v50, v2\nv60 = fcmp uno v61, v50", "i8"),
    ("v61 = fdiv v2, v50\nv60 = fcmp ge v61, v2", "i8"),
    ("v61 = sqrt v50\nv60 = fcmp eq v61, v2", "i8"),
    ("v61 = fmin v2, v50\nv60 = fcmp eq v61, v50", "i8"),
    ("v60 = fcmp lt v50, v2", "i8"),
    ("v60 = fcmp ne v2, v50", "i8"),
    ("v60 = fneg v50", "T"),
    ("v60 = fabs v50", "T"),
    ("v60 = fcopysign v2, v50", "T"),
    ("v60 = bxor v2, v50", "T"),
    ("v61 = ceil v50\nv60 = fcmp le v61, v50", "i8"),
    ("v60 = fcvt_to_sint_sat.i32 v50", "i32"),
    ("v60 = fcvt_to_uint_sat.i64 v50", "i64"),
    ("v61 = fcmp lt v50, v2\nv60 = select v61, v50, v2", "T"),
    ("v60 -> v50", "T"),
];

/// A case: a native function and the meaning of what stands between its load and its store.
struct Case {
    native: String,
    oracle: String,
    shape: Shape,
    /// Bytes that are loaded, and how: sign-extended or not, to how many bits.
    load: Option<(usize, bool, u32)>,
    /// Bytes that are stored.
    store: Option<usize>,
    code: Option<TrapCode>,
    /// The type of the loaded value and of the other operand.
    ty: Type,
}

fn bits_of(ty: &str) -> u32 {
    ty[1..].parse().unwrap_or(64)
}

fn case(number: usize, rng: &mut Rng) -> Case {
    let shape = shape(rng);
    let (flags, code) = match rng.range(0..3) {
        0 => (" notrap", None),
        1 => ("", Some(TrapCode::HEAP_OUT_OF_BOUNDS)),
        _ => (" user7", TrapCode::user(7)),
    };
    let place = match shape.displacement {
        0 => shape.address.to_string(),
        displacement => format!("{}{displacement:+}", shape.address),
    };
    let (mut load, mut store) = (None, None);
    let (ty, middle, result, before, after);
    if rng.chance(65) {
        let &(opcode, size, loaded) = &LOADS[rng.range(0..LOADS.len())];
        ty = loaded;
        load = Some((size, opcode.starts_with('s'), bits_of(ty)));
        before = format!("v50 = {opcode}{flags} {place}\n");
        let uses = match ty.starts_with('f') {
            true => FLOAT_USES,
            false if rng.chance(10) && ty != "i64" => WIDENING,
            false if rng.chance(10) && ty != "i8" => NARROWING,
            false => INT_USES,
        };
        (middle, result) = uses[rng.range(0..uses.len())];
        let result = if result == "T" { ty } else { result };
        // Some results go back to where the operand came from.
        let width = bits_of(result) as usize / 8;
        let back = if width == size {
            "store"
        } else {
            match size {
                1 => "istore8",
                2 => "istore16",
                _ => "istore32",
            }
        };
        let possible = width == size || !result.starts_with('f') && width > size;
        if possible && rng.chance(40) {
            store = Some(size);
            after = format!("{back}{flags} v60, {place}\n");
        } else {
            after = String::new();
        }
    } else {
        let (opcode, size, stored) = [
            ("store", 1, "i8"),
            ("store", 2, "i16"),
            ("store", 4, "i32"),
            ("store", 8, "i64"),
            ("store", 4, "f32"),
            ("store", 8, "f64"),
            ("istore8", 1, "i16"),
            ("istore8", 1, "i64"),
            ("istore16", 2, "i32"),
            ("istore32", 4, "i64"),
        ][rng.range(0..10)];
        ty = stored;
        (middle, result) = match rng.range(0..3) {
            0 if ty.starts_with('i') => ("v60 = iconst.T -2", "T"),
            1 if ty.starts_with('i') => ("v61 = iconst.T 3\nv60 = iadd v2, v61", "T"),
            _ => ("v60 -> v2", "T"),
        };
        store = Some(size);
        before = String::new();
        after = format!("{opcode}{flags} v60, {place}\n");
    }
    let middle = middle.replace("iconst.T", &format!("iconst.{ty}"));
    let result = if result == "T" { ty } else { result };
    let (returned, end) =
        if store.is_some() { ("i64", "v70 = load.i64 notrap v3\nreturn v70\n") } else { (result, "return v60\n") };
    let Shape { index_type, lines, .. } = &shape;
    let native = format!(
        "function %f{number}(i64, {index_type}, {ty}, i64) -> {returned} {{\n\
         block0(v0: i64, v1: {index_type}, v2: {ty}, v3: i64):\n{lines}{before}{middle}\n{after}{end}}}\n"
    );
    let oracle = format!(
        "function %g{number}({ty}, {ty}) -> {result} {{\nblock0(v50: {ty}, v2: {ty}):\n{middle}\nreturn v60\n}}\n"
    );
    let ty = Type::from_name(ty.as_bytes()).unwrap_or(I64);
    Case { native, oracle, shape, load, store, code, ty }
}

/// A call of a case's function, and how it must end.
struct Expectation {
    case: usize,
    input: Vec<u64>,
    outcome: Outcome,
}

fn judge(seed: u64, lanes: &mut [Lane], report: &mut Report) -> Result<(), Box<Failure>> {
    let rng = &mut Rng::new(seed);
    let cases: Vec<Case> = (0..CASES).map(|number| case(number, rng)).collect();
    let fail = |what: String, case: Option<&Case>| {
        let text = case.map_or_else(String::new, |case| case.native.clone());
        Box::new(Failure { seed, what: format!("{what}\nrepeat with: make fuzz TARGET=memory N=1 SEED={seed}"), text })
    };
    let read = |text: String| {
        let functions = kingpost_reader::parse_functions(&text);
        functions.map_err(|error| fail(format!("{error}"), None)).map_err(|mut failure| {
            failure.text = text;
            failure
        })
    };
    let natives = read(cases.iter().map(|case| case.native.as_str()).collect())?;
    let oracles = read(cases.iter().map(|case| case.oracle.as_str()).collect())?;
    for lane in lanes {
        let module = match load(lane, &natives, natives.len()) {
            Ok(module) => module,
            Err(NotLoaded::Compile(_, error)) if error.is_unsupported() => {
                report.skip(error);
                continue;
            }
            Err(error) => return Err(fail(format!("{lane}: {error}"), None)),
        };
        let mut arena = SharedMemory::new(1).map_err(|error| fail(error.to_string(), None))?;
        arena.bytes_mut().fill_with(|| rng.bits() as u8);
        let mut model = Model { bytes: arena.bytes().to_vec(), base: arena.address() as u64 };
        let expectations = expectations(&cases, &oracles, &mut model, rng).map_err(|what| fail(what, None))?;
        let mut caller = Caller::new(lane).map_err(|error| fail(error.to_string(), None))?;
        let requests: Vec<Request> = expectations
            .iter()
            .map(|expectation| Request { module: &module, entry: expectation.case, input: expectation.input.clone() })
            .collect();
        let found = caller.call(&requests, &mut [&mut arena]).map_err(|error| fail(error.to_string(), None))?;
        report.functions += natives.len() as u64;
        for (expectation, found) in expectations.iter().zip(found) {
            report.calls += 1;
            report.traps += u64::from(matches!(expectation.outcome, Outcome::Trapped(_)));
            if expectation.outcome != found {
                let input = &expectation.input;
                let what = format!("{lane}: ({input:#x?}) {found}, expected: {}", expectation.outcome);
                return Err(fail(what, Some(&cases[expectation.case])));
            }
        }
        if arena.bytes() != model.bytes {
            return Err(fail(format!("{lane}: a store changed bytes beside its place"), None));
        }
    }
    report.cases += CASES as u64;
    Ok(())
}

/// What memory holds after the calls made so far.
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

/// Calls each function at the first and last place, and one byte before and behind if it may trap there.
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
            let offset = (case.shape.offset)(index).wrapping_add(case.shape.displacement as u64);
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
        let report = run(0..12).unwrap_or_else(|failure| panic!("{failure}"));
        assert!(!runs_here() || report.calls > 1000, "{report}");
    }
}
