//! Stores of constants and of lanes, which need no register of their own, and operations on memory.
//!
//! Before: `v1 = iconst.i32 7; store v1, v0+8`. After: `mov32_mi [v0 + 8], 7`.
//!
//! Before: `v2 = load.i32 v0; v3 = iadd v2, v1; store v3, v0`. After: `add32_mr [v0], v1`.

use super::cx::{Alu, Cx};
use super::int::commutes;
use super::vector::lanes;
use super::{LowerResult, tiles};
use crate::rows;
use kingpost_ir::{Inst, InstView, Opcode, Type, Value};
use kingpost_mach::lower::is_little;
use kingpost_mach::lower::memory::Store;

/// Lowers `store` of an integer or float.
pub(super) fn store(cx: &mut Cx<'_, '_>, inst: Inst) -> LowerResult {
    let [value, _] = cx.args(inst);
    store_as(cx, inst, cx.ty(value))
}

/// Stores the low part of an integer that has type `ty`: `store` and the narrowing stores.
pub(super) fn store_as(cx: &mut Cx<'_, '_>, inst: Inst, ty: Type) -> LowerResult {
    let update = update(cx, inst, ty);
    let store = Store::of(cx, inst, ty)?;
    if let Some(update) = update {
        emit_update(cx, update, store);
        return Ok(());
    }
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

/// An operation whose first operand is the value in memory that its result replaces.
struct Update {
    alu: Alu,
    /// The load of the value, which the operation on memory performs.
    load: Inst,
    /// The second operand.
    operand: Value,
}

/// Returns the operation whose result `inst` stores in the place of its operand, if nothing else uses the operand and the
/// result.
fn update(cx: &Cx<'_, '_>, inst: Inst, ty: Type) -> Option<Update> {
    let value = cx.func.dfg.inline_arg(inst, 0);
    let alu = match cx.opcode_of(value)? {
        Opcode::Iadd => Alu::ADD,
        Opcode::Isub => Alu::SUB,
        Opcode::Band => Alu::AND,
        Opcode::Bor => Alu::OR,
        Opcode::Bxor => Alu::XOR,
        _ => return None,
    };
    if cx.uses(value) != 1 || cx.has_reg(value) {
        return None;
    }
    let [x, y] = cx.args(cx.def(value)?);
    let loaded = |value| cx.sinkable_load(value, inst).filter(|&load| is_place(cx, load, inst, ty));
    let first = loaded(x).map(|load| Update { alu, load, operand: y });
    first.or_else(|| {
        let load = loaded(y).filter(|_| commutes(alu))?;
        Some(Update { alu, load, operand: x })
    })
}

/// Returns `true` if `load` reads the bits that `store`, of a value of type `ty`, replaces.
fn is_place(cx: &Cx<'_, '_>, load: Inst, store: Inst, ty: Type) -> bool {
    let InstView::Load { flags, addr, offset } = cx.func.dfg.view(load) else { return false };
    let bits = match cx.func.dfg.opcode(load) {
        Opcode::Load => cx.result_ty(load).bits(),
        Opcode::Uload8 | Opcode::Sload8 => 8,
        Opcode::Uload16 | Opcode::Sload16 => 16,
        Opcode::Uload32 | Opcode::Sload32 => 32,
        _ => return false,
    };
    let (stored, to, at) = cx.func.dfg.store_parts(store);
    let is_same = (bits, addr, offset) == (ty.bits(), to, at) && flags.trap_code() == stored.trap_code();
    is_same && is_little(flags) && is_little(stored)
}

fn emit_update(cx: &mut Cx<'_, '_>, update: Update, store: Store) {
    let Update { alu, load, operand } = update;
    cx.count_tile(tiles::UPDATED_MEMORY);
    cx.mark_sunk(load);
    let bits = store.ty.bits();
    let inst = match cx.imm32(operand) {
        Some(imm) => {
            let unused = 32 - bits.min(32);
            let inst = cx.emit_mem(alu.mi.of(bits), &[], store.address);
            inst.imm = imm << unused >> unused;
            inst
        }
        None => {
            let operand = cx.use_reg(operand);
            cx.emit_mem(alu.mr.of(bits), &[operand], store.address)
        }
    };
    inst.set_trap(store.flags.trap_code());
}
