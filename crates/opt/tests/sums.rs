//! Sums and products of the counters of two nested loops: the interpreter agrees before and after they are computed in the
//! wide type. Starts, bounds and factors are such that many just fit the type, or just do not.
//!
//! `KINGPOST_CASES=100000` runs more cases.

use crate::induction::{CONDITIONS, compare, end, pick};
use kingpost_ir::Function;
use kingpost_testgen::rng::Rng;

/// Maximum number of rounds of both loops together.
const ROUNDS: i64 = 60;

/// Lines of a sum, and the number of its last value.
struct Tree {
    lines: String,
    last: usize,
}

impl Tree {
    fn push(&mut self, width: u32, text: &str) -> String {
        self.last += 1;
        self.lines += &format!("    v{} = {text}\n", self.last).replace(".iN", &format!(".i{width}"));
        format!("v{}", self.last)
    }

    /// Adds a value, and returns its name.
    fn value(&mut self, rng: &mut Rng, width: u32, depth: u32) -> String {
        if depth == 0 || rng.chance(15) {
            return match rng.range(0..10) {
                0..4 => "v10".into(),
                4..8 => "v20".into(),
                8 => self.push(width, &format!("iconst.iN {}", end(rng, width))),
                _ => "v0".into(),
            };
        }
        let x = self.value(rng, width, depth - 1);
        let y = match rng.range(0..4) {
            0 => self.push(width, &format!("iconst.iN {}", pick(rng, &[-20, -3, -2, 1, 2, 3, 5, 7, 20]))),
            _ => self.value(rng, width, depth - 1),
        };
        match rng.range(0..8) {
            0..3 => self.push(width, &format!("iadd {x}, {y}")),
            3 => self.push(width, &format!("isub {x}, {y}")),
            4..7 => {
                let factor = pick(rng, &[-16, -3, 2, 3, 4, 5, 8, 16, 20, 31]);
                let factor = self.push(width, &format!("iconst.iN {factor}"));
                let x = self.push(width, &format!("imul {x}, {factor}"));
                self.push(width, &format!("iadd {x}, {y}"))
            }
            _ => {
                let amount = pick(rng, &[0, 1, 2, 3, 5, 9, 33]) & (width - 1);
                let amount = self.push(width, &format!("iconst.iN {amount}"));
                self.push(width, &format!("ishl {x}, {amount}"))
            }
        }
    }
}

fn text(rng: &mut Rng, width: u32) -> String {
    let near = [-17, -8, -3, -1, 0, 0, 0, 1, 2, 7, 8, 15];
    let constants = [(); 4].map(|()| if rng.chance(80) { pick(rng, &near) } else { end(rng, width) });
    let [start, bound, inner_start, inner_bound] = constants;
    let steps = [(); 2].map(|()| pick(rng, &[1, 1, 1, -1, 2, -3]));
    let [cc, inner_cc] = [(); 2].map(|()| if rng.chance(70) { "slt" } else { pick(rng, &CONDITIONS) });
    let mut tree = Tree { lines: String::new(), last: 100 };
    let sum = tree.value(rng, width, 3);
    let extension = if rng.chance(85) { "sextend" } else { "uextend" };
    format!(
        "function %f(i{width}, i{width}) -> i64 {{
block0(v0: i{width}, v1: i{width}):
    v2 = iconst.i{width} {start}
    v3 = iconst.i{width} {bound}
    v4 = iconst.i{width} {inner_start}
    v5 = iconst.i{width} {inner_bound}
    v6 = iconst.i64 0
    v7 = iconst.i64 {ROUNDS}
    v8 = iconst.i64 -1
    v9 = iconst.i64 31
    jump block1(v2, v6, v7)
block1(v10: i{width}, v11: i64, v12: i64):
    v13 = icmp {cc} v10, v3
    brif v13, block2, block5(v11)
block2:
    jump block3(v4, v11, v12)
block3(v20: i{width}, v21: i64, v22: i64):
    v23 = icmp {inner_cc} v20, v5
    brif v23, block4, block6
block4:
{}    v50 = {extension}.i64 {sum}
    v51 = imul v21, v9
    v52 = iadd v51, v50
    v53 = iconst.i{width} {}
    v54 = iadd v20, v53
    v55 = iadd v22, v8
    brif v55, block3(v54, v52, v55), block5(v52)
block6:
    v60 = iconst.i{width} {}
    v61 = iadd v10, v60
    v62 = iadd v22, v8
    brif v62, block1(v61, v21, v62), block5(v21)
block5(v90: i64):
    return v90
}}
",
        tree.lines, steps[1], steps[0]
    )
}

#[test]
fn the_interpreter_agrees_on_sums_of_counters() {
    let is_widened = |text: &str, after: &Function, _| {
        let body = after.to_string();
        text.contains("sextend") && !body.contains("sextend") && body.contains("imul.i64")
    };
    let [widened, cases] = compare(|rng, ty| text(rng, ty.bits()), 2, is_widened);
    println!("{widened} of {cases} sums widened");
    assert!(widened > cases / 20, "{widened} of {cases} sums were widened");
}
