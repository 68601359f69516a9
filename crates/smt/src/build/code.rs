//! Further normal forms for terms of machine code, where one value has many spellings: masks, shifts, extractions of
//! fields. An arena has them if it was created by [`Terms::for_code`].
//!
//! | spelling | normal form |
//! |---|---|
//! | `x & 0xff0` | `zext(x[4..12]) << 4` |
//! | `x >> 3`, logical or arithmetic, by a constant | `zext(x[3..])`, `sext(x[3..])` |
//! | `(x >> 3) << 5` | `(x - zext(x[..3])) << 2` |
//! | `(x + y)[..8]`, and products, bitwise operations, choices | `x[..8] + y[..8]` |
//! | `zext(x) & y` | `zext(x & y[..8])` |
//! | `x << 8 \| zext(y)` with `y` of at most 8 bits | `concat(x[..24], zext(y))` |
//! | `0x500 \| zext(y)` with `y` of 8 bits | `concat(5, y)` |
//! | `if x < 7 then 7 else x` | `if x < 8 then 7 else x` |
//! | `if x == 0 then 1 else x` | `if x < 2 then 1 else x` |
//! | `if -x < 0 then x else -x` | `if x < 0 then -x else x` |
//! | `zext(x) / zext(y)` | `zext(x / y)`, or all ones if `y` is zero |
//! | `x % y` | `x - x / y * y` |
//! | `concat(0, x)` | `zext(x)` |
//! | `if c then zext(x) else zext(y)` | `zext(if c then x else y)` |
//! | `if x == y then n else f(x)`, where `f(y)` is `n` | `f(x)` |
//! | the leading zeros of `zext(x)`, the trailing ones of `concat(1, x)` | `zext` of the zeros of `x`, and a number |
//! | `sext(x) ^ sext(x's sign)` | `zext(x ^ sext(x's sign))` |
//! | `if x == 0 then 64 else` the zeros below the bits of `x` | these zeros |
//! | `(counts of the set bits of x's bytes * 0x0101…)[24..]` | the set bits of `x` |
//! | `(if c then 1 else 0) \| (if d then 1 else 0)` | `if c \|\| d then 1 else 0` |
//! | `if c then x + 1 else x` | `x + if c then 1 else 0` |
//! | `zext(4 * zext(x))`, if no bit is lost | `4 * zext(x)` |
//! | `(2^16 * x + 2^20 * y)[16..32]` | `(x + 2^4 * y)[..16]` |
//! | `(x * y)[3..8]`, and sums | `(x[..8] * y[..8])[3..8]` |

use crate::bits::{Bits, Sort};
use crate::term::{Node, Op, Term, Terms};

