//! Arithmetic that reports overflow. In 32 and 64 bits the flags report it. Narrower integers are extended, so that
//! the exact result fits into 32 bits and is compared with its low bits.
//!
//! Before: `v2, v3 = uadd_overflow v0, v1`. After: `adds w2, w0, w1; cset w3, hs`.

use super::LowerResult;
use super::cx::{Alu, Cx};
use super::operand::extension;
use crate::immediates::{self, Extend, Shift};
use crate::regs::{CC_HS, CC_LO, CC_NE, CC_VS};
use crate::rows;
use kingpost_ir::{Inst, InstView};
use kingpost_mach::LowerBackend;
use kingpost_mach::lower::{Cond, trap_on};
use kingpost_regalloc::VReg;
use smallvec::SmallVec;

/// An addition or subtraction, of signed or unsigned integers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Op {
    pub(super) subtract: bool,
    pub(super) signed: bool,
}

impl Op {
    pub(super) const UADD: Op = Op { subtract: false, signed: false };
    pub(super) const SADD: Op = Op { subtract: false, signed: true };
    pub(super) const USUB: Op = Op { subtract: true, signed: false };
    pub(super) const SSUB: Op = Op { subtract: true, signed: true };

    pub(super) fn alu(self) -> Alu {
        if self.subtract { Alu::SUBS } else { Alu::ADDS }
    }

    /// Returns the row that takes the carry of the preceding instruction and sets the carry.
    pub(super) fn next(self, bits: u32) -> kingpost_mach::RowId {
        match self.subtract {
            true => rows::SBCS_RRR.of(bits),
            false => rows::ADCS_RRR.of(bits),
        }
    }

    /// Returns the condition for overflow.
    pub(super) fn overflow(self) -> i32 {
        match (self.signed, self.subtract) {
            (true, _) => CC_VS,
            (false, false) => CC_HS,
            (false, true) => CC_LO,
        }
    }
}

/// Returns the register of the second result, or `None` if it has no use.
fn overflow_result(cx: &mut Cx<'_, '_>, inst: Inst) -> Option<VReg> {
    let overflow = cx.func.dfg.inst_results(inst)[1];
    cx.has_reg(overflow).then(|| cx.result(overflow))
}

/// Sets the second result to whether the condition holds, if it has a use.
pub(super) fn set_overflow(cx: &mut Cx<'_, '_>, inst: Inst, condition: i32) {
    if let Some(def) = overflow_result(cx, inst) {
        cx.emit_imm(rows::CSET_R.of(32), &[def], condition);
    }
}

/// Sets the second result of a narrow operation with the exact result `result`: whether it has more than its low
/// `bits` bits.
fn set_narrow_overflow(cx: &mut Cx<'_, '_>, inst: Inst, result: VReg, bits: u32, signed: bool) {
    let Some(def) = overflow_result(cx, inst) else { return };
    narrow_overflow(cx, def, result, bits, signed);
}

fn narrow_overflow(cx: &mut Cx<'_, '_>, def: VReg, result: VReg, bits: u32, signed: bool) {
    let imm = immediates::extended(extension(bits, signed), 0);
    cx.emit_imm(rows::CMP_RX.of(32), &[result, result], imm);
    cx.emit_imm(rows::CSET_R.of(32), &[def], CC_NE);
}

/// Lowers `uadd_overflow`, `sadd_overflow`, `usub_overflow`, `ssub_overflow`.
pub(super) fn add_sub(cx: &mut Cx<'_, '_>, inst: Inst, op: Op) -> LowerResult {
    let [x, y] = cx.args(inst);
    let ty = cx.ty(x);
    let value = cx.first_result(inst);
    let def = cx.result(value);
    if ty.bits() >= 32 {
        cx.operate(op.alu(), ty.bits(), Some(def), [x, y]);
        set_overflow(cx, inst, op.overflow());
    } else {
        let (x, y) = (cx.use_extended(x, op.signed), cx.use_extended(y, op.signed));
        let row = if op.subtract { rows::SUB_RRR.of(32) } else { rows::ADD_RRR.of(32) };
        cx.emit(row, &[def, x, y]);
        set_narrow_overflow(cx, inst, def, ty.bits(), op.signed);
    }
    Ok(())
}

