//! One kernel: its sources and its result.

use std::path::PathBuf;

/// A kernel: a function `u64 NAME(u64)`, in CLIF and in C.
pub(crate) struct Kernel {
    pub(super) name: String,
    /// None for a function of a module.
    pub(super) c: Option<PathBuf>,
    pub(super) clif: String,
    /// The argument of the measured call, and its result.
    pub(super) argument: u64,
    pub(super) result: u64,
}
