//! What single phases decide.

use kingpost_regalloc::{Allocation, Allocator, text};
use kingpost_regalloc_ssa::SsaAllocator;
use kingpost_testgen::conformance::solve_text;

/// Of the values live through a loop the one that is used behind it goes to memory, not the one that is used in it.
#[test]
fn uses_behind_a_loop_are_far_away() {
    let source = "env {\nint r0-r2\n}\nproblem %f {\nv0, v1, v2, v3, v4, v5: int 8\nb0:\ndef v0\ndef v1\ndef v2\n\
        branch -> b1(v2)\nb1(v3) freq 10:\nuse v0, use v3, def v4\nuse v3, def v5\nuse v4\n\
        branch use v5 -> b2 freq 9, b3 freq 1\nb2 freq 9:\nbranch -> b1(v5) freq 9\nb3:\nbranch use v1\n}";
    let (_, cost) = solve_text(&mut SsaAllocator::default(), source).remove(0);
    assert_eq!((cost.spills, cost.fills), (1, 1), "{cost}");
}

#[test]
fn every_phase_can_be_read() {
    let file = text::parse(include_str!("../../testgen/paper/swap_loop.ra")).unwrap();
    let mut allocator = SsaAllocator::default();
    let problem = &file.cases[0].problem;
    allocator.allocate(problem, file.env.as_ref().unwrap(), &mut Allocation::default()).unwrap();
    let dump = allocator.dump(problem, file.env.as_ref().unwrap());
    for phase in ["liveness\n", "coalescing\n", "spilling\n", "reload\n", "coloring\n"] {
        assert!(dump.contains(phase), "{dump}");
    }
}
