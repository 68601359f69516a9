//! Predicates on types.

use super::{LowerCtx, LowerResult};
use crate::error::LowerError;
use kingpost_ir::types::{F32, F64};
use kingpost_ir::{Inst, Type, Value};

/// Returns `true` if this is a scalar integer of one register.
pub fn is_word(ty: Type) -> bool {
    ty.is_int() && ty.bits() <= 64
}

/// Returns `true` if this is a float with arithmetic of its own.
pub fn is_float(ty: Type) -> bool {
    matches!(ty, F32 | F64)
}

/// Returns `true` if this type is kept whole in one float register of at most 128 bits.
pub fn is_float_reg(ty: Type) -> bool {
    !ty.is_int() && ty.bits() <= 128 && !ty.is_dynamic_vector()
}

/// Returns the width in which an integer of this type is computed if its upper bits do not matter.
pub fn working_bits(ty: Type) -> u32 {
    ty.bits().max(32)
}

/// Returns the bits of a float constant, given its bits in each precision.
pub fn float_pattern(ty: Type, single: u32, double: u64) -> u64 {
    if ty == F64 { double } else { u64::from(single) }
}

/// Returns the bits of `value` in `ty`, which must represent it exactly.
pub fn float_bits(ty: Type, value: f64) -> u64 {
    float_pattern(ty, (value as f32).to_bits(), value.to_bits())
}

/// Returns the number of bits of the significand of a float, including the hidden bit. All integers of this size are
/// exact.
pub fn precision(ty: Type) -> u32 {
    if ty == F64 { 53 } else { 24 }
}

/// Errors for unsupported types.
impl LowerCtx<'_> {
    /// Returns an error for `inst` unless `ty` is a scalar integer of one register.
    ///
    /// # Errors
    /// The opcode is unsupported.
    pub fn require_word(&self, inst: Inst, ty: Type) -> LowerResult {
        if is_word(ty) { Ok(()) } else { Err(self.unsupported(inst)) }
    }

    /// Returns the operand, its type, and the number of bits of the result of a conversion from a float to an integer
    /// of one register.
    ///
    /// # Errors
    /// If the conversion has another type.
    pub fn float_to_int(&self, inst: Inst) -> Result<(Value, Type, u32), LowerError> {
        let [x] = self.args(inst);
        let (from, to) = (self.ty(x), self.result_ty(inst));
        self.require_float(inst, from)?;
        self.require_word(inst, to)?;
        Ok((x, from, to.bits()))
    }

    /// Returns an error for `inst` unless `ty` is a float with arithmetic of its own.
    ///
    /// # Errors
    /// The opcode is unsupported.
    pub fn require_float(&self, inst: Inst, ty: Type) -> LowerResult {
        if is_float(ty) { Ok(()) } else { Err(self.unsupported(inst)) }
    }
}
