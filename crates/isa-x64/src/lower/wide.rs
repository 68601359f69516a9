//! Integers of 128 bits: two registers, the low half first.
//!
//! Before: `v2 = iadd v0, v1`. After: `add64_rr v2l, v0l, v1l; adc64_rr v2h, v0h, v1h`.

use super::LowerResult;
use super::bits::{count_bits, leading_zeros, reverse_bits, trailing_zeros};
use super::condition_codes::int_code;
use super::convert::extend;
use super::cx::{Cx, Shift};
use super::int::select_bits;
use super::overflow::set_overflow;
use super::shift::count as amount_of;
use crate::regs::CC_NE;
use crate::rows;
use kingpost_ir::condcodes::IntCC;
use kingpost_ir::{Inst, Value};
use kingpost_mach::lower::{self as shared, Cond, is_greater, select_on};
use kingpost_mach::{LowerBackend, RowId};
use kingpost_regalloc::VReg;

/// Lowers `bitselect`, half by half.
pub(super) fn bitselect(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [c, x, y] = cx.args(inst);
    let value = cx.first_result(inst);
    let (defs, c, x, y) = (cx.result_parts(value), cx.use_regs(c), cx.use_regs(x), cx.use_regs(y));
    for k in 0..defs.len() {
        let temps = std::array::from_fn(|_| cx.int_temp(64));
        select_bits(cx, [rows::XOR_RR.of(64), rows::AND_RR.of(64)], temps, defs[k], [c[k], x[k], y[k]]);
    }
    Ok(())
}

/// Lowers `imul`: the full product of the low halves, with both mixed products added to its upper half.
pub(super) fn imul(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x, y] = cx.args(inst);
    let value = cx.first_result(inst);
    let (defs, x, y) = (cx.result_parts(value), cx.use_regs(x), cx.use_regs(y));
    let [high, a, b, sum] = std::array::from_fn(|_| cx.int_temp(64));
    cx.emit(rows::MULWIDE_R.of(64), &[defs[0], high, x[0], y[0]]);
    cx.emit(rows::IMUL_RR.of(64), &[a, x[0], y[1]]);
    cx.emit(rows::IMUL_RR.of(64), &[b, x[1], y[0]]);
    cx.emit(rows::ADD_RR.of(64), &[sum, a, b]);
    cx.emit(rows::ADD_RR.of(64), &[defs[1], high, sum]);
    Ok(())
}

/// Registers of an i128 shift: the halves of the operand, and the amount in one register.
struct ShiftRegs {
    low: VReg,
    high: VReg,
    amount: VReg,
}

impl ShiftRegs {
    fn new(cx: &mut Cx<'_, '_>, x: Value, amount: Value) -> ShiftRegs {
        let parts = cx.use_regs(x);
        let amount = amount_of(cx, amount, 127);
        ShiftRegs { low: parts[0], high: parts[1], amount }
    }
}

/// Lowers `ishl`, `ushr`, `sshr`: shifts both halves by the amount modulo 64, then exchanges them if the amount is 64
/// or more.
pub(super) fn shift(cx: &mut Cx<'_, '_>, inst: Inst, op: Shift) -> LowerResult {
    let [x, amount] = cx.args(inst);
    let value = cx.first_result(inst);
    let defs = cx.result_parts(value);
    let wide = ShiftRegs::new(cx, x, amount);
    // Bits move from `far` into `near`.
    let (near, far, double) = match op {
        Shift::SHL => (wide.high, wide.low, rows::SHLD_RRC.of(64)),
        _ => (wide.low, wide.high, rows::SHRD_RRC.of(64)),
    };
    let [mixed, shifted, fill] = std::array::from_fn(|_| cx.int_temp(64));
    cx.emit(double, &[mixed, near, far, wide.amount]);
    cx.emit(op.rc.of(64), &[shifted, far, wide.amount]);
    if op == Shift::SAR {
        cx.emit_imm(rows::SAR_RI.of(64), &[fill, wide.high], 63);
    } else {
        cx.load_constant(fill, 0, 64);
    }
    let (near_def, far_def) = if op == Shift::SHL { (defs[1], defs[0]) } else { (defs[0], defs[1]) };
    cx.emit_imm(rows::TEST_RI.of(8), &[wide.amount], 64);
    cx.emit_imm(rows::CMOV_RR.of(64), &[near_def, mixed, shifted], CC_NE);
    cx.emit_imm(rows::CMOV_RR.of(64), &[far_def, shifted, fill], CC_NE);
    Ok(())
}

/// Lowers `rotl`, `rotr`: exchanges the halves if the amount is 64 or more, then shifts each into the other.
pub(super) fn rotate(cx: &mut Cx<'_, '_>, inst: Inst, op: Shift) -> LowerResult {
    let [x, amount] = cx.args(inst);
    let value = cx.first_result(inst);
    let defs = cx.result_parts(value);
    let wide = ShiftRegs::new(cx, x, amount);
    let (low, high) = (cx.int_temp(64), cx.int_temp(64));
    cx.emit_imm(rows::TEST_RI.of(8), &[wide.amount], 64);
    cx.emit_imm(rows::CMOV_RR.of(64), &[low, wide.low, wide.high], CC_NE);
    cx.emit_imm(rows::CMOV_RR.of(64), &[high, wide.high, wide.low], CC_NE);
    let double = if op == Shift::ROL { rows::SHLD_RRC.of(64) } else { rows::SHRD_RRC.of(64) };
    cx.emit(double, &[defs[0], low, high, wide.amount]);
    cx.emit(double, &[defs[1], high, low, wide.amount]);
    Ok(())
}

