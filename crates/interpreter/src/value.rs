//! Values: bits with a type. The text form is the literal of run directives.

use std::fmt::{self, Display};

use kingpost_ir::Type;
use kingpost_ir::immediates::{Ieee16, Ieee32, Ieee64, Ieee128};

/// A value of at most 128 bits. Two values are equal if their types and bits are equal, so a NaN equals itself, and
/// 0.0 differs from -0.0.
///
/// Invariant: bits above the type's width are zero. Lane 0 of a vector is in the lowest bits.
#[derive(Copy, Clone, PartialEq, Eq, Hash)]
pub struct DataValue {
    ty: Type,
    bits: u128,
}

impl DataValue {
    /// Returns the value of a type with these bits. Bits above the type's width are dropped.
    pub fn new(ty: Type, bits: u128) -> DataValue {
        DataValue { ty, bits: bits & mask(ty.bits()) }
    }

    /// Returns the type.
    pub fn ty(self) -> Type {
        self.ty
    }

    /// Returns the bits, zero-extended.
    pub fn bits(self) -> u128 {
        self.bits
    }

    /// Returns the bits of a lane.
    fn lane(self, lane: u32) -> u128 {
        let ty = self.ty.lane_type();
        self.bits >> (lane * ty.bits()) & mask(ty.bits())
    }
}

/// Returns a mask of the lowest `bits` bits.
pub(crate) fn mask(bits: u32) -> u128 {
    match bits {
        0 => 0,
        1..128 => (1 << bits) - 1,
        _ => u128::MAX,
    }
}

fn write_scalar(f: &mut fmt::Formatter, ty: Type, bits: u128) -> fmt::Result {
    match (ty.is_int(), ty.bits()) {
        (true, width) => write!(f, "{}", (bits << (128 - width)) as i128 >> (128 - width)),
        (false, 16) => Ieee16::from_bits(bits as u16).fmt(f),
        (false, 32) => Ieee32::from_bits(bits as u32).fmt(f),
        (false, 64) => Ieee64::from_bits(bits as u64).fmt(f),
        (false, _) => Ieee128::from_bits(bits).fmt(f),
    }
}

impl Display for DataValue {
    /// Writes a literal that parses as an equal value: integers signed, vectors lane by lane.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if self.ty.is_scalar() {
            return write_scalar(f, self.ty, self.bits);
        }
        f.write_str("[")?;
        for lane in 0..self.ty.lane_count() {
            f.write_str(if lane == 0 { "" } else { " " })?;
            write_scalar(f, self.ty.lane_type(), self.lane(lane))?;
        }
        f.write_str("]")
    }
}

impl fmt::Debug for DataValue {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}:{self}", self.ty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_ir::types::{F64, I8, I32X4, I128};

    #[test]
    fn literals() {
        let check = |ty, bits, printed: &str| assert_eq!(DataValue::new(ty, bits).to_string(), printed);
        check(I8, 0xff, "-1");
        check(I8, 0x17f, "127");
        check(I128, u128::MAX - 1, "-2");
        check(F64, 0xfff8 << 48, "-NaN");
        check(I32X4, 0xffff_ffff_0000_0003_0000_0002_0000_0001, "[1 2 3 -1]");
    }
}
