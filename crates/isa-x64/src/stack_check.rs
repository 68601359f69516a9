//! The check at the start of a function that its frame stays above the stack limit.
//!
//! ```text
//! push rbp                       where there is a frame: walks along frame pointers find the caller from the trap
//! mov  rbp, rsp
//! mov  r10, [rdi + 8]            what the limit is computed from; the last load is an operand
//! lea  r11, [rsp - bytes]        where the stack pointer is going to be, but for the word of the link
//! cmp  r11, [r10 + 16]
//! jb   trap                      after all blocks: a branch that is never taken
//! ```
//! No register is saved yet, and every convention that has this check leaves `r10` and `r11` free.

use crate::branches::jump_if;
use crate::encode::encode;
use crate::regs::{CC_B, R10, R11};
use crate::rows;
use kingpost_ir::TrapCode;
use kingpost_mach::{Args, Buffer, LimitStep, Mem, MemBase, StackLimit};
use kingpost_regalloc::PReg;

/// Number of bytes that always remain between address zero and the stack.
const SMALL: u64 = 1 << 15;

/// The limit, as the operand of the comparison.
#[derive(Clone, Copy)]
enum Limit {
    Reg(PReg),
    Mem(Mem, Option<TrapCode>),
}

/// Emits the check that the stack pointer may move down by `bytes`.
pub(crate) fn emit(limit: &StackLimit, bytes: u64, buffer: &mut Buffer) {
    let limit = compute(limit, buffer);
    let trap = buffer.defer_prologue_trap(TrapCode::STACK_OVERFLOW);
    if bytes < SMALL {
        let end = Mem::base(MemBase::StackPointer, -(bytes as i64));
        encode(rows::LEA_RM.of(64), &Args::mem(&[R11], end), buffer);
        match limit {
            Limit::Reg(reg) => encode(rows::CMP_RR.of(64), &Args::regs(&[R11, reg]), buffer),
            Limit::Mem(mem, trap) => {
                note(trap, buffer);
                encode(rows::CMP_RM.of(64), &Args::mem(&[R11], mem), buffer);
            }
        }
    } else {
        // Compute the free space, so that nothing wraps around.
        encode(rows::MOV64_FROM_RSP, &Args::regs(&[R11]), buffer);
        match limit {
            Limit::Reg(reg) => encode(rows::SUB_RR.of(64), &Args::regs(&[R11, R11, reg]), buffer),
            Limit::Mem(mem, trap) => {
                note(trap, buffer);
                encode(rows::SUB_RM.of(64), &Args::mem(&[R11, R11], mem), buffer);
            }
        }
        jump_if(CC_B, trap, buffer);
        encode(rows::CMP_RI.of(64), &Args::imm(&[R11], bytes as i64), buffer);
    }
    jump_if(CC_B, trap, buffer);
}

/// Computes the limit in `r10`, except for a last load, which the comparison does.
fn compute(limit: &StackLimit, buffer: &mut Buffer) -> Limit {
    let mut at = Limit::Reg(limit.base);
    for &step in &limit.steps {
        let reg = match at {
            Limit::Reg(reg) => reg,
            Limit::Mem(mem, trap) => {
                note(trap, buffer);
                encode(rows::MOV_RM.of(64), &Args::mem(&[R10], mem), buffer);
                R10
            }
        };
        at = match step {
            LimitStep::Load { offset, trap } => Limit::Mem(Mem::base(MemBase::Reg(reg), i64::from(offset)), trap),
            LimitStep::Add(offset) => {
                let sum = Mem::base(MemBase::Reg(reg), i64::from(offset));
                encode(rows::LEA_RM.of(64), &Args::mem(&[R10], sum), buffer);
                Limit::Reg(R10)
            }
        };
    }
    at
}

fn note(trap: Option<TrapCode>, buffer: &mut Buffer) {
    if let Some(code) = trap {
        buffer.trap(code);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::regs::RDI;

    fn code(steps: &[LimitStep], bytes: u64) -> String {
        let mut buffer = Buffer::default();
        buffer.start(0);
        emit(&StackLimit { base: RDI, steps: steps.into() }, bytes, &mut buffer);
        buffer.bytes().iter().map(|b| format!("{b:02x}")).collect()
    }

    #[test]
    fn the_last_load_is_an_operand() {
        let load = |offset| LimitStep::Load { offset, trap: None };
        // lea r11, [rsp - 24]; cmp r11, rdi; jb. Distances are filled in later.
        assert_eq!(code(&[], 24), "4c8d5c24e84939fb0000");
        // lea r11, [rsp - 24]; cmp r11, [rdi + 8]; jb
        assert_eq!(code(&[load(8)], 24), "4c8d5c24e84c3b5f080000");
        // mov r10, [rdi + 8]; lea r11, [rsp - 24]; cmp r11, [r10 + 16]; jb
        assert_eq!(code(&[load(8), load(16)], 24), "4c8b57084c8d5c24e84d3b5a100000");
        // mov r10, [rdi + 8]; lea r10, [r10 + 4]; lea r11, [rsp - 24]; cmp r11, r10; jb
        assert_eq!(code(&[load(8), LimitStep::Add(4)], 24), "4c8b57084d8d52044c8d5c24e84d39d30000");
    }

    #[test]
    fn large_frames_are_compared_with_what_there_is() {
        // mov r11, rsp; sub r11, [rdi + 8]; jb; cmp r11, 65536; jb
        let load = LimitStep::Load { offset: 8, trap: None };
        assert_eq!(code(&[load], 1 << 16), "4989e34c2b5f0800004981fb000001000000");
    }
}
