//! Shifts and rotations of all lanes by one amount, modulo the width of a lane. The CPU does not take amounts modulo
//! the width, and has neither shifts of bytes nor signed right shifts of 64 bits.
//!
//! Before: `v2 = sshr.i64x2 v0, v1`. After: `psrlq` of the value and of its sign bit, `pxor`, `psubq`.

use super::{LowerResult, repeated, signs};
use crate::lower::cx::Cx;
use crate::rows;
use kingpost_ir::{Inst, Value};
use kingpost_mach::{Family, LowerBackend};
use kingpost_regalloc::VReg;

/// Direction of a shift or rotation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::lower) enum Way {
    Left,
    Right,
}

impl Way {
    /// Returns the rows with an amount in a register, and with an immediate.
    fn rows(self) -> (Family, Family) {
        match self {
            Way::Left => (rows::PSLL, rows::PSLL_RI),
            Way::Right => (rows::PSRL, rows::PSRL_RI),
        }
    }

    fn other(self) -> Way {
        match self {
            Way::Left => Way::Right,
            Way::Right => Way::Left,
        }
    }
}

/// An amount, from 0 to the width of a lane.
#[derive(Clone, Copy)]
enum Amount {
    Constant(i32),
    /// In the low 64 bits of a float register.
    Register(VReg),
}

impl Amount {
    /// Returns the amount `value` of a shift of lanes of `bits` bits.
    fn of(cx: &mut Cx<'_, '_>, value: Value, bits: u32) -> Amount {
        match cx.constant(value) {
            Some(constant) => Amount::Constant((constant & u64::from(bits - 1)) as i32),
            None => {
                let masked = Amount::masked(cx, value, bits);
                Amount::from_int(cx, masked)
            }
        }
    }

    fn masked(cx: &mut Cx<'_, '_>, value: Value, bits: u32) -> VReg {
        let value = cx.use_regs(value)[0];
        cx.masked(value, bits as i32 - 1)
    }

    fn from_int(cx: &mut Cx<'_, '_>, amount: VReg) -> Amount {
        let register = cx.float_temp(128);
        cx.emit(rows::MOV_FR.of(32), &[register, amount]);
        Amount::Register(register)
    }
}

/// Sets `def` to `x`, in lanes of 16 bits or more, shifted by `amount` with rows `by_register` or `by_immediate`.
fn shift_by(
    cx: &mut Cx<'_, '_>,
    (by_register, by_immediate): (Family, Family),
    def: VReg,
    bits: u32,
    x: VReg,
    amount: Amount,
) {
    match amount {
        Amount::Constant(n) => cx.emit_imm(by_immediate.of(bits), &[def, x], n),
        Amount::Register(n) => cx.emit(by_register.of(bits), &[def, x, n]),
    };
}

/// Lowers `ishl`, `ushr`.
pub(in crate::lower) fn logical(cx: &mut Cx<'_, '_>, inst: Inst, way: Way) -> LowerResult {
    let [x, amount] = cx.args(inst);
    let bits = cx.lane_bits(x);
    let value = cx.first_result(inst);
    let (def, x) = (cx.result(value), cx.use_reg(x));
    let amount = Amount::of(cx, amount, bits);
    shift(cx, way, def, bits, x, amount);
    Ok(())
}

/// Sets `def` to `x` shifted by `amount`, with zeros shifted in.
fn shift(cx: &mut Cx<'_, '_>, way: Way, def: VReg, bits: u32, x: VReg, amount: Amount) {
    if bits > 8 {
        return shift_by(cx, way.rows(), def, bits, x, amount);
    }
    // Bytes are shifted in pairs. The bits that cross from the neighbor are cleared, before a left shift and after a
    // right shift.
    if let Amount::Constant(n) = amount {
        let shifted = cx.vector_temp();
        shift_by(cx, way.rows(), shifted, 16, x, amount);
        let mask = if way == Way::Left { 0xff << n } else { 0xff >> n };
        cx.emit_with(rows::ANDPS, &[def, shifted], repeated(mask, 8));
        return;
    }
    let mask = low_bits_kept(cx, amount);
    if way == Way::Left {
        let kept = cx.make(rows::ANDPS, &[x, mask]);
        shift_by(cx, way.rows(), def, 16, kept, amount);
    } else {
        let shifted = cx.vector_temp();
        shift_by(cx, way.rows(), shifted, 16, x, amount);
        cx.emit(rows::ANDPS, &[def, shifted, mask]);
    }
}

