//! Sums, differences and products with the condition under which they do not fit.

use crate::int::is_zero;
use kingpost_smt::{Bits, Term, Terms};

/// A wrapped result, and whether it differs from the unbounded result.
pub(crate) type Wrapped = (Term, Term);

/// Returns the sum. The carry is compared with one operand, whichever is older, so that operands may change places.
pub(crate) fn uadd(terms: &mut Terms, x: Term, y: Term) -> Wrapped {
    let sum = terms.add(x, y);
    (sum, terms.ult(sum, x.min(y)))
}

pub(crate) fn usub(terms: &mut Terms, x: Term, y: Term) -> Wrapped {
    (terms.sub(x, y), terms.ult(x, y))
}

/// Returns the sum. It overflows if both operands have one sign and the sum has the other.
pub(crate) fn sadd(terms: &mut Terms, x: Term, y: Term) -> Wrapped {
    let sum = terms.add(x, y);
    let (from_x, from_y) = (terms.bit_xor(sum, x), terms.bit_xor(sum, y));
    let both = terms.bit_and(from_x, from_y);
    (sum, crate::int::is_negative(terms, both))
}

/// Returns the difference. It overflows if the operands have different signs and the difference has the sign of the
/// subtrahend.
pub(crate) fn ssub(terms: &mut Terms, x: Term, y: Term) -> Wrapped {
    let difference = terms.sub(x, y);
    let (operands, from_x) = (terms.bit_xor(x, y), terms.bit_xor(difference, x));
    let both = terms.bit_and(operands, from_x);
    (difference, crate::int::is_negative(terms, both))
}

/// Returns the product, of up to 64 bits, and whether it overflows.
pub(crate) fn umul(terms: &mut Terms, x: Term, y: Term) -> Wrapped {
    let high = crate::int::umulhi(terms, x, y);
    let fits = is_zero(terms, high);
    (terms.mul(x, y), terms.not(fits))
}

/// Returns the product, of up to 64 bits, and whether it overflows.
pub(crate) fn smul(terms: &mut Terms, x: Term, y: Term) -> Wrapped {
    let (low, high) = (terms.mul(x, y), crate::int::smulhi(terms, x, y));
    let sign = terms.number(terms.width(x), u128::from(terms.width(x) - 1));
    let expected = terms.ashr(low, sign);
    (low, terms.ne(high, expected))
}

/// Applies `step` twice, the second time with a carry or borrow that counts as 1 if it is not zero. Combines both
/// overflows by or.
pub(crate) fn with_carry(
    terms: &mut Terms,
    step: fn(&mut Terms, Term, Term) -> Wrapped,
    [x, y, carry]: [Term; 3],
) -> Wrapped {
    let none = is_zero(terms, carry);
    let (zero, one) = (terms.number(terms.width(x), 0), terms.number(terms.width(x), 1));
    let carry = terms.ite(none, zero, one);
    let (first, overflow) = step(terms, x, y);
    let (result, again) = step(terms, first, carry);
    (result, terms.or(overflow, again))
}

/// Returns a sum or difference, or `limit` if it overflows.
pub(crate) fn saturated(terms: &mut Terms, (result, overflow): Wrapped, limit: Term) -> Term {
    terms.ite(overflow, limit, result)
}

/// Returns the limit of the signed range that has the sign of `x`: the result of a saturating sum or difference that
/// overflows.
pub(crate) fn signed_limit(terms: &mut Terms, x: Term) -> Term {
    let width = terms.width(x);
    let negative = crate::int::is_negative(terms, x);
    let least = terms.constant(Bits::sign_bit(width));
    let most = terms.bit_not(least);
    terms.ite(negative, least, most)
}
