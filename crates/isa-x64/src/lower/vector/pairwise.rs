//! Sums of neighboring lanes.
//!
//! Before: `v2 = swiden_low v0; v3 = swiden_high v0; v4 = iadd_pairwise v2, v3`. After: `pmaddwd v0, ones`.

use super::multiply::{widened, widened_both};
use super::narrow::{cut_down, joined};
use super::repeated;
use super::widen::Half;
use crate::lower::cx::Cx;
use crate::lower::{LowerResult, tiles};
use crate::rows;
use kingpost_ir::{Inst, Opcode, Value};
use kingpost_mach::Family;
use kingpost_regalloc::VReg;

/// Lowers `iadd_pairwise`: the even lanes of both operands plus the odd ones.
pub(in crate::lower) fn iadd_pairwise(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    if pairwise(cx, inst) {
        return Ok(());
    }
    let (def, [x, y]) = cx.binary(inst);
    let ty = cx.result_ty(inst);
    let bits = ty.lane_bits();
    // Shorter vectors are joined first; their sums occur twice.
    let [x, y] = match ty.bits() {
        128 => [x, y],
        _ => {
            let joined = joined(cx, ty.bits(), [x, y]);
            [joined, joined]
        }
    };
    if bits >= 32 {
        let row = if bits == 32 { rows::SHUFPS } else { rows::SHUFPD };
        let [even, odd] = if bits == 32 { [0x88, 0xdd] } else { [0, 3] };
        let [even, odd] = [even, odd].map(|lanes| cx.make_imm(row, &[x, y], lanes));
        cx.emit(rows::PADD.of(bits), &[def, even, odd]);
        return Ok(());
    }
    // Sums of pairs are computed in lanes of twice the width and narrowed again.
    let [x, y] = [x, y].map(|v| {
        let odd = cx.make_imm(rows::PSRL_RI.of(2 * bits), &[v], bits as i32);
        cx.make(rows::PADD.of(bits), &[v, odd])
    });
    cut_down(cx, def, bits, [x, y]);
    Ok(())
}

/// Emits sums of neighbors among products of widened lanes, or among widened lanes. Returns `false` if there is no
/// row for them.
pub(super) fn pairwise(cx: &mut Cx<'_, '_>, inst: Inst) -> bool {
    let [low, high] = cx.args(inst);
    let value = cx.first_result(inst);
    let bits = cx.ty(value).lane_bits();
    if let (Some((x, Half::Low, signed)), Some((y, Half::High, other))) = (widened(cx, low), widened(cx, high)) {
        if x != y || signed != other {
            return false;
        }
        let is_positive = signed || is_below_top_bit(cx, x);
        let (def, x) = (cx.result(value), cx.use_reg(x));
        sums_of_neighbours(cx, def, x, bits, signed, is_positive);
        cx.count_tile(tiles::PAIRWISE_SUM);
        return true;
    }
    let product = |value| cx.def_as(value, Opcode::Imul).filter(|_| cx.is_single_use(value));
    let (Some(low), Some(high)) = (product(low), product(high)) else { return false };
    let low = widened_both(cx, low).filter(|&(_, half, signed)| half == Half::Low && signed);
    let high = widened_both(cx, high).filter(|&(_, half, signed)| half == Half::High && signed);
    match (low, high) {
        (Some((operands, ..)), Some((others, ..))) if operands == others && bits == 32 => {
            let def = cx.result(value);
            let [x, y] = operands.map(|v| cx.use_reg(v));
            cx.emit(rows::PMADDWD, &[def, x, y]);
            cx.count_tile(tiles::DOT_PRODUCT);
            true
        }
        _ => false,
    }
}

/// Returns `true` if the top bit of each lane of 16 bits, taken as unsigned, is zero, as in sums of two bytes and in
/// shifted lanes.
fn is_below_top_bit(cx: &Cx<'_, '_>, value: Value) -> bool {
    let is_byte = |value| widened(cx, value).is_some_and(|(x, _, signed)| !signed && cx.lane_bits(x) == 8);
    let Some(inst) = cx.def(value) else { return false };
    match cx.func.dfg.opcode(inst) {
        Opcode::IaddPairwise => cx.args::<2>(inst).into_iter().all(is_byte),
        Opcode::Ushr => cx.constant(cx.args::<2>(inst)[1]).is_some_and(|by| by % 16 != 0),
        _ => is_byte(value),
    }
}

/// Sets `def` to the sums of neighbors of `x` in lanes of `bits` bits. `is_positive` means that unsigned lanes of 16
/// bits have equal values as signed ones.
fn sums_of_neighbours(cx: &mut Cx<'_, '_>, def: VReg, x: VReg, bits: u32, signed: bool, is_positive: bool) {
    let half = bits / 2;
    if bits == 32 && is_positive {
        cx.emit_with(rows::PMADDWD, &[def, x], repeated(1, 16));
    } else if bits == 16 && cx.can(rows::PMADDUBSW) {
        // The first operand is the unsigned one.
        if signed {
            let ones = cx.vector(repeated(1, 8));
            cx.emit(rows::PMADDUBSW, &[def, ones, x]);
        } else {
            cx.emit_with(rows::PMADDUBSW, &[def, x], repeated(1, 8));
        }
    } else {
        let down: Family = if signed { rows::PSRA_RI } else { rows::PSRL_RI };
        let odd = cx.make_imm(down.of(bits), &[x], half as i32);
        let even = if signed {
            let up = cx.make_imm(rows::PSLL_RI.of(bits), &[x], half as i32);
            cx.make_imm(down.of(bits), &[up], half as i32)
        } else {
            cx.make_with(rows::ANDPS, x, repeated(u64::MAX >> (64 - half), bits))
        };
        cx.emit(rows::PADD.of(bits), &[def, even, odd]);
    }
}
