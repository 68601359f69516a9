//! Shifts and bitwise operations. Shifts by equal amounts are moved outside of bitwise operations.

use crate::bits::{Bits, Value};
use crate::term::{Node, Op, Term, Terms};

impl Terms {
    /// Returns `a` shifted left.
    pub(super) fn build_shl(&mut self, a: Term, by: Term) -> Term {
        if !self.simplifies() {
            return self.plain_binary(Op::Shl, a, by, self.sort(a));
        }
        if let Some(amount) = self.bits(by) {
            if self.is_of_code()
                && let Some(normal) = self.code_shift_left(a, amount)
            {
                return normal;
            }
            if let Node::Binary(Op::Lshr | Op::Ashr, inner, back) = self.node(a)
                && back == by
            {
                let mask = self.constant(Bits::ones(amount.width()).shl(amount));
                return self.bit_and(inner, mask);
            }
            if let Node::Binary(Op::Shl, inner, first) = self.node(a)
                && amount.unsigned() == 1
                && self.is_of_code()
                && let Some(normal) = self.code_shift_and_one(Op::Shl, inner, first)
            {
                return normal;
            }
            let power = Bits::new(amount.width(), 1).shl(amount);
            let scaled = self.linear(a).times(power);
            return self.sum(&scaled);
        }
        if self.is_of_code()
            && let Some(normal) = self.code_wide_shift(Op::Shl, a, by)
        {
            return normal;
        }
        match self.node(a) {
            Node::Const(Value::Bits(bits)) if bits.is_zero() => a,
            // The order of two shifts left does not matter, so the shift by a constant is moved outside.
            Node::Binary(Op::Shl, inner, first) if self.bits(first).is_some() => {
                let shifted = self.shl(inner, by);
                self.shl(shifted, first)
            }
            Node::Binary(Op::Shl, inner, first) => self.shift_twice(Op::Shl, inner, first, by),
            _ => self.intern(Node::Binary(Op::Shl, a, by), self.sort(a)),
        }
    }

    /// Returns `a` shifted right, filled with zeros.
    pub(super) fn build_lshr(&mut self, a: Term, by: Term) -> Term {
        if self.simplifies()
            && let Some(amount) = self.bits(by)
        {
            if amount.is_zero() {
                return a;
            }
            let width = amount.width();
            if amount.unsigned() >= u128::from(width) {
                return self.number(width, 0);
            }
            if self.is_of_code()
                && let Some(normal) = self.code_shift(Op::ZeroExtend, a, amount)
            {
                return normal;
            }
            match self.node(a) {
                Node::Binary(Op::Lshr, inner, first) => {
                    if let Some(first) = self.bits(first)
                        && let Some(total) = first.unsigned().checked_add(amount.unsigned())
                    {
                        return self.lshr_by(inner, total);
                    }
                }
                Node::Binary(Op::Shl, inner, first) if first == by => {
                    let mask = self.constant(Bits::ones(width).lshr(amount));
                    return self.bit_and(inner, mask);
                }
                _ => {}
            }
        }
        match self.node(a) {
            Node::Binary(Op::Shl, one, up) if self.simplifies() && self.is_one(one) && self.bits(by).is_none() => {
                self.shift_one(up, by)
            }
            _ => self.shift_right(Op::Lshr, a, by),
        }
    }

    pub(super) fn is_one(&self, term: Term) -> bool {
        self.bits(term).is_some_and(|bits| bits.unsigned() == 1)
    }

    /// Returns `(1 << up) >> down`: a one shifted by the difference, or zero if either shift moves the one out.
    fn shift_one(&mut self, up: Term, down: Term) -> Term {
        let width = self.width(up);
        let [zero, one, most] = [0, 1, width].map(|number| self.number(width, number.into()));
        let (is_kept, is_below) = (self.ult(up, most), self.ule(down, up));
        let is_left = self.and(is_kept, is_below);
        let difference = self.sub(up, down);
        let shifted = self.shl(one, difference);
        self.ite(is_left, shifted, zero)
    }

    /// Returns a logical shift by an amount that may not fit the width.
    fn lshr_by(&mut self, a: Term, amount: u128) -> Term {
        let width = self.width(a);
        if amount >= u128::from(width) {
            return self.number(width, 0);
        }
        let by = self.number(width, amount);
        self.lshr(a, by)
    }

    /// Returns `a` shifted right, filled with its sign bit.
    pub(super) fn build_ashr(&mut self, a: Term, by: Term) -> Term {
        if self.simplifies()
            && let Some(amount) = self.bits(by)
        {
            let width = amount.width();
            if amount.is_zero() || width == 1 {
                return a;
            }
            if amount.unsigned() >= u128::from(width) {
                let most = self.number(width, u128::from(width - 1));
                return self.ashr(a, most);
            }
            if self.is_of_code()
                && let Some(normal) = self.code_shift(Op::SignExtend, a, amount)
            {
                return normal;
            }
            if let Node::Binary(Op::Ashr, inner, first) = self.node(a)
                && let Some(first) = self.bits(first)
            {
                let total = (first.unsigned() + amount.unsigned()).min(u128::from(width - 1));
                let by = self.number(width, total);
                return self.ashr(inner, by);
            }
        }
        self.shift_right(Op::Ashr, a, by)
    }

