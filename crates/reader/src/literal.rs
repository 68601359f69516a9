//! Numbers, lanes and bytes. The `ir` crate defines the syntax of numbers.

use kingpost_ir::immediates::{Ieee16, Ieee32, Ieee64, Ieee128, LiteralError, parse_int};
use kingpost_ir::{Type, types};
use smallvec::SmallVec;

use crate::error::{ErrorKind, Result, fault};
use crate::lexer::Lexer;

/// Bytes of a constant, lowest address first.
pub(crate) type Bytes = SmallVec<[u8; 32]>;

fn check<T>(lexer: &Lexer, token: &[u8], parsed: std::result::Result<T, LiteralError>) -> Result<T> {
    match parsed {
        Ok(value) => Ok(value),
        Err(error) => fault(lexer.position() - token.len(), ErrorKind::Literal(error)),
    }
}

/// Returns a decimal number of at most 18 digits with an optional minus, or `None` for any other spelling.
fn plain_decimal(token: &[u8]) -> Option<i64> {
    let (negative, digits) = match token {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    let mut value = 0_i64;
    for &byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + i64::from(digit);
    }
    Some(if negative { -value } else { value })
}

/// Returns the number of `0x` and hexadecimal digits, with or without underscores, if it fits 63 bits.
fn plain_hexadecimal(token: &[u8]) -> Option<i64> {
    let [b'0', b'x', digits @ ..] = token else { return None };
    if digits.is_empty() || digits.len() > 15 {
        return None;
    }
    let (mut value, mut underscores) = (0_i64, 0);
    for &byte in digits {
        match byte {
            b'0'..=b'9' => value = value << 4 | i64::from(byte - b'0'),
            b'a'..=b'f' => value = value << 4 | i64::from(byte - b'a' + 10),
            b'_' => underscores += 1,
            _ => return None,
        }
    }
    (underscores < digits.len()).then_some(value)
}

/// Parses an integer of up to 128 bits, and returns its low bits.
pub(crate) fn integer(lexer: &mut Lexer, bits: u32) -> Result<u128> {
    let token = lexer.number("an integer")?;
    check(lexer, token, parse_int(token, bits))
}

/// Parses an integer of at most 64 bits. Only the low bits of the result are significant.
#[inline]
pub(crate) fn imm(lexer: &mut Lexer, bits: u32) -> Result<i64> {
    let start = lexer.position();
    if let Some(value) = lexer.try_small_number() {
        if bits == 64 || u64::from(value) >> bits == 0 {
            return Ok(value.into());
        }
        lexer.set_position(start);
    }
    any_imm(lexer, bits)
}

fn any_imm(lexer: &mut Lexer, bits: u32) -> Result<i64> {
    let token = lexer.number("an integer")?;
    if let Some(value) = plain_decimal(token).or_else(|| plain_hexadecimal(token)) {
        // The range is -2^(bits-1) to 2^bits - 1. Eighteen digits always fit 64 bits.
        if bits == 64 || (value >> bits == 0) || (value < 0 && value >> (bits - 1) == -1) {
            return Ok(value);
        }
    }
    Ok(check(lexer, token, parse_int(token, bits))? as i64)
}

/// Parses a signed 64-bit integer.
pub(crate) fn imm64(lexer: &mut Lexer) -> Result<i64> {
    imm(lexer, 64)
}

/// Parses a number without a sign that fits its type.
pub(crate) fn unsigned<T: TryFrom<u64>>(lexer: &mut Lexer, what: &'static str) -> Result<T> {
    if !lexer.peek().is_ascii_digit() {
        return lexer.expected(what);
    }
    let token = lexer.number(what)?;
    let value = match plain_decimal(token) {
        Some(value) => value as u64,
        None => check(lexer, token, parse_int(token, 64))? as u64,
    };
    check(lexer, token, T::try_from(value).map_err(|_| LiteralError::OutOfRange))
}

