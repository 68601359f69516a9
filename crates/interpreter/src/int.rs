//! Integer opcodes, on one lane of `bits` bits.
//!
//! Operands are zero-extended. Results may have any bits above the width; the caller drops them.

use kingpost_ir::TrapCode;
use kingpost_ir::atomic_rmw_op::AtomicRmwOp;
use kingpost_ir::condcodes::IntCC;

use crate::value::mask;

/// Returns a lane as a signed number.
pub(crate) fn signed(bits: u32, x: u128) -> i128 {
    (x << (128 - bits)) as i128 >> (128 - bits)
}

fn minimum(bits: u32) -> i128 {
    i128::MIN >> (128 - bits)
}

fn maximum(bits: u32) -> i128 {
    i128::MAX >> (128 - bits)
}

pub(crate) fn add(_: u32, x: u128, y: u128) -> u128 {
    x.wrapping_add(y)
}

pub(crate) fn sub(_: u32, x: u128, y: u128) -> u128 {
    x.wrapping_sub(y)
}

pub(crate) fn neg(_: u32, x: u128) -> u128 {
    x.wrapping_neg()
}

pub(crate) fn abs(bits: u32, x: u128) -> u128 {
    signed(bits, x).unsigned_abs()
}

pub(crate) fn mul(_: u32, x: u128, y: u128) -> u128 {
    x.wrapping_mul(y)
}

pub(crate) fn umulhi(bits: u32, x: u128, y: u128) -> u128 {
    if bits < 128 { (x * y) >> bits } else { high_product(x, y) }
}

pub(crate) fn smulhi(bits: u32, x: u128, y: u128) -> u128 {
    if bits < 128 {
        return ((signed(bits, x) * signed(bits, y)) >> bits) as u128;
    }
    // In the unsigned product, a negative operand is too large by 2^128.
    let too_much = |sign: u128, other: u128| if sign >> 127 != 0 { other } else { 0 };
    high_product(x, y).wrapping_sub(too_much(x, y)).wrapping_sub(too_much(y, x))
}

/// Returns the high half of the 256-bit product, computed from four products of 64-bit halves.
fn high_product(x: u128, y: u128) -> u128 {
    let low = u128::from(u64::MAX);
    let [(x1, x0), (y1, y0)] = [(x >> 64, x & low), (y >> 64, y & low)];
    let middle = x1 * y0 + ((x0 * y0) >> 64);
    let carry = x0 * y1 + (middle & low);
    x1 * y1 + (middle >> 64) + (carry >> 64)
}

pub(crate) fn smin(bits: u32, x: u128, y: u128) -> u128 {
    signed(bits, x).min(signed(bits, y)) as u128
}

pub(crate) fn smax(bits: u32, x: u128, y: u128) -> u128 {
    signed(bits, x).max(signed(bits, y)) as u128
}

pub(crate) fn umin(_: u32, x: u128, y: u128) -> u128 {
    x.min(y)
}

pub(crate) fn umax(_: u32, x: u128, y: u128) -> u128 {
    x.max(y)
}

pub(crate) fn udiv(_: u32, x: u128, y: u128) -> Result<u128, TrapCode> {
    x.checked_div(y).ok_or(TrapCode::INTEGER_DIVISION_BY_ZERO)
}

pub(crate) fn sdiv(bits: u32, x: u128, y: u128) -> Result<u128, TrapCode> {
    match (signed(bits, x), signed(bits, y)) {
        (_, 0) => Err(TrapCode::INTEGER_DIVISION_BY_ZERO),
        (x, -1) if x == minimum(bits) => Err(TrapCode::INTEGER_OVERFLOW),
        (x, y) => Ok((x / y) as u128),
    }
}

pub(crate) fn urem(_: u32, x: u128, y: u128) -> Result<u128, TrapCode> {
    x.checked_rem(y).ok_or(TrapCode::INTEGER_DIVISION_BY_ZERO)
}

pub(crate) fn srem(bits: u32, x: u128, y: u128) -> Result<u128, TrapCode> {
    match signed(bits, y) {
        0 => Err(TrapCode::INTEGER_DIVISION_BY_ZERO),
        // The remainder of the minimum by -1 is 0, although the quotient overflows.
        y => Ok(signed(bits, x).wrapping_rem(y) as u128),
    }
}

