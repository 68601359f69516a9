//! Loads, stores, addresses of stack slots.
//!
//! Before: `v1 = load.i32 v0+8`. After: `mov32_rm v1, [v0 + 8]`.

use super::access::{is_little, load_row, store_row};
use super::machine::LowerBackend;
use super::types::is_float_reg;
use super::{Address, LowerCtx, LowerResult, endian};
use crate::error::LowerError;
use kingpost_ir::types::I64;
use kingpost_ir::{Inst, InstView, MemFlags, StackSlot, TrapCode, Type, Value};
use kingpost_regalloc::{RegClass, VReg};

/// Returns the number of bytes of an access to a value of this type for the choice of its address, which is the
/// number of bytes of one part.
#[inline]
fn part_bytes(ty: Type) -> u8 {
    let bytes = ty.bytes().clamp(1, 16) as u8;
    if ty.is_int() { bytes.min(8) } else { bytes }
}

/// Returns `true` if this is a value of 16 bits in a float register.
fn is_half(ty: Type) -> bool {
    is_float_reg(ty) && ty.bits() == 16
}

/// Lowers `load` of a value of one register.
///
/// # Errors
/// If there is no code for the type and byte order, or the type of the address is not `i64`.
pub fn load<'f, M: LowerBackend<'f>>(cx: &mut M, inst: Inst) -> LowerResult {
    let (flags, addr, offset) = cx.func.dfg.load_parts(inst);
    let (value, trap) = (cx.first_result(inst), flags.trap_code());
    let ty = cx.ty(value);
    let address = cx.memory_operand(addr, i64::from(offset), part_bytes(ty), inst)?;
    if let (true, Some(row)) = (is_little(flags), load_row::<M>(ty)) {
        let def = cx.result(value);
        cx.emit_mem(row, &[def], address).set_trap(trap);
        return Ok(());
    }
    let done = match is_little(flags) {
        true => {
            let def = cx.result(value);
            load_into(cx, def, ty, address, trap)
        }
        false => endian::load(cx, value, address, trap),
    };
    done.ok_or_else(|| cx.unsupported(inst))
}

/// Lowers `uload8` and similar opcodes: loads an integer of type `memory` and widens it, sign-extended if `signed`.
///
/// # Errors
/// If the type of the address is not `i64`.
pub fn load_widened<'f, M: LowerBackend<'f>>(cx: &mut M, inst: Inst, memory: Type, signed: bool) -> LowerResult {
    let (flags, addr, offset) = cx.func.dfg.load_parts(inst);
    let (value, trap) = (cx.first_result(inst), flags.trap_code());
    let address = cx.memory_operand(addr, i64::from(offset), part_bytes(memory), inst)?;
    if is_little(flags) {
        let def = cx.result(value);
        let row = M::widening_load_row(memory.bits(), cx.ty(value).bits(), signed);
        cx.emit_mem(row, &[def], address).set_trap(trap);
        return Ok(());
    }
    let done = endian::load_widened(cx, value, memory, signed, address, trap);
    done.ok_or_else(|| cx.unsupported(inst))
}

/// Loads a value of type `ty` into its register. Returns `None` if there is no code for the type.
pub fn load_into<'f, M: LowerBackend<'f>>(
    cx: &mut M,
    def: VReg,
    ty: Type,
    address: Address,
    trap: Option<TrapCode>,
) -> Option<()> {
    if let Some(row) = load_row::<M>(ty) {
        cx.emit_mem(row, &[def], address).set_trap(trap);
    } else if is_half(ty) {
        // A float register is loaded with at least 32 bits, and the upper half may be outside the mapped memory.
        let image = cx.int_temp(16);
        cx.emit_mem(M::load_row(RegClass::Int, 2), &[image], address).set_trap(trap);
        cx.emit(M::ROWS.int_to_float32, &[def, image]);
    } else {
        return None;
    }
    Some(())
}

/// Store whose address is lowered already.
#[derive(Clone, Copy, Debug)]
pub struct Store {
    inst: Inst,
    /// Value whose low part is stored.
    pub value: Value,
    /// Type of the part.
    pub ty: Type,
    /// Address of the store.
    pub address: Address,
    /// Flags of the access.
    pub flags: MemFlags,
}

impl Store {
    /// Returns the store of a `store`, or of a narrowing store of the low part that has type `ty`.
    ///
    /// # Errors
    /// If the type of the address is not `i64`.
    pub fn of<'f, M: LowerBackend<'f>>(cx: &mut M, inst: Inst, ty: Type) -> Result<Store, LowerError> {
        let (flags, addr, offset) = cx.func.dfg.store_parts(inst);
        let value = cx.func.dfg.inline_arg(inst, 0);
        let address = cx.memory_operand(addr, i64::from(offset), part_bytes(ty), inst)?;
        Ok(Store { inst, value, ty, address, flags })
    }

