//! Which operands the rules of a root look for, so that a request with none of them is not tried on any. Constants are always looked for, as
//! they may be folded.

use kingpost_ir::Opcode;

/// What the sources of a root's rules look for among its operands, equal operands aside.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sources {
    /// A bit for each opcode.
    opcodes: [u64; 4],
    look_at_any: bool,
}

impl Sources {
    /// Of a root without rules.
    pub(super) const NONE: Sources = Sources::of(&[]);
    /// Of a root one of whose rules matches any operands.
    pub(super) const ANY: Sources = Sources { opcodes: [0; 4], look_at_any: true };

    /// Of a root each of whose rules has one of these opcodes, a constant or equal operands in its source.
    pub(super) const fn of(opcodes: &[Opcode]) -> Sources {
        let mut sources = Sources { opcodes: [0; 4], look_at_any: false }.with(Opcode::Iconst);
        let mut index = 0;
        while index < opcodes.len() {
            sources = sources.with(opcodes[index]);
            index += 1;
        }
        sources
    }

    const fn with(mut self, opcode: Opcode) -> Sources {
        self.opcodes[opcode as usize / 64] |= 1 << (opcode as usize % 64);
        self
    }

    /// Whether there is something to be made of any operands.
    #[inline]
    pub(crate) fn look_at_any(&self) -> bool {
        self.look_at_any
    }

    /// Whether an operand made by this opcode is in the source of a rule.
    #[inline]
    pub(crate) fn look_for(&self, opcode: Opcode) -> bool {
        self.opcodes[opcode as usize / 64 % 4] >> (opcode as usize % 64) & 1 != 0
    }
}
