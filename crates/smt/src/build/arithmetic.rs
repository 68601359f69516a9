//! Arithmetic: sums in the normal form of `linear.rs`, products with the constant first and shifts outside,
//! quotients, and remainders.

use crate::bits::Bits;
use crate::term::{Node, Op, Term, Terms};

impl Terms {
    /// Returns the sum.
    pub(super) fn build_add(&mut self, a: Term, b: Term) -> Term {
        if self.simplifies() {
            if let Some(sum) = self.add_quickly(a, b) {
                return sum;
            }
            let sum = self.linear(a).plus(&self.linear(b));
            if self.is_of_code()
                && let Some(converted) = self.doubled_half(&sum)
            {
                return converted;
            }
            return self.sum(&sum);
        }
        self.plain_binary(Op::Add, a, b, self.sort(a))
    }

    /// Returns the normal form of the most frequent sums, as of an address and a distance, without a list of their
    /// parts: two terms that are no sums, or one of them or its sum with a constant, and a constant. Building the terms
    /// of machine instructions takes 7 % less time. Adds the same terms as the general case, because their numbers
    /// order operands.
    fn add_quickly(&mut self, a: Term, b: Term) -> Option<Term> {
        let sort = self.sort(a);
        let (a, b) = if self.bits(a).is_some() { (b, a) } else { (a, b) };
        let Some(second) = self.bits(b) else {
            if a == b || !self.is_part(a) || !self.is_part(b) {
                return None;
            }
            let sum = self.intern(Node::Binary(Op::Add, a.min(b), a.max(b)), sort);
            self.number(self.width(a), 0);
            return Some(sum);
        };
        let (part, constant) = match self.node(a) {
            Node::Binary(Op::Add, part, first) => (part, self.bits(first)?.add(second)),
            _ => (a, second),
        };
        if !self.is_part(part) {
            return None;
        }
        let number = self.constant(constant);
        Some(if constant.is_zero() { part } else { self.intern(Node::Binary(Op::Add, part, number), sort) })
    }

    /// Returns `true` if the term is one part of a sum, with the coefficient 1.
    fn is_part(&self, term: Term) -> bool {
        !matches!(
            self.node(term),
            Node::Const(_) | Node::Unary(Op::Neg | Op::BitNot, _) | Node::Binary(Op::Add | Op::Mul | Op::Shl, _, _)
        )
    }

    /// Returns the difference.
    pub fn sub(&mut self, a: Term, b: Term) -> Term {
        let minus = self.neg(b);
        self.add(a, minus)
    }

    /// Returns the two's complement.
    pub(super) fn build_neg(&mut self, a: Term) -> Term {
        if self.simplifies() {
            if let Some(bits) = self.bits(a) {
                return self.constant(bits.neg());
            }
            let negated = self.linear(a).negated();
            return self.sum(&negated);
        }
        self.plain_unary(Op::Neg, a, self.sort(a))
    }

    /// Returns the bitwise complement.
    pub(super) fn build_bit_not(&mut self, a: Term) -> Term {
        if self.simplifies() {
            let mut negated = self.linear(a).negated();
            negated.constant = negated.constant.add(Bits::ones(self.width(a)));
            return self.sum(&negated);
        }
        self.plain_unary(Op::BitNot, a, self.sort(a))
    }

    /// Returns the product.
    pub(super) fn build_mul(&mut self, a: Term, b: Term) -> Term {
        if !self.simplifies() {
            return self.plain_binary(Op::Mul, a, b, self.sort(a));
        }
        let (left, right) = (self.linear(a), self.linear(b));
        for (constant, sum) in [(&left, &right), (&right, &left)] {
            if constant.parts.is_empty() {
                let product = sum.clone().times(constant.constant);
                return self.sum(&product);
            }
        }
        // Coefficients and shifts move outside, so that products of the same factors are one term.
        if let ([(x, m)], [(y, n)]) = (&left.parts[..], &right.parts[..])
            && left.constant.is_zero()
            && right.constant.is_zero()
        {
            let product = self.product(*x, *y);
            let scaled = self.linear(product).times(m.mul(*n));
            return self.sum(&scaled);
        }
        self.product(a, b)
    }

