//! Floating-point opcodes, on one lane. The host's `f32` and `f64` arithmetic is IEEE 754 arithmetic, rounded to
//! nearest even. [`crate::soft_float`] computes f16 and f128 from integers.
//!
//! If the meaning of an opcode leaves the bits of a NaN open, the result is the first NaN operand, made quiet.
//! Without a NaN operand, it is the positive canonical NaN. With the setting `enable_nan_canonicalization`, it is
//! always the canonical NaN.

use kingpost_ir::condcodes::FloatCC;

use crate::soft_float::{Number, infinity, significand_bits};
use crate::value::mask;

/// Returns the positive canonical NaN.
fn canonical_nan(bits: u32) -> u128 {
    (mask(bits) >> 1) & !mask(significand_bits(bits) - 1)
}

/// Replaces any NaN by the canonical NaN.
pub(crate) fn canonical(bits: u32, x: u128) -> u128 {
    if is_nan(bits, x) { canonical_nan(bits) } else { x }
}

fn quiet_bit(bits: u32) -> u128 {
    1 << (significand_bits(bits) - 1)
}

pub(crate) fn sign_bit(bits: u32) -> u128 {
    1 << (bits - 1)
}

fn is_nan(bits: u32, x: u128) -> bool {
    x & !sign_bit(bits) > infinity(bits)
}

fn f32_of(x: u128) -> f32 {
    f32::from_bits(x as u32)
}

fn f64_of(x: u128) -> f64 {
    f64::from_bits(x as u64)
}

/// Returns the result of an arithmetic operation, with any NaN replaced as the module documentation defines.
fn with_defined_nan(bits: u32, result: u128, operands: &[u128]) -> u128 {
    if !is_nan(bits, result) {
        return result;
    }
    match operands.iter().find(|&&operand| is_nan(bits, operand)) {
        Some(&operand) => operand | quiet_bit(bits),
        None => canonical_nan(bits),
    }
}

/// Applies an operation to numbers. Returns the bits of the result, or a NaN as the module documentation defines.
fn soft<const N: usize>(bits: u32, operands: [u128; N], op: impl Fn([Number; N]) -> Option<Number>) -> u128 {
    let is_number = operands.iter().all(|&operand| !is_nan(bits, operand));
    let result = if is_number { op(operands.map(|operand| Number::decode(bits, operand))) } else { None };
    with_defined_nan(bits, result.map_or(canonical_nan(bits), |number| number.encode(bits)), &operands)
}

fn unary(bits: u32, x: u128, single: fn(f32) -> f32, double: fn(f64) -> f64, other: fn(Number) -> Number) -> u128 {
    let result = match bits {
        32 => single(f32_of(x)).to_bits().into(),
        64 => double(f64_of(x)).to_bits().into(),
        _ => return soft(bits, [x], |[x]| Some(other(x))),
    };
    with_defined_nan(bits, result, &[x])
}

fn binary(
    bits: u32,
    x: u128,
    y: u128,
    single: fn(f32, f32) -> f32,
    double: fn(f64, f64) -> f64,
    other: fn(Number, Number) -> Option<Number>,
) -> u128 {
    let result = match bits {
        32 => single(f32_of(x), f32_of(y)).to_bits().into(),
        64 => double(f64_of(x), f64_of(y)).to_bits().into(),
        _ => return soft(bits, [x, y], |[x, y]| other(x, y)),
    };
    with_defined_nan(bits, result, &[x, y])
}

pub(crate) fn add(bits: u32, x: u128, y: u128) -> u128 {
    binary(bits, x, y, |x, y| x + y, |x, y| x + y, Number::add)
}

pub(crate) fn sub(bits: u32, x: u128, y: u128) -> u128 {
    binary(bits, x, y, |x, y| x - y, |x, y| x - y, |x, y| x.add(y.negated()))
}

pub(crate) fn mul(bits: u32, x: u128, y: u128) -> u128 {
    binary(bits, x, y, |x, y| x * y, |x, y| x * y, Number::mul)
}

