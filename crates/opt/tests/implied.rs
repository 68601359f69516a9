//! Implied conditions: the interpreter agrees before and after the optimizer on functions that compare few numbers at the ends of
//! their types again and again, in branches, traps and choices.
//!
//! `KINGPOST_CASES=100000` runs more cases.

use crate::induction::{CONDITIONS, compare, end, pick};
use kingpost_ir::Function;
use kingpost_testgen::rng::Rng;
use std::fmt::Write;

/// Rounds of the loop around the comparisons.
const ROUNDS: i64 = 4;

/// Blocks of a loop, whose parameters are a counter `v4`, a sum `v5` of what was observed, and the rounds to go.
struct Loop {
    width: u32,
    body: String,
    next_value: usize,
    next_block: usize,
    /// The sum so far.
    sum: String,
}

impl Loop {
    fn def(&mut self, inst: &str) -> String {
        let name = format!("v{}", self.next_value);
        self.next_value += 1;
        writeln!(self.body, "    {name} = {inst}").unwrap();
        name
    }

    fn block(&mut self, params: &str) {
        writeln!(self.body, "block{}{params}:", self.next_block).unwrap();
        self.next_block += 1;
    }

    /// Compares an argument, the counter or a sum of these with a constant.
    fn comparison(&mut self, rng: &mut Rng) -> String {
        let width = self.width;
        let mut x = pick(rng, &["v0", "v0", "v1", "v4"]).to_string();
        if rng.chance(40) {
            let number = match rng.range(0..2) {
                0 => pick(rng, &[1, -1, 2, 5, -5]),
                _ => end(rng, width),
            };
            let number = self.def(&format!("iconst.i{width} {number}"));
            x = self.def(&format!("iadd {x}, {number}"));
        }
        let y = match rng.range(0..3) {
            0 => pick(rng, &["v0", "v1", "v4"]).to_string(),
            _ => self.def(&format!("iconst.i{width} {}", end(rng, width))),
        };
        let [x, y] = if rng.chance(20) { [y, x] } else { [x, y] };
        self.def(&format!("icmp {} {x}, {y}", pick(rng, &CONDITIONS)))
    }

    /// Adds a value of 64 bits to what was observed.
    fn observe(&mut self, value: &str) {
        let factor = self.def("iconst.i64 3");
        let product = self.def(&format!("imul {}, {factor}", self.sum));
        self.sum = self.def(&format!("iadd {product}, {value}"));
    }

    fn step(&mut self, rng: &mut Rng) {
        let condition = self.comparison(rng);
        let next = self.next_block;
        let sum = self.sum.clone();
        match rng.range(0..10) {
            0..4 => {
                let edges = [format!("block{next}"), format!("block2({sum})")];
                let [first, second] = if rng.chance(50) { [0, 1] } else { [1, 0] };
                writeln!(self.body, "    brif {condition}, {}, {}", edges[first], edges[second]).unwrap();
                self.block("");
            }
            4 => writeln!(self.body, "    {} {condition}, user1", pick(rng, &["trapz", "trapnz"])).unwrap(),
            5 => {
                writeln!(self.body, "    brif {condition}, block{next}, block{}({sum})", next + 1).unwrap();
                self.block("");
                if rng.chance(50) {
                    let inner = self.comparison(rng);
                    let inner = self.def(&format!("uextend.i64 {inner}"));
                    self.observe(&inner);
                } else {
                    // Too much to become a `select`.
                    (0..6).for_each(|_| self.observe("v6"));
                }
                writeln!(self.body, "    jump block{}({})", next + 1, self.sum).unwrap();
                self.sum = format!("v{}", self.next_value);
                self.next_value += 1;
                self.block(&format!("({}: i64)", self.sum));
            }
            6 => {
                let choice = self.def(&format!("select {condition}, {}, v6", self.sum));
                self.observe(&choice);
            }
            _ => {
                let bit = self.def(&format!("uextend.i64 {condition}"));
                self.observe(&bit);
            }
        }
    }
}

fn text(rng: &mut Rng, width: u32) -> String {
    let mut each = Loop { width, body: String::new(), next_value: 20, next_block: 3, sum: "v5".into() };
    for _ in 0..rng.range(4..14) {
        each.step(rng);
    }
    let step = each.def(&format!("iconst.i{width} {}", pick(rng, &[1, -1, 3])));
    let counter = each.def(&format!("iadd v4, {step}"));
    let one = each.def("iconst.i64 -1");
    let rounds = each.def(&format!("iadd v6, {one}"));
    let (body, sum) = (each.body, each.sum);
    format!(
        "function %f(i{width}, i{width}) -> i64 {{
block0(v0: i{width}, v1: i{width}):
    v2 = iconst.i64 0
    v3 = iconst.i64 {ROUNDS}
    jump block1(v0, v2, v3)
block1(v4: i{width}, v5: i64, v6: i64):
{body}    brif {rounds}, block1({counter}, {sum}, {rounds}), block2({sum})
block2(v7: i64):
    return v7
}}
"
    )
}

/// Returns `true` if at least three comparisons are gone.
fn has_fewer_comparisons(text: &str, after: &Function) -> bool {
    let count = |text: &str| text.matches("icmp").count();
    count(&after.to_string()) + 3 <= count(text)
}

#[test]
fn the_interpreter_agrees_on_implied_conditions() {
    let [changed, cases] =
        compare(|rng, ty| text(rng, ty.bits()), 6, |text, after, _| has_fewer_comparisons(text, after));
    println!("{changed} of {cases} functions have fewer comparisons");
    assert!(changed > cases / 4, "{changed} of {cases} functions have fewer comparisons");
}
