//! Loads and stores in loops: the interpreter agrees on functions before and after these leave the loops.
//!
//! `KINGPOST_CASES=100000` runs more cases.

use kingpost_ir::Function;
use kingpost_testgen::rng::Rng;

use crate::induction::{compare, pick};

/// Returns the flags and the address of an access to one of three places. A place has a region of its own; some accesses name no
/// region.
fn access(rng: &mut Rng) -> [String; 2] {
    let place = rng.range(0..3);
    let flags = pick(rng, &["notrap", "notrap", "notrap can_move", ""]);
    let region = if rng.chance(85) { format!(" region{place}") } else { String::new() };
    [flags.to_string() + &region, format!("v4+{}", 8 * place)]
}

/// Returns loads, stores and arithmetic, and the last value that they define. Values have numbers from `next` on.
fn body(rng: &mut Rng, mut next: usize, start: &str) -> (String, String) {
    let (mut text, mut last) = (String::new(), start.to_string());
    for _ in 0..rng.range(0..4) {
        let [flags, address] = access(rng);
        text += &match rng.range(0..5) {
            0 | 1 => {
                let [loaded, mixed] = [next, next + 1];
                let lines =
                    format!("    v{loaded} = load.i64 {flags} {address}\n    v{mixed} = bxor {last}, v{loaded}\n");
                (last, next) = (format!("v{mixed}"), next + 2);
                lines
            }
            2 | 3 => format!("    store.i64 {flags} {last}, {address}\n"),
            _ => {
                let line = format!("    v{next} = imul {last}, v10\n");
                (last, next) = (format!("v{next}"), next + 1);
                line
            }
        };
    }
    (text, last)
}

/// Returns a loop of up to 20 rounds that loads and stores, whose memory is read afterwards.
fn text(rng: &mut Rng, width: u32) -> String {
    let (before, _) = body(rng, 200, "v2");
    let before = before.replace("v10", "v2");
    let (head, first) = body(rng, 120, "v11");
    let (middle, second) = body(rng, 140, &first);
    let leaves = match rng.chance(50) {
        true => "    v30 = band v11, v3\n    brif v30, block2, block4(v11)\n",
        false => "    jump block2\n",
    };
    let (arm, third) = body(rng, 160, &second);
    let arm = match rng.chance(40) {
        true => format!("    brif v10, block5, block6({second})\nblock5:\n{arm}    jump block6({third})\n"),
        false => format!("    jump block6({second})\n"),
    };
    let (tail, last) = body(rng, 180, "v20");
    format!(
        "function %f(i{width}, i{width}) -> i64 {{
    region0 = 1 \"a\"
    region1 = 2 \"b\"
    region2 = 3 \"c\"
    ss0 = explicit_slot 24
block0(v0: i{width}, v1: i{width}):
    v2 = sextend.i64 v0
    v3 = uextend.i64 v1
    v5 = iconst.i64 0
    v7 = iconst.i64 40
    v6 = ushr v3, v7
    v8 = stack_addr.i64 ss0
    v4 = iadd v8, v6
    store notrap region0 v2, v4
    store notrap region1 v3, v4+8
    store notrap region2 v5, v4+16
{before}    v9 = iconst.i64 20
    jump block1(v9, v2)
block1(v10: i64, v11: i64):
{head}{leaves}block2:
{middle}{arm}block6(v20: i64):
{tail}    v12 = iconst.i64 -1
    v13 = iadd v10, v12
    brif v13, block1(v13, {last}), block4({last})
block4(v90: i64):
    v91 = load.i64 notrap region0 v4
    v92 = load.i64 notrap region1 v4+8
    v93 = load.i64 notrap region2 v4+16
    v94 = iconst.i64 31
    v95 = imul v91, v94
    v96 = bxor v92, v95
    v97 = imul v96, v94
    v98 = bxor v97, v93
    v99 = iadd v98, v90
    return v99
}}
"
    )
}

/// Returns the number of loads and stores in the blocks of a loop.
fn in_loops(func: &Function) -> usize {
    let mut analyses = kingpost_ir::analyses::Analyses::default();
    analyses.update(func);
    let blocks = func.layout.blocks().filter(|&block| analyses.loops.innermost_loop(block).is_some());
    blocks
        .flat_map(|block| func.layout.block_insts(block))
        .filter(|&inst| func.dfg.inst(inst).memflags().is_some())
        .count()
}

#[test]
fn the_interpreter_agrees_on_memory() {
    let [changed, cases] = compare(
        |rng, ty| text(rng, ty.bits()),
        3,
        |text, after, _| {
            let before = kingpost_reader::parse_functions(text).expect("a function").remove(0);
            in_loops(after) < in_loops(&before)
        },
    );
    println!("{changed} of {cases} loops have fewer accesses");
    assert!(changed > cases / 4, "{changed} of {cases} loops have fewer accesses");
}
