//! Floats in text form, converted by their bits: hexadecimal, exact, with the payload of a NaN.

use std::fmt;

use super::error::LiteralError;
use super::int::{parse_hex, split_sign};

/// A binary interchange format of IEEE 754.
#[derive(Copy, Clone, Debug)]
struct FloatFormat {
    exponent_bits: u32,
    /// Without the implicit leading bit.
    significand_bits: u32,
}

const BINARY16: FloatFormat = FloatFormat { exponent_bits: 5, significand_bits: 10 };
const BINARY32: FloatFormat = FloatFormat { exponent_bits: 8, significand_bits: 23 };
const BINARY64: FloatFormat = FloatFormat { exponent_bits: 11, significand_bits: 52 };
const BINARY128: FloatFormat = FloatFormat { exponent_bits: 15, significand_bits: 112 };

impl FloatFormat {
    fn max_exponent(self) -> i32 {
        (1 << (self.exponent_bits - 1)) - 1
    }

    fn min_exponent(self) -> i32 {
        1 - self.max_exponent()
    }

    fn exponent_mask(self) -> u128 {
        (1 << self.exponent_bits) - 1
    }

    fn significand_mask(self) -> u128 {
        (1 << self.significand_bits) - 1
    }

    fn quiet_bit(self) -> u128 {
        1 << (self.significand_bits - 1)
    }

    fn sign_shift(self) -> u32 {
        self.exponent_bits + self.significand_bits
    }

    fn special(self, significand: u128) -> u128 {
        self.exponent_mask() << self.significand_bits | significand
    }

    fn write(self, f: &mut fmt::Formatter, bits: u128) -> fmt::Result {
        let negative = bits >> self.sign_shift() & 1 != 0;
        let exponent = bits >> self.significand_bits & self.exponent_mask();
        let significand = bits & self.significand_mask();
        if exponent == self.exponent_mask() {
            f.write_str(if negative { "-" } else { "+" })?;
            return self.write_special(f, significand);
        }
        if negative {
            f.write_str("-")?;
        }
        if exponent == 0 && significand == 0 {
            return f.write_str("0.0");
        }
        let digits = self.significand_bits.div_ceil(4);
        let padded = significand << (digits * 4 - self.significand_bits);
        let (leading, exponent) = match exponent {
            0 => (0, self.min_exponent()),
            _ => (1, exponent as i32 - self.max_exponent()),
        };
        write!(f, "0x{leading}.{padded:0width$x}p{exponent}", width = digits as usize)
    }

    fn write_special(self, f: &mut fmt::Formatter, significand: u128) -> fmt::Result {
        let payload = significand & !self.quiet_bit();
        match (significand & self.quiet_bit() != 0, payload) {
            (false, 0) => f.write_str("Inf"),
            (true, 0) => f.write_str("NaN"),
            (true, _) => write!(f, "NaN:0x{payload:x}"),
            (false, _) => write!(f, "sNaN:0x{payload:x}"),
        }
    }

    fn parse(self, text: &[u8]) -> Result<u128, LiteralError> {
        let (negative, rest) = split_sign(text);
        let magnitude = match rest {
            b"0.0" => 0,
            b"Inf" => self.special(0),
            b"NaN" => self.special(self.quiet_bit()),
            [b'0', b'x', number @ ..] => self.parse_number(number)?,
            _ => {
                if let Some(payload) = rest.strip_prefix(b"NaN:0x") {
                    self.special(self.quiet_bit() | self.parse_payload(payload)?)
                } else if let Some(payload) = rest.strip_prefix(b"sNaN:0x") {
                    match self.parse_payload(payload)? {
                        0 => return Err(LiteralError::OutOfRange),
                        payload => self.special(payload),
                    }
                } else {
                    return Err(LiteralError::Syntax);
                }
            }
        };
        Ok(magnitude | u128::from(negative) << self.sign_shift())
    }

    fn parse_payload(self, digits: &[u8]) -> Result<u128, LiteralError> {
        match parse_hex(digits, 128)? {
            payload if payload < self.quiet_bit() => Ok(payload),
            _ => Err(LiteralError::OutOfRange),
        }
    }

    /// Returns the bits of `digits[.digits][pEXPONENT]`, where the digits are hexadecimal.
    fn parse_number(self, text: &[u8]) -> Result<u128, LiteralError> {
        let (mut value, mut count, mut fraction_digits) = (0_u128, 0, None);
        let mut exponent = 0;
        for (index, &byte) in text.iter().enumerate() {
            match (byte, fraction_digits) {
                (b'.', None) => fraction_digits = Some(0),
                (b'_', _) => {}
                (b'p' | b'P', _) => {
                    exponent = parse_exponent(&text[index + 1..])?;
                    break;
                }
                _ => {
                    let digit = (byte as char).to_digit(16).ok_or(LiteralError::Syntax)?;
                    count += 1;
                    if count > 32 {
                        return Err(LiteralError::TooManyDigits);
                    }
                    value = value << 4 | u128::from(digit);
                    fraction_digits = fraction_digits.map(|digits| digits + 1);
                }
            }
        }
        if count == 0 {
            return Err(LiteralError::Syntax);
        }
        self.encode(value, exponent - 4 * fraction_digits.unwrap_or(0))
    }

