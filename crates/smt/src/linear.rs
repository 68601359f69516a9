//! Sums in normal form: a constant, and one coefficient for each term that is not a sum itself.
//!
//! `~(x + 1) + 3*x` is `2*x - 2`: subtraction, negation, complement and shifts by constants are all coefficients. Equal
//! sums are one term, and the difference of two terms decides whether they can be equal.

use crate::bits::{Bits, Value};
use crate::term::{Node, Op, Term, Terms};

/// Sums with more parts than this are not flattened further.
const MAX_PARTS: usize = 64;

/// `constant + Σ coefficient * term`, modulo 2^width. Terms ascend, no coefficient is zero.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Linear {
    pub(crate) constant: Bits,
    pub(crate) parts: Vec<(Term, Bits)>,
}

impl Linear {
    fn normalize(&mut self) {
        self.parts.sort_unstable_by_key(|&(term, _)| term);
        self.parts.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 = kept.1.add(next.1);
            }
            same
        });
        self.parts.retain(|(_, coefficient)| !coefficient.is_zero());
    }

    /// Returns the sum of two sums.
    pub(crate) fn plus(mut self, other: &Linear) -> Linear {
        self.constant = self.constant.add(other.constant);
        self.parts.extend_from_slice(&other.parts);
        self.normalize();
        self
    }

    /// Returns the sum times a constant.
    pub(crate) fn times(mut self, factor: Bits) -> Linear {
        self.constant = self.constant.mul(factor);
        for (_, coefficient) in &mut self.parts {
            *coefficient = coefficient.mul(factor);
        }
        self.normalize();
        self
    }

    /// Returns the negated sum.
    pub(crate) fn negated(self) -> Linear {
        let minus_one = Bits::ones(self.constant.width());
        self.times(minus_one)
    }
}

impl Terms {
    /// Returns a bit-vector term as a sum.
    pub(crate) fn linear(&self, root: Term) -> Linear {
        let width = self.width(root);
        let mut sum = Linear { constant: Bits::new(width, 0), parts: Vec::new() };
        let mut work = vec![(root, Bits::new(width, 1))];
        while let Some((term, factor)) = work.pop() {
            if sum.parts.len() + work.len() > MAX_PARTS {
                sum.parts.push((term, factor));
                continue;
            }
            match self.node(term) {
                Node::Const(Value::Bits(bits)) => sum.constant = sum.constant.add(bits.mul(factor)),
                Node::Binary(Op::Add, a, b) => work.extend([(b, factor), (a, factor)]),
                Node::Unary(Op::Neg, a) => work.push((a, factor.neg())),
                Node::Unary(Op::BitNot, a) => {
                    sum.constant = sum.constant.add(factor.neg());
                    work.push((a, factor.neg()));
                }
                Node::Binary(op @ (Op::Mul | Op::Shl), a, b) => match (op, self.bits(a), self.bits(b)) {
                    (Op::Mul, Some(by), None) => work.push((b, factor.mul(by))),
                    (Op::Shl, None, Some(by)) => work.push((a, factor.shl(by))),
                    _ => sum.parts.push((term, factor)),
                },
                _ => sum.parts.push((term, factor)),
            }
        }
        sum.normalize();
        sum
    }

    /// Returns the term of a sum; equal sums have one term.
    pub(crate) fn sum(&mut self, sum: &Linear) -> Term {
        if self.is_of_code()
            && let Some(sum) = self.sum_of_whole_terms(sum)
        {
            return self.sum(&sum);
        }
        let width = sum.constant.width();
        if let [(term, factor)] = sum.parts[..]
            && factor.is_ones()
            && sum.constant.is_ones()
            && width > 1
        {
            return self.node_of(Op::BitNot, term);
        }
        let mut total = None;
        for &(term, factor) in &sum.parts {
            let part = self.scaled(term, factor);
            total = Some(match total {
                None => part,
                Some(before) => self.intern(Node::Binary(Op::Add, before, part), self.sort(part)),
            });
        }
        let constant = self.constant(sum.constant);
        match total {
            None => constant,
            Some(total) if sum.constant.is_zero() => total,
            Some(total) => self.intern(Node::Binary(Op::Add, total, constant), self.sort(total)),
        }
    }

    fn node_of(&mut self, op: Op, term: Term) -> Term {
        let sort = self.sort(term);
        self.intern(Node::Unary(op, term), sort)
    }

    fn scaled(&mut self, term: Term, factor: Bits) -> Term {
        let sort = self.sort(term);
        if factor.unsigned() == 1 {
            return term;
        }
        if let Some(shift) = factor.power_of_two() {
            let by = self.constant(Bits::new(factor.width(), u128::from(shift)));
            return self.intern(Node::Binary(Op::Shl, term, by), sort);
        }
        if factor.is_ones() {
            return self.node_of(Op::Neg, term);
        }
        let factor = self.constant(factor);
        self.intern(Node::Binary(Op::Mul, factor, term), sort)
    }
}

/// Returns the inverse of an odd `value` modulo 2^width, by Newton's iteration. Each step doubles the number of correct
/// low bits.
pub(crate) fn inverse(value: Bits) -> Bits {
    let two = Bits::new(value.width(), 2);
    let mut inverse = value;
    for _ in 0..7 {
        inverse = inverse.mul(two.add(value.mul(inverse).neg()));
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::Sort;

    #[test]
    fn equal_sums_are_one_term() {
        let mut terms = Terms::new();
        let x = terms.var("x", Sort::Bits(8));
        let y = terms.var("y", Sort::Bits(8));
        let sum = terms.add(x, y);
        let back = terms.sub(sum, y);
        assert_eq!(back, x);
        let not = terms.bit_not(x);
        let both = terms.add(not, x);
        assert_eq!(terms.bits(both), Some(Bits::ones(8)));
        let twice = terms.add(x, x);
        let three = terms.constant(Bits::new(8, 1));
        let shifted = terms.shl(x, three);
        assert_eq!(twice, shifted);
    }

    #[test]
    fn inverses() {
        for value in (1..256).step_by(2) {
            let value = Bits::new(8, value);
            assert_eq!(value.mul(inverse(value)).unsigned(), 1);
        }
        assert_eq!(inverse(Bits::ones(128)), Bits::ones(128));
    }
}
