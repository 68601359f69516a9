//! What each phase makes, and what an observer is told.

kingpost_testgen::phases! { kingpost_regalloc_backtracking::Backtracking::default(); liveness, search, locations, emit, events }
