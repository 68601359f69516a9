//! Floating-point operations on the bits of binary16, binary32 and binary64 (IEEE 754, section 3.4), rounded to nearest
//! even.
//!
//! A NaN result may be any NaN: a solver may choose one, and evaluation returns the positive canonical NaN. Terms
//! must therefore not depend on the bits of a NaN. Terms of code may: there, an operation is a function of its operands
//! that may return any NaN where the result is one.

use crate::bits::{Bits, Sort};
use crate::float_op::FloatOp;
use crate::term::{Node, Op, Term, Terms};
use std::fmt::{self, Write};

impl Terms {
    /// Returns the term of a floating-point operation with a result of `width` bits.
    ///
    /// # Panics
    /// If the operation has no format of the width of an operand or of the result.
    pub fn float(&mut self, op: FloatOp, operands: &[Term], width: u32) -> Term {
        let mut operands = operands.to_vec();
        if self.is_of_code()
            && let Some(normal) = self.narrow_conversion(op, operands[0], width)
        {
            return normal;
        }
        if self.is_of_code()
            && let Some(normal) = self
                .conversion_of_choice(op, operands[0], width)
                .or_else(|| self.conversion_of_number(op, operands[0], width))
        {
            return normal;
        }
        if self.simplifies() {
            let values: Option<Vec<Bits>> = operands.iter().map(|&operand| self.bits(operand)).collect();
            if let Some(values) = values {
                let value = apply(op, width, &values);
                if !self.is_of_code() || !op.is_nan(value) {
                    return self.constant(value);
                }
            }
            if op.commutes() {
                operands[..2].sort_unstable();
            }
            if let (true, Some((op, integer))) = (self.is_of_code(), self.unextended(op, operands[0])) {
                return self.float(op, &[integer], width);
            }
        }
        let node = match operands[..] {
            [a] => Node::Unary(Op::Float(op), a),
            [a, b] => Node::Binary(Op::Float(op), a, b),
            [a, b, c] => Node::Ternary(Op::Float(op), a, b, c),
            _ => panic!("{op:?} of {} operands", operands.len()),
        };
        self.intern(node, Sort::Bits(width))
    }

    /// Returns the term of an operation that an instruction performs. The NaN that is the result of two NaNs depends on
    /// their order. Of two orders of the same operands, the one that code performs first has the term of
    /// [`Terms::float`].
    pub fn performed(&mut self, op: FloatOp, operands: &[Term], width: u32) -> Term {
        let term = self.float(op, operands, width);
        if !self.is_of_code() || !op.commutes() || operands[0] == operands[1] {
            return term;
        }
        let ascends = operands[0] < operands[1];
        if self.first_order(term, ascends) == ascends {
            return term;
        }
        let [a, b] = [0, 1].map(|number| self.is_nan(operands[number]));
        let both = self.and(a, b);
        let nan = self.var(&format!("?nan{}", term.index()), Sort::Bits(width));
        self.ite(both, nan, term)
    }

    /// Returns a conversion of an extended integer as one of the integer.
    fn unextended(&self, op: FloatOp, integer: Term) -> Option<(FloatOp, Term)> {
        match (op, self.node(integer)) {
            (FloatOp::FromSigned | FloatOp::FromUnsigned, Node::Unary(Op::ZeroExtend, inner)) => {
                Some((FloatOp::FromUnsigned, inner))
            }
            (FloatOp::FromSigned, Node::Unary(Op::SignExtend, inner)) => Some((FloatOp::FromSigned, inner)),
            _ => None,
        }
    }
}

impl FloatOp {
    /// Returns `true` if the first two operands may change places where not both are NaNs.
    fn commutes(self) -> bool {
        matches!(self, FloatOp::Add | FloatOp::Mul | FloatOp::Fma)
    }

    /// Returns `true` if the result is a NaN.
    pub fn is_nan(self, result: Bits) -> bool {
        !matches!(self, FloatOp::ToSigned | FloatOp::ToUnsigned) && to_f64(result).is_nan()
    }
}

