//! Integers of 128 bits: two registers, the low half first.
//!
//! Before: `v2 = iadd v0, v1`. After: `adds64_rrr v2l, v0l, v1l; adc64_rrr v2h, v0h, v1h`.

use super::LowerResult;
use super::chain::failing;
use super::condition_codes::int_code;
use super::convert::extend;
use super::cx::{Alu, Cx, Immediates, ShiftRows};
use super::int::select_bits;
use super::overflow::{Op, set_overflow};
use super::shift::count;
use crate::encoding::Arrangement;
use crate::immediates;
use crate::regs::{CC_EQ, CC_NE};
use crate::rows::{self, lanes};
use kingpost_ir::condcodes::IntCC;
use kingpost_ir::{Inst, Opcode, Value};
use kingpost_mach::lower::{self as shared, Cond, is_greater, select_on};
use kingpost_mach::{LowerBackend, RowId};
use kingpost_regalloc::VReg;

/// Lowers `band`, `bor`, `bxor`, half by half.
pub(super) fn bitwise(cx: &mut Cx<'_, '_>, inst: Inst, alu: Alu) -> LowerResult {
    let (x, y, row) = complement_last(cx, alu, cx.args(inst));
    let value = cx.first_result(inst);
    let (defs, x, y) = (cx.result_parts(value), cx.use_regs(x), cx.use_regs(y));
    cx.emit(row, &[defs[0], x[0], y[0]]);
    cx.emit(row, &[defs[1], x[1], y[1]]);
    Ok(())
}

/// Returns the operands of a bitwise operation and its row. If one operand is a complement, the row complements its
/// second operand.
fn complement_last(cx: &Cx<'_, '_>, alu: Alu, [x, y]: [Value; 2]) -> (Value, Value, RowId) {
    if let Immediates::Pattern(Some(complement)) = alu.immediates {
        for (plain, inverted) in [(x, y), (y, x)] {
            if let Some(bnot) = cx.def_as(inverted, Opcode::Bnot).filter(|_| cx.is_single_use(inverted)) {
                let [source] = cx.args(bnot);
                return (plain, source, complement.of(64));
            }
        }
    }
    (x, y, alu.rr.of(64))
}

/// Lowers `bitselect`, half by half.
pub(super) fn bitselect(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [c, x, y] = cx.args(inst);
    let value = cx.first_result(inst);
    let (defs, c, x, y) = (cx.result_parts(value), cx.use_regs(c), cx.use_regs(x), cx.use_regs(y));
    for k in 0..defs.len() {
        select_bits(cx, 64, defs[k], [c[k], x[k], y[k]]);
    }
    Ok(())
}

/// Lowers `imul`: the full product of the low halves, with both mixed products added to its upper half.
pub(super) fn imul(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x, y] = cx.args(inst);
    let value = cx.first_result(inst);
    let (defs, x, y) = (cx.result_parts(value), cx.use_regs(x), cx.use_regs(y));
    let [high, sum] = std::array::from_fn(|_| cx.int_temp(64));
    cx.emit(rows::UMULH_RRR, &[high, x[0], y[0]]);
    cx.emit(rows::MADD_RRRR.of(64), &[sum, x[0], y[1], high]);
    cx.emit(rows::MADD_RRRR.of(64), &[defs[1], x[1], y[0], sum]);
    cx.emit(rows::MUL_RRR.of(64), &[defs[0], x[0], y[0]]);
    Ok(())
}

/// Registers of an i128 shift: the halves of the operand, the amount, and 63 less the amount.
struct ShiftRegs {
    low: VReg,
    high: VReg,
    amount: VReg,
    rest: VReg,
}

impl ShiftRegs {
    fn new(cx: &mut Cx<'_, '_>, x: Value, amount: Value) -> ShiftRegs {
        let parts = cx.use_regs(x);
        let amount = count(cx, amount, 127);
        let rest = cx.int_temp(32);
        cx.emit(rows::MVN_RR.of(32), &[rest, amount]);
        ShiftRegs { low: parts[0], high: parts[1], amount, rest }
    }

    /// Returns `near` shifted by the amount modulo 64, with bits of `far` shifted in.
    fn double(&self, cx: &mut Cx<'_, '_>, left: bool, near: VReg, far: VReg) -> VReg {
        let [moved, one, rest, both] = std::array::from_fn(|_| cx.int_temp(64));
        let (towards, back) = if left { (ShiftRows::LSL, ShiftRows::LSR) } else { (ShiftRows::LSR, ShiftRows::LSL) };
        cx.emit(towards.rr.of(64), &[moved, near, self.amount]);
        // Shift by 64 less the amount in two steps, so that an amount of 0 leaves zero.
        cx.emit_imm(back.ri.of(64), &[one, far], 1);
        cx.emit(back.rr.of(64), &[rest, one, self.rest]);
        cx.emit(Alu::OR.rr.of(64), &[both, moved, rest]);
        both
    }

