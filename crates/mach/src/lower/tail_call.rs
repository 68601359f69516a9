//! Tail calls: arguments to the places of the convention, then a jump after the epilogue.
//!
//! Before: `return_call fn0(v0, v1)`. After: `tail_sym %g, use v0 fixed rdi, use v1 fixed rsi`.
//!
//! The callee pops its stack arguments, so they must end at the address where the arguments of this function end, and
//! are stored over them:
//!
//! ```text
//!   caller's frame          caller's frame
//!   ───────────────         ───────────────
//!   received                passed
//!   ───────────────                              if more is passed than was received, the prologue makes room and
//!   (room)                  ───────────────      the return address lies lower from the start; if less, the
//!   return address          return address       epilogue moves it up
//! ```
//!
//! All argument values are in registers or in this frame before the first of these stores. The stack arguments that
//! this function received are loaded at its entry, and are not loaded again if a tail call writes there.

use super::LowerResult;
use super::access::store_place_row;
use super::call::{Callee, Operands, direct, emit_call_or_jump, indirect};
use super::machine::LowerBackend;
use super::width::extend_for_abi;
use crate::abi::{AbiArg, AbiPart, AbiPlace};
use kingpost_ir::{Inst, SigRef, Value};
use kingpost_regalloc::{ClobberId, Operand, RegClass, VReg};

/// Lowers `return_call`.
///
/// # Errors
/// If the convention cannot pass the signature, or the call has a structure, a stack map or a debug tag.
pub fn return_call<'f>(cx: &mut impl LowerBackend<'f>, inst: Inst) -> LowerResult {
    let (callee, sig, args) = direct(cx, inst)?;
    tail_call(cx, inst, callee, sig, args)
}

/// Lowers `return_call_indirect`.
///
/// # Errors
/// If the convention cannot pass the signature, or the call has a structure, a stack map or a debug tag.
pub fn return_call_indirect<'f>(cx: &mut impl LowerBackend<'f>, inst: Inst) -> LowerResult {
    let (callee, sig, args) = indirect(cx, inst)?;
    tail_call(cx, inst, callee, sig, args)
}

fn tail_call<'f, M: LowerBackend<'f>>(
    cx: &mut M,
    inst: Inst,
    callee: Callee<'_>,
    sig: SigRef,
    args: &[Value],
) -> LowerResult {
    if cx.annotate(inst, false)?.is_some() {
        // Tail calls carry no stack maps and tags: the caller's frame is gone and there is no return address to find
        // them by.
        return Err(cx.unsupported_feature("a stack map or a debug tag of a tail call"));
    }
    let abi = cx.call_abi(sig)?;
    let mut operands = Operands::new();
    // Both areas end at the same address.
    let start = cx.abi.arg_bytes as i32 - abi.arg_bytes as i32;
    if let Some(AbiPart { place: AbiPlace::Reg(reg), .. }) = abi.return_area {
        // Results in memory are stored to this function's return area.
        operands.push(Operand::fixed_use(cx.return_area(), reg));
    }
    for (&arg, to) in args.iter().zip(&abi.args) {
        let AbiArg::Value(parts) = to else {
            // Copying the structure could overwrite it.
            return Err(cx.unsupported_feature("a structure as an argument of a tail call"));
        };
        let vregs = cx.use_regs(arg);
        for (&vreg, part) in vregs.iter().zip(parts) {
            pass(cx, vreg, part, start, &mut operands).ok_or_else(|| cx.unsupported(inst))?;
        }
    }
    cx.code.popped_bytes = cx.code.popped_bytes.max(abi.arg_bytes.into());
    let rows = cx.tail_call_rows();
    emit_call_or_jump(cx, callee, rows, &operands, ClobberId::NONE).imm = abi.arg_bytes as i32;
    Ok(())
}

/// Passes one part of an argument. The area of stack arguments begins at `start`. Returns `None` if there is no code
/// for the type.
fn pass<'f, M: LowerBackend<'f>>(
    cx: &mut M,
    vreg: VReg,
    part: &AbiPart,
    start: i32,
    operands: &mut Operands,
) -> Option<()> {
    let extended = extend_for_abi(cx, vreg, part.ty, part.extension);
    match part.place {
        AbiPlace::Reg(reg) => operands.push(Operand::fixed_use(extended, reg)),
        AbiPlace::Stack(offset) => {
            let row = if extended == vreg { store_place_row::<M>(part.ty)? } else { M::store_row(RegClass::Int, 8) };
            cx.emit_incoming_store(row, extended, start + offset as i32);
        }
    }
    Some(())
}
