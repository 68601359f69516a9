//! Accesses in big-endian byte order: lanes keep their order, and the bytes of each are reversed in a register.
//!
//! Before: `v1 = load.i32x4 big v0`. After: `movups v1, [v0]; pshufb v1, [.LC]`.

use super::LowerResult;
use super::shuffle::{Order, permute};
use crate::edit::spill_row;
use crate::lower::cx::Cx;
use crate::rows;
use kingpost_ir::Inst;
use kingpost_ir::memflags::Endianness;
use kingpost_mach::LowerBackend;
use kingpost_mach::lower::memory::{Store, load_into};
use kingpost_mach::lower::{self as shared, is_float_reg, is_little};
use kingpost_regalloc::{RegClass, VReg};

/// Lowers `load`.
pub(in crate::lower) fn load(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let (flags, addr, offset) = cx.func.dfg.load_parts(inst);
    let value = cx.first_result(inst);
    let ty = cx.ty(value);
    if is_little(flags) || !is_float_reg(ty) {
        return shared::memory::load(cx, inst);
    }
    let address = cx.memory_operand(addr, i64::from(offset), ty.bytes() as u8, inst)?;
    let def = cx.result(value);
    let image = if ty.lane_bits() == 8 { def } else { cx.vector_temp() };
    load_into(cx, image, ty, address, flags.trap_code()).ok_or_else(|| cx.unsupported(inst))?;
    if image == def { Ok(()) } else { reverse(cx, def, image, ty.lane_bits()) }
}

/// Lowers `store`.
pub(in crate::lower) fn store(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [value, _] = cx.args(inst);
    let ty = cx.ty(value);
    let mut store = Store::of(cx, inst, ty)?;
    if is_little(store.flags) || !is_float_reg(ty) || ty.lane_bits() == 8 {
        store.flags = store.flags.with_endianness(Endianness::Little);
        return store.emit(cx);
    }
    let (image, source) = (cx.vector_temp(), cx.use_reg(value));
    reverse(cx, image, source, ty.lane_bits())?;
    let row = spill_row(RegClass::Float, ty.bytes() as u8);
    cx.emit_mem(row, &[image], store.address).set_trap(store.flags.trap_code());
    Ok(())
}

/// Reverses the bytes of each lane of `bits` bits, at least 16.
pub(super) fn reverse(cx: &mut Cx<'_, '_>, def: VReg, x: VReg, bits: u32) -> LowerResult {
    if cx.can(rows::PSHUFB) {
        let order: Order = std::array::from_fn(|k| (k as u8) ^ (bits / 8 - 1) as u8);
        return permute(cx, def, x, order);
    }
    let swapped = if bits == 16 { def } else { cx.vector_temp() };
    let [up, down] = [rows::PSLL_RI, rows::PSRL_RI].map(|family| cx.make_imm(family.of(16), &[x], 8));
    cx.emit(rows::ORPS, &[swapped, up, down]);
    if bits > 16 {
        // Reverse the halves of 16 bits in each lane.
        let order = if bits == 32 { 0b10_11_00_01 } else { 0b00_01_10_11 };
        let low = cx.make_imm(rows::PSHUFLW, &[swapped], order);
        cx.emit_imm(rows::PSHUFHW, &[def, low], order);
    }
    Ok(())
}
