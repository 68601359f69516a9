//! Parts of prologues and epilogues of every style.

use crate::branches::jump_if;
use crate::encode::encode;
use crate::immediates::{Extend, extended};
use crate::regs::{CC_NE, SP, X16, X17};
use crate::rows;
use kingpost_ir::TrapCode;
use kingpost_mach::{Args, Buffer, FrameLayout, Mem, MemBase, RowId};

/// Size of the return address and the caller's frame pointer in bytes.
pub(crate) const LINK_BYTES: u32 = 16;
/// Largest amount, in bytes, that an access to a pair adds to the stack pointer.
pub(crate) const MAX_IN_ONE_STEP: u64 = 504;
/// Largest number of probes that are unrolled; more become a loop.
const MAX_UNROLLED: u64 = 4;

/// Returns the number of bytes from the frame pointer up to the CFA.
pub(crate) fn above_frame_pointer(frame: &FrameLayout) -> u32 {
    LINK_BYTES + (frame.size - frame.below_frame_pointer()) as u32
}

/// Moves the stack pointer down. If `guard` is given, touches each guard page of a larger move.
pub(crate) fn descend(bytes: u64, guard: Option<u64>, buffer: &mut Buffer) {
    match guard {
        Some(guard) if bytes > guard => probe(bytes, guard, buffer),
        _ => move_down(bytes, buffer),
    }
}

/// Moves the stack pointer down. The amount is a multiple of 16, and the stack pointer is aligned after each
/// instruction.
fn move_down(bytes: u64, buffer: &mut Buffer) {
    let (low, high) = (bytes & 0xfff, bytes & 0xfff000);
    if bytes >> 24 != 0 {
        encode(rows::CONST_I.of(64), &Args::imm(&[X17], bytes as i64), buffer);
        encode(rows::SUBSP_R, &Args::regs(&[X17]), buffer);
        return;
    }
    for part in [high, low] {
        if part != 0 {
            encode(rows::SUBSP_I, &Args::imm(&[], part as i64), buffer);
        }
    }
}

/// Moves the stack pointer down by `bytes` in steps of `guard`, touching memory after each whole step.
fn probe(bytes: u64, guard: u64, buffer: &mut Buffer) {
    let steps = bytes / guard;
    if steps <= MAX_UNROLLED {
        for _ in 0..steps {
            step(guard, buffer);
        }
    } else {
        encode(rows::CONST_I.of(64), &Args::imm(&[X16], (steps * guard) as i64), buffer);
        let whole = i64::from(extended(Extend::Uxtx, 0));
        encode(rows::SUB_RRX.of(64), &Args::imm(&[X16, SP, X16], whole), buffer);
        let again = buffer.new_label();
        buffer.bind(again);
        step(guard, buffer);
        encode(rows::CMPSP_R, &Args::regs(&[X16]), buffer);
        jump_if(CC_NE, again, buffer);
    }
    move_down(bytes % guard, buffer);
}

/// Moves the stack pointer down by `guard` and touches the memory there. A fault means that the stack is exhausted.
fn step(guard: u64, buffer: &mut Buffer) {
    move_down(guard, buffer);
    let mem = Some(Mem::base(MemBase::StackPointer, 0));
    encode(rows::STR_MZ.of(64), &Args { mem, trap: Some(TrapCode::STACK_OVERFLOW), ..Args::default() }, buffer);
}

/// Returns the row that stores or loads two saved registers.
pub(crate) fn pair_row(int: bool, store: bool) -> RowId {
    match (int, store) {
        (true, true) => rows::STP_MRR.of(64),
        (true, false) => rows::LDP_RRM.of(64),
        (false, true) => rows::STP_MFF.of(128),
        (false, false) => rows::LDP_FFM.of(128),
    }
}

/// Returns the row that stores or loads a saved register.
pub(crate) fn single_row(int: bool, store: bool) -> RowId {
    match (int, store) {
        (true, true) => rows::STR_MR.of(64),
        (true, false) => rows::LDR_RM.of(64),
        (false, true) => rows::STR_MF.of(128),
        (false, false) => rows::LDR_FM.of(128),
    }
}
