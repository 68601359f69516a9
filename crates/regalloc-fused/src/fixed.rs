//! Instructions whose operands are all in fixed registers: entries, returns, calls of known functions.
//!
//! ```text
//! call use v0 = r0, def v1 = r0, clobbers {r1}         v1 in r2 below, v2 in r1: behind the call move r2 <- r0,
//!                                                      and r1 is filled from the slot of v2; before it v0 is in r0
//! ```
//!
//! There is no choice of registers, so that this path does the work of [`constrained.rs`](super::constrained)
//! without a copy of the operands.

use crate::constrained::Touched;
use crate::selected::range;
use crate::walk::{Fused, MANY_REGISTERS};
use kingpost_mach::{AllocatedInst, LowerCtx};
use kingpost_regalloc::{Operand, Pos};
use kingpost_regalloc_common::preference::{Masks, Reg};

impl Fused {
    /// Allocates an instruction of this kind. Returns `false`, without any change, for another instruction.
    pub(crate) fn fixed(&mut self, lower: &mut LowerCtx<'_>, at: usize) -> bool {
        let record = &lower.sequence()[at];
        let (clobbers, operands) = (record.clobbers, range(record));
        self.sync(lower);
        let Some([read, written]) = self.fixed_registers(&lower.operands()[operands.clone()]) else { return false };
        let clobbered = *self.registers.clobbered(clobbers);
        if (0..2).any(|class| written[class] & clobbered.any(class) != 0) {
            return false;
        }
        let taken = [0, 1].map(|class| read[class] | written[class]);
        let touched = Touched { taken, clobbered };
        self.touch_all(lower, &touched, clobbers);
        let needed = self.state.occupied;
        // Registers that the instruction reads and does not write, with the value that is expected in them below.
        let mut kept = Masks::default();
        for k in operands.clone() {
            let operand = lower.operands()[k];
            let (vreg, reg) = (operand.vreg(), self.fixed_register(operand));
            let below = self.visit(lower, vreg);
            if operand.is_def() {
                self.define(vreg, reg);
            } else if below == reg && !reg.is_in(&written) {
                kept[reg.class()] |= reg.bit();
            }
        }
        self.relocate_all(lower, &touched, &kept);
        self.resolve(lower, &needed);
        self.push_fixed(lower, at);
        for k in operands {
            let operand = lower.operands()[k];
            let reg = self.fixed_register(operand);
            if operand.is_use()
                && let Some((from, width)) = self.move_into(operand.vreg(), reg)
            {
                self.push_copy(from, reg, width);
            }
        }
        true
    }

    /// Returns the registers that an instruction reads and the ones that it writes, without duplicates. Returns
    /// `None` if it has an operand of another kind.
    fn fixed_registers(&self, operands: &[Operand]) -> Option<[Masks; 2]> {
        let mut masks = [Masks::default(); 2];
        for operand in operands {
            let reg = self.registers.reg(operand.fixed_reg()?);
            let set = &mut masks[usize::from(operand.is_def())];
            if operand.is_def() != (operand.pos() == Pos::Late) || reg.is_none() || reg.is_in(set) {
                return None;
            }
            set[reg.class()] |= reg.bit();
        }
        Some(masks)
    }

    /// Returns the register of one of its operands.
    #[inline]
    fn fixed_register(&self, operand: Operand) -> Reg {
        operand.fixed_reg().map_or(Reg::NONE, |preg| self.registers.reg(preg))
    }

    /// Adds the instruction before all items added so far.
    fn push_fixed(&mut self, lower: &LowerCtx<'_>, at: usize) {
        let record = &lower.sequence()[at];
        let operands = &lower.operands()[range(record)];
        if self.log.is_some() {
            self.log_item(lower, at);
        }
        let row = record.row;
        let encoded = row.operands.len() + record.inst.mode.regs();
        let mut placed = AllocatedInst::new(record.inst, row.kind, self.flags.are_dead());
        for preg in operands[..encoded.min(operands.len())].iter().filter_map(|operand| operand.fixed_reg()) {
            if !placed.regs.push(preg) {
                self.refuse(MANY_REGISTERS);
            }
        }
        self.push_placed(placed, row);
    }
}
