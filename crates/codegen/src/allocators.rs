//! The table of register allocators by name: the values of the setting `regalloc_algorithm`.

use kingpost_regalloc::Allocator;
use kingpost_regalloc_backtracking::Backtracking;
use kingpost_regalloc_linear::LinearScan;
use kingpost_regalloc_single_pass::SinglePass;
use kingpost_regalloc_spill_all::SpillAll;
use kingpost_regalloc_ssa::SsaAllocator;
use std::sync::Arc;

/// Makes one allocator for each compiling thread.
pub type AllocatorFactory = Arc<dyn Fn() -> Box<dyn Allocator> + Send + Sync>;

type Make = fn() -> Box<dyn Allocator>;

/// Allocators that compile code, the default first, under the names by which settings choose them.
pub const ALLOCATORS: &[(&str, Make)] = &[
    ("ssa", || Box::new(SsaAllocator::default())),
    ("linear", || Box::new(LinearScan::default())),
    ("backtracking", || Box::new(Backtracking::default())),
    ("single_pass", || Box::new(SinglePass::default())),
    ("spill-all", || Box::new(SpillAll::default())),
];

/// The factory of the allocator called `name`.
pub fn allocator(name: &str) -> Option<AllocatorFactory> {
    let &(_, make) = ALLOCATORS.iter().find(|(known, _)| *known == name)?;
    Some(Arc::new(make))
}
