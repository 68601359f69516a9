//! Tests that values that live across calls stay in registers in regions without calls.

use kingpost_regalloc_backtracking::Backtracking;
use kingpost_testgen::conformance::solve_text;
use std::fmt::Write;

/// A loop with a call on a rarely taken path between its header and its body.
const DISPATCH: &str = "env {
    int r0, r1, r2, r3
    }
    problem %dispatch {
    v0, v1, v2, v3, v4: int 8
    b0:
    def v0
    def v1
    branch -> b1(v0) freq 1
    b1(v2) freq 100:
    def v3, use v2, use v1
    branch use v3 -> b2 freq 1, b3 freq 98, b4 freq 1
    b2 freq 1:
    safepoint clobbers {r0, r1, r2, r3}
    branch -> b1(v2) freq 1
    b3 freq 98:
    def v4, use v2, use v1
    branch -> b1(v4) freq 98
    b4 freq 1:
    branch use v1
    }";

#[test]
fn a_cold_call_costs_no_loads_in_the_loop_around_it() {
    let (_, cost) = &solve_text(&mut Backtracking::default(), DISPATCH)[0];
    assert!(cost.loads() < 10.0, "{cost}");
}

/// A value that each iteration of a loop computes from the previous one, followed by a call.
const CARRIED: &str = "env {
    int r0, r1, r3 saved {r3}
    }
    problem %carried {
    v0, v1, v2: int 8
    b0:
    def v0
    branch -> b1(v0) freq 1
    b1(v1) freq 8:
    safepoint clobbers {r0, r1}
    def v2, use v1
    branch use v2 -> b2 freq 7, b3 freq 1
    b2 freq 7:
    branch -> b1(v2) freq 7
    b3 freq 1:
    branch
    }";

#[test]
fn a_value_carried_round_a_loop_is_in_a_register_that_calls_keep() {
    let (_, cost) = &solve_text(&mut Backtracking::default(), CARRIED)[0];
    assert!(cost.loads() < 3.0, "{cost}");
}

/// A value with many uses in one loop that is only live through another, which needs all registers.
const THROUGH: &str = "env {
    int r0, r1
    }
    problem %through {
    v0, v1, v2: int 8
    b0:
    def v0
    branch -> b1 freq 1
    b1 freq 100:
    use v0, use v0
    branch -> b2 freq 99, b3 freq 1
    b2 freq 99:
    branch -> b1 freq 99
    b3 freq 1:
    def v1
    def v2
    branch -> b4 freq 1
    b4 freq 50:
    use v1
    use v2
    branch -> b5 freq 49, b6 freq 1
    b5 freq 49:
    branch -> b4 freq 49
    b6 freq 1:
    use v0
    branch
    }";

#[test]
fn a_value_leaves_its_register_for_a_loop_that_does_not_use_it() {
    let (_, cost) = &solve_text(&mut Backtracking::default(), THROUGH)[0];
    assert!(cost.loads() < 10.0, "{cost}");
}

#[test]
fn regions_of_what_costs_little_in_memory_are_not_looked_for() {
    let seldom = THROUGH.replace("freq 100:", "freq 10:").replace("freq 99", "freq 9");
    let seldom = seldom.replace("freq 50:", "freq 5:").replace("freq 49", "freq 4");
    let [few, many] = [&seldom, THROUGH].map(|text| solve_text(&mut Backtracking::default(), text).remove(0).1);
    assert!(few.loads() > many.loads() && few.loads() < 64.0, "{few}, and where it runs more often {many}");
}

/// Returns a problem with a value that is used between many loops. Each loop needs the callee-saved register for a
/// value of its own.
fn loops_in_turn(loops: usize) -> String {
    let values: Vec<String> = (0..=loops).map(|v| format!("v{v}")).collect();
    let mut text = "env {\nint r0, r1, r3 saved {r3}\n}\nproblem %turns {\n".to_string();
    let _ = writeln!(text, "{}: int 8\nb0:\ndef v0\nbranch -> b1 freq 1\nb1 freq 1000:", values.join(", "));
    text += "clobbers {r0, r1}\nuse v0\nbranch -> b2 freq 999, b3 freq 1\nb2 freq 999:\nbranch -> b1 freq 999\n";
    for v in 1..=loops {
        let b = 3 * v;
        let _ = writeln!(text, "b{b} freq 1:\nuse v0\ndef v{v}\nbranch -> b{} freq 1\nb{} freq 100:", b + 1, b + 1);
        let _ = writeln!(text, "clobbers {{r0, r1}}\nuse v{v}\nbranch -> b{} freq 99, b{} freq 1", b + 2, b + 3);
        let _ = writeln!(text, "b{} freq 99:\nbranch -> b{} freq 99", b + 2, b + 1);
    }
    let _ = writeln!(text, "b{} freq 1:\nuse v0\nbranch\n}}", 3 * loops + 3);
    text
}

#[test]
fn a_value_that_leaves_its_register_for_many_loops_is_not_looked_at_as_a_whole_for_each() {
    let steps = |loops: usize| {
        let (answer, cost) = &solve_text(&mut Backtracking::default(), &loops_in_turn(loops))[0];
        assert!(cost.loads() < 20.0 * loops as f64, "{cost}");
        answer.stats.steps
    };
    let (few, many) = (steps(1000), steps(10_000));
    assert!(many < 12 * few, "{few} steps, then {many}");
}
