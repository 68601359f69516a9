//! Arithmetic: sums in the normal form of `linear.rs`, products with the constant first and shifts outside,
//! quotients, and remainders.

use crate::bits::Bits;
use crate::term::{Node, Op, Term, Terms};

impl Terms {
    /// Returns the sum.
    pub fn add(&mut self, a: Term, b: Term) -> Term {
        if self.simplifies() {
            let sum = self.linear(a).plus(&self.linear(b));
            return self.sum(&sum);
        }
        self.plain_binary(Op::Add, a, b, self.sort(a))
    }

    /// Returns the difference.
    pub fn sub(&mut self, a: Term, b: Term) -> Term {
        let minus = self.neg(b);
        self.add(a, minus)
    }

    /// Returns the two's complement.
    pub fn neg(&mut self, a: Term) -> Term {
        if self.simplifies() {
            let negated = self.linear(a).negated();
            return self.sum(&negated);
        }
        self.plain_unary(Op::Neg, a, self.sort(a))
    }

    /// Returns the bitwise complement.
    pub fn bit_not(&mut self, a: Term) -> Term {
        if self.simplifies() {
            let mut negated = self.linear(a).negated();
            negated.constant = negated.constant.add(Bits::ones(self.width(a)));
            return self.sum(&negated);
        }
        self.plain_unary(Op::BitNot, a, self.sort(a))
    }

    /// Returns the product.
    pub fn mul(&mut self, a: Term, b: Term) -> Term {
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
    pub fn udiv(&mut self, a: Term, b: Term) -> Term {
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
    pub fn urem(&mut self, a: Term, b: Term) -> Term {
        if self.simplifies()
            && let Some(bits) = self.bits(b)
            && bits.power_of_two().is_some()
        {
            let mask = self.constant(bits.add(Bits::ones(bits.width())));
            return self.bit_and(a, mask);
        }
        self.plain_binary(Op::Urem, a, b, self.sort(a))
    }

    /// Returns the signed quotient.
    pub fn sdiv(&mut self, a: Term, b: Term) -> Term {
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
    pub fn srem(&mut self, a: Term, b: Term) -> Term {
        if self.simplifies()
            && let Some(by) = self.bits(b)
            && [by, by.neg()].iter().any(|by| by.power_of_two().is_some_and(|shift| shift + 1 < by.width()))
        {
            let quotient = self.sdiv(a, b);
            let product = self.mul(quotient, b);
            return self.sub(a, product);
        }
        self.plain_binary(Op::Srem, a, b, self.sort(a))
    }
}
