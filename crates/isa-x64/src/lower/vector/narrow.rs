//! Lanes of half and of twice the width.
//!
//! Before: `v2 = snarrow.i32x4 v0, v1`. After: `packssdw v2, v1`.

use super::arith::{joined, limited, sign_mask};
use super::compare::{greater, select_by_mask};
use super::memory::reverse;
use super::{Lowered, convert, in_memory, repeated};
use crate::lower::cx::Cx;
use crate::rows;
use kingpost_ir::{Inst, Opcode};
use kingpost_mach::lower::is_little;
use kingpost_mach::{Family, Machine};
use kingpost_regalloc::VReg;

/// The operands of a narrowing, one behind the other where each has half a register or less.
fn operands(cx: &mut Cx<'_, '_>, inst: Inst) -> (VReg, u32, [VReg; 2]) {
    let ty = cx.ty(cx.args::<2>(inst)[0]);
    let (def, [x, y]) = cx.binary(inst);
    if ty.bits() == 128 {
        return (def, ty.lane_bits(), [x, y]);
    }
    let joined = joined(cx, ty.bits(), [x, y]);
    (def, ty.lane_bits(), [joined, joined])
}

/// `snarrow`.
pub(in crate::lower) fn snarrow(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    if convert::to_low_half(cx, inst, Opcode::FcvtToSintSat) {
        return Ok(());
    }
    let (def, bits, [x, y]) = operands(cx, inst);
    match bits {
        16 => {
            cx.emit(rows::PACKSSWB, &[def, x, y]);
        }
        32 => {
            cx.emit(rows::PACKSSDW, &[def, x, y]);
        }
        _ => {
            let bounds = [i32::MAX, i32::MIN].map(|bound| cx.vector(repeated(i64::from(bound) as u64, 64)));
            let [x, y] = [x, y].map(|v| clamped(cx, v, bounds));
            low_halves(cx, def, [x, y]);
        }
    }
    Ok(())
}

/// Lanes of 64 bits between two bounds, the greater one first.
fn clamped(cx: &mut Cx<'_, '_>, x: VReg, [most, least]: [VReg; 2]) -> VReg {
    let [above, capped, below, within] = std::array::from_fn(|_| cx.vector_temp());
    greater(cx, above, 64, [x, most]);
    select_by_mask(cx, capped, above, [most, x]);
    greater(cx, below, 64, [least, capped]);
    select_by_mask(cx, within, below, [least, capped]);
    within
}

/// `unarrow`: from signed lanes.
pub(in crate::lower) fn unarrow(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    let (def, bits, [x, y]) = operands(cx, inst);
    match bits {
        16 => {
            cx.emit(rows::PACKUSWB, &[def, x, y]);
        }
        32 => unsigned_halves(cx, def, [x, y]),
        _ => {
            let [x, y] = [x, y].map(|v| {
                let positive = without_negatives(cx, bits, v);
                limited(cx, bits, positive, u32::MAX.into())
            });
            low_halves(cx, def, [x, y]);
        }
    }
    Ok(())
}

/// Lanes of 32 bits clamped to 16 bits without sign.
pub(super) fn unsigned_halves(cx: &mut Cx<'_, '_>, def: VReg, operands: [VReg; 2]) {
    if cx.can(rows::PACKUSDW) {
        cx.emit(rows::PACKUSDW, &[def, operands[0], operands[1]]);
        return;
    }
    let positive = operands.map(|v| without_negatives(cx, 32, v));
    pack_words(cx, def, positive);
}

/// `uunarrow`: from unsigned lanes.
pub(in crate::lower) fn uunarrow(cx: &mut Cx<'_, '_>, inst: Inst) -> Lowered {
    if convert::to_low_half(cx, inst, Opcode::FcvtToUintSat) {
        return Ok(());
    }
    let (def, bits, operands) = operands(cx, inst);
    let [x, y] = operands.map(|v| limited(cx, bits, v, u64::MAX >> (64 - bits / 2)));
    match bits {
        16 => {
            cx.emit(rows::PACKUSWB, &[def, x, y]);
        }
        32 if cx.can(rows::PACKUSDW) => {
            cx.emit(rows::PACKUSDW, &[def, x, y]);
        }
        32 => pack_words(cx, def, [x, y]),
        _ => low_halves(cx, def, [x, y]),
    }
    Ok(())
}

/// Zero for lanes with the top bit set.
pub(super) fn without_negatives(cx: &mut Cx<'_, '_>, bits: u32, x: VReg) -> VReg {
    let negative = sign_mask(cx, bits, x);
    cx.make(rows::ANDNPS, &[negative, x])
}

