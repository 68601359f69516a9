//! Random frequencies of blocks, mostly wrong ones, as a client may give them.

use crate::rng::Rng;
use kingpost_ir::Function;

/// Sets frequencies of a part of the function's blocks that have no relation to how often they run.
pub(super) fn give(func: &mut Function, rng: &mut Rng) {
    let blocks: Vec<_> = func.layout.blocks().skip(1).collect();
    let share = [10, 50, 100][rng.range(0..3)];
    for block in blocks {
        if rng.chance(share) {
            let exponent = rng.range(0..36) as i32 - 14;
            func.set_block_frequency(block, f64::from(exponent).exp2());
        }
    }
}