/// Lowers `bitrev`: reverses and exchanges the halves.
pub(super) fn bitrev(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    let value = cx.first_result(inst);
    let (defs, parts) = (cx.result_parts(value), cx.use_regs(x));
    reverse_bits(cx, defs[0], parts[1], 64);
    reverse_bits(cx, defs[1], parts[0], 64);
    Ok(())
}

/// Sets `defs` to a count over both halves: the count of `first`, or 64 plus the count of `second` if `first` is zero.
fn count_of(
    cx: &mut Cx<'_, '_>,
    defs: &[VReg],
    [first, second]: [VReg; 2],
    count: impl Fn(&mut Cx<'_, '_>, VReg, VReg),
) {
    let [near, far, more] = std::array::from_fn(|_| cx.int_temp(64));
    count(cx, near, first);
    count(cx, far, second);
    cx.emit_imm(rows::ADD_RI.of(64), &[more, far], 64);
    cx.load_constant(defs[1], 0, 64);
    cx.emit(rows::TEST_RR.of(64), &[first, first]);
    cx.emit_imm(rows::CMOV_RR.of(64), &[defs[0], more, near], CC_NE);
}

/// Lowers `clz`.
pub(super) fn clz(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    let value = cx.first_result(inst);
    let (defs, parts) = (cx.result_parts(value), cx.use_regs(x));
    count_of(cx, &defs, [parts[1], parts[0]], |cx, def, part| leading_zeros(cx, def, part, 64, 64));
    Ok(())
}

/// Lowers `ctz`.
pub(super) fn ctz(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    let value = cx.first_result(inst);
    let (defs, parts) = (cx.result_parts(value), cx.use_regs(x));
    count_of(cx, &defs, [parts[0], parts[1]], |cx, def, part| trailing_zeros(cx, def, part, 64));
    Ok(())
}

/// Lowers `cls`: the leading zeros of the operand xor its sign, less one.
pub(super) fn cls(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    let value = cx.first_result(inst);
    let (defs, parts) = (cx.result_parts(value), cx.use_regs(x));
    let [sign, low, high, count] = std::array::from_fn(|_| cx.int_temp(64));
    cx.emit_imm(rows::SAR_RI.of(64), &[sign, parts[1]], 63);
    cx.emit(rows::XOR_RR.of(64), &[low, parts[0], sign]);
    cx.emit(rows::XOR_RR.of(64), &[high, parts[1], sign]);
    count_of(cx, &[count, defs[1]], [high, low], |cx, def, part| leading_zeros(cx, def, part, 64, 64));
    cx.emit_imm(rows::SUB_RI.of(64), &[defs[0], count], 1);
    Ok(())
}

/// Lowers `popcnt`.
pub(super) fn popcnt(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    let value = cx.first_result(inst);
    let (defs, parts) = (cx.result_parts(value), cx.use_regs(x));
    let [low, high] = std::array::from_fn(|_| cx.int_temp(64));
    count_bits(cx, low, parts[0], 64);
    count_bits(cx, high, parts[1], 64);
    cx.emit(rows::ADD_RR.of(64), &[defs[0], low, high]);
    cx.load_constant(defs[1], 0, 64);
    Ok(())
}

/// Lowers `smin`, `smax`, `umin`, `umax`.
pub(super) fn min_max(cx: &mut Cx<'_, '_>, inst: Inst, cond: IntCC) -> LowerResult {
    let [x, y] = cx.args(inst);
    let value = cx.first_result(inst);
    let (defs, xs, ys) = (cx.result_parts(value), cx.use_regs(x), cx.use_regs(y));
    let cond = compare(cx, cond, x, y);
    for k in 0..defs.len() {
        select_on(cx, rows::CMOV_RR.of(64), cond, defs[k], [xs[k], ys[k]]);
    }
    Ok(())
}

/// Emits the flags of a comparison. Equality is tested by exclusive or. Order subtracts and uses only the flags.
pub(super) fn compare(cx: &mut Cx<'_, '_>, cond: IntCC, x: Value, y: Value) -> Cond {
    let (cond, x, y) = if is_greater(cond) { (cond.swap_args(), y, x) } else { (cond, x, y) };
    let (x, y) = (cx.use_regs(x), cx.use_regs(y));
    if matches!(cond, IntCC::Equal | IntCC::NotEqual) {
        let [low, high, any] = std::array::from_fn(|_| cx.int_temp(64));
        cx.emit(rows::XOR_RR.of(64), &[low, x[0], y[0]]);
        cx.emit(rows::XOR_RR.of(64), &[high, x[1], y[1]]);
        cx.emit(rows::OR_RR.of(64), &[any, low, high]);
    } else {
        let unused = cx.int_temp(64);
        cx.emit(rows::CMP_RR.of(64), &[x[0], y[0]]);
        cx.emit(rows::SBB_RR.of(64), &[unused, x[1], y[1]]);
    }
    Cond::One(int_code(cond))
}

/// Lowers `uadd_overflow`, `sadd_overflow`, `usub_overflow`, `ssub_overflow`.
pub(super) fn add_sub_overflow(cx: &mut Cx<'_, '_>, inst: Inst, rows: [RowId; 2], condition: i32) -> LowerResult {
    shared::wide::halves(cx, inst, rows[0], rows[1])?;
    set_overflow(cx, inst, condition);
    Ok(())
}

/// Lowers `sextend` to i128.
pub(super) fn sextend(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let value = cx.first_result(inst);
    let defs = cx.result_parts(value);
    extend(cx, inst, defs[0], 64)?;
    cx.emit_imm(rows::SAR_RI.of(64), &[defs[1], defs[0]], 63);
    Ok(())
}