/// Lowers `uadd_overflow_cin`, `sadd_overflow_cin`, `usub_overflow_bin`, `ssub_overflow_bin`. The carry is taken in a
/// second step whose overflow counts as well. Of unsigned integers only one of the steps can overflow, so one
/// instruction does both.
pub(super) fn add_sub_carry(cx: &mut Cx<'_, '_>, inst: Inst, op: Op) -> LowerResult {
    let [x, y, carry] = cx.args(inst);
    let ty = cx.ty(x);
    let value = cx.first_result(inst);
    let defs = cx.result_parts(value);
    let carry = cx.use_zero_extended(carry);
    if ty.bits() < 32 {
        let (x, y) = (cx.use_extended(x, op.signed), cx.use_extended(y, op.signed));
        narrow_with_carry(cx, inst, op, defs[0], [x, y], carry);
        return Ok(());
    }
    let bits = ty.bits().min(64);
    let (x, y) = (cx.use_regs(x), cx.use_regs(y));
    if !op.signed {
        take_carry(cx, op, carry);
        for k in 0..defs.len() {
            cx.emit(op.next(bits), &[defs[k], x[k], y[k]]);
        }
        set_overflow(cx, inst, op.overflow());
        return Ok(());
    }
    let sums: SmallVec<[VReg; 2]> = defs.iter().map(|_| cx.int_temp(bits)).collect();
    let [first, second] = std::array::from_fn(|_| cx.int_temp(32));
    let zero = cx.constant_temp(0, bits);
    for k in 0..sums.len() {
        cx.emit(if k == 0 { op.alu().rr.of(bits) } else { op.next(bits) }, &[sums[k], x[k], y[k]]);
    }
    cx.emit_imm(rows::CSET_R.of(32), &[first], CC_VS);
    take_carry(cx, op, carry);
    for k in 0..defs.len() {
        cx.emit(op.next(bits), &[defs[k], sums[k], zero]);
    }
    cx.emit_imm(rows::CSET_R.of(32), &[second], CC_VS);
    let overflow = cx.func.dfg.inst_results(inst)[1];
    let overflow = cx.result(overflow);
    cx.emit(rows::ORR_RRR.of(32), &[overflow, first, second]);
    Ok(())
}

/// Sets the carry flag if `carry` is not zero. For subtractions, where the flag means no borrow, sets it if `carry`
/// is zero.
fn take_carry(cx: &mut Cx<'_, '_>, op: Op, carry: VReg) {
    if op.subtract {
        let unused = cx.int_temp(32);
        cx.emit(rows::NEGS_RR.of(32), &[unused, carry]);
    } else {
        cx.compare_constant(carry, 1, 32);
    }
}

/// Emits a narrow operation with a carry on extended operands. The exact result fits into 32 bits. The result of the
/// first step is cut to its bits.
fn narrow_with_carry(cx: &mut Cx<'_, '_>, inst: Inst, op: Op, def: VReg, [x, y]: [VReg; 2], carry: VReg) {
    let [x_arg, ..] = cx.args::<3>(inst);
    let bits = cx.ty(x_arg).bits();
    let [one, sum] = std::array::from_fn(|_| cx.int_temp(32));
    cx.compare_constant(carry, 0, 32);
    cx.emit_imm(rows::CSET_R.of(32), &[one], CC_NE);
    let row = if op.subtract { rows::SUB_RRR.of(32) } else { rows::ADD_RRR.of(32) };
    cx.emit(row, &[sum, x, y]);
    if !op.signed {
        cx.emit(row, &[def, sum, one]);
        set_narrow_overflow(cx, inst, def, bits, false);
        return;
    }
    let [cut, first, second] = std::array::from_fn(|_| cx.int_temp(32));
    narrow_overflow(cx, first, sum, bits, true);
    cx.emit(if bits == 8 { rows::SXTB_RR.of(32) } else { rows::SXTH_RR.of(32) }, &[cut, sum]);
    cx.emit(row, &[def, cut, one]);
    narrow_overflow(cx, second, def, bits, true);
    let overflow = cx.func.dfg.inst_results(inst)[1];
    let overflow = cx.result(overflow);
    cx.emit(rows::ORR_RRR.of(32), &[overflow, first, second]);
}

/// Lowers `umul_overflow`, `smul_overflow`: the exact product is compared with its low half.
pub(super) fn mul(cx: &mut Cx<'_, '_>, inst: Inst, signed: bool) -> LowerResult {
    let [x, y] = cx.args(inst);
    let ty = cx.ty(x);
    let value = cx.first_result(inst);
    let (def, bits) = (cx.result(value), ty.bits());
    let (x, y) = (cx.use_extended(x, signed), cx.use_extended(y, signed));
    match bits {
        8 | 16 => {
            cx.emit(rows::MUL_RRR.of(32), &[def, x, y]);
            set_narrow_overflow(cx, inst, def, bits, signed);
        }
        32 => {
            let product = cx.int_temp(64);
            cx.emit(if signed { rows::SMULL_RRR } else { rows::UMULL_RRR }, &[product, x, y]);
            let extend = if signed { Extend::Sxtw } else { Extend::Uxtw };
            cx.emit_imm(rows::CMP_RX.of(64), &[product, product], immediates::extended(extend, 0));
            set_overflow(cx, inst, CC_NE);
            cx.emit(rows::MOV_RR.of(32), &[def, product]);
        }
        _ => {
            let high = cx.int_temp(64);
            cx.emit(rows::MUL_RRR.of(64), &[def, x, y]);
            cx.emit(if signed { rows::SMULH_RRR } else { rows::UMULH_RRR }, &[high, x, y]);
            if signed {
                cx.emit_imm(rows::CMP_RR.of(64), &[high, def], immediates::shifted(Shift::Asr, 63));
            } else {
                cx.compare_constant(high, 0, 64);
            }
            set_overflow(cx, inst, CC_NE);
        }
    }
    Ok(())
}

/// Lowers `uadd_overflow_trap`.
pub(super) fn add_trap(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let InstView::IntAddTrap { args, code } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    let value = cx.first_result(inst);
    let bits = cx.ty(value).bits();
    if !matches!(bits, 32 | 64) {
        return Err(cx.unsupported(inst));
    }
    let def = cx.result(value);
    cx.operate(Alu::ADDS, bits, Some(def), args);
    trap_on(cx, Cond::One(CC_HS), code);
    Ok(())
}
