//! Reasons why our allocators give no answer.

use kingpost_regalloc::AllocError;
use std::fmt;

/// The reason why our allocators give no answer to a function.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// Our contract cannot express a part of the function.
    Unsupported(&'static str),
    /// The function breaks a rule of our contract.
    Invalid(String),
    /// The allocator failed.
    Failed(AllocError),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Unsupported(what) => write!(f, "not supported: {what}"),
            Refusal::Invalid(what) => write!(f, "invalid: {what}"),
            Refusal::Failed(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Refusal {}
