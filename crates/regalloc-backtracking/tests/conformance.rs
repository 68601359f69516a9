//! What every allocator must do.

kingpost_testgen::conformance! { kingpost_regalloc_backtracking::Backtracking::default() }
