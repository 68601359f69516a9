//! What every allocator must do, and what a good one does.

kingpost_testgen::conformance! { kingpost_regalloc_backtracking::Backtracking::default() }
kingpost_testgen::quality! { kingpost_regalloc_backtracking::Backtracking::default() }
