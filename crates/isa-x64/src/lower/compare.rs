//! Comparisons as values, selection by a condition, minimum and maximum.
//!
//! Before: `v4 = icmp slt v0, v1; v5 = select v4, v2, v3`. After: `cmp v0, v1; cmovl v5, v2`.

use super::LowerResult;
use super::condition_codes::int_code;
use super::cx::Cx;
use super::{tiles, vector};
use crate::rows;
use kingpost_ir::condcodes::{FloatCC, IntCC};
use kingpost_ir::types::{F32, F64};
use kingpost_ir::{Inst, InstView, Opcode, Value};
use kingpost_mach::lower::{Cond, invert, select_on, working_bits};
use kingpost_mach::{LowerBackend, RowId};
use kingpost_regalloc::VReg;

/// Lowers `icmp`.
pub(super) fn icmp(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let InstView::IntCompare { cond, args } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    // The comparison itself is the only user of its operands, because no other instruction lowers it.
    let cond = cx.compare(cond, args, Some(inst))?;
    set_result(cx, inst, cond);
    Ok(())
}

/// Lowers `fcmp`.
pub(super) fn fcmp(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let InstView::FloatCompare { cond, args } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    cx.require_float(inst, cx.ty(args[0]))?;
    let cond = cx.compare_floats(cond, args, Some(inst))?;
    set_result(cx, inst, cond);
    Ok(())
}

fn set_result(cx: &mut Cx<'_, '_>, inst: Inst, cond: Cond) {
    let value = cx.first_result(inst);
    let def = cx.result(value);
    set(cx, def, cond);
}

/// Sets the low 8 bits of `def` to 1 if the condition holds, else to 0.
pub(super) fn set(cx: &mut Cx<'_, '_>, def: VReg, cond: Cond) {
    let (a, b, row) = match cond {
        Cond::One(cc) => {
            cx.emit_imm(rows::SETCC_R, &[def], cc);
            return;
        }
        Cond::Or(a, b) => (a, b, rows::OR_RR.of(8)),
        Cond::And(a, b) => (a, b, rows::AND_RR.of(8)),
    };
    let (first, second) = (cx.int_temp(8), cx.int_temp(8));
    cx.emit_imm(rows::SETCC_R, &[first], a);
    cx.emit_imm(rows::SETCC_R, &[second], b);
    cx.emit(row, &[def, first, second]);
}

/// Lowers `select` and `select_spectre_guard`: conditional moves.
pub(super) fn select(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let ty = cx.result_ty(inst);
    select_regs(cx, inst, rows::CMOV_RR.of(working_bits(ty).min(64)))
}

/// Lowers `select` of floats and vectors of up to 128 bits: `minss` or `maxss` if that chooses, a branch otherwise.
pub(super) fn select_float(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let Some((row, operands)) = extreme(cx, inst) else { return select_regs(cx, inst, rows::SELECT_F) };
    cx.count_tile(tiles::LESSER_SCALAR);
    let value = cx.first_result(inst);
    let (def, [x, y]) = (cx.result(value), operands.map(|operand| cx.use_reg(operand)));
    cx.emit(row, &[def, x, y]);
    Ok(())
}

/// Returns the instruction and its operands for a `select` between the operands of the comparison that it tests, if the
/// choice is their minimum or maximum.
///
/// `mins x, y` is `x` if `x` is less than `y`, and `y` otherwise: also if they are zeros of different signs, or one is a NaN
/// (SDM volume 2B, "MINSS"). `maxs x, y` is `x` if `x` is greater.
fn extreme(cx: &Cx<'_, '_>, inst: Inst) -> Option<(RowId, [Value; 2])> {
    let [c, x, y] = cx.args(inst);
    if !matches!(cx.ty(x), F32 | F64) {
        return None;
    }
    let test = cx.truth_test(c, |value| cx.is_comparison(value));
    let (cond, [p, q]) = cx.func.dfg.fcmp_parts(cx.def_as(test.value, Opcode::Fcmp)?);
    let (less, greater, is_complement) = match cond {
        FloatCC::LessThan => (p, q, false),
        FloatCC::GreaterThan => (q, p, false),
        FloatCC::UnorderedOrGreaterThanOrEqual => (p, q, true),
        FloatCC::UnorderedOrLessThanOrEqual => (q, p, true),
        _ => return None,
    };
    // `x` is chosen if `less` is less than `greater`.
    let [x, y] = if test.negated ^ is_complement { [y, x] } else { [x, y] };
    let bits = cx.ty(x).bits();
    if [x, y] == [less, greater] {
        Some((rows::MINS_RR.of(bits), [x, y]))
    } else if [x, y] == [greater, less] {
        Some((rows::MAXS_RR.of(bits), [x, y]))
    } else {
        None
    }
}

