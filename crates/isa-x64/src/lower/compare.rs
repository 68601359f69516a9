//! Comparisons as values, selection by a condition, minimum and maximum.

use super::Lowered;
use super::condition::int_code;
use super::cx::Cx;
use crate::rows;
use kingpost_ir::types::{F32, F64, I128};
use kingpost_ir::{Inst, InstView, Value};
use kingpost_mach::Machine;
use kingpost_mach::lower::{Cond, min_max_condition, working_bits};
use kingpost_regalloc::VReg;

/// `icmp`, `fcmp`.
pub(super) fn to_value(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    let value = cx.first_result(inst);
    // The comparison itself is the user of its operands: nobody lowers it but here.
    let sole = Some(inst);
    let cond = match cx.func.dfg.view(inst) {
        InstView::IntCompare { cond, args } if cx.ty(args[0]).is_int() => cx.compare(cond, args, sole)?,
        InstView::FloatCompare { cond, args } if matches!(cx.ty(args[0]), F32 | F64) => {
            cx.compare_floats(cond, args, sole)?
        }
        _ => return Err(cx.unsupported(inst)),
    };
    let def = cx.result(value);
    set(cx, def, cond);
    Ok(())
}

/// `def` is 1 if the flags say so, else 0, in its low 8 bits.
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

/// `select` and `select_spectre_guard`: conditional moves.
pub(super) fn select(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    let [c, x, y] = cx.args(inst);
    let ty = cx.ty(x);
    if ty.is_dynamic_vector() || ty.bits() > 128 {
        return Err(cx.unsupported(inst));
    }
    let value = cx.first_result(inst);
    let (defs, x, y) = (cx.result_parts(value), cx.use_regs(x), cx.use_regs(y));
    let cond = cx.condition(c, inst)?;
    for k in 0..defs.len() {
        let row = match ty.is_int() {
            true => rows::CMOV_RR.of(working_bits(ty).min(64)),
            false => rows::SELECT_F,
        };
        choose(cx, row, cond, defs[k], x[k], y[k]);
    }
    Ok(())
}

/// `def = cond ? x : y` by conditional moves of one register.
fn choose(cx: &mut Cx<'_, '_>, row: kingpost_mach::RowId, cond: Cond, def: VReg, x: VReg, y: VReg) {
    let (a, b, yes, no) = match cond {
        Cond::One(cc) => {
            cx.emit_imm(row, &[def, y, x], cc);
            return;
        }
        Cond::Or(a, b) => (a, b, x, y),
        Cond::And(..) => {
            choose(cx, row, cond.inverse(), def, y, x);
            return;
        }
    };
    let data = cx.code.problem.vregs[def];
    let first = cx.temp(data.class, data.width);
    cx.emit_imm(row, &[first, no, yes], a);
    cx.emit_imm(row, &[def, first, yes], b);
}

/// `smin`, `smax`, `umin`, `umax`.
pub(super) fn min_max(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    let [x, y] = cx.args(inst);
    let ty = cx.ty(x);
    if !ty.is_int() {
        return Err(cx.unsupported(inst));
    }
    // The condition under which the result is `x`.
    let cond = min_max_condition(cx.func.dfg.opcode(inst));
    let value = cx.first_result(inst);
    let (defs, xs, ys) = (cx.result_parts(value), cx.use_regs(x), cx.use_regs(y));
    let cc = if ty == I128 {
        cx.compare(cond, [x, y], None)?
    } else {
        cx.emit(rows::CMP_RR.of(ty.bits()), &[xs[0], ys[0]]);
        Cond::One(int_code(cond))
    };
    let row = rows::CMOV_RR.of(working_bits(ty).min(64));
    for k in 0..defs.len() {
        choose(cx, row, cc, defs[k], xs[k], ys[k]);
    }
    Ok(())
}

/// `bmask`: negating sets the carry unless the operand is zero; subtracting the carry from zero gives the mask.
pub(super) fn bmask(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
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

/// The carry says whether `x` is not zero.
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
