//! Results of a command, and its exit code.

use std::io;

/// Verdict of a command that was not stopped.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Good,
    /// An error was found and has been reported.
    Bad,
}

impl Verdict {
    /// Returns `Good` if both verdicts are good.
    pub(crate) fn and(self, other: Verdict) -> Verdict {
        if self == Verdict::Good { other } else { Verdict::Bad }
    }
}

/// Reason for which a command stopped.
pub(crate) enum Stop {
    /// The command line names something that does not exist.
    Usage(String),
    /// The input cannot be judged, which is different from a bad verdict.
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
