//! Normal forms of choices in terms of machine code; see the table in `code.rs`.

use crate::bits::{Bits, Sort};
use crate::substitute::Substitution;
use crate::term::{Node, Op, Term, Terms};

impl Terms {
    /// Returns a choice between extensions as an extension of a choice.
    pub(super) fn code_ite(&mut self, condition: Term, a: Term, b: Term) -> Option<Term> {
        let width = self.bits_width(a)?;
        if let Some(carries) = self.code_carries(condition, a, b) {
            return Some(carries);
        }
        if let Some(moved) = self.code_bound(condition, a, b) {
            return Some(moved);
        }
        // A choice by one condition after another is the first one.
        if let Node::Ternary(Op::Ite, other, x, _) = self.node(a)
            && other == condition
        {
            return Some(self.ite(condition, x, b));
        }
        if let Node::Ternary(Op::Ite, other, _, y) = self.node(b)
            && other == condition
        {
            return Some(self.ite(condition, a, y));
        }
        // Where both arms are equal, either is the value.
        if let Node::Binary(Op::Eq, x, y) = self.node(condition)
            && ((x, y) == (a, b) || (x, y) == (b, a))
        {
            return Some(b);
        }
        // Where both sides of the condition are equal, the other arm has the value of a constant arm.
        if let Node::Binary(Op::Eq, x, y) = self.node(condition)
            && self.bits(a).is_some()
        {
            for (from, to) in [(x, y), (y, x)] {
                if self.bits(from).is_none() {
                    let pair = self.whole_pair(from, to);
                    if Substitution::new([pair]).apply(self, b) == a {
                        return Some(b);
                    }
                }
            }
        }
        // Both spellings of a minimum or a maximum choose by the order of the operands in the arena.
        if let Node::Binary(op @ (Op::Ult | Op::Slt), x, y) = self.node(condition)
            && ((x, y) == (a, b) || (x, y) == (b, a))
            && self.bits(x).is_none()
            && self.bits(y).is_none()
            && x > y
        {
            let condition = self.binary(op, y, x);
            return Some(self.ite(condition, b, a));
        }
        if let Some(magnitude) = self.code_magnitude(condition, a, b) {
            return Some(magnitude);
        }
        // Arms that differ by a number.
        if self.bits(a).is_none() {
            let difference = self.linear(a).plus(&self.linear(b).negated());
            if difference.parts.is_empty() {
                let (step, zero) = (self.constant(difference.constant), self.number(width, 0));
                let step = self.ite(condition, step, zero);
                return Some(self.add(b, step));
            }
        }
        let (op, x, y) = match (self.node(a), self.node(b)) {
            (Node::Unary(op @ (Op::ZeroExtend | Op::SignExtend), x), Node::Unary(other, y))
                if op == other && self.sort(x) == self.sort(y) =>
            {
                (op, x, y)
            }
            (Node::Unary(Op::ZeroExtend, x), _) => {
                let narrow = self.width(x);
                let y = self.bits(b).filter(|bits| bits.unsigned() >> narrow == 0)?;
                (Op::ZeroExtend, x, self.number(narrow, y.unsigned()))
            }
            (_, Node::Unary(Op::ZeroExtend, y)) => {
                let narrow = self.width(y);
                let x = self.bits(a).filter(|bits| bits.unsigned() >> narrow == 0)?;
                (Op::ZeroExtend, self.number(narrow, x.unsigned()), y)
            }
            _ => return None,
        };
        let inner = self.ite(condition, x, y);
        Some(self.unary(op, inner, Sort::Bits(width)))
    }

    /// Returns a magnitude, or a negated one, as a choice by the sign of the older of two terms: a number and its negation have
    /// one magnitude.
    fn code_magnitude(&mut self, condition: Term, a: Term, b: Term) -> Option<Term> {
        let Node::Binary(Op::Slt, x, zero) = self.node(condition) else { return None };
        if !self.bits(zero).is_some_and(Bits::is_zero) || x != a.max(b) || self.neg(a) != b {
            return None;
        }
        let (other, negated) = (a.min(b), x == a);
        let is_negative = self.slt(other, zero);
        Some(if negated { self.ite(is_negative, other, x) } else { self.ite(is_negative, x, other) })
    }

