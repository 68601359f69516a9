//! Generated problems, judged by the checker and by a simulator.

use kingpost_regalloc_ssa::SsaAllocator;
use kingpost_testgen::fuzz;

#[test]
fn generated_problems_are_solved() {
    let report = fuzz::allocator(&mut SsaAllocator::default(), 0..3_000).unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(report.problems, 3_000);
}
