//! Order of floats, on the bits of sign and magnitude.

use super::bits::{is_negative, is_zero};
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
    let width = terms.width(x);
    let (magnitude, infinity) = (magnitude(terms, x), terms.number(width, infinity(width)));
    terms.ult(infinity, magnitude)
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
    let [x_magnitude, y_magnitude] = [x, y].map(|operand| magnitude(terms, operand));
    let [x_negative, y_negative] = [x, y].map(|operand| is_negative(terms, operand));
    let (smaller, larger) = (terms.ult(x_magnitude, y_magnitude), terms.ult(y_magnitude, x_magnitude));
    let y_positive = terms.not(y_negative);
    let if_negative = terms.or(y_positive, larger);
    let if_positive = terms.and(y_positive, smaller);
    terms.ite(x_negative, if_negative, if_positive)
}

/// A relation of two floats. Exactly one holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Relation {
    /// At least one is a NaN.
    Unordered,
    /// Equal numbers.
    Equal,
    /// A smaller number and a larger one.
    Less,
    /// A larger number and a smaller one.
    Greater,
}

/// Returns a term that holds if one of the relations does.
pub(super) fn any_relation(terms: &mut Terms, [x, y]: [Term; 2], relations: &[Relation]) -> Term {
    let [x_nan, y_nan] = [x, y].map(|operand| is_nan(terms, operand));
    let unordered = terms.or(x_nan, y_nan);
    let ordered = terms.not(unordered);
    let either = terms.bit_or(x, y);
    let magnitudes = magnitude(terms, either);
    let both_zero = is_zero(terms, magnitudes);
    let same = terms.eq(x, y);
    let as_numbers = terms.or(same, both_zero);
    let different = terms.not(as_numbers);
    let apart = terms.and(ordered, different);
    let mut any = terms.bool(false);
    for relation in relations {
        let holds = match relation {
            Relation::Unordered => unordered,
            Relation::Equal => terms.and(ordered, as_numbers),
            Relation::Less => {
                let before = precedes(terms, x, y);
                terms.and(apart, before)
            }
            Relation::Greater => {
                let after = precedes(terms, y, x);
                terms.and(apart, after)
            }
        };
        any = terms.or(any, holds);
    }
    any
}
