//! Loops of a few rounds: the interpreter agrees on loops before and after they are unrolled. Starts and bounds are at the ends
//! of the types, and counters wrap around.
//!
//! `KINGPOST_CASES=100000` runs more cases.

use kingpost_ir::analyses::Analyses;
use kingpost_ir::frequencies::Frequencies;
use kingpost_ir::{Function, Opcode};
use kingpost_opt::Optimizer;
use kingpost_testgen::rng::Rng;

use crate::induction::{CONDITIONS, compare, end, pick};

/// Largest number of rounds of a generated loop that nothing else ends.
const ROUNDS: usize = 40;

/// Returns the number of times that the header of a loop runs whose counter starts at `start`.
fn rounds(start: i64, next: impl Fn(i64) -> i64, ends: impl Fn(i64) -> bool) -> Option<usize> {
    let mut counter = start;
    (1..=ROUNDS).find(|_| {
        let is_last = ends(counter);
        counter = next(counter);
        is_last
    })
}

/// Returns `true` if a comparison of numbers of `width` bits holds.
fn holds(cc: &str, x: i64, y: i64, width: u32) -> bool {
    let unsigned = |x: i64| x as u64 & (u64::MAX >> (64 - width));
    let [a, b] = [x, y].map(unsigned);
    match cc {
        "eq" => x == y,
        "ne" => x != y,
        "slt" => x < y,
        "sle" => x <= y,
        "sgt" => x > y,
        "sge" => x >= y,
        "ult" => a < b,
        "ule" => a <= b,
        "ugt" => a > b,
        _ => a >= b,
    }
}

/// Returns a loop whose counter of `width` bits starts at a constant and is compared with another one. The first line says how
/// often its header runs.
fn text(rng: &mut Rng, width: u32) -> String {
    let signed = |number: i64| (number << (64 - width)) >> (64 - width);
    let start = end(rng, width);
    let (change, by) =
        pick(rng, &[("iadd", 1), ("iadd", 1), ("iadd", -2), ("isub", 3), ("imul", 3), ("bxor", 5), ("sshr", 1)]);
    let next = |counter: i64| match change {
        "iadd" => signed(counter.wrapping_add(by)),
        "isub" => signed(counter.wrapping_sub(by)),
        "imul" => signed(counter.wrapping_mul(by)),
        "bxor" => counter ^ by,
        _ => counter >> by,
    };
    let bound = (0..rng.range(0..18)).fold(start, |counter, _| next(counter));
    let (cc, is_at_top, tests_next, is_negated) =
        (pick(rng, &CONDITIONS), rng.chance(50), rng.chance(50), rng.chance(50));
    let tests_next = tests_next && !is_at_top;
    let tested = |counter| if tests_next { next(counter) } else { counter };
    let count = rounds(start, next, |counter| holds(cc, tested(counter), bound, width) == is_negated);
    // Values of the last round are used after the loop. Another way out is decided by other values than the counter.
    let has_break = count.is_none() || rng.chance(30);
    let (acc, counter) = if is_at_top { ("v11", "v10") } else { ("v33", "v23") };
    let [leave, after] = match has_break || rng.chance(50) {
        true => {
            [format!("block5({acc}, {counter})"), "block5(v60: i64, v61: iWIDTH)".replace("WIDTH", &width.to_string())]
        }
        false => ["block5".to_string(), "block5".to_string()],
    };
    let [sum, last] = if after.len() > 6 { ["v60", "v61"] } else { [acc, counter] };
    let back = "block1(v23, v33, v36)";
    let go = if is_at_top { "block2" } else { back };
    let edges = if is_negated { format!("{leave}, {go}") } else { format!("{go}, {leave}") };
    let test = format!("    v42 = icmp {cc} {}, v6\n    brif v42, {edges}\n", if tests_next { "v23" } else { "v10" });
    let (top, bottom) = match is_at_top {
        true => (test, format!("    jump {back}\n")),
        false => ("    jump block2\n".to_string(), test),
    };
    let leaves = if has_break { "brif v36, block4, block6(v33)" } else { "jump block4" };
    format!(
        "; {}
function %f(i{width}, i{width}) -> i64 {{
block0(v0: i{width}, v1: i{width}):
    v5 = iconst.i{width} {start}
    v6 = iconst.i{width} {bound}
    v2 = sextend.i64 v0
    v3 = uextend.i64 v1
    v4 = iconst.i64 {}
    v8 = iconst.i64 1
    v9 = band v3, v4
    v7 = bor v9, v8
    jump block1(v5, v2, v7)
block1(v10: i{width}, v11: i64, v12: i64):
    v22 = iconst.i{width} {by}
{top}block2:
    v23 = {change} v10, v22
    v30 = iconst.i64 31
    v31 = imul v11, v30
    v32 = sextend.i64 v10
    v33 = iadd v31, v32
    v35 = iconst.i64 -1
    v36 = iadd v12, v35
    {leaves}
block4:
{bottom}{after}:
    v62 = uextend.i64 {last}
    v63 = iadd {sum}, v62
    return v63
block6(v94: i64):
    return v94
}}
",
        count.unwrap_or(usize::MAX),
        if count.is_some() { -1 } else { 31 },
    )
}

