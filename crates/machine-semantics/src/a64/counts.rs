//! Counts and orders of bits that terms have no name for, on one lane.

use kingpost_smt::{Term, Terms};

/// Counts the bits below the sign bit that equal it, up to the first one that differs.
pub(super) fn leading_signs(terms: &mut Terms, x: Term) -> Term {
    let width = terms.width(x);
    let by = terms.number(width, (width - 1).into());
    let signs = terms.ashr(x, by);
    let differing = terms.bit_xor(x, signs);
    let count = terms.leading_zeros(differing);
    let one = terms.number(width, 1);
    terms.sub(count, one)
}

/// Reverses the bytes of each group of `size` bits.
pub(super) fn reversed_bytes(terms: &mut Terms, x: Term, size: u32) -> Term {
    let low = terms.extract(x, 0, size);
    let mut result = terms.reverse_groups(low, 8);
    for group in 1..terms.width(x) / size {
        let next = terms.extract(x, group * size, size);
        let next = terms.reverse_groups(next, 8);
        result = terms.concat(next, result);
    }
    result
}
