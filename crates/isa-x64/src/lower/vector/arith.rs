//! Sums and similar operations on each lane.
//!
//! Before: `v2 = sadd_sat.i32x4 v0, v1`. After: `paddd`, and the bound where both signs differ from the sign of the
//! sum.

use super::compare::{greater, select_by_mask, sign_mask};
use super::{LowerResult, by_row, lanes, repeated, signs};
use crate::lower::cx::Cx;
use crate::lower::tiles;
use crate::rows;
use kingpost_ir::condcodes::{FloatCC, IntCC};
use kingpost_ir::{Inst, InstView, Opcode, Value};
use kingpost_mach::lower::is_float;
use kingpost_mach::{Family, RowId};
use kingpost_regalloc::VReg;

/// Lowers `ineg`.
pub(in crate::lower) fn ineg(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [def, x] = cx.registers(inst);
    let bits = cx.result_ty(inst).lane_bits();
    let zero = cx.vector(0);
    cx.emit(rows::PSUB.of(bits), &[def, zero, x]);
    Ok(())
}

/// Lowers `iabs`. Without an instruction for it, takes the larger of a number and its negation; for bytes the smaller
/// one as unsigned numbers.
pub(in crate::lower) fn iabs(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [def, x] = cx.registers(inst);
    let bits = cx.result_ty(inst).lane_bits();
    if let Some(row) = cx.lane_row(rows::PABS, bits) {
        cx.emit(row, &[def, x]);
        return Ok(());
    }
    if bits <= 16 {
        let zero = cx.vector(0);
        let opposite = cx.make(rows::PSUB.of(bits), &[zero, x]);
        let row = if bits == 8 { rows::PMINU.of(8) } else { rows::PMAXS.of(16) };
        cx.emit(row, &[def, opposite, x]);
        return Ok(());
    }
    let sign = sign_mask(cx, bits, x);
    let flipped = cx.make(rows::XORPS, &[x, sign]);
    cx.emit(rows::PSUB.of(bits), &[def, flipped, sign]);
    Ok(())
}

/// Lowers `smin`, `smax`, `umin`, `umax` by `family`, or by a comparison with `cond`, which holds where the first
/// operand is taken.
pub(in crate::lower) fn min_max(cx: &mut Cx<'_, '_>, inst: Inst, family: Family, cond: IntCC) -> LowerResult {
    let bits = cx.result_ty(inst).lane_bits();
    if let Some(row) = cx.lane_row(family, bits) {
        return by_row(cx, inst, row);
    }
    let (def, operands) = cx.binary(inst);
    extreme(cx, def, bits, cond, operands);
    Ok(())
}

/// Sets each lane of `def` to `x` where `cond` holds between `x` and `y`, else to `y`, for lanes that no row covers.
fn extreme(cx: &mut Cx<'_, '_>, def: VReg, bits: u32, cond: IntCC, [x, y]: [VReg; 2]) {
    if bits == 16 {
        // The saturating difference: the excess of one operand over the other, or zero.
        let row = rows::PSUBUS.of(16);
        if cond == IntCC::UnsignedLessThan {
            let more = cx.make(row, &[x, y]);
            cx.emit(rows::PSUB.of(16), &[def, x, more]);
        } else {
            let more = cx.make(row, &[x, y]);
            cx.emit(rows::PADD.of(16), &[def, more, y]);
        }
        return;
    }
    let signed = matches!(cond, IntCC::SignedLessThan | IntCC::SignedGreaterThan);
    let [p, q] = if signed { [x, y] } else { [x, y].map(|v| cx.make_with(rows::XORPS, v, signs(bits))) };
    let is_less = matches!(cond, IntCC::SignedLessThan | IntCC::UnsignedLessThan);
    let mask = cx.vector_temp();
    greater(cx, mask, bits, if is_less { [q, p] } else { [p, q] });
    select_by_mask(cx, def, mask, [x, y]);
}

/// Returns the unsigned minimum of `x` and a constant in lanes of 16 to 64 bits.
pub(super) fn limited(cx: &mut Cx<'_, '_>, bits: u32, x: VReg, limit: u64) -> VReg {
    let limit = repeated(limit, bits);
    if let Some(row) = cx.lane_row(rows::PMINU, bits) {
        return cx.make_with(row, x, limit);
    }
    let (def, limit) = (cx.vector_temp(), cx.vector(limit));
    extreme(cx, def, bits, IntCC::UnsignedLessThan, [x, limit]);
    def
}