/// Applies an operation to constants; the result has `width` bits.
pub(crate) fn apply(op: FloatOp, width: u32, args: &[Bits]) -> Bits {
    let format = if matches!(op, FloatOp::ToSigned | FloatOp::ToUnsigned) { args[0].width() } else { width };
    match (op, args) {
        (FloatOp::Convert, &[a]) => from_f64(width, to_f64(a)),
        // Integers of more than 53 bits are rounded twice. This is harmless, because integers that large are
        // infinite in binary16.
        (FloatOp::FromSigned, &[a]) if format == 32 => single(a.signed() as f32),
        (FloatOp::FromUnsigned, &[a]) if format == 32 => single(a.unsigned() as f32),
        (FloatOp::FromSigned, &[a]) => from_f64(width, a.signed() as f64),
        (FloatOp::FromUnsigned, &[a]) => from_f64(width, a.unsigned() as f64),
        (FloatOp::ToSigned, &[a]) => {
            let most = Bits::sign_bit(width).not().signed();
            Bits::signed_new(width, (to_f64(a) as i128).clamp(-most - 1, most))
        }
        (FloatOp::ToUnsigned, &[a]) => Bits::new(width, (to_f64(a) as u128).min(Bits::ones(width).unsigned())),
        (FloatOp::Fma, &[a, b, c]) if format == 32 => single(to_f32(a).mul_add(to_f32(b), to_f32(c))),
        (FloatOp::Fma, &[a, b, c]) if format == 64 => from_f64(64, to_f64(a).mul_add(to_f64(b), to_f64(c))),
        // Rounding twice is harmless if the first format has more than twice the digits of the result (Figueroa,
        // When is double rounding innocuous?, 1995).
        (_, &[a, b]) => from_f64(width, binary(op, to_f64(a), to_f64(b))),
        (_, &[a]) => from_f64(width, unary(op, to_f64(a))),
        _ => panic!("{op:?} of {args:?}"),
    }
}

fn binary(op: FloatOp, a: f64, b: f64) -> f64 {
    match op {
        FloatOp::Add => a + b,
        FloatOp::Sub => a - b,
        FloatOp::Mul => a * b,
        FloatOp::Div => a / b,
        _ => panic!("{op:?} of two operands"),
    }
}

fn unary(op: FloatOp, a: f64) -> f64 {
    match op {
        FloatOp::Sqrt => a.sqrt(),
        FloatOp::Ceil => a.ceil(),
        FloatOp::Floor => a.floor(),
        FloatOp::Trunc => a.trunc(),
        FloatOp::Nearest => a.round_ties_even(),
        _ => panic!("{op:?} of one operand"),
    }
}

fn to_f32(bits: Bits) -> f32 {
    f32::from_bits(bits.unsigned() as u32)
}

fn single(value: f32) -> Bits {
    Bits::new(32, if value.is_nan() { 0x7fc0_0000 } else { value.to_bits().into() })
}

pub(crate) fn to_f64(bits: Bits) -> f64 {
    match bits.width() {
        16 => from_half(bits.unsigned() as u16),
        32 => to_f32(bits).into(),
        64 => f64::from_bits(bits.unsigned() as u64),
        width => panic!("a float of {width} bits"),
    }
}

fn from_f64(width: u32, value: f64) -> Bits {
    match width {
        16 => Bits::new(16, to_half(value).into()),
        32 => single(value as f32),
        64 => Bits::new(64, if value.is_nan() { 0x7ff8 << 48 } else { value.to_bits().into() }),
        width => panic!("a float of {width} bits"),
    }
}

/// Digits of binary16 after the leading one, and its smallest exponent.
const HALF_DIGITS: i32 = 10;
const HALF_LEAST: i32 = -14;

fn from_half(half: u16) -> f64 {
    let (exponent, digits) = (i32::from(half >> HALF_DIGITS & 0x1f), f64::from(half & 0x3ff));
    let magnitude = match exponent {
        0 => digits * f64::powi(2.0, HALF_LEAST - HALF_DIGITS),
        31 if digits == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (digits + 1024.0) * f64::powi(2.0, exponent - 25),
    };
    if half >> 15 == 0 { magnitude } else { -magnitude }
}

fn to_half(value: f64) -> u16 {
    if value.is_nan() {
        return 0x7e00;
    }
    let sign = u16::from(value.is_sign_negative()) << 15;
    let magnitude = value.abs();
    if magnitude >= 65536.0 {
        return sign | 0x7c00;
    }
    let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).max(HALF_LEAST);
    // In units of the last digit. A carry out of the digits increments the exponent, up to infinity.
    let units = (magnitude * f64::powi(2.0, HALF_DIGITS - exponent)).round_ties_even() as u16;
    sign | ((((exponent - HALF_LEAST) as u16) << HALF_DIGITS) + units)
}

