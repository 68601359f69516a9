//! The check at the start of a function that its frame stays above the stack limit.
//!
//! ```text
//! stp  x29, x30, [sp, #-16]!     where there is a frame: walks along frame pointers find the caller from the trap
//! mov  x29, sp
//! ldr  x16, [x0, #8]             the limit
//! sub  x17, sp, #bytes           where the stack pointer is going to be; or cmp sp, x16, if it is there
//! cmp  x17, x16
//! b.lo trap                      after all blocks: a branch that is never taken
//! ```
//! No register is saved yet, and `x16` and `x17` hold no values.

use crate::branches::jump_if;
use crate::encode::encode;
use crate::immediates::{Extend, add_sub, extended};
use crate::regs::{CC_LO, SP, X16, X17};
use crate::rows;
use kingpost_ir::TrapCode;
use kingpost_mach::{Args, Buffer, LimitStep, Mem, MemBase, StackLimit};
use kingpost_regalloc::PReg;

/// Number of bytes that always remain between address zero and the stack.
const SMALL: u64 = 1 << 15;

/// Emits the check that the stack pointer may move down by `bytes`.
pub(crate) fn emit(limit: &StackLimit, bytes: u64, buffer: &mut Buffer) {
    let limit = compute(limit, buffer);
    let trap = buffer.defer_prologue_trap(TrapCode::STACK_OVERFLOW);
    if bytes == 0 {
        encode(rows::CMPSP_R, &Args::regs(&[limit]), buffer);
    } else if bytes < SMALL {
        move_down(bytes, buffer);
        encode(rows::CMP_RR.of(64), &Args::regs(&[X17, limit]), buffer);
    } else {
        // Compute the free space, so that nothing wraps around.
        encode(rows::MOV64_FROM_SP, &Args::regs(&[X17]), buffer);
        encode(rows::SUBS_RRR.of(64), &Args::regs(&[X17, X17, limit]), buffer);
        jump_if(CC_LO, trap, buffer);
        encode(rows::CONST_I.of(64), &Args::imm(&[X16], bytes as i64), buffer);
        encode(rows::CMP_RR.of(64), &Args::regs(&[X17, X16]), buffer);
    }
    jump_if(CC_LO, trap, buffer);
}

/// Sets `x17` to the stack pointer less `bytes`.
fn move_down(bytes: u64, buffer: &mut Buffer) {
    if add_sub(bytes).is_some() {
        encode(rows::SUB_RRI.of(64), &Args::imm(&[X17, SP], bytes as i64), buffer);
    } else {
        encode(rows::CONST_I.of(64), &Args::imm(&[X17], bytes as i64), buffer);
        let whole = i64::from(extended(Extend::Uxtx, 0));
        encode(rows::SUB_RRX.of(64), &Args::imm(&[X17, SP, X17], whole), buffer);
    }
}

/// Returns the register of the limit: the parameter itself, or `x16`, where the limit is computed.
fn compute(limit: &StackLimit, buffer: &mut Buffer) -> PReg {
    let mut at = limit.base;
    for &step in &limit.steps {
        let (row, offset, trap) = match step {
            LimitStep::Load { offset, trap } => (rows::LDR_RM.of(64), offset, trap),
            LimitStep::Add(offset) => (rows::ADDR64_RM, offset, None),
        };
        let mem = Some(Mem::base(MemBase::Reg(at), i64::from(offset)));
        encode(row, &Args { regs: &[X16], mem, trap, ..Args::default() }, buffer);
        at = X16;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::regs::x;

    fn code(steps: &[LimitStep], bytes: u64) -> Vec<u32> {
        let mut buffer = Buffer::default();
        buffer.start(0);
        emit(&StackLimit { base: x(0), steps: steps.into() }, bytes, &mut buffer);
        let words = buffer.bytes().as_chunks::<4>().0.iter();
        // Words of branches are filled in later and are zero here.
        words.map(|word| u32::from_le_bytes(*word)).filter(|&word| word != 0).collect()
    }

    #[test]
    fn the_limit_is_loaded_step_by_step() {
        // sub x17, sp, #32; cmp x17, x0
        assert_eq!(code(&[], 32), [0xd100_83f1, 0xeb00_023f]);
        // cmp sp, x0
        assert_eq!(code(&[], 0), [0xeb20_63ff]);
        let steps = [LimitStep::Load { offset: 8, trap: None }, LimitStep::Add(16)];
        // ldr x16, [x0, #8]; add x16, x16, #16; sub x17, sp, #32; cmp x17, x16
        assert_eq!(code(&steps, 32), [0xf940_0410, 0x9100_4210, 0xd100_83f1, 0xeb10_023f]);
    }

    #[test]
    fn large_frames_are_compared_with_what_there_is() {
        // mov x17, sp; subs x17, x17, x0; movz x16, #1, lsl #16; cmp x17, x16
        assert_eq!(code(&[], 1 << 16), [0x9100_03f1, 0xeb00_0231, 0xd2a0_0030, 0xeb10_023f]);
    }
}
