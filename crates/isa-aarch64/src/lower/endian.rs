//! Loads and stores in the other byte order: an ordinary access of an integer, and its bytes exchanged in a register.

use super::Done;
use super::bits::swap_bytes;
use super::convert::{sign_extend, zero_extend};
use super::cx::Cx;
use super::memory::{load_row, store_row};
use crate::rows;
use kingpost_ir::types::{I8, I16, I32, I64};
use kingpost_ir::{Inst, Opcode, TrapCode, Type, Value};
use kingpost_mach::Address;
use kingpost_regalloc::VReg;

/// The integer type of a scalar's bytes, up to 64 bits.
fn image_type(ty: Type) -> Option<Type> {
    match ty.bits() {
        _ if !ty.is_scalar() => None,
        8 => Some(I8),
        16 => Some(I16),
        32 => Some(I32),
        64 => Some(I64),
        _ => None,
    }
}

/// Loads `bits` bits, the first byte highest.
pub(super) fn load_word(
    cx: &mut Cx<'_, '_>,
    def: VReg,
    ty: Type,
    address: Address,
    trap: Option<TrapCode>,
) -> Option<()> {
    let memory = cx.int_temp(ty.bits());
    cx.emit_mem(load_row(ty)?, &[memory], address).set_trap(trap);
    swap_bytes(cx, def, memory, ty.bits());
    Some(())
}

/// Stores `bits` bits, the first byte highest.
fn store_word(cx: &mut Cx<'_, '_>, source: VReg, ty: Type, address: Address, trap: Option<TrapCode>) -> Option<()> {
    let memory = cx.int_temp(ty.bits());
    swap_bytes(cx, memory, source, ty.bits());
    cx.emit_mem(store_row(ty)?, &[memory], address).set_trap(trap);
    Some(())
}

/// A load of any kind but one of a vector.
pub(super) fn load(cx: &mut Cx<'_, '_>, inst: Inst, address: Address, trap: Option<TrapCode>) -> Done {
    let value = cx.first(inst);
    let ty = cx.ty(value);
    let (memory, signed) = match cx.func.dfg.opcode(inst) {
        Opcode::Uload8 => (I8, false),
        Opcode::Uload16 => (I16, false),
        Opcode::Uload32 => (I32, false),
        Opcode::Sload8 => (I8, true),
        Opcode::Sload16 => (I16, true),
        Opcode::Sload32 => (I32, true),
        _ => return whole(cx, value, ty, address, trap).ok_or_else(|| cx.unsupported(inst)),
    };
    let (def, narrow) = (cx.result(value), cx.int_temp(32));
    load_word(cx, narrow, memory, address, trap).ok_or_else(|| cx.unsupported(inst))?;
    if signed {
        sign_extend(cx, def, narrow, memory.bits(), ty.bits());
    } else {
        zero_extend(cx, def, narrow, memory.bits());
    }
    Ok(())
}

/// Loads a value of type `ty`. None if there is no code for the type.
fn whole(cx: &mut Cx<'_, '_>, value: Value, ty: Type, address: Address, trap: Option<TrapCode>) -> Option<()> {
    let defs = cx.result_parts(value);
    if let [low, high] = *defs {
        let above = cx.further(address, 8);
        load_word(cx, high, I64, address, trap)?;
        return load_word(cx, low, I64, above, trap);
    }
    if ty.is_int() {
        return load_word(cx, defs[0], ty, address, trap);
    }
    if ty.is_scalar() && ty.bits() == 128 {
        let (low, high) = (cx.int_temp(64), cx.int_temp(64));
        let above = cx.further(address, 8);
        load_word(cx, high, I64, address, trap)?;
        load_word(cx, low, I64, above, trap)?;
        let image = cx.float_temp(128);
        cx.emit(rows::FMOV64_FR, &[image, low]);
        cx.emit(rows::INS64_HIGH_FR, &[defs[0], image, high]);
        return Some(());
    }
    let image_type = image_type(ty)?;
    let image = cx.int_temp(image_type.bits());
    load_word(cx, image, image_type, address, trap)?;
    let row = if image_type == I64 { rows::FMOV64_FR } else { rows::FMOV32_FR };
    cx.emit(row, &[defs[0], image]);
    Some(())
}

/// Stores the low part of `value` that has type `ty`. None if there is no code for the type.
pub(super) fn store(
    cx: &mut Cx<'_, '_>,
    value: Value,
    ty: Type,
    address: Address,
    trap: Option<TrapCode>,
) -> Option<()> {
    if !ty.is_scalar() {
        return None;
    }
    if ty.bits() == 128 {
        let (low, high) = match *cx.put_parts(value) {
            [low, high] => (low, high),
            _ => {
                let (low, high) = (cx.int_temp(64), cx.int_temp(64));
                let source = cx.put(value);
                cx.emit(rows::FMOV64_RF, &[low, source]);
                cx.emit(rows::UMOV64_HIGH_RF, &[high, source]);
                (low, high)
            }
        };
        let above = cx.further(address, 8);
        store_word(cx, high, I64, address, trap)?;
        return store_word(cx, low, I64, above, trap);
    }
    let source = cx.put(value);
    if ty.is_int() {
        return store_word(cx, source, ty, address, trap);
    }
    let image_type = image_type(ty)?;
    let image = cx.int_temp(image_type.bits());
    cx.emit(if ty.bits() == 64 { rows::FMOV64_RF } else { rows::FMOV32_RF }, &[image, source]);
    store_word(cx, image, image_type, address, trap)
}
