//! Comparisons as values, selection by a condition, minimum and maximum.
//!
//! Before: `v3 = iadd_imm v2, 1; v4 = select v0, v1, v3`. After: `csinc w4, w1, w2, ne`.

use super::LowerResult;
use super::condition_codes::int_code;
use super::cx::Cx;
use crate::encoding::Arrangement;
use crate::immediates;
use crate::regs::CC_GE;
use crate::rows::{self, lanes};
use kingpost_ir::condcodes::IntCC;
use kingpost_ir::{Inst, InstView, Opcode, Value};
use kingpost_mach::lower::{Cond, invert, is_word, select_on, working_bits};
use kingpost_mach::{LowerBackend, RowId};
use kingpost_regalloc::VReg;

/// Lowers `icmp`.
pub(super) fn icmp(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let InstView::IntCompare { cond, args: [x, y] } = cx.func.dfg.view(inst) else {
        return Err(cx.unsupported(inst));
    };
    if is_sign_test(cx, cond, x, y) {
        let value = cx.first_result(inst);
        let def = cx.result(value);
        sign(cx, def, x);
    } else {
        let cond = cx.compare(cond, [x, y]);
        set_result(cx, inst, cond);
    }
    Ok(())
}

/// Lowers `fcmp`.
pub(super) fn fcmp(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let InstView::FloatCompare { cond, args } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    cx.require_arithmetic(inst, cx.ty(args[0]))?;
    let cond = cx.compare_floats(cond, args);
    set_result(cx, inst, cond);
    Ok(())
}

fn set_result(cx: &mut Cx<'_, '_>, inst: Inst, cond: Cond) {
    let value = cx.first_result(inst);
    let def = cx.result(value);
    set(cx, def, cond);
}

/// Returns `true` if the comparison tests the sign of an integer of one register.
fn is_sign_test(cx: &Cx<'_, '_>, cond: IntCC, x: Value, y: Value) -> bool {
    cond == IntCC::SignedLessThan && is_word(cx.ty(x)) && cx.constant(y) == Some(0)
}

/// Sets `def` to 1 if `x` is negative, else 0.
fn sign(cx: &mut Cx<'_, '_>, def: VReg, x: Value) {
    let bits = cx.ty(x).bits();
    let source = cx.use_reg(x);
    if bits >= 32 {
        cx.emit_imm(rows::LSR_RRI.of(bits), &[def, source], bits as i32 - 1);
        cx.declare_zeros(def);
    } else {
        let field = immediates::bitfield_extract(bits as u8 - 1, 1);
        cx.emit_imm(rows::UBFM_RRI.of(32), &[def, source], field);
    }
}

/// Sets `def` to 1 if the condition holds, else 0.
pub(super) fn set(cx: &mut Cx<'_, '_>, def: VReg, cond: Cond) {
    match cond {
        Cond::One(cc) => {
            cx.emit_imm(rows::CSET_R.of(32), &[def], cc);
        }
        // The result of the first condition, or 1 where the second one holds as well.
        Cond::Or(a, b) => {
            let first = cx.int_temp(32);
            cx.emit_imm(rows::CSET_R.of(32), &[first], a);
            cx.emit_imm(rows::CSINC_RRZ.of(32), &[def, first], invert(b));
        }
        // The result of the first condition where the second one holds, else 0.
        Cond::And(a, b) => {
            let first = cx.int_temp(32);
            cx.emit_imm(rows::CSET_R.of(32), &[first], a);
            cx.emit_imm(rows::CSEL_RRZ.of(32), &[def, first], b);
        }
    }
}

/// Change that a conditional instruction makes to its second operand, which it takes if the condition does not hold.
#[derive(Clone, Copy)]
enum Change {
    Increment,
    Complement,
    Negate,
}

impl Change {
    /// Returns the conditional instruction that makes the change.
    fn row(self, bits: u32) -> RowId {
        match self {
            Change::Increment => rows::CSINC_RRR.of(bits),
            Change::Complement => rows::CSINV_RRR.of(bits),
            Change::Negate => rows::CSNEG_RRR.of(bits),
        }
    }