    /// Emits the flags that tell whether the amount is 64 or more.
    fn test(&self, cx: &mut Cx<'_, '_>) {
        let mask = immediates::logical(64, 32).expect("one bit is a pattern");
        cx.emit_imm(rows::TST_RI.of(32), &[self.amount], mask);
    }
}

/// Lowers `ishl`, `ushr`, `sshr`: shifts both halves by the amount modulo 64, then exchanges them if the amount is 64
/// or more.
pub(super) fn shift(cx: &mut Cx<'_, '_>, inst: Inst, op: ShiftRows) -> LowerResult {
    let [x, amount] = cx.args(inst);
    let value = cx.first_result(inst);
    let defs = cx.result_parts(value);
    let wide = ShiftRegs::new(cx, x, amount);
    let left = op == ShiftRows::LSL;
    // Bits move from `far` into `near`.
    let (near, far) = if left { (wide.high, wide.low) } else { (wide.low, wide.high) };
    let mixed = wide.double(cx, left, near, far);
    let shifted = cx.int_temp(64);
    cx.emit(op.rr.of(64), &[shifted, far, wide.amount]);
    let (near_def, far_def) = if left { (defs[1], defs[0]) } else { (defs[0], defs[1]) };
    if op == ShiftRows::ASR {
        let sign = cx.int_temp(64);
        cx.emit_imm(rows::ASR_RRI.of(64), &[sign, wide.high], 63);
        wide.test(cx);
        cx.emit_imm(rows::CSEL_RRR.of(64), &[far_def, sign, shifted], CC_NE);
    } else {
        wide.test(cx);
        cx.emit_imm(rows::CSEL_RZR.of(64), &[far_def, shifted], CC_NE);
    }
    cx.emit_imm(rows::CSEL_RRR.of(64), &[near_def, shifted, mixed], CC_NE);
    Ok(())
}

/// Lowers `rotl`, `rotr`: exchanges the halves if the amount is 64 or more, then shifts each into the other.
pub(super) fn rotate(cx: &mut Cx<'_, '_>, inst: Inst, left: bool) -> LowerResult {
    let [x, amount] = cx.args(inst);
    let value = cx.first_result(inst);
    let defs = cx.result_parts(value);
    let wide = ShiftRegs::new(cx, x, amount);
    let (low, high) = (cx.int_temp(64), cx.int_temp(64));
    wide.test(cx);
    cx.emit_imm(rows::CSEL_RRR.of(64), &[low, wide.high, wide.low], CC_NE);
    cx.emit_imm(rows::CSEL_RRR.of(64), &[high, wide.low, wide.high], CC_NE);
    for (def, near, far) in [(defs[0], low, high), (defs[1], high, low)] {
        let both = wide.double(cx, left, near, far);
        cx.emit(rows::MOV_RR.of(64), &[def, both]);
    }
    Ok(())
}

/// Lowers `bitrev`: reverses and exchanges the halves.
pub(super) fn bitrev(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    let value = cx.first_result(inst);
    let (defs, parts) = (cx.result_parts(value), cx.use_regs(x));
    cx.emit(rows::RBIT_RR.of(64), &[defs[0], parts[1]]);
    cx.emit(rows::RBIT_RR.of(64), &[defs[1], parts[0]]);
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
    cx.add_constant(more, far, 64, 64);
    cx.load_constant(defs[1], 0, 64);
    cx.compare_constant(first, 0, 64);
    cx.emit_imm(rows::CSEL_RRR.of(64), &[defs[0], near, more], CC_NE);
}

fn leading_zeros(cx: &mut Cx<'_, '_>, def: VReg, source: VReg) {
    cx.emit(rows::CLZ_RR.of(64), &[def, source]);
}

fn trailing_zeros(cx: &mut Cx<'_, '_>, def: VReg, source: VReg) {
    let reversed = cx.int_temp(64);
    cx.emit(rows::RBIT_RR.of(64), &[reversed, source]);
    cx.emit(rows::CLZ_RR.of(64), &[def, reversed]);
}

/// Lowers `clz`.
pub(super) fn clz(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    let value = cx.first_result(inst);
    let (defs, parts) = (cx.result_parts(value), cx.use_regs(x));
    count_of(cx, &defs, [parts[1], parts[0]], leading_zeros);
    Ok(())
}

