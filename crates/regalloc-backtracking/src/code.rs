//! Instructions, as the walk over the code passes them on.

use kingpost_regalloc::{Inst, InstFlags, Operand, Pos};
use kingpost_regalloc_common::point::{Position, ProgPoint};

/// One instruction.
#[derive(Clone, Copy)]
pub(crate) struct Code<'a> {
    pub(crate) inst: Inst,
    pub(crate) at: Position,
    /// Index of its first operand.
    pub(crate) first: usize,
    pub(crate) operands: &'a [Operand],
    pub(crate) flags: InstFlags,
    /// Whether a def takes over the register of a use.
    pub(crate) has_tied: bool,
}

impl Code<'_> {
    /// Returns the point at which an operand reads or writes.
    pub(crate) fn point(&self, pos: Pos) -> ProgPoint {
        if pos == Pos::Early { ProgPoint::early(self.at) } else { ProgPoint::late(self.at) }
    }
}
