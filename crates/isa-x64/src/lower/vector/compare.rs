//! Comparisons of all lanes, whose result is a mask of ones where they hold, and selections by such masks.
//!
//! Before: `v2 = icmp ugt v0, v1` of i32x4. After: `pxor` of both with the sign bits, `pcmpgtd`.

use super::{LowerResult, by_row, signs};
use crate::lower::cx::Cx;
use crate::rows;
use kingpost_ir::condcodes::{FloatCC, IntCC};
use kingpost_ir::{Inst, InstView};
use kingpost_mach::Family;
use kingpost_regalloc::VReg;

/// Sets `def` to all ones where lanes of `x` and `y` are equal.
pub(super) fn equal(cx: &mut Cx<'_, '_>, def: VReg, bits: u32, [x, y]: [VReg; 2]) {
    if let Some(row) = cx.lane_row(rows::PCMPEQ, bits) {
        cx.emit(row, &[def, x, y]);
        return;
    }
    // Both halves of 64 bits must be equal.
    let halves = cx.make(rows::PCMPEQ.of(32), &[x, y]);
    let others = cx.make_imm(rows::PSHUFD, &[halves], 0xb1);
    cx.emit(rows::ANDPS, &[def, halves, others]);
}

/// Sets `def` to all ones where lanes of `x` are greater than lanes of `y`, as signed numbers.
pub(super) fn greater(cx: &mut Cx<'_, '_>, def: VReg, bits: u32, [x, y]: [VReg; 2]) {
    if let Some(row) = cx.lane_row(rows::PCMPGT, bits) {
        cx.emit(row, &[def, x, y]);
        return;
    }
    // For 64 bits: compare the upper halves, or test for a borrow of the difference where these are equal.
    let difference = cx.make(rows::PSUB.of(64), &[y, x]);
    let same = cx.make(rows::PCMPEQ.of(32), &[x, y]);
    let borrows = cx.make(rows::ANDPS, &[difference, same]);
    let above = cx.make(rows::PCMPGT.of(32), &[x, y]);
    let either = cx.make(rows::ORPS, &[borrows, above]);
    let signs = cx.make_imm(rows::PSRA_RI.of(32), &[either], 31);
    cx.emit_imm(rows::PSHUFD, &[def, signs], 0xf5);
}

/// Sets `def` to the complement of `x`.
pub(super) fn not(cx: &mut Cx<'_, '_>, def: VReg, x: VReg) {
    let ones = cx.vector(u128::MAX);
    cx.emit(rows::XORPS, &[def, x, ones]);
}

/// Sets `def` to the bits of `x` where `mask` has ones, and to the bits of `y` where it has zeros.
pub(in crate::lower) fn select_by_mask(cx: &mut Cx<'_, '_>, def: VReg, mask: VReg, [x, y]: [VReg; 2]) {
    let taken = cx.make(rows::ANDPS, &[x, mask]);
    let rest = cx.make(rows::ANDNPS, &[mask, y]);
    cx.emit(rows::ORPS, &[def, rest, taken]);
}

/// Lowers `icmp`.
pub(in crate::lower) fn icmp(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let InstView::IntCompare { cond, args } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    let bits = cx.lane_bits(args[0]);
    if cond == IntCC::Equal
        && let Some(row) = cx.lane_row(rows::PCMPEQ, bits)
    {
        return by_row(cx, inst, row);
    }
    let (def, [x, y]) = cx.binary(inst);
    let [x, y] = match cond {
        // Only one operand order of each comparison exists.
        IntCC::SignedLessThan | IntCC::SignedLessThanOrEqual => [y, x],
        IntCC::UnsignedLessThan | IntCC::UnsignedLessThanOrEqual => [y, x],
        _ => [x, y],
    };
    match cond {
        IntCC::Equal => equal(cx, def, bits, [x, y]),
        IntCC::NotEqual => {
            let mask = cx.vector_temp();
            equal(cx, mask, bits, [x, y]);
            not(cx, def, mask);
        }
        IntCC::SignedGreaterThan | IntCC::SignedLessThan => greater(cx, def, bits, [x, y]),
        IntCC::UnsignedGreaterThan | IntCC::UnsignedLessThan => {
            let flipped = [x, y].map(|v| cx.make_with(rows::XORPS, v, signs(bits)));
            greater(cx, def, bits, flipped);
        }
        IntCC::SignedGreaterThanOrEqual | IntCC::SignedLessThanOrEqual => {
            at_least(cx, def, bits, rows::PMAXS, [x, y], false);
        }
        IntCC::UnsignedGreaterThanOrEqual | IntCC::UnsignedLessThanOrEqual => {
            at_least(cx, def, bits, rows::PMAXU, [x, y], true);
        }
    }
    Ok(())
}

