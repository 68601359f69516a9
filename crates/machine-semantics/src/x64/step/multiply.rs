//! Products and quotients.

use super::super::{CF, OF, PF, RAX, RDX, SF, ZF};
use super::Step;
use crate::flag::{Flag, Property, Source};
use crate::world::World;
use kingpost_smt::{Term, Terms};

impl<W: World> Step<'_, W> {
    /// Sets carry and overflow if the product does not fit the size. The other flags are left open.
    fn set_product_flags(&mut self, source: Source) {
        self.state.flags[CF] = Flag::Of(source, Property::Carry);
        self.state.flags[OF] = Flag::Of(source, Property::Overflow);
        self.leave_open([ZF, SF, PF]);
    }

    /// Multiplies operands 1 and 2, as signed numbers.
    pub(super) fn imul(&mut self) {
        let (a, b) = (self.read(1), self.read(2));
        let product = self.terms().mul(a, b);
        self.set_product_flags(Source::SignedProduct(a, b));
        self.write(0, product);
    }

    /// Multiplies the accumulator. The high half of the product is in `rdx`, for 8 bits in `ah`.
    pub(super) fn product_of_double_width(&mut self, is_signed: bool) {
        let size = self.size();
        let (a, b) = (self.register(RAX, size), self.read(0));
        let source = if is_signed { Source::SignedProduct(a, b) } else { Source::Product(a, b) };
        self.set_product_flags(source);
        let (low, high) = (self.terms().mul(a, b), source.high_half(self.world.terms()));
        if size == 8 {
            let both = self.terms().concat(high, low);
            return self.set_register(RAX, both);
        }
        self.set_register(RAX, low);
        self.set_register(RDX, high);
    }

    /// Multiplies `rdx` and the source as unsigned numbers. If both destinations are one, it holds the high half.
    pub(super) fn mulx(&mut self) {
        let size = self.size();
        let (a, b) = (self.register(RDX, size), self.read(2));
        let low = self.terms().mul(a, b);
        let high = Source::Product(a, b).high_half(self.world.terms());
        self.write(1, low);
        self.write(0, high);
    }

    /// Divides `rdx` and the accumulator; for 8 bits the accumulator, with the remainder in `ah`. Faults if the divisor
    /// is zero or the quotient does not fit.
    pub(super) fn divide(&mut self, is_signed: bool) {
        let size = self.size();
        let divisor = self.read(0);
        let dividend = self.dividend(size);
        let (quotient, remainder) = match is_signed {
            true => self.divide_signed(dividend, divisor),
            false => self.divide_unsigned(dividend, divisor),
        };
        self.leave_open([CF, PF, ZF, SF, OF]);
        if size == 8 {
            let both = self.terms().concat(remainder, quotient);
            return self.set_register(RAX, both);
        }
        self.set_register(RAX, quotient);
        self.set_register(RDX, remainder);
    }

    fn dividend(&mut self, size: u32) -> Dividend {
        if size == 8 {
            let whole = self.register(RAX, 16);
            let (low, high) = (self.register(RAX, 8), self.terms().extract(whole, 8, 8));
            return Dividend { low, high, whole };
        }
        let (low, high) = (self.register(RAX, size), self.register(RDX, size));
        let whole = self.terms().concat(high, low);
        Dividend { low, high, whole }
    }

    fn divide_unsigned(&mut self, dividend: Dividend, divisor: Term) -> (Term, Term) {
        let size = self.size();
        // The quotient fits if the high half is smaller than the divisor, which a divisor of zero never allows.
        let too_large = self.terms().ule(divisor, dividend.high);
        self.world.fault(too_large);
        let terms = self.world.terms();
        if dividend.high == terms.number(size, 0) {
            return (terms.udiv(dividend.low, divisor), terms.urem(dividend.low, divisor));
        }
        let wide = terms.zero_extend(divisor, 2 * size);
        let (quotient, remainder) = (terms.udiv(dividend.whole, wide), terms.urem(dividend.whole, wide));
        (terms.extract(quotient, 0, size), terms.extract(remainder, 0, size))
    }

    fn divide_signed(&mut self, dividend: Dividend, divisor: Term) -> (Term, Term) {
        let size = self.size();
        let terms = self.world.terms();
        let zero = terms.number(size, 0);
        let by_zero = terms.eq(divisor, zero);
        if dividend.is_sign_extended(terms) {
            let (quotient, remainder) = (terms.sdiv(dividend.low, divisor), terms.srem(dividend.low, divisor));
            let (least, minus_one) = (terms.number(size, 1 << (size - 1)), terms.bit_not(zero));
            let (is_least, is_minus_one) = (terms.eq(dividend.low, least), terms.eq(divisor, minus_one));
            let overflow = terms.and(is_least, is_minus_one);
            self.world.fault(by_zero);
            self.world.fault(overflow);
            return (quotient, remainder);
        }
        let wide = terms.sign_extend(divisor, 2 * size);
        let (quotient, remainder) = (terms.sdiv(dividend.whole, wide), terms.srem(dividend.whole, wide));
        let (low, remainder) = (terms.extract(quotient, 0, size), terms.extract(remainder, 0, size));
        let fitting = terms.sign_extend(low, 2 * size);
        let overflow = terms.ne(fitting, quotient);
        self.world.fault(by_zero);
        self.world.fault(overflow);
        (low, remainder)
    }
}

/// A dividend of double width, and its halves.
#[derive(Clone, Copy)]
struct Dividend {
    low: Term,
    high: Term,
    whole: Term,
}

impl Dividend {
    /// Returns `true` if the high half is known to consist of the sign of the low half.
    fn is_sign_extended(self, terms: &mut Terms) -> bool {
        let width = terms.width(self.low);
        let by = terms.number(width, u128::from(width - 1));
        self.high == terms.ashr(self.low, by) || self.whole == terms.sign_extend(self.low, 2 * width)
    }
}
