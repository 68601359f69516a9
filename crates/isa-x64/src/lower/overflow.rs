//! Arithmetic that reports overflow, by the flags of an operation in exactly the width of the value.
//!
//! Before: `v2, v3 = uadd_overflow v0, v1`. After: `add v2, v1; setb v3`.

use super::LowerResult;
use super::cx::{Alu, Cx};
use super::int::operate;
use super::muldiv::wide_product;
use crate::regs::{CC_B, CC_O};
use crate::rows;
use kingpost_ir::{Inst, InstView};
use kingpost_mach::lower::{Cond, trap_on};
use kingpost_regalloc::VReg;
use smallvec::SmallVec;

/// Condition for unsigned overflow.
pub(super) const UNSIGNED: i32 = CC_B;
/// Condition for signed overflow.
pub(super) const SIGNED: i32 = CC_O;

/// Sets the second result to whether the condition holds, if it has a use.
pub(super) fn set_overflow(cx: &mut Cx<'_, '_>, inst: Inst, condition: i32) {
    let overflow = cx.func.dfg.inst_results(inst)[1];
    if cx.has_reg(overflow) {
        let def = cx.result(overflow);
        cx.emit_imm(rows::SETCC_R, &[def], condition);
    }
}

/// Lowers `uadd_overflow`, `sadd_overflow`, `usub_overflow`, `ssub_overflow`.
pub(super) fn add_sub(cx: &mut Cx<'_, '_>, inst: Inst, alu: Alu, condition: i32) -> LowerResult {
    let [x, y] = cx.args(inst);
    let value = cx.first_result(inst);
    let def = cx.result(value);
    operate(cx, inst, alu, cx.ty(x).bits(), def, [x, y])?;
    set_overflow(cx, inst, condition);
    Ok(())
}

/// Lowers `uadd_overflow_cin`, `sadd_overflow_cin`, `usub_overflow_bin`, `ssub_overflow_bin`. The carry is taken in a
/// second step whose overflow counts as well. Of unsigned integers only one of the steps can overflow, so one
/// instruction does both.
pub(super) fn add_sub_carry(cx: &mut Cx<'_, '_>, inst: Inst, alu: Alu, condition: i32) -> LowerResult {
    let [x, y, carry] = cx.args(inst);
    let ty = cx.ty(x);
    let bits = ty.bits().min(64);
    let next = if alu == Alu::ADD { Alu::ADC } else { Alu::SBB };
    let value = cx.first_result(inst);
    let (defs, x, y) = (cx.result_parts(value), cx.use_regs(x), cx.use_regs(y));
    let (carry, negated) = (cx.use_reg(carry), cx.int_temp(8));
    if condition == UNSIGNED {
        cx.emit(rows::NEG_R.of(8), &[negated, carry]);
        for k in 0..defs.len() {
            cx.emit(next.rr.of(bits), &[defs[k], x[k], y[k]]);
        }
        set_overflow(cx, inst, condition);
        return Ok(());
    }
    let sums: SmallVec<[VReg; 2]> = defs.iter().map(|_| cx.int_temp(bits)).collect();
    let [first, second] = std::array::from_fn(|_| cx.int_temp(8));
    for k in 0..sums.len() {
        cx.emit(if k == 0 { alu } else { next }.rr.of(bits), &[sums[k], x[k], y[k]]);
    }
    cx.emit_imm(rows::SETCC_R, &[first], condition);
    cx.emit(rows::NEG_R.of(8), &[negated, carry]);
    for k in 0..defs.len() {
        cx.emit_imm(next.ri.of(bits), &[defs[k], sums[k]], 0);
    }
    cx.emit_imm(rows::SETCC_R, &[second], condition);
    let overflow = cx.func.dfg.inst_results(inst)[1];
    let overflow = cx.result(overflow);
    cx.emit(rows::OR_RR.of(8), &[overflow, first, second]);
    Ok(())
}

/// Lowers `umul_overflow`: the carry is set if the upper half of the product is not zero.
pub(super) fn umul(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x, y] = cx.args(inst);
    let (bits, value) = (cx.ty(x).bits(), cx.first_result(inst));
    let (def, x, y) = (cx.result(value), cx.use_reg(x), cx.use_reg(y));
    match bits {
        8 => {
            cx.emit(rows::MULWIDE8_R, &[def, x, y]);
        }
        16..=64 => {
            let high = cx.int_temp(bits);
            cx.emit(wide_product(bits, false), &[def, high, x, y]);
        }
        _ => return Err(cx.unsupported(inst)),
    }
    set_overflow(cx, inst, CC_O);
    Ok(())
}

/// Lowers `smul_overflow`.
pub(super) fn smul(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x, y] = cx.args(inst);
    let (bits, value) = (cx.ty(x).bits(), cx.first_result(inst));
    let operands: [VReg; 3] = [cx.result(value), cx.use_reg(x), cx.use_reg(y)];
    let row = match bits {
        8 => rows::IMULWIDE8_R,
        16 => rows::IMUL_RR.of(16),
        32 => rows::IMUL_RR.of(32),
        64 => rows::IMUL_RR.of(64),
        _ => return Err(cx.unsupported(inst)),
    };
    cx.emit(row, &operands);
    set_overflow(cx, inst, CC_O);
    Ok(())
}

/// Lowers `uadd_overflow_trap`.
pub(super) fn add_trap(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let InstView::IntAddTrap { args, code } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    let value = cx.first_result(inst);
    let (def, bits) = (cx.result(value), cx.ty(value).bits());
    operate(cx, inst, Alu::ADD, bits, def, args)?;
    trap_on(cx, Cond::One(CC_B), code);
    Ok(())
}
