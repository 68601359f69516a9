//! Operations that change the width: concatenation, extraction, extensions.

use crate::bits::Sort;
use crate::term::{Node, Op, Term, Terms};

impl Terms {
    /// Returns the concatenation of `high` and `low`.
    pub(super) fn build_concat(&mut self, high: Term, low: Term) -> Term {
        let sort = Sort::Bits(self.width(high) + self.width(low));
        if self.is_of_code()
            && let Some(normal) = self.code_concat(high, low)
        {
            return normal;
        }
        self.plain_binary(Op::Concat, high, low, sort)
    }

    /// Returns `width` bits of a term, from bit `low` on.
    pub(super) fn build_extract(&mut self, a: Term, low: u32, width: u32) -> Term {
        let all = self.width(a);
        assert!(low + width <= all, "bits {low} to {} of {all}", low + width);
        if self.simplifies() {
            if width == all {
                return a;
            }
            match self.node(a) {
                Node::Unary(Op::Extract { low: first }, inner) => return self.extract(inner, first + low, width),
                Node::Unary(Op::ZeroExtend | Op::SignExtend, inner) if low + width <= self.width(inner) => {
                    return self.extract(inner, low, width);
                }
                Node::Unary(Op::ZeroExtend, inner) if low >= self.width(inner) => return self.number(width, 0),
                Node::Unary(op @ (Op::ZeroExtend | Op::SignExtend), inner) if low == 0 => {
                    return self.unary(op, inner, Sort::Bits(width));
                }
                Node::Binary(Op::Concat, _, b) if low + width <= self.width(b) => return self.extract(b, low, width),
                Node::Binary(Op::Concat, high, b) if low >= self.width(b) => {
                    return self.extract(high, low - self.width(b), width);
                }
                _ => {}
            }
            if self.is_of_code()
                && let Some(normal) = self.code_extract(a, low, width)
            {
                return normal;
            }
        }
        self.plain_unary(Op::Extract { low }, a, Sort::Bits(width))
    }

    /// Zero-extends a term to `width` bits; returns the term itself if it has that width.
    pub(super) fn build_zero_extend(&mut self, a: Term, width: u32) -> Term {
        assert!(width >= self.width(a), "an extension to fewer bits");
        if width == self.width(a) {
            return a;
        }
        match self.node(a) {
            Node::Unary(Op::ZeroExtend, inner) if self.simplifies() => self.zero_extend(inner, width),
            Node::Ternary(..) | Node::Binary(Op::Mul | Op::Shl, ..) if self.is_of_code() => {
                match self.code_extend(Op::ZeroExtend, a, width) {
                    Some(normal) => normal,
                    None => self.plain_unary(Op::ZeroExtend, a, Sort::Bits(width)),
                }
            }
            _ => self.plain_unary(Op::ZeroExtend, a, Sort::Bits(width)),
        }
    }

    /// Sign-extends a term to `width` bits; returns the term itself if it has that width.
    pub(super) fn build_sign_extend(&mut self, a: Term, width: u32) -> Term {
        assert!(width >= self.width(a), "an extension to fewer bits");
        if width == self.width(a) {
            return a;
        }
        match self.node(a) {
            Node::Unary(Op::SignExtend, inner) if self.simplifies() => self.sign_extend(inner, width),
            Node::Unary(Op::ZeroExtend, inner) if self.simplifies() => self.zero_extend(inner, width),
            Node::Ternary(..) if self.is_of_code() => match self.code_extend(Op::SignExtend, a, width) {
                Some(normal) => normal,
                None => self.plain_unary(Op::SignExtend, a, Sort::Bits(width)),
            },
            _ => self.plain_unary(Op::SignExtend, a, Sort::Bits(width)),
        }
    }
}
