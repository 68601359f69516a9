//! Checks of the stack limit that a proof has seen.

/// Depths that checks bound, in bytes below the stack pointer at the entry.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Checked {
    /// The greatest depth for which the code traps.
    pub(crate) traps: Option<i64>,
    /// Whether a path to the first block checks the limit.
    pub(crate) is_checked: bool,
    /// Whether a path to the first block does not.
    pub(crate) is_unchecked: bool,
    /// Depth of the stack pointer at the head of the first block.
    pub(crate) needed: Option<i64>,
}
