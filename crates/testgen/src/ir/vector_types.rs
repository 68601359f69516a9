//! The vector types of programs.

use crate::rng::Rng;
use kingpost_ir::Type;
use kingpost_ir::types::{F32, F64, I8, I16, I32, I64};

/// Lane types, each with the possible numbers of lanes.
pub(super) const INTS: [(Type, &[u32]); 4] =
    [(I8, &[16, 16, 8, 4, 2]), (I16, &[8, 8, 4, 2]), (I32, &[4, 4, 2]), (I64, &[2])];

pub(super) const FLOATS: [(Type, &[u32]); 2] = [(F32, &[4, 4, 2]), (F64, &[2])];

/// Returns one of the vector types with such lanes.
pub(super) fn of_lanes(lanes: &[(Type, &[u32])], rng: &mut Rng) -> Type {
    let (lane, counts) = lanes[rng.range(0..lanes.len())];
    lane.by(counts[rng.range(0..counts.len())]).expect("a vector type")
}

/// Returns any vector type.
pub(super) fn any_vector(rng: &mut Rng) -> Type {
    if rng.chance(70) { of_lanes(&INTS, rng) } else { of_lanes(&FLOATS, rng) }
}
