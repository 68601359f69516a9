//! Read-modify-write operations on CPUs without instructions for them: a loop of exclusive load and store.
//!
//! ```text
//! 1:  ldaxr    old, [m]
//!     and      tmp, old, value    minimum and maximum: cmp old, value; csel tmp, old, value, cc
//!     stlxr    w17, tmp, [m]
//!     cbnz     w17, 1b
//! ```
//! In big-endian byte order the old value is reversed before the operation, and the new value after it. The loop is
//! one row because nothing may be spilled or filled between its load and its store: another access may end the
//! exclusive state. An address that is more than a register is computed into x16 first.

use crate::address;
use crate::branches::{jump_if, jump_test};
use crate::encode::encode;
use crate::encoding::LoopOp;
use crate::immediates::{Extend, extended};
use crate::plain::word;
use crate::regs::{CC_NE, X17};
use crate::rows::*;
use kingpost_mach::{Args, Buffer, Label, Mem, MemBase, Regs, RowId};
use kingpost_regalloc::PReg;

/// The rows of one width in bytes.
struct Rows {
    load: RowId,
    store: RowId,
    add: RowId,
    sub: RowId,
    and: RowId,
    or: RowId,
    xor: RowId,
    not: RowId,
    reverse: RowId,
    select: RowId,
    /// Comparisons with operand 1 as it is, zero-extended, and sign-extended.
    cmp: RowId,
    unsigned: i32,
    signed: i32,
    /// Sign extension of the old value, which the load has zero-extended.
    widen: Option<RowId>,
}

/// Rows of 32 bits. Registers hold at least 32 bits, so only loads, compares and stores have narrower rows.
const NARROW: Rows = Rows {
    load: LDAXR_RM.of(32),
    store: STLXR_RMR.of(32),
    add: ADD_RRR.of(32),
    sub: SUB_RRR.of(32),
    and: AND_RRR.of(32),
    or: ORR_RRR.of(32),
    xor: EOR_RRR.of(32),
    not: MVN_RR.of(32),
    reverse: REV_RR.of(32),
    select: CSEL_RRR.of(32),
    cmp: CMP_RX.of(32),
    unsigned: extended(Extend::Uxtw, 0),
    signed: extended(Extend::Uxtw, 0),
    widen: None,
};

/// Rows by the binary logarithm of the width.
const WIDTHS: [Rows; 4] = [
    Rows {
        load: LDAXR_RM.of(8),
        store: STLXR_RMR.of(8),
        unsigned: extended(Extend::Uxtb, 0),
        signed: extended(Extend::Sxtb, 0),
        widen: Some(SXTB_RR.of(32)),
        ..NARROW
    },
    Rows {
        load: LDAXR_RM.of(16),
        store: STLXR_RMR.of(16),
        unsigned: extended(Extend::Uxth, 0),
        signed: extended(Extend::Sxth, 0),
        widen: Some(SXTH_RR.of(32)),
        reverse: REV16_RR.of(32),
        ..NARROW
    },
    NARROW,
    Rows {
        load: LDAXR_RM.of(64),
        store: STLXR_RMR.of(64),
        add: ADD_RRR.of(64),
        sub: SUB_RRR.of(64),
        and: AND_RRR.of(64),
        or: ORR_RRR.of(64),
        xor: EOR_RRR.of(64),
        not: MVN_RR.of(64),
        reverse: REV_RR.of(64),
        select: CSEL_RRR.of(64),
        cmp: CMP_RX.of(64),
        unsigned: extended(Extend::Uxtx, 0),
        signed: extended(Extend::Uxtx, 0),
        widen: None,
    },
];

/// Emits the loop on `bytes` bytes at `args.mem`. Registers: old value, temporary if any, operands.
pub(crate) fn emit(operation: LoopOp, bytes: u8, args: &Args<'_>, buffer: &mut Buffer) {
    let mem = args.mem.expect("the rows have a memory operand");
    let place = Mem::base(MemBase::Reg(address::base(mem, args, buffer)), 0);
    let again = buffer.new_label();
    buffer.bind(again);
    let args = Args { mem: Some(place), ..*args };
    let w = &WIDTHS[bytes.trailing_zeros() as usize];
    let old = args.regs[0];
    encode(w.load, &Args { regs: &[old], ..args }, buffer);
    let done = buffer.new_label();
    let stored = modify(operation, w, args.regs, done, buffer);
    encode(w.store, &Args { regs: &[X17, stored], ..args }, buffer);
    repeat(again, buffer);
    buffer.bind(done);
}

/// Branches to `again` if the exclusive store failed.
pub(crate) fn repeat(again: Label, buffer: &mut Buffer) {
    let cbnz = &ENCODINGS[usize::from(CBNZ_R.of(32).0)];
    jump_test(word(cbnz, Regs::of(&[X17]), 0), again, buffer);
}

/// Emits the instructions between load and store, and returns the register to store.
fn modify(operation: LoopOp, w: &Rows, regs: &[PReg], done: Label, buffer: &mut Buffer) -> PReg {
    let mut put = |row, regs: &[PReg], imm: i32| encode(row, &Args::imm(regs, i64::from(imm)), buffer);
    let (old, tmp) = (regs[0], regs[1]);
    let row = match operation {
        LoopOp::Swap => return regs[1],
        LoopOp::CompareExchange => {
            put(w.cmp, &[old, regs[1]], w.unsigned);
            jump_if(CC_NE, done, buffer);
            return regs[2];
        }
        LoopOp::Keep(condition, signed) | LoopOp::KeepBig(condition, signed) => {
            let mut kept = old;
            if let LoopOp::KeepBig(..) = operation {
                put(w.reverse, &[tmp, old], 0);
                kept = tmp;
            }
            if let Some(widen) = w.widen.filter(|_| signed) {
                put(widen, &[tmp, kept], 0);
                kept = tmp;
            }
            put(w.cmp, &[kept, regs[2]], if signed { w.signed } else { w.unsigned });
            put(w.select, &[tmp, kept, regs[2]], condition);
            if let LoopOp::KeepBig(..) = operation {
                put(w.reverse, &[tmp, tmp], 0);
            }
            return tmp;
        }
        LoopOp::AddBig => {
            put(w.reverse, &[tmp, old], 0);
            put(w.add, &[tmp, tmp, regs[2]], 0);
            put(w.reverse, &[tmp, tmp], 0);
            return tmp;
        }
        LoopOp::Add => w.add,
        LoopOp::Sub => w.sub,
        LoopOp::And | LoopOp::Nand => w.and,
        LoopOp::Or => w.or,
        LoopOp::Xor => w.xor,
    };
    put(row, &[tmp, old, regs[2]], 0);
    if operation == LoopOp::Nand {
        put(w.not, &[tmp, tmp], 0);
    }
    tmp
}
