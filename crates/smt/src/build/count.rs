//! Operations composed of others: rotations, counts and orders of bits. Equal compositions are equal terms.

use crate::bits::Bits;
use crate::term::{Term, Terms};

impl Terms {
    /// Returns `x` rotated left by `by` modulo the width, a power of two. Both have that width.
    pub fn rotate_left(&mut self, x: Term, by: Term) -> Term {
        let mask = self.number(self.width(x), u128::from(self.width(x) - 1));
        let by = self.bit_and(by, mask);
        let back = self.neg(by);
        let back = self.bit_and(back, mask);
        let (left, right) = (self.shl(x, by), self.lshr(x, back));
        self.bit_or(left, right)
    }

    /// Counts leading zeros. Halves the part that is examined until one bit is left.
    pub fn leading_zeros(&mut self, x: Term) -> Term {
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

    fn plus_one_if_clear(&mut self, x: Term, bit: u32, count: Term) -> Term {
        let last = self.extract(x, bit, 1);
        let clear = self.is_zero(last);
        let one = self.number(self.width(count), 1);
        let more = self.add(count, one);
        self.ite(clear, more, count)
    }

    /// Counts set bits by adding neighboring fields of 1, 2, 4 … bits.
    pub fn count_ones(&mut self, x: Term) -> Term {
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
