//! Counters of loops: the interpreter agrees on loops before and after they are widened. Starts and bounds are at the ends
//! of the types.
//!
//! `KINGPOST_CASES=100000` runs more cases.

use kingpost_interpreter::{DataValue, Environment, Interpreter};
use kingpost_ir::analyses::Analyses;
use kingpost_ir::types::{I8, I16, I32};
use kingpost_ir::verifier::verify;
use kingpost_ir::{Function, Type};
use kingpost_opt::Optimizer;
use kingpost_testgen::rng::Rng;

/// Loops in each run.
const CASES: u64 = 3000;
/// Maximum number of rounds of a loop.
const ROUNDS: i64 = 40;

pub(crate) const CONDITIONS: [&str; 10] = ["eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge"];

pub(crate) fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.range(0..from.len())]
}

/// Returns a number at or near an end of the type, or near zero.
pub(crate) fn end(rng: &mut Rng, width: u32) -> i64 {
    let ends = [0, 1 << (width - 1), (1 << (width - 1)) - 1, -1];
    let near = [-6, -3, -2, -1, 0, 0, 1, 2, 3, 6, 13];
    let bits: i64 = pick(rng, &ends) + pick(rng, &near);
    (bits << (64 - width)) >> (64 - width)
}

/// Returns a loop over a counter of `width` bits, whose arguments are its first value and its bound where these are not
/// constants.
fn text(rng: &mut Rng, width: u32) -> String {
    let step = pick(rng, &[1, 1, 1, -1, -1, 2, -2, 3, -3, 7]);
    let offset = pick(rng, &[1, -1, 2, -2, 5, -5]);
    let wide = if width < 32 { pick(rng, &[32, 64]) } else { 64 };
    let extensions = [(); 4].map(|()| pick(rng, &["sextend", "uextend"]));
    let start = if rng.chance(70) { format!("iconst.i{width} {}", end(rng, width)) } else { "".into() };
    let bound = if rng.chance(70) { format!("iconst.i{width} {}", end(rng, width)) } else { "".into() };
    let define = |name: &str, constant: &str, param: &str| match constant {
        "" => format!("    {name} = iadd {param}, v4\n"),
        _ => format!("    {name} = {constant}\n"),
    };
    let cc = pick(rng, &CONDITIONS);
    let (is_at_top, is_swapped, is_extended) = (rng.chance(50), rng.chance(20), rng.chance(20));
    // At the top only the counter exists.
    let tested = if is_at_top || rng.chance(40) { "v10" } else { "v23" };
    let by = extensions[0];
    let operands = match (is_extended, is_swapped) {
        (true, _) => "v40, v41".to_string(),
        (false, false) => format!("{tested}, v6"),
        (false, true) => format!("v6, {tested}"),
    };
    let (is_negated, extend) = (rng.chance(50), format!("    v40 = {by}.i64 {tested}\n    v41 = {by}.i64 v6\n"));
    let edges = |go: &str, leave: &str| if is_negated { format!("{leave}, {go}") } else { format!("{go}, {leave}") };
    let test = |go: &str, leave: &str| {
        let extend = if is_extended { &*extend } else { "" };
        format!("{extend}    v42 = icmp {cc} {operands}\n    brif v42, {}\n", edges(go, leave))
    };
    let back = "block1(v23, v33, v35)";
    let (top, bottom) = match is_at_top {
        true => (test("block2", "block4(v11)"), format!("    jump {back}\n")),
        false => ("    jump block2\n".to_string(), test(back, "block4(v33)")),
    };
    let wide_sum = |value: &str| if wide == 64 { value.to_string() } else { format!("{value}0") };
    let widened: String = ["v20", "v24", "v27"]
        .iter()
        .zip(&extensions[1..])
        .zip(["v10", "v23", "v26"])
        .map(|((name, extension), value)| match wide {
            64 => format!("    {name} = {extension}.i64 {value}\n"),
            _ => format!("    {name} = {extension}.i32 {value}\n    {} = sextend.i64 {name}\n", wide_sum(name)),
        })
        .collect();
    let [x, y, z] = ["v20", "v24", "v27"].map(wide_sum);
    format!(
        "function %f(i{width}, i{width}) -> i64 {{
block0(v0: i{width}, v1: i{width}):
    v4 = iconst.i{width} 0
{}{}    v2 = iconst.i64 0
    v3 = iconst.i64 {ROUNDS}
    jump block1(v5, v2, v3)
block1(v10: i{width}, v11: i64, v12: i64):
    v22 = iconst.i{width} {step}
{top}block2:
    v23 = iadd v10, v22
    v25 = iconst.i{width} {offset}
    v26 = iadd v10, v25
{widened}    v30 = iconst.i64 31
    v31 = imul v11, v30
    v32 = iadd v31, {x}
    v36 = imul v32, v30
    v37 = iadd v36, {y}
    v38 = imul v37, v30
    v33 = iadd v38, {z}
    v34 = iconst.i64 -1
    v35 = iadd v12, v34
    brif v35, block3, block4(v33)
block3:
{bottom}block4(v90: i64):
    return v90
}}
",
        define("v5", &start, "v0"),
        define("v6", &bound, "v1"),
    )
}

