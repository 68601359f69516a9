//! The allocator after the budget of its search is exhausted.

use kingpost_regalloc_backtracking::Backtracking;
use kingpost_testgen::conformance;
use kingpost_testgen::shapes::{SHAPES, machine};
use kingpost_testgen::solve::solve;

#[test]
fn generated_problems_are_solved_without_a_search() {
    conformance::generated(&mut Backtracking::with_budget(0));
}

#[test]
fn problems_from_paper_are_solved_without_a_search() {
    conformance::paper(&mut Backtracking::with_budget(0));
}

/// Checks that bundles are split where no register is free, and not spilled as a whole.
#[test]
fn far_operands_cost_little_more_without_a_search() {
    let (_, make) = SHAPES.iter().find(|(name, _)| *name == "far operands").expect("a shape");
    let (problem, env) = (make(10_000), machine());
    let [searched, split] = [Backtracking::default(), Backtracking::with_budget(0)]
        .map(|mut allocator| solve(&mut allocator, &problem, &env).1.loads());
    assert!(split <= 1.3 * searched, "{split} without a search, {searched} with it");
}

/// Checks that values across cold calls, which leave parts of vector registers, are in memory or saved registers at the calls only:
/// 300 calls at 1/64, and the saved registers.
#[test]
fn bump_allocations_cost_as_little_as_their_cold_calls() {
    let (_, make) = SHAPES.iter().find(|(name, _)| *name == "bump allocations").expect("a shape");
    let (problem, env) = (make(3_000), machine());
    for mut allocator in [Backtracking::default(), Backtracking::with_budget(0)] {
        let loads = solve(&mut allocator, &problem, &env).1.loads();
        assert!(loads <= 10.0, "{loads}");
    }
}