/// Lowers `ctz`.
pub(super) fn ctz(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    let value = cx.first_result(inst);
    let (defs, parts) = (cx.result_parts(value), cx.use_regs(x));
    count_of(cx, &defs, [parts[0], parts[1]], trailing_zeros);
    Ok(())
}

/// Lowers `cls`: the leading zeros of the operand xor its sign, less one.
pub(super) fn cls(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    let value = cx.first_result(inst);
    let (defs, parts) = (cx.result_parts(value), cx.use_regs(x));
    let [sign, low, high, count] = std::array::from_fn(|_| cx.int_temp(64));
    cx.emit_imm(rows::ASR_RRI.of(64), &[sign, parts[1]], 63);
    cx.emit(rows::EOR_RRR.of(64), &[low, parts[0], sign]);
    cx.emit(rows::EOR_RRR.of(64), &[high, parts[1], sign]);
    count_of(cx, &[count, defs[1]], [high, low], leading_zeros);
    cx.emit_imm(rows::SUB_RRI.of(64), &[defs[0], count], 1);
    Ok(())
}

/// Lowers `popcnt`: the bits of each byte are counted in a vector register, and the counts added up there.
pub(super) fn popcnt(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    let value = cx.first_result(inst);
    let (defs, parts) = (cx.result_parts(value), cx.use_regs(x));
    let [low, image, counts, total] = std::array::from_fn(|_| cx.float_temp(128));
    cx.emit(rows::FMOV_FR.of(64), &[low, parts[0]]);
    cx.emit(rows::INS64_HIGH_FR, &[image, low, parts[1]]);
    let bytes = Arrangement::new(8, true);
    cx.emit(lanes::CNT.of(bytes), &[counts, image]);
    cx.emit(lanes::ADDV.of(bytes), &[total, counts]);
    cx.emit(rows::FMOV_RF.of(32), &[defs[0], total]);
    cx.load_constant(defs[1], 0, 64);
    Ok(())
}

/// Lowers `select` and `select_spectre_guard`, half by half.
pub(super) fn select(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [c, x, y] = cx.args(inst);
    let value = cx.first_result(inst);
    let (defs, x, y) = (cx.result_parts(value), cx.use_regs(x), cx.use_regs(y));
    let cond = cx.condition(c);
    for k in 0..defs.len() {
        select_on(cx, rows::CSEL_RRR.of(64), cond, defs[k], [x[k], y[k]]);
    }
    Ok(())
}

/// Lowers `smin`, `smax`, `umin`, `umax`.
pub(super) fn min_max(cx: &mut Cx<'_, '_>, inst: Inst, cond: IntCC) -> LowerResult {
    let [x, y] = cx.args(inst);
    let value = cx.first_result(inst);
    let (defs, xs, ys) = (cx.result_parts(value), cx.use_regs(x), cx.use_regs(y));
    let cond = compare(cx, cond, x, y);
    for k in 0..defs.len() {
        select_on(cx, rows::CSEL_RRR.of(64), cond, defs[k], [xs[k], ys[k]]);
    }
    Ok(())
}

/// Emits the flags of a comparison. Equality compares the upper halves if the lower ones are equal. Order subtracts
/// and uses only the flags.
pub(super) fn compare(cx: &mut Cx<'_, '_>, cond: IntCC, x: Value, y: Value) -> Cond {
    let (cond, x, y) = if is_greater(cond) { (cond.swap_args(), y, x) } else { (cond, x, y) };
    let (x, y) = (cx.use_regs(x), cx.use_regs(y));
    cx.emit(rows::CMP_RR.of(64), &[x[0], y[0]]);
    if matches!(cond, IntCC::Equal | IntCC::NotEqual) {
        let imm = immediates::compare(CC_EQ, failing(CC_EQ), 0);
        cx.emit_imm(rows::CCMP_RR.of(64), &[x[1], y[1]], imm);
    } else {
        let unused = cx.int_temp(64);
        cx.emit(rows::SBCS_RRR.of(64), &[unused, x[1], y[1]]);
    }
    Cond::One(int_code(cond))
}

/// Lowers `uadd_overflow`, `sadd_overflow`, `usub_overflow`, `ssub_overflow`.
pub(super) fn add_sub_overflow(cx: &mut Cx<'_, '_>, inst: Inst, op: Op) -> LowerResult {
    shared::wide::halves(cx, inst, op.alu().rr.of(64), op.next(64))?;
    set_overflow(cx, inst, op.overflow());
    Ok(())
}

/// Lowers `sextend` to i128.
pub(super) fn sextend(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let value = cx.first_result(inst);
    let defs = cx.result_parts(value);
    extend(cx, inst, defs[0], 64)?;
    cx.emit_imm(rows::ASR_RRI.of(64), &[defs[1], defs[0]], 63);
    Ok(())
}