pub(crate) fn compare(cond: IntCC, bits: u32, x: u128, y: u128) -> bool {
    let (sx, sy) = (signed(bits, x), signed(bits, y));
    match cond {
        IntCC::Equal => x == y,
        IntCC::NotEqual => x != y,
        IntCC::SignedLessThan => sx < sy,
        IntCC::SignedGreaterThanOrEqual => sx >= sy,
        IntCC::SignedGreaterThan => sx > sy,
        IntCC::SignedLessThanOrEqual => sx <= sy,
        IntCC::UnsignedLessThan => x < y,
        IntCC::UnsignedGreaterThanOrEqual => x >= y,
        IntCC::UnsignedGreaterThan => x > y,
        IntCC::UnsignedLessThanOrEqual => x <= y,
    }
}

/// Result and overflow of the opcodes with two results.
pub(crate) type Overflow = (u128, bool);

fn checked_unsigned(bits: u32, (result, overflow): (u128, bool)) -> Overflow {
    (result & mask(bits), overflow || result > mask(bits))
}

fn checked_signed(bits: u32, (result, overflow): (i128, bool)) -> Overflow {
    let fits = (minimum(bits)..=maximum(bits)).contains(&result);
    (result as u128 & mask(bits), overflow || !fits)
}

pub(crate) fn uadd_overflow(bits: u32, x: u128, y: u128) -> Overflow {
    checked_unsigned(bits, x.overflowing_add(y))
}

pub(crate) fn sadd_overflow(bits: u32, x: u128, y: u128) -> Overflow {
    checked_signed(bits, signed(bits, x).overflowing_add(signed(bits, y)))
}

pub(crate) fn usub_overflow(bits: u32, x: u128, y: u128) -> Overflow {
    checked_unsigned(bits, x.overflowing_sub(y))
}

pub(crate) fn ssub_overflow(bits: u32, x: u128, y: u128) -> Overflow {
    checked_signed(bits, signed(bits, x).overflowing_sub(signed(bits, y)))
}

pub(crate) fn umul_overflow(bits: u32, x: u128, y: u128) -> Overflow {
    checked_unsigned(bits, x.overflowing_mul(y))
}

pub(crate) fn smul_overflow(bits: u32, x: u128, y: u128) -> Overflow {
    checked_signed(bits, signed(bits, x).overflowing_mul(signed(bits, y)))
}

/// Returns the nearest number in the unsigned range of `bits` bits, at most 64.
pub(crate) fn clamp_unsigned(bits: u32, x: i128) -> u128 {
    x.clamp(0, mask(bits) as i128) as u128
}

/// Returns the nearest number in the signed range of `bits` bits.
pub(crate) fn clamp_signed(bits: u32, x: i128) -> u128 {
    x.clamp(minimum(bits), maximum(bits)) as u128
}

pub(crate) fn uadd_sat(bits: u32, x: u128, y: u128) -> u128 {
    clamp_unsigned(bits, x as i128 + y as i128)
}

pub(crate) fn sadd_sat(bits: u32, x: u128, y: u128) -> u128 {
    clamp_signed(bits, signed(bits, x) + signed(bits, y))
}

pub(crate) fn usub_sat(bits: u32, x: u128, y: u128) -> u128 {
    clamp_unsigned(bits, x as i128 - y as i128)
}

pub(crate) fn ssub_sat(bits: u32, x: u128, y: u128) -> u128 {
    clamp_signed(bits, signed(bits, x) - signed(bits, y))
}

pub(crate) fn avg_round(_: u32, x: u128, y: u128) -> u128 {
    (x + y + 1) >> 1
}

/// Returns the high half of twice the signed product, rounded. The lanes represent fractions from -1 to 1.
fn rounded_product(bits: u32, x: u128, y: u128) -> i128 {
    (signed(bits, x) * signed(bits, y) + (1 << (bits - 2))) >> (bits - 1)
}

