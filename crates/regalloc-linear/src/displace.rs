//! Making room before an instruction: who is in a register that an operand or a clobber takes moves to another one, if
//! one is left until the value is used again, else to memory. Copies that operands need are listed and recorded as well.

use crate::plan::{BOTH, Copy, EARLY, UNTIED};
use crate::values::NONE;
use crate::values::fact;
use crate::walk::{Gap, GapMove, Scan};
use kingpost_regalloc::{Constraint, Event, Inst, Operand, VReg};
use kingpost_regalloc_common::point::{Position, ProgPoint};
use kingpost_regalloc_common::preference::{Reg, regs};

impl Scan<'_, '_> {
    /// Does `vreg`, in `reg` before the instruction, still have it afterwards?
    fn survives(&self, vreg: VReg, reg: Reg) -> bool {
        let is_ref = self.values[vreg].is_ref();
        self.s.plan.owner(reg, 1).is_none_or(|owner| owner == vreg)
            && self.killed(vreg) & reg.bit() == 0
            && !(self.s.plan.safepoint && is_ref)
    }

    /// Moves or spills the values in registers that operands or clobbers take, and lists the copies operands need.
    pub(crate) fn clear_the_way(&mut self, operands: &[Operand]) {
        let slot = self.s.plan.slot;
        let mut moved = [0; 2];
        for (k, operand) in operands.iter().enumerate() {
            let (reg, vreg) = (self.s.plan.regs[k], operand.vreg());
            if reg.is_none() && self.s.plan.tied[k] != UNTIED {
                self.copy_into_memory(vreg, operands[self.s.plan.tied[k] as usize].vreg());
            } else if reg.is_none() && self.is_constant_in_memory(*operand) {
                self.copy_into_memory(vreg, vreg);
            }
            if operand.is_def() || reg.is_none() || reg.is_in(&moved) {
                continue;
            }
            if self.values.home(vreg) != reg {
                moved[reg.class()] |= reg.bit();
                let from = self.values.open_stay(vreg).unwrap_or(NONE);
                self.s.plan.copies.push(Copy { vreg, from, to: reg, into: vreg, moves_home: false });
            }
        }
        for class in 0..2 {
            let held = self.found.residence.held[class];
            let plan = &self.s.plan;
            let mut in_the_way = plan.taken[0][class] | plan.taken[1][class] | plan.kills.any(class);
            if plan.safepoint {
                in_the_way = u64::MAX;
            }
            for reg in regs(class, held & in_the_way) {
                self.clear(reg, slot);
            }
        }
        self.settle_loaded();
        self.settle_wanted();
    }

    /// A tied pair in memory is in the slot of its def, a constant in one of its own, just for this instruction.
    fn copy_into_memory(&mut self, vreg: VReg, into: VReg) {
        let from = self.values.open_stay(vreg).unwrap_or(NONE);
        if vreg != into {
            self.values.set(into, fact::PAIR_IN_MEM);
        }
        self.s.plan.copies.push(Copy { vreg, from, to: Reg::NONE, into, moves_home: false });
    }

    pub(crate) fn is_constant_in_memory(&self, operand: Operand) -> bool {
        operand.is_use() && operand.constraint() == Constraint::MemOk && self.values.is_remat(operand.vreg())
    }

    /// The value that lives in `reg` leaves it if it must.
    fn clear(&mut self, reg: Reg, slot: Position) {
        let stay = self.found.residence.holder(reg);
        let vreg = self.found.residence.holder_vreg(reg);
        let gone_early = self.s.plan.owner(reg, 0).is_some_and(|owner| owner != vreg);
        let lives_on = self.values.is_live(vreg, ProgPoint::late(slot));
        if !gone_early && (!lives_on || self.survives(vreg, reg)) {
            return;
        }
        if !lives_on {
            let is_copied = self.s.plan.copies.iter().any(|copy| copy.vreg == vreg && !copy.to.is_none());
            if is_copied || self.copy_aside(vreg, stay, EARLY) {
                self.close(reg, ProgPoint::before(slot));
            } else {
                self.evict(reg, ProgPoint::before(slot));
            }
            return;
        }
        let lasting = |s: &Self, copy: &Copy| copy.vreg == vreg && !copy.to.is_none() && s.survives(vreg, copy.to);
        if let Some(k) = self.s.plan.copies.iter().position(|copy| lasting(self, copy)) {
            self.s.plan.copies[k].moves_home = true;
            self.close(reg, ProgPoint::before(slot));
        } else if self.copy_aside(vreg, stay, BOTH) {
            self.close(reg, ProgPoint::before(slot));
        } else if !gone_early && self.values.next_use(vreg, ProgPoint::before(slot)).position() == slot {
            self.s.plan.claim(reg, vreg, EARLY);
            self.evict(reg, ProgPoint::late(slot));
        } else {
            self.evict(reg, ProgPoint::before(slot));
        }
    }

