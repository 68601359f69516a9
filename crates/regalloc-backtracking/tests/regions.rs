//! Values that live over calls stay in registers where no call is.

use kingpost_regalloc_backtracking::Backtracking;
use kingpost_testgen::conformance::solve_text;

/// A loop with a call on a way that is seldom taken, which stands between its header and its body.
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

/// A value that each run of a loop computes from the one before, which a call stands behind.
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
