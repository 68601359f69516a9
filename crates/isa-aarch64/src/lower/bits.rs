//! Counting bits and changing their order.
//!
//! Before: `v1 = ctz v0`. After: `rbit w1, w0; clz w1, w1`.
//!
//! Narrow integers are counted in 32 bits, with their upper bits set so that they do not change the count.

use super::LowerResult;
use super::cx::Cx;
use crate::encoding::Arrangement;
use crate::immediates;
use crate::rows::{self, lanes};
use kingpost_ir::{Inst, Type};
use kingpost_mach::LowerBackend;
use kingpost_mach::lower::working_bits;
use kingpost_regalloc::VReg;

/// Lowers `bitrev`.
pub(super) fn bitrev(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let ty = cx.result_ty(inst);
    let [def, source] = cx.registers(inst);
    if ty.bits() >= 32 {
        cx.emit(rows::RBIT_RR.of(ty.bits()), &[def, source]);
        return Ok(());
    }
    let reversed = cx.int_temp(32);
    cx.emit(rows::RBIT_RR.of(32), &[reversed, source]);
    cx.emit_imm(rows::LSR_RRI.of(32), &[def, reversed], 32 - ty.bits() as i32);
    Ok(())
}

/// Lowers `clz`.
pub(super) fn clz(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    let ty = cx.ty(x);
    let value = cx.first_result(inst);
    let (def, source) = (cx.result(value), cx.use_zero_extended(x));
    count_above(cx, rows::CLZ_RR.of(ty.bits()), def, source, ty);
    Ok(())
}

/// Sets `def` to the result of `row` minus the number of register bits above a value of type `ty`.
fn count_above(cx: &mut Cx<'_, '_>, row: kingpost_mach::RowId, def: VReg, source: VReg, ty: Type) {
    let surplus = working_bits(ty) - ty.bits();
    if surplus == 0 {
        cx.emit(row, &[def, source]);
        return;
    }
    let count = cx.int_temp(32);
    cx.emit(row, &[count, source]);
    cx.emit_imm(rows::SUB_RRI.of(32), &[def, count], surplus as i32);
}

/// Lowers `cls`.
pub(super) fn cls(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    let ty = cx.ty(x);
    let value = cx.first_result(inst);
    let (def, source) = (cx.result(value), cx.use_sign_extended(x));
    count_above(cx, rows::CLS_RR.of(ty.bits()), def, source, ty);
    Ok(())
}

/// Lowers `ctz`. A bit that is set just above a narrow value ends the count.
pub(super) fn ctz(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    let ty = cx.ty(x);
    let value = cx.first_result(inst);
    let (def, mut source) = (cx.result(value), cx.use_reg(x));
    let bits = working_bits(ty);
    if ty.bits() < 32 {
        let guarded = cx.int_temp(32);
        let guard = immediates::logical(1 << ty.bits(), 32).expect("one bit is a pattern");
        cx.emit_imm(rows::ORR_RRI.of(32), &[guarded, source], guard);
        source = guarded;
    }
    let reversed = cx.int_temp(bits);
    cx.emit(rows::RBIT_RR.of(bits), &[reversed, source]);
    cx.emit(rows::CLZ_RR.of(bits), &[def, reversed]);
    Ok(())
}

/// A vector of bytes as large as an integer register.
const EIGHT_BYTES: Arrangement = Arrangement::new(8, false);

/// Lowers `popcnt`: the bits of each byte are counted in a vector register, and the counts added up there.
pub(super) fn popcnt(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    let ty = cx.ty(x);
    let value = cx.first_result(inst);
    let (def, source) = (cx.result(value), cx.use_zero_extended(x));
    let [image, counts, total] = std::array::from_fn(|_| cx.float_temp(64));
    cx.emit(rows::FMOV_FR.of(ty.bits()), &[image, source]);
    cx.emit(lanes::CNT.of(EIGHT_BYTES), &[counts, image]);
    cx.emit(lanes::ADDV.of(EIGHT_BYTES), &[total, counts]);
    cx.emit(rows::FMOV_RF.of(32), &[def, total]);
    Ok(())
}
