//! Boundary values of a type: zeros, limits, small numbers, NaNs, and arbitrary ones.

use crate::rng::Rng;
use kingpost_ir::Type;
use kingpost_ir::types::{F16, F32, F64, F128, I64, I128};

/// Returns interesting bits of a type.
pub(super) fn edge_bits(ty: Type, rng: &mut Rng) -> u128 {
    match ty {
        _ if ty.is_vector() => edge_vector(ty, rng),
        F16 => edge_float(rng, 10, 5),
        F32 => edge_float(rng, 23, 8),
        F64 => edge_float(rng, 52, 11),
        F128 => edge_float(rng, 112, 15),
        I128 => match rng.range(0..4) {
            0 => edge_bits(I64, rng),
            1 => edge_bits(I64, rng) << 64,
            2 => !edge_bits(I64, rng),
            _ => edge_bits(I64, rng) << 64 | edge_bits(I64, rng),
        },
        _ => edge_word(ty.bits(), rng).into(),
    }
}

fn edge_word(bits: u32, rng: &mut Rng) -> u64 {
    let near = rng.range(0..3) as u64;
    let value = match rng.range(0..8) {
        0..2 => rng.range(0..12) as u64,
        2 => (1u64 << rng.range(0..bits as usize)).wrapping_sub(1).wrapping_add(near),
        3 => (1u64 << (bits - 1)).wrapping_sub(1).wrapping_add(near),
        4 => near.wrapping_sub(2),
        5 => (rng.bits() as i8) as u64,
        6 => (rng.bits() as i32) as u64,
        _ => rng.bits(),
    };
    value & u64::MAX >> (64 - bits)
}

/// Returns the bits of zeros, infinities, NaNs, limits of integers, small numbers, subnormals, and arbitrary ones.
fn edge_float(rng: &mut Rng, fraction: u32, exponent: u32) -> u128 {
    let sign = u128::from(rng.bits() & 1) << (fraction + exponent);
    let bias = (1u128 << (exponent - 1)) - 1;
    let bits = u128::from(rng.bits()) << 64 | u128::from(rng.bits());
    let mantissa = bits & ((1 << fraction) - 1);
    let near = |power: u128, rng: &mut Rng| ((bias + power) << fraction) + rng.range(0..3) as u128 - 1;
    let magnitude = match rng.range(0..11) {
        0 => 0,
        1 => ((1 << exponent) - 1) << fraction,
        2 => ((1 << exponent) - 1) << fraction | 1 << (fraction - 1),
        3 => ((1 << exponent) - 1) << fraction | mantissa,
        4 => mantissa,
        5 => near([7, 8, 15, 16, 31, 32, 63, 64, 127, 128][rng.range(0..10)].min(bias), rng),
        6 => near(0, rng),
        7..10 => (bias + rng.range(0..10) as u128 - 2) << fraction | mantissa & !0 << (fraction - 4),
        _ => bits & ((1 << (fraction + exponent)) - 1),
    };
    sign | magnitude
}

/// Returns interesting bits of a vector: of each lane, of all lanes alike, or arbitrary ones.
fn edge_vector(ty: Type, rng: &mut Rng) -> u128 {
    let lane = ty.lane_type();
    let all = match rng.range(0..4) {
        0 => u128::from(rng.bits()) << 64 | u128::from(rng.bits()),
        1 => repeated(edge_bits(lane, rng), lane.bits()),
        _ => (0..ty.lane_count()).fold(0, |bits, k| bits | edge_bits(lane, rng) << (k * lane.bits())),
    };
    all & (u128::MAX >> (128 - ty.bits()))
}

/// Returns 128 bits with the lane repeated in all lanes.
pub(super) fn repeated(lane: u128, bits: u32) -> u128 {
    (0..128 / bits).fold(0, |all, k| all | lane << (k * bits))
}
