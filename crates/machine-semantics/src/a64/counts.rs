//! Counts and orders of bits, on one lane.

use super::flags::is_zero;
use kingpost_smt::{Term, Terms};

/// Counts leading zeros. Halves the part that is examined until one bit is left.
pub(super) fn leading_zeros(terms: &mut Terms, x: Term) -> Term {
    let width = terms.width(x);
    let (mut rest, mut count) = (x, terms.number(width, 0));
    for step in (0..width.ilog2()).rev().map(|bit| 1 << bit) {
        let top = terms.extract(rest, width - step, step);
        let empty = is_zero(terms, top);
        let by = terms.number(width, step.into());
        let shifted = terms.shl(rest, by);
        let more = terms.add(count, by);
        (rest, count) = (terms.ite(empty, shifted, rest), terms.ite(empty, more, count));
    }
    let last = terms.extract(rest, width - 1, 1);
    let clear = is_zero(terms, last);
    let one = terms.number(width, 1);
    let more = terms.add(count, one);
    terms.ite(clear, more, count)
}

/// Counts the bits below the sign bit that equal it, up to the first one that differs.
pub(super) fn leading_signs(terms: &mut Terms, x: Term) -> Term {
    let width = terms.width(x);
    let by = terms.number(width, (width - 1).into());
    let signs = terms.ashr(x, by);
    let differing = terms.bit_xor(x, signs);
    let count = leading_zeros(terms, differing);
    let one = terms.number(width, 1);
    terms.sub(count, one)
}

/// Reverses the order of groups of `size` bits.
pub(super) fn reversed(terms: &mut Terms, x: Term, size: u32) -> Term {
    let mut result = terms.extract(x, 0, size);
    for group in 1..terms.width(x) / size {
        let next = terms.extract(x, group * size, size);
        result = terms.concat(result, next);
    }
    result
}

/// Reverses the bytes of each group of `size` bits.
pub(super) fn reversed_bytes(terms: &mut Terms, x: Term, size: u32) -> Term {
    let low = terms.extract(x, 0, size);
    let mut result = reversed(terms, low, 8);
    for group in 1..terms.width(x) / size {
        let next = terms.extract(x, group * size, size);
        let next = reversed(terms, next, 8);
        result = terms.concat(next, result);
    }
    result
}
