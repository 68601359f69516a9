//! Shifts, rotations, counts and orders of bits, on one lane.

use crate::int::resize;
use kingpost_smt::{Bits, Term, Terms};

/// Returns the amount of a shift of `width` bits: `by` modulo the width, a power of two.
fn amount(terms: &mut Terms, by: Term, width: u32) -> Term {
    let by = resize(terms, by, width);
    let mask = terms.number(width, u128::from(width - 1));
    terms.bit_and(by, mask)
}

pub(crate) fn ishl(terms: &mut Terms, x: Term, by: Term) -> Term {
    let by = amount(terms, by, terms.width(x));
    terms.shl(x, by)
}

pub(crate) fn ushr(terms: &mut Terms, x: Term, by: Term) -> Term {
    let by = amount(terms, by, terms.width(x));
    terms.lshr(x, by)
}

pub(crate) fn sshr(terms: &mut Terms, x: Term, by: Term) -> Term {
    let by = amount(terms, by, terms.width(x));
    terms.ashr(x, by)
}

pub(crate) fn rotl(terms: &mut Terms, x: Term, by: Term) -> Term {
    let left = ishl(terms, x, by);
    let by = amount(terms, by, terms.width(x));
    let back = terms.neg(by);
    let right = ushr(terms, x, back);
    terms.bit_or(left, right)
}

pub(crate) fn rotr(terms: &mut Terms, x: Term, by: Term) -> Term {
    let by = amount(terms, by, terms.width(x));
    let back = terms.neg(by);
    rotl(terms, x, back)
}

/// Counts leading zeros. Halves the part that is examined until one bit is left.
pub(crate) fn clz(terms: &mut Terms, x: Term) -> Term {
    let width = terms.width(x);
    let (mut rest, mut count) = (x, terms.number(width, 0));
    for step in halvings(width) {
        let top = terms.extract(rest, width - step, step);
        let empty = crate::int::is_zero(terms, top);
        let by = terms.number(width, step.into());
        let shifted = terms.shl(rest, by);
        let more = terms.add(count, by);
        (rest, count) = (terms.ite(empty, shifted, rest), terms.ite(empty, more, count));
    }
    plus_one_if_clear(terms, rest, width - 1, count)
}

/// Counts trailing zeros.
pub(crate) fn ctz(terms: &mut Terms, x: Term) -> Term {
    let width = terms.width(x);
    let (mut rest, mut count) = (x, terms.number(width, 0));
    for step in halvings(width) {
        let bottom = terms.extract(rest, 0, step);
        let empty = crate::int::is_zero(terms, bottom);
        let by = terms.number(width, step.into());
        let shifted = terms.lshr(rest, by);
        let more = terms.add(count, by);
        (rest, count) = (terms.ite(empty, shifted, rest), terms.ite(empty, more, count));
    }
    plus_one_if_clear(terms, rest, 0, count)
}

/// Returns `width / 2`, `width / 4` … 1.
fn halvings(width: u32) -> impl Iterator<Item = u32> {
    (0..width.ilog2()).rev().map(|bit| 1 << bit)
}

fn plus_one_if_clear(terms: &mut Terms, x: Term, bit: u32, count: Term) -> Term {
    let last = terms.extract(x, bit, 1);
    let clear = crate::int::is_zero(terms, last);
    let one = terms.number(terms.width(count), 1);
    let more = terms.add(count, one);
    terms.ite(clear, more, count)
}

/// Counts the leading bits that equal the sign bit, excluding the sign bit.
pub(crate) fn cls(terms: &mut Terms, x: Term) -> Term {
    let width = terms.width(x);
    let by = terms.number(width, u128::from(width - 1));
    let signs = terms.ashr(x, by);
    let differing = terms.bit_xor(x, signs);
    let count = clz(terms, differing);
    let one = terms.number(width, 1);
    terms.sub(count, one)
}

/// Counts set bits by adding neighboring fields of 1, 2, 4 … bits.
pub(crate) fn popcnt(terms: &mut Terms, x: Term) -> Term {
    let width = terms.width(x);
    let mut sums = x;
    for step in (0..width.ilog2()).map(|bit| 1_u32 << bit) {
        let fields = (0..width).step_by(2 * step as usize).fold(0_u128, |mask, at| mask | ((1 << step) - 1) << at);
        let (mask, by) = (terms.constant(Bits::new(width, fields)), terms.number(width, step.into()));
        let shifted = terms.lshr(sums, by);
        let [even, odd] = [sums, shifted].map(|part| terms.bit_and(part, mask));
        sums = terms.add(even, odd);
    }
    sums
}

pub(crate) fn bitrev(terms: &mut Terms, x: Term) -> Term {
    reversed(terms, x, 1)
}

pub(crate) fn bswap(terms: &mut Terms, x: Term) -> Term {
    reversed(terms, x, 8)
}

/// Reverses the order of groups of `size` bits.
fn reversed(terms: &mut Terms, x: Term, size: u32) -> Term {
    let groups = terms.width(x) / size;
    let mut result = terms.extract(x, 0, size);
    for group in 1..groups {
        let next = terms.extract(x, group * size, size);
        result = terms.concat(result, next);
    }
    result
}
