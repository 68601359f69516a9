//! What each stage finds out, and what an observer is told.

kingpost_testgen::phases! { kingpost_regalloc_linear::LinearScan::new(); liveness, scan, resolve, slots, events }