/// Sets `def` to all ones where `x` is at least `y`: where it is the greater of the two, or where `y` is not greater.
fn at_least(cx: &mut Cx<'_, '_>, def: VReg, bits: u32, greatest: Family, [x, y]: [VReg; 2], is_unsigned: bool) {
    if let Some(row) = cx.lane_row(greatest, bits) {
        let greatest = cx.make(row, &[y, x]);
        cx.emit(rows::PCMPEQ.of(bits), &[def, greatest, x]);
        return;
    }
    let [x, y] = if is_unsigned { [x, y].map(|v| cx.make_with(rows::XORPS, v, signs(bits))) } else { [x, y] };
    let mask = cx.vector_temp();
    greater(cx, mask, bits, [y, x]);
    not(cx, def, mask);
}

/// Predicates of `cmpps` and `cmppd` (SDM volume 2, table 3-1), the last two with AVX only.
mod predicate {
    pub(super) const EQUAL: i32 = 0;
    pub(super) const LESS: i32 = 1;
    pub(super) const LESS_OR_EQUAL: i32 = 2;
    pub(super) const UNORDERED: i32 = 3;
    pub(super) const NOT_EQUAL: i32 = 4;
    pub(super) const NOT_LESS: i32 = 5;
    pub(super) const NOT_LESS_OR_EQUAL: i32 = 6;
    pub(super) const ORDERED: i32 = 7;
    pub(super) const EQUAL_OR_UNORDERED: i32 = 8;
    pub(super) const LESS_OR_GREATER: i32 = 12;
}

/// Lowers `fcmp`.
pub(in crate::lower) fn fcmp(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    use predicate::*;
    let InstView::FloatCompare { cond, args: [x, y] } = cx.func.dfg.view(inst) else {
        return Err(cx.unsupported(inst));
    };
    cx.require_floats(inst, cx.ty(x))?;
    let (predicate, swap) = match cond {
        FloatCC::Ordered => (ORDERED, false),
        FloatCC::Unordered => (UNORDERED, false),
        FloatCC::Equal => (EQUAL, false),
        FloatCC::NotEqual => (NOT_EQUAL, false),
        FloatCC::OrderedNotEqual => (LESS_OR_GREATER, false),
        FloatCC::UnorderedOrEqual => (EQUAL_OR_UNORDERED, false),
        FloatCC::LessThan => (LESS, false),
        FloatCC::LessThanOrEqual => (LESS_OR_EQUAL, false),
        FloatCC::GreaterThan => (LESS, true),
        FloatCC::GreaterThanOrEqual => (LESS_OR_EQUAL, true),
        FloatCC::UnorderedOrLessThan => (NOT_LESS_OR_EQUAL, true),
        FloatCC::UnorderedOrLessThanOrEqual => (NOT_LESS, true),
        FloatCC::UnorderedOrGreaterThan => (NOT_LESS_OR_EQUAL, false),
        FloatCC::UnorderedOrGreaterThanOrEqual => (NOT_LESS, false),
    };
    let row = rows::CMPP.of(cx.lane_bits(x));
    let value = cx.first_result(inst);
    let def = cx.result(value);
    if predicate > ORDERED && !cx.isa.flags.has_avx {
        let (parts, join) = match predicate {
            LESS_OR_GREATER => ([ORDERED, NOT_EQUAL], rows::ANDPS),
            _ => ([UNORDERED, EQUAL], rows::ORPS),
        };
        let operands = [cx.use_reg(x), cx.use_reg(y)];
        let [p, q] = parts.map(|predicate| cx.make_imm(row, &operands, predicate));
        cx.emit(join, &[def, p, q]);
        return Ok(());
    }
    let [x, y] = if swap { [y, x] } else { [x, y] };
    let x = cx.use_reg(x);
    cx.emit_float(row, &[def, x], y, inst)?.imm = predicate;
    Ok(())
}

/// Returns a mask with all ones in lanes whose top bit is set, and zeros in all further lanes.
pub(super) fn sign_mask(cx: &mut Cx<'_, '_>, bits: u32, x: VReg) -> VReg {
    match bits {
        8 => {
            let zero = cx.vector(0);
            cx.make(rows::PCMPGT.of(8), &[zero, x])
        }
        64 => {
            let signs = cx.make_imm(rows::PSRA_RI.of(32), &[x], 31);
            cx.make_imm(rows::PSHUFD, &[signs], 0xf5)
        }
        _ => cx.make_imm(rows::PSRA_RI.of(bits), &[x], bits as i32 - 1),
    }
}
