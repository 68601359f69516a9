//! Comparisons. Equalities are solved for their variable; `<=` is a negated `<`.

use crate::bits::{Bits, Sort};
use crate::linear::{Linear, inverse};
use crate::term::{Node, Op, Term, Terms};

impl Terms {
    /// Returns the equality of two terms.
    pub(super) fn build_eq(&mut self, a: Term, b: Term) -> Term {
        if !self.simplifies() {
            return self.plain_binary(Op::Eq, a, b, Sort::Bool);
        }
        if a == b {
            return self.bool(true);
        }
        match self.sort(a) {
            Sort::Bool => self.eq_bool(a, b),
            Sort::Bits(_) => self.eq_bits(a, b),
        }
    }

    fn eq_bool(&mut self, a: Term, b: Term) -> Term {
        for (x, y) in [(a, b), (b, a)] {
            match self.value(x) {
                Some(value) if value.is_true() => return y,
                Some(_) => return self.not(y),
                None => {}
            }
        }
        self.plain_binary(Op::Eq, a.min(b), a.max(b), Sort::Bool)
    }

    /// Decides an equality by the difference of both sides. Moves each remaining part to the side where its sign is
    /// positive.
    fn eq_bits(&mut self, a: Term, b: Term) -> Term {
        let difference = self.linear(a).plus(&self.linear(b).negated());
        match difference.parts[..] {
            [] => return self.bool(difference.constant.is_zero()),
            [(term, factor)] if factor.unsigned() & 1 == 1 => {
                let value = difference.constant.neg().mul(inverse(factor));
                return self.eq_constant(term, value);
            }
            [(term, factor)] if self.is_of_code() => {
                if let Some(normal) = self.code_eq_scaled(term, factor, difference.constant.neg()) {
                    return normal;
                }
            }
            _ => {}
        }
        let zero = Bits::new(difference.constant.width(), 0);
        let (left, right) = difference.parts.into_iter().partition(|(_, factor)| factor.signed() >= 0);
        let left = self.sum(&Linear { constant: zero, parts: left });
        let right = self.sum(&Linear { constant: difference.constant, parts: right }.negated());
        if let (Node::Unary(op, x), Node::Unary(other, y)) = (self.node(left), self.node(right))
            && op == other
            && matches!(op, Op::ZeroExtend | Op::SignExtend)
            && self.sort(x) == self.sort(y)
        {
            return self.eq(x, y);
        }
        if self.is_of_code()
            && let Some(normal) = self.code_eq_extended(left, right).or_else(|| self.code_eq_joined(left, right))
        {
            return normal;
        }
        self.intern(Node::Binary(Op::Eq, left.min(right), left.max(right)), Sort::Bool)
    }

    fn eq_constant(&mut self, term: Term, value: Bits) -> Term {
        match self.node(term) {
            Node::Ternary(Op::Ite, condition, a, b) => {
                if let (Some(x), Some(y)) = (self.bits(a), self.bits(b)) {
                    return match (x == value, y == value) {
                        (true, _) => condition,
                        (_, true) => self.not(condition),
                        _ => self.bool(false),
                    };
                }
                let (is_other, other, constant) = match (self.bits(a), self.bits(b)) {
                    (Some(constant), _) => (self.not(condition), b, Some(constant)),
                    (_, constant) => (condition, a, constant),
                };
                if let Some(constant) = constant {
                    let expected = self.constant(value);
                    let equal = self.eq(other, expected);
                    return if constant == value { self.implies(is_other, equal) } else { self.and(is_other, equal) };
                }
            }
            // A one shifted left is lost if the amount is not below the width.
            Node::Binary(Op::Shl, one, by) if value.is_zero() && self.is_one(one) => {
                let width = self.number(value.width(), value.width().into());
                return self.ule(width, by);
            }
            Node::Unary(op @ (Op::ZeroExtend | Op::SignExtend), inner) => {
                let width = self.width(inner);
                let cut = value.extract(0, width);
                let fits =
                    if op == Op::ZeroExtend { cut.zero_extend(value.width()) } else { cut.sign_extend(value.width()) };
                if fits != value {
                    return self.bool(false);
                }
                let cut = self.constant(cut);
                return self.eq(inner, cut);
            }
            // A set bit stays set.
            Node::Binary(Op::BitOr, a, _)
                if self.is_of_code() && self.bits(a).is_some_and(|set| !set.and(value.not()).is_zero()) =>
            {
                return self.bool(false);
            }
            Node::Binary(Op::BitXor, a, b) => {
                if let Some(mask) = self.bits(a) {
                    return self.eq_constant(b, value.xor(mask));
                }
                if value.is_zero() {
                    return self.eq(a, b);
                }
            }
            _ => {}
        }
        let value = self.constant(value);
        self.plain_binary(Op::Eq, term.min(value), term.max(value), Sort::Bool)
    }

    /// Returns the inequality of two terms.
    pub fn ne(&mut self, a: Term, b: Term) -> Term {
        let equal = self.eq(a, b);
        self.not(equal)
    }

    /// Returns the comparison `a < b` of unsigned numbers.
    pub(super) fn build_ult(&mut self, a: Term, b: Term) -> Term {
        if self.simplifies() {
            let width = self.width(a);
            let zero = self.number(width, 0);
            let ones = self.constant(Bits::ones(width));
            if a == b || b == zero || a == ones {
                return self.bool(false);
            }
            if a == zero || b == ones {
                return self.ne(a, b);
            }
            if self.bits(b).is_some_and(|b| b.unsigned() == 1) {
                return self.eq(a, zero);
            }
            if let (Node::Unary(Op::ZeroExtend, x), Node::Unary(Op::ZeroExtend, y)) = (self.node(a), self.node(b))
                && self.sort(x) == self.sort(y)
            {
                return self.ult(x, y);
            }
            if self.is_of_code()
                && self.value(a).is_none_or(|_| self.value(b).is_none())
                && let Some(normal) = self.code_less(Op::Ult, a, b)
            {
                return normal;
            }
        }
        self.plain_binary(Op::Ult, a, b, Sort::Bool)
    }

    /// Returns the comparison `a <= b` of unsigned numbers.
    pub fn ule(&mut self, a: Term, b: Term) -> Term {
        if self.simplifies() {
            let less = self.ult(b, a);
            return self.not(less);
        }
        self.plain_binary(Op::Ule, a, b, Sort::Bool)
    }

    /// Returns the comparison `a < b` of signed numbers.
    pub(super) fn build_slt(&mut self, a: Term, b: Term) -> Term {
        if self.simplifies() {
            let width = self.width(a);
            let least = self.constant(Bits::sign_bit(width));
            let most = self.constant(Bits::sign_bit(width).not());
            if a == b || b == least || a == most {
                return self.bool(false);
            }
            if a == least || b == most {
                return self.ne(a, b);
            }
            if let (Node::Unary(Op::SignExtend, x), Node::Unary(Op::SignExtend, y)) = (self.node(a), self.node(b))
                && self.sort(x) == self.sort(y)
            {
                return self.slt(x, y);
            }
            if self.is_of_code()
                && self.value(a).is_none_or(|_| self.value(b).is_none())
                && let Some(normal) = self.code_less(Op::Slt, a, b)
            {
                return normal;
            }
        }
        self.plain_binary(Op::Slt, a, b, Sort::Bool)
    }

    /// Returns the comparison `a <= b` of signed numbers.
    pub fn sle(&mut self, a: Term, b: Term) -> Term {
        if self.simplifies() {
            let less = self.slt(b, a);
            return self.not(less);
        }
        self.plain_binary(Op::Sle, a, b, Sort::Bool)
    }
}
