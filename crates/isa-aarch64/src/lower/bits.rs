//! Counting bits and changing their order.
//!
//! Narrow integers are counted in 32 bits, extended so that the bits above them do not count.

use super::Lowered;
use super::cx::Cx;
use crate::immediates;
use crate::regs::CC_NE;
use crate::rows;
use kingpost_ir::types::I128;
use kingpost_ir::{Inst, Type, Value};
use kingpost_mach::Machine;
use kingpost_mach::lower::working_bits;
use kingpost_regalloc::VReg;

/// `bitrev`.
pub(super) fn bitrev(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    let [x] = cx.args(inst);
    let value = cx.first_result(inst);
    let ty = cx.ty(x);
    if !ty.is_int() {
        return Err(cx.unsupported(inst));
    }
    let (defs, parts) = (cx.result_parts(value), cx.use_regs(x));
    if let [low, high] = parts[..] {
        cx.emit(rows::RBIT_RR.of(64), &[defs[0], high]);
        cx.emit(rows::RBIT_RR.of(64), &[defs[1], low]);
        return Ok(());
    }
    if ty.bits() >= 32 {
        cx.emit(rows::RBIT_RR.of(ty.bits()), &[defs[0], parts[0]]);
        return Ok(());
    }
    let reversed = cx.int_temp(32);
    cx.emit(rows::RBIT_RR.of(32), &[reversed, parts[0]]);
    cx.emit_imm(rows::LSR_RRI.of(32), &[defs[0], reversed], 32 - ty.bits() as i32);
    Ok(())
}

/// Defines the count of an i128 by those of its halves: of `first`, or 64 more than of `second` if `first` is all zero.
fn count_wide(
    cx: &mut Cx<'_, '_>,
    defs: &[VReg],
    [first, second]: [VReg; 2],
    count: impl Fn(&mut Cx<'_, '_>, VReg, VReg),
) {
    let [near, far, more] = std::array::from_fn(|_| cx.int_temp(64));
    count(cx, near, first);
    count(cx, far, second);
    cx.add_constant(more, far, 64, 64);
    cx.load_constant(defs[1], 0, 64);
    cx.compare_constant(first, 0, 64);
    cx.emit_imm(rows::CSEL_RRR.of(64), &[defs[0], near, more], CC_NE);
}

fn leading_zeros(cx: &mut Cx<'_, '_>, def: VReg, source: VReg) {
    cx.emit(rows::CLZ_RR.of(64), &[def, source]);
}

fn trailing_zeros(cx: &mut Cx<'_, '_>, def: VReg, source: VReg) {
    let reversed = cx.int_temp(64);
    cx.emit(rows::RBIT_RR.of(64), &[reversed, source]);
    cx.emit(rows::CLZ_RR.of(64), &[def, reversed]);
}

/// `clz`.
pub(super) fn clz(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    let [x] = cx.args(inst);
    let ty = cx.ty(x);
    let value = cx.first_result(inst);
    if ty == I128 {
        let (defs, parts) = (cx.result_parts(value), cx.use_regs(x));
        count_wide(cx, &defs, [parts[1], parts[0]], leading_zeros);
        return Ok(());
    }
    cx.require_word(inst, ty)?;
    let (def, source) = (cx.result(value), cx.use_zero_extended(x));
    count_above(cx, rows::CLZ_RR.of(ty.bits()), def, source, ty);
    Ok(())
}

/// `def` is the count by `row` minus what a value of type `ty` does not have of the register.
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

/// `cls`.
pub(super) fn cls(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    let [x] = cx.args(inst);
    let ty = cx.ty(x);
    let value = cx.first_result(inst);
    if ty == I128 {
        cls_wide(cx, x, value);
        return Ok(());
    }
    cx.require_word(inst, ty)?;
    let (def, source) = (cx.result(value), cx.use_sign_extended(x));
    count_above(cx, rows::CLS_RR.of(ty.bits()), def, source, ty);
    Ok(())
}

/// Leading zeros once the sign is taken out, but for the sign itself.
fn cls_wide(cx: &mut Cx<'_, '_>, x: Value, value: Value) {
    let (defs, parts) = (cx.result_parts(value), cx.use_regs(x));
    let [sign, low, high, count] = std::array::from_fn(|_| cx.int_temp(64));
    cx.emit_imm(rows::ASR_RRI.of(64), &[sign, parts[1]], 63);
    cx.emit(rows::EOR_RRR.of(64), &[low, parts[0], sign]);
    cx.emit(rows::EOR_RRR.of(64), &[high, parts[1], sign]);
    count_wide(cx, &[count, defs[1]], [high, low], leading_zeros);
    cx.emit_imm(rows::SUB_RRI.of(64), &[defs[0], count], 1);
}

/// `ctz`. A bit set above a narrow value ends the search there.
pub(super) fn ctz(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    let [x] = cx.args(inst);
    let ty = cx.ty(x);
    let value = cx.first_result(inst);
    if ty == I128 {
        let (defs, parts) = (cx.result_parts(value), cx.use_regs(x));
        count_wide(cx, &defs, [parts[0], parts[1]], trailing_zeros);
        return Ok(());
    }
    cx.require_word(inst, ty)?;
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

/// `popcnt`: the bits of each byte are counted in a vector register, and the counts added up there.
pub(super) fn popcnt(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    let [x] = cx.args(inst);
    let ty = cx.ty(x);
    let value = cx.first_result(inst);
    if ty == I128 {
        let (defs, parts) = (cx.result_parts(value), cx.use_regs(x));
        let [low, image, counts, total] = std::array::from_fn(|_| cx.float_temp(128));
        cx.emit(rows::FMOV_FR.of(64), &[low, parts[0]]);
        cx.emit(rows::INS64_HIGH_FR, &[image, low, parts[1]]);
        cx.emit(rows::CNT_FF.of(128), &[counts, image]);
        cx.emit(rows::ADDV_FF.of(128), &[total, counts]);
        cx.emit(rows::FMOV_RF.of(32), &[defs[0], total]);
        cx.load_constant(defs[1], 0, 64);
        return Ok(());
    }
    cx.require_word(inst, ty)?;
    let (def, source) = (cx.result(value), cx.use_zero_extended(x));
    let [image, counts, total] = std::array::from_fn(|_| cx.float_temp(64));
    cx.emit(rows::FMOV_FR.of(ty.bits()), &[image, source]);
    cx.emit(rows::CNT_FF.of(64), &[counts, image]);
    cx.emit(rows::ADDV_FF.of(64), &[total, counts]);
    cx.emit(rows::FMOV_RF.of(32), &[def, total]);
    Ok(())
}