    /// Returns the product of terms without coefficients. Rewrites `(x << k) * y` to `(x * y) << k` and sorts the
    /// factors.
    fn product(&mut self, a: Term, b: Term) -> Term {
        for (x, y) in [(a, b), (b, a)] {
            if let Node::Binary(Op::Shl, base, by) = self.node(x)
                && self.bits(by).is_none()
            {
                let inner = self.mul(base, y);
                return self.shl(inner, by);
            }
        }
        let mut factors = self.factors(a);
        factors.extend(self.factors(b));
        factors.sort_unstable();
        let sort = self.sort(a);
        let product =
            factors.into_iter().reduce(|product, factor| self.intern(Node::Binary(Op::Mul, product, factor), sort));
        product.expect("a product has factors")
    }

    fn factors(&self, product: Term) -> Vec<Term> {
        let mut factors = Vec::new();
        let mut rest = product;
        while let Node::Binary(Op::Mul, a, b) = self.node(rest)
            && factors.len() < 16
        {
            factors.push(b);
            rest = a;
        }
        factors.push(rest);
        factors
    }

    /// Returns the unsigned quotient.
    pub(super) fn build_udiv(&mut self, a: Term, b: Term) -> Term {
        if self.simplifies() {
            let width = self.width(a);
            if let Some(by) = self.bits(b).and_then(Bits::power_of_two) {
                let by = self.number(width, u128::from(by));
                return self.lshr(a, by);
            }
            if let Some(by) = self.symbolic_power(b) {
                // A power whose one is shifted out is zero.
                let limit = self.number(width, u128::from(width));
                let small = self.ult(by, limit);
                let shifted = self.lshr(a, by);
                let ones = self.constant(Bits::ones(width));
                return self.ite(small, shifted, ones);
            }
            if self.is_of_code()
                && let Some(normal) = self.code_udiv(a, b)
            {
                return normal;
            }
        }
        self.plain_binary(Op::Udiv, a, b, self.sort(a))
    }

    /// Returns `k` if the term is `1 << k`.
    fn symbolic_power(&self, term: Term) -> Option<Term> {
        match self.node(term) {
            Node::Binary(Op::Shl, one, by) if self.bits(one).is_some_and(|one| one.unsigned() == 1) => Some(by),
            _ => None,
        }
    }

    /// Returns the unsigned remainder.
    pub(super) fn build_urem(&mut self, a: Term, b: Term) -> Term {
        if self.simplifies()
            && let Some(bits) = self.bits(b)
            && bits.power_of_two().is_some()
        {
            let mask = self.constant(bits.add(Bits::ones(bits.width())));
            return self.bit_and(a, mask);
        }
        if self.is_of_code() && self.bits(a).is_none_or(|_| self.bits(b).is_none()) {
            return self.code_remainder(Op::Udiv, a, b);
        }
        self.plain_binary(Op::Urem, a, b, self.sort(a))
    }

    /// Returns the signed quotient.
    pub(super) fn build_sdiv(&mut self, a: Term, b: Term) -> Term {
        if self.simplifies()
            && let Some(by) = self.bits(b)
        {
            if let Some(shift) = by.power_of_two().filter(|&shift| shift + 1 < by.width()) {
                return self.divide_by_power(a, shift);
            }
            if by.neg().power_of_two().is_some_and(|shift| shift + 1 < by.width()) {
                let positive = self.constant(by.neg());
                let quotient = self.sdiv(a, positive);
                return self.neg(quotient);
            }
        }
        self.plain_binary(Op::Sdiv, a, b, self.sort(a))
    }

