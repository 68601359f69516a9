//! Counting bits and changing their order, with the CPU's instructions for it or without.
//!
//! Before: `v1 = ctz v0`. After: `mov t, 32; bsf u, v0; cmove u, t`, or `tzcnt v1, v0`.
//!
//! Narrow integers are counted in 32 bits, with their upper bits set so that they do not change the count.

use super::LowerResult;
use super::cx::Cx;
use crate::regs::CC_E;
use crate::rows;
use kingpost_ir::Inst;
use kingpost_mach::lower::working_bits;
use kingpost_mach::{LowerBackend, RowId};
use kingpost_regalloc::VReg;

/// Lowers `bitrev`.
pub(super) fn bitrev(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [def, source] = cx.registers(inst);
    reverse_bits(cx, def, source, cx.result_ty(inst).bits());
    Ok(())
}

/// Sets `def` to the bits of `source` in reverse: exchanges neighboring bits, pairs and nibbles, then reverses the
/// bytes.
pub(super) fn reverse_bits(cx: &mut Cx<'_, '_>, def: VReg, source: VReg, bits: u32) {
    let mut at = source;
    for (distance, mask) in [(1, 0x5555_5555_5555_5555), (2, 0x3333_3333_3333_3333), (4, 0x0f0f_0f0f_0f0f_0f0f)] {
        at = exchange(cx, at, bits.max(32), distance, mask);
    }
    cx.swap_bytes(def, at, bits);
}

/// Returns `((x >> distance) & mask) | ((x & mask) << distance)` in a new register.
fn exchange(cx: &mut Cx<'_, '_>, x: VReg, bits: u32, distance: i32, mask: u64) -> VReg {
    let [right, left, def] = std::array::from_fn(|_| cx.int_temp(bits));
    cx.emit_imm(rows::SHR_RI.of(bits), &[right, x], distance);
    let [upper, lower] = masked(cx, [right, x], mask, bits);
    cx.emit_imm(rows::SHL_RI.of(bits), &[left, lower], distance);
    cx.emit(rows::OR_RR.of(bits), &[def, upper, left]);
    def
}

/// Returns the conjunction of each of `values` with `mask`, which is an immediate in 32 bits.
fn masked<const N: usize>(cx: &mut Cx<'_, '_>, values: [VReg; N], mask: u64, bits: u32) -> [VReg; N] {
    if bits == 32 {
        return values.map(|value| cx.masked(value, mask as u32 as i32));
    }
    let mask = cx.constant_temp(mask, bits);
    values.map(|value| {
        let masked = cx.int_temp(bits);
        cx.emit(rows::AND_RR.of(64), &[masked, value, mask]);
        masked
    })
}

/// Lowers `clz`.
pub(super) fn clz(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    let ty = cx.ty(x);
    let value = cx.first_result(inst);
    let (def, source) = (cx.result(value), cx.use_zero_extended(x));
    leading_zeros(cx, def, source, working_bits(ty), ty.bits() as i32);
    Ok(())
}

/// Sets `def` to the number of leading zeros of `source`, minus the number of bits above a value of `value_bits` bits.
pub(super) fn leading_zeros(cx: &mut Cx<'_, '_>, def: VReg, source: VReg, bits: u32, value_bits: i32) {
    if cx.isa.flags.has_lzcnt {
        let row = rows::LZCNT_RR.of(bits);
        let surplus = bits as i32 - value_bits;
        if surplus == 0 {
            cx.emit(row, &[def, source]);
        } else {
            let count = cx.int_temp(bits);
            cx.emit(row, &[count, source]);
            cx.emit_imm(rows::SUB_RI.of(bits), &[def, count], surplus);
        }
        return;
    }
    // The number of the highest bit, or -1 if no bit is set.
    let none = cx.constant_temp(u64::MAX, bits);
    let [found, highest] = std::array::from_fn(|_| cx.int_temp(bits));
    let top = cx.constant_temp(value_bits as u64 - 1, bits);
    cx.emit(rows::BSR_RR.of(bits), &[found, source]);
    cx.emit_imm(rows::CMOV_RR.of(bits), &[highest, found, none], CC_E);
    cx.emit(rows::SUB_RR.of(bits), &[def, top, highest]);
}

