//! Scalars that are computed from all lanes.
//!
//! Before: `v1 = vany_true v0; brif v1, block1, block2`. After: `umaxp v1.4s, v0.4s, v0.4s; fmov x1, d1; cbnz x1,
//! block1`.

use super::super::LowerResult;
use super::super::cx::Cx;
use super::constant::load_vector;
use super::multiply::doubleword;
use crate::encoding::Arrangement;
use crate::immediates::{self, Shift};
use crate::regs::{CC_EQ, CC_NE};
use crate::rows;
use crate::rows::lanes;
use kingpost_ir::{Inst, Opcode, Type, Value};
use kingpost_mach::LowerError;
use kingpost_regalloc::VReg;

/// An integer that represents a condition by being zero or not.
#[derive(Clone, Copy)]
pub(in crate::lower) struct Truth {
    pub(in crate::lower) reg: VReg,
    pub(in crate::lower) bits: u32,
    /// Whether the condition holds if the integer is zero; otherwise it holds if the integer is not zero.
    pub(in crate::lower) if_zero: bool,
}

/// Lowers `vany_true`.
pub(in crate::lower) fn any_true(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    set_truth(cx, inst)
}

/// Lowers `vall_true`.
pub(in crate::lower) fn all_true(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    set_truth(cx, inst)
}

fn set_truth(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let value = cx.first_result(inst);
    let def = cx.result(value);
    let Truth { reg, bits, if_zero } = truth(cx, inst)?;
    cx.compare_constant(reg, 0, bits);
    cx.emit_imm(rows::CSET_R.of(32), &[def], if if_zero { CC_EQ } else { CC_NE });
    Ok(())
}

/// Returns the definition of a value by `vany_true` or `vall_true`.
pub(in crate::lower) fn is_reduction(cx: &Cx<'_, '_>, value: Value) -> Option<Inst> {
    let def = cx.def(value).filter(|_| cx.is_single_use(value))?;
    matches!(cx.func.dfg.opcode(def), Opcode::VanyTrue | Opcode::VallTrue).then_some(def)
}

/// Emits the test of `vany_true` or `vall_true` and returns it.
///
/// # Errors
/// If the vector fits no register.
pub(in crate::lower) fn truth(cx: &mut Cx<'_, '_>, inst: Inst) -> Result<Truth, LowerError> {
    let [x] = cx.args(inst);
    let ty = cx.ty(x);
    let arrangement = cx.lanes(inst, ty)?;
    let source = cx.use_reg(x);
    if cx.func.dfg.opcode(inst) == Opcode::VanyTrue {
        let (reg, bits) = image(cx, source, ty);
        return Ok(Truth { reg, bits, if_zero: false });
    }
    if arrangement.is_full() && arrangement.lane_bits() < 64 {
        let least = cx.compute(lanes::UMINV, arrangement, &[source]);
        let reg = cx.int_temp(32);
        cx.emit(rows::FMOV_RF.of(32), &[reg, least]);
        return Ok(Truth { reg, bits: 32, if_zero: false });
    }
    let zeros = cx.compute(lanes::CMEQ_Z, arrangement, &[source]);
    let (reg, bits) = image(cx, zeros, ty);
    Ok(Truth { reg, bits, if_zero: true })
}

/// Returns an integer that is zero if all of the vector is zero, and the number of its bits.
fn image(cx: &mut Cx<'_, '_>, source: VReg, ty: Type) -> (VReg, u32) {
    let source =
        if ty.bits() == 128 { cx.compute(lanes::UMAXP, Arrangement::new(32, true), &[source, source]) } else { source };
    let bits = ty.bits().clamp(32, 64);
    let reg = cx.int_temp(bits);
    if ty.bits() == 16 {
        cx.define(reg, lanes::UMOV_RE, Arrangement::new(16, true), &[source]);
    } else {
        cx.emit(rows::FMOV_RF.of(bits), &[reg, source]);
    }
    (reg, bits)
}

/// Lowers `vhigh_bits`: shifts each lane's sign to the bit of the lane's number and adds the lanes.
pub(in crate::lower) fn high_bits(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    let (ty, value) = (cx.ty(x), cx.first_result(inst));
    let arrangement = cx.lanes(inst, ty)?;
    let source = cx.use_reg(x);
    let defs = cx.result_parts(value);
    if let Some(&high) = defs.get(1) {
        cx.emit_imm(rows::MOVZ_RI.of(64), &[high], 0);
    }
    let (def, lane_bits) = (defs[0], arrangement.lane_bits());
    if lane_bits == 64 {
        let signs = cx.compute_imm(lanes::USHR, arrangement, &[source], 63);
        let [low, high] = [0, 1].map(|index| doubleword(cx, signs, index));
        let bits = cx.ty(value).bits().clamp(32, 64);
        cx.emit_imm(rows::ADD_RRR.of(bits), &[def, low, high], immediates::shifted(Shift::Lsl, 1));
        return Ok(());
    }
    let weights = (0..ty.lane_count()).fold(0, |all, k| all | 1u128 << (k % lane_bits) << (k * lane_bits));
    let weight = cx.vector_temp();
    load_vector(cx, weight, weights, ty.bits().max(64));
    let signs = cx.compute(lanes::CMLT_Z, arrangement, &[source]);
    let mut bits = cx.vector_temp();
    cx.emit(rows::AND_FFF.of(128), &[bits, signs, weight]);
    let mut across = arrangement;
    if ty.lane_count() > lane_bits {
        // The signs of the upper half are a byte of their own.
        let bytes = Arrangement::new(8, true);
        let upper = cx.compute_imm(lanes::EXT, bytes, &[bits, bits], 8);
        bits = cx.compute(lanes::ZIP1, bytes, &[bits, upper]);
        across = Arrangement::new(16, true);
    }
    let sum = match lanes::ADDV.find(across) {
        Some(_) => cx.compute(lanes::ADDV, across, &[bits]),
        None => cx.compute(lanes::ADDP, across, &[bits, bits]),
    };
    cx.emit(rows::FMOV_RF.of(32), &[def, sum]);
    Ok(())
}