/// Returns `true` if the function has an edge back to a block before it.
fn has_loop(func: &Function) -> bool {
    let mut analyses = Analyses::default();
    analyses.update(func);
    analyses.loops.loops().next().is_some()
}

#[test]
fn the_interpreter_agrees_on_loops() {
    let [unrolled, cases] = compare(
        |rng, ty| text(rng, ty.bits()),
        3,
        |text, after, _| {
            let count: usize = text[2..text.find('\n').unwrap()].parse().unwrap();
            let is_unrolled = !has_loop(after);
            assert_eq!(is_unrolled, count <= 16, "{text}\n{after}");
            is_unrolled
        },
    );
    println!("{unrolled} of {cases} loops unrolled");
    assert!(unrolled > cases / 4, "{unrolled} of {cases} loops were unrolled");
}

/// A loop of four rounds with a cold block.
const FOUR: &str = "function %f(i64) -> i64 {
block0(v0: i64):
    v1 = iconst.i64 0
    v2 = iconst.i64 1
    v3 = iconst.i64 4
    jump block1(v1, v0)
block1(v4: i64, v5: i64):
@0005    v6 = imul v5, v0
    v7 = iadd v4, v2
    brif v6, block2, block3
block2:
    v8 = icmp ult v7, v3
    brif v8, block1(v7, v6), block4
block3 cold:
@0007    store v4, v0
    jump block2
block4:
    return v6
}";

/// Returns the function after the optimizer, changed before by `prepare`.
fn unrolled(prepare: impl FnOnce(&mut Function)) -> Function {
    let mut func = kingpost_reader::parse_functions(FOUR).expect("a function").remove(0);
    prepare(&mut func);
    Optimizer::default().run_all(&mut func, &mut Analyses::default());
    assert!(!has_loop(&func), "{func}");
    func
}

#[test]
fn copies_have_the_locations_of_the_loop() {
    let func = unrolled(|_| {});
    let located = |opcode| {
        let insts = func.layout.blocks().flat_map(|block| func.layout.block_insts(block));
        let of_opcode = insts.filter(|&inst| func.dfg.opcode(inst) == opcode);
        of_opcode.map(|inst| func.srcloc(inst).to_string()).collect::<Vec<_>>()
    };
    assert_eq!(located(Opcode::Imul), ["@0005"; 4]);
    assert_eq!(located(Opcode::Store), ["@0007"; 4]);
}

#[test]
fn rounds_share_the_frequency_that_a_client_gave() {
    let func = unrolled(|func| {
        for (number, runs) in [(1, 40.0), (2, 40.0)] {
            let block = func.layout.blocks().nth(number).expect("a block");
            func.set_block_frequency(block, runs);
        }
    });
    let frequencies: Vec<u32> = func.layout.blocks().filter_map(|block| func.layout.frequency(block)).collect();
    let [cold, given]: [Vec<u32>; 2] = [true, false].map(|is_cold| {
        frequencies.iter().copied().filter(|&frequency| (frequency <= Frequencies::RARE) == is_cold).collect()
    });
    assert_eq!(cold.len(), 4, "{func}");
    assert!(!given.is_empty() && given.iter().all(|&frequency| frequency == 10 * Frequencies::ENTRY), "{given:?}");
}

#[test]
fn variables_have_places_in_all_rounds() {
    let func = unrolled(|func| {
        let product = func.dfg.values().nth(6).expect("v6");
        func.value_labels.insert(product, Default::default());
    });
    assert_eq!(func.value_labels.len(), 4);
}