    /// Plans a copy of a value that is in the way into a register that nobody needs, if there is one that it can keep
    /// until it is used again.
    fn copy_aside(&mut self, vreg: VReg, stay: u32, points: u8) -> bool {
        let class = self.values[vreg].class();
        let plan = &self.s.plan;
        if points == BOTH && plan.safepoint && self.values[vreg].is_ref() {
            return false;
        }
        let mut free = self.registers.allocatable[class]
            & !self.found.residence.held[class]
            & !plan.taken[0][class]
            & !plan.loaded[class];
        for copy in &plan.copies {
            free &= if !copy.to.is_none() && copy.to.class() == class { !copy.to.bit() } else { u64::MAX };
        }
        if points == BOTH {
            free &= !plan.taken[1][class] & !self.killed(vreg);
        }
        if free == 0 {
            return false;
        }
        let point = ProgPoint::before(plan.slot);
        if points == BOTH {
            self.values.find_use(vreg, point);
            let next = self.first_use_from(vreg, ProgPoint::before(point.position().next()));
            let fresh = self.registers.callee_saved[class] & !self.found.residence.used[class];
            free &= !self.blocked(vreg, next);
            if free & !fresh != 0 || !self.saving_pays_here(vreg, point.position()) {
                free &= !fresh;
            }
        }
        if free == 0 {
            return false;
        }
        let to = self.choose(vreg, free, point, Reg::NONE);
        self.s.plan.copies.push(Copy { vreg, from: stay, to, into: vreg, moves_home: points == BOTH });
        true
    }

    /// The first use at or after `point`, found without moving the cursor past uses of this instruction.
    fn first_use_from(&self, vreg: VReg, point: ProgPoint) -> ProgPoint {
        let uses = self.values.uses_from(self.values[vreg].next);
        uses.into_iter().find(|&u| u >= point).unwrap_or(self.values.end(vreg))
    }

    /// Values that were in memory and live on keep the register they were loaded into.
    fn settle_loaded(&mut self) {
        let late = ProgPoint::late(self.s.plan.slot);
        for i in 0..self.s.plan.copies.len() {
            let Copy { vreg, from, to, .. } = self.s.plan.copies[i];
            let has_home = self.s.plan.copies[..i].iter().any(|copy| copy.vreg == vreg && copy.moves_home);
            if from == NONE && !to.is_none() && !has_home && self.survives(vreg, to) && self.values.is_live(vreg, late)
            {
                self.s.plan.copies[i].moves_home = true;
            }
        }
    }

    /// A value stays where a copy of it was wanted if its next use wants it there again.
    fn settle_wanted(&mut self) {
        let slot = self.s.plan.slot;
        for i in 0..self.s.plan.copies.len() {
            let Copy { vreg, from, to, moves_home, .. } = self.s.plan.copies[i];
            if moves_home || from == NONE || to.is_none() || self.values.open_stay(vreg) != Some(from) {
                continue;
            }
            if !self.survives(vreg, to) || !self.values.is_live(vreg, ProgPoint::late(slot)) {
                continue;
            }
            self.values.find_use(vreg, ProgPoint::before(slot));
            let again = self.first_use_from(vreg, ProgPoint::before(slot.next()));
            if self.survives(vreg, to)
                && self.values.is_live(vreg, ProgPoint::late(slot))
                && self.is_wanted_in(vreg, to, again)
            {
                let home = self.values.home(vreg);
                self.close(home, ProgPoint::before(slot));
                self.s.plan.copies[i].moves_home = true;
            }
        }
    }

    /// Does an instruction further on in this block use the value in `reg`, which it can keep until then?
    fn is_wanted_in(&self, vreg: VReg, reg: Reg, point: ProgPoint) -> bool {
        let place = self.order.block_at(self.s.plan.slot);
        if point >= place.stop() {
            return false;
        }
        let wants = |o: &Operand| o.is_use() && o.vreg() == vreg && o.fixed_reg() == Some(self.registers.preg(reg));
        self.problem.operands(place.inst(point.position())).iter().any(wants)
            && self.blocked(vreg, point) & reg.bit() == 0
    }

    /// Records the copies of the gap and lets homes move.
    pub(crate) fn settle_copies(&mut self, inst: Inst) {
        if self.s.plan.copies.is_empty() {
            return;
        }
        let point = ProgPoint::before(self.s.plan.slot);
        let first = self.found.gap_moves.len() as u32;
        let mut free = self.registers.allocatable;
        for (class, free) in free.iter_mut().enumerate() {
            *free &= !self.found.residence.held[class] & !self.s.plan.taken[0][class];
        }
        for i in 0..self.s.plan.copies.len() {
            let Copy { vreg, from, to, into, moves_home } = self.s.plan.copies[i];
            let source = self.found.residence.stays.get(from as usize).copied();
            let since_def = source.is_some_and(|stay| stay.since_def);
            if let Some(stay) = source {
                free[stay.reg.class()] &= !stay.reg.bit();
            }
            if !to.is_none() {
                free[to.class()] &= !to.bit();
                self.found.residence.used[to.class()] |= to.bit();
            }
            if moves_home {
                self.event(Event::Split { vreg, at: inst });
            }
            let stay = match moves_home {
                true => self.open(vreg, to, point, since_def),
                false => NONE,
            };
            if !moves_home && since_def {
                self.values.set(vreg, fact::KEEP_DEF);
            }
            self.found.gap_moves.push(GapMove { vreg, from, to, into, stay });
        }
        let moves = first..self.found.gap_moves.len() as u32;
        self.found.gaps.push(Gap { inst, point, moves, free });
    }
}