/// Parses an offset with its sign. Returns 0 if there is none.
#[inline]
pub(crate) fn offset64(lexer: &mut Lexer) -> Result<i64> {
    match lexer.peek() {
        b'+' | b'-' => written_offset(lexer),
        _ => Ok(0),
    }
}

fn written_offset(lexer: &mut Lexer) -> Result<i64> {
    if let Some(offset) = lexer.try_small_offset() {
        return Ok(offset.into());
    }
    let token = lexer.number("an offset")?;
    if let Some(value) = plain_decimal(token.strip_prefix(b"+").unwrap_or(token)) {
        return Ok(value);
    }
    let value = check(lexer, token, parse_int(token, 64))? as i64;
    // The offset is signed, so a value that parses with the other sign is too large.
    let signed = value != 0 && (value < 0) != (token[0] == b'-');
    check(lexer, token, if signed { Err(LiteralError::OutOfRange) } else { Ok(value) })
}

/// Parses an offset of 32 bits.
pub(crate) fn offset32(lexer: &mut Lexer) -> Result<i32> {
    let start = lexer.position();
    let offset = offset64(lexer)?;
    match i32::try_from(offset) {
        Ok(offset) => Ok(offset),
        Err(_) => fault(start, ErrorKind::Literal(LiteralError::OutOfRange)),
    }
}

/// Parses a float literal of a scalar float type, and returns its bits.
pub(crate) fn float(lexer: &mut Lexer, ty: Type) -> Result<u128> {
    let token = lexer.float("a float literal")?;
    let bits = match ty {
        types::F16 => Ieee16::parse(token).map(|float| float.bits().into()),
        types::F32 => Ieee32::parse(token).map(|float| float.bits().into()),
        types::F64 => Ieee64::parse(token).map(|float| float.bits().into()),
        _ => Ieee128::parse(token).map(Ieee128::bits),
    };
    check(lexer, token, bits)
}

/// Parses a literal of a scalar type, and returns its bits.
pub(crate) fn scalar(lexer: &mut Lexer, ty: Type) -> Result<u128> {
    if ty.is_float() { float(lexer, ty) } else { integer(lexer, ty.bits()) }
}

/// Parses `[`, one literal per lane and `]`, or `0x` and digits that are zero-extended to the type.
pub(crate) fn vector(lexer: &mut Lexer, ty: Type) -> Result<Bytes> {
    if lexer.peek() == b'[' {
        return lanes(lexer, ty);
    }
    let size = ty.bytes() as usize;
    let start = lexer.position();
    let mut bytes = hex_bytes(lexer)?;
    if bytes.len() > size {
        return fault(start, ErrorKind::ConstantSize { unit: "bytes", expected: size, found: bytes.len() });
    }
    bytes.resize(size, 0);
    Ok(bytes)
}

fn lanes(lexer: &mut Lexer, ty: Type) -> Result<Bytes> {
    let (lane, expected) = (ty.lane_type(), ty.lane_count() as usize);
    let lane_bytes = lane.bytes() as usize;
    let start = lexer.position();
    lexer.expect(b'[', "`[`")?;
    let (mut bytes, mut found) = (Bytes::new(), 0);
    while !lexer.eat(b']') {
        let bits = scalar(lexer, lane)?;
        found += 1;
        if found <= expected {
            bytes.extend_from_slice(&bits.to_le_bytes()[..lane_bytes]);
        }
    }
    if found != expected {
        return fault(start, ErrorKind::ConstantSize { unit: "lanes", expected, found });
    }
    Ok(bytes)
}