    /// Returns the bits of `value * 2^exponent`.
    fn encode(self, value: u128, exponent: i32) -> Result<u128, LiteralError> {
        if value == 0 {
            return Ok(0);
        }
        let top = 127 - value.leading_zeros() as i32;
        let leading_exponent = exponent + top;
        if leading_exponent > self.max_exponent() {
            return Err(LiteralError::OutOfRange);
        }
        // The exponent of the last place of the significand.
        let last = leading_exponent.max(self.min_exponent()) - self.significand_bits as i32;
        let shift = exponent - last;
        let significand = match shift {
            0.. => value << shift,
            _ if -shift < 128 && value.trailing_zeros() as i32 >= -shift => value >> -shift,
            _ => return Err(LiteralError::Inexact),
        };
        if leading_exponent < self.min_exponent() {
            return Ok(significand);
        }
        let biased = (leading_exponent + self.max_exponent()) as u128;
        Ok(biased << self.significand_bits | significand & self.significand_mask())
    }
}

/// Parses an exponent. An exponent beyond the range of every format is clamped, so that sums do not overflow.
fn parse_exponent(text: &[u8]) -> Result<i32, LiteralError> {
    let (negative, digits) = split_sign(text);
    if digits.is_empty() {
        return Err(LiteralError::Syntax);
    }
    let mut value = 0_i32;
    for &byte in digits {
        if !byte.is_ascii_digit() {
            return Err(LiteralError::Syntax);
        }
        value = (value * 10 + i32::from(byte - b'0')).min(1_000_000);
    }
    Ok(if negative { -value } else { value })
}

macro_rules! floats {
    ($($(#[$doc:meta])* $name:ident $bits:ty, $format:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
        pub struct $name($bits);

        impl $name {
            /// Returns the float with these bits.
            pub const fn from_bits(bits: $bits) -> $name {
                $name(bits)
            }

            /// Returns the bits.
            pub const fn bits(self) -> $bits {
                self.0
            }

            /// Parses a literal.
            ///
            /// # Errors
            /// If the text is no float literal or its value would have to be rounded.
            pub fn parse(text: &[u8]) -> Result<$name, LiteralError> {
                Ok($name($format.parse(text)? as $bits))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
                $format.write(f, self.0 as u128)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    )*};
}

floats! {
    /// A 16-bit float, by its bits.
    Ieee16 u16, BINARY16;
    /// A 32-bit float, by its bits.
    Ieee32 u32, BINARY32;
    /// A 64-bit float, by its bits.
    Ieee64 u64, BINARY64;
    /// A 128-bit float, by its bits.
    Ieee128 u128, BINARY128;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats() {
        let same = |text: &str, bits| {
            assert_eq!(Ieee32::parse(text.as_bytes()), Ok(Ieee32(bits)), "{text}");
            assert_eq!(Ieee32(bits).to_string(), text);
        };
        same("0.0", 0);
        same("-0.0", 1 << 31);
        same("0x1.000000p0", 1_f32.to_bits());
        same("-0x1.800000p3", (-12_f32).to_bits());
        same("0x0.000002p-126", 1);
        same("0x1.fffffep127", f32::MAX.to_bits());
        same("+Inf", f32::INFINITY.to_bits());
        same("-NaN", 0xffc0_0000);
        same("+NaN:0x1", 0x7fc0_0001);
        same("+sNaN:0x1", 0x7f80_0001);
        let value = |text: &str| Ieee64::parse(text.as_bytes()).map(|float| f64::from_bits(float.0));
        assert_eq!(value("0x83.0"), Ok(131.0));
        assert_eq!(value("0x1.8p3"), Ok(12.0));
        assert_eq!(value("0x0.0001p16"), Ok(1.0));
        assert_eq!(value("0x1.00000000000008p0"), Err(LiteralError::Inexact));
        assert_eq!(value("0x1.0p1024"), Err(LiteralError::OutOfRange));
        assert_eq!(value("0x1.0p-1075"), Err(LiteralError::Inexact));
        assert_eq!(value("0x1.0p-99999999999"), Err(LiteralError::Inexact));
        for text in ["", "1.0", "0x", "0x.", "0x1.0p", "NaN:", "inf", "0x1.0p1x", "0x1..0"] {
            assert_eq!(value(text), Err(LiteralError::Syntax), "{text}");
        }
        assert_eq!(value("sNaN:0x0"), Err(LiteralError::OutOfRange));
    }

    #[test]
    fn all_half_floats_round_trip() {
        for bits in 0..=u16::MAX {
            let text = Ieee16(bits).to_string();
            assert_eq!(Ieee16::parse(text.as_bytes()), Ok(Ieee16(bits)), "{text}");
        }
    }

    #[test]
    fn wide_floats() {
        let one = 0x3fff_u128 << 112;
        assert_eq!(Ieee128(one).to_string(), format!("0x1.{}p0", "0".repeat(28)));
        assert_eq!(Ieee128::parse(b"0x1.0p-16494"), Ok(Ieee128(1)));
        let max = format!("0x1.{}p16383", "f".repeat(28));
        assert_eq!(Ieee128::parse(max.as_bytes()).unwrap().to_string(), max);
        assert_eq!(Ieee16(0x3555).to_string(), "0x1.554p-2");
    }
}
