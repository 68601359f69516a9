//! The table of register allocators by name: the values of the setting `regalloc_algorithm`.

use kingpost_regalloc::Allocator;
use std::sync::Arc;

/// Makes one allocator for each compiling thread.
pub type AllocatorFactory = Arc<dyn Fn() -> Box<dyn Allocator> + Send + Sync>;

type Make = fn() -> Box<dyn Allocator>;

/// The name for allocation of registers during instruction selection. Functions that it refuses, and code that is
/// already selected, are left to `linear`.
pub(crate) const FUSED: &str = "fused";

/// Allocators that compile code, the default first, with their names in settings. Each is a feature of this crate.
/// The last one, `spill_all`, is the baseline for tests of the other allocators.
pub const ALLOCATORS: &[(&str, Make)] = &[
    #[cfg(feature = "ssa")]
    ("ssa", || Box::new(kingpost_regalloc_ssa::SsaAllocator::default())),
    #[cfg(feature = "linear")]
    ("linear", || Box::new(kingpost_regalloc_linear::LinearScan::default())),
    #[cfg(feature = "backtracking")]
    ("backtracking", || Box::new(kingpost_regalloc_backtracking::Backtracking::default())),
    #[cfg(feature = "fused")]
    (FUSED, || Box::new(kingpost_regalloc_linear::LinearScan::default())),
    #[cfg(feature = "spill_all")]
    ("spill_all", || Box::new(kingpost_regalloc_spill_all::SpillAll::default())),
];

/// Value of the setting `regalloc_algorithm` for the first allocator of [`ALLOCATORS`] that is built.
pub(crate) const DEFAULT: &str = "default";

/// The allocators of [`ALLOCATORS`] that users choose from, with their strengths.
pub const CHOICES: &[(&str, &str)] = &[
    #[cfg(feature = "ssa")]
    ("ssa", "The default: spills first, then colors the dominator tree; code with few spills in moderate time."),
    #[cfg(feature = "linear")]
    ("linear", "Linear scan over live ranges with splitting: compiles faster than `ssa`, spills more."),
    #[cfg(feature = "backtracking")]
    (
        "backtracking",
        "Bundles of live ranges, placed by weight, evicted and split: the fewest moves, compiles slowest.",
    ),
    #[cfg(feature = "fused")]
    (
        FUSED,
        "Allocates while instructions are selected: compiles fastest, into the most code. `linear` serves what it refuses.",
    ),
];

/// Alternative names of allocators of [`ALLOCATORS`]: the name of Cranelift's fast allocator, and an earlier
/// spelling.
const ALIASES: &[(&str, &str)] = &[("single_pass", FUSED), ("spill-all", "spill_all")];

/// Returns the name in [`ALLOCATORS`] for the alias `name`, or `name` itself if it is no alias.
pub fn allocator_name(name: &str) -> &str {
    ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |&(_, meant)| meant)
}

/// Returns the factory of the allocator with this name or alias.
pub fn allocator(name: &str) -> Option<AllocatorFactory> {
    let &(_, make) = ALLOCATORS.iter().find(|(known, _)| *known == allocator_name(name))?;
    Some(Arc::new(make))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_allocators_but_the_baseline_are_choices() {
        let names: Vec<&str> = ALLOCATORS.iter().map(|&(name, _)| name).filter(|&name| name != "spill_all").collect();
        assert_eq!(names, CHOICES.iter().map(|&(name, _)| name).collect::<Vec<_>>());
    }

    #[test]
    fn aliases_are_no_names() {
        for &(alias, name) in ALIASES {
            assert!(ALLOCATORS.iter().all(|&(known, _)| known != alias), "{alias}");
            assert_eq!(allocator_name(alias), allocator_name(name));
        }
    }
}
