//! Requirements on every allocator.

kingpost_testgen::conformance! { kingpost_regalloc_spill_all::SpillAll::default() }