impl Terms {
    /// Returns `width` bits of a term from bit `low` on, if they are bits of its operands.
    pub(super) fn code_extract(&mut self, a: Term, low: u32, width: u32) -> Option<Term> {
        let end = low + width;
        Some(match self.node(a) {
            Node::Binary(op @ (Op::Add | Op::Mul), x, y) if low == 0 => {
                let [x, y] = [x, y].map(|part| self.extract(part, 0, width));
                self.binary(op, x, y)
            }
            Node::Unary(op @ (Op::Neg | Op::BitNot), x) if low == 0 => {
                let x = self.extract(x, 0, width);
                self.unary(op, x, Sort::Bits(width))
            }
            Node::Unary(Op::BitNot, x) => {
                let x = self.extract(x, low, width);
                self.bit_not(x)
            }
            Node::Binary(op @ (Op::BitAnd | Op::BitOr | Op::BitXor), x, y) => {
                let [x, y] = [x, y].map(|part| self.extract(part, low, width));
                self.binary(op, x, y)
            }
            Node::Ternary(Op::Ite, condition, x, y) => {
                let [x, y] = [x, y].map(|part| self.extract(part, low, width));
                self.ite(condition, x, y)
            }
            Node::Binary(Op::Shl, x, by) if self.bits(by).is_some() => {
                let by = u32::try_from(self.bits(by)?.unsigned()).ok()?;
                if low >= by {
                    self.extract(x, low - by, width)
                } else if end <= by {
                    self.number(width, 0)
                } else if low == 0 {
                    let x = self.extract(x, 0, width);
                    let by = self.number(width, by.into());
                    self.shl(x, by)
                } else {
                    return None;
                }
            }
            Node::Binary(Op::Mul, x, y) if low == width && end == self.width(a) && width == 64 => {
                return self.code_high_of_product(x, y);
            }
            Node::Binary(Op::Add, ..) if low == width && end == self.width(a) && width == 64 => {
                return self.code_high_of_sum(a);
            }
            Node::Binary(Op::Add | Op::Mul, ..) if low > 0 && self.low_zeros(a) > 0 => {
                let zeros = self.low_zeros(a).min(low);
                let quotient = self.shifted_down(a, zeros, end - zeros);
                self.extract(quotient, low - zeros, width)
            }
            // Bits of a sum or product do not depend on the bits above them.
            Node::Binary(Op::Add | Op::Mul, ..) | Node::Unary(Op::Neg, _) if low > 0 && end < self.width(a) => {
                let cut = self.extract(a, 0, end);
                self.extract(cut, low, width)
            }
            // A product with 0x0101… has the sum of all bytes in its highest byte.
            Node::Binary(Op::Mul, factor, x) if width == 8 && end == self.width(a) => {
                let ones = Bits::new(end, u128::from_ne_bytes([1; 16]));
                return if self.bits(factor) == Some(ones) { self.code_sum_of_bytes(x) } else { None };
            }
            // A quotient of extensions has its low bits also where the divisor is zero, and where it overflows.
            Node::Binary(Op::Sdiv, x, y) if low == 0 => {
                let [x, y] = [self.sign_extended_from(x, width)?, self.sign_extended_from(y, width)?];
                self.sdiv(x, y)
            }
            Node::Binary(Op::Shl, x, by) if low == 0 && self.bits(by).is_none() => {
                let by = self.narrow_amount(by, width)?;
                let x = self.extract(x, 0, width);
                self.shl(x, by)
            }
            Node::Unary(Op::SignExtend, x) if low >= self.width(x) => {
                let sign = self.extract(x, self.width(x) - 1, 1);
                self.sign_extend(sign, width)
            }
            Node::Unary(op @ (Op::ZeroExtend | Op::SignExtend), x) if low > 0 && end > self.width(x) => {
                let rest = self.extract(x, low, self.width(x) - low);
                self.unary(op, rest, Sort::Bits(width))
            }
            Node::Binary(Op::Concat, x, y) if low < self.width(y) && end > self.width(y) => {
                let at = self.width(y);
                let (x, y) = (self.extract(x, 0, end - at), self.extract(y, low, at - low));
                self.concat(x, y)
            }
            _ => return None,
        })
    }

    /// Returns the unsigned quotient of extensions as the extension of a quotient. A quotient by zero is all ones.
    pub(super) fn code_udiv(&mut self, a: Term, b: Term) -> Option<Term> {
        let width = self.width(a);
        let narrow = self.zeros_above(a)?.max(self.zeros_above(b)?);
        if narrow >= width || self.bits(a).is_some() && self.bits(b).is_some() {
            return None;
        }
        let [x, y] = [a, b].map(|operand| self.extract(operand, 0, narrow));
        let (zero, ones) = (self.number(narrow, 0), self.constant(Bits::ones(width)));
        let by_zero = self.eq(y, zero);
        let quotient = self.udiv(x, y);
        let quotient = self.zero_extend(quotient, width);
        Some(self.ite(by_zero, ones, quotient))
    }

    /// Returns the remainder, computed from the quotient as code does. It is the dividend for a zero divisor.
    pub(super) fn code_remainder(&mut self, quotient: Op, a: Term, b: Term) -> Term {
        let quotient = self.binary(quotient, a, b);
        let product = self.mul(quotient, b);
        self.sub(a, product)
    }

