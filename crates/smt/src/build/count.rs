//! Operations composed of others: rotations, counts and orders of bits. Equal compositions are equal terms.

use crate::bits::{Bits, Sort};
use crate::term::{Node, Op, Operation, Term, Terms};

impl Terms {
    /// Returns `x` rotated left by `by` modulo the width, a power of two. Both have that width.
    pub fn rotate_left(&mut self, x: Term, by: Term) -> Term {
        let mask = self.number(self.width(x), u128::from(self.width(x) - 1));
        let by = self.bit_and(by, mask);
        if let Some(rotated) = self.code_wide_rotation(x, by) {
            return rotated;
        }
        let back = self.neg(by);
        let back = self.bit_and(back, mask);
        let (left, right) = (self.shl(x, by), self.lshr(x, back));
        self.bit_or(left, right)
    }

    /// Counts leading zeros.
    pub fn leading_zeros(&mut self, x: Term) -> Term {
        if !self.is_of_code() {
            return self.leading_zeros_by_halves(x);
        }
        if let Some(inner) = self.reversed(x) {
            return self.trailing_zeros(inner);
        }
        let count = match self.code_leading_zeros(x) {
            Some(count) => count,
            None => self.leading_zeros_by_halves(x),
        };
        let width = self.width(x);
        let (minus_one, most) = (self.constant(Bits::ones(width)), self.number(width, u128::from(width - 1)));
        let highest = self.sub(most, count);
        self.keep_choice_of_count(x, minus_one, highest);
        count
    }

    /// Returns the leading zeros of an extension as a sum.
    fn code_leading_zeros(&mut self, x: Term) -> Option<Term> {
        let width = self.width(x);
        match self.node(x) {
            Node::Unary(Op::ZeroExtend, inner) if self.width(inner).is_power_of_two() => {
                let (above, count) = (width - self.width(inner), self.leading_zeros(inner));
                let (above, count) = (self.number(width, above.into()), self.zero_extend(count, width));
                Some(self.add(above, count))
            }
            _ => None,
        }
    }

    /// Halves the part that is examined until one bit is left.
    fn leading_zeros_by_halves(&mut self, x: Term) -> Term {
        let width = self.width(x);
        let (mut rest, mut count) = (x, self.number(width, 0));
        for step in halvings(width) {
            let top = self.extract(rest, width - step, step);
            let empty = self.is_zero(top);
            let by = self.number(width, step.into());
            let shifted = self.shl(rest, by);
            let more = self.add(count, by);
            (rest, count) = (self.ite(empty, shifted, rest), self.ite(empty, more, count));
        }
        self.plus_one_if_clear(rest, width - 1, count)
    }

    /// Counts trailing zeros.
    pub fn trailing_zeros(&mut self, x: Term) -> Term {
        if !self.is_of_code() {
            return self.trailing_zeros_by_halves(x);
        }
        let count = match self.code_trailing_zeros(x) {
            Some(count) => count,
            None => self.trailing_zeros_by_halves(x),
        };
        let all = self.number(self.width(x), self.width(x).into());
        self.keep_choice_of_count(x, all, count);
        count
    }

    /// Returns the trailing zeros of a number below a set bit, which code sets where the number has fewer bits than the
    /// instruction.
    fn code_trailing_zeros(&mut self, x: Term) -> Option<Term> {
        let Node::Binary(Op::Concat, high, low) = self.node(x) else { return None };
        if self.bits(high).is_none_or(|bits| bits.unsigned() & 1 == 0) || !self.width(low).is_power_of_two() {
            return None;
        }
        let count = self.trailing_zeros(low);
        Some(self.zero_extend(count, self.width(x)))
    }

    /// Halves the part that is examined until one bit is left.
    fn trailing_zeros_by_halves(&mut self, x: Term) -> Term {
        let width = self.width(x);
        let (mut rest, mut count) = (x, self.number(width, 0));
        for step in halvings(width) {
            let bottom = self.extract(rest, 0, step);
            let empty = self.is_zero(bottom);
            let by = self.number(width, step.into());
            let shifted = self.lshr(rest, by);
            let more = self.add(count, by);
            (rest, count) = (self.ite(empty, shifted, rest), self.ite(empty, more, count));
        }
        self.plus_one_if_clear(rest, 0, count)
    }

    /// Keeps `found` as the result of a choice by zero. Instructions find no bit in zero, so code chooses `missing` there, which
    /// `found` is for zero.
    fn keep_choice_of_count(&mut self, x: Term, missing: Term, found: Term) {
        let is_zero = self.is_zero(x);
        let choice = Operation::new(Node::Ternary(Op::Ite, is_zero, missing, found), self.sort(x));
        self.keep(&choice, found);
    }

    fn plus_one_if_clear(&mut self, x: Term, bit: u32, count: Term) -> Term {
        let last = self.extract(x, bit, 1);
        let clear = self.is_zero(last);
        let one = self.number(self.width(count), 1);
        let more = self.add(count, one);
        self.ite(clear, more, count)
    }

    /// Returns the term whose bits in reverse are `x`, if `x` is spelled as such a term.
    fn reversed(&mut self, x: Term) -> Option<Term> {
        let width = self.width(x);
        let lowest = self.extract(x, 0, 1);
        let Node::Unary(Op::Extract { low }, whole) = self.node(lowest) else { return None };
        let inner = self.extract(whole, low.checked_sub(width - 1)?, width);
        (width > 1 && self.reverse_groups(inner, 1) == x).then_some(inner)
    }

