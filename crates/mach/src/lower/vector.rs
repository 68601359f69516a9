//! Vectors. What works on all bits of a register works on vectors of up to 128 bits as it does on floats.
//!
//! Before: `v2 = band v0, v1`. After: `andps v2, v1`.

use super::machine::Machine;
use super::memory::is_little;
use super::types::is_float_reg;
use super::{Address, Lowered};
use crate::error::LowerError;
use crate::row::RowId;
use kingpost_ir::{Inst, TrapCode};
use kingpost_regalloc::{RegClass, VReg};

/// Lowers `inst` as `lower` does, if its vector fits a register.
///
/// # Errors
/// Larger vectors, and what `lower` refuses.
pub fn in_register<'f, M: Machine<'f>>(cx: &mut M, inst: Inst, lower: impl FnOnce(&mut M, Inst) -> Lowered) -> Lowered {
    if is_float_reg(cx.result_ty(inst)) { lower(cx, inst) } else { Err(cx.unsupported(inst)) }
}

/// An opcode that is one row, if its vector fits a register.
///
/// # Errors
/// Larger vectors.
pub fn by_row<'f>(cx: &mut impl Machine<'f>, inst: Inst, row: RowId) -> Lowered {
    in_register(cx, inst, |cx, inst| super::by_row(cx, inst, row))
}

/// The 8 bytes that `uload8x8` and the like read, and the trap code of the access.
///
/// # Errors
/// Addresses of other types than `i64`, and big-endian byte order.
pub fn half_in_memory<'f>(cx: &mut impl Machine<'f>, inst: Inst) -> Result<(Address, Option<TrapCode>), LowerError> {
    let (flags, addr, offset) = cx.func.dfg.load_parts(inst);
    if !is_little(flags) {
        return Err(cx.unsupported_byte_order(inst, cx.result_ty(inst)));
    }
    Ok((cx.memory_operand(addr, i64::from(offset), 8, inst)?, flags.trap_code()))
}

/// `uload8x8` and the like: 8 bytes whose lanes `widen` makes twice as wide, from its second register to its first.
///
/// # Errors
/// Addresses of other types than `i64`, and big-endian byte order.
pub fn load_widened<'f, M: Machine<'f>>(cx: &mut M, inst: Inst, widen: impl FnOnce(&mut M, VReg, VReg)) -> Lowered {
    let (address, trap) = half_in_memory(cx, inst)?;
    let value = cx.first_result(inst);
    let (def, half) = (cx.result(value), cx.float_temp(64));
    cx.emit_mem(M::load_row(RegClass::Float, 8), &[half], address).set_trap(trap);
    widen(cx, def, half);
    Ok(())
}
