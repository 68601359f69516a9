//! Attempts at an atomic access, and instructions at which the code may try again.

use crate::conditions::Conditions;
use crate::frame::Frame;
use kingpost_machine_semantics::State;

/// Progress of an attempt at the next atomic access. An exclusive load begins two paths: one on which no exclusive store
/// fails before the next effect, and one on which one does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Attempt {
    /// No attempt, or one that is complete.
    None,
    /// An exclusive load of some bytes, for the effect of this index, whose store does not fail.
    Open { index: usize, bytes: u8 },
    /// An exclusive load whose store fails.
    Failing,
    /// A store that failed.
    Failed,
}

/// The state before an instruction that an attempt may repeat.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    /// Offset of the instruction in the code.
    pub(crate) offset: u32,
    pub(crate) state: State,
    pub(crate) frame: Frame,
    pub(crate) conditions: Conditions,
    /// Registers with any content: the general ones, then both halves of each vector register. `None` if the state is
    /// the one of the path that arrived first.
    pub(crate) open: Option<Vec<bool>>,
}