pub(crate) fn div(bits: u32, x: u128, y: u128) -> u128 {
    binary(bits, x, y, |x, y| x / y, |x, y| x / y, Number::div)
}

pub(crate) fn sqrt(bits: u32, x: u128) -> u128 {
    let result = match bits {
        32 => f32_of(x).sqrt().to_bits().into(),
        64 => f64_of(x).sqrt().to_bits().into(),
        _ => return soft(bits, [x], |[x]| x.sqrt()),
    };
    with_defined_nan(bits, result, &[x])
}

pub(crate) fn fma(bits: u32, x: u128, y: u128, z: u128) -> u128 {
    let result = match bits {
        32 => f32_of(x).mul_add(f32_of(y), f32_of(z)).to_bits().into(),
        64 => f64_of(x).mul_add(f64_of(y), f64_of(z)).to_bits().into(),
        _ => return soft(bits, [x, y, z], |[x, y, z]| x.mul(y)?.add(z)),
    };
    with_defined_nan(bits, result, &[x, y, z])
}

pub(crate) fn ceil(bits: u32, x: u128) -> u128 {
    unary(bits, x, f32::ceil, f64::ceil, Number::ceil)
}

pub(crate) fn floor(bits: u32, x: u128) -> u128 {
    unary(bits, x, f32::floor, f64::floor, Number::floor)
}

pub(crate) fn trunc(bits: u32, x: u128) -> u128 {
    unary(bits, x, f32::trunc, f64::trunc, Number::trunc)
}

pub(crate) fn nearest(bits: u32, x: u128) -> u128 {
    unary(bits, x, f32::round_ties_even, f64::round_ties_even, Number::nearest)
}

pub(crate) fn neg(bits: u32, x: u128) -> u128 {
    x ^ sign_bit(bits)
}

pub(crate) fn abs(bits: u32, x: u128) -> u128 {
    x & !sign_bit(bits)
}

pub(crate) fn copysign(bits: u32, x: u128, y: u128) -> u128 {
    abs(bits, x) | y & sign_bit(bits)
}

/// Returns a number that orders floats other than NaNs, with -0.0 below 0.0.
fn rank(bits: u32, x: u128) -> i128 {
    let magnitude = abs(bits, x) as i128;
    if x & sign_bit(bits) == 0 { magnitude } else { -1 - magnitude }
}

pub(crate) fn min(bits: u32, x: u128, y: u128) -> u128 {
    if is_nan(bits, x) || is_nan(bits, y) {
        return with_defined_nan(bits, canonical_nan(bits), &[x, y]);
    }
    if rank(bits, x) <= rank(bits, y) { x } else { y }
}

pub(crate) fn max(bits: u32, x: u128, y: u128) -> u128 {
    if is_nan(bits, x) || is_nan(bits, y) {
        return with_defined_nan(bits, canonical_nan(bits), &[x, y]);
    }
    if rank(bits, x) >= rank(bits, y) { x } else { y }
}

pub(crate) fn compare(cond: FloatCC, bits: u32, x: u128, y: u128) -> bool {
    let unordered = is_nan(bits, x) || is_nan(bits, y);
    let both_zero = abs(bits, x | y) == 0;
    let equal = !unordered && (x == y || both_zero);
    let less = !unordered && !equal && rank(bits, x) < rank(bits, y);
    let greater = !unordered && !equal && !less;
    match cond {
        FloatCC::Ordered => !unordered,
        FloatCC::Unordered => unordered,
        FloatCC::Equal => equal,
        FloatCC::NotEqual => !equal,
        FloatCC::OrderedNotEqual => less || greater,
        FloatCC::UnorderedOrEqual => unordered || equal,
        FloatCC::LessThan => less,
        FloatCC::LessThanOrEqual => less || equal,
        FloatCC::GreaterThan => greater,
        FloatCC::GreaterThanOrEqual => greater || equal,
        FloatCC::UnorderedOrLessThan => unordered || less,
        FloatCC::UnorderedOrLessThanOrEqual => unordered || less || equal,
        FloatCC::UnorderedOrGreaterThan => unordered || greater,
        FloatCC::UnorderedOrGreaterThanOrEqual => unordered || greater || equal,
    }
}

