//! Instructions whose operands may be in any register: no clobbers, uses before defs, each use in a register or, if it is
//! there anyway, in memory.
//!
//! ```text
//! s = add v0, v1; s reuse 0; s in r2 below, v1 in r1 below      v0 is met first: r2, the register of s
//! ```
//!
//! Uses keep the registers that they have below; defs leave theirs; then the uses met first take registers, those just left
//! among them. Where none is free a value from further up is filled behind the instruction.

use crate::walk::{Fused, Selected};
use kingpost_mach::Lower;
use kingpost_regalloc::{EditKind, InstFlags, Loc};
use kingpost_regalloc_common::preference::{Masks, Reg};

impl Fused {
    /// Serves a plain instruction. Without `can_evict` there are registers enough.
    #[inline]
    pub(crate) fn plain(&mut self, lower: &mut Lower<'_>, selected: &Selected<'_>, can_evict: bool) {
        let operands = selected.operands;
        let mut locs = [Loc::NONE; 8];
        let (mut busy, mut missing) = (Masks::default(), 0u32);
        let mut has_def = false;
        for (k, operand) in operands.iter().enumerate() {
            self.meet(lower, operand.vreg());
            let reg = self.state.value(operand.vreg()).reg;
            if operand.is_def() {
                has_def = true;
            } else if reg.is_none() {
                missing |= 1 << k;
            } else {
                busy[reg.class()] |= reg.bit();
                locs[k] = self.loc(reg);
            }
        }
        let (mut prefer, mut taken, mut copy) = (Reg::NONE, busy, None);
        for k in (0..operands.len()).filter(|&k| has_def && operands[k].is_def()) {
            let vreg = operands[k].vreg();
            let Some(reg) = self.plain_def(lower, selected, k, &taken, can_evict) else { return };
            (prefer, locs[k]) = (reg, self.loc(reg));
            taken[reg.class()] |= reg.bit();
            self.store(vreg, reg);
            let Some(tied) = operands[k].reused().map(usize::from) else { continue };
            // The use whose register the def takes over is in it, or copied into it.
            let use_reg = self.state.value(operands[tied].vreg()).reg;
            if use_reg.is_none() {
                self.put(reg, operands[tied].vreg());
            } else if use_reg != reg {
                let width = self.state.value(operands[tied].vreg()).width;
                copy = Some(EditKind::Move { from: self.registers.preg(use_reg), to: self.registers.preg(reg), width });
            }
            locs[tied] = locs[k];
            busy[reg.class()] |= reg.bit();
            missing &= !(1 << tied);
        }
        while missing != 0 {
            let k = missing.trailing_zeros() as usize;
            missing &= missing - 1;
            let vreg = operands[k].vreg();
            let value = self.state.value(vreg);
            let mut reg = value.reg;
            if reg.is_none() {
                if value.is_stored && !operands[k].is_reg() {
                    locs[k] = Loc::slot(self.slot(vreg));
                    continue;
                }
                let Some(found) = self.any_register(lower, vreg, &busy, prefer, can_evict) else {
                    return self.refuse("an instruction that needs more registers than there are");
                };
                reg = found;
                self.put(reg, vreg);
            }
            busy[reg.class()] |= reg.bit();
            locs[k] = self.loc(reg);
        }
        let locs = &locs[..operands.len()];
        if selected.flags.has(InstFlags::MOVE) && locs[0] == locs[1] {
            self.drop_inst(selected, locs);
        } else {
            self.push_inst(lower, selected, locs);
        }
        if let Some(copy) = copy {
            self.push_edit(copy);
        }
    }

    /// A def leaves its register, or takes one for the moment if nothing below has it in one.
    #[inline]
    fn plain_def(
        &mut self,
        lower: &mut Lower<'_>,
        selected: &Selected<'_>,
        k: usize,
        taken: &Masks,
        can_evict: bool,
    ) -> Option<Reg> {
        let vreg = selected.operands[k].vreg();
        let reg = self.state.value(vreg).reg;
        if !reg.is_none() {
            self.state.release(reg);
            return Some(reg);
        }
        let found = self.any_register(lower, vreg, taken, Reg::NONE, can_evict);
        match found {
            Some(reg) => self.state.touch(reg),
            None => self.refuse("an instruction that needs more registers than there are"),
        }
        found
    }
}