    /// Returns a choice between a constant and bits of a compared term by the other of two bounds that choose equally,
    /// because both arms are equal at one number: `if x < 7 then 7 else x` by `x < 8`.
    fn code_bound(&mut self, condition: Term, a: Term, b: Term) -> Option<Term> {
        let (op, x, limit) = match self.node(condition) {
            Node::Binary(op @ (Op::Ult | Op::Slt), x, limit) => (op, x, self.bits(limit)?),
            Node::Binary(Op::Eq, x, y) => {
                let (x, number) = if self.bits(x).is_some() { (y, x) } else { (x, y) };
                return self.code_bound_at_end(x, self.bits(number)?, a, b);
            }
            _ => return None,
        };
        self.code_bound_by(op, (x, limit), a, b)
    }

    /// Returns a choice by an equality with the least or the greatest number as one by a bound.
    fn code_bound_at_end(&mut self, x: Term, number: Bits, a: Term, b: Term) -> Option<Term> {
        let (width, next) = (number.width(), number.add(Bits::new(number.width(), 1)));
        let (least, most) = (Bits::sign_bit(width), Bits::sign_bit(width).not());
        match number {
            _ if number.is_zero() => self.code_bound_by(Op::Ult, (x, next), a, b),
            _ if number.is_ones() => self.code_bound_by(Op::Ult, (x, number), b, a),
            _ if number == least => self.code_bound_by(Op::Slt, (x, next), a, b),
            _ if number == most => self.code_bound_by(Op::Slt, (x, number), b, a),
            _ => None,
        }
    }

    fn code_bound_by(&mut self, op: Op, (x, limit): (Term, Bits), a: Term, b: Term) -> Option<Term> {
        let (width, is_signed) = (limit.width(), op == Op::Slt);
        let least = if is_signed { Bits::sign_bit(width) } else { Bits::new(width, 0) };
        let below = limit.add(Bits::ones(width));
        // The number at which the arms are compared, and the other bound.
        let (number, bound, arm, constant) = match (self.bits(a), self.bits(b)) {
            (Some(constant), None) if limit != least.add(Bits::ones(width)) => {
                (limit, limit.add(Bits::new(width, 1)), b, constant)
            }
            (None, Some(constant)) if limit != least => (below, below, a, constant),
            _ => return None,
        };
        let value = match self.node(arm) {
            _ if arm == x => number,
            Node::Unary(Op::Extract { low: 0 }, whole) if whole == x => number.extract(0, constant.width()),
            _ => return None,
        };
        if value != constant {
            return None;
        }
        let bound = self.constant(bound);
        let condition = self.binary(op, x, bound);
        Some(self.ite(condition, a, b))
    }

    /// Returns a replacement of the term from which `from` is extracted, in which `to` has the place of `from`.
    fn whole_pair(&mut self, from: Term, to: Term) -> (Term, Term) {
        let Node::Unary(Op::Extract { low }, whole) = self.node(from) else { return (from, to) };
        let (end, width) = (low + self.width(from), self.width(whole));
        let mut new = to;
        if low > 0 {
            let below = self.extract(whole, 0, low);
            new = self.concat(new, below);
        }
        if end < width {
            let above = self.extract(whole, end, width - end);
            new = self.concat(above, new);
        }
        (whole, new)
    }

    /// Returns a bitwise operation of two choices between zero and the same number as a choice by both conditions.
    pub(super) fn code_bitwise_choice(&mut self, op: Op, a: Term, b: Term) -> Option<Term> {
        let flag = |terms: &Terms, term| match terms.node(term) {
            Node::Ternary(Op::Ite, condition, x, y) => match (terms.bits(x)?, terms.bits(y)?) {
                (number, zero) if zero.is_zero() => Some((condition, true, number)),
                (zero, number) if zero.is_zero() => Some((condition, false, number)),
                _ => None,
            },
            _ => None,
        };
        let (x, y) = (flag(self, a)?, flag(self, b)?);
        if x.2 != y.2 {
            return None;
        }
        let [first, second] = [x, y].map(|(condition, holds, _)| if holds { condition } else { self.not(condition) });
        let condition = match op {
            Op::BitAnd => self.and(first, second),
            Op::BitOr => self.or(first, second),
            _ => {
                let equal = self.eq(first, second);
                self.not(equal)
            }
        };
        let (number, zero) = (self.constant(x.2), self.number(x.2.width(), 0));
        Some(self.ite(condition, number, zero))
    }
}
