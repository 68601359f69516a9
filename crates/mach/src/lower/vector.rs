//! Vectors. Operations on all bits of a register work on vectors of up to 128 bits as on floats.
//!
//! Before: `v2 = band v0, v1`. After: `andps v2, v1`.

use super::LowerResult;
use super::machine::LowerBackend;
use super::types::is_float_reg;
use crate::row::RowId;
use kingpost_ir::Inst;

/// Lowers `inst` by `lower`, if its vector fits a register.
///
/// # Errors
/// If the vector is larger, and the errors of `lower`.
pub fn in_register<'f, M: LowerBackend<'f>>(
    cx: &mut M,
    inst: Inst,
    lower: impl FnOnce(&mut M, Inst) -> LowerResult,
) -> LowerResult {
    if is_float_reg(cx.result_ty(inst)) { lower(cx, inst) } else { Err(cx.unsupported(inst)) }
}

/// Lowers an opcode that is one row, if its vector fits a register.
///
/// # Errors
/// If the vector is larger.
pub fn by_row<'f>(cx: &mut impl LowerBackend<'f>, inst: Inst, row: RowId) -> LowerResult {
    in_register(cx, inst, |cx, inst| super::by_row(cx, inst, row))
}
