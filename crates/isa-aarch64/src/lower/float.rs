//! Floating-point arithmetic, signs, minimum and maximum. Conversions and rounding have files of their own.
//!
//! Signs are changed as bits, so that every bit of a NaN stays. With the setting `enable_nan_canonicalization` what
//! arithmetic yields passes through [`arithmetic`], which replaces any NaN by the canonical one.

use super::Lowered;
use super::cx::Cx;
use crate::regs::CC_VC;
use crate::rows;
use kingpost_ir::types::F64;
use kingpost_ir::{Inst, Opcode, Type};
use kingpost_mach::lower::{float_pattern, is_float};
use kingpost_mach::{Machine, RowId};
use kingpost_regalloc::VReg;

/// One operation in single and double precision.
#[derive(Clone, Copy)]
pub(super) struct FloatRows(pub(super) RowId, pub(super) RowId);

impl FloatRows {
    pub(super) const ADD: FloatRows = FloatRows(rows::FADD32_FFF, rows::FADD64_FFF);
    pub(super) const SUB: FloatRows = FloatRows(rows::FSUB32_FFF, rows::FSUB64_FFF);
    pub(super) const MUL: FloatRows = FloatRows(rows::FMUL32_FFF, rows::FMUL64_FFF);
    pub(super) const DIV: FloatRows = FloatRows(rows::FDIV32_FFF, rows::FDIV64_FFF);
    pub(super) const MIN: FloatRows = FloatRows(rows::FMIN32_FFF, rows::FMIN64_FFF);
    pub(super) const MAX: FloatRows = FloatRows(rows::FMAX32_FFF, rows::FMAX64_FFF);
    pub(super) const SQRT: FloatRows = FloatRows(rows::FSQRT32_FF, rows::FSQRT64_FF);
    pub(super) const NEG: FloatRows = FloatRows(rows::FNEG32_FF, rows::FNEG64_FF);
    pub(super) const ABS: FloatRows = FloatRows(rows::FABS32_FF, rows::FABS64_FF);
    pub(super) const COMPARE: FloatRows = FloatRows(rows::FCMP32_FF, rows::FCMP64_FF);
    pub(super) const COMPARE_ZERO: FloatRows = FloatRows(rows::FCMP32_FZ, rows::FCMP64_FZ);
    pub(super) const COMPARE_IF: FloatRows = FloatRows(rows::FCCMP32_FF, rows::FCCMP64_FF);
    const NEGATED_MUL: FloatRows = FloatRows(rows::FNMUL32_FFF, rows::FNMUL64_FFF);
    const SELECT: FloatRows = FloatRows(rows::FCSEL32_FFF, rows::FCSEL64_FFF);
    const SHIFT_RIGHT: FloatRows = FloatRows(rows::USHR32_FFI, rows::USHR64_FFI);
    const INSERT_ABOVE: FloatRows = FloatRows(rows::SLI32_FFI, rows::SLI64_FFI);

    pub(super) fn of(self, ty: Type) -> RowId {
        if ty == F64 { self.1 } else { self.0 }
    }
}

impl Cx<'_, '_> {
    /// A register for a float of type `ty`.
    pub(super) fn float_like(&mut self, ty: Type) -> VReg {
        self.float_temp(ty.bits())
    }

    /// A constant of type `ty` in a new register. Leaves the flags alone.
    pub(super) fn float_constant(&mut self, bits: u64, ty: Type) -> VReg {
        let def = self.float_like(ty);
        self.load_float(def, bits, ty.bits());
        def
    }
}

/// Lets `compute` define the result of `inst`, then makes NaNs canonical if that is asked for.
pub(super) fn arithmetic(cx: &mut Cx<'_, '_>, inst: Inst, compute: impl FnOnce(&mut Cx<'_, '_>, VReg)) -> Lowered {
    let value = cx.first_result(inst);
    let ty = cx.ty(value);
    let def = cx.result(value);
    if !cx.settings.enable_nan_canonicalization {
        compute(cx, def);
        return Ok(());
    }
    let raw = cx.float_like(ty);
    compute(cx, raw);
    let canonical = cx.float_constant(float_pattern(ty, 0x7fc0_0000, 0x7ff8 << 48), ty);
    cx.emit(FloatRows::COMPARE.of(ty), &[raw, raw]);
    cx.emit_imm(FloatRows::SELECT.of(ty), &[def, raw, canonical], CC_VC);
    Ok(())
}

/// `fadd`, `fsub`, `fmul`, `fdiv`, `fmin`, `fmax`.
pub(super) fn binary(cx: &mut Cx<'_, '_>, inst: Inst, family: FloatRows) -> Lowered {
    let [x, y] = cx.args(inst);
    let ty = cx.ty(x);
    cx.require_float(inst, ty)?;
    arithmetic(cx, inst, |cx, def| {
        let operands = [def, cx.use_reg(x), cx.use_reg(y)];
        cx.emit(family.of(ty), &operands);
    })
}

/// `sqrt`, and rounding.
pub(super) fn unary(cx: &mut Cx<'_, '_>, inst: Inst, family: FloatRows) -> Lowered {
    let [x] = cx.args(inst);
    let ty = cx.ty(x);
    cx.require_float(inst, ty)?;
    arithmetic(cx, inst, |cx, def| {
        let operands = [def, cx.use_reg(x)];
        cx.emit(family.of(ty), &operands);
    })
}

/// `fneg`; of a product nobody else needs, the product's sign at once.
pub(super) fn fneg(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    let [x] = cx.args(inst);
    let ty = cx.ty(x);
    // A canonical NaN would be made before its sign is changed.
    let foldable = is_float(ty) && cx.is_single_use(x) && !cx.settings.enable_nan_canonicalization;
    if let Some(mul) = cx.def_as(x, Opcode::Fmul).filter(|_| foldable) {
        let [a, b] = cx.args(mul);
        let value = cx.first_result(inst);
        let operands = [cx.result(value), cx.use_reg(a), cx.use_reg(b)];
        cx.emit(FloatRows::NEGATED_MUL.of(ty), &operands);
        return Ok(());
    }
    change_sign(cx, inst, FloatRows::NEG)
}

/// `fabs`.
pub(super) fn fabs(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    change_sign(cx, inst, FloatRows::ABS)
}

fn change_sign(cx: &mut Cx<'_, '_>, inst: Inst, family: FloatRows) -> Lowered {
    let [x] = cx.args(inst);
    let ty = cx.ty(x);
    cx.require_float(inst, ty)?;
    let value = cx.first_result(inst);
    let operands = [cx.result(value), cx.use_reg(x)];
    cx.emit(family.of(ty), &operands);
    Ok(())
}

/// `fcopysign`: the sign of one is moved down, and from there above the magnitude of the other.
pub(super) fn fcopysign(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    let [x, y] = cx.args(inst);
    let ty = cx.ty(x);
    cx.require_float(inst, ty)?;
    let value = cx.first_result(inst);
    let (def, x, y) = (cx.result(value), cx.use_reg(x), cx.use_reg(y));
    let sign = cx.float_like(ty);
    let top = ty.bits() as i32 - 1;
    cx.emit_imm(FloatRows::SHIFT_RIGHT.of(ty), &[sign, y], top);
    cx.emit_imm(FloatRows::INSERT_ABOVE.of(ty), &[def, x, sign], top);
    Ok(())
}
