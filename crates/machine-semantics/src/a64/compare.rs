//! Order of floats, on the bits of sign and magnitude.

use super::bits::is_zero;
pub(super) use kingpost_smt::Relation;
use kingpost_smt::{Bits, Term, Terms};

/// Returns the number of stored significand bits of the format of `width` bits (IEEE 754, section 3.6).
pub(super) fn stored_digits(width: u32) -> u32 {
    match width {
        16 => 10,
        32 => 23,
        _ => 52,
    }
}

/// Returns the bits of infinity.
pub(super) fn infinity(width: u32) -> u128 {
    (1 << (width - 1)) - (1 << stored_digits(width))
}

/// Returns `x` with its sign bit cleared.
pub(super) fn magnitude(terms: &mut Terms, x: Term) -> Term {
    let sign = terms.constant(Bits::sign_bit(terms.width(x)));
    let others = terms.bit_not(sign);
    terms.bit_and(x, others)
}

/// Returns `x` with its sign bit inverted.
pub(super) fn negated(terms: &mut Terms, x: Term) -> Term {
    let sign = terms.constant(Bits::sign_bit(terms.width(x)));
    terms.bit_xor(x, sign)
}

pub(super) fn is_nan(terms: &mut Terms, x: Term) -> Term {
    terms.is_nan(x)
}

/// Returns a term that holds if `x` is a signaling NaN.
pub(super) fn is_signaling(terms: &mut Terms, x: Term) -> Term {
    let nan = is_nan(terms, x);
    let quiet = terms.extract(x, stored_digits(terms.width(x)) - 1, 1);
    let is_signaling = is_zero(terms, quiet);
    terms.and(nan, is_signaling)
}

/// Returns a term that holds if the number `x` is less than the number `y`. Here -0.0 is less than 0.0.
pub(super) fn precedes(terms: &mut Terms, x: Term, y: Term) -> Term {
    terms.precedes(x, y)
}

/// Returns a term that holds if one of the relations does.
pub(super) fn any_relation(terms: &mut Terms, operands: [Term; 2], relations: &[Relation]) -> Term {
    terms.any_relation(operands, relations)
}