/// Returns bytes of ones shifted to the right by `amount`.
fn low_bits_kept(cx: &mut Cx<'_, '_>, amount: Amount) -> VReg {
    let (ones, shifted) = (cx.vector(u128::MAX), cx.vector_temp());
    shift_by(cx, Way::Right.rows(), shifted, 16, ones, amount);
    let bytes = cx.make_imm(rows::PSRL_RI.of(16), &[shifted], 8);
    cx.make(rows::PACKUSWB, &[bytes, bytes])
}

/// Lowers `sshr`.
pub(in crate::lower) fn arithmetic(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [x, amount] = cx.args(inst);
    let bits = cx.lane_bits(x);
    let value = cx.first_result(inst);
    let (def, source) = (cx.result(value), cx.use_reg(x));
    match (bits, cx.constant(amount)) {
        (8, None) => {
            // Bytes are put into the upper halves of 16 bits, shifted by 8 more, and packed again.
            let amount = Amount::masked(cx, amount, bits);
            let more = cx.int_temp(32);
            cx.emit_imm(rows::ADD_RI.of(32), &[more, amount], 8);
            let amount = Amount::from_int(cx, more);
            let [low, high] = [rows::PUNPCKL, rows::PUNPCKH].map(|half| {
                let (wide, shifted) = (cx.make(half.of(8), &[source, source]), cx.vector_temp());
                shift_by(cx, (rows::PSRA, rows::PSRA_RI), shifted, 16, wide, amount);
                shifted
            });
            cx.emit(rows::PACKSSWB, &[def, low, high]);
        }
        (16 | 32, _) => {
            let amount = Amount::of(cx, amount, bits);
            shift_by(cx, (rows::PSRA, rows::PSRA_RI), def, bits, source, amount);
        }
        (64, Some(63)) => {
            let signs = cx.make_imm(rows::PSRA_RI.of(32), &[source], 31);
            cx.emit_imm(rows::PSHUFD, &[def, signs], 0xf5);
        }
        _ => {
            // Flipping and subtracting the sign bit at its shifted position extends it.
            let amount = Amount::of(cx, amount, bits);
            let shifted = cx.vector_temp();
            shift(cx, Way::Right, shifted, bits, source, amount);
            let sign = match amount {
                Amount::Constant(n) => cx.vector(repeated(1 << (bits as i32 - 1 - n), bits)),
                Amount::Register(_) => {
                    let (sign, moved) = (cx.vector(signs(bits)), cx.vector_temp());
                    shift(cx, Way::Right, moved, bits, sign, amount);
                    moved
                }
            };
            let flipped = cx.make(rows::XORPS, &[shifted, sign]);
            cx.emit(rows::PSUB.of(bits), &[def, flipped, sign]);
        }
    }
    Ok(())
}

/// Lowers `rotl`, `rotr`: a shift in one direction, and one in the other direction by the width less the amount.
pub(in crate::lower) fn rotate(cx: &mut Cx<'_, '_>, inst: Inst, way: Way) -> LowerResult {
    let [x, amount] = cx.args(inst);
    let bits = cx.lane_bits(x);
    let value = cx.first_result(inst);
    let (def, x) = (cx.result(value), cx.use_reg(x));
    let [there, back] = match cx.constant(amount) {
        Some(constant) => {
            let n = (constant & u64::from(bits - 1)) as i32;
            [Amount::Constant(n), Amount::Constant(bits as i32 - n)]
        }
        None => {
            let amount = Amount::masked(cx, amount, bits);
            let (width, rest) = (cx.constant_temp(u64::from(bits), 32), cx.int_temp(32));
            cx.emit(rows::SUB_RR.of(32), &[rest, width, amount]);
            [amount, rest].map(|amount| Amount::from_int(cx, amount))
        }
    };
    let (first, second) = (cx.vector_temp(), cx.vector_temp());
    shift(cx, way, first, bits, x, there);
    shift(cx, way.other(), second, bits, x, back);
    cx.emit(rows::ORPS, &[def, first, second]);
    Ok(())
}
