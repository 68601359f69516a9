//! What each stage finds out, and the events that an observer receives.

kingpost_testgen::phases! { kingpost_regalloc_linear::LinearScan::new(); liveness, scan, resolve, slots, events }
