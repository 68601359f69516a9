//! Plain instructions: an optional def, then uses, all in any registers; one use may be in memory if its value is
//! there. They have no clobbers.
//!
//! ```text
//! s = add v0, v1; s reuse 0; s in r2 below, v1 in r1 below      v0 is met first: r2, the register of s
//! ```
//!
//! Uses keep their registers from below. The def frees its register. Then the remaining uses take registers, the
//! def's register first. If none is free, another value gives up its register, and is filled again after the
//! instruction.
//!
//! Without this path, compilation takes 43 % more instructions, and code is 2 % longer (`make gate`, `x86_64 fused
//! none`).

use crate::selected::{is_copy, range};
use crate::walk::{FewRegs, Fused};
use kingpost_mach::{LowerCtx, PlainOperands};
use kingpost_regalloc::{InstFlags, VReg};
use kingpost_regalloc_common::preference::{Masks, Reg};

const TOO_MANY: &str = "an instruction that needs more registers than there are";

impl Fused {
    /// Allocates a plain instruction that ends a block and for which enough registers are free.
    #[inline(never)]
    pub(crate) fn plain_terminator(&mut self, lower: &mut LowerCtx<'_>, at: usize, plain: &PlainOperands) {
        self.plain(lower, at, plain, false);
    }

    /// Allocates a plain instruction. Without `can_evict` there must be enough registers.
    #[inline(always)]
    pub(crate) fn plain(&mut self, lower: &mut LowerCtx<'_>, at: usize, plain: &PlainOperands, can_evict: bool) {
        // The last entry is the register that the tied use is copied from.
        let mut regs: FewRegs = [Reg::NONE; PlainOperands::MOST + 1];
        let mut vregs = [VReg::from_u32(0); PlainOperands::MOST];
        let (mut missing, mut new) = (0u32, 0u32);
        let record = &lower.sequence()[at];
        let (flags, first) = (record.flags, record.operands.0 as usize);
        let operands = &lower.operands()[range(record)];
        let count = operands.len().min(PlainOperands::MOST);
        let clock = self.state.clock;
        for (k, operand) in operands[..count].iter().enumerate() {
            vregs[k] = operand.vreg();
            let value = self.state.value_mut(vregs[k]);
            regs[k] = value.reg;
            missing |= u32::from(regs[k].is_none()) << k;
            new |= u32::from(std::mem::replace(&mut value.last_visit, clock) == 0) << k;
        }
        // A separate loop, so that the loop above calls no function.
        while new != 0 {
            self.first_visit(lower, vregs[new.trailing_zeros() as usize]);
            new &= new - 1;
        }
        // A free register that only the tied use may take.
        let mut copied_to = Masks::default();
        let mut copy = None;
        let mut prefer = Reg::NONE;
        if plain.has_def {
            missing &= !1;
            let def = match self.state.release(regs[0]) {
                Some(_) => regs[0],
                None if flags.has(InstFlags::REMAT) && !self.state.value(vregs[0]).is_stored => {
                    return self.drop_inst(lower, at, Reg::NONE);
                }
                // No code below has it in a register: it takes one for this instruction.
                None => {
                    let free = self.free_register(vregs[0], &[0; 2], Reg::NONE);
                    let found = free.or_else(|| self.evict(lower, vregs[0], &regs, can_evict));
                    let Some(reg) = found else { return self.refuse(TOO_MANY) };
                    self.state.touch(reg);
                    reg
                }
            };
            (regs[0], prefer) = (def, def);
            self.store(vregs[0], def);
            let tied = usize::from(plain.tied);
            if tied != 0 {
                // The tied use is in the register of the def, or is copied into it.
                let read = self.state.value(vregs[tied]);
                if read.reg.is_none() {
                    self.put(def, vregs[tied]);
                } else if read.reg != def {
                    copy = Some((read.reg, def, read.width));
                    regs[PlainOperands::MOST] = read.reg;
                    copied_to[def.class()] = def.bit();
                }
                regs[tied] = def;
                missing &= !(1 << tied);
            }
        }
        let mut slot = None;
        while missing != 0 {
            let k = missing.trailing_zeros() as usize;
            missing &= missing - 1;
            let value = self.state.value(vregs[k]);
            regs[k] = value.reg;
            if !value.reg.is_none() {
                continue;
            }
            if value.is_stored && !lower.operands()[first + k].is_reg() {
                match self.register_since_definition(lower, vregs[k], &copied_to) {
                    Some(reg) => {
                        self.put(reg, vregs[k]);
                        regs[k] = reg;
                    }
                    None => slot = Some(self.slot(vregs[k])),
                }
                continue;
            }
            let free = self.free_register(vregs[k], &copied_to, prefer);
            let found = free.or_else(|| self.evict(lower, vregs[k], &regs, can_evict));
            let Some(reg) = found else { return self.refuse(TOO_MANY) };
            self.put(reg, vregs[k]);
            regs[k] = reg;
        }
        if flags.has(InstFlags::MOVE) && regs[0] == regs[1] && is_copy(lower, &lower.operands()[first..first + count]) {
            self.drop_inst(lower, at, regs[0]);
        } else {
            self.push_plain(lower, at, &regs, count, slot);
        }
        if let Some((from, to, width)) = copy {
            self.push_copy(from, to, width);
        }
    }
}
