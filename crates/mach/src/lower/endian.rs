//! Loads and stores in the other byte order, as integers whose bytes are exchanged in a register.
//!
//! Before: `v1 = load.i32 big v0`. After: `mov32_rm t, [v0]; bswap32_r v1, t`.

use super::access::{is_little, load_row, store_row};
use super::machine::LowerBackend;
use super::{Address, LowerResult};
use kingpost_ir::atomic_rmw_op::AtomicRmwOp;
use kingpost_ir::types::{I8, I16, I32, I64};
use kingpost_ir::{Inst, MemFlags, TrapCode, Type, Value};
use kingpost_regalloc::VReg;

/// Returns the integer type of a scalar's bytes, up to 64 bits.
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

/// Loads an integer of one register, whose first byte is the highest.
pub fn load_word<'f, M: LowerBackend<'f>>(
    cx: &mut M,
    def: VReg,
    ty: Type,
    address: Address,
    trap: Option<TrapCode>,
) -> Option<()> {
    let memory = cx.int_temp(ty.bits());
    cx.emit_mem(load_row::<M>(ty)?, &[memory], address).set_trap(trap);
    cx.swap_bytes(def, memory, ty.bits());
    Some(())
}

/// Stores an integer of one register, whose first byte is the highest.
fn store_word<'f, M: LowerBackend<'f>>(
    cx: &mut M,
    source: VReg,
    ty: Type,
    address: Address,
    trap: Option<TrapCode>,
) -> Option<()> {
    let memory = cx.int_temp(ty.bits());
    cx.swap_bytes(memory, source, ty.bits());
    cx.emit_mem(store_row::<M>(ty)?, &[memory], address).set_trap(trap);
    Some(())
}

/// Loads an integer of type `memory` and widens it to `value`.
pub(super) fn load_widened<'f>(
    cx: &mut impl LowerBackend<'f>,
    value: Value,
    memory: Type,
    signed: bool,
    address: Address,
    trap: Option<TrapCode>,
) -> Option<()> {
    let (def, narrow) = (cx.result(value), cx.int_temp(32));
    load_word(cx, narrow, memory, address, trap)?;
    if signed {
        cx.sign_extend(def, narrow, memory.bits(), cx.ty(value).bits());
    } else {
        cx.zero_extend(def, narrow, memory.bits());
    }
    Some(())
}

/// Loads `value`. Returns `None` if there is no code for its type.
pub(super) fn load<'f, M: LowerBackend<'f>>(
    cx: &mut M,
    value: Value,
    address: Address,
    trap: Option<TrapCode>,
) -> Option<()> {
    let ty = cx.ty(value);
    let def = cx.result(value);
    if ty.is_int() {
        return load_word(cx, def, ty, address, trap);
    }
    if ty.is_scalar() && ty.bits() == 128 {
        let (low, high) = (cx.int_temp(64), cx.int_temp(64));
        let above = cx.offset_address(address, 8);
        load_word(cx, high, I64, address, trap)?;
        load_word(cx, low, I64, above, trap)?;
        cx.join_halves(def, low, high);
        return Some(());
    }
    let image_type = image_type(ty)?;
    let image = cx.int_temp(image_type.bits());
    load_word(cx, image, image_type, address, trap)?;
    let row = if image_type == I64 { M::ROWS.int_to_float64 } else { M::ROWS.int_to_float32 };
    cx.emit(row, &[def, image]);
    Some(())
}

/// Stores the low part of `value` that has type `ty`. Returns `None` if there is no code for the type.
pub(super) fn store<'f, M: LowerBackend<'f>>(
    cx: &mut M,
    value: Value,
    ty: Type,
    address: Address,
    trap: Option<TrapCode>,
) -> Option<()> {
    if !ty.is_scalar() {
        return None;
    }
    if ty.bits() == 128 {
        let (low, high) = match *cx.use_regs(value) {
            [low, high] => (low, high),
            _ => {
                let (low, high) = (cx.int_temp(64), cx.int_temp(64));
                let source = cx.use_reg(value);
                cx.split_halves(low, high, source);
                (low, high)
            }
        };
        let above = cx.offset_address(address, 8);
        store_word(cx, high, I64, address, trap)?;
        return store_word(cx, low, I64, above, trap);
    }
    let source = cx.use_reg(value);
    if ty.is_int() {
        return store_word(cx, source, ty, address, trap);
    }
    let image_type = image_type(ty)?;
    let image = cx.int_temp(image_type.bits());
    let row = if image_type == I64 { M::ROWS.float_to_int64 } else { M::ROWS.float_to_int32 };
    cx.emit(row, &[image, source]);
    store_word(cx, image, image_type, address, trap)
}

/// Returns a value of `bits` bits in the byte order of an access with `flags`, reversed in a new register if that is
/// not the machine's order.
pub fn to_memory_order<'f>(cx: &mut impl LowerBackend<'f>, flags: MemFlags, value: VReg, bits: u32) -> VReg {
    if is_little(flags) || bits == 8 { value } else { cx.bytes_reversed(value, bits) }
}

/// Emits `access`, which reads and writes memory by operands in the byte order of memory, and sets `def` to the value
/// that it reads, in the byte order of the machine. `access` receives the register to read into, and the operands.
pub fn in_memory_order<'f, M: LowerBackend<'f>, const N: usize>(
    cx: &mut M,
    flags: MemFlags,
    bits: u32,
    def: VReg,
    operands: [VReg; N],
    access: impl FnOnce(&mut M, VReg, [VReg; N]),
) {
    if is_little(flags) || bits == 8 {
        return access(cx, def, operands);
    }
    let image = cx.int_temp(bits);
    let operands = operands.map(|operand| cx.bytes_reversed(operand, bits));
    access(cx, image, operands);
    cx.swap_bytes(def, image, bits);
}

/// Returns `true` if the operation depends on the order of the bytes of its operands. Bitwise operations do not.
pub fn is_arithmetic(op: AtomicRmwOp) -> bool {
    match op {
        AtomicRmwOp::Add
        | AtomicRmwOp::Sub
        | AtomicRmwOp::Umin
        | AtomicRmwOp::Umax
        | AtomicRmwOp::Smin
        | AtomicRmwOp::Smax => true,
        AtomicRmwOp::And | AtomicRmwOp::Nand | AtomicRmwOp::Or | AtomicRmwOp::Xor | AtomicRmwOp::Xchg => false,
    }
}

/// Lowers `bswap`.
pub fn bswap<'f>(cx: &mut impl LowerBackend<'f>, inst: Inst) -> LowerResult {
    let [def, source] = cx.registers(inst);
    cx.swap_bytes(def, source, cx.result_ty(inst).bits());
    Ok(())
}
