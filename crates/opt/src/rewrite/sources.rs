//! Operands that the rules of a root look for. No rule is tried on a request without any of them. A request whose
//! first operand is a constant is always tried, because it may be folded, or its operands exchanged.

use kingpost_ir::Opcode;

/// Opcodes that the sources of a root's rules look for among its operands. Equal operands are tested separately.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sources {
    /// Opcodes that make the first and the second operand.
    first: Opcodes,
    second: Opcodes,
    /// Opcodes that make the first operand if the second one is a constant.
    beside_constants: Opcodes,
    /// Constants that they look for as second operand, whatever the first operand is.
    constants: Constants,
    look_at_any: bool,
}

/// A set of opcodes, one bit each.
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

    fn contains(&self, opcode: Opcode) -> bool {
        self.0[opcode as usize / 64 % 4] >> (opcode as usize % 64) & 1 != 0
    }
}

impl Sources {
    /// Sources of a root without rules.
    pub(super) const NONE: Sources = Sources::of(&[], &[]);
    /// Sources of a root with a rule that matches any operands.
    pub(super) const ANY: Sources = Sources { look_at_any: true, ..Sources::NONE };

    /// Returns the sources of a root with at most two operands. The source of each of its rules has one of these
    /// opcodes as first or as second operand, or equal operands.
    pub(super) const fn of(first: &[Opcode], second: &[Opcode]) -> Sources {
        let (first, second, beside_constants) = (Opcodes::of(first), Opcodes::of(second), Opcodes::of(&[]));
        Sources { first, second, beside_constants, constants: Constants::None, look_at_any: false }
    }

    /// Adds rules that have a constant as second operand and one of these opcodes as first operand.
    pub(super) const fn or_beside_constants(self, opcodes: &[Opcode]) -> Sources {
        Sources { beside_constants: Opcodes::of(opcodes), ..self }
    }

    /// Adds rules that have zero as second operand, and any first operand.
    pub(super) const fn or_zero(self) -> Sources {
        Sources { constants: Constants::Zero, ..self }
    }

    /// Adds rules that have a constant as second operand, and any first operand.
    pub(super) const fn or_constants(self) -> Sources {
        Sources { constants: Constants::All, ..self }
    }

    /// Returns `true` if rules are tried on any operands.
    pub(crate) fn look_at_any(&self) -> bool {
        self.look_at_any
    }

    /// Returns `true` if a first operand made by this opcode is in the source of a rule.
    pub(crate) fn look_for_first(&self, opcode: Opcode) -> bool {
        self.first.contains(opcode)
    }

    /// Returns `true` if a second operand made by this opcode is in the source of a rule.
    pub(crate) fn look_for_second(&self, opcode: Opcode) -> bool {
        self.second.contains(opcode)
    }

    /// Returns `true` if a constant with these bits as second operand and a first one made by this opcode are in the
    /// source of a rule.
    pub(crate) fn look_for_constant(&self, bits: u64, first: Opcode) -> bool {
        self.constants == Constants::All
            || self.constants == Constants::Zero && bits == 0
            || self.beside_constants.contains(first)
    }
}
