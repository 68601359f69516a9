//! Lanes of twice the width.
//!
//! Before: `v2 = uwiden_high.i32x4 v0`. After: `punpckhdq v0, zeros`.

use super::compare::sign_mask;
use super::memory::reverse;
use super::{LowerResult, in_memory};
use crate::lower::cx::Cx;
use crate::rows;
use kingpost_ir::Inst;
use kingpost_mach::lower::is_little;
use kingpost_mach::{Family, LowerBackend};
use kingpost_regalloc::VReg;

/// Half of the lanes of a vector.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::lower) enum Half {
    Low,
    High,
}

/// Lowers `swiden_low` and similar opcodes.
pub(in crate::lower) fn widen(cx: &mut Cx<'_, '_>, inst: Inst, half: Half, signed: bool) -> LowerResult {
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

/// Sets `def` to one of two lanes of `bits` bits as an integer of twice the width.
fn widen_to_scalar(cx: &mut Cx<'_, '_>, def: VReg, x: VReg, bits: u32, half: Half, signed: bool) -> LowerResult {
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

/// Sets `def` to half of the lanes of `x`, which have `bits` bits.
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

/// Lowers `uload8x8` and similar opcodes, from lanes of `bits` bits.
pub(in crate::lower) fn load_widened(cx: &mut Cx<'_, '_>, inst: Inst, bits: u32, signed: bool) -> LowerResult {
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
