//! Comparisons of lanes, selection by lanes, minimum and maximum.
//!
//! Before: `v2 = icmp slt v0, v1`. After: `cmgt v2.4s, v1.4s, v0.4s`.

use super::super::cx::Cx;
use super::super::{LowerResult, tiles};
use super::arith::in_single;
use crate::encoding::Arrangement;
use crate::rows;
use crate::rows::lanes::{self, Lanes};
use kingpost_ir::condcodes::{FloatCC, IntCC};
use kingpost_ir::{Inst, InstView, Opcode, Value};
use kingpost_mach::lower as shared;
use kingpost_regalloc::VReg;

/// Lowers `icmp`.
pub(in crate::lower) fn icmp(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let InstView::IntCompare { cond, args: [x, y] } = cx.func.dfg.view(inst) else {
        return Err(cx.unsupported(inst));
    };
    let arrangement = cx.lanes(inst, cx.ty(x))?;
    let value = cx.first_result(inst);
    let def = cx.result(value);
    let (cond, x, y) = if cx.is_zero_vector(x) { (cond.swap_args(), y, x) } else { (cond, x, y) };
    if cx.is_zero_vector(y) && compare_with_zero(cx, def, arrangement, cond, x) {
        return Ok(());
    }
    let (family, is_swapped) = match cond {
        IntCC::Equal | IntCC::NotEqual => (lanes::CMEQ, false),
        IntCC::SignedGreaterThan => (lanes::CMGT, false),
        IntCC::SignedLessThan => (lanes::CMGT, true),
        IntCC::SignedGreaterThanOrEqual => (lanes::CMGE, false),
        IntCC::SignedLessThanOrEqual => (lanes::CMGE, true),
        IntCC::UnsignedGreaterThan => (lanes::CMHI, false),
        IntCC::UnsignedLessThan => (lanes::CMHI, true),
        IntCC::UnsignedGreaterThanOrEqual => (lanes::CMHS, false),
        IntCC::UnsignedLessThanOrEqual => (lanes::CMHS, true),
    };
    let [x, y] = [x, y].map(|operand| cx.use_reg(operand));
    let operands = if is_swapped { [y, x] } else { [x, y] };
    negated_if(cx, def, cond == IntCC::NotEqual, |cx, def| cx.define(def, family, arrangement, &operands));
    Ok(())
}

/// Compares with zero in one instruction; a bitwise and is part of it. Returns `false` if there is no such
/// instruction.
fn compare_with_zero(cx: &mut Cx<'_, '_>, def: VReg, arrangement: Arrangement, cond: IntCC, x: Value) -> bool {
    let family = match cond {
        IntCC::Equal | IntCC::UnsignedLessThanOrEqual => lanes::CMEQ_Z,
        IntCC::SignedGreaterThan => lanes::CMGT_Z,
        IntCC::SignedGreaterThanOrEqual => lanes::CMGE_Z,
        IntCC::SignedLessThan => lanes::CMLT_Z,
        IntCC::SignedLessThanOrEqual => lanes::CMLE_Z,
        IntCC::NotEqual | IntCC::UnsignedGreaterThan => {
            let and = cx.def_as(x, Opcode::Band).filter(|_| cx.is_single_use(x));
            let operands = and.map_or([x, x], |and| cx.args(and)).map(|operand| cx.use_reg(operand));
            cx.define(def, lanes::CMTST, arrangement, &operands);
            return true;
        }
        IntCC::UnsignedLessThan | IntCC::UnsignedGreaterThanOrEqual => return false,
    };
    let x = cx.use_reg(x);
    cx.define(def, family, arrangement, &[x]);
    true
}

/// Emits `def` by `compute`, complemented if `negated`.
fn negated_if(cx: &mut Cx<'_, '_>, def: VReg, negated: bool, compute: impl FnOnce(&mut Cx<'_, '_>, VReg)) {
    if !negated {
        return compute(cx, def);
    }
    let opposite = cx.vector_temp();
    compute(cx, opposite);
    cx.emit(rows::NOT_FF.of(128), &[def, opposite]);
}

/// Comparison of floats by the comparisons that the machine has: greater, greater or equal, equal.
struct FloatTest {
    /// The instruction, and whether its operands are exchanged.
    first: (Lanes, bool),
    /// A second instruction whose result is or-ed to the first one.
    second: Option<(Lanes, bool)>,
    /// Whether the result is complemented.
    negated: bool,
}

