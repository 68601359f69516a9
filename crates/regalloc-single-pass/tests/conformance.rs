//! What every allocator must do.

kingpost_testgen::conformance! { kingpost_regalloc_single_pass::SinglePass::default() }
