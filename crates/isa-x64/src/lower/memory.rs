//! Stores of constants and of lanes, which need no register of their own.
//!
//! Before: `v1 = iconst.i32 7; store v1, v0+8`. After: `mov32_mi [v0 + 8], 7`.

use super::cx::Cx;
use super::vector::lanes;
use super::{LowerResult, tiles};
use crate::rows;
use kingpost_ir::{Inst, Type};
use kingpost_mach::lower::is_little;
use kingpost_mach::lower::memory::Store;

/// Lowers `store` of an integer or float.
pub(super) fn store(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [value, _] = cx.args(inst);
    store_as(cx, inst, cx.ty(value))
}

/// Stores the low part of an integer that has type `ty`: `store` and the narrowing stores.
pub(super) fn store_as(cx: &mut Cx<'_, '_>, inst: Inst, ty: Type) -> LowerResult {
    let store = Store::of(cx, inst, ty)?;
    if let Some((row, lane, vector)) =
        lanes::stored_lane(cx, store.value).filter(|_| is_little(store.flags) && cx.ty(store.value) == ty)
    {
        cx.count_tile(tiles::STORED_LANE);
        let vector = cx.use_reg(vector);
        let minst = cx.emit_mem(row, &[vector], store.address);
        minst.imm = lane;
        minst.set_trap(store.flags.trap_code());
        return Ok(());
    }
    let Some(imm) = cx.imm32(store.value).filter(|_| is_little(store.flags)) else { return store.emit(cx) };
    cx.count_tile(tiles::STORED_IMMEDIATE);
    let minst = cx.emit_mem(rows::MOV_MI.of(ty.bits()), &[], store.address);
    minst.imm = imm;
    minst.set_trap(store.flags.trap_code());
    Ok(())
}
