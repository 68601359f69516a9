//! Tests and extensions of numbers.

use kingpost_smt::{Term, Terms};

pub(super) fn is_zero(terms: &mut Terms, value: Term) -> Term {
    let zero = terms.number(terms.width(value), 0);
    terms.eq(value, zero)
}

pub(super) fn is_negative(terms: &mut Terms, value: Term) -> Term {
    let zero = terms.number(terms.width(value), 0);
    terms.slt(value, zero)
}

/// Returns a condition as 1 or 0.
pub(super) fn number_of(terms: &mut Terms, condition: Term, width: u32) -> Term {
    let (one, zero) = (terms.number(width, 1), terms.number(width, 0));
    terms.ite(condition, one, zero)
}

/// Extends a number with its sign or with zeros.
pub(super) fn extended(terms: &mut Terms, x: Term, signed: bool, width: u32) -> Term {
    if signed { terms.sign_extend(x, width) } else { terms.zero_extend(x, width) }
}
