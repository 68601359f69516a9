//! Loads, stores, addresses of stack slots.

use super::Done;
use super::address::slot_address;
use super::cx::{Cx, is_little};
use super::endian;
use crate::rows;
use kingpost_ir::types::{I8, I16, I32, I64};
use kingpost_ir::{Inst, InstView, MemFlags, Opcode, TrapCode, Type, Value};
use kingpost_mach::{Address, RowId};
use kingpost_regalloc::VReg;

/// `stack_addr`.
pub(super) fn stack_addr(cx: &mut Cx<'_, '_>, inst: Inst) -> Done {
    let InstView::StackAddr { slot, offset } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    if cx.result_ty(inst) != I64 {
        return Err(cx.unsupported(inst));
    }
    let value = cx.first(inst);
    let def = cx.result(value);
    slot_address(cx, def, slot, offset)
}

/// Bytes of an access to a value of this type, as far as addresses are concerned: those of its parts.
fn part_bytes(ty: Type) -> u8 {
    let bytes = ty.bytes().clamp(1, 16) as u8;
    if ty.is_int() { bytes.min(8) } else { bytes }
}

/// All loads.
pub(super) fn load(cx: &mut Cx<'_, '_>, inst: Inst) -> Done {
    let InstView::Load { flags, addr, offset } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    let value = cx.first(inst);
    let ty = cx.ty(value);
    let (row, bytes) = match cx.func.dfg.opcode(inst) {
        Opcode::Uload8 => (rows::LDRB_RM, 1),
        Opcode::Uload16 => (rows::LDRH_RM, 2),
        Opcode::Uload32 => (rows::LDR32_RM, 4),
        Opcode::Sload8 if ty == I64 => (rows::LDRSB64_RM, 1),
        Opcode::Sload8 => (rows::LDRSB32_RM, 1),
        Opcode::Sload16 if ty == I64 => (rows::LDRSH64_RM, 2),
        Opcode::Sload16 => (rows::LDRSH32_RM, 2),
        Opcode::Sload32 => (rows::LDRSW64_RM, 4),
        _ => return load_whole(cx, inst, addr, i64::from(offset), flags),
    };
    let address = cx.address(addr, i64::from(offset), bytes, inst)?;
    if !is_little(flags) {
        return endian::load(cx, inst, address, flags.trap_code());
    }
    let def = cx.result(value);
    cx.emit_mem(row, &[def], address).set_trap(flags.trap_code());
    Ok(())
}

/// `load`.
fn load_whole(cx: &mut Cx<'_, '_>, inst: Inst, addr: Value, offset: i64, flags: MemFlags) -> Done {
    let value = cx.first(inst);
    let ty = cx.ty(value);
    let address = cx.address(addr, offset, part_bytes(ty), inst)?;
    if !is_little(flags) {
        return endian::load(cx, inst, address, flags.trap_code());
    }
    let defs = cx.result_parts(value);
    load_into(cx, &defs, ty, address, flags.trap_code()).ok_or_else(|| cx.unsupported(inst))
}

/// The row that loads a value of this type into one register. Narrow integers are zero-extended.
pub(super) fn load_row(ty: Type) -> Option<RowId> {
    Some(match (ty.is_int(), ty.bits()) {
        (true, 8) => rows::LDRB_RM,
        (true, 16) => rows::LDRH_RM,
        (true, 32) => rows::LDR32_RM,
        (true, 64) => rows::LDR64_RM,
        (false, 16) if ty.is_scalar() => rows::LDR16_FM,
        (false, 32) if ty.is_scalar() => rows::LDR32_FM,
        (false, 64) if ty.is_scalar() => rows::LDR64_FM,
        (false, 128) if !ty.is_dynamic_vector() => rows::LDR128_FM,
        _ => return None,
    })
}

/// The row that stores one register of this type.
pub(super) fn store_row(ty: Type) -> Option<RowId> {
    Some(match (ty.is_int(), ty.bits()) {
        (true, 8) => rows::STRB_MR,
        (true, 16) => rows::STRH_MR,
        (true, 32) => rows::STR32_MR,
        (true, 64) => rows::STR64_MR,
        (false, 16) if ty.is_scalar() => rows::STR16_MF,
        (false, 32) if ty.is_scalar() => rows::STR32_MF,
        (false, 64) if ty.is_scalar() => rows::STR64_MF,
        (false, 128) if !ty.is_dynamic_vector() => rows::STR128_MF,
        _ => return None,
    })
}

/// Loads a value of type `ty` into its registers. None if there is no code for the type.
pub(super) fn load_into(
    cx: &mut Cx<'_, '_>,
    defs: &[VReg],
    ty: Type,
    address: Address,
    trap: Option<TrapCode>,
) -> Option<()> {
    if let [low, high] = *defs {
        let above = cx.further(address, 8);
        cx.emit_mem(rows::LDR64_RM, &[low], address).set_trap(trap);
        cx.emit_mem(rows::LDR64_RM, &[high], above).set_trap(trap);
        return Some(());
    }
    let row = load_row(ty)?;
    cx.emit_mem(row, &[defs[0]], address).set_trap(trap);
    Some(())
}

/// All stores.
pub(super) fn store(cx: &mut Cx<'_, '_>, inst: Inst) -> Done {
    let InstView::Store { flags, value, addr, offset } = cx.func.dfg.view(inst) else {
        return Err(cx.unsupported(inst));
    };
    let ty = match cx.func.dfg.opcode(inst) {
        Opcode::Istore8 => I8,
        Opcode::Istore16 => I16,
        Opcode::Istore32 => I32,
        _ => cx.ty(value),
    };
    let address = cx.address(addr, i64::from(offset), part_bytes(ty), inst)?;
    store_value(cx, value, ty, address, flags).ok_or_else(|| cx.unsupported(inst))
}

/// Stores the low part of `value` that has type `ty`. None if there is no code for the type.
fn store_value(cx: &mut Cx<'_, '_>, value: Value, ty: Type, address: Address, flags: MemFlags) -> Option<()> {
    let trap = flags.trap_code();
    if let Some(row) = zero_row(cx, value, ty) {
        cx.emit_mem(row, &[], address).set_trap(trap);
        return Some(());
    }
    if !is_little(flags) {
        return endian::store(cx, value, ty, address, trap);
    }
    if ty.is_int() && ty.bits() == 128 {
        let parts = cx.put_parts(value);
        let above = cx.further(address, 8);
        cx.emit_mem(rows::STR64_MR, &[parts[0]], address).set_trap(trap);
        cx.emit_mem(rows::STR64_MR, &[parts[1]], above).set_trap(trap);
        return Some(());
    }
    let row = store_row(ty)?;
    let source = cx.put_parts(value)[0];
    cx.emit_mem(row, &[source], address).set_trap(trap);
    Some(())
}

/// The row that stores `value` without a register, if it is zero.
fn zero_row(cx: &Cx<'_, '_>, value: Value, ty: Type) -> Option<RowId> {
    let zero = match cx.func.dfg.view(cx.def(value)?) {
        InstView::UnaryIeee32 { imm } => imm.bits() == 0,
        InstView::UnaryIeee64 { imm } => imm.bits() == 0,
        _ => {
            let mask = u64::MAX >> (64 - ty.bits().min(64));
            cx.constant(value).is_some_and(|constant| constant & mask == 0)
        }
    };
    zero.then_some(match ty.bits() {
        8 => rows::STRB_MZ,
        16 => rows::STRH_MZ,
        32 => rows::STR32_MZ,
        64 => rows::STR64_MZ,
        _ => return None,
    })
}