/// Parses `0x` and an even number of digits, most significant byte first. The result is in memory order, least
/// significant byte first.
pub(crate) fn hex_bytes(lexer: &mut Lexer) -> Result<Bytes> {
    /// Number of digits of the largest vector type. Upstream allows 32, but prints more if lanes were listed.
    const MAX_DIGITS: usize = 8192;
    let token = lexer.number("a constant as `0x00ff` or `[1 2]`")?;
    let start = lexer.position() - token.len();
    let Some(digits) = token.strip_prefix(b"0x") else {
        return fault(start, ErrorKind::Literal(LiteralError::Syntax));
    };
    let mut nibbles: SmallVec<[u8; 32]> = SmallVec::new();
    for &byte in digits.iter().filter(|&&byte| byte != b'_') {
        let Some(digit) = (byte as char).to_digit(16) else {
            return fault(start, ErrorKind::Literal(LiteralError::Syntax));
        };
        if nibbles.len() == MAX_DIGITS {
            return fault(start, ErrorKind::Literal(LiteralError::TooManyDigits));
        }
        nibbles.push(digit as u8);
    }
    if nibbles.is_empty() {
        return fault(start, ErrorKind::Literal(LiteralError::Syntax));
    }
    if !nibbles.len().is_multiple_of(2) {
        return fault(start, ErrorKind::OddDigits);
    }
    Ok(nibbles.rchunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_ir::types::{F32X4, I8, I8X8, I16X4};

    fn lexer(text: &str) -> Lexer<'_> {
        Lexer::new(text.as_bytes(), false)
    }

    #[test]
    fn integers_of_each_width() {
        let check = |text: &str, bits, expected: Option<i64>| {
            let found = imm(&mut lexer(text), bits).ok().map(|value| value & (u64::MAX >> (64 - bits)) as i64);
            assert_eq!(found, expected.map(|value| value & (u64::MAX >> (64 - bits)) as i64), "{text} in {bits} bits");
        };
        for text in ["-128", "0x80", "-0x80", "128"] {
            check(text, 8, Some(-128));
        }
        check("255", 8, Some(-1));
        check("256", 8, None);
        check("-129", 8, None);
        check("4294967295", 32, Some(-1));
        check("4294967296", 32, None);
        check("-9223372036854775808", 64, Some(i64::MIN));
        check("18446744073709551615", 64, Some(-1));
        check("18446744073709551616", 64, None);
    }

    #[test]
    fn offsets() {
        let offset = |text| offset32(&mut lexer(text)).ok();
        assert_eq!(
            (offset(""), offset("+8"), offset(" -0x10"), offset("+0x1_0000")),
            (Some(0), Some(8), Some(-16), Some(65536))
        );
        assert_eq!(
            (offset("+2147483647"), offset("+2147483648"), offset("-2147483648")),
            (Some(i32::MAX), None, Some(i32::MIN))
        );
        assert_eq!(offset("+0xffff_ffff_ffff_ffff"), None);
        assert_eq!(offset("-0xffff_ffff_ffff_ffff"), None);
        assert_eq!(offset("+ 8"), None);
    }

    #[test]
    fn constants() {
        let bytes = |text, ty| vector(&mut lexer(text), ty).ok().map(|bytes| bytes.to_vec());
        assert_eq!(bytes("[1 -1 0x7f 4]", I16X4), Some(vec![1, 0, 255, 255, 0x7f, 0, 4, 0]));
        assert_eq!(bytes("0x0102", I8X8), Some(vec![2, 1, 0, 0, 0, 0, 0, 0]));
        assert_eq!(bytes("[0x1.0 0.0 -0.0 NaN]", F32X4).map(|bytes| bytes[..4].to_vec()), Some(vec![0, 0, 0x80, 0x3f]));
        for text in ["[1 2 3]", "[1 2 3 4 5]", "0x112233445566778899", "0x1", "0x", "[1, 2, 3, 4]", "[1 2 3 4"] {
            assert_eq!(bytes(text, I16X4), None, "{text}");
        }
        assert_eq!(scalar(&mut lexer("-1"), I8).ok(), Some(255));
        assert_eq!(unsigned::<u8>(&mut lexer("0x10"), "").ok(), Some(16));
        assert_eq!(unsigned::<u8>(&mut lexer("256"), "").ok(), None);
        assert_eq!(unsigned::<u8>(&mut lexer("+1"), "").ok(), None);
    }
}