pub(crate) fn sqmul_round_sat(bits: u32, x: u128, y: u128) -> u128 {
    clamp_signed(bits, rounded_product(bits, x, y))
}

/// Computes `x86_pmulhrsw`, which differs from [`sqmul_round_sat`] only for the one product that is out of range:
/// it wraps.
pub(crate) fn pmulhrsw(bits: u32, x: u128, y: u128) -> u128 {
    rounded_product(bits, x, y) as u128
}

/// Computes an operation with a carry or borrow: two steps of `step`, whose overflows are combined by or. For
/// signed operands, this can report an overflow although the second step returns into range.
pub(crate) fn with_carry(step: fn(u32, u128, u128) -> Overflow, bits: u32, x: u128, y: u128, carry: bool) -> Overflow {
    let (first, overflow) = step(bits, x, y);
    let (result, again) = step(bits, first, u128::from(carry));
    (result, overflow || again)
}

/// Returns the amount of a shift or rotation: the operand modulo the width, which is a power of two.
fn amount(bits: u32, y: u128) -> u32 {
    (y % u128::from(bits)) as u32
}

pub(crate) fn rotl(bits: u32, x: u128, y: u128) -> u128 {
    match amount(bits, y) {
        0 => x,
        amount => x << amount | x >> (bits - amount),
    }
}

pub(crate) fn rotr(bits: u32, x: u128, y: u128) -> u128 {
    match amount(bits, y) {
        0 => x,
        amount => x >> amount | x << (bits - amount),
    }
}

pub(crate) fn ishl(bits: u32, x: u128, y: u128) -> u128 {
    x << amount(bits, y)
}

pub(crate) fn ushr(bits: u32, x: u128, y: u128) -> u128 {
    x >> amount(bits, y)
}

pub(crate) fn sshr(bits: u32, x: u128, y: u128) -> u128 {
    (signed(bits, x) >> amount(bits, y)) as u128
}

pub(crate) fn bitrev(bits: u32, x: u128) -> u128 {
    x.reverse_bits() >> (128 - bits)
}

pub(crate) fn clz(bits: u32, x: u128) -> u128 {
    u128::from(x.leading_zeros() - (128 - bits))
}

pub(crate) fn cls(bits: u32, x: u128) -> u128 {
    let x = signed(bits, x);
    let zeros = (if x < 0 { !x } else { x }).leading_zeros() - (128 - bits);
    u128::from(zeros - 1)
}

pub(crate) fn ctz(bits: u32, x: u128) -> u128 {
    u128::from(x.trailing_zeros().min(bits))
}

pub(crate) fn bswap(bits: u32, x: u128) -> u128 {
    x.swap_bytes() >> (128 - bits)
}

pub(crate) fn popcnt(_: u32, x: u128) -> u128 {
    x.count_ones().into()
}