/// Lowers `cls`: the leading zeros of the operand xor its sign, less one.
pub(super) fn cls(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    let ty = cx.ty(x);
    let value = cx.first_result(inst);
    let bits = working_bits(ty);
    let (def, source) = (cx.result(value), cx.use_sign_extended(x));
    let [sign, magnitude, count] = std::array::from_fn(|_| cx.int_temp(bits));
    cx.emit_imm(rows::SAR_RI.of(bits), &[sign, source], bits as i32 - 1);
    cx.emit(rows::XOR_RR.of(bits), &[magnitude, source, sign]);
    leading_zeros(cx, count, magnitude, bits, ty.bits() as i32);
    cx.emit_imm(rows::SUB_RI.of(bits), &[def, count], 1);
    Ok(())
}

/// Lowers `ctz`. A bit that is set just above a narrow value ends the count.
pub(super) fn ctz(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    let ty = cx.ty(x);
    let value = cx.first_result(inst);
    let (def, mut source) = (cx.result(value), cx.use_reg(x));
    if ty.bits() < 32 {
        let guarded = cx.int_temp(32);
        cx.emit_imm(rows::OR_RI.of(32), &[guarded, source], 1 << ty.bits());
        source = guarded;
    }
    trailing_zeros(cx, def, source, working_bits(ty));
    Ok(())
}

/// Sets `def` to the number of trailing zeros of `source`.
pub(super) fn trailing_zeros(cx: &mut Cx<'_, '_>, def: VReg, source: VReg, bits: u32) {
    if cx.isa.flags.has_bmi1 {
        cx.emit(rows::TZCNT_RR.of(bits), &[def, source]);
    } else {
        let width = cx.constant_temp(u64::from(bits), bits);
        let found = cx.int_temp(bits);
        cx.emit(rows::BSF_RR.of(bits), &[found, source]);
        cx.emit_imm(rows::CMOV_RR.of(bits), &[def, found, width], CC_E);
    }
}

/// Lowers `popcnt`.
pub(super) fn popcnt(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x] = cx.args(inst);
    let ty = cx.ty(x);
    let value = cx.first_result(inst);
    let (def, source) = (cx.result(value), cx.use_zero_extended(x));
    count_bits(cx, def, source, working_bits(ty));
    Ok(())
}

/// Sets `def` to the number of one bits of `x`: counted in pairs, in nibbles, in bytes, and added up by a
/// multiplication.
pub(super) fn count_bits(cx: &mut Cx<'_, '_>, def: VReg, x: VReg, bits: u32) {
    if cx.isa.flags.has_popcnt {
        cx.emit(rows::POPCNT_RR.of(bits), &[def, x]);
        return;
    }
    let rows = Rows::of(bits);
    let upper = rows.shift(cx, x, 1);
    let [upper] = masked(cx, [upper], 0x5555_5555_5555_5555, bits);
    let pairs = cx.int_temp(bits);
    cx.emit(rows.sub, &[pairs, x, upper]);
    let upper = rows.shift(cx, pairs, 2);
    let [upper, lower] = masked(cx, [upper, pairs], 0x3333_3333_3333_3333, bits);
    let [nibbles, sum, total] = std::array::from_fn(|_| cx.int_temp(bits));
    cx.emit(rows.add, &[nibbles, upper, lower]);
    let upper = rows.shift(cx, nibbles, 4);
    cx.emit(rows.add, &[sum, upper, nibbles]);
    let [bytes] = masked(cx, [sum], 0x0f0f_0f0f_0f0f_0f0f, bits);
    let ones = cx.constant_temp(0x0101_0101_0101_0101, bits);
    cx.emit(rows.mul, &[total, bytes, ones]);
    cx.emit_imm(rows.shr, &[def, total], bits as i32 - 8);
}

/// Rows of one width that counting bits needs.
struct Rows {
    bits: u32,
    shr: RowId,
    add: RowId,
    sub: RowId,
    mul: RowId,
}

impl Rows {
    fn of(bits: u32) -> Rows {
        Rows {
            bits,
            shr: rows::SHR_RI.of(bits),
            add: rows::ADD_RR.of(bits),
            sub: rows::SUB_RR.of(bits),
            mul: rows::IMUL_RR.of(bits),
        }
    }

    fn shift(&self, cx: &mut Cx<'_, '_>, x: VReg, distance: i32) -> VReg {
        let shifted = cx.int_temp(self.bits);
        cx.emit_imm(self.shr, &[shifted, x], distance);
        shifted
    }
}
