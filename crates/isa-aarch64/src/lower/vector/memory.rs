//! Accesses in big-endian byte order: lanes keep their order, and the bytes of each are reversed in a register.
//!
//! Before: `v1 = load.i32x4 big v0`. After: `ldr q1, [x0]; rev32 v1.16b, v1.16b`.

use super::super::LowerResult;
use super::super::cx::Cx;
use crate::emit::{fill_row, spill_row};
use crate::encoding::Arrangement;
use crate::rows::{self, lanes};
use kingpost_ir::Inst;
use kingpost_mach::LowerBackend;
use kingpost_mach::lower::memory::Store;
use kingpost_mach::lower::{self as shared, is_little};
use kingpost_regalloc::{RegClass, VReg};

/// Lowers `load`.
pub(in crate::lower) fn load(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let (flags, addr, offset) = cx.func.dfg.load_parts(inst);
    let value = cx.first_result(inst);
    let ty = cx.ty(value);
    if is_little(flags) {
        return shared::memory::load(cx, inst);
    }
    let arrangement = cx.lanes(inst, ty)?;
    let address = cx.memory_operand(addr, i64::from(offset), ty.bytes() as u8, inst)?;
    let (def, image) = (cx.result(value), cx.vector_temp());
    cx.emit_mem(fill_row(RegClass::Float, ty.bytes() as u8), &[image], address).set_trap(flags.trap_code());
    reverse(cx, def, arrangement, image);
    Ok(())
}

/// Lowers `store`.
pub(in crate::lower) fn store(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [value, _] = cx.args(inst);
    let ty = cx.ty(value);
    let store = Store::of(cx, inst, ty)?;
    if is_little(store.flags) {
        return store.emit(cx);
    }
    let arrangement = cx.lanes(inst, ty)?;
    let (image, source) = (cx.vector_temp(), cx.use_reg(value));
    reverse(cx, image, arrangement, source);
    let row = spill_row(RegClass::Float, ty.bytes() as u8);
    cx.emit_mem(row, &[image], store.address).set_trap(store.flags.trap_code());
    Ok(())
}

/// Reverses the bytes of each lane.
pub(super) fn reverse(cx: &mut Cx<'_, '_>, def: VReg, arrangement: Arrangement, source: VReg) {
    let family = match arrangement.lane_bits() {
        16 => lanes::REV16,
        32 => lanes::REV32,
        64 => lanes::REV64,
        _ => {
            cx.emit(rows::MOV128_FF, &[def, source]);
            return;
        }
    };
    cx.define(def, family, arrangement.with_lanes_of(8), &[source]);
}
