//! The results of each phase, and the events that an observer receives.

kingpost_testgen::phases! {
    "../../filetests/regalloc/backtracking"; kingpost_regalloc_backtracking::Backtracking::default();
    liveness, search, locations, emit, events
}
