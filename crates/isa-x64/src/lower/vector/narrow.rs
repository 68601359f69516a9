//! Lanes of half the width.
//!
//! Before: `v2 = snarrow.i32x4 v0, v1`. After: `packssdw v2, v1`.

use super::arith::limited;
use super::compare::{greater, select_by_mask};
use super::saturate::{pack_words, unsigned_halves, without_negatives};
use super::{LowerResult, convert, repeated};
use crate::lower::cx::Cx;
use crate::rows;
use kingpost_ir::{Inst, Opcode};
use kingpost_regalloc::VReg;

/// Returns the result, the lane width and the operands of a narrowing. Operands of half a register or less are joined
/// in one register.
fn operands(cx: &mut Cx<'_, '_>, inst: Inst) -> (VReg, u32, [VReg; 2]) {
    let ty = cx.ty(cx.args::<2>(inst)[0]);
    let (def, [x, y]) = cx.binary(inst);
    if ty.bits() == 128 {
        return (def, ty.lane_bits(), [x, y]);
    }
    let joined = joined(cx, ty.bits(), [x, y]);
    (def, ty.lane_bits(), [joined, joined])
}

/// Lowers `snarrow`.
pub(in crate::lower) fn snarrow(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    if convert::to_low_half(cx, inst, Opcode::FcvtToSintSat) {
        return Ok(());
    }
    let (def, bits, [x, y]) = operands(cx, inst);
    match bits {
        16 => {
            cx.emit(rows::PACKSSWB, &[def, x, y]);
        }
        32 => {
            cx.emit(rows::PACKSSDW, &[def, x, y]);
        }
        _ => {
            let bounds = [i32::MAX, i32::MIN].map(|bound| cx.vector(repeated(i64::from(bound) as u64, 64)));
            let [x, y] = [x, y].map(|v| clamped(cx, v, bounds));
            low_halves(cx, def, [x, y]);
        }
    }
    Ok(())
}

/// Returns lanes of 64 bits clamped to two bounds, the greater one first.
fn clamped(cx: &mut Cx<'_, '_>, x: VReg, [most, least]: [VReg; 2]) -> VReg {
    let [above, capped, below, within] = std::array::from_fn(|_| cx.vector_temp());
    greater(cx, above, 64, [x, most]);
    select_by_mask(cx, capped, above, [most, x]);
    greater(cx, below, 64, [least, capped]);
    select_by_mask(cx, within, below, [least, capped]);
    within
}

/// Lowers `unarrow`, whose operands are signed lanes.
pub(in crate::lower) fn unarrow(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let (def, bits, [x, y]) = operands(cx, inst);
    match bits {
        16 => {
            cx.emit(rows::PACKUSWB, &[def, x, y]);
        }
        32 => unsigned_halves(cx, def, [x, y]),
        _ => {
            let [x, y] = [x, y].map(|v| {
                let positive = without_negatives(cx, bits, v);
                limited(cx, bits, positive, u32::MAX.into())
            });
            low_halves(cx, def, [x, y]);
        }
    }
    Ok(())
}

/// Lowers `uunarrow`, whose operands are unsigned lanes.
pub(in crate::lower) fn uunarrow(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    if convert::to_low_half(cx, inst, Opcode::FcvtToUintSat) {
        return Ok(());
    }
    let (def, bits, operands) = operands(cx, inst);
    let [x, y] = operands.map(|v| limited(cx, bits, v, u64::MAX >> (64 - bits / 2)));
    match bits {
        16 => {
            cx.emit(rows::PACKUSWB, &[def, x, y]);
        }
        32 if cx.can(rows::PACKUSDW) => {
            cx.emit(rows::PACKUSDW, &[def, x, y]);
        }
        32 => pack_words(cx, def, [x, y]),
        _ => low_halves(cx, def, [x, y]),
    }
    Ok(())
}

/// Sets `def` to the low halves of lanes of 64 bits.
fn low_halves(cx: &mut Cx<'_, '_>, def: VReg, [x, y]: [VReg; 2]) {
    cx.emit_imm(rows::SHUFPS, &[def, x, y], 0x88);
}

/// Returns `x` followed by `y`, which have `bits` bits each, 64 at most. The bits above them are undefined.
pub(super) fn joined(cx: &mut Cx<'_, '_>, bits: u32, [x, y]: [VReg; 2]) -> VReg {
    if bits >= 32 {
        return cx.make(rows::PUNPCKL.of(bits), &[x, y]);
    }
    cx.make(rows::PUNPCKL.of(16), &[x, y])
}

/// Sets `def` to the low halves of the lanes of `x` and then of `y`, which become lanes of `bits` bits, 8 or 16.
pub(super) fn cut_down(cx: &mut Cx<'_, '_>, def: VReg, bits: u32, operands: [VReg; 2]) {
    if bits == 8 {
        let [x, y] = operands.map(|v| cx.make_with(rows::ANDPS, v, repeated(0xff, 16)));
        cx.emit(rows::PACKUSWB, &[def, x, y]);
    } else {
        let [x, y] = operands.map(|v| {
            let up = cx.make_imm(rows::PSLL_RI.of(32), &[v], 16);
            cx.make_imm(rows::PSRA_RI.of(32), &[up], 16)
        });
        cx.emit(rows::PACKSSDW, &[def, x, y]);
    }
}