/// Lowers `uadd_sat`: the sum, or all ones where the sum is less than an operand.
pub(in crate::lower) fn uadd_sat(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    clamped(cx, inst, rows::PADDUS, |cx, bits, def, [x, y]| {
        let sum = cx.make(rows::PADD.of(bits), &[x, y]);
        let [p, q] = [x, sum].map(|v| cx.make_with(rows::XORPS, v, signs(bits)));
        let carried = cx.vector_temp();
        greater(cx, carried, bits, [p, q]);
        cx.emit(rows::ORPS, &[def, sum, carried]);
    })
}

/// Lowers `usub_sat`: the difference where the first operand is greater, else zero.
pub(in crate::lower) fn usub_sat(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    clamped(cx, inst, rows::PSUBUS, |cx, bits, def, [x, y]| {
        let difference = cx.make(rows::PSUB.of(bits), &[x, y]);
        let [p, q] = [x, y].map(|v| cx.make_with(rows::XORPS, v, signs(bits)));
        let positive = cx.vector_temp();
        greater(cx, positive, bits, [p, q]);
        cx.emit(rows::ANDPS, &[def, difference, positive]);
    })
}

/// Lowers `sadd_sat`: the sum overflows where both operands have one sign and the sum has the other.
pub(in crate::lower) fn sadd_sat(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    clamped(cx, inst, rows::PADDS, |cx, bits, def, [x, y]| {
        let sum = cx.make(rows::PADD.of(bits), &[x, y]);
        let [differs, unlike] = [sum, y].map(|other| cx.make(rows::XORPS, &[x, other]));
        let overflows = cx.make(rows::ANDNPS, &[unlike, differs]);
        bound_where(cx, bits, def, overflows, x, sum);
    })
}

/// Lowers `ssub_sat`: the difference overflows where the operands have different signs and the sign of the difference
/// is not the sign of the first operand.
pub(in crate::lower) fn ssub_sat(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    clamped(cx, inst, rows::PSUBS, |cx, bits, def, [x, y]| {
        let difference = cx.make(rows::PSUB.of(bits), &[x, y]);
        let [differs, unlike] = [difference, y].map(|other| cx.make(rows::XORPS, &[x, other]));
        let overflows = cx.make(rows::ANDPS, &[unlike, differs]);
        bound_where(cx, bits, def, overflows, x, difference);
    })
}

/// Sets `def` to the bound with the sign of `x` in lanes where the top bit of `overflows` is set, else `result`.
fn bound_where(cx: &mut Cx<'_, '_>, bits: u32, def: VReg, overflows: VReg, x: VReg, result: VReg) {
    let negative = sign_mask(cx, bits, x);
    let bound = cx.make_with(rows::XORPS, negative, repeated(u64::MAX >> (65 - bits), bits));
    let mask = sign_mask(cx, bits, overflows);
    select_by_mask(cx, def, mask, [bound, result]);
}

fn clamped(
    cx: &mut Cx<'_, '_>,
    inst: Inst,
    family: Family,
    otherwise: impl FnOnce(&mut Cx<'_, '_>, u32, VReg, [VReg; 2]),
) -> LowerResult {
    let bits = cx.result_ty(inst).lane_bits();
    if family.get(bits).is_some() {
        return lanes(cx, inst, family);
    }
    let (def, operands) = cx.binary(inst);
    otherwise(cx, bits, def, operands);
    Ok(())
}

/// Lowers `avg_round`: the disjunction less half of the exclusive or.
pub(in crate::lower) fn avg_round(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    clamped(cx, inst, rows::PAVG, |cx, bits, def, [x, y]| {
        let [either, differs] = [rows::ORPS, rows::XORPS].map(|row| cx.make(row, &[x, y]));
        let half = cx.make_imm(rows::PSRL_RI.of(bits), &[differs], 1);
        cx.emit(rows::PSUB.of(bits), &[def, either, half]);
    })
}

/// Lowers `popcnt`: counts the bits of nibbles by a table, or else in pairs, then adds up the bytes of a lane.
pub(in crate::lower) fn popcnt(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [def, x] = cx.registers(inst);
    let bits = cx.result_ty(inst).lane_bits();
    if bits == 8 {
        count_bytes(cx, def, x);
        return Ok(());
    }
    let counts = cx.vector_temp();
    count_bytes(cx, counts, x);
    if bits == 64 {
        let zero = cx.vector(0);
        cx.emit(rows::PSADBW, &[def, counts, zero]);
        return Ok(());
    }
    // Each byte plus its neighbor, in the upper byte of 16 bits.
    let shifted = cx.make_imm(rows::PSLL_RI.of(16), &[counts], 8);
    let sums = cx.make(rows::PADD.of(8), &[counts, shifted]);
    if bits == 16 {
        cx.emit_imm(rows::PSRL_RI.of(16), &[def, sums], 8);
        return Ok(());
    }
    let sums = cx.make_imm(rows::PSRL_RI.of(16), &[sums], 8);
    cx.emit_with(rows::PMADDWD, &[def, sums], repeated(1, 16));
    Ok(())
}

