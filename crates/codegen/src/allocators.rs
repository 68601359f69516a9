//! The table of register allocators by name: the values of the setting `regalloc_algorithm`.

use kingpost_regalloc::Allocator;
use std::sync::Arc;

/// Makes one allocator for each compiling thread.
pub type AllocatorFactory = Arc<dyn Fn() -> Box<dyn Allocator> + Send + Sync>;

type Make = fn() -> Box<dyn Allocator>;

/// The name under which registers are allocated while instructions are selected. Functions with contexts of handlers or labelled
/// values, few instructions that no register is left for, and code that is selected already have the allocator of this name below.
pub(crate) const FUSED: &str = "fused";

/// Allocators that compile code, the default first, under the names by which settings choose them; each is a feature of this
/// crate.
pub const ALLOCATORS: &[(&str, Make)] = &[
    #[cfg(feature = "ssa")]
    ("ssa", || Box::new(kingpost_regalloc_ssa::SsaAllocator::default())),
    #[cfg(feature = "linear")]
    ("linear", || Box::new(kingpost_regalloc_linear::LinearScan::default())),
    #[cfg(feature = "backtracking")]
    ("backtracking", || Box::new(kingpost_regalloc_backtracking::Backtracking::default())),
    #[cfg(feature = "single_pass")]
    ("single_pass", || Box::new(kingpost_regalloc_single_pass::SinglePass::default())),
    #[cfg(feature = "single_pass")]
    (FUSED, || Box::new(kingpost_regalloc_single_pass::SinglePass::default())),
    #[cfg(feature = "spill-all")]
    ("spill-all", || Box::new(kingpost_regalloc_spill_all::SpillAll::default())),
];

/// What the setting `regalloc_algorithm` calls the first one of [`ALLOCATORS`], whichever is built.
pub(crate) const DEFAULT: &str = "default";

/// The factory of the allocator called `name`.
pub fn allocator(name: &str) -> Option<AllocatorFactory> {
    let &(_, make) = ALLOCATORS.iter().find(|(known, _)| *known == name)?;
    Some(Arc::new(make))
}