/// Converts between formats. The payload of a NaN keeps its highest bits.
pub(crate) fn convert(from: u32, to: u32, x: u128) -> u128 {
    if !is_nan(from, x) {
        return Number::decode(from, x).encode(to);
    }
    let sign = if x & sign_bit(from) == 0 { 0 } else { sign_bit(to) };
    let payload = x & mask(significand_bits(from));
    let [from, kept] = [from, to].map(significand_bits);
    let payload = if kept >= from { payload << (kept - from) } else { payload >> (from - kept) };
    canonical_nan(to) | sign | payload
}

/// Returns the number with these bits, unless they are a NaN.
pub(crate) fn number(bits: u32, x: u128) -> Option<Number> {
    (!is_nan(bits, x)).then(|| Number::decode(bits, x))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAN: u128 = 0x7fc0_0000;
    const SIGNALLING: u128 = 0xff80_0001;
    const ZERO: u128 = 0;
    const MINUS_ZERO: u128 = 1 << 31;

    fn bits(x: f32) -> u128 {
        x.to_bits().into()
    }

    #[test]
    fn nan_results() {
        assert_eq!(div(32, ZERO, MINUS_ZERO), NAN);
        assert_eq!(add(32, bits(1.0), SIGNALLING), 0xffc0_0001);
        assert_eq!(max(32, SIGNALLING, NAN), 0xffc0_0001);
        assert_eq!(sqrt(32, bits(-1.0)), NAN);
        assert_eq!(sqrt(32, MINUS_ZERO), MINUS_ZERO);
        assert_eq!(nearest(32, SIGNALLING), 0xffc0_0001);
        assert_eq!(neg(32, SIGNALLING), 0x7f80_0001);
        assert_eq!(convert(32, 64, SIGNALLING), 0xfff8_0000_2000_0000);
        assert_eq!(convert(64, 32, 0x7ff0_0000_0000_0001), NAN);
        assert_eq!((canonical(32, SIGNALLING), canonical(32, MINUS_ZERO)), (NAN, MINUS_ZERO));
    }

    #[test]
    fn zeros() {
        assert_eq!((min(32, ZERO, MINUS_ZERO), max(32, MINUS_ZERO, ZERO)), (MINUS_ZERO, ZERO));
        assert!(compare(FloatCC::Equal, 32, ZERO, MINUS_ZERO));
        assert_eq!(nearest(32, bits(-0.5)), MINUS_ZERO);
        assert_eq!(nearest(32, bits(2.5)), bits(2.0));
        assert_eq!(copysign(32, bits(1.0), MINUS_ZERO), bits(-1.0));
    }

    #[test]
    fn one_rounding() {
        let (x, y) = (1.0 + f32::EPSILON, 1.0 - f32::EPSILON);
        let product = -f32::EPSILON * f32::EPSILON;
        assert_eq!(fma(32, bits(x), bits(y), bits(-1.0)), bits(product));
    }

    #[test]
    fn comparisons_agree_with_the_host() {
        let samples = [f32::NAN, f32::NEG_INFINITY, -1.5, -0.0, 0.0, f32::MIN_POSITIVE, 1.5, f32::INFINITY];
        for (x, y) in samples.into_iter().flat_map(|x| samples.map(|y| (x, y))) {
            let check = |cond, expected| assert_eq!(compare(cond, 32, bits(x), bits(y)), expected, "{x} {cond} {y}");
            check(FloatCC::LessThan, x < y);
            check(FloatCC::LessThanOrEqual, x <= y);
            check(FloatCC::GreaterThan, x > y);
            check(FloatCC::GreaterThanOrEqual, x >= y);
            check(FloatCC::Equal, x == y);
            check(FloatCC::Unordered, x.is_nan() || y.is_nan());
            for cond in FloatCC::ALL {
                let inverse = compare(cond.inverse(), 32, bits(x), bits(y));
                assert_ne!(compare(cond, 32, bits(x), bits(y)), inverse, "{x} {cond} {y}");
            }
        }
    }
}
