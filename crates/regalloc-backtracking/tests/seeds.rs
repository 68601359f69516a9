//! Generated problems that were once answered wrongly.

use kingpost_regalloc_backtracking::Backtracking;
use kingpost_testgen::fuzz;

/// A value moved to another register and stored before the same instruction: the store reads the register it left.
#[test]
fn a_store_amid_moves_reads_the_old_place() {
    fuzz::allocator(&mut Backtracking::default(), 6079..6080).unwrap_or_else(|failure| panic!("{failure}"));
}