    /// Emits the change as a separate instruction and returns its result. Preserves the flags.
    fn emit(self, cx: &mut Cx<'_, '_>, bits: u32, operand: VReg) -> VReg {
        let def = cx.int_temp(bits);
        match self {
            Change::Increment => cx.add_constant(def, operand, 1, bits),
            Change::Complement => {
                cx.emit(rows::MVN_RR.of(bits), &[def, operand]);
            }
            Change::Negate => {
                cx.emit(rows::NEG_RR.of(bits), &[def, operand]);
            }
        }
        def
    }
}

/// Lowers `select` and `select_spectre_guard`: 1 and 0, one arm incremented, complemented or negated, one arm a
/// constant that is made from the zero register, or any two arms.
pub(super) fn select(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [c, x, y] = cx.args(inst);
    let value = cx.first_result(inst);
    let def = cx.result(value);
    let bits = working_bits(cx.ty(x));
    let constants = (cx.constant_signed(x), cx.constant_signed(y));
    let (set_one, set_ones) = (rows::CSET_R, rows::CSETM_R);
    let whole = match constants {
        (Some(1), Some(0)) => Some((set_one, false)),
        (Some(0), Some(1)) => Some((set_one, true)),
        (Some(-1), Some(0)) => Some((set_ones, false)),
        (Some(0), Some(-1)) => Some((set_ones, true)),
        _ => None,
    };
    if let Some((family, negated)) = whole {
        let cond = cx.condition(c).inverse_if(negated);
        if let Cond::One(cc) = cond {
            cx.emit_imm(family.of(bits), &[def], cc);
            return Ok(());
        }
        let (x, y) = (cx.use_reg(x), cx.use_reg(y));
        let cond = cond.inverse_if(negated);
        select_on(cx, rows::CSEL_RRR.of(bits), cond, def, [x, y]);
        return Ok(());
    }
    let select = rows::CSEL_RRR.of(bits);
    for (arm, plain, negated) in [(y, x, false), (x, y, true)] {
        let Some((change, operand)) = changed_arm(cx, arm) else { continue };
        let (operand, plain) = (cx.use_reg(operand), cx.use_reg(plain));
        let cond = cx.condition(c).inverse_if(negated);
        if let Cond::One(cc) = cond {
            cx.emit_imm(change.row(bits), &[def, plain, operand], cc);
        } else {
            let changed = change.emit(cx, bits, operand);
            select_on(cx, select, cond, def, [plain, changed]);
        }
        return Ok(());
    }
    for (arm, plain, negated) in [(y, x, false), (x, y, true)] {
        let Some(row) = constant_arm(cx, arm, bits) else { continue };
        let plain = cx.use_reg(plain);
        let cond = cx.condition(c).inverse_if(negated);
        if let Cond::One(cc) = cond {
            cx.emit_imm(row, &[def, plain], cc);
        } else {
            let arm = cx.use_reg(arm);
            select_on(cx, select, cond, def, [plain, arm]);
        }
        return Ok(());
    }
    let (x, y) = (cx.use_reg(x), cx.use_reg(y));
    let cond = cx.condition(c);
    select_on(cx, select, cond, def, [x, y]);
    Ok(())
}

/// Lowers `select` of floats of up to 128 bits.
pub(super) fn select_float(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [c, x, y] = cx.args(inst);
    let bits = cx.ty(x).bits();
    let value = cx.first_result(inst);
    let (def, x, y) = (cx.result(value), cx.use_reg(x), cx.use_reg(y));
    let cond = cx.condition(c);
    if bits > 64 {
        select_quad(cx, cond, def, [x, y]);
    } else {
        select_on(cx, rows::FCSEL_FFF.of(bits.max(32)), cond, def, [x, y]);
    }
    Ok(())
}

/// Returns the conditional instruction that makes the constant `value` from the zero register if the condition does
/// not hold.
fn constant_arm(cx: &Cx<'_, '_>, value: Value, bits: u32) -> Option<RowId> {
    match cx.constant_signed(value)? {
        0 => Some(rows::CSEL_RRZ.of(bits)),
        1 => Some(rows::CSINC_RRZ.of(bits)),
        -1 => Some(rows::CSINV_RRZ.of(bits)),
        _ => None,
    }
}

