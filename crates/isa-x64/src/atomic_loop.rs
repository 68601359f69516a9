//! Read-modify-write operations that have no instruction of their own: a loop around `lock cmpxchg`.
//!
//! ```text
//!     mov      eax, [m]
//! 1:  mov      tmp, eax           minimum and maximum: mov tmp, value; cmp eax, value; cmovcc tmp, eax
//!     and      tmp, value
//!     lock cmpxchg [m], tmp
//!     jne      1b
//! ```
//! In big-endian byte order `tmp` is reversed, changed, and reversed again. The loop is one row because nothing may
//! be spilled or filled between its load and its store.

use crate::branches::jump_if;
use crate::encode::encode;
use crate::encoding::LoopOp;
use crate::regs::{CC_NE, RAX};
use crate::rows::*;
use kingpost_mach::lower::invert;
use kingpost_mach::{Args, Buffer, RowId};
use kingpost_regalloc::PReg;

/// The rows of one width in bytes.
struct Rows {
    load: RowId,
    copy: RowId,
    and: RowId,
    or: RowId,
    xor: RowId,
    not: RowId,
    add: RowId,
    cmp: RowId,
    select: RowId,
    /// Reversal of the bytes. The immediate is for the rotation that reverses 16 bits.
    reverse: RowId,
    exchange: RowId,
}

/// Rows of 32 bits. Registers hold at least 32 bits, so only loads, compares and exchanges have narrower rows.
const NARROW: Rows = Rows {
    load: MOV_RM.of(32),
    copy: MOV_RR.of(32),
    and: AND_RR.of(32),
    or: OR_RR.of(32),
    xor: XOR_RR.of(32),
    not: NOT_R.of(32),
    add: ADD_RR.of(32),
    cmp: CMP_RR.of(32),
    select: CMOV_RR.of(32),
    reverse: BSWAP_R.of(32),
    exchange: LOCK_CMPXCHG_MR.of(32),
};

/// Rows by the binary logarithm of the width.
const WIDTHS: [Rows; 4] = [
    Rows { load: MOVZX32_RM.of(8), cmp: CMP_RR.of(8), exchange: LOCK_CMPXCHG_MR.of(8), ..NARROW },
    Rows {
        load: MOVZX32_RM.of(16),
        cmp: CMP_RR.of(16),
        reverse: ROL_RI.of(16),
        exchange: LOCK_CMPXCHG_MR.of(16),
        ..NARROW
    },
    NARROW,
    Rows {
        load: MOV_RM.of(64),
        copy: MOV_RR.of(64),
        and: AND_RR.of(64),
        or: OR_RR.of(64),
        xor: XOR_RR.of(64),
        not: NOT_R.of(64),
        add: ADD_RR.of(64),
        cmp: CMP_RR.of(64),
        select: CMOV_RR.of(64),
        reverse: BSWAP_R.of(64),
        exchange: LOCK_CMPXCHG_MR.of(64),
    },
];

/// Emits the loop on `bytes` bytes at `args.mem`. Registers: old value (rax), temporary, operand.
pub(crate) fn emit(operation: LoopOp, bytes: u8, args: &Args<'_>, buffer: &mut Buffer) {
    let w = &WIDTHS[bytes.trailing_zeros() as usize];
    let &[_, tmp, value] = args.regs else { unreachable!("the rows have three operands") };
    let with_mem = |regs| Args { regs, ..*args };
    let put = |row, regs: &[PReg], buffer: &mut Buffer| encode(row, &Args::regs(regs), buffer);
    let reverse = |buffer: &mut Buffer| encode(w.reverse, &Args::imm(&[tmp, tmp], 8), buffer);
    access(w.load, &with_mem(&[RAX]), buffer);
    let again = buffer.new_label();
    buffer.bind(again);
    match operation {
        LoopOp::Keep(condition) => {
            put(w.copy, &[tmp, value], buffer);
            put(w.cmp, &[RAX, value], buffer);
            encode(w.select, &Args::imm(&[tmp, tmp, RAX], i64::from(condition)), buffer);
        }
        LoopOp::And | LoopOp::Nand => {
            put(w.copy, &[tmp, RAX], buffer);
            put(w.and, &[tmp, tmp, value], buffer);
            if operation == LoopOp::Nand {
                put(w.not, &[tmp, tmp], buffer);
            }
        }
        LoopOp::Or => {
            put(w.copy, &[tmp, RAX], buffer);
            put(w.or, &[tmp, tmp, value], buffer);
        }
        LoopOp::Xor => {
            put(w.copy, &[tmp, RAX], buffer);
            put(w.xor, &[tmp, tmp, value], buffer);
        }
        LoopOp::AddBig => {
            put(w.copy, &[tmp, RAX], buffer);
            reverse(buffer);
            put(w.add, &[tmp, tmp, value], buffer);
            reverse(buffer);
        }
        LoopOp::KeepBig(condition) => {
            put(w.copy, &[tmp, RAX], buffer);
            reverse(buffer);
            put(w.cmp, &[tmp, value], buffer);
            encode(w.select, &Args::imm(&[tmp, tmp, value], i64::from(invert(condition))), buffer);
            reverse(buffer);
        }
    }
    access(w.exchange, &with_mem(&[RAX, RAX, tmp]), buffer);
    jump_if(CC_NE, again, buffer);
}

/// Emits an access to memory, which may trap: memory that can be read may not be writable.
pub(crate) fn access(row: RowId, args: &Args<'_>, buffer: &mut Buffer) {
    if let Some(code) = args.trap {
        buffer.trap(code);
    }
    encode(row, args, buffer);
}