    /// Stores the value from a register, or from two in big-endian byte order.
    ///
    /// # Errors
    /// If there is no code for the type and byte order.
    pub fn emit<'f, M: LowerBackend<'f>>(self, cx: &mut M) -> LowerResult {
        let Store { inst, value, ty, address, flags } = self;
        let done = match is_little(flags) {
            true => store_value(cx, value, ty, address, flags.trap_code()),
            false => endian::store(cx, value, ty, address, flags.trap_code()),
        };
        done.ok_or_else(|| cx.unsupported(inst))
    }
}

/// Lowers `store` of a value of one register.
///
/// # Errors
/// If there is no code for the type and byte order, or the type of the address is not `i64`.
pub fn store<'f, M: LowerBackend<'f>>(cx: &mut M, inst: Inst) -> LowerResult {
    let [value, _] = cx.args(inst);
    let ty = cx.ty(value);
    Store::of(cx, inst, ty)?.emit(cx)
}

/// Stores the low part of `value` that has type `ty`. Returns `None` if there is no code for the type.
fn store_value<'f, M: LowerBackend<'f>>(
    cx: &mut M,
    value: Value,
    ty: Type,
    address: Address,
    trap: Option<TrapCode>,
) -> Option<()> {
    let source = cx.use_reg(value);
    store_reg(cx, source, ty, address, trap)
}

/// Stores exactly the bytes of a value or part of this type from a register. Returns `None` if there is no code for
/// the type.
pub(super) fn store_reg<'f, M: LowerBackend<'f>>(
    cx: &mut M,
    source: VReg,
    ty: Type,
    address: Address,
    trap: Option<TrapCode>,
) -> Option<()> {
    if let Some(row) = store_row::<M>(ty) {
        cx.emit_mem(row, &[source], address).set_trap(trap);
    } else if is_half(ty) {
        let image = cx.int_temp(16);
        cx.emit(M::ROWS.float_to_int32, &[image, source]);
        cx.emit_mem(M::store_row(RegClass::Int, 2), &[image], address).set_trap(trap);
    } else {
        return None;
    }
    Some(())
}

/// Lowers `stack_addr`.
///
/// # Errors
/// If the type of the result is not `i64`, or the slot is aligned to more than 2^30 bytes.
pub fn stack_addr<'f>(cx: &mut impl LowerBackend<'f>, inst: Inst) -> LowerResult {
    let InstView::StackAddr { slot, offset } = cx.func.dfg.view(inst) else { return Err(cx.unsupported(inst)) };
    if cx.result_ty(inst) != I64 {
        return Err(cx.unsupported(inst));
    }
    let value = cx.first_result(inst);
    let def = cx.result(value);
    let start = cx.slot_offset(slot) as u32;
    if !is_over_aligned(cx, slot) {
        cx.emit_lea(def, Address::Slot(start + offset as u32));
        return Ok(());
    }
    // The slot is large enough to be moved up to its alignment.
    let shift = cx.func.stack_slots[slot].align_shift;
    let Some(align) = 1u32.checked_shl(u32::from(shift)).filter(|&a| a <= 1 << 30) else {
        return Err(cx.unsupported_feature("a stack slot aligned to more than 2^30 bytes"));
    };
    let slack = align - cx.stack_align();
    let (end, aligned) = (cx.int_temp(64), cx.int_temp(64));
    cx.emit_lea(end, Address::Slot(start + slack));
    cx.align_down(aligned, end, align);
    cx.emit_lea(def, Address::Base { base: aligned, disp: offset });
    Ok(())
}

/// Returns `true` if the slot is aligned beyond the stack alignment, so that its address is computed at run time.
pub(super) fn is_over_aligned(cx: &LowerCtx<'_>, slot: StackSlot) -> bool {
    u32::from(cx.func.stack_slots[slot].align_shift) > cx.stack_align().trailing_zeros()
}

/// Returns the address of `slot + offset + disp` in the frame, which needs no register.
pub fn slot_place(cx: &LowerCtx<'_>, slot: StackSlot, offset: i32, disp: i64) -> Option<Address> {
    /// Limit of the offsets of addresses in the stack frame.
    const MAX_OFFSET: i64 = 1 << 31;
    if is_over_aligned(cx, slot) {
        return None;
    }
    let at = cx.slot_offset(slot) as i64 + i64::from(offset) + disp;
    (0..MAX_OFFSET).contains(&at).then_some(Address::Slot(at as u32))
}