    fn shift_right(&mut self, op: Op, a: Term, by: Term) -> Term {
        if self.simplifies() {
            if self.bits(a).is_some_and(Bits::is_zero) {
                return a;
            }
            if self.is_of_code()
                && self.bits(by).is_none()
                && let Some(normal) = self.code_wide_shift(op, a, by).or_else(|| self.code_shift_by(op, a, by))
            {
                return normal;
            }
            if let Node::Binary(inner_op, inner, first) = self.node(a)
                && inner_op == op
                && self.bits(first).is_none()
                && self.bits(by).is_none()
            {
                return self.shift_twice(op, inner, first, by);
            }
        }
        self.plain_binary(op, a, by, self.sort(a))
    }

    /// Merges two shifts of one kind into a shift by the sum of their amounts. If the sum wraps, one amount is at least
    /// 2^(width - 1) and therefore at least the width.
    fn shift_twice(&mut self, op: Op, a: Term, first: Term, second: Term) -> Term {
        let width = self.width(a);
        let sum = self.add(first, second);
        let wraps = self.ult(sum, first);
        let by_sum = self.binary(op, a, sum);
        let most = self.number(width, u128::from(width));
        let by_all = self.binary(op, a, most);
        self.ite(wraps, by_all, by_sum)
    }

    /// Returns the bitwise and.
    pub(super) fn build_bit_and(&mut self, a: Term, b: Term) -> Term {
        self.bitwise(Op::BitAnd, a, b)
    }

    /// Returns the bitwise or.
    pub(super) fn build_bit_or(&mut self, a: Term, b: Term) -> Term {
        self.bitwise(Op::BitOr, a, b)
    }

    /// Returns the bitwise exclusive or.
    pub(super) fn build_bit_xor(&mut self, a: Term, b: Term) -> Term {
        self.bitwise(Op::BitXor, a, b)
    }

    pub(super) fn bitwise(&mut self, op: Op, a: Term, b: Term) -> Term {
        let sort = self.sort(a);
        if !self.simplifies() || (self.bits(a).is_some() && self.bits(b).is_some()) {
            return self.plain_binary(op, a, b, sort);
        }
        // A constant is the first operand; other operands ascend.
        let (a, b) = if self.bits(a).is_some() || (self.bits(b).is_none() && a < b) { (a, b) } else { (b, a) };
        if a == b {
            return if op == Op::BitXor { self.number(self.width(a), 0) } else { a };
        }
        if self.is_of_code()
            && !self.bits(a).is_some_and(|mask| mask.is_zero() || mask.is_ones())
            && let Some(normal) = self.code_bitwise(op, a, b)
        {
            return normal;
        }
        if let Some(mask) = self.bits(a) {
            return self.masked(op, mask, b);
        }
        if let (Node::Binary(x, left, by), Node::Binary(y, right, other)) = (self.node(a), self.node(b))
            && (x, by) == (y, other)
            && matches!(x, Op::Shl | Op::Lshr | Op::Ashr)
        {
            let inner = self.bitwise(op, left, right);
            return self.binary(x, inner, by);
        }
        let (not_a, not_b) = (self.bit_not(a), self.bit_not(b));
        if not_a == b || not_b == a {
            return match op {
                Op::BitAnd => self.number(self.width(a), 0),
                _ => self.constant(Bits::ones(self.width(a))),
            };
        }
        self.intern(Node::Binary(op, a, b), sort)
    }

    fn masked(&mut self, op: Op, mask: Bits, b: Term) -> Term {
        match op {
            Op::BitAnd if mask.is_zero() => return self.constant(mask),
            Op::BitAnd if mask.is_ones() => return b,
            Op::BitOr if mask.is_zero() => return b,
            Op::BitOr if mask.is_ones() => return self.constant(mask),
            Op::BitXor if mask.is_zero() => return b,
            Op::BitXor if mask.is_ones() => return self.bit_not(b),
            _ => {}
        }
        if let Node::Binary(inner, first, rest) = self.node(b)
            && inner == op
            && let Some(first) = self.bits(first)
        {
            let both = match op {
                Op::BitAnd => first.and(mask),
                Op::BitOr => first.or(mask),
                _ => first.xor(mask),
            };
            let both = self.constant(both);
            return self.bitwise(op, both, rest);
        }
        let mask = self.constant(mask);
        self.intern(Node::Binary(op, mask, b), self.sort(b))
    }
}
