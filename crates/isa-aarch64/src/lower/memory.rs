//! Stores of zero, which come from the zero register in any byte order.
//!
//! Before: `v1 = iconst.i32 0; store v1, v0+8`. After: `str wzr, [x0, #8]`.

use super::cx::Cx;
use super::{LowerResult, tiles};
use crate::rows;
use kingpost_ir::{Inst, InstView, Type, Value};
use kingpost_mach::lower::memory::Store;

/// Lowers `store` of an integer or float of one register.
pub(super) fn store(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [value, _] = cx.args(inst);
    store_as(cx, inst, cx.ty(value))
}

/// Stores the low part of a value that has type `ty`: `store` and the narrowing stores.
pub(super) fn store_as(cx: &mut Cx<'_, '_>, inst: Inst, ty: Type) -> LowerResult {
    let store = Store::of(cx, inst, ty)?;
    if ty.bits() > 64 || !is_zero(cx, store.value, ty) {
        return store.emit(cx);
    }
    cx.count_tile(tiles::STORED_ZERO);
    cx.emit_mem(rows::STR_MZ.of(ty.bits()), &[], store.address).set_trap(store.flags.trap_code());
    Ok(())
}

/// Returns `true` if the bits of `value` that a `ty` has are zero.
fn is_zero(cx: &Cx<'_, '_>, value: Value, ty: Type) -> bool {
    let Some(def) = cx.def(value) else { return false };
    match cx.func.dfg.view(def) {
        InstView::UnaryIeee32 { imm } => imm.bits() == 0,
        InstView::UnaryIeee64 { imm } => imm.bits() == 0,
        _ => {
            let mask = u64::MAX >> (64 - ty.bits().min(64));
            cx.constant(value).is_some_and(|constant| constant & mask == 0)
        }
    }
}
