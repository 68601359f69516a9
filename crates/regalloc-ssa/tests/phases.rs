//! The results of each phase, the events that an observer receives, and their cost.

use kingpost_regalloc_ssa::SsaAllocator;
use kingpost_testgen::conformance::solve_text;

kingpost_testgen::phases! {
    "../../filetests/regalloc/ssa"; SsaAllocator::default();
    liveness, coalescing, spilling, reload, register_hints, coloring, events
}

/// Checks that the spilled value of a loop is the one used after the loop, not the one used in it.
#[test]
fn uses_behind_a_loop_are_far_away() {
    let source = include_str!("../../../filetests/regalloc/ssa/spilling/used_behind_a_loop.ra");
    let (_, cost) = solve_text(&mut SsaAllocator::default(), source).remove(0);
    assert_eq!((cost.spills, cost.fills), (1, 1), "{cost}");
}

/// Checks that values with disjoint lifetimes share a slot.
#[test]
fn slots_are_shared() {
    let mut source = String::from("env {\nint r0-r1\n}\nproblem %f {\nv0, v1, v2, v3, v4, v5: int 8\nb0:\n");
    for [a, b, c] in [[0, 1, 2], [3, 4, 5]] {
        source += &format!("def v{a}\ndef v{b}, def v{c}\nuse v{b}, use v{c}\nuse v{a}\n");
    }
    let (answer, cost) = solve_text(&mut SsaAllocator::default(), &(source + "branch\n}\n")).remove(0);
    assert_eq!((cost.spills, answer.slots.len()), (2, 1));
}

/// Checks that a value that a call reads in a register which it destroys is loaded there for the call only, without
/// displacing another value.
#[test]
fn what_a_call_reads_from_memory_takes_no_other_register() {
    let source = "env {\nint r0, r1, r2, r3 saved {r2, r3}\n}\nproblem %f {\nv0, v1, v2, v3, v4: int 8\nb0:\n\
        def v0\ndef v1\ndef v2\nclobbers {r0, r1}\nuse v0, use v2\nuse v1 = r0, clobbers {r0, r1}\nuse v1\n\
        def v3\nuse v3\ndef v4\nuse v4\nuse v0, use v2\nbranch\n}\n";
    let (_, cost) = solve_text(&mut SsaAllocator::default(), source).remove(0);
    assert_eq!((cost.spills, cost.fills), (1, 2), "{cost}");
}

/// Checks that a value makes room for an operand without an exchange: the operand comes from `r1`, and `r2` is free.
#[test]
fn displaced_values_do_not_exchange_registers() {
    let source = "env {\nint r0-r2\n}\nproblem %f {\nv0, v1: int 8\nb0:\n\
        def v0 = r0\ndef v1 = r1\nuse v1 = r0\nuse v1\nuse v0\nbranch\n}\n";
    let (answer, _) = solve_text(&mut SsaAllocator::default(), source).remove(0);
    println!("{:?}", answer.edits);
    assert_eq!(answer.edits.len(), 2);
}