/// Returns the numbers of exponent bits and of significand bits, including the hidden bit, as text.
fn format_text(width: u32) -> &'static str {
    match width {
        16 => "5 11",
        32 => "8 24",
        64 => "11 53",
        width => panic!("a float of {width} bits"),
    }
}

/// Text of a float operation, without the bits of its result.
pub(crate) struct FloatText<'t> {
    pub(crate) op: FloatOp,
    pub(crate) operands: &'t [String],
    /// Widths of operands and result, in bits.
    pub(crate) widths: [u32; 2],
}

impl FloatText<'_> {
    /// Returns `true` if the result of the operation is an integer.
    pub(crate) fn makes_bits(&self) -> bool {
        matches!(self.op, FloatOp::ToSigned | FloatOp::ToUnsigned)
    }

    /// Returns the SMT-LIB text of the float with these bits.
    pub(crate) fn as_float(width: u32, bits: &str) -> String {
        format!("((_ to_fp {}) {bits})", format_text(width))
    }
}

impl fmt::Display for FloatText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [from, to] = self.widths;
        let head = match self.op {
            FloatOp::Add => "fp.add RNE".to_string(),
            FloatOp::Sub => "fp.sub RNE".to_string(),
            FloatOp::Mul => "fp.mul RNE".to_string(),
            FloatOp::Div => "fp.div RNE".to_string(),
            FloatOp::Fma => "fp.fma RNE".to_string(),
            FloatOp::Sqrt => "fp.sqrt RNE".to_string(),
            FloatOp::Ceil => "fp.roundToIntegral RTP".to_string(),
            FloatOp::Floor => "fp.roundToIntegral RTN".to_string(),
            FloatOp::Trunc => "fp.roundToIntegral RTZ".to_string(),
            FloatOp::Nearest => "fp.roundToIntegral RNE".to_string(),
            FloatOp::Convert => format!("(_ to_fp {}) RNE", format_text(to)),
            FloatOp::FromSigned => return write!(f, "((_ to_fp {}) RNE {})", format_text(to), self.operands[0]),
            FloatOp::FromUnsigned => {
                return write!(f, "((_ to_fp_unsigned {}) RNE {})", format_text(to), self.operands[0]);
            }
            FloatOp::ToSigned => format!("(_ fp.to_sbv {to}) RTZ"),
            FloatOp::ToUnsigned => format!("(_ fp.to_ubv {to}) RTZ"),
        };
        write!(f, "({head}")?;
        for operand in self.operands {
            write!(f, " {}", FloatText::as_float(from, operand))?;
        }
        f.write_char(')')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_there_and_back() {
        for half in 0..=u16::MAX {
            let value = from_half(half);
            let expected = if value.is_nan() { 0x7e00 } else { half };
            assert_eq!(to_half(value), expected, "{half:#x} is {value}");
        }
        for (value, half) in [(65519.0, 0x7bff), (65520.0, 0x7c00), (1e-9, 0), (3e-8, 1), (-1.0 / 3.0, 0xb555)] {
            assert_eq!(to_half(value), half, "{value}");
        }
    }

    #[test]
    fn results() {
        let bits = |value: f32| Bits::new(32, value.to_bits().into());
        let run = |op, args: &[f32]| apply(op, 32, &args.iter().map(|&arg| bits(arg)).collect::<Vec<_>>());
        assert_eq!(run(FloatOp::Div, &[1.0, 3.0]), bits(1.0 / 3.0));
        assert_eq!(run(FloatOp::Sub, &[0.5, 0.5]), bits(0.0));
        assert_eq!(run(FloatOp::Sqrt, &[-1.0]), Bits::new(32, 0x7fc0_0000));
        assert_eq!(run(FloatOp::Nearest, &[2.5]), bits(2.0));
        assert_eq!(apply(FloatOp::FromSigned, 32, &[Bits::signed_new(64, -3)]), bits(-3.0));
        assert_eq!(apply(FloatOp::ToSigned, 8, &[bits(-3.9)]), Bits::signed_new(8, -3));
    }
}
