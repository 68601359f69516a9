//! How a command ends.

use std::io;

/// Whether everything was good, if nothing stopped the command.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Good,
    /// Something was wrong and has been said.
    Bad,
}

impl Verdict {
    /// Whether both are good.
    pub(crate) fn and(self, other: Verdict) -> Verdict {
        if self == Verdict::Good { other } else { Verdict::Bad }
    }
}

/// Reason for which a command stopped.
pub(crate) enum Stop {
    /// An option asked what there is, in place of anything else.
    Help(String),
    /// The command line names something that does not exist.
    Usage(String),
    /// The input cannot be judged, where that differs from being judged wrong.
    Malformed(String),
    /// A failure in the input or the system.
    Failure(String),
    /// The reader of standard output has closed it.
    BrokenPipe,
}

/// Result of every command.
pub(crate) type Outcome = Result<Verdict, Stop>;

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Stop::BrokenPipe,
            _ => Stop::Failure(error.to_string()),
        }
    }
}
