//! Shifts and rotations. Amounts count modulo the width; they may have any integer type.

use super::Lowered;
use super::cx::{Cx, Shift};
use crate::regs::CC_NE;
use crate::rows;
use kingpost_ir::types::I128;
use kingpost_ir::{Inst, Value};
use kingpost_mach::Machine;
use kingpost_regalloc::VReg;

/// `ishl`, `ushr`, `sshr`.
pub(super) fn shift(cx: &mut Cx<'_, '_>, inst: Inst, op: Shift) -> Lowered {
    let [x, amount] = cx.args(inst);
    let ty = cx.ty(x);
    if ty == I128 {
        return wide_shift(cx, inst, op);
    }
    cx.require_word(inst, ty)?;
    let value = cx.first_result(inst);
    // Bits above the value must not come in from the left; to the left they may leave it.
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

/// BMI2's shifts.
fn three_operands(op: Shift, bits: u32) -> kingpost_mach::RowId {
    match op {
        Shift::SHL => rows::SHLX_RR.of(bits),
        Shift::SHR => rows::SHRX_RR.of(bits),
        _ => rows::SARX_RR.of(bits),
    }
}

/// The register of an amount, of which the bits of `modulus` count: the instruction masks by itself.
fn count(cx: &mut Cx<'_, '_>, amount: Value, modulus: i32) -> VReg {
    let amount = cx.without_mask(amount, modulus as u32);
    cx.use_reg(amount)
}

/// `rotl`, `rotr`.
pub(super) fn rotate(cx: &mut Cx<'_, '_>, inst: Inst, op: Shift) -> Lowered {
    let [x, amount] = cx.args(inst);
    let ty = cx.ty(x);
    if ty == I128 {
        return wide_rotate(cx, inst, op);
    }
    cx.require_word(inst, ty)?;
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
    // Rotating 8 or 16 bits by up to 31 is the same as by the amount modulo the width.
    let amount = count(cx, amount, modulus);
    let operands = [cx.result(value), cx.use_reg(x), amount];
    cx.emit(op.rc.of(bits), &operands);
    Ok(())
}

/// The registers of an i128 shift: operand halves, and the amount in one register.
struct Wide {
    low: VReg,
    high: VReg,
    amount: VReg,
}

impl Wide {
    fn new(cx: &mut Cx<'_, '_>, x: Value, amount: Value) -> Wide {
        let parts = cx.use_regs(x);
        let amount = count(cx, amount, 127);
        Wide { low: parts[0], high: parts[1], amount }
    }
}

/// A shift of i128: both halves as if the amount were below 64, then exchanged if it is not.
fn wide_shift(cx: &mut Cx<'_, '_>, inst: Inst, op: Shift) -> Lowered {
    let [x, amount] = cx.args(inst);
    let value = cx.first_result(inst);
    let defs = cx.result_parts(value);
    let wide = Wide::new(cx, x, amount);
    // `far` is the half that bits come from, `near` the one they leave into.
    let (near, far, double) = match op {
        Shift::SHL => (wide.high, wide.low, rows::SHLD_RRC.of(64)),
        _ => (wide.low, wide.high, rows::SHRD_RRC.of(64)),
    };
    let [mixed, shifted, fill] = std::array::from_fn(|_| cx.int_temp(64));
    cx.emit(double, &[mixed, near, far, wide.amount]);
    cx.emit(op.rc.of(64), &[shifted, far, wide.amount]);
    if op == Shift::SAR {
        cx.emit_imm(rows::SAR_RI.of(64), &[fill, wide.high], 63);
    } else {
        cx.load_constant(fill, 0, 64);
    }
    let (near_def, far_def) = if op == Shift::SHL { (defs[1], defs[0]) } else { (defs[0], defs[1]) };
    cx.emit_imm(rows::TEST_RI.of(8), &[wide.amount], 64);
    cx.emit_imm(rows::CMOV_RR.of(64), &[near_def, mixed, shifted], CC_NE);
    cx.emit_imm(rows::CMOV_RR.of(64), &[far_def, shifted, fill], CC_NE);
    Ok(())
}

/// A rotation of i128: the halves are exchanged if the amount is 64 or more, then shifted into each other.
fn wide_rotate(cx: &mut Cx<'_, '_>, inst: Inst, op: Shift) -> Lowered {
    let [x, amount] = cx.args(inst);
    let value = cx.first_result(inst);
    let defs = cx.result_parts(value);
    let wide = Wide::new(cx, x, amount);
    let (low, high) = (cx.int_temp(64), cx.int_temp(64));
    cx.emit_imm(rows::TEST_RI.of(8), &[wide.amount], 64);
    cx.emit_imm(rows::CMOV_RR.of(64), &[low, wide.low, wide.high], CC_NE);
    cx.emit_imm(rows::CMOV_RR.of(64), &[high, wide.high, wide.low], CC_NE);
    let double = if op == Shift::ROL { rows::SHLD_RRC.of(64) } else { rows::SHRD_RRC.of(64) };
    cx.emit(double, &[defs[0], low, high, wide.amount]);
    cx.emit(double, &[defs[1], high, low, wide.amount]);
    Ok(())
}