    /// Returns a concatenation as an extension or as one field.
    pub(super) fn code_concat(&mut self, high: Term, low: Term) -> Option<Term> {
        let (above, below) = (self.width(high), self.width(low));
        if self.bits(high).is_some_and(Bits::is_zero) {
            return Some(self.zero_extend(low, above + below));
        }
        if let (Some(high), Node::Unary(Op::ZeroExtend, inner)) = (self.bits(high), self.node(low)) {
            let between = Bits::new(below - self.width(inner), 0);
            let high = self.constant(high.concat(between));
            return Some(self.concat(high, inner));
        }
        let sign = self.extract(low, below - 1, 1);
        if self.sign_extend(sign, above) == high {
            return Some(self.sign_extend(low, above + below));
        }
        match (self.node(high), self.node(low)) {
            (Node::Unary(Op::Extract { low: from }, x), Node::Unary(Op::Extract { low: first }, y))
                if x == y && from == first + below =>
            {
                Some(self.extract(x, first, above + below))
            }
            // The low part is a whole value.
            (Node::Unary(Op::Extract { low: from }, x), _) if from == below && self.width(x) > below => {
                let whole = self.extract(x, 0, below);
                (whole == low).then(|| self.extract(x, 0, above + below))
            }
            (Node::Unary(Op::ZeroExtend, x), _) => {
                let inner = self.concat(x, low);
                Some(self.zero_extend(inner, above + below))
            }
            _ => None,
        }
    }

    /// Returns the extension of a choice between constants as a choice, and the zero extension of a multiple of an extension
    /// as a multiple, if it has no bits above the width.
    pub(super) fn code_extend(&mut self, op: Op, a: Term, width: u32) -> Option<Term> {
        match self.node(a) {
            Node::Ternary(Op::Ite, condition, x, y) if self.bits(x).is_some() && self.bits(y).is_some() => {
                let [x, y] = [x, y].map(|arm| self.unary(op, arm, Sort::Bits(width)));
                Some(self.ite(condition, x, y))
            }
            Node::Binary(scale @ (Op::Mul | Op::Shl), x, y) if op == Op::ZeroExtend => {
                let (factor, x) = match scale {
                    Op::Mul => (self.bits(x)?.unsigned(), y),
                    _ => (1u128.checked_shl(self.bits(y)?.unsigned().try_into().ok()?)?, x),
                };
                let Node::Unary(Op::ZeroExtend, inner) = self.node(x) else { return None };
                if 128 - factor.leading_zeros() + self.width(inner) > self.width(a) {
                    return None;
                }
                let (factor, inner) = (self.number(width, factor), self.zero_extend(inner, width));
                Some(self.mul(factor, inner))
            }
            _ => None,
        }
    }

    /// Returns a shift right by a constant as the extension of a field.
    pub(super) fn code_shift(&mut self, extension: Op, a: Term, amount: Bits) -> Option<Term> {
        let width = amount.width();
        let by = u32::try_from(amount.unsigned()).ok().filter(|&by| by > 0 && by < width)?;
        let field = self.extract(a, by, width - by);
        Some(self.unary(extension, field, Sort::Bits(width)))
    }

    /// Returns the amount of a shift in fewer bits, if it has only as many.
    fn narrow_amount(&mut self, by: Term, width: u32) -> Option<Term> {
        match self.node(by) {
            Node::Unary(Op::ZeroExtend, inner) if self.width(inner) <= width => Some(self.zero_extend(inner, width)),
            _ => None,
        }
    }

    /// Returns a shift right of an extension by a variable amount as the extension of a shift. Amounts beyond the width
    /// have equal results in every width.
    pub(super) fn code_shift_by(&mut self, op: Op, a: Term, by: Term) -> Option<Term> {
        let extension = if op == Op::Ashr { Op::SignExtend } else { Op::ZeroExtend };
        let Node::Unary(found, inner) = self.node(a) else { return None };
        if found != extension {
            return None;
        }
        // A shift right by a constant before is the extension of a field.
        if op == Op::Lshr
            && self.width(inner) + 1 == self.width(a)
            && let Some(whole) = self.whole_of_field(inner)
            && let Some(normal) = self.code_shift_and_one(op, whole, by)
        {
            return Some(normal);
        }
        let narrow = self.narrow_amount(by, self.width(inner))?;
        let shifted = self.binary(op, inner, narrow);
        Some(self.unary(extension, shifted, self.sort(a)))
    }

