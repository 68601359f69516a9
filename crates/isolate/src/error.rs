//! Errors of calling functions in a child.

use std::fmt;

/// An error of calling functions in a child.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum IsolateError {
    /// The system refuses memory.
    Memory {
        /// Bytes asked for.
        bytes: usize,
    },
    /// The system refuses a process.
    Process,
    /// Processes cannot be copied on this system.
    Unsupported,
    /// An address at which no function of the images begins.
    NoFunction {
        /// The address.
        address: usize,
    },
}

impl fmt::Display for IsolateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            IsolateError::Memory { bytes } => write!(f, "the system refuses {bytes} bytes of memory"),
            IsolateError::Process => f.write_str("the system refuses a process"),
            IsolateError::Unsupported => {
                f.write_str("compiled functions are not called on this system: it lacks `fork`")
            }
            IsolateError::NoFunction { address } => write!(f, "no function of the images begins at {address:#x}"),
        }
    }
}

impl std::error::Error for IsolateError {}