impl FloatTest {
    fn of(cond: FloatCC) -> FloatTest {
        let (gt, lt, ge, le) =
            ((lanes::FCMGT, false), (lanes::FCMGT, true), (lanes::FCMGE, false), (lanes::FCMGE, true));
        let (first, second, negated) = match cond {
            FloatCC::Equal => ((lanes::FCMEQ, false), None, false),
            FloatCC::NotEqual => ((lanes::FCMEQ, false), None, true),
            FloatCC::GreaterThan => (gt, None, false),
            FloatCC::UnorderedOrLessThanOrEqual => (gt, None, true),
            FloatCC::GreaterThanOrEqual => (ge, None, false),
            FloatCC::UnorderedOrLessThan => (ge, None, true),
            FloatCC::LessThan => (lt, None, false),
            FloatCC::UnorderedOrGreaterThanOrEqual => (lt, None, true),
            FloatCC::LessThanOrEqual => (le, None, false),
            FloatCC::UnorderedOrGreaterThan => (le, None, true),
            FloatCC::Ordered => (ge, Some(lt), false),
            FloatCC::Unordered => (ge, Some(lt), true),
            FloatCC::OrderedNotEqual => (gt, Some(lt), false),
            FloatCC::UnorderedOrEqual => (gt, Some(lt), true),
        };
        FloatTest { first, second, negated }
    }

    /// Emits the result before it is complemented.
    fn emit(&self, cx: &mut Cx<'_, '_>, def: VReg, arrangement: Arrangement, operands: &[VReg]) {
        let ordered = |is_swapped| if is_swapped { [operands[1], operands[0]] } else { [operands[0], operands[1]] };
        let (family, is_swapped) = self.first;
        let Some((other, is_other_swapped)) = self.second else {
            return cx.define(def, family, arrangement, &ordered(is_swapped));
        };
        let first = cx.compute(family, arrangement, &ordered(is_swapped));
        let second = cx.compute(other, arrangement, &ordered(is_other_swapped));
        cx.emit(rows::ORR_FFF.of(128), &[def, first, second]);
    }
}

/// Lowers `fcmp`. Half precision is compared in single precision if the CPU requires it.
pub(in crate::lower) fn fcmp(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let InstView::FloatCompare { cond, args } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    let arrangement = cx.lanes(inst, cx.ty(args[0]))?;
    let value = cx.first_result(inst);
    let (def, operands) = (cx.result(value), args.map(|operand| cx.use_reg(operand)));
    // A number is equal to itself, and only NaN is not.
    let cond = match cond {
        FloatCC::Ordered if args[0] == args[1] => FloatCC::Equal,
        FloatCC::Unordered if args[0] == args[1] => FloatCC::NotEqual,
        cond => cond,
    };
    let test = FloatTest::of(cond);
    if cx.find_row(lanes::FCMEQ, arrangement).is_some() {
        negated_if(cx, def, test.negated, |cx, def| test.emit(cx, def, arrangement, &operands));
        return Ok(());
    }
    negated_if(cx, def, test.negated, |cx, def| {
        in_single(cx, def, arrangement, &operands, [lanes::XTN, lanes::XTN2], |cx, singles| {
            let def = cx.vector_temp();
            test.emit(cx, def, Arrangement::new(32, true), singles);
            def
        });
    });
    Ok(())
}

/// Lowers `bitselect`. If one operand is zero, the mask, or its complement, is and-ed to the other one.
pub(in crate::lower) fn bitselect(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [c, x, y] = cx.args(inst);
    let (row, other) = match [x, y].map(|v| cx.is_zero_vector(v)) {
        [true, _] => (rows::BIC_FFF, y),
        [_, true] => (rows::AND_FFF, x),
        _ => return shared::vector::by_row(cx, inst, rows::BSL_FFF.of(128)),
    };
    cx.count_tile(tiles::ZERO_OR_LANE);
    let value = cx.first_result(inst);
    let (def, c, other) = (cx.result(value), cx.use_reg(c), cx.use_reg(other));
    cx.emit(row.of(128), &[def, other, c]);
    Ok(())
}

/// Lowers `blendv`: signs become masks.
pub(in crate::lower) fn blend(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [def, c, x, y] = cx.registers(inst);
    let arrangement = cx.lanes(inst, cx.result_ty(inst))?;
    let mask = cx.compute(lanes::CMLT_Z, arrangement, &[c]);
    cx.emit(rows::BSL_FFF.of(128), &[def, mask, x, y]);
    Ok(())
}

/// Lowers `smin`, `smax`, `umin`, `umax`: by `family`, or by a comparison and a selection if `family` has no such
/// lanes.
pub(in crate::lower) fn min_max(cx: &mut Cx<'_, '_>, inst: Inst, family: Lanes) -> LowerResult {
    if cx.lane_row(inst, family).is_ok() {
        return super::plain(cx, inst, family);
    }
    let [def, x, y] = cx.registers(inst);
    let arrangement = cx.lanes(inst, cx.result_ty(inst))?;
    let (greater, operands) = match cx.func.dfg.opcode(inst) {
        Opcode::Smax => (lanes::CMGT, [x, y]),
        Opcode::Smin => (lanes::CMGT, [y, x]),
        Opcode::Umax => (lanes::CMHI, [x, y]),
        _ => (lanes::CMHI, [y, x]),
    };
    let mask = cx.compute(greater, arrangement, &operands);
    cx.emit(rows::BSL_FFF.of(128), &[def, mask, x, y]);
    Ok(())
}
