//! Shifts and rotations. Amounts are taken modulo the width; they may have any integer type.
//!
//! Before: `v2 = band v1, 31; v3 = ishl.i32 v0, v2`. After: `shl v3, cl`, with v1 in rcx.

use super::LowerResult;
use super::cx::{Cx, Shift};
use crate::rows;
use kingpost_ir::{Inst, Value};
use kingpost_regalloc::VReg;

/// Lowers `ishl`, `ushr`, `sshr`.
pub(super) fn shift(cx: &mut Cx<'_, '_>, inst: Inst, op: Shift) -> LowerResult {
    let [x, amount] = cx.args(inst);
    let ty = cx.ty(x);
    let value = cx.first_result(inst);
    // A right shift must not move in bits from above the value. A left shift may move bits out of it.
    let bits = if op == Shift::SHL { ty.bits().max(32) } else { ty.bits() };
    let modulus = ty.bits() as i32 - 1;
    if let Some(constant) = cx.constant(amount) {
        let operands = [cx.result(value), cx.use_reg(x)];
        cx.emit_imm(op.ri.of(bits), &operands, constant as i32 & modulus);
        return Ok(());
    }
    let amount = count(cx, amount, modulus);
    let amount = if ty.bits() < 32 { cx.masked(amount, modulus) } else { amount };
    let (def, source) = (cx.result(value), cx.use_reg(x));
    if let (true, 32 | 64) = (cx.isa.flags.has_bmi2, bits) {
        cx.emit(three_operands(op, bits), &[def, source, amount]);
    } else {
        cx.emit(op.rc.of(bits), &[def, source, amount]);
    }
    Ok(())
}

/// Returns the row of BMI2 for a shift.
fn three_operands(op: Shift, bits: u32) -> kingpost_mach::RowId {
    match op {
        Shift::SHL => rows::SHLX_RR.of(bits),
        Shift::SHR => rows::SHRX_RR.of(bits),
        _ => rows::SARX_RR.of(bits),
    }
}

/// Returns the register of an amount. A mask that keeps the bits of `modulus` is left out, because the instruction
/// masks the amount itself.
pub(super) fn count(cx: &mut Cx<'_, '_>, amount: Value, modulus: i32) -> VReg {
    let amount = cx.without_mask(amount, modulus as u32);
    cx.use_reg(amount)
}

/// Lowers `rotl`, `rotr`.
pub(super) fn rotate(cx: &mut Cx<'_, '_>, inst: Inst, op: Shift) -> LowerResult {
    let [x, amount] = cx.args(inst);
    let ty = cx.ty(x);
    let (value, bits) = (cx.first_result(inst), ty.bits());
    let modulus = bits as i32 - 1;
    if let Some(constant) = cx.constant(amount) {
        let constant = constant as i32 & modulus;
        let operands = [cx.result(value), cx.use_reg(x)];
        if let (true, 32 | 64) = (cx.isa.flags.has_bmi2, bits) {
            let right = if op == Shift::ROR { constant } else { (bits as i32 - constant) & modulus };
            cx.emit_imm(rows::RORX_RRI.of(bits), &operands, right);
        } else {
            cx.emit_imm(op.ri.of(bits), &operands, constant);
        }
        return Ok(());
    }
    // Rotating 8 or 16 bits by up to 31 is equal to rotating by the amount modulo the width.
    let amount = count(cx, amount, modulus);
    let operands = [cx.result(value), cx.use_reg(x), amount];
    cx.emit(op.rc.of(bits), &operands);
    Ok(())
}
