//! Shifts and rotations by one amount for all lanes; bit counts.
//!
//! Before: `v2 = ushr.i32x4 v0, v1`. After: `and w2, w1, #31; neg w2, w2; dup v2.4s, w2; ushl v2.4s, v0.4s, v2.4s`.

use super::super::LowerResult;
use super::super::cx::Cx;
use super::super::shift::{count, masked};
use crate::encoding::Arrangement;
use crate::rows;
use crate::rows::lanes::{self, Lanes};
use kingpost_ir::{Inst, Value};
use kingpost_regalloc::VReg;

/// Lowers `ishl`, `ushr`, `sshr` by an immediate, or by an amount in each lane, where a negative amount shifts right.
pub(in crate::lower) fn shift(cx: &mut Cx<'_, '_>, inst: Inst, fixed: Lanes, variable: Lanes) -> LowerResult {
    let [x, amount] = cx.args(inst);
    let arrangement = cx.lanes(inst, cx.ty(x))?;
    let bits = arrangement.lane_bits();
    let value = cx.first_result(inst);
    let (def, source) = (cx.result(value), cx.use_reg(x));
    if let Some(amount) = cx.constant(amount) {
        shift_by(cx, def, fixed, arrangement, source, amount as u32 & (bits - 1));
        return Ok(());
    }
    let amount = lane_amount(cx, amount, bits);
    let amount = if fixed == lanes::SHL { amount } else { negated(cx, amount) };
    let amounts = cx.compute(lanes::DUP_VR, arrangement, &[amount]);
    cx.define(def, variable, arrangement, &[source, amounts]);
    Ok(())
}

fn shift_by(cx: &mut Cx<'_, '_>, def: VReg, family: Lanes, arrangement: Arrangement, source: VReg, amount: u32) {
    if amount == 0 {
        cx.emit(rows::MOV128_FF, &[def, source]);
    } else {
        cx.define_imm(def, family, arrangement, &[source], amount as i32);
    }
}

/// Returns the low bits of an amount that lanes of `bits` bits use.
fn lane_amount(cx: &mut Cx<'_, '_>, amount: Value, bits: u32) -> VReg {
    let amount = count(cx, amount, bits - 1);
    masked(cx, amount, bits - 1)
}

fn negated(cx: &mut Cx<'_, '_>, amount: VReg) -> VReg {
    let def = cx.int_temp(64);
    cx.emit(rows::NEG_RR.of(64), &[def, amount]);
    def
}

/// Lowers `rotl`, `rotr`.
pub(in crate::lower) fn rotate(cx: &mut Cx<'_, '_>, inst: Inst, left: bool) -> LowerResult {
    let [x, amount] = cx.args(inst);
    let arrangement = cx.lanes(inst, cx.ty(x))?;
    let bits = arrangement.lane_bits();
    let value = cx.first_result(inst);
    let (def, source) = (cx.result(value), cx.use_reg(x));
    if let Some(amount) = cx.constant(amount) {
        let amount = amount as u32 & (bits - 1);
        rotate_by(cx, def, arrangement, source, if left { amount } else { (bits - amount) & (bits - 1) });
        return Ok(());
    }
    let mut amount = count(cx, amount, bits - 1);
    if !left {
        amount = negated(cx, amount);
    }
    let up = masked(cx, amount, bits - 1);
    let down = cx.int_temp(64);
    cx.add_constant(down, up, -i64::from(bits), 64);
    let parts = [up, down].map(|amount| {
        let amounts = cx.compute(lanes::DUP_VR, arrangement, &[amount]);
        cx.compute(lanes::USHL, arrangement, &[source, amounts])
    });
    cx.emit(rows::ORR_FFF.of(128), &[def, parts[0], parts[1]]);
    Ok(())
}

/// Rotates left by a constant. A rotation by half a lane exchanges lanes of half the width.
fn rotate_by(cx: &mut Cx<'_, '_>, def: VReg, arrangement: Arrangement, source: VReg, amount: u32) {
    let bits = arrangement.lane_bits();
    let exchange = match (bits, amount) {
        (16, 8) => Some(lanes::REV16),
        (32, 16) => Some(lanes::REV32),
        (64, 32) => Some(lanes::REV64),
        _ => None,
    };
    if let Some(family) = exchange {
        cx.define(def, family, arrangement.with_lanes_of(bits / 2), &[source]);
    } else if amount == 0 {
        cx.emit(rows::MOV128_FF, &[def, source]);
    } else {
        let up = cx.compute_imm(lanes::SHL, arrangement, &[source], amount as i32);
        cx.define_imm(def, lanes::SRI, arrangement, &[up, source], (bits - amount) as i32);
    }
}

/// Lowers `popcnt`: counts the bits of each byte and adds neighbors up to the width of a lane.
pub(in crate::lower) fn count_ones(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    let arrangement = cx.lanes(inst, cx.ty(x))?;
    let value = cx.first_result(inst);
    let (def, source) = (cx.result(value), cx.use_reg(x));
    let mut lanes_so_far = arrangement.with_lanes_of(8);
    let mut sums = if lanes_so_far == arrangement { def } else { cx.vector_temp() };
    cx.define(sums, lanes::CNT, lanes_so_far, &[source]);
    while lanes_so_far != arrangement {
        let wider = lanes_so_far.with_lanes_of(2 * lanes_so_far.lane_bits());
        let next = if wider == arrangement { def } else { cx.vector_temp() };
        cx.define(next, lanes::UADDLP, lanes_so_far, &[sums]);
        (lanes_so_far, sums) = (wider, next);
    }
    Ok(())
}