/// Returns the results of a call, or why it failed.
fn outcome(func: &Function, arguments: &[DataValue]) -> Result<Vec<DataValue>, String> {
    let functions = [func.clone()];
    let environment = Environment::new(&functions);
    let mut interpreter = Interpreter::new(&environment);
    interpreter.call_id(environment.by_index(0).unwrap(), arguments).map_err(|error| error.to_string())
}

/// Generates functions of two narrow arguments and compares them before and after optimization, by `calls` calls each. Returns
/// how many of how many functions the optimizer changed, as `is_changed` finds from the text before and the function after.
pub(crate) fn compare(
    text: impl Fn(&mut Rng, Type) -> String,
    calls: usize,
    is_changed: impl Fn(&str, &Function, Type) -> bool,
) -> [u64; 2] {
    let cases = std::env::var("KINGPOST_CASES").map_or(CASES, |text| text.parse().unwrap());
    let (mut optimizer, mut analyses) = (Optimizer::default(), Analyses::default());
    let mut changed = 0;
    for seed in 0..cases {
        let mut rng = Rng::new(seed);
        let ty = pick(&mut rng, &[I8, I16, I32]);
        let text = text(&mut rng, ty);
        let before =
            kingpost_reader::parse_functions(&text).unwrap_or_else(|error| panic!("{error}\n{text}")).remove(0);
        let mut after = before.clone();
        optimizer.run_all(&mut after, &mut analyses);
        if let Err(errors) = verify(&after, None) {
            panic!("seed {seed}: {}", errors.pretty(&after));
        }
        changed += u64::from(is_changed(&text, &after, ty));
        for _ in 0..calls {
            let arguments = [(); 2].map(|()| DataValue::new(ty, (end(&mut rng, ty.bits()) as u64).into()));
            let expected = outcome(&before, &arguments);
            assert_eq!(outcome(&after, &arguments), expected, "seed {seed}, {arguments:?}\n{text}\n{after}");
        }
    }
    [changed, cases]
}

#[test]
fn the_interpreter_agrees_on_loops() {
    let [widened, cases] = compare(|rng, ty| text(rng, ty.bits()), 3, |_, after, ty| is_widened(after, ty));
    println!("{widened} of {cases} loops widened");
    assert!(widened > cases / 8, "{widened} of {cases} loops were widened");
}

/// Returns `true` if the header of the loop is there, and has no parameter of the counter's type.
fn is_widened(func: &Function, ty: Type) -> bool {
    let text = func.to_string();
    let header = text.lines().find(|line| line.starts_with("block1("));
    header.is_some_and(|header| !header.contains(&format!(": {ty}")))
}
