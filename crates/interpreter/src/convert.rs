//! Conversions between integers and floats, and between types of equal width.

use kingpost_ir::memflags::Endianness;
use kingpost_ir::{TrapCode, Type};

use crate::error::Fault;
use crate::float;
use crate::int::signed;
use crate::soft_float::Number;
use crate::value::mask;

/// Reason why a number is not in the range of an integer type.
enum OutOfRange {
    TooLow,
    TooHigh,
}

/// Returns the bits of a number, truncated to an integer type.
fn truncated(x: Number, to: u32, is_signed: bool) -> Result<u128, OutOfRange> {
    let beyond = if x.is_negative { OutOfRange::TooLow } else { OutOfRange::TooHigh };
    let (lowest, highest) = if is_signed { (1 << (to - 1), mask(to) >> 1) } else { (0, mask(to)) };
    match x.truncate() {
        Some((true, magnitude)) if magnitude <= lowest => Ok(magnitude.wrapping_neg()),
        Some((false, magnitude)) if magnitude <= highest => Ok(magnitude),
        _ => Err(beyond),
    }
}

/// Converts a float to an integer, as `fcvt_to_uint` and `fcvt_to_sint` do.
pub(crate) fn to_int(from: u32, to: u32, is_signed: bool, x: u128) -> Result<u128, Fault> {
    let number = float::number(from, x).ok_or(Fault::Trap(TrapCode::BAD_CONVERSION_TO_INTEGER));
    truncated(number?, to, is_signed).map_err(|_| Fault::Trap(TrapCode::INTEGER_OVERFLOW))
}

/// Converts a float to an integer with saturation, as `fcvt_to_uint_sat` and `fcvt_to_sint_sat` do.
pub(crate) fn to_int_sat(from: u32, to: u32, is_signed: bool, x: u128) -> Result<u128, Fault> {
    let Some(number) = float::number(from, x) else { return Ok(0) };
    Ok(match truncated(number, to, is_signed) {
        Ok(bits) => bits,
        Err(OutOfRange::TooLow) => {
            if is_signed {
                1 << (to - 1)
            } else {
                0
            }
        }
        Err(OutOfRange::TooHigh) => mask(to) >> u32::from(is_signed),
    })
}

/// Converts a float to a signed integer, as `x86_cvtt2dq` does: NaNs and numbers out of range become the minimum.
pub(crate) fn to_int_or_minimum(from: u32, to: u32, x: u128) -> Result<u128, Fault> {
    match to_int(from, to, true, x) {
        Err(Fault::Trap(_)) => Ok(1 << (to - 1)),
        result => result,
    }
}

/// Converts an integer to a float, as `fcvt_from_uint` and `fcvt_from_sint` do.
pub(crate) fn from_int(from: u32, to: u32, is_signed: bool, x: u128) -> u128 {
    let is_negative = is_signed && signed(from, x) < 0;
    let magnitude = if is_negative { signed(from, x).unsigned_abs() } else { x };
    Number::integer(is_negative, magnitude).encode(to)
}

/// Returns the bits of a value in memory order: byte N of memory is byte N of the result. Lane 0 has the lowest
/// address in both byte orders.
pub(crate) fn to_memory(ty: Type, bits: u128, order: Endianness) -> u128 {
    match order {
        Endianness::Little => bits,
        Endianness::Big => swap_lanes(ty, bits),
    }
}

/// Returns the bits of a value from its bits in memory order. Swapping bytes is its own inverse.
pub(crate) fn from_memory(ty: Type, memory: u128, order: Endianness) -> u128 {
    to_memory(ty, memory, order)
}

fn swap_lanes(ty: Type, bits: u128) -> u128 {
    let width = ty.lane_bits();
    (0..ty.lane_count()).fold(0, |result, lane| {
        let swapped = (bits >> (lane * width) & mask(width)).swap_bytes() >> (128 - width);
        result | swapped << (lane * width)
    })
}

/// Returns the bits that a load as `to` in this byte order returns after a store of `x` as `from`, as `bitcast`
/// does.
pub(crate) fn bitcast(from: Type, to: Type, order: Endianness, x: u128) -> u128 {
    from_memory(to, to_memory(from, x, order), order)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_ir::types::{I8X16, I16X8, I32, I32X4};

    fn bits(x: f32) -> u128 {
        x.to_bits().into()
    }

    #[test]
    fn ranges() {
        let check = |to, is_signed, x: f32, expected, saturated| {
            assert_eq!(to_int(32, to, is_signed, bits(x)).map(|x| x & mask(to)), expected, "{x}");
            assert_eq!(to_int_sat(32, to, is_signed, bits(x)).map(|x| x & mask(to)), Ok(saturated), "{x}");
        };
        let overflow = Err(Fault::Trap(TrapCode::INTEGER_OVERFLOW));
        let nan = Err(Fault::Trap(TrapCode::BAD_CONVERSION_TO_INTEGER));
        check(8, false, -0.9, Ok(0), 0);
        check(8, false, -1.0, overflow, 0);
        check(8, false, 255.9, Ok(255), 255);
        check(8, false, 256.0, overflow, 255);
        check(8, true, -128.9, Ok(0x80), 0x80);
        check(8, true, -129.0, overflow, 0x80);
        check(8, true, 128.0, overflow, 0x7f);
        check(64, true, 9_223_372_036_854_775_808.0, overflow, (1 << 63) - 1);
        check(64, true, -9_223_372_036_854_775_808.0, Ok(1 << 63), 1 << 63);
        check(64, false, f32::INFINITY, overflow, u64::MAX.into());
        check(64, true, f32::NEG_INFINITY, overflow, 1 << 63);
        check(32, false, f32::NAN, nan, 0);
        let largest = f32::MAX as u128;
        check(128, false, f32::MAX, Ok(largest), largest);
        check(128, true, f32::MAX, overflow, u128::MAX >> 1);
        check(128, false, f32::INFINITY, overflow, u128::MAX);
        assert_eq!(to_int_or_minimum(32, 32, bits(f32::NAN)), Ok(1 << 31));
        assert_eq!(to_int_or_minimum(32, 32, bits(2_147_483_648.0)), Ok(1 << 31));
        assert_eq!(to_int_or_minimum(32, 32, bits(7.9)), Ok(7));
    }

    #[test]
    fn from_integers() {
        assert_eq!(from_int(64, 32, false, u64::MAX.into()), bits(18_446_744_073_709_551_616.0));
        assert_eq!(from_int(8, 32, true, 0x80), bits(-128.0));
        assert_eq!(from_int(32, 32, false, 0x0100_0001), bits(16_777_216.0));
    }

    #[test]
    fn byte_orders() {
        let x = 0x0f0e_0d0c_0b0a_0908_0706_0504_0302_0100;
        assert_eq!(to_memory(I32, 0x0102_0304, Endianness::Big), 0x0403_0201);
        assert_eq!(bitcast(I8X16, I32X4, Endianness::Little, x), x);
        assert_eq!(bitcast(I8X16, I16X8, Endianness::Big, x), 0x0e0f_0c0d_0a0b_0809_0607_0405_0203_0001);
    }
}
