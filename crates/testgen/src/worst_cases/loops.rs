//! Functions with loops that are expensive for an optimizer.

use super::text::Text;

/// Returns nested loops, each with a computation that is invariant in all of them.
pub(super) fn loop_nest(size: usize) -> String {
    nest(size / 8, Text::new(&["i64", "i64"]), 1, 0)
}

/// Returns nested loops in which only the outermost uses more values than there are registers, and all use values
/// that can be rematerialized.
pub(super) fn nest_under_pressure(size: usize) -> String {
    let mut t = Text::new(&["i64"; PRESSURE]);
    let loaded = t.def("load.i64 notrap readonly can_move v0");
    nest(size / 8, t, loaded, PRESSURE)
}

/// Number of values, which exceeds the registers.
const PRESSURE: usize = 40;

/// Returns nested loops after the entry. All multiply by `factor`, and the outermost adds up `added` parameters.
fn nest(depth: usize, mut t: Text, factor: usize, added: usize) -> String {
    t.line("jump block1(v0)");
    let heads: Vec<usize> = (1..=depth)
        .map(|block| {
            let mut head = t.block(block, &["i64"]);
            for param in 0..if block == 1 { added } else { 0 } {
                head = t.def(format_args!("iadd v{head}, v{param}"));
            }
            let product = t.def(format_args!("imul v0, v{factor}"));
            let sum = t.def(format_args!("iadd v{product}, v{head}"));
            t.line(format_args!("jump block{}(v{sum})", block + 1));
            head
        })
        .collect();
    let mut x = t.block(depth + 1, &["i64"]);
    t.line(format_args!("jump block{}", depth + 2));
    for (index, head) in heads.iter().enumerate().rev() {
        let latch = 2 * depth + 1 - index;
        t.block(latch, &[]);
        x = t.def(format_args!("isub v{x}, v{head}"));
        t.line(format_args!("brif v{x}, block{}(v{x}), block{}", index + 1, latch + 1));
    }
    t.block(2 * depth + 2, &[]);
    t.end(x)
}

/// Returns a loop with many counters. Each is tested and extended in a block of its own.
pub(super) fn counters(size: usize) -> String {
    let count = size / 6;
    let mut t = Text::new(&["i64", "i32"]);
    t.line(format_args!("jump block1(v0{})", ", v1".repeat(count)));
    let params: Vec<&str> = std::iter::once("i64").chain(std::iter::repeat_n("i32", count)).collect();
    let first = t.block(1, &params);
    let one = t.def("iconst.i32 1");
    let (mut sum, mut passed) = (first, String::new());
    for (index, counter) in (first + 1..).take(count).enumerate() {
        let test = t.def(format_args!("icmp slt v{counter}, v1"));
        t.line(format_args!("brif v{test}, block{}, block{}", index + 2, count + 2));
        t.block(index + 2, &[]);
        let wide = t.def(format_args!("sextend.i64 v{counter}"));
        sum = t.def(format_args!("iadd v{sum}, v{wide}"));
        let next = t.def(format_args!("iadd v{counter}, v{one}"));
        passed += &format!(", v{next}");
    }
    t.line(format_args!("jump block1(v{sum}{passed})"));
    t.block(count + 2, &[]);
    t.end(first)
}

/// Returns loops one after the other, whose counters can be widened.
pub(super) fn counting_loops(size: usize) -> String {
    let count = size / 7;
    let mut t = Text::new(&["i64", "i32"]);
    let mut sum = 0;
    for index in 0..count {
        let [header, body, exit] = [1, 2, 3].map(|block| 3 * index + block);
        t.line(format_args!("jump block{header}(v{sum}, v1)"));
        let before = t.block(header, &["i64", "i32"]);
        let counter = before + 1;
        let test = t.def(format_args!("icmp slt v{counter}, v1"));
        t.line(format_args!("brif v{test}, block{body}, block{exit}"));
        t.block(body, &[]);
        let wide = t.def(format_args!("sextend.i64 v{counter}"));
        let after = t.def(format_args!("iadd v{before}, v{wide}"));
        let one = t.def("iconst.i32 1");
        let next = t.def(format_args!("iadd v{counter}, v{one}"));
        t.line(format_args!("jump block{header}(v{after}, v{next})"));
        t.block(exit, &[]);
        sum = before;
    }
    t.end(sum)
}

/// Returns a loop whose counter is in many sums that are extended.
pub(super) fn counter_sums(size: usize) -> String {
    let mut t = Text::new(&["i64", "i32"]);
    let start = t.def("iconst.i32 0");
    t.line(format_args!("jump block1(v0, v{start})"));
    let first = t.block(1, &["i64", "i32"]);
    let counter = first + 1;
    let bound = t.def("iconst.i32 100");
    let test = t.def(format_args!("icmp slt v{counter}, v{bound}"));
    t.line(format_args!("brif v{test}, block2, block3"));
    t.block(2, &[]);
    let mut sum = first;
    for index in 0..size / 5 {
        let factor = t.def(format_args!("iconst.i32 {}", 2 * index + 3));
        let product = t.def(format_args!("imul v{counter}, v{factor}"));
        let index = t.def(format_args!("iadd v{product}, v{counter}"));
        let wide = t.def(format_args!("sextend.i64 v{index}"));
        sum = t.def(format_args!("iadd v{sum}, v{wide}"));
    }
    let one = t.def("iconst.i32 1");
    let next = t.def(format_args!("iadd v{counter}, v{one}"));
    t.line(format_args!("jump block1(v{sum}, v{next})"));
    t.block(3, &[]);
    t.end(first)
}

/// Returns loops of eight rounds, one after the other. Two branches of each leave it.
pub(super) fn short_loops(size: usize) -> String {
    let mut t = Text::new(&["i64"]);
    let zero = t.def("iconst.i64 0");
    let one = t.def("iconst.i64 1");
    let mut sum = 0;
    for index in 0..size / 9 {
        let [header, body, exit] = [1, 2, 3].map(|block| 3 * index + block);
        t.line(format_args!("jump block{header}(v{sum}, v{zero})"));
        let before = t.block(header, &["i64", "i64"]);
        let counter = before + 1;
        let next = t.def(format_args!("iadd v{counter}, v{one}"));
        let product = t.def(format_args!("imul v{before}, v0"));
        let after = t.def(format_args!("iadd v{product}, v{counter}"));
        t.line(format_args!("brif v{after}, block{body}, block{exit}(v{product})"));
        t.block(body, &[]);
        let bound = t.def("iconst.i64 8");
        let test = t.def(format_args!("icmp ult v{next}, v{bound}"));
        t.line(format_args!("brif v{test}, block{header}(v{after}, v{next}), block{exit}(v{after})"));
        sum = t.block(exit, &["i64"]);
    }
    t.end(sum)
}
