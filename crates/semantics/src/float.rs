//! Floating-point opcodes on one lane. Comparisons and selections work on the bits of sign and magnitude;
//! arithmetic uses the floating-point theory of the solvers.
//!
//! If a result is a NaN, it may be any NaN of a set ([`NanChoice`]). It is quiet and has any sign. It is canonical,
//! with only the quiet bit set, if every NaN among the operands is canonical.

use crate::int::flag;
use crate::outcome::NanChoice;
use kingpost_ir::condcodes::FloatCC;
use kingpost_ir::types::I8;
use kingpost_smt::{Bits, FloatOp, Term, Terms};

/// Returns the number of stored significand bits of the format of `width` bits (IEEE 754, section 3.6).
fn stored_digits(width: u32) -> u32 {
    match width {
        16 => 10,
        32 => 23,
        64 => 52,
        _ => 112,
    }
}

/// Returns the bits of infinity.
fn infinity(width: u32) -> u128 {
    let digits = stored_digits(width);
    (1 << (width - 1)) - (1 << digits)
}

fn quiet_bit(width: u32) -> u128 {
    1 << (stored_digits(width) - 1)
}

/// Returns `x` with its sign bit cleared.
pub(crate) fn magnitude(terms: &mut Terms, x: Term) -> Term {
    let sign = terms.constant(Bits::sign_bit(terms.width(x)));
    let others = terms.bit_not(sign);
    terms.bit_and(x, others)
}

/// Returns the magnitude of `x` with the sign of `y`.
pub(crate) fn copysign(terms: &mut Terms, x: Term, y: Term) -> Term {
    let sign = terms.constant(Bits::sign_bit(terms.width(x)));
    let (magnitude, sign) = (magnitude(terms, x), terms.bit_and(y, sign));
    terms.bit_or(magnitude, sign)
}

/// Returns the positive canonical NaN, in whose stored significand only the quiet bit is set. Every operation may
/// return it.
pub fn canonical_nan(terms: &mut Terms, width: u32) -> Term {
    terms.number(width, infinity(width) | quiet_bit(width))
}

pub(crate) fn is_nan(terms: &mut Terms, x: Term) -> Term {
    let width = terms.width(x);
    let (magnitude, infinity) = (magnitude(terms, x), terms.number(width, infinity(width)));
    terms.ult(infinity, magnitude)
}

/// Returns a term that holds if a NaN may be the result of an operation on `operands`.
pub(crate) fn may_result(terms: &mut Terms, nan: Term, operands: &[Term]) -> Term {
    let width = terms.width(nan);
    let (magnitude_of, quiet) = (magnitude(terms, nan), canonical_nan(terms, width));
    let is_quiet = terms.ule(quiet, magnitude_of);
    let plain: Vec<Term> = operands.iter().map(|&operand| is_no_payload(terms, operand)).collect();
    let all_plain = terms.all(plain);
    let is_canonical = terms.eq(magnitude_of, quiet);
    let canonical_if_all = terms.implies(all_plain, is_canonical);
    terms.and(is_quiet, canonical_if_all)
}

/// Returns a term that holds if an operand is a number or a canonical NaN.
fn is_no_payload(terms: &mut Terms, x: Term) -> Term {
    let width = terms.width(x);
    let (nan, magnitude) = (is_nan(terms, x), magnitude(terms, x));
    let canonical = canonical_nan(terms, width);
    let is_canonical = terms.eq(magnitude, canonical);
    let is_number = terms.not(nan);
    terms.or(is_number, is_canonical)
}

fn is_negative(terms: &mut Terms, x: Term) -> Term {
    crate::int::is_negative(terms, x)
}

/// Returns a term that holds if the number `x` is less than the number `y`. Here -0.0 is less than 0.0.
fn precedes(terms: &mut Terms, x: Term, y: Term) -> Term {
    let [x_magnitude, y_magnitude] = [x, y].map(|operand| magnitude(terms, operand));
    let [x_negative, y_negative] = [x, y].map(|operand| is_negative(terms, operand));
    let (smaller, larger) = (terms.ult(x_magnitude, y_magnitude), terms.ult(y_magnitude, x_magnitude));
    let y_positive = terms.not(y_negative);
    let if_negative = terms.or(y_positive, larger);
    let if_positive = terms.and(y_positive, smaller);
    terms.ite(x_negative, if_negative, if_positive)
}

