//! Shifts, rotations, counts and orders of bits, on one lane.

use crate::int::resize;
use kingpost_smt::{Term, Terms};

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
    let by = amount(terms, by, terms.width(x));
    terms.rotate_left(x, by)
}

pub(crate) fn rotr(terms: &mut Terms, x: Term, by: Term) -> Term {
    let by = amount(terms, by, terms.width(x));
    let back = terms.neg(by);
    terms.rotate_left(x, back)
}

/// Counts the leading bits that equal the sign bit, excluding the sign bit.
pub(crate) fn cls(terms: &mut Terms, x: Term) -> Term {
    let width = terms.width(x);
    let by = terms.number(width, u128::from(width - 1));
    let signs = terms.ashr(x, by);
    let differing = terms.bit_xor(x, signs);
    let count = terms.leading_zeros(differing);
    let one = terms.number(width, 1);
    terms.sub(count, one)
}

pub(crate) fn bitrev(terms: &mut Terms, x: Term) -> Term {
    terms.reverse_groups(x, 1)
}

pub(crate) fn bswap(terms: &mut Terms, x: Term) -> Term {
    terms.reverse_groups(x, 8)
}
