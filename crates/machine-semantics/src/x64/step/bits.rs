//! Counts of bits, single bits, byte order.

use super::super::kinds::BitTest;
use super::super::{CF, OF, PF, SF, ZF};
use super::Step;
use crate::flag::{Flag, Property, Source, bit};
use crate::world::World;
use kingpost_smt::{Sort, Term, Terms};

impl<W: World> Step<'_, W> {
    /// Copies the bit that operand 1 names modulo the size into the carry flag, and changes it. The zero flag does not
    /// change, the other flags are left open.
    pub(super) fn bit_test(&mut self, test: BitTest) {
        let size = self.size();
        let place = self.place(self.operand(0), size);
        let (value, number) = (self.load(place, size), self.read(1));
        let terms = self.world.terms();
        let most = terms.number(size, u128::from(size - 1));
        let number = terms.bit_and(number, most);
        let shifted = terms.lshr(value, number);
        self.state.flags[CF] = Flag::Value(bit(terms, shifted, 0));
        self.leave_open([OF, SF, PF]);
        if test != BitTest::Test {
            let new = with_bit(self.terms(), test, value, number);
            self.store(place, new);
        }
    }

    fn is_zero(&mut self, value: Term) -> Term {
        let zero = self.constant(0, self.size());
        self.terms().eq(value, zero)
    }

    /// Finds the lowest or highest set bit. Without one, the destination does not change; some processors clear the
    /// upper half of the register if the operands have 32 bits.
    pub(super) fn bit_scan(&mut self, is_highest: bool) {
        let size = self.size();
        let (source, old) = (self.read(1), self.read(0));
        let none = self.is_zero(source);
        let terms = self.world.terms();
        let found = if is_highest {
            let (zeros, most) = (terms.leading_zeros(source), terms.number(size, u128::from(size - 1)));
            terms.sub(most, zeros)
        } else {
            terms.trailing_zeros(source)
        };
        let value = terms.ite(none, old, found);
        if size == 32 {
            let zeros = terms.number(32, 0);
            let unspecified = self.world.unspecified(Sort::Bits(32));
            let terms = self.world.terms();
            let upper = terms.ite(none, unspecified, zeros);
            let whole = terms.concat(upper, value);
            self.write(0, whole);
        } else {
            self.write(0, value);
        }
        self.state.flags[ZF] = Flag::Value(none);
        self.leave_open([CF, OF, SF, PF]);
    }

    /// Counts leading or trailing zeros. The carry flag tells that there is no set bit.
    pub(super) fn count_zeros(&mut self, count: fn(&mut Terms, Term) -> Term) {
        let source = self.read(1);
        let value = count(self.terms(), source);
        let none = self.is_zero(source);
        self.write(0, value);
        self.state.flags[CF] = Flag::Value(none);
        self.state.flags[ZF] = Flag::Of(Source::Result(value), Property::Zero);
        self.leave_open([OF, SF, PF]);
    }

    pub(super) fn popcnt(&mut self) {
        let source = self.read(1);
        let value = self.terms().count_ones(source);
        self.write(0, value);
        self.clear_flags([CF, OF, SF, PF]);
        self.state.flags[ZF] = Flag::Of(Source::Result(source), Property::Zero);
    }

    pub(super) fn bswap(&mut self) {
        let value = self.read(0);
        let value = self.terms().reverse_groups(value, 8);
        self.write(0, value);
    }

    pub(super) fn andn(&mut self) {
        let (a, b) = (self.read(1), self.read(2));
        let not = self.terms().bit_not(a);
        let value = self.terms().bit_and(not, b);
        self.write(0, value);
        self.set_logic_flags(value);
        self.leave_open([PF]);
    }

    /// Extracts bits: operand 2 holds the number of the first bit in its low byte, and the count in the next byte.
    pub(super) fn bextr(&mut self) {
        let size = self.size();
        let (source, control) = (self.read(1), self.read(2));
        let terms = self.world.terms();
        let [start, count] = [0, 8].map(|at| {
            let byte = terms.extract(control, at, 8);
            terms.zero_extend(byte, size)
        });
        let shifted = terms.lshr(source, start);
        let mask = low_bits(terms, count);
        let value = terms.bit_and(shifted, mask);
        self.write(0, value);
        self.state.flags[ZF] = Flag::Of(Source::Result(value), Property::Zero);
        self.clear_flags([CF, OF]);
        self.leave_open([SF, PF]);
    }

    /// Isolates the lowest set bit. The carry flag tells that there is one.
    pub(super) fn blsi(&mut self) {
        let source = self.read(1);
        let minus = self.terms().neg(source);
        let value = self.terms().bit_and(minus, source);
        let none = self.is_zero(source);
        let some = self.terms().not(none);
        self.write_group17(value, some);
    }

    /// Masks the bits up to the lowest set bit. The carry flag tells that there is none.
    pub(super) fn blsmsk(&mut self) {
        let source = self.read(1);
        let minus_one = self.constant(-1, self.size());
        let before = self.terms().add(source, minus_one);
        let value = self.terms().bit_xor(before, source);
        let none = self.is_zero(source);
        self.write_group17(value, none);
        self.clear_flags([ZF]);
    }

    /// Clears the lowest set bit. The carry flag tells that there is none.
    pub(super) fn blsr(&mut self) {
        let source = self.read(1);
        let minus_one = self.constant(-1, self.size());
        let before = self.terms().add(source, minus_one);
        let value = self.terms().bit_and(before, source);
        let none = self.is_zero(source);
        self.write_group17(value, none);
    }

    /// Writes the result of an operation on the lowest set bit, and its flags.
    fn write_group17(&mut self, value: Term, carry: Term) {
        self.write(0, value);
        self.set_logic_flags(value);
        self.state.flags[CF] = Flag::Value(carry);
        self.leave_open([PF]);
    }

    /// Clears the bits from the one on that the low byte of operand 2 names. The carry flag tells that there is none.
    pub(super) fn bzhi(&mut self) {
        let size = self.size();
        let (source, control) = (self.read(1), self.read(2));
        let terms = self.world.terms();
        let byte = terms.extract(control, 0, 8);
        let count = terms.zero_extend(byte, size);
        let mask = low_bits(terms, count);
        let value = terms.bit_and(source, mask);
        let most = terms.number(size, u128::from(size - 1));
        let carry = terms.ult(most, count);
        self.write_group17(value, carry);
    }
}

/// Returns a value with one bit changed.
fn with_bit(terms: &mut Terms, test: BitTest, value: Term, number: Term) -> Term {
    let one = terms.number(terms.width(value), 1);
    let mask = terms.shl(one, number);
    match test {
        BitTest::Test => value,
        BitTest::Set => terms.bit_or(value, mask),
        BitTest::Reset => {
            let others = terms.bit_not(mask);
            terms.bit_and(value, others)
        }
        BitTest::Complement => terms.bit_xor(value, mask),
    }
}

/// Returns a mask of the low `count` bits: all bits if the count is not below the width.
fn low_bits(terms: &mut Terms, count: Term) -> Term {
    let width = terms.width(count);
    let one = terms.number(width, 1);
    let power = terms.shl(one, count);
    terms.sub(power, one)
}