/// Returns `value` as the changed arm of a conditional instruction: the change and its operand.
fn changed_arm(cx: &Cx<'_, '_>, value: Value) -> Option<(Change, Value)> {
    let def = cx.def(value).filter(|_| cx.is_single_use(value))?;
    let change = match cx.func.dfg.opcode(def) {
        Opcode::Iadd => {
            let [x, y] = cx.args(def);
            return match (cx.constant(x), cx.constant(y)) {
                (_, Some(1)) => Some((Change::Increment, x)),
                (Some(1), _) => Some((Change::Increment, y)),
                _ => None,
            };
        }
        Opcode::Bnot => Change::Complement,
        Opcode::Ineg => Change::Negate,
        _ => return None,
    };
    let [operand] = cx.args(def);
    Some((change, operand))
}

/// Sets `def` to `x` if the condition holds, else `y`, in 16 bytes, by a mask.
fn select_quad(cx: &mut Cx<'_, '_>, cond: Cond, def: VReg, [x, y]: [VReg; 2]) {
    let (mask, masks) = (cx.int_temp(64), cx.vector_temp());
    if let Cond::One(cc) = cond {
        cx.emit_imm(rows::CSETM_R.of(64), &[mask], cc);
    } else {
        let bit = cx.int_temp(64);
        set(cx, bit, cond);
        cx.emit(rows::NEG_RR.of(64), &[mask, bit]);
    }
    cx.emit(lanes::DUP_VR.of(Arrangement::new(64, true)), &[masks, mask]);
    cx.emit(rows::BSL_FFF.of(128), &[def, masks, x, y]);
}

/// Lowers `smin`, `smax`, `umin`, `umax`.
pub(super) fn min_max(cx: &mut Cx<'_, '_>, inst: Inst, cond: IntCC) -> LowerResult {
    let [x, y] = cx.args(inst);
    let value = cx.first_result(inst);
    let bits = working_bits(cx.ty(x));
    let (def, xs) = (cx.result(value), cx.use_reg(x));
    match (constant_arm(cx, y, bits), cx.compare(cond, [x, y])) {
        (Some(row), Cond::One(cc)) => {
            cx.emit_imm(row, &[def, xs], cc);
        }
        (_, cond) => {
            let ys = cx.use_reg(y);
            select_on(cx, rows::CSEL_RRR.of(bits), cond, def, [xs, ys]);
        }
    }
    Ok(())
}

/// Sets `def` to `x` if the comparison of `x` and `y` holds, else `y`.
pub(super) fn limit(cx: &mut Cx<'_, '_>, bits: u32, def: VReg, [x, y]: [VReg; 2], cond: IntCC) {
    cx.emit(rows::CMP_RR.of(bits), &[x, y]);
    cx.emit_imm(rows::CSEL_RRR.of(bits), &[def, x, y], int_code(cond));
}

/// Lowers `iabs`: the negation, or the operand if that is not negative.
pub(super) fn iabs(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    let ty = cx.ty(x);
    let value = cx.first_result(inst);
    let bits = working_bits(ty);
    let (def, source) = (cx.result(value), cx.use_sign_extended(x));
    cx.compare_constant(source, 0, bits);
    cx.emit_imm(rows::CSNEG_RRR.of(bits), &[def, source, source], CC_GE);
    Ok(())
}

/// Lowers `bmask`.
pub(super) fn bmask(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    let value = cx.first_result(inst);
    let defs = cx.result_parts(value);
    let bits = working_bits(cx.ty(value)).min(64);
    let cond = cx.condition(x);
    match cond {
        Cond::One(cc) => {
            cx.emit_imm(rows::CSETM_R.of(bits), &[defs[0]], cc);
        }
        _ => {
            let bit = cx.int_temp(bits);
            set(cx, bit, cond);
            cx.emit(rows::NEG_RR.of(bits), &[defs[0], bit]);
        }
    }
    if let Some(&high) = defs.get(1) {
        cx.emit(rows::MOV_RR.of(64), &[high, defs[0]]);
    }
    Ok(())
}
