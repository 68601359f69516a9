//! Sums whose parts are all multiples of a power of two, in terms of machine code; see the table in `code.rs`.

use crate::bits::Bits;
use crate::linear::Linear;
use crate::term::{Node, Op, Term, Terms};

impl Terms {
    /// Returns a sum with a multiple of a field replaced by multiples of the whole term and of the bits below the field, if
    /// the bits above the field would be shifted out: `2 * (x >> 1)` is `x - (x & 1)`.
    pub(crate) fn sum_of_whole_terms(&mut self, sum: &Linear) -> Option<Linear> {
        let width = sum.constant.width();
        for (number, &(part, factor)) in sum.parts.iter().enumerate() {
            let Node::Unary(Op::ZeroExtend | Op::SignExtend, field) = self.node(part) else { continue };
            let Node::Unary(Op::Extract { low }, x) = self.node(field) else { continue };
            let zeros = factor.unsigned().trailing_zeros();
            if low == 0 || low > zeros || self.width(field) + zeros < width || self.width(x) < width {
                continue;
            }
            let factor = Bits::new(width, factor.unsigned() >> low);
            let (x, below) = (self.extract(x, 0, width), self.extract(x, 0, low));
            let below = self.zero_extend(below, width);
            let (x, below) = (self.linear(x).times(factor), self.linear(below).times(factor.neg()));
            let mut rest = sum.clone();
            rest.parts.remove(number);
            return Some(rest.plus(&x).plus(&below));
        }
        None
    }

    /// Returns `x | y` as a concatenation, if `x` is a multiple of a power of two, and `y` has only the bits below it. A
    /// constant above has all bits above `y`.
    pub(super) fn joined(&mut self, x: Term, y: Term) -> Option<Term> {
        let Node::Unary(Op::ZeroExtend, low) = self.node(y) else { return None };
        if let Some(bits) = self.bits(x) {
            let (width, by) = (bits.width(), self.width(low));
            let high = self.constant(bits.extract(by, width - by));
            return bits.extract(0, by).is_zero().then(|| self.concat(high, low));
        }
        if !matches!(self.node(x), Node::Binary(Op::Add | Op::Mul | Op::Shl, ..)) {
            return None;
        }
        let (width, by) = (self.width(x), self.low_zeros(x));
        if by >= width || self.width(low) > by {
            return None;
        }
        let (high, low) = (self.extract(x, by, width - by), self.zero_extend(low, by));
        Some(self.concat(high, low))
    }

    /// Returns the number of low bits that are zero because all parts of a sum are multiples of a power of two.
    pub(super) fn low_zeros(&self, a: Term) -> u32 {
        let sum = self.linear(a);
        let factors = sum.parts.iter().map(|&(_, factor)| factor).chain([sum.constant]);
        factors.map(|factor| factor.unsigned().trailing_zeros()).min().map_or(0, |zeros| zeros.min(self.width(a)))
    }

    /// Returns `width` bits of a sum from bit `by` on, if all bits below it are zero: the sum of the quotients of its parts.
    pub(super) fn shifted_down(&mut self, a: Term, by: u32, width: u32) -> Term {
        let sum = self.linear(a);
        let mut total = self.number(width, sum.constant.unsigned() >> by);
        for (part, factor) in sum.parts {
            let (factor, part) = (self.number(width, factor.unsigned() >> by), self.extract(part, 0, width));
            let scaled = self.mul(factor, part);
            total = self.add(total, scaled);
        }
        total
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::Sort;

    #[test]
    fn multiples_of_fields_are_multiples_of_whole_terms() {
        let mut terms = Terms::for_code();
        let [x, y] = ["x", "y"].map(|name| terms.var(name, Sort::Bits(32)));
        let (field, mask) = (terms.extract(x, 2, 30), terms.number(32, !3));
        let quotient = terms.zero_extend(field, 32);
        let (sum, four) = (terms.add(quotient, y), terms.number(32, 4));
        let multiple = terms.mul(sum, four);
        let (rounded, by_2) = (terms.bit_and(x, mask), terms.number(32, 2));
        let shifted = terms.shl(y, by_2);
        assert_eq!(multiple, terms.add(rounded, shifted));
        let twice = terms.add(sum, sum);
        assert_ne!(twice, terms.add(rounded, shifted));
    }

    #[test]
    fn high_bits_of_multiples_are_bits_of_the_quotients() {
        let mut terms = Terms::for_code();
        let [x, y] = ["x", "y"].map(|name| terms.var(name, Sort::Bits(32)));
        let factor = terms.number(32, 0xffff_0000);
        let product = terms.mul(factor, x);
        let high = terms.extract(product, 16, 16);
        let low = terms.extract(x, 0, 16);
        assert_eq!(high, terms.neg(low));
        let (by_8, by_12) = (terms.number(32, 8), terms.number(32, 12));
        let (a, b) = (terms.shl(x, by_8), terms.shl(y, by_12));
        let sum = terms.add(a, b);
        let (by_4, cut) = (terms.number(24, 4), [x, y].map(|term| terms.extract(term, 0, 24)));
        let second = terms.shl(cut[1], by_4);
        let quotient = terms.add(cut[0], second);
        assert_eq!(terms.extract(sum, 8, 24), quotient);
        let byte = terms.var("byte", Sort::Bits(8));
        let wide = terms.zero_extend(byte, 32);
        assert_eq!(terms.bit_or(sum, wide), terms.concat(quotient, byte));
    }
}
