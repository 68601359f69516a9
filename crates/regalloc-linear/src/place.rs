//! Writing down where the operands of one instruction are, and who lives where after it.

use crate::plan::UNTIED;
use crate::values::NONE;
use crate::values::fact;
use crate::walk::Scan;
use kingpost_regalloc::{Constraint, Inst, Operand, Pos};
use kingpost_regalloc_common::point::ProgPoint;
use kingpost_regalloc_common::preference::Reg;

impl Scan<'_, '_> {
    /// Writes down where the uses are read.
    pub(crate) fn place_uses(&mut self, inst: Inst, operands: &[Operand]) {
        let base = self.problem.operand_range(inst).start;
        for (k, &operand) in operands.iter().enumerate() {
            if operand.is_def() {
                continue;
            }
            let vreg = operand.vreg();
            let mut reg = self.s.plan.regs[k];
            if reg.is_none() && self.s.plan.tied[k] != UNTIED {
                self.found.note_in_memory(inst);
                continue;
            }
            if reg.is_none() && operand.constraint() != Constraint::Stack && !self.is_constant_in_memory(operand) {
                reg = self.soft_use(operand);
            }
            let is_loaded = self.s.plan.copies.iter().any(|copy| copy.to == reg && copy.from == NONE);
            let since_def = !is_loaded && self.values.has(vreg, fact::SINCE_DEF);
            if reg.is_none() {
                self.found.note_in_memory(inst);
            }
            if !reg.is_none() {
                self.values.set(vreg, if since_def { fact::KEEP_DEF } else { 0 });
                self.out.locs[base + k] = self.loc(reg);
                continue;
            }
            self.values.set(vreg, fact::MEM_READ | fact::IN_OPERAND);
            if operand.constraint() == Constraint::Stack {
                self.values.set(vreg, fact::FORCE_STORE);
            }
        }
    }

    /// The register in which a use that may be in memory finds its value.
    fn soft_use(&self, operand: Operand) -> Reg {
        let vreg = operand.vreg();
        let slot = self.s.plan.slot;
        let home = self.values.home(vreg);
        if !home.is_none() {
            return home;
        }
        if operand.pos() == Pos::Late {
            return Reg::NONE;
        }
        match self.last_stay(vreg) {
            Some(stay) if stay.to == ProgPoint::late(slot) && !stay.is_void() => stay.reg,
            _ => {
                self.s.plan.copies.iter().find(|c| c.vreg == vreg && !c.to.is_none()).map_or(Reg::NONE, |copy| copy.to)
            }
        }
    }

    /// Values read for the last time leave their registers.
    pub(crate) fn end_uses(&mut self, operands: &[Operand]) {
        let after = ProgPoint::before(self.s.plan.slot.next());
        let late = ProgPoint::late(self.s.plan.slot);
        // What lives to the end of a block may go on in another one.
        let ends_block = self.order.block_at(self.s.plan.slot).stop() == after;
        for operand in operands.iter().filter(|operand| operand.is_use()) {
            let home = self.values.home(operand.vreg());
            if home.is_none() {
                continue;
            }
            match self.values.live_until(operand.vreg(), late) {
                until if until == late => self.close(home, late),
                until if until == after && !ends_block => self.close(home, after),
                _ => continue,
            };
        }
    }

    /// Results begin to live where the instruction writes them.
    pub(crate) fn place_defs(&mut self, inst: Inst, operands: &[Operand]) {
        let base = self.problem.operand_range(inst).start;
        for (k, &operand) in operands.iter().enumerate() {
            if operand.is_use() {
                continue;
            }
            let (vreg, reg) = (operand.vreg(), self.s.plan.regs[k]);
            let is_dead = !self.values.is_used(vreg);
            if is_dead && self.values.is_remat(vreg) {
                continue;
            }
            if reg.is_none() && self.values.is_remat(vreg) {
                self.plan_reload(vreg, ProgPoint::late(self.s.plan.slot));
                continue;
            }
            if reg.is_none() {
                self.found.note_in_memory(inst);
                self.values.set(vreg, fact::DEF_IN_MEM | fact::MEM_READ);
                if !is_dead && !self.values.is_edge_def(vreg) {
                    self.plan_reload(vreg, ProgPoint::late(self.s.plan.slot));
                }
                continue;
            }
            self.out.locs[base + k] = self.loc(reg);
            self.found.note_written(&self.values[vreg], reg);
            self.found.residence.used[reg.class()] |= reg.bit();
            if !is_dead && !self.values.is_edge_def(vreg) {
                self.open(vreg, reg, self.values.def(vreg), true);
                self.offer(vreg, reg);
                self.tell_assignment(vreg, reg, inst);
            }
        }
    }
}
