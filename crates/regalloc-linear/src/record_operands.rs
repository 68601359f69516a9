//! The record of one instruction's operands: their locations, and the values in registers after the instruction.

use crate::linear_scan::Scan;
use crate::operand_assignment::UNTIED;
use crate::values::flag;
use kingpost_regalloc::{Constraint, Inst, Operand, Pos};
use kingpost_regalloc_common::point::ProgPoint;
use kingpost_regalloc_common::preference::Reg;

impl Scan<'_, '_> {
    /// Records the locations of uses.
    pub(crate) fn record_uses(&mut self, inst: Inst, operands: &[Operand]) {
        let base = self.problem.operand_range(inst).start;
        for (k, &operand) in operands.iter().enumerate() {
            if operand.is_def() {
                continue;
            }
            let vreg = operand.vreg();
            let mut reg = self.s.assignment.regs[k];
            if reg.is_none() && self.s.assignment.tied[k] != UNTIED {
                self.scan.note_in_memory(inst);
                continue;
            }
            if reg.is_none() && operand.constraint() != Constraint::Stack && !self.is_constant_in_memory(operand) {
                reg = self.register_in_place(operand);
            }
            let is_loaded = self.s.assignment.copies.iter().any(|copy| copy.to == reg && copy.from.is_none());
            let since_def = !is_loaded && self.values.has(vreg, flag::REG_SINCE_DEF);
            if reg.is_none() {
                self.scan.note_in_memory(inst);
            }
            if !reg.is_none() {
                self.values.set(vreg, if since_def { flag::NEEDS_DEF_REG } else { 0 });
                self.out.locs[base + k] = self.loc(reg);
                continue;
            }
            self.values.set(vreg, flag::MEM_READ | flag::IN_OPERAND);
            if operand.constraint() == Constraint::Stack {
                self.values.set(vreg, flag::FORCE_STORE);
            }
        }
    }

    /// Returns the register that holds the value of a use that may be in memory.
    fn register_in_place(&self, operand: Operand) -> Reg {
        let vreg = operand.vreg();
        let position = self.s.assignment.position;
        let current = self.values.current_reg(vreg);
        if !current.is_none() {
            return current;
        }
        if operand.pos() == Pos::Late {
            return Reg::NONE;
        }
        match self.last_interval(vreg) {
            Some(interval) if interval.to == ProgPoint::late(position) && !interval.is_void() => interval.reg,
            _ => self
                .s
                .assignment
                .copies
                .iter()
                .find(|c| c.vreg == vreg && !c.to.is_none())
                .map_or(Reg::NONE, |copy| copy.to),
        }
    }

    /// Frees the registers of values with their last use in the instruction.
    pub(crate) fn end_uses(&mut self, operands: &[Operand]) {
        let after = ProgPoint::before(self.s.assignment.position.next());
        let late = ProgPoint::late(self.s.assignment.position);
        // A value that is live to the end of the block may be live-in at another one.
        let ends_block = self.order.block_at(self.s.assignment.position).stop() == after;
        for operand in operands.iter().filter(|operand| operand.is_use()) {
            let current = self.values.current_reg(operand.vreg());
            if current.is_none() {
                continue;
            }
            match self.values.live_until(operand.vreg(), late) {
                until if until == late => self.close(current, late),
                until if until == after && !ends_block => self.close(current, after),
                _ => continue,
            };
        }
    }

    /// Records the locations of defs and opens their split intervals.
    pub(crate) fn record_defs(&mut self, inst: Inst, operands: &[Operand]) {
        let base = self.problem.operand_range(inst).start;
        for (k, &operand) in operands.iter().enumerate() {
            if operand.is_use() {
                continue;
            }
            let (vreg, reg) = (operand.vreg(), self.s.assignment.regs[k]);
            let is_dead = !self.values.is_used(vreg);
            if is_dead && self.values.is_remat(vreg) {
                continue;
            }
            if reg.is_none() && self.values.is_remat(vreg) {
                self.schedule_reload(vreg, ProgPoint::late(self.s.assignment.position));
                continue;
            }
            if reg.is_none() {
                self.scan.note_in_memory(inst);
                self.values.set(vreg, flag::DEF_IN_MEM | flag::MEM_READ);
                if !is_dead && !self.values.is_edge_def(vreg) {
                    self.schedule_reload(vreg, ProgPoint::late(self.s.assignment.position));
                }
                continue;
            }
            self.out.locs[base + k] = self.loc(reg);
            self.scan.note_written(&self.values[vreg], reg);
            self.scan.occupancy.used[reg.class()] |= reg.bit();
            if self.values.is_edge_def(vreg) {
                self.scan.edge_def_regs[vreg] = reg;
            } else if !is_dead {
                self.open(vreg, reg, self.values.def(vreg), true);
                self.hint_related(vreg, reg);
            }
        }
    }
}
