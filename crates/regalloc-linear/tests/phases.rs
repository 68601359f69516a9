//! The results of each stage, and the events that an observer receives.

kingpost_testgen::phases! {
    "../../filetests/regalloc/linear"; kingpost_regalloc_linear::LinearScan::new();
    liveness, scan, resolve, slots, events
}