/// Returns the value that an `atomic_rmw` writes.
pub(crate) fn rmw(op: AtomicRmwOp, bits: u32, old: u128, x: u128) -> u128 {
    match op {
        AtomicRmwOp::Add => add(bits, old, x),
        AtomicRmwOp::Sub => sub(bits, old, x),
        AtomicRmwOp::And => old & x,
        AtomicRmwOp::Nand => !(old & x),
        AtomicRmwOp::Or => old | x,
        AtomicRmwOp::Xor => old ^ x,
        AtomicRmwOp::Xchg => x,
        AtomicRmwOp::Umin => umin(bits, old, x),
        AtomicRmwOp::Umax => umax(bits, old, x),
        AtomicRmwOp::Smin => smin(bits, old, x),
        AtomicRmwOp::Smax => smax(bits, old, x),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDTHS: [u32; 5] = [8, 16, 32, 64, 128];

    #[test]
    fn high_products() {
        assert_eq!(umulhi(8, 0xff, 0xff), 0xfe);
        assert_eq!(smulhi(8, 0x80, 0x80), 0x40);
        assert_eq!(umulhi(64, u64::MAX.into(), u64::MAX.into()), u128::from(u64::MAX) - 1);
        assert_eq!(umulhi(128, u128::MAX, u128::MAX), u128::MAX - 1);
        assert_eq!(smulhi(128, u128::MAX, u128::MAX), 0);
        assert_eq!(smulhi(128, 1 << 127, 2), u128::MAX);
        // Products of 64-bit numbers, computed as the high halves of 256-bit products.
        for (x, y) in [(0x1234_5678_9abc_def0_u64, 0xfedc_ba98_7654_3210_u64), (u64::MAX, 3)] {
            let wide = high_product(u128::from(x) << 64, u128::from(y) << 64);
            assert_eq!(wide, u128::from(x) * u128::from(y));
        }
    }

    #[test]
    fn division() {
        for bits in WIDTHS {
            let min = 1 << (bits - 1);
            assert_eq!(sdiv(bits, min, mask(bits)), Err(TrapCode::INTEGER_OVERFLOW));
            assert_eq!(srem(bits, min, mask(bits)), Ok(0));
            assert_eq!(sdiv(bits, 7, mask(bits)).unwrap() & mask(bits), mask(bits) - 6);
            assert_eq!(srem(bits, mask(bits) - 6, 2).unwrap() & mask(bits), mask(bits));
            for op in [udiv, sdiv, urem, srem] {
                assert_eq!(op(bits, 1, 0), Err(TrapCode::INTEGER_DIVISION_BY_ZERO));
            }
        }
    }

    #[test]
    fn overflows() {
        for bits in WIDTHS {
            let (all, max) = (mask(bits), mask(bits) >> 1);
            assert_eq!(uadd_overflow(bits, all, 1), (0, true));
            assert_eq!(sadd_overflow(bits, max, 1), (max + 1, true));
            assert_eq!(sadd_overflow(bits, all, 1), (0, false));
            assert_eq!(usub_overflow(bits, 0, 1), (all, true));
            assert_eq!(ssub_overflow(bits, max + 1, 1), (max, true));
            assert_eq!(umul_overflow(bits, max + 1, 2), (0, true));
            assert_eq!(smul_overflow(bits, max + 1, all), (max + 1, true));
            assert_eq!(smul_overflow(bits, all, all), (1, false));
            // The first step overflows; the second returns into range.
            assert_eq!(with_carry(ssub_overflow, bits, max, all, true), (max, true));
            assert_eq!(with_carry(uadd_overflow, bits, all, 0, true), (0, true));
        }
    }

    #[test]
    fn saturation() {
        for bits in [8, 16, 32, 64] {
            let (all, max, min) = (mask(bits), mask(bits) >> 1, 1 << (bits - 1));
            assert_eq!((uadd_sat(bits, all, 1), usub_sat(bits, 1, 2)), (all, 0));
            assert_eq!((sadd_sat(bits, max, 1), ssub_sat(bits, min, 1) & all), (max, min));
            assert_eq!((sadd_sat(bits, all, all) & all, ssub_sat(bits, 0, min)), (all - 1, max));
            assert_eq!((avg_round(bits, all, all), avg_round(bits, 1, 2)), (all, 2));
        }
        assert_eq!((sqmul_round_sat(16, 0x8000, 0x8000), pmulhrsw(16, 0x8000, 0x8000)), (0x7fff, 0x8000));
        assert_eq!((sqmul_round_sat(16, 0x4000, 1), sqmul_round_sat(16, 0x3fff, 1)), (1, 0));
    }

    #[test]
    fn shifts_and_counts() {
        for bits in WIDTHS {
            let top = 1 << (bits - 1);
            let width = u128::from(bits);
            assert_eq!(rotl(bits, top, width + 1) & mask(bits), 1);
            assert_eq!(rotr(bits, 1, 1) & mask(bits), top);
            assert_eq!(sshr(bits, top, width - 1) & mask(bits), mask(bits));
            assert_eq!((ushr(bits, top, width - 1), ishl(bits, 1, width)), (1, 1));
            assert_eq!((clz(bits, 0), ctz(bits, 0)), (width, width));
            assert_eq!((cls(bits, 0), cls(bits, mask(bits)), cls(bits, top)), (width - 1, width - 1, 0));
            assert_eq!((bitrev(bits, 1), bswap(bits, 1)), (top, 1 << (bits - 8)));
        }
    }
}
