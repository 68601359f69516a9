//! Vectors. What works on all bits of a register works on vectors of up to 128 bits as it does on floats.
//!
//! Before: `v2 = band v0, v1`. After: `andps v2, v1`.

use super::Lowered;
use super::machine::Machine;
use super::types::is_float_reg;
use crate::row::RowId;
use kingpost_ir::Inst;

/// Lowers `inst` as `lower` does, if its vector fits a register.
///
/// # Errors
/// Larger vectors, and what `lower` refuses.
pub fn in_register<'f, M: Machine<'f>>(cx: &mut M, inst: Inst, lower: impl FnOnce(&mut M, Inst) -> Lowered) -> Lowered {
    if is_float_reg(cx.result_ty(inst)) { lower(cx, inst) } else { Err(cx.unsupported(inst)) }
}

/// An opcode that is one row, if its vector fits a register.
///
/// # Errors
/// Larger vectors.
pub fn by_row<'f>(cx: &mut impl Machine<'f>, inst: Inst, row: RowId) -> Lowered {
    in_register(cx, inst, |cx, inst| super::by_row(cx, inst, row))
}