/// Lanes of 32 bits that are not negative, clamped to 16 bits without sign: as signed ones around zero.
fn pack_words(cx: &mut Cx<'_, '_>, def: VReg, operands: [VReg; 2]) {
    let [x, y] = operands.map(|v| cx.make_with(rows::PSUB.of(32), v, repeated(0x8000, 32)));
    let packed = cx.make(rows::PACKSSDW, &[x, y]);
    cx.emit_with(rows::XORPS, &[def, packed], repeated(0x8000, 16));
}

/// The low halves of lanes of 64 bits.
fn low_halves(cx: &mut Cx<'_, '_>, def: VReg, [x, y]: [VReg; 2]) {
    cx.emit_imm(rows::SHUFPS, &[def, x, y], 0x88);
}

/// Which half of the lanes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::lower) enum Half {
    Low,
    High,
}

/// `swiden_low` and the like.
pub(in crate::lower) fn widen(cx: &mut Cx<'_, '_>, inst: Inst, half: Half, signed: bool) -> Lowered {
    let [x] = cx.args(inst);
    let ty = cx.ty(x);
    let [def, mut source] = cx.registers(inst);
    let mut half = half;
    if cx.result_ty(inst).is_scalar() {
        return widen_to_scalar(cx, def, source, ty.lane_bits(), half, signed);
    }
    if ty.bits() < 128 && half == Half::High {
        source = cx.make_imm(rows::PSRL_RI.of(64), &[source], ty.bits() as i32 / 2);
        half = Half::Low;
    }
    widen_half(cx, def, source, ty.lane_bits(), half, signed);
    Ok(())
}

/// One of two lanes of `bits` bits as an integer of twice the width.
fn widen_to_scalar(cx: &mut Cx<'_, '_>, def: VReg, x: VReg, bits: u32, half: Half, signed: bool) -> Lowered {
    let image = cx.int_temp(2 * bits);
    let width = (2 * bits).max(32);
    cx.emit(rows::MOV_RF.of(width), &[image, x]);
    let mut lane = image;
    if half == Half::High {
        lane = cx.int_temp(2 * bits);
        cx.emit_imm(rows::SHR_RI.of(width), &[lane, image], bits as i32);
    }
    if signed {
        cx.sign_extend(def, lane, bits, 2 * bits);
    } else {
        cx.zero_extend(def, lane, bits);
    }
    Ok(())
}

/// `def` has half of the lanes of `x`, which have `bits` bits.
pub(super) fn widen_half(cx: &mut Cx<'_, '_>, def: VReg, x: VReg, bits: u32, half: Half, signed: bool) {
    let family = if signed { rows::PMOVSX } else { rows::PMOVZX };
    if let (Some(row), Half::Low) = (cx.lane_row(family, bits), half) {
        cx.emit(row, &[def, x]);
        return;
    }
    let unpack: Family = if half == Half::Low { rows::PUNPCKL } else { rows::PUNPCKH };
    if !signed || bits == 32 {
        let upper = if signed { sign_mask(cx, bits, x) } else { cx.vector(0) };
        cx.emit(unpack.of(bits), &[def, x, upper]);
        return;
    }
    let twice = cx.make(unpack.of(bits), &[x, x]);
    cx.emit_imm(rows::PSRA_RI.of(2 * bits), &[def, twice], bits as i32);
}

/// `uload8x8` and the like, from lanes of `bits` bits.
pub(in crate::lower) fn load_widened(cx: &mut Cx<'_, '_>, inst: Inst, bits: u32, signed: bool) -> Lowered {
    let (flags, addr, offset) = cx.func.dfg.load_parts(inst);
    let value = cx.first_result(inst);
    let address = cx.memory_operand(addr, i64::from(offset), 8, inst)?;
    let def = cx.result(value);
    let in_order = is_little(flags) || bits == 8;
    let family = if signed { rows::PMOVSX } else { rows::PMOVZX };
    if let Some(row) = cx.lane_row(family, bits).filter(|_| in_order) {
        cx.emit_mem(in_memory(row), &[def], address).set_trap(flags.trap_code());
        return Ok(());
    }
    let mut half = cx.float_temp(64);
    cx.emit_mem(rows::MOVS_RM.of(64), &[half], address).set_trap(flags.trap_code());
    if !in_order {
        let image = std::mem::replace(&mut half, cx.vector_temp());
        reverse(cx, half, image, bits)?;
    }
    widen_half(cx, def, half, bits, Half::Low, signed);
    Ok(())
}
