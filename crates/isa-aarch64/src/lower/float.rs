//! Floating-point arithmetic, signs, minimum and maximum. Conversions and rounding have files of their own.
//!
//! Before: `v2 = fmul v0, v1; v3 = fneg v2`. After: `fnmul d3, d0, d1`.
//!
//! Signs are changed as bits, so that every bit of a NaN stays. With the setting `enable_nan_canonicalization` the
//! results of arithmetic pass through [`arithmetic`], which replaces any NaN by the canonical one.

use super::cx::Cx;
use super::{LowerResult, tiles};
use crate::encoding::Arrangement;
use crate::regs::CC_VC;
use crate::rows::{self, lanes};
use kingpost_ir::types::{F16, F32};
use kingpost_ir::{Inst, Opcode, Type};
use kingpost_mach::lower::{Tile, by_row, float_pattern, is_float};
use kingpost_mach::{Family, LowerBackend};
use kingpost_regalloc::VReg;

impl Cx<'_, '_> {
    /// Returns an error for `inst` unless the CPU has arithmetic for floats of type `ty`.
    pub(super) fn require_arithmetic(&self, inst: Inst, ty: Type) -> LowerResult {
        if self.has_arithmetic(ty) { Ok(()) } else { Err(self.unsupported(inst)) }
    }

    /// Returns `true` if the CPU has arithmetic for floats of type `ty`.
    pub(super) fn has_arithmetic(&self, ty: Type) -> bool {
        is_float(ty) || ty == F16 && self.isa.flags.has_fp16
    }

    /// Returns a new register for a float of type `ty`.
    pub(super) fn float_like(&mut self, ty: Type) -> VReg {
        self.float_temp(ty.bits())
    }

    /// Returns a constant of type `ty` in a new register. Preserves the flags.
    pub(super) fn float_constant(&mut self, bits: u64, ty: Type) -> VReg {
        let def = self.float_like(ty);
        self.load_float(def, bits, ty.bits().max(32));
        def
    }
}

/// Emits the result of `inst` by `compute`, then makes a NaN canonical if the setting requires it.
pub(super) fn arithmetic(cx: &mut Cx<'_, '_>, inst: Inst, compute: impl FnOnce(&mut Cx<'_, '_>, VReg)) -> LowerResult {
    let value = cx.first_result(inst);
    let ty = cx.ty(value);
    let def = cx.result(value);
    if !cx.settings.enable_nan_canonicalization {
        compute(cx, def);
        return Ok(());
    }
    let raw = cx.float_like(ty);
    compute(cx, raw);
    let nan = if ty == F16 { 0x7e00 } else { float_pattern(ty, 0x7fc0_0000, 0x7ff8 << 48) };
    let canonical = cx.float_constant(nan, ty);
    let mut tested = raw;
    if ty == F16 {
        // Comparisons of halves are not in the base instruction set.
        tested = cx.float_like(F32);
        cx.emit(rows::FCVT32_16_FF, &[tested, raw]);
    }
    cx.emit(rows::FCMP_FF.of(ty.bits().max(32)), &[tested, tested]);
    cx.emit_imm(rows::FCSEL_FFF.of(ty.bits().max(32)), &[def, raw, canonical], CC_VC);
    Ok(())
}

/// Lowers `fadd`, `fsub`, `fmul`, `fdiv`, `fmin`, `fmax`.
pub(super) fn binary(cx: &mut Cx<'_, '_>, inst: Inst, family: Family) -> LowerResult {
    let [x, y] = cx.args(inst);
    let ty = cx.ty(x);
    cx.require_arithmetic(inst, ty)?;
    arithmetic(cx, inst, |cx, def| {
        let operands = [def, cx.use_reg(x), cx.use_reg(y)];
        cx.emit(family.of(ty.bits()), &operands);
    })
}

/// Lowers `sqrt` and rounding.
pub(super) fn unary(cx: &mut Cx<'_, '_>, inst: Inst, family: Family) -> LowerResult {
    let [x] = cx.args(inst);
    let ty = cx.ty(x);
    cx.require_arithmetic(inst, ty)?;
    arithmetic(cx, inst, |cx, def| {
        let operands = [def, cx.use_reg(x)];
        cx.emit(family.of(ty.bits()), &operands);
    })
}

/// Lowers `fneg`. A product without another use is negated by its own instruction.
pub(super) fn fneg(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    let ty = cx.ty(x);
    // A canonical NaN would be made after its sign is changed, instead of before.
    let foldable = is_float(ty) && cx.is_single_use(x) && !cx.settings.enable_nan_canonicalization;
    if let Some(mul) = cx.def_as(x, Opcode::Fmul).filter(|_| foldable) {
        let tile = Tile::new(tiles::NEGATED_PRODUCT, rows::FNMUL_FFF.of(ty.bits()), cx.args::<2>(mul));
        return cx.emit_tile(inst, tile);
    }
    change_sign(cx, inst, rows::FNEG_FF)
}

/// Lowers `fabs`.
pub(super) fn fabs(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    change_sign(cx, inst, rows::FABS_FF)
}

fn change_sign(cx: &mut Cx<'_, '_>, inst: Inst, family: Family) -> LowerResult {
    let ty = cx.result_ty(inst);
    cx.require_arithmetic(inst, ty)?;
    by_row(cx, inst, family.of(ty.bits()))
}

/// Lowers `fcopysign` of a float with arithmetic of its own.
pub(super) fn fcopysign(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    cx.require_arithmetic(inst, cx.result_ty(inst))?;
    copy_sign(cx, inst)
}

/// Lowers `fcopysign` of lanes; a scalar is one lane. The sign of `y` is shifted down, then inserted above the
/// magnitude of `x`.
pub(super) fn copy_sign(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let ty = cx.result_ty(inst);
    let [def, x, y] = cx.registers(inst);
    let arrangement = Arrangement::new(ty.lane_bits(), ty.bits() == 128 || ty.lane_bits() == 64);
    let (sign, top) = (cx.vector_temp(), ty.lane_bits() as i32 - 1);
    cx.emit_imm(lanes::USHR.of(arrangement), &[sign, y], top);
    cx.emit_imm(lanes::SLI.of(arrangement), &[def, x, sign], top);
    Ok(())
}
