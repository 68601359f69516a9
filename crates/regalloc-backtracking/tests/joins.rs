//! Tests that parameters share the registers of their arguments, however many there are.

use kingpost_regalloc_backtracking::Backtracking;
use kingpost_testgen::conformance::solve_text;
use std::fmt::Write;

/// Returns a problem with values in chains through many blocks, in a different order in each block.
fn rotating_chains(blocks: usize) -> String {
    let mut text = String::new();
    text += "env {\n int r0, r1, r2, r3, r4\n }\n problem %chains {\n";
    let values: Vec<String> = (0..4 * blocks).map(|v| format!("v{v}")).collect();
    let _ = writeln!(text, "{}: int 8\nb0:", values.join(", "));
    (0..4).for_each(|v| _ = writeln!(text, "def v{v}"));
    for block in 1..blocks {
        let v = 4 * block;
        let _ = writeln!(text, "branch -> b{block}(v{}, v{}, v{}, v{}) freq 1", v - 3, v - 2, v - 1, v - 4);
        let _ = writeln!(text, "b{block}(v{v}, v{}, v{}, v{}) freq 1:", v + 1, v + 2, v + 3);
    }
    (0..4).for_each(|v| _ = writeln!(text, "use v{}", 4 * (blocks - 1) + v));
    text + "branch\n}"
}

#[test]
fn long_chains_interleaved_are_not_moved() {
    let (_, cost) = &solve_text(&mut Backtracking::default(), &rotating_chains(600))[0];
    assert!(cost.loads() < 1.0, "{cost}");
}

/// Returns a problem in which one value is live on all paths to a join. Each path computes another value, and the
/// most frequent path passes the first one.
fn many_ways(ways: usize) -> String {
    let mut text = String::new();
    text += "env {\n int r0, r1, r2, r3, r4\n }\n problem %ways {\n";
    let values: Vec<String> = (0..ways + 2).map(|v| format!("v{v}")).collect();
    let join = 2 * ways + 1;
    let _ = writeln!(text, "{}: int 8\nb0:\ndef v1\nbranch -> b1 freq 1", values.join(", "));
    for way in 0..ways {
        let (block, value) = (2 * way + 1, way + 2);
        let _ = writeln!(text, "b{block} freq 1:\ndef v{value}, use v1");
        let _ = writeln!(text, "branch use v{value} -> b{} freq 0.5, b{} freq 1", block + 1, block + 2);
        let _ = writeln!(text, "b{} freq 0.5:\nbranch -> b{}(v{value}) freq 0.5", block + 1, join + 1);
    }
    let _ = writeln!(text, "b{join} freq 1:\nbranch -> b{}(v1) freq 1\nb{}(v0) freq 1:", join + 1, join + 1);
    text + "branch use v0\n}"
}

#[test]
fn a_value_that_is_live_throughout_does_not_keep_many_others_from_a_join() {
    let (_, cost) = &solve_text(&mut Backtracking::default(), &many_ways(40))[0];
    assert!(cost.loads() < 3.0, "{cost}");
}
