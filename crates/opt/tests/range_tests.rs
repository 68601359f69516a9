//! Range tests: the interpreter agrees before and after the optimizer on pairs of branches that compare a value with numbers at the
//! ends of its type.
//!
//! `KINGPOST_CASES=100000` runs more cases.

use crate::induction::{CONDITIONS, compare, end, pick};
use kingpost_testgen::rng::Rng;

/// Returns a function with two comparisons. The second one is made on either side of the first, and both lead to one block on
/// either side.
fn text(rng: &mut Rng, width: u32) -> String {
    let sides = |rng: &mut Rng, inner: &str| {
        let [a, b] = if rng.chance(50) { [inner, "block3"] } else { ["block3", inner] };
        format!("{a}, {b}")
    };
    let value = if rng.chance(90) { "v0" } else { "v1" };
    format!(
        "function %f(i{width}, i{width}) -> i64 {{
block0(v0: i{width}, v1: i{width}):
    v2 = iconst.i{width} {}
    v3 = icmp {} v0, v2
    brif v3, {}
block1:
    v4 = iconst.i{width} {}
    v5 = icmp {} {value}, v4
    brif v5, {}
block2:
    v6 = iconst.i64 1
    return v6
block3:
    v7 = uextend.i64 v1
    v8 = bnot v7
    return v8
}}
",
        end(rng, width),
        pick(rng, &CONDITIONS),
        sides(rng, "block1"),
        end(rng, width),
        pick(rng, &CONDITIONS),
        sides(rng, "block2"),
    )
}

#[test]
fn the_interpreter_agrees_on_pairs_of_bounds() {
    let joined = |func: &kingpost_ir::Function| func.to_string().contains("isub");
    let [changed, cases] = compare(|rng, ty| text(rng, ty.bits()), 8, |_, after, _| joined(after));
    println!("{changed} of {cases} pairs are joined");
    assert!(changed > cases / 30, "{changed} of {cases} pairs are joined");
}