/// Returns a term that holds if a comparison holds.
pub(crate) fn compare(terms: &mut Terms, condition: FloatCC, x: Term, y: Term) -> Term {
    let [x_nan, y_nan] = [x, y].map(|operand| is_nan(terms, operand));
    let unordered = terms.or(x_nan, y_nan);
    let ordered = terms.not(unordered);
    let either = terms.bit_or(x, y);
    let magnitudes = magnitude(terms, either);
    let both_zero = crate::int::is_zero(terms, magnitudes);
    let same = terms.eq(x, y);
    let as_numbers = terms.or(same, both_zero);
    let equal = terms.and(ordered, as_numbers);
    let different = terms.not(as_numbers);
    let apart = terms.and(ordered, different);
    let [before, behind] = [(x, y), (y, x)].map(|(a, b)| precedes(terms, a, b));
    let [less, greater] = [before, behind].map(|order| terms.and(apart, order));
    let parts: &[Term] = match condition {
        FloatCC::Ordered => &[ordered],
        FloatCC::Unordered => &[unordered],
        FloatCC::Equal => &[equal],
        FloatCC::NotEqual => &[unordered, less, greater],
        FloatCC::OrderedNotEqual => &[less, greater],
        FloatCC::UnorderedOrEqual => &[unordered, equal],
        FloatCC::LessThan => &[less],
        FloatCC::LessThanOrEqual => &[less, equal],
        FloatCC::GreaterThan => &[greater],
        FloatCC::GreaterThanOrEqual => &[greater, equal],
        FloatCC::UnorderedOrLessThan => &[unordered, less],
        FloatCC::UnorderedOrLessThanOrEqual => &[unordered, less, equal],
        FloatCC::UnorderedOrGreaterThan => &[unordered, greater],
        FloatCC::UnorderedOrGreaterThanOrEqual => &[unordered, greater, equal],
    };
    terms.any(parts.iter().copied())
}

/// Returns the comparison as 1 or 0.
pub(crate) fn compared(terms: &mut Terms, condition: FloatCC, x: Term, y: Term) -> Term {
    let holds = compare(terms, condition, x, y);
    flag(terms, holds, I8.bits())
}

/// Returns the smaller operand, or a NaN if an operand is one.
pub(crate) fn min(terms: &mut Terms, x: Term, y: Term) -> Term {
    let before = precedes(terms, y, x);
    let smaller = terms.ite(before, y, x);
    or_nan(terms, [x, y], smaller)
}

/// Returns the larger operand, or a NaN if an operand is one.
pub(crate) fn max(terms: &mut Terms, x: Term, y: Term) -> Term {
    let before = precedes(terms, x, y);
    let larger = terms.ite(before, y, x);
    or_nan(terms, [x, y], larger)
}

fn or_nan(terms: &mut Terms, operands: [Term; 2], number: Term) -> Term {
    let width = terms.width(number);
    let nans = operands.map(|operand| is_nan(terms, operand));
    let any = terms.or(nans[0], nans[1]);
    let nan = canonical_nan(terms, width);
    terms.ite(any, nan, number)
}

/// Returns `true` if the theory has an operation on floats of this width.
pub(crate) fn has_theory(op: FloatOp, width: u32) -> bool {
    matches!(width, 32 | 64) || width == 16 && op != FloatOp::Fma
}

/// Returns the truncated integer, and the conditions under which it does not exist: a NaN, and a number out of
/// range.
pub(crate) fn to_integer(terms: &mut Terms, x: Term, width: u32, is_signed: bool) -> (Term, [Term; 2]) {
    let format = terms.width(x);
    let truncated = terms.float(FloatOp::Trunc, &[x], format);
    let most = if is_signed { width - 1 } else { width };
    let limit = power_of_two(terms, format, most);
    let below = compare(terms, FloatCC::LessThan, truncated, limit);
    let least = if is_signed { negated(terms, limit) } else { terms.number(format, 0) };
    // A limit that the format does not reach is represented by infinity, which is out of range on either side.
    let is_reached = !is_signed || limit != terms.number(format, infinity(format));
    let condition = if is_reached { FloatCC::GreaterThanOrEqual } else { FloatCC::GreaterThan };
    let above = compare(terms, condition, truncated, least);
    let within = terms.and(below, above);
    let op = if is_signed { FloatOp::ToSigned } else { FloatOp::ToUnsigned };
    let integer = terms.float(op, &[x], width);
    let nan = is_nan(terms, x);
    (integer, [nan, terms.not(within)])
}

/// Returns 2^exponent as a float; infinity if the power is too large.
fn power_of_two(terms: &mut Terms, format: u32, exponent: u32) -> Term {
    let digits = stored_digits(format);
    let bias = (1 << (format - digits - 2)) - 1;
    let biased = u128::from(exponent + bias) << digits;
    terms.number(format, biased.min(infinity(format)))
}

/// Returns `x` with its sign bit inverted.
pub(crate) fn negated(terms: &mut Terms, x: Term) -> Term {
    let sign = terms.constant(Bits::sign_bit(terms.width(x)));
    terms.bit_xor(x, sign)
}

impl NanChoice {
    /// Returns a term that holds if a value may be the result.
    pub fn allows(&self, terms: &mut Terms, value: Term) -> Term {
        may_result(terms, value, &self.operands)
    }
}