fn count_bytes(cx: &mut Cx<'_, '_>, def: VReg, x: VReg) {
    const NIBBLES: u128 = 0x0403_0302_0302_0201_0302_0201_0201_0100;
    let low_nibbles = repeated(0x0f, 8);
    if cx.can(rows::PSHUFB) {
        let upper = cx.make_imm(rows::PSRL_RI.of(16), &[x], 4);
        let [low, high] = [x, upper].map(|v| {
            let nibbles = cx.make_with(rows::ANDPS, v, low_nibbles);
            let table = cx.vector(NIBBLES);
            cx.make(rows::PSHUFB, &[table, nibbles])
        });
        cx.emit(rows::PADD.of(8), &[def, low, high]);
        return;
    }
    let shifted = |cx: &mut Cx<'_, '_>, v, by, mask| {
        let shifted = cx.make_imm(rows::PSRL_RI.of(16), &[v], by);
        cx.make_with(rows::ANDPS, shifted, repeated(mask, 8))
    };
    let odd = shifted(cx, x, 1, 0x55);
    let pairs = cx.make(rows::PSUB.of(8), &[x, odd]);
    let upper = shifted(cx, pairs, 2, 0x33);
    let lower = cx.make_with(rows::ANDPS, pairs, repeated(0x33, 8));
    let nibbles = cx.make(rows::PADD.of(8), &[lower, upper]);
    let high = cx.make_imm(rows::PSRL_RI.of(16), &[nibbles], 4);
    let sums = cx.make(rows::PADD.of(8), &[nibbles, high]);
    cx.emit_with(rows::ANDPS, &[def, sums], low_nibbles);
}

/// Lowers `blendv`: selects by the top bit of each lane of the first operand.
pub(in crate::lower) fn blendv(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [def, c, x, y] = cx.registers(inst);
    let mask = sign_mask(cx, cx.result_ty(inst).lane_bits(), c);
    select_by_mask(cx, def, mask, [x, y]);
    Ok(())
}

/// Returns the row that selects one operand of a comparison by which is less, and its operands in order. The result
/// is the second operand if they are unordered.
fn extreme_of_floats(cx: &Cx<'_, '_>, inst: Inst) -> Option<(RowId, [Value; 2])> {
    let [mut c, x, y] = cx.args(inst);
    if let Some(cast) = cx.def_as(c, Opcode::Bitcast).filter(|_| cx.is_single_use(c)) {
        [c] = cx.args(cast);
    }
    let fcmp = cx.def_as(c, Opcode::Fcmp).filter(|_| cx.is_single_use(c))?;
    let InstView::FloatCompare { cond, args } = cx.func.dfg.view(fcmp) else { return None };
    let ty = cx.ty(args[0]);
    let first_is_less = match cond {
        FloatCC::LessThan => true,
        FloatCC::GreaterThan => false,
        _ => return None,
    };
    // Casts may be on either side, as in WebAssembly, where the comparison is of floats and the selection of bytes.
    let plain = |values: [Value; 2]| values.map(|value| cx.without_casts(value));
    let same = [[x, y], [y, x]].iter().position(|&operands| plain(operands) == plain(args))? == 0;
    let fits = is_float(ty.lane_type()) && !ty.is_scalar() && x != y;
    let family = if first_is_less == same { rows::MINP } else { rows::MAXP };
    fits.then(|| (family.of(ty.lane_bits()), plain([x, y])))
}

/// Lowers `bitselect`.
pub(in crate::lower) fn bitselect(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    if let Some((row, operands)) = extreme_of_floats(cx, inst) {
        cx.count_tile(tiles::LESSER_FLOAT);
        let value = cx.first_result(inst);
        let [x, y] = operands.map(|operand| cx.use_reg(operand));
        let def = cx.result(value);
        cx.emit(row, &[def, x, y]);
        return Ok(());
    }
    let [c, x, y] = cx.args(inst);
    let zeros = [x, y].map(|v| cx.vector_constant(v) == Some(0));
    let (row, other) = match zeros {
        [true, _] => (rows::ANDNPS, y),
        [_, true] => (rows::ANDPS, x),
        _ => {
            let [def, c, x, y] = cx.registers(inst);
            select_by_mask(cx, def, c, [x, y]);
            return Ok(());
        }
    };
    cx.count_tile(tiles::ZERO_OR_LANE);
    let value = cx.first_result(inst);
    let (def, c, other) = (cx.result(value), cx.use_reg(c), cx.use_reg(other));
    cx.emit(row, &[def, c, other]);
    Ok(())
}