    /// Counts set bits by adding neighboring fields of 1, 2, 4 … bits. In terms of code, adds the counts of the bytes,
    /// as some processors do.
    pub fn count_ones(&mut self, x: Term) -> Term {
        let width = self.width(x);
        if !self.is_of_code() || width <= 8 || !width.is_multiple_of(8) {
            return self.count_ones_by_fields(x);
        }
        let mut sum = self.number(8, 0);
        for byte in 0..width / 8 {
            let byte = self.extract(x, 8 * byte, 8);
            let count = self.count_ones_by_fields(byte);
            sum = self.add(sum, count);
        }
        self.zero_extend(sum, width)
    }

    /// Returns the number of set bits of a term in eight bits, if `bytes` is spelled as the numbers of set bits of its
    /// bytes.
    pub(super) fn code_sum_of_bytes(&mut self, bytes: Term) -> Option<Term> {
        let width = self.width(bytes);
        for x in self.cone(&[bytes]) {
            if self.sort(x) == Sort::Bits(width) && self.bits(x).is_none() && self.counts_of_bytes(x) == bytes {
                let count = self.count_ones(x);
                return Some(self.extract(count, 0, 8));
            }
        }
        None
    }

    /// Counts the set bits of each byte, as code for processors without an instruction does (Warren, Hacker's Delight,
    /// figure 5-2).
    fn counts_of_bytes(&mut self, x: Term) -> Term {
        let width = self.width(x);
        let fields = |terms: &mut Terms, byte: u8| terms.constant(Bits::new(width, u128::from_ne_bytes([byte; 16])));
        let upper = |terms: &mut Terms, x: Term, by: u128| {
            let by = terms.number(width, by);
            terms.lshr(x, by)
        };
        let (of_bits, of_pairs, of_nibbles) = (fields(self, 0x55), fields(self, 0x33), fields(self, 0x0f));
        let ones = upper(self, x, 1);
        let ones = self.bit_and(ones, of_bits);
        let pairs = self.sub(x, ones);
        let above = upper(self, pairs, 2);
        let [above, below] = [above, pairs].map(|part| self.bit_and(part, of_pairs));
        let nibbles = self.add(above, below);
        let above = upper(self, nibbles, 4);
        let bytes = self.add(above, nibbles);
        self.bit_and(bytes, of_nibbles)
    }

    fn count_ones_by_fields(&mut self, x: Term) -> Term {
        let width = self.width(x);
        let mut sums = x;
        for step in (0..width.ilog2()).map(|bit| 1_u32 << bit) {
            let fields = (0..width).step_by(2 * step as usize).fold(0_u128, |mask, at| mask | ((1 << step) - 1) << at);
            let (mask, by) = (self.constant(Bits::new(width, fields)), self.number(width, step.into()));
            let shifted = self.lshr(sums, by);
            let [even, odd] = [sums, shifted].map(|part| self.bit_and(part, mask));
            sums = self.add(even, odd);
        }
        sums
    }

    /// Reverses the order of groups of `size` bits.
    pub fn reverse_groups(&mut self, x: Term, size: u32) -> Term {
        let groups = self.width(x) / size;
        let mut result = self.extract(x, 0, size);
        for group in 1..groups {
            let next = self.extract(x, group * size, size);
            result = self.concat(result, next);
        }
        result
    }

    fn is_zero(&mut self, x: Term) -> Term {
        let zero = self.number(self.width(x), 0);
        self.eq(x, zero)
    }
}

/// Returns `width / 2`, `width / 4` … 1.
fn halvings(width: u32) -> impl Iterator<Item = u32> {
    (0..width.ilog2()).rev().map(|bit| 1 << bit)
}

#[cfg(test)]
mod tests {
    use crate::bits::{Bits, Sort, Value};
    use crate::evaluate::{Evaluator, Model};
    use crate::term::Terms;

    #[test]
    fn set_bits_stay_set() {
        let mut terms = Terms::for_code();
        let x = terms.var("x", Sort::Bits(32));
        let one = terms.number(32, 1);
        let odd = terms.bit_or(x, one);
        let [is_zero, is_one] = [0, 1].map(|number| {
            let number = terms.number(32, number);
            terms.eq(odd, number)
        });
        assert_eq!((terms.value(is_zero), terms.value(is_one)), (Some(Value::Bool(false)), None));
    }

    #[test]
    fn counts_of_code_are_right() {
        for width in [8, 16, 32, 64, 128] {
            let mut terms = Terms::for_code();
            let x = terms.var("x", Sort::Bits(width));
            let (ones, leading) = (terms.count_ones(x), terms.leading_zeros(x));
            let reverse = terms.reverse_groups(x, 1);
            let trailing = terms.leading_zeros(reverse);
            let bytes = terms.counts_of_bytes(x);
            let factor = terms.constant(Bits::new(width, u128::from_ne_bytes([1; 16])));
            let total = terms.mul(bytes, factor);
            let by_product = terms.extract(total, width - 8, 8);
            let count = terms.extract(ones, 0, 8);
            assert!(width == 8 || by_product == count);
            assert_eq!(trailing, terms.trailing_zeros(x));
            let mut state = 0x9e37_79b9_7f4a_7c15_u128;
            for round in 0..400 {
                state = state.wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645).wrapping_add(1);
                let value = Bits::new(width, if round < 256 { round } else { state >> (round % 128) });
                let mut model = Model::default();
                model.set("x", Value::Bits(value));
                let evaluator = Evaluator::new(&terms, &[ones, leading, trailing], &model);
                let of = |term| evaluator.value(term).bits().map(|bits| bits.unsigned() as u32);
                let number = value.unsigned();
                assert_eq!(of(ones), Some(number.count_ones()), "{width} {number:#x}");
                assert_eq!(of(leading), Some(number.leading_zeros() + width - 128), "{width} {number:#x}");
                assert_eq!(of(trailing), Some(number.trailing_zeros().min(width)), "{width} {number:#x}");
            }
        }
    }
}
