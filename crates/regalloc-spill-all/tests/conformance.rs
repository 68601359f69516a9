//! What every allocator must do.

kingpost_testgen::conformance! { kingpost_regalloc_spill_all::SpillAll::default() }
