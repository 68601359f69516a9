//! The binary interchange formats of IEEE 754.

use kingpost_ir::Type;
use kingpost_ir::types::{F16, F32, F64};

/// A binary interchange format of IEEE 754.
#[derive(Clone, Copy)]
pub(super) struct Format {
    bits: u32,
    /// Stored bits of the significand.
    pub(super) stored: u32,
}

impl Format {
    pub(super) fn of(ty: Type) -> Format {
        let stored = match ty {
            F16 => 10,
            F32 => 23,
            F64 => 52,
            _ => 112,
        };
        Format { bits: ty.bits(), stored }
    }

    pub(super) fn sign(self) -> u128 {
        1 << (self.bits - 1)
    }

    /// Returns the bits of `2^exponent`, or the bits of infinity if the exponent is one too large.
    pub(super) fn power(self, exponent: u32) -> u128 {
        let bias = (1 << (self.bits - self.stored - 2)) - 1;
        u128::from(bias + exponent) << self.stored
    }

    pub(super) fn canonical_nan(self) -> u128 {
        let quiet = 1 << (self.stored - 1);
        (self.sign() - quiet) & !(quiet - 1)
    }
}
