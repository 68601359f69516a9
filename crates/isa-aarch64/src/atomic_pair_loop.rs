//! Atomic operations on 16 bytes: a loop of exclusive load and store. A load alone is not atomic, so an operation
//! that only reads stores the value again (Arm Architecture Reference Manual, B2.2.1).
//!
//! ```text
//! 1:  ldaxp    old, old_high, [m]
//!     adds     new, old, low          minimum and maximum: cmp old, low; sbcs x17, old_high, high; csel …
//!     adc      new_high, old_high, high
//!     stlxp    w17, new, new_high, [m]
//!     cbnz     w17, 1b
//! ```
//! In big-endian byte order the old value is reversed into the registers of the new one, changed, and reversed again.

use crate::address;
use crate::atomic_loop::repeat;
use crate::encode::encode;
use crate::encoding::PairOp;
use crate::immediates;
use crate::regs::{CC_EQ, X17};
use crate::rows::*;
use kingpost_mach::{Args, Buffer, Mem, MemBase};
use kingpost_regalloc::PReg;

/// Emits the loop on the 16 bytes at `args.mem`. Registers: old value, new value unless it is the old value or an
/// operand, operands.
pub(crate) fn emit(operation: PairOp, is_big: bool, args: &Args<'_>, buffer: &mut Buffer) {
    let mem = args.mem.expect("the rows have a memory operand");
    let place = Mem::base(MemBase::Reg(address::base(mem, args, buffer)), 0);
    let again = buffer.new_label();
    buffer.bind(again);
    let args = Args { mem: Some(place), ..*args };
    let old = [args.regs[0], args.regs[1]];
    encode(LDAXP64_RRM, &Args { regs: &old, ..args }, buffer);
    let [low, high] = modify(operation, is_big, old, args.regs, buffer);
    encode(STLXP64_RMRR, &Args { regs: &[X17, low, high], ..args }, buffer);
    repeat(again, buffer);
}

/// Emits the instructions between load and store, and returns the registers to store.
fn modify(operation: PairOp, is_big: bool, old: [PReg; 2], regs: &[PReg], buffer: &mut Buffer) -> [PReg; 2] {
    let mut put = |row, regs: &[PReg], imm: i32| encode(row, &Args::imm(regs, i64::from(imm)), buffer);
    match operation {
        PairOp::Read => return old,
        PairOp::Swap => return [regs[2], regs[3]],
        _ => {}
    }
    let (new, operand) = ([regs[2], regs[3]], [regs[4], regs[5]]);
    let mut value = old;
    if is_big {
        put(REV_RR.of(64), &[new[0], old[1]], 0);
        put(REV_RR.of(64), &[new[1], old[0]], 0);
        value = new;
    }
    let rows = match operation {
        PairOp::CompareExchange => {
            put(CMP_RR.of(64), &[old[0], operand[0]], 0);
            // If the lower halves differ, the flags are all clear, so that `eq` fails.
            put(CCMP_RR.of(64), &[old[1], operand[1]], immediates::compare(CC_EQ, 0, 0));
            for k in 0..2 {
                put(CSEL_RRR.of(64), &[new[k], regs[6 + k], old[k]], CC_EQ);
            }
            return new;
        }
        PairOp::Keep(condition) => {
            put(CMP_RR.of(64), &[value[0], operand[0]], 0);
            put(SBCS_RRR.of(64), &[X17, value[1], operand[1]], 0);
            for k in 0..2 {
                put(CSEL_RRR.of(64), &[new[k], value[k], operand[k]], condition);
            }
            None
        }
        PairOp::Add => Some([ADDS_RRR, ADC_RRR]),
        PairOp::And | PairOp::Nand => Some([AND_RRR, AND_RRR]),
        PairOp::Or => Some([ORR_RRR, ORR_RRR]),
        PairOp::Xor => Some([EOR_RRR, EOR_RRR]),
        PairOp::Read | PairOp::Swap => unreachable!("nothing changes"),
    };
    for (k, row) in rows.into_iter().flatten().enumerate() {
        put(row.of(64), &[new[k], value[k], operand[k]], 0);
    }
    if operation == PairOp::Nand {
        for half in new {
            put(MVN_RR.of(64), &[half, half], 0);
        }
    }
    if is_big {
        for half in new {
            put(REV_RR.of(64), &[half, half], 0);
        }
        return [new[1], new[0]];
    }
    new
}
