//! Which operands the rules of a root look for, so that a request with none of them is not tried on any. A request
//! whose first operand is a constant is always tried, as it may be folded, or its operands exchanged.

use kingpost_ir::Opcode;

/// Opcodes that the sources of a root's rules look for among its operands, equal operands aside.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sources {
    /// Opcodes that make the first and the second operand.
    first: Opcodes,
    second: Opcodes,
    /// Opcodes that make the first operand if the second one is a constant.
    beside_constants: Opcodes,
    /// The constants as second operand that they look for, whatever the first one is.
    constants: Constants,
    look_at_any: bool,
}

/// A bit for each opcode.
#[derive(Clone, Copy, Debug)]
struct Opcodes([u64; 4]);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Constants {
    None,
    Zero,
    All,
}

impl Opcodes {
    const fn of(opcodes: &[Opcode]) -> Opcodes {
        let (mut set, mut index) = ([0; 4], 0);
        while index < opcodes.len() {
            let number = opcodes[index] as usize;
            set[number / 64] |= 1 << (number % 64);
            index += 1;
        }
        Opcodes(set)
    }

    #[inline]
    fn contains(&self, opcode: Opcode) -> bool {
        self.0[opcode as usize / 64 % 4] >> (opcode as usize % 64) & 1 != 0
    }
}

impl Sources {
    /// Of a root without rules.
    pub(super) const NONE: Sources = Sources::of(&[], &[]);
    /// Of a root one of whose rules matches any operands.
    pub(super) const ANY: Sources = Sources { look_at_any: true, ..Sources::NONE };

    /// Of a root with at most two operands, each of whose rules has in its source one of these opcodes as first or one
    /// of these as second operand, or equal operands.
    pub(super) const fn of(first: &[Opcode], second: &[Opcode]) -> Sources {
        let (first, second, beside_constants) = (Opcodes::of(first), Opcodes::of(second), Opcodes::of(&[]));
        Sources { first, second, beside_constants, constants: Constants::None, look_at_any: false }
    }

    /// Rules may also have a constant as second operand, and one of these opcodes as first one.
    pub(super) const fn or_beside_constants(self, opcodes: &[Opcode]) -> Sources {
        Sources { beside_constants: Opcodes::of(opcodes), ..self }
    }

    /// Rules may also have zero as second operand, and nothing else.
    pub(super) const fn or_zero(self) -> Sources {
        Sources { constants: Constants::Zero, ..self }
    }

    /// Rules may also have a constant as second operand, and nothing else.
    pub(super) const fn or_constants(self) -> Sources {
        Sources { constants: Constants::All, ..self }
    }

    /// Returns `true` if there is something to be made of any operands.
    #[inline]
    pub(crate) fn look_at_any(&self) -> bool {
        self.look_at_any
    }

    /// Returns `true` if a first operand made by this opcode is in the source of a rule.
    #[inline]
    pub(crate) fn look_for_first(&self, opcode: Opcode) -> bool {
        self.first.contains(opcode)
    }

    /// Returns `true` if a second operand made by this opcode is in the source of a rule.
    #[inline]
    pub(crate) fn look_for_second(&self, opcode: Opcode) -> bool {
        self.second.contains(opcode)
    }

    /// Returns `true` if a constant with these bits as second operand and a first one made by this opcode are in the
    /// source of a rule.
    #[inline]
    pub(crate) fn look_for_constant(&self, bits: u64, first: Opcode) -> bool {
        self.constants == Constants::All
            || self.constants == Constants::Zero && bits == 0
            || self.beside_constants.contains(first)
    }
}