    /// Returns `a / 2^shift`, rounded toward zero. Adds `2^shift - 1` to a negative dividend before the shift.
    fn divide_by_power(&mut self, a: Term, shift: u32) -> Term {
        if shift == 0 {
            return a;
        }
        let width = self.width(a);
        let [sign, rest, by] = [width - 1, width - shift, shift].map(|k| self.number(width, u128::from(k)));
        let signs = self.ashr(a, sign);
        let bias = self.lshr(signs, rest);
        let biased = self.add(a, bias);
        self.ashr(biased, by)
    }

    /// Returns the signed remainder.
    pub(super) fn build_srem(&mut self, a: Term, b: Term) -> Term {
        if self.simplifies()
            && let Some(by) = self.bits(b)
            && [by, by.neg()].iter().any(|by| by.power_of_two().is_some_and(|shift| shift + 1 < by.width()))
        {
            let quotient = self.sdiv(a, b);
            let product = self.mul(quotient, b);
            return self.sub(a, product);
        }
        if self.is_of_code()
            && let Some(b) = self.one_for_minus_one(b)
        {
            return self.srem(a, b);
        }
        if self.is_of_code() && self.bits(a).is_none_or(|_| self.bits(b).is_none()) {
            return self.code_remainder(Op::Sdiv, a, b);
        }
        self.plain_binary(Op::Srem, a, b, self.sort(a))
    }

    /// Returns the number for which a divisor of code is 1 if the number is -1: the quotient may overflow, and both
    /// remainders are zero.
    fn one_for_minus_one(&self, divisor: Term) -> Option<Term> {
        let Node::Ternary(Op::Ite, condition, one, number) = self.node(divisor) else { return None };
        let Node::Binary(Op::Eq, x, y) = self.node(condition) else { return None };
        let is_minus_one = |term| self.bits(term).is_some_and(|bits| bits == Bits::ones(bits.width()));
        // The number may be extended.
        let is_number = |term| term == number || self.node(number) == Node::Unary(Op::SignExtend, term);
        let compares = is_number(x) && is_minus_one(y) || is_number(y) && is_minus_one(x);
        (compares && self.bits(one).is_some_and(|one| one.unsigned() == 1)).then_some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::Sort;

    #[test]
    fn remainders_by_one_and_minus_one_are_equal() {
        let mut terms = Terms::for_code();
        let [x, y] = ["x", "y"].map(|name| terms.var(name, Sort::Bits(8)));
        let (one, minus_one) = (terms.number(8, 1), terms.number(8, 0xff));
        let is_minus_one = terms.eq(y, minus_one);
        let divisor = terms.ite(is_minus_one, one, y);
        let (code, function) = (terms.srem(x, divisor), terms.srem(x, y));
        assert_eq!(code, function);
        for x in 0..=0xff {
            let x = terms.number(8, x);
            assert_eq!(terms.srem(x, one), terms.srem(x, minus_one));
        }
    }

    /// Sums that are built quickly are the sums of their parts.
    #[test]
    fn quick_sums_are_sums() {
        for width in [1, 2, 8, 64] {
            let mut terms = Terms::new();
            let [x, y] = ["x", "y"].map(|name| terms.var(name, Sort::Bits(width)));
            let numbers = [0, 1, 2, 3, u128::MAX, u128::MAX - 1].map(|number| terms.number(width, number));
            let mut pool = numbers.to_vec();
            pool.extend([x, y, terms.neg(x), terms.bit_not(x), terms.mul(x, y), terms.bit_and(x, y)]);
            for _ in 0..2 {
                let known = pool.clone();
                for (&a, &b) in known.iter().flat_map(|a| known.iter().map(move |b| (a, b))) {
                    let parts = terms.linear(a).plus(&terms.linear(b));
                    let (sum, expected) = (terms.add(a, b), terms.sum(&parts));
                    assert_eq!(sum, expected, "{:?} + {:?}", terms.node(a), terms.node(b));
                    if pool.len() < 60 && !pool.contains(&sum) {
                        pool.push(sum);
                    }
                }
            }
        }
    }
}
