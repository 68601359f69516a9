//! Integers in text form.

use std::fmt;

use super::error::LiteralError;

pub(super) fn split_sign(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    }
}

/// Parses an integer for a width of 8 to 128 bits, and returns the low bits of its two's complement. Accepts values
/// from -2^(bits-1) to 2^bits - 1.
///
/// # Errors
/// If the text is no integer or the value does not fit.
pub fn parse_int(text: &[u8], bits: u32) -> Result<u128, LiteralError> {
    let (negative, digits) = split_sign(text);
    let magnitude = match digits {
        [b'0', b'x', hex @ ..] => parse_hex(hex, bits)?,
        _ => parse_decimal(digits, bits == 64)?,
    };
    let mask = u128::MAX >> (128 - bits);
    let limit = if negative { 1 << (bits - 1) } else { mask };
    if magnitude > limit {
        return Err(LiteralError::OutOfRange);
    }
    Ok(if negative { magnitude.wrapping_neg() & mask } else { magnitude })
}

pub(super) fn parse_hex(digits: &[u8], bits: u32) -> Result<u128, LiteralError> {
    let (mut value, mut count) = (0_u128, 0);
    for &byte in digits.iter().filter(|&&byte| byte != b'_') {
        let digit = (byte as char).to_digit(16).ok_or(LiteralError::Syntax)?;
        count += 1;
        if count > 32 || (bits == 64 && count > 16) {
            return Err(LiteralError::TooManyDigits);
        }
        value = value << 4 | u128::from(digit);
    }
    if count == 0 { Err(LiteralError::Syntax) } else { Ok(value) }
}

fn parse_decimal(digits: &[u8], underscores: bool) -> Result<u128, LiteralError> {
    let (mut value, mut any) = (0_u128, false);
    for &byte in digits {
        match byte {
            b'0'..=b'9' => {
                value = value
                    .checked_mul(10)
                    .and_then(|value| value.checked_add(u128::from(byte - b'0')))
                    .ok_or(LiteralError::OutOfRange)?;
                any = true;
            }
            b'_' if underscores => {}
            _ => return Err(LiteralError::Syntax),
        }
    }
    if any { Ok(value) } else { Err(LiteralError::Syntax) }
}

/// A 64-bit integer operand. It prints as decimal below 10000, otherwise as hexadecimal in groups of four digits.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Imm64(pub i64);

impl fmt::Display for Imm64 {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if self.0 < 10_000 { write!(f, "{}", self.0) } else { write_grouped_hex(f, self.0 as u64) }
    }
}

fn write_grouped_hex(f: &mut fmt::Formatter, value: u64) -> fmt::Result {
    let groups = (64 - value.leading_zeros()).div_ceil(16).max(1);
    write!(f, "0x{:04x}", value >> (16 * (groups - 1)))?;
    (0..groups - 1).rev().try_for_each(|group| write!(f, "_{:04x}", value >> (16 * group) & 0xffff))
}

/// An offset. It prints as the empty text for 0, otherwise with its sign, and as hexadecimal from 10000 on.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Offset(pub i64);

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if self.0 == 0 {
            return Ok(());
        }
        f.write_str(if self.0 < 0 { "-" } else { "+" })?;
        let magnitude = self.0.unsigned_abs();
        if magnitude < 10_000 { write!(f, "{magnitude}") } else { write_grouped_hex(f, magnitude) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers() {
        let check = |text: &str, bits, expected: Result<u128, LiteralError>| {
            assert_eq!(parse_int(text.as_bytes(), bits), expected, "{text} in {bits} bits");
        };
        check("255", 8, Ok(255));
        check("256", 8, Err(LiteralError::OutOfRange));
        check("-128", 8, Ok(128));
        check("-129", 8, Err(LiteralError::OutOfRange));
        check("-0x80", 8, Ok(128));
        check("+7", 8, Ok(7));
        check("0xffff_ffff_ffff_ffff", 64, Ok(u64::MAX.into()));
        check("0x0_ffff_ffff_ffff_ffff", 64, Err(LiteralError::TooManyDigits));
        check("1_000", 64, Ok(1000));
        check("1_000", 32, Err(LiteralError::Syntax));
        check("-1", 128, Ok(u128::MAX));
        check("0xffffffffffffffffffffffffffffffff", 128, Ok(u128::MAX));
        for text in ["", "-", "0x", "12a", "0x1g", "--1"] {
            check(text, 64, Err(LiteralError::Syntax));
        }
    }

    #[test]
    fn printed_integers() {
        let check = |value, expected| assert_eq!(Imm64(value).to_string(), expected);
        check(0, "0");
        check(9999, "9999");
        check(10_000, "0x2710");
        check(-100_000, "-100000");
        check(0x10000, "0x0001_0000");
        check(i64::MAX, "0x7fff_ffff_ffff_ffff");
        assert_eq!(Offset(0).to_string(), "");
        assert_eq!(Offset(-8).to_string(), "-8");
        assert_eq!(Offset(0x12345).to_string(), "+0x0001_2345");
        assert_eq!(Offset(i64::MIN).to_string(), "-0x8000_0000_0000_0000");
    }
}
