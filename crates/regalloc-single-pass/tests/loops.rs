//! What loops have in registers, and what in memory.

use kingpost_regalloc::EditKind;
use kingpost_regalloc_single_pass::SinglePass;
use kingpost_testgen::conformance::solve_text;

/// Five parameters for five registers; v9 is used in the loop, the others only pass through it.
const CARRIED: &str = "env {
    int r0, r1, r2, r3, r4
    }
    problem %carried {
    v0, v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11: int 8
    b0:
    def v0, def v1, def v2, def v3, def v4
    branch -> b1(v0, v1, v2, v3, v4)
    b1(v5, v6, v7, v8, v9) freq 8:
    def v10, use v9
    def v11, use v9, use v10
    branch use v11 -> b2 freq 7, b3 freq 1
    b2 freq 7:
    branch -> b1(v5, v6, v7, v8, v11) freq 7
    b3 freq 1:
    use v5, use v6, use v7
    branch use v8
    }";

#[test]
fn parameters_that_only_pass_through_a_loop_share_slots_with_their_arguments() {
    let (out, cost) = &solve_text(&mut SinglePass::default(), CARRIED)[0];
    let is_memory = |kind| !matches!(kind, EditKind::Move { .. });
    let in_loop = out.edits.iter().filter(|edit| (2..=5).contains(&edit.at.as_u32()));
    assert_eq!(in_loop.filter(|edit| is_memory(edit.kind)).count(), 0, "{:?}", out.edits);
    assert!(cost.spills <= 4 && cost.fills <= 4, "{cost}");
}
