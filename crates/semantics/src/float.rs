//! Floating-point opcodes on one lane. Comparisons and selections work on the bits of sign and magnitude;
//! arithmetic uses the floating-point theory of the solvers.
//!
//! If a result is a NaN, it may be any NaN of a set ([`NanChoice`]). It is quiet and has any sign. It is canonical,
//! with only the quiet bit set, if every NaN among the operands is canonical.

use crate::int::flag;
use crate::outcome::NanChoice;
use kingpost_ir::condcodes::FloatCC;
use kingpost_ir::types::I8;
use kingpost_smt::{Bits, FloatOp, Relation, Term, Terms};

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

/// Returns the magnitude of `x` with the sign of `y`.
pub(crate) fn copysign(terms: &mut Terms, x: Term, y: Term) -> Term {
    let sign = terms.constant(Bits::sign_bit(terms.width(x)));
    let (magnitude, sign) = (terms.magnitude(x), terms.bit_and(y, sign));
    terms.bit_or(magnitude, sign)
}

/// Returns the positive canonical NaN, in whose stored significand only the quiet bit is set. Every operation may
/// return it.
pub fn canonical_nan(terms: &mut Terms, width: u32) -> Term {
    terms.number(width, infinity(width) | quiet_bit(width))
}

/// Returns a term that holds if a NaN may be the result of an operation on `operands`.
pub(crate) fn may_result(terms: &mut Terms, nan: Term, operands: &[Term]) -> Term {
    let width = terms.width(nan);
    let (magnitude_of, quiet) = (terms.magnitude(nan), canonical_nan(terms, width));
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
    let (nan, magnitude) = (terms.is_nan(x), terms.magnitude(x));
    let canonical = canonical_nan(terms, width);
    let is_canonical = terms.eq(magnitude, canonical);
    let is_number = terms.not(nan);
    terms.or(is_number, is_canonical)
}

/// Returns a term that holds if a comparison holds.
pub(crate) fn compare(terms: &mut Terms, condition: FloatCC, x: Term, y: Term) -> Term {
    use Relation::{Equal, Greater, Less, Unordered};
    let relations: &[Relation] = match condition {
        FloatCC::Ordered => {
            let unordered = terms.any_relation([x, y], &[Unordered]);
            return terms.not(unordered);
        }
        FloatCC::Unordered => &[Unordered],
        FloatCC::Equal => &[Equal],
        FloatCC::NotEqual => &[Unordered, Less, Greater],
        FloatCC::OrderedNotEqual => &[Less, Greater],
        FloatCC::UnorderedOrEqual => &[Unordered, Equal],
        FloatCC::LessThan => &[Less],
        FloatCC::LessThanOrEqual => &[Less, Equal],
        FloatCC::GreaterThan => &[Greater],
        FloatCC::GreaterThanOrEqual => &[Greater, Equal],
        FloatCC::UnorderedOrLessThan => &[Unordered, Less],
        FloatCC::UnorderedOrLessThanOrEqual => &[Unordered, Less, Equal],
        FloatCC::UnorderedOrGreaterThan => &[Unordered, Greater],
        FloatCC::UnorderedOrGreaterThanOrEqual => &[Unordered, Greater, Equal],
    };
    terms.any_relation([x, y], relations)
}

/// Returns the comparison as 1 or 0.
pub(crate) fn compared(terms: &mut Terms, condition: FloatCC, x: Term, y: Term) -> Term {
    let holds = compare(terms, condition, x, y);
    flag(terms, holds, I8.bits())
}

/// Returns the smaller operand, or a NaN if an operand is one.
pub(crate) fn min(terms: &mut Terms, x: Term, y: Term) -> Term {
    let before = terms.precedes(y, x);
    let smaller = terms.ite(before, y, x);
    or_nan(terms, [x, y], smaller)
}

/// Returns the larger operand, or a NaN if an operand is one.
pub(crate) fn max(terms: &mut Terms, x: Term, y: Term) -> Term {
    let before = terms.precedes(x, y);
    let larger = terms.ite(before, y, x);
    or_nan(terms, [x, y], larger)
}

fn or_nan(terms: &mut Terms, operands: [Term; 2], number: Term) -> Term {
    let width = terms.width(number);
    let nans = operands.map(|operand| terms.is_nan(operand));
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
    let nan = terms.is_nan(x);
    (integer, [nan, terms.not(within)])
}

/// Returns the truncated integer, or the nearest one if it does not exist; zero for a NaN.
pub(crate) fn to_nearest_integer(terms: &mut Terms, x: Term, width: u32, is_signed: bool) -> Term {
    let (integer, [nan, outside]) = to_integer(terms, x, width, is_signed);
    let (most, least) = match is_signed {
        true => (Bits::new(width, Bits::sign_bit(width).unsigned() - 1), Bits::sign_bit(width)),
        false => (Bits::ones(width), Bits::new(width, 0)),
    };
    let [zero, most, least] = [Bits::new(width, 0), most, least].map(|bits| terms.constant(bits));
    let no_float = terms.number(terms.width(x), 0);
    let is_negative = compare(terms, FloatCC::LessThan, x, no_float);
    let limit = terms.ite(is_negative, least, most);
    let number = terms.ite(outside, limit, integer);
    terms.ite(nan, zero, number)
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
