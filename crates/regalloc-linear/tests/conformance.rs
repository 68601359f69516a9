//! Requirements on every allocator, and on the quality of a good one.

kingpost_testgen::conformance! { kingpost_regalloc_linear::LinearScan::default() }
kingpost_testgen::quality! { kingpost_regalloc_linear::LinearScan::default() }
