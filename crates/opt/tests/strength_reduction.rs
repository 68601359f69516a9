//! Products of counters: the interpreter agrees on loops before and after these become counters. Numbers are at the ends of the
//! types, and wrap around.
//!
//! `KINGPOST_CASES=100000` runs more cases.

use kingpost_ir::Function;
use kingpost_testgen::rng::Rng;

use crate::induction::{compare, end, pick};

/// Returns a number that a product may have as a factor.
fn factor(rng: &mut Rng) -> i64 {
    match rng.range(0..3) {
        0 => end(rng, 32) << 32 | end(rng, 32) & 0xffff_ffff,
        1 => pick(rng, &[20, 80, -12, 3, 1 << 40]),
        _ => rng.range(0..100) as i64,
    }
}

/// Returns a loop with a counter of type `i64`. Sums and products of it, of constants and of values from outside are added up.
fn text(rng: &mut Rng, width: u32) -> String {
    let start = pick(rng, &[0, 0, 1, 5, -3]);
    let step: i64 = pick(rng, &[1, 1, 2, 3, -1]);
    let rounds = rng.range(17..60) as i64;
    let bound = start + step * rounds;
    let (is_at_top, tests_next, is_narrow) = (rng.chance(50), rng.chance(50), rng.chance(30));
    let tests_next = tests_next && !is_at_top;
    let conditions: &[&str] = if step > 0 { &["slt", "ne", "ult"] } else { &["sgt", "ne"] };
    // Conditions on unsigned numbers need a start that is not negative.
    let cc = pick(rng, if start < 0 { &conditions[..2] } else { conditions });
    let tested = if tests_next { "v12" } else { "v10" };
    // A condition on order may hold a little longer.
    let bound = if cc == "ne" { bound } else { bound + step.signum() * rng.range(0..2) as i64 };
    let compared = match is_narrow && start >= 0 && step > 0 {
        true => format!("    v20 = ireduce.i32 {tested}\n    v21 = iconst.i32 {bound}\n    v22 = icmp {cc} v20, v21\n"),
        false => format!("    v21 = iconst.i64 {bound}\n    v22 = icmp {cc} {tested}, v21\n"),
    };
    let mut body = String::new();
    // Values of the counter first, then others that grow, then any.
    let mut grows = vec!["v10".to_string()];
    if !is_at_top {
        grows.push("v12".to_string());
    }
    let mut sum = "v11".to_string();
    for value in (100..).step_by(10).take(rng.range(1..8)) {
        let of = grows[rng.range(0..grows.len())].clone();
        let with = match rng.range(0..3) {
            0 => {
                body += &format!("    v{} = iconst.i64 {}\n", value + 1, factor(rng));
                format!("v{}", value + 1)
            }
            1 => pick(rng, &["v2", "v3"]).to_string(),
            _ => grows[rng.range(0..grows.len())].clone(),
        };
        let args = if rng.chance(50) { format!("{of}, {with}") } else { format!("{with}, {of}") };
        let inst = match rng.range(0..8) {
            0..3 => format!("iadd {args}"),
            3 => format!("isub {args}"),
            4..7 => format!("imul {args}"),
            _ => {
                body += &format!("    v{} = iconst.i8 {}\n", value + 2, rng.range(0..70));
                format!("ishl {of}, v{}", value + 2)
            }
        };
        body += &format!("    v{value} = {inst}\n");
        grows.push(format!("v{value}"));
        if rng.chance(60) {
            let of = &grows[rng.range(0..grows.len())];
            body += &format!("    v{} = iconst.i64 31\n    v{} = imul {sum}, v{}\n", value + 3, value + 4, value + 3);
            body += &format!("    v{} = bxor v{}, {of}\n", value + 5, value + 4);
            sum = format!("v{}", value + 5);
        }
    }
    let next = format!("    v13 = iconst.i64 {step}\n    v12 = iadd v10, v13\n");
    let last = if is_at_top { "v10" } else { pick(rng, &["v10", "v12"]) };
    let result = if is_at_top { "v11".to_string() } else { sum.clone() };
    let blocks = match is_at_top {
        true => format!("{compared}    brif v22, block2, block3\nblock2:\n{body}{next}    jump block1(v12, {sum})\n"),
        false => format!("{next}{body}{compared}    brif v22, block1(v12, {sum}), block3\n"),
    };
    let after = if rng.chance(30) {
        format!("    v90 = bxor {result}, {last}\n")
    } else {
        format!("    v90 = bnot {result}\n")
    };
    format!(
        "function %f(i{width}, i{width}) -> i64 {{
block0(v0: i{width}, v1: i{width}):
    v2 = sextend.i64 v0
    v3 = uextend.i64 v1
    v4 = iconst.i64 {start}
    jump block1(v4, v2)
block1(v10: i64, v11: i64):
{blocks}block3:
{after}    return v90
}}
"
    )
}

/// Returns the number of parameters of the loop's header that grow by a sum.
fn counters(func: &Function) -> usize {
    let text = func.to_string();
    let header = text.lines().find(|line| line.starts_with("block1("));
    header.map_or(0, |header| header.matches("i64").count())
}

#[test]
fn the_interpreter_agrees_on_products() {
    let [changed, cases] = compare(|rng, ty| text(rng, ty.bits()), 3, |_, after, _| counters(after) > 2);
    println!("{changed} of {cases} loops have more counters");
    assert!(changed > cases / 20, "{changed} of {cases} loops have more counters");
}
