//! Exchanges of values between registers and memory.

use super::super::instruction::Operand;
use super::super::{RAX, RBX, RCX, RDX, ZF};
use super::Step;
use super::operands::Place;
use crate::flag::{Flag, Source};
use crate::world::{Access, Order, World};
use kingpost_smt::Term;

impl<W: World> Step<'_, W> {
    /// Exchanges both operands. With memory, the instruction locks without a prefix.
    pub(super) fn xchg(&mut self) {
        let size = self.size();
        let place = match self.place(self.operand(0), size) {
            Place::Memory(access) => Place::Memory(Access { order: Order::Atomic, ..access }),
            place => place,
        };
        let other = self.place(self.operand(1), size);
        let (first, second) = (self.load(place, size), self.load(other, size));
        self.store(place, second);
        self.store(other, first);
    }

    /// Adds the source to the destination, and copies the old destination to the source. If both are one register, it
    /// holds the sum.
    pub(super) fn xadd(&mut self) {
        let size = self.size();
        let (place, other) = (self.place(self.operand(0), size), self.place(self.operand(1), size));
        let (a, b) = (self.load(place, size), self.load(other, size));
        let source = Source::Sum(a, b);
        self.set_flags(source);
        let sum = source.result(self.terms());
        self.store(other, a);
        self.store(place, sum);
    }

    /// Replaces the destination if it equals the accumulator, else copies it to the accumulator. Memory is written in
    /// both cases. The accumulator is not written if both are equal, which matters for 32 bits.
    pub(super) fn cmpxchg(&mut self) {
        let size = self.size();
        let place = self.place(self.operand(0), size);
        let (old, new, expected) = (self.load(place, size), self.read(1), self.register(RAX, size));
        self.set_flags(Source::Difference(expected, old));
        let equal = self.terms().eq(expected, old);
        self.set_unless(equal, RAX, old);
        self.store_choice(place, equal, [new, old]);
    }

    /// Replaces memory by `rcx:rbx` if it equals `rdx:rax`, else copies it there. Memory is written in both cases.
    pub(super) fn cmpxchg_pair(&mut self) {
        let Operand::Memory(memory) = self.operand(0) else { unreachable!("a pair is in memory") };
        let half = self.size();
        let address = self.address(&memory);
        let access = Access { aligned: half == 64, ..self.access(address, 2 * half) };
        let old = self.world.load(access);
        let [low, high] = [RAX, RDX].map(|number| self.register(number, half));
        let [new_low, new_high] = [RBX, RCX].map(|number| self.register(number, half));
        let terms = self.world.terms();
        let (expected, new) = (terms.concat(high, low), terms.concat(new_high, new_low));
        let equal = terms.eq(expected, old);
        self.world.store_choice(access, equal, [new, old]);
        for (number, at) in [(RAX, 0), (RDX, half)] {
            let part = self.terms().extract(old, at, half);
            self.set_unless(equal, number, part);
        }
        self.state.flags[ZF] = Flag::Value(equal);
    }

    /// Writes a register unless a condition holds.
    fn set_unless(&mut self, condition: Term, number: usize, value: Term) {
        let before = self.state.general[number];
        self.set_register(number, value);
        let after = self.state.general[number];
        self.state.general[number] = self.terms().ite(condition, before, after);
    }
}