    /// Returns a shift left of a shift right, or of a field whose further bits would be shifted out.
    pub(super) fn code_shift_left(&mut self, a: Term, amount: Bits) -> Option<Term> {
        let width = amount.width();
        let by = u32::try_from(amount.unsigned()).ok().filter(|&by| by > 0 && by < width)?;
        let Node::Unary(Op::ZeroExtend | Op::SignExtend, field) = self.node(a) else { return None };
        let Node::Unary(Op::Extract { low }, x) = self.node(field) else { return None };
        if self.width(x) < width {
            return None;
        }
        let x = self.extract(x, 0, width);
        if low == 0 && self.width(field) + by >= width {
            let by = self.constant(amount);
            return Some(self.shl(x, by));
        }
        if low > 0 && low <= by && self.width(field) + by >= width {
            let below = self.extract(x, 0, low);
            let below = self.zero_extend(below, width);
            let cleared = self.sub(x, below);
            let by = self.number(width, (by - low).into());
            return Some(self.shl(cleared, by));
        }
        None
    }

    /// Returns a bitwise operation of extensions, of a constant mask, or of fields that do not overlap. `a` may be a
    /// constant, `b` is none.
    pub(super) fn code_bitwise(&mut self, op: Op, a: Term, b: Term) -> Option<Term> {
        let width = self.width(a);
        if op == Op::BitAnd
            && let Some(mask) = self.bits(a)
            && let Some(field) = self.masked_field(mask, b)
        {
            return Some(field);
        }
        for (x, y) in [(a, b), (b, a)] {
            if let (Op::BitAnd, Node::Unary(Op::ZeroExtend, inner)) = (op, self.node(x)) {
                let other = self.extract(y, 0, self.width(inner));
                let both = self.bit_and(inner, other);
                return Some(self.zero_extend(both, width));
            }
        }
        if op != Op::BitAnd {
            for (x, y) in [(a, b), (b, a)] {
                if let Some(joined) = self.joined(x, y) {
                    return Some(joined);
                }
            }
            if let (Some(x), Some(y)) = (self.zeros_above(a), self.zeros_above(b))
                && x.max(y) < width
            {
                let narrow = x.max(y);
                let [a, b] = [a, b].map(|operand| self.extract(operand, 0, narrow));
                let both = self.bitwise(op, a, b);
                return Some(self.zero_extend(both, width));
            }
        }
        if let Some(choice) = self.code_bitwise_choice(op, a, b) {
            return Some(choice);
        }
        match (self.node(a), self.node(b)) {
            (Node::Unary(Op::SignExtend, x), Node::Unary(Op::SignExtend, y))
                if op == Op::BitXor && self.sort(x) != self.sort(y) =>
            {
                self.code_differing_from_sign(x, y, width)
            }
            (Node::Unary(Op::SignExtend, x), Node::Unary(Op::SignExtend, y)) if self.sort(x) == self.sort(y) => {
                let both = self.bitwise(op, x, y);
                Some(self.sign_extend(both, width))
            }
            _ => None,
        }
    }

    /// Returns the exclusive or of the sign extensions of a term and of its sign as a zero extension: the sign differs from no
    /// bit above the term.
    fn code_differing_from_sign(&mut self, x: Term, y: Term, width: u32) -> Option<Term> {
        let (x, sign) = if self.width(x) > self.width(y) { (x, y) } else { (y, x) };
        let top = self.width(x) - 1;
        if self.extract(x, top, 1) != sign {
            return None;
        }
        let signs = self.sign_extend(sign, top + 1);
        let differing = self.bit_xor(x, signs);
        Some(self.zero_extend(differing, width))
    }

    /// Returns the number of low bits that may be set, if the term is a zero extension or a constant.
    fn zeros_above(&self, a: Term) -> Option<u32> {
        match self.node(a) {
            Node::Unary(Op::ZeroExtend, inner) => Some(self.width(inner)),
            _ => self.bits(a).map(|bits| (128 - bits.unsigned().leading_zeros()).max(1)),
        }
    }

    /// Returns the bits of `b` under a mask of consecutive bits.
    fn masked_field(&mut self, mask: Bits, b: Term) -> Option<Term> {
        let (width, mask) = (mask.width(), mask.unsigned());
        if mask == 0 {
            return None;
        }
        let (low, count) = (mask.trailing_zeros(), mask.count_ones());
        if mask >> low != u128::MAX >> (128 - count) || count == width {
            return None;
        }
        if low + count == width {
            // All but the lowest bits.
            let below = self.extract(b, 0, low);
            let below = self.zero_extend(below, width);
            return Some(self.sub(b, below));
        }
        let field = self.extract(b, low, count);
        let field = self.zero_extend(field, width);
        let by = self.number(width, low.into());
        Some(self.shl(field, by))
    }
}
