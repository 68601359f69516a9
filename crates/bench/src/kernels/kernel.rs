//! One kernel: its sources and what it returns.

use std::path::PathBuf;

/// A kernel: a function `u64 NAME(u64)`.
pub(crate) struct Kernel {
    pub(super) name: String,
    pub(super) c: PathBuf,
    pub(super) clif: String,
    /// The argument of the measured call, and what it returns.
    pub(super) argument: u64,
    pub(super) result: u64,
}