/// Lowers `select_spectre_guard` of floats and vectors: by a mask, never by a branch.
pub(super) fn select_by_mask(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [c, x, y] = cx.args(inst);
    let value = cx.first_result(inst);
    let (def, x, y) = (cx.result(value), cx.use_reg(x), cx.use_reg(y));
    let [ones, zeros] = [u64::MAX, 0].map(|bits| cx.constant_temp(bits, 32));
    let cond = cx.condition(c, inst)?;
    let mask = cx.int_temp(32);
    select_on(cx, rows::CMOV_RR.of(32), cond, mask, [ones, zeros]);
    let low = cx.vector_temp();
    cx.emit(rows::MOV_FR.of(32), &[low, mask]);
    let mask = cx.make_imm(rows::PSHUFD, &[low], 0);
    vector::compare::select_by_mask(cx, def, mask, [x, y]);
    Ok(())
}

/// Lowers a selection by `row`, which selects each register of the value.
pub(super) fn select_regs(cx: &mut Cx<'_, '_>, inst: Inst, row: RowId) -> LowerResult {
    let [c, x, y] = cx.args(inst);
    let value = cx.first_result(inst);
    // The result shares the register of `y`.
    let is_swapped = cx.is_better_second(value, [y, x]);
    let (defs, mut x, mut y) = (cx.result_parts(value), cx.use_regs(x), cx.use_regs(y));
    let mut cond = cx.condition(c, inst)?;
    if is_swapped && let Cond::One(cc) = cond {
        cond = Cond::One(invert(cc));
        std::mem::swap(&mut x, &mut y);
    }
    for k in 0..defs.len() {
        select_on(cx, row, cond, defs[k], [x[k], y[k]]);
    }
    Ok(())
}

/// Lowers `smin`, `smax`, `umin`, `umax`.
pub(super) fn min_max(cx: &mut Cx<'_, '_>, inst: Inst, cond: IntCC) -> LowerResult {
    let ty = cx.result_ty(inst);
    let value = cx.first_result(inst);
    let [x, y] = cx.args(inst);
    // The result shares the register of the second operand.
    let [x, y] = if cx.is_better_second(value, [y, x]) { [y, x] } else { [x, y] };
    let (def, x, y) = (cx.result(value), cx.use_reg(x), cx.use_reg(y));
    cx.emit(rows::CMP_RR.of(ty.bits()), &[x, y]);
    select_on(cx, rows::CMOV_RR.of(working_bits(ty)), Cond::One(int_code(cond)), def, [x, y]);
    Ok(())
}

/// Lowers `bmask`: the negation sets the carry unless the operand is zero; subtracting the carry from zero gives the
/// mask.
pub(super) fn bmask(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    let value = cx.first_result(inst);
    let defs = cx.result_parts(value);
    let bits = working_bits(cx.ty(value)).min(64);
    let zero = cx.constant_temp(0, bits);
    negate_for_carry(cx, x);
    cx.emit_imm(rows::SBB_RI.of(bits), &[defs[0], zero], 0);
    if let Some(&high) = defs.get(1) {
        cx.emit(rows::MOV_RR.of(64), &[high, defs[0]]);
    }
    Ok(())
}

/// Sets the carry if `x` is not zero, and clears it otherwise.
fn negate_for_carry(cx: &mut Cx<'_, '_>, x: Value) {
    let bits = cx.ty(x).bits();
    let parts = cx.use_regs(x);
    let source = match parts[..] {
        [low, high] => {
            let any = cx.int_temp(64);
            cx.emit(rows::OR_RR.of(64), &[any, low, high]);
            any
        }
        _ => parts[0],
    };
    let negated = cx.int_temp(bits.min(64));
    cx.emit(rows::NEG_R.of(bits.min(64)), &[negated, source]);
}
