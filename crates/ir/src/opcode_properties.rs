//! The properties of opcodes: control flow, memory, traps and other effects.

use crate::opcodes::{Opcode, PROPERTIES, SUFFIXES, Suffix, properties};
use crate::trapcode::TrapCode;

impl Opcode {
    const fn has(self, properties: u16) -> bool {
        PROPERTIES[self as usize] & properties != 0
    }

    /// Returns `true` if the opcode ends a block.
    pub fn is_terminator(self) -> bool {
        self.has(properties::terminator)
    }

    /// Returns `true` if the two operands may be exchanged. Float arithmetic is excluded, because the order may
    /// decide which NaN is the result.
    pub fn is_commutative(self) -> bool {
        self.has(properties::commutes)
    }

    /// Returns `true` if the opcode names blocks to which control may transfer.
    pub fn is_branch(self) -> bool {
        self.has(properties::branch)
    }

    /// Returns `true` if the opcode calls a function or switches to another stack.
    pub fn is_call(self) -> bool {
        self.has(properties::call)
    }

    /// Returns `true` if the opcode returns from the function, including tail calls.
    pub fn is_return(self) -> bool {
        self.has(properties::returns)
    }

    /// Returns `true` if the opcode may read memory. Calls are not counted.
    pub const fn can_load(self) -> bool {
        self.has(properties::load)
    }

    /// Returns `true` if the opcode may write memory. Calls are not counted.
    pub fn can_store(self) -> bool {
        self.has(properties::store)
    }

    /// Returns `true` if the opcode may trap, including memory accesses without `notrap`.
    pub fn can_trap(self) -> bool {
        self.has(properties::trap_code | properties::int_divz | properties::int_ovf | properties::bad_toint)
            || self.has_memory_flags()
    }

    /// Returns `true` if the opcode accesses memory by an address with flags. The flags then say whether it can trap.
    pub const fn has_memory_flags(self) -> bool {
        self.has(properties::memory_flags)
    }

    /// Returns `true` if an equal earlier instruction makes this one redundant although it may trap.
    pub const fn is_mergeable_trap(self) -> bool {
        self.has(properties::mergeable)
    }

    /// Returns `true` if the opcode has effects besides results, control flow, memory, traps and calls.
    pub fn other_side_effects(self) -> bool {
        self.has(properties::effects)
    }

    /// Returns `true` if an instruction must be kept although its results are unused. Loads that cannot trap may be
    /// removed, but only their flags tell.
    pub const fn has_side_effects(self) -> bool {
        self.has(properties::side_effects)
    }

    /// Returns `true` if control never transfers from the opcode to the next instruction or another block.
    pub fn ends_control_flow(self) -> bool {
        self.is_terminator() && !self.is_branch()
    }

    /// Returns the fixed trap codes of the row, in addition to a code that an operand or flags name.
    pub fn trap_codes(self) -> impl Iterator<Item = TrapCode> {
        [
            (properties::int_divz, TrapCode::INTEGER_DIVISION_BY_ZERO),
            (properties::int_ovf, TrapCode::INTEGER_OVERFLOW),
            (properties::bad_toint, TrapCode::BAD_CONVERSION_TO_INTEGER),
        ]
        .into_iter()
        .filter(move |&(bit, _)| self.has(bit))
        .map(|(_, code)| code)
    }

    /// Returns the suffix rule: whether the controlling type is written, and which operand it comes from otherwise.
    pub fn suffix(self) -> Suffix {
        SUFFIXES[self as usize]
    }

    /// Returns `true` if the controlling type must be written as a suffix.
    pub fn requires_suffix(self) -> bool {
        self.suffix() == Suffix::Required
    }

    /// Returns `true` if the opcode has a controlling type.
    pub fn is_polymorphic(self) -> bool {
        self.suffix() != Suffix::None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opcodes::INLINE_ARGS;

    #[test]
    fn properties() {
        assert!(Opcode::Sdiv.can_trap() && Opcode::Sdiv.is_mergeable_trap());
        assert!(Opcode::Load.can_load() && Opcode::Load.can_trap());
        assert!(!Opcode::Bitcast.can_trap() && !Opcode::Iadd.has_side_effects());
        assert!(Opcode::AtomicLoad.other_side_effects() && Opcode::TryCall.is_call());
        assert_eq!(Opcode::Fma.info().suffix, Suffix::From(1));
        assert_eq!(Opcode::Sdiv.trap_codes().count(), 2);
    }

    /// Checks that commutative opcodes have two inline operands, because `InstData::unordered_key` exchanges the
    /// first two words.
    #[test]
    fn commutative_opcodes_have_two_operands() {
        let commutative = |opcode: &Opcode| opcode.is_commutative();
        assert!(Opcode::ALL.iter().copied().filter(commutative).all(|opcode| INLINE_ARGS[opcode as usize] == 2));
    }
}
