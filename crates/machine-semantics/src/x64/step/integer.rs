//! Sums, differences, bitwise operations, moves.

use super::super::instruction::Operand;
use super::super::kinds::Alu;
use super::super::{CF, OF, RAX, RDX};
use super::Step;
use crate::flag::{Flag, Property, Source};
use crate::world::World;
use kingpost_smt::{Term, Terms};

impl<W: World> Step<'_, W> {
    pub(super) fn alu(&mut self, alu: Alu) {
        let size = self.size();
        let place = self.place(self.operand(0), size);
        let a = self.load(place, size);
        let b = self.read(1);
        let source = match alu {
            Alu::Add => Source::Sum(a, b),
            Alu::Sub | Alu::Cmp => Source::Difference(a, b),
            Alu::Adc => Source::SumWithCarry(a, b, self.flag(CF)),
            Alu::Sbb => Source::DifferenceWithBorrow(a, b, self.flag(CF)),
            Alu::Or => Source::Result(self.terms().bit_or(a, b)),
            Alu::And => Source::Result(self.terms().bit_and(a, b)),
            Alu::Xor => Source::Result(self.terms().bit_xor(a, b)),
        };
        match source {
            Source::Result(result) => self.set_logic_flags(result),
            _ => self.set_flags(source),
        }
        if alu != Alu::Cmp {
            let result = source.result(self.terms());
            self.store(place, result);
        }
    }

    pub(super) fn test(&mut self) {
        let (a, b) = (self.read(0), self.read(1));
        let result = self.terms().bit_and(a, b);
        self.set_logic_flags(result);
    }

    /// Replaces operand 0 by the result of an operation on it.
    fn update(&mut self, operation: impl FnOnce(&mut Self, Term) -> Term) {
        let size = self.size();
        let place = self.place(self.operand(0), size);
        let old = self.load(place, size);
        let new = operation(self, old);
        self.store(place, new);
    }

    /// Adds 1. The carry flag does not change.
    pub(super) fn inc(&mut self) {
        self.update(|step, a| {
            let one = step.constant(1, step.size());
            step.add_without_carry(Source::Sum(a, one))
        });
    }

    /// Subtracts 1. The carry flag does not change.
    pub(super) fn dec(&mut self) {
        self.update(|step, a| {
            let one = step.constant(1, step.size());
            step.add_without_carry(Source::Difference(a, one))
        });
    }

    fn add_without_carry(&mut self, source: Source) -> Term {
        self.set_result_flags(source);
        self.state.flags[OF] = Flag::Of(source, Property::Overflow);
        source.result(self.world.terms())
    }

    pub(super) fn neg(&mut self) {
        self.update(|step, a| {
            let zero = step.constant(0, step.size());
            step.set_flags(Source::Difference(zero, a));
            step.terms().neg(a)
        });
    }

    pub(super) fn not(&mut self) {
        self.update(|step, a| step.terms().bit_not(a));
    }

    pub(super) fn mov(&mut self) {
        let value = self.read(1);
        self.write(0, value);
    }

    /// Extends the source from `from` bits.
    pub(super) fn extend(&mut self, from: u8, extend: fn(&mut Terms, Term, u32) -> Term) {
        let (value, size) = (self.read_sized(1, from.into()), self.size());
        let value = extend(self.terms(), value, size);
        self.write(0, value);
    }

    pub(super) fn lea(&mut self) {
        let Operand::Memory(memory) = self.operand(1) else { unreachable!("`lea` of a register is not decoded") };
        let (address, size) = (self.address(&memory), self.size());
        let value = self.terms().extract(address, 0, size);
        self.write(0, value);
    }

    /// Extends the low half of the accumulator.
    pub(super) fn cbw(&mut self) {
        let size = self.size();
        let half = self.register(RAX, size / 2);
        let value = self.terms().sign_extend(half, size);
        self.set_register(RAX, value);
    }

    /// Fills `rdx` with the sign of the accumulator.
    pub(super) fn cwd(&mut self) {
        let size = self.size();
        let accumulator = self.register(RAX, size);
        let by = self.constant((size - 1).into(), size);
        let signs = self.terms().ashr(accumulator, by);
        self.set_register(RDX, signs);
    }
}
