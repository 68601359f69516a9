//! Read-modify-write operations on 16 bytes: a loop around `lock cmpxchg16b`.
//!
//! ```text
//!     mov      rax, [m]
//!     mov      rdx, [m + 8]
//! 1:  mov      rbx, rax
//!     mov      rcx, rdx
//!     add      rbx, low           minimum and maximum: cmp rbx, low; sbb rcx, high; mov rcx, rdx; cmovcc …
//!     adc      rcx, high
//!     lock cmpxchg16b [m]
//!     jne      1b
//! ```
//! In big-endian byte order the value is reversed into `rbx` and `rcx`, changed, and reversed again.

use crate::atomic_loop::access;
use crate::branches::jump_if;
use crate::encode::encode;
use crate::encoding::PairOp;
use crate::regs::{CC_NE, RAX, RBX, RCX, RDX};
use crate::rows::*;
use kingpost_mach::lower::invert;
use kingpost_mach::{Args, Buffer, Mem, RowId};
use kingpost_regalloc::PReg;

/// Emits the loop on the 16 bytes at `args.mem`. Registers: old value, new value, and the operand if it is not the
/// new value.
pub(crate) fn emit(operation: PairOp, is_big: bool, args: &Args<'_>, buffer: &mut Buffer) {
    let mem = args.mem.expect("the rows have a memory operand");
    access(MOV_RM.of(64), &Args { regs: &[RAX], ..*args }, buffer);
    access(MOV_RM.of(64), &Args { regs: &[RDX], mem: Some(Mem { disp: mem.disp + 8, ..mem }), ..*args }, buffer);
    let again = buffer.new_label();
    buffer.bind(again);
    if operation != PairOp::Swap {
        let &[.., low, high] = args.regs else { unreachable!("the rows have an operand") };
        copy(is_big, &[(RBX, RAX), (RCX, RDX)], buffer);
        change(operation, is_big, low, high, buffer);
        if is_big {
            put(BSWAP_R.of(64), &[RBX, RBX], buffer);
            put(BSWAP_R.of(64), &[RCX, RCX], buffer);
            put(XCHG_RR.of(64), &[RBX, RCX], buffer);
        }
    }
    access(LOCK_CMPXCHG16B_M, &Args { regs: &[RAX, RDX, RAX, RDX, RBX, RCX], ..*args }, buffer);
    jump_if(CC_NE, again, buffer);
}

fn put(row: RowId, regs: &[PReg], buffer: &mut Buffer) {
    encode(row, &Args::regs(regs), buffer);
}

/// Copies halves of the old value in the byte order of the machine. `halves` names them as in little-endian byte order.
/// Keeps the flags.
fn copy(is_big: bool, halves: &[(PReg, PReg)], buffer: &mut Buffer) {
    for &(to, from) in halves {
        if is_big {
            let other = if from == RAX { RDX } else { RAX };
            put(MOV_RR.of(64), &[to, other], buffer);
            put(BSWAP_R.of(64), &[to, to], buffer);
        } else {
            put(MOV_RR.of(64), &[to, from], buffer);
        }
    }
}

/// Changes the value in rbx and rcx.
fn change(operation: PairOp, is_big: bool, low: PReg, high: PReg, buffer: &mut Buffer) {
    let (first, second) = match operation {
        PairOp::Add => (ADD_RR, ADC_RR),
        PairOp::And | PairOp::Nand => (AND_RR, AND_RR),
        PairOp::Or => (OR_RR, OR_RR),
        PairOp::Xor => (XOR_RR, XOR_RR),
        PairOp::Keep(condition) => {
            put(CMP_RR.of(64), &[RBX, low], buffer);
            put(SBB_RR.of(64), &[RCX, RCX, high], buffer);
            // The subtraction has changed the upper half.
            copy(is_big, &[(RCX, RDX)], buffer);
            for (half, operand) in [(RBX, low), (RCX, high)] {
                encode(CMOV_RR.of(64), &Args::imm(&[half, half, operand], i64::from(invert(condition))), buffer);
            }
            return;
        }
        PairOp::Swap => unreachable!("nothing changes"),
    };
    put(first.of(64), &[RBX, RBX, low], buffer);
    put(second.of(64), &[RCX, RCX, high], buffer);
    if operation == PairOp::Nand {
        put(NOT_R.of(64), &[RBX, RBX], buffer);
        put(NOT_R.of(64), &[RCX, RCX], buffer);
    }
}
