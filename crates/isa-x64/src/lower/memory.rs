//! Loads, stores, addresses of stack slots.

use super::Done;
use super::address::slot_address;
use super::cx::{Cx, is_little};
use super::endian;
use crate::rows;
use kingpost_ir::types::{F16, F32, I64};
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

/// All loads.
pub(super) fn load(cx: &mut Cx<'_, '_>, inst: Inst) -> Done {
    let InstView::Load { flags, addr, offset } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    let value = cx.first(inst);
    let ty = cx.ty(value);
    let address = cx.address(addr, i64::from(offset), inst)?;
    if !is_little(flags) {
        return endian::load(cx, inst, address, flags.trap_code());
    }
    let row = match cx.func.dfg.opcode(inst) {
        Opcode::Uload8 => rows::MOVZX32_8_RM,
        Opcode::Uload16 => rows::MOVZX32_16_RM,
        Opcode::Uload32 => rows::MOV32_RM,
        Opcode::Sload8 if ty == I64 => rows::MOVSX64_8_RM,
        Opcode::Sload8 => rows::MOVSX32_8_RM,
        Opcode::Sload16 if ty == I64 => rows::MOVSX64_16_RM,
        Opcode::Sload16 => rows::MOVSX32_16_RM,
        Opcode::Sload32 => rows::MOVSX64_32_RM,
        _ => {
            let defs = cx.result_parts(value);
            return load_into(cx, &defs, ty, address, flags.trap_code()).ok_or_else(|| cx.unsupported(inst));
        }
    };
    let def = cx.result(value);
    cx.emit_mem(row, &[def], address).set_trap(flags.trap_code());
    Ok(())
}

/// The row that loads a value of this type into one register. Narrow integers are zero-extended.
pub(super) fn load_row(ty: Type) -> Option<RowId> {
    Some(match (ty.is_int(), ty.bits()) {
        (true, 8) => rows::MOVZX32_8_RM,
        (true, 16) => rows::MOVZX32_16_RM,
        (true, 32) => rows::MOV32_RM,
        (true, 64) => rows::MOV64_RM,
        (false, 32) if ty.is_scalar() => rows::MOVSS_RM,
        (false, 64) if ty.is_scalar() => rows::MOVSD_RM,
        (false, 128) if !ty.is_dynamic_vector() => rows::MOVUPS_RM,
        _ => return None,
    })
}

/// The row that stores one register of this type.
pub(super) fn store_row(ty: Type) -> Option<RowId> {
    Some(match (ty.is_int(), ty.bits()) {
        (true, 8) => rows::MOV8_MR,
        (true, 16) => rows::MOV16_MR,
        (true, 32) => rows::MOV32_MR,
        (true, 64) => rows::MOV64_MR,
        (false, 32) if ty.is_scalar() => rows::MOVSS_MR,
        (false, 64) if ty.is_scalar() => rows::MOVSD_MR,
        (false, 128) if !ty.is_dynamic_vector() => rows::MOVUPS_MR,
        _ => return None,
    })
}

/// The row that loads an argument or result of this type from its place on the stack, which has at least 8 bytes.
pub(super) fn load_place_row(ty: Type) -> Option<RowId> {
    load_row(if ty == F16 { F32 } else { ty })
}

/// The row that stores an argument or result of this type to its place on the stack.
pub(super) fn store_place_row(ty: Type) -> Option<RowId> {
    store_row(if ty == F16 { F32 } else { ty })
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
        cx.emit_mem(rows::MOV64_RM, &[low], address).set_trap(trap);
        cx.emit_mem(rows::MOV64_RM, &[high], above).set_trap(trap);
        return Some(());
    }
    if ty == F16 {
        // Float registers are loaded with 32 bits at least, of which half may not be there.
        let image = cx.int_temp(16);
        cx.emit_mem(rows::MOVZX32_16_RM, &[image], address).set_trap(trap);
        cx.emit(rows::MOVD_FR, &[defs[0], image]);
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
        Opcode::Istore8 => kingpost_ir::types::I8,
        Opcode::Istore16 => kingpost_ir::types::I16,
        Opcode::Istore32 => kingpost_ir::types::I32,
        _ => cx.ty(value),
    };
    let address = cx.address(addr, i64::from(offset), inst)?;
    let done = match is_little(flags) {
        true => store_value(cx, value, ty, address, flags),
        false => endian::store(cx, value, ty, address, flags.trap_code()),
    };
    done.ok_or_else(|| cx.unsupported(inst))
}

/// Stores the low part of `value` that has type `ty`. None if there is no code for the type.
fn store_value(cx: &mut Cx<'_, '_>, value: Value, ty: Type, address: Address, flags: MemFlags) -> Option<()> {
    let trap = flags.trap_code();
    if ty.is_int() && ty.bits() == 128 {
        let parts = cx.put_parts(value);
        let above = cx.further(address, 8);
        cx.emit_mem(rows::MOV64_MR, &[parts[0]], address).set_trap(trap);
        cx.emit_mem(rows::MOV64_MR, &[parts[1]], above).set_trap(trap);
        return Some(());
    }
    if let (true, Some(imm)) = (ty.is_int(), cx.imm32(value)) {
        let row = match ty.bits() {
            8 => rows::MOV8_MI,
            16 => rows::MOV16_MI,
            32 => rows::MOV32_MI,
            _ => rows::MOV64_MI,
        };
        let store = cx.emit_mem(row, &[], address);
        store.imm = imm;
        store.set_trap(trap);
        return Some(());
    }
    if ty == F16 {
        let (image, source) = (cx.int_temp(16), cx.put(value));
        cx.emit(rows::MOVD_RF, &[image, source]);
        cx.emit_mem(rows::MOV16_MR, &[image], address).set_trap(trap);
        return Some(());
    }
    let row = store_row(ty)?;
    let source = cx.put(value);
    cx.emit_mem(row, &[source], address).set_trap(trap);
    Some(())
}
