//! Vectors. What works on all bits of a register works on vectors of up to 128 bits as it does on floats.
//!
//! Before: `v2 = band v0, v1`. After: `and v2.16b, v0.16b, v1.16b`.

use super::cx::Cx;
use super::table::LowerFn;
use super::{Lowered, compare, float};
use kingpost_ir::Inst;
use kingpost_mach::RowId;
use kingpost_mach::lower::is_float_reg;

/// Lowers `inst` as `lower` does, if its vector fits a register.
fn in_register(cx: &mut Cx<'_, '_>, inst: Inst, lower: LowerFn) -> Lowered {
    if is_float_reg(cx.result_ty(inst)) { lower(cx, inst) } else { Err(cx.unsupported(inst)) }
}

/// `band`, `bor`, `bxor`.
pub(super) fn bitwise(cx: &mut Cx<'_, '_>, inst: Inst, row: RowId) -> Lowered {
    if is_float_reg(cx.result_ty(inst)) { float::bitwise(cx, inst, row) } else { Err(cx.unsupported(inst)) }
}

/// `bnot`.
pub(super) fn bnot(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    in_register(cx, inst, float::bnot)
}

/// `bitselect`.
pub(super) fn bitselect(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    in_register(cx, inst, float::bitselect)
}

/// `select` and `select_spectre_guard`.
pub(super) fn select(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    in_register(cx, inst, compare::select_float)
}
