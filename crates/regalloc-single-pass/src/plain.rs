//! Instructions that take any registers for their operands: no clobbers, uses before defs, each use in a register or, if it is
//! there anyway, in memory.
//!
//! ```text
//! s = add v0, v1; s reuse 0; s in r2 below, v1 in r1 below      v0 is met first: r2, the register of s
//! ```
//!
//! Uses keep the registers that they have below; defs leave theirs; then the uses met first take registers, those just left
//! among them. Where none is free the value that the walk meets last is filled behind the instruction. Cost: linear in operands; registers
//! where a value is evicted.

use crate::allocator::Walk;
use kingpost_regalloc::{EditKind, Inst, Loc, Operand, Shape, VReg};
use kingpost_regalloc_common::preference::{Masks, Reg};
use std::ops::Range;

/// The operands at which bits are set.
fn indices(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (bits != 0).then(|| {
            let k = bits.trailing_zeros();
            bits &= bits - 1;
            k as usize
        })
    })
}

impl Walk<'_, '_> {
    /// Does an instruction ask for nothing but registers, or memory where a value is there?
    #[inline]
    pub(crate) fn is_plain(&self, shape: Shape, operands: usize) -> bool {
        shape != Shape::Constrained && operands <= self.fewest_registers
    }

    /// Serves a plain instruction.
    #[inline]
    pub(crate) fn plain(&mut self, inst: Inst, after: Option<Inst>, range: Range<usize>) {
        let base = range.start;
        let (met_before, locs) = (&self.survey.met_before[range.clone()], &mut self.out.locs[range.clone()]);
        let operands = &self.problem.all_operands()[range];
        let (mut busy, mut defs, mut missing) = (Masks::default(), 0, 0);
        for (k, ((&operand, &met_before), loc)) in operands.iter().zip(met_before).zip(locs).enumerate() {
            let value = self.state.value_mut(operand.vreg());
            value.next_met = met_before;
            let reg = value.reg;
            if operand.is_def() {
                defs |= 1 << k;
            } else if reg.is_none() {
                missing |= 1 << k;
            } else {
                busy[reg.class()] |= reg.bit();
                *loc = Loc::reg(self.registers.preg(reg));
            }
        }
        let (mut prefer, mut taken) = (Reg::NONE, busy);
        for k in indices(defs) {
            prefer = self.plain_def(operands[k].vreg(), base + k, &taken, after);
            taken[prefer.class()] |= prefer.bit();
            if let Some(tied) = operands[k].reused().map(usize::from) {
                self.tie(inst, operands[tied].vreg(), base + tied, prefer);
                busy[prefer.class()] |= prefer.bit();
                missing &= !(1 << tied);
            }
        }
        for k in indices(missing) {
            self.first_met(operands[k], base + k, &mut busy, prefer, after);
        }
    }

    /// A def leaves its register, or takes one for the moment if nothing below has it in one.
    #[inline]
    fn plain_def(&mut self, vreg: VReg, at: usize, busy: &Masks, after: Option<Inst>) -> Reg {
        let mut reg = self.state.value(vreg).reg;
        if reg.is_none() {
            let found = self.any_register(vreg, busy, Reg::NONE, after);
            reg = found.expect("a plain instruction has fewer operands than there are registers");
            self.state.used[reg.class()] |= reg.bit();
        } else {
            self.state.release(reg);
        }
        let preg = self.registers.preg(reg);
        self.written.insert(preg);
        self.out.locs[at] = Loc::reg(preg);
        if let Some(after) = after {
            self.store(after, vreg, reg);
        }
        reg
    }

    /// A use whose register a def takes over is in that register, or copied into it.
    #[inline]
    fn tie(&mut self, inst: Inst, vreg: VReg, at: usize, reg: Reg) {
        let to = self.registers.preg(reg);
        let value = self.state.value(vreg);
        if value.reg.is_none() {
            self.state.put(reg, vreg);
        } else if value.reg != reg {
            let (from, width) = (self.registers.preg(value.reg), value.width);
            self.s.edits.push(inst, EditKind::Move { from, to, width });
        }
        self.out.locs[at] = Loc::reg(to);
    }

    /// A use that had no register below.
    #[inline]
    fn first_met(&mut self, operand: Operand, at: usize, busy: &mut Masks, prefer: Reg, after: Option<Inst>) {
        let vreg = operand.vreg();
        let value = self.state.value(vreg);
        let mut reg = value.reg;
        if reg.is_none() {
            if value.is_stored && value.remat.is_none() && !operand.is_reg() {
                self.out.locs[at] = self.slot_loc(vreg);
                return;
            }
            let found = self.any_register(vreg, busy, prefer, after);
            reg = found.expect("a plain instruction has fewer operands than there are registers");
            self.state.put(reg, vreg);
        }
        busy[reg.class()] |= reg.bit();
        self.out.locs[at] = self.loc(reg);
    }
}
