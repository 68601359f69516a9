//! Eviction: splits the interval of a value whose register is needed, and schedules its reload.
//!
//! ```text
//! v0 in r0; call (use v1 = r0)     v0 moves to a register free until its next use, else to its slot
//! b1 (a loop without v0): .. r0 needed ..     v0 leaves r0 where the loop begins: a split out of the loop
//! b2 (a loop with v0): .. use v0 ..           v0 is reloaded where that loop begins, if a register is free there
//! ```
//!
//! Copies that operands need are also listed and recorded here. Cost: per eviction, nearby clobber points and
//! surrounding loops, at most [`LOOPS_TRIED`].

use crate::linear_scan::{Gap, GapMove, Scan};
use crate::operand_assignment::{BOTH, Copy, EARLY, UNTIED};
use crate::values::{IntervalId, NONE, flag};
use cranelift_entity::EntityRef;
use kingpost_regalloc::{Constraint, Event, Inst, Operand, VReg};
use kingpost_regalloc_common::order::{BlockIndex, Entries};
use kingpost_regalloc_common::point::{Position, ProgPoint};
use kingpost_regalloc_common::preference::{Reg, regs};

impl Scan<'_, '_> {
    /// Returns `true` if `vreg` can be in `reg` both before and after the instruction.
    fn survives(&self, vreg: VReg, reg: Reg) -> bool {
        let is_ref = self.values[vreg].is_ref();
        self.s.assignment.owner(reg, 1).is_none_or(|owner| owner == vreg)
            && self.killed(vreg) & reg.bit() == 0
            && !(self.s.assignment.safepoint && is_ref)
    }

    /// Evicts the values in registers that operands or clobbers take, and lists the copies that operands need.
    pub(crate) fn evict_conflicts(&mut self, operands: &[Operand]) {
        let position = self.s.assignment.position;
        let mut moved = [0; 2];
        for (k, operand) in operands.iter().enumerate() {
            let (reg, vreg) = (self.s.assignment.regs[k], operand.vreg());
            if reg.is_none() && self.s.assignment.tied[k] != UNTIED {
                self.copy_into_memory(vreg, operands[self.s.assignment.tied[k] as usize].vreg());
            } else if reg.is_none() && self.is_constant_in_memory(*operand) {
                self.copy_into_memory(vreg, vreg);
            }
            if operand.is_def() || reg.is_none() || reg.is_in(&moved) {
                continue;
            }
            if self.values.current_reg(vreg) != reg {
                moved[reg.class()] |= reg.bit();
                let from = self.values.current_interval(vreg);
                self.s.assignment.copies.push(Copy { vreg, from, to: reg, into: vreg, is_split: false });
            }
        }
        for class in 0..2 {
            let held = self.scan.occupancy.held[class];
            let assignment = &self.s.assignment;
            let mut conflicting = assignment.taken[0][class] | assignment.taken[1][class] | assignment.kills.any(class);
            if assignment.safepoint {
                conflicting = u64::MAX;
            }
            for reg in regs(class, held & conflicting) {
                self.evict_conflict(reg, position);
            }
        }
        self.keep_loaded();
        self.keep_fixed_copies();
    }

    /// Copies a tied pair in memory to the slot of its def, or a rematerialized value to a slot of its own, for
    /// this instruction only.
    fn copy_into_memory(&mut self, vreg: VReg, into: VReg) {
        let from = self.values.current_interval(vreg);
        if vreg != into {
            self.values.set(into, flag::PAIR_IN_MEM);
        }
        self.s.assignment.copies.push(Copy { vreg, from, to: Reg::NONE, into, is_split: false });
    }

    pub(crate) fn is_constant_in_memory(&self, operand: Operand) -> bool {
        operand.is_use() && operand.constraint() == Constraint::MemOk && self.values.is_remat(operand.vreg())
    }

    /// Evicts the value in `reg` if the instruction takes the register.
    fn evict_conflict(&mut self, reg: Reg, position: Position) {
        let interval = self.scan.occupancy.interval_in(reg);
        let vreg = self.scan.occupancy.vreg_in(reg);
        let lost_early = self.s.assignment.owner(reg, 0).is_some_and(|owner| owner != vreg);
        let is_live_after = self.values.is_live(vreg, ProgPoint::late(position));
        if !lost_early && (!is_live_after || self.survives(vreg, reg)) {
            return;
        }
        if self.diagnostics.observer.is_some() {
            self.trace_conflict(vreg, reg);
        }
        if !is_live_after {
            let is_copied = self.s.assignment.copies.iter().any(|copy| copy.vreg == vreg && !copy.to.is_none());
            if is_copied || self.split_aside(vreg, interval, EARLY) {
                self.close(reg, ProgPoint::before(position));
            } else {
                self.evict(reg, ProgPoint::before(position));
            }
            return;
        }
        let lasting = |s: &Self, copy: &Copy| copy.vreg == vreg && !copy.to.is_none() && s.survives(vreg, copy.to);
        if let Some(k) = self.s.assignment.copies.iter().position(|copy| lasting(self, copy)) {
            self.s.assignment.copies[k].is_split = true;
            self.close(reg, ProgPoint::before(position));
        } else if self.split_aside(vreg, interval, BOTH) {
            self.close(reg, ProgPoint::before(position));
        } else if !lost_early && self.values.next_use(vreg, ProgPoint::before(position)).position() == position {
            self.s.assignment.claim(reg, vreg, EARLY);
            self.evict(reg, ProgPoint::late(position));
        } else {
            self.evict(reg, ProgPoint::before(position));
        }
    }

    /// Reports the operand that evicts `vreg` from `reg`, if it is not a clobber.
    fn trace_conflict(&mut self, vreg: VReg, reg: Reg) {
        let owners = [0, 1].map(|point| self.s.assignment.owner(reg, point));
        let at = self.inst_at(ProgPoint::before(self.s.assignment.position));
        if let Some(winner) = owners.into_iter().flatten().find(|&owner| owner != vreg) {
            self.diagnostics.event(Event::Evict { vreg, winner, at });
        }
    }

    /// Splits the interval of an evicted value to a register that is free until its next use. Returns `false` if
    /// there is none.
    fn split_aside(&mut self, vreg: VReg, interval: IntervalId, points: u8) -> bool {
        let class = self.values[vreg].class();
        let assignment = &self.s.assignment;
        if points == BOTH && assignment.safepoint && self.values[vreg].is_ref() {
            return false;
        }
        let mut free = self.registers.allocatable[class]
            & !self.scan.occupancy.held[class]
            & !assignment.taken[0][class]
            & !assignment.loaded[class];
        for copy in &assignment.copies {
            free &= if !copy.to.is_none() && copy.to.class() == class { !copy.to.bit() } else { u64::MAX };
        }
        if points == BOTH {
            free &= !assignment.taken[1][class] & !self.killed(vreg);
        }
        if free == 0 {
            return false;
        }
        let point = ProgPoint::before(assignment.position);
        if points == BOTH {
            self.values.find_use(vreg, point);
            let next = self.first_use_from(vreg, ProgPoint::before(point.position().next()));
            let fresh = self.fresh(class);
            free &= !self.blocked(vreg, next);
            if free & !fresh != 0 || !self.saving_pays_here(vreg, point.position()) {
                free &= !fresh;
            }
        }
        if free == 0 {
            return false;
        }
        let to = self.pick_register(vreg, free, point, Reg::NONE);
        self.s.assignment.copies.push(Copy { vreg, from: interval.into(), to, into: vreg, is_split: points == BOTH });
        true
    }

    /// Returns the first use at or after `point`, without advancing past uses of this instruction.
    fn first_use_from(&self, vreg: VReg, point: ProgPoint) -> ProgPoint {
        let uses = self.values.uses_from(self.values[vreg].next);
        uses.into_iter().find(|&u| u >= point).unwrap_or(self.values.end(vreg))
    }

    /// Keeps reloaded values that are live after the instruction in their registers.
    fn keep_loaded(&mut self) {
        let late = ProgPoint::late(self.s.assignment.position);
        for i in 0..self.s.assignment.copies.len() {
            let Copy { vreg, from, to, .. } = self.s.assignment.copies[i];
            let is_kept = self.s.assignment.copies[..i].iter().any(|copy| copy.vreg == vreg && copy.is_split);
            if from.is_none() && !to.is_none() && !is_kept && self.survives(vreg, to) && self.values.is_live(vreg, late)
            {
                self.s.assignment.copies[i].is_split = true;
            }
        }
    }

    /// Splits a value to the register of a copy if its next use is also fixed to that register.
    fn keep_fixed_copies(&mut self) {
        let position = self.s.assignment.position;
        for i in 0..self.s.assignment.copies.len() {
            let Copy { vreg, from, to, is_split, .. } = self.s.assignment.copies[i];
            if is_split || from.is_none() || to.is_none() || self.values.current_interval(vreg) != from {
                continue;
            }
            if !self.survives(vreg, to) || !self.values.is_live(vreg, ProgPoint::late(position)) {
                continue;
            }
            self.values.find_use(vreg, ProgPoint::before(position));
            let again = self.first_use_from(vreg, ProgPoint::before(position.next()));
            if self.survives(vreg, to)
                && self.values.is_live(vreg, ProgPoint::late(position))
                && self.is_fixed_to(vreg, to, again)
            {
                let current = self.values.current_reg(vreg);
                self.close(current, ProgPoint::before(position));
                self.s.assignment.copies[i].is_split = true;
            }
        }
    }

    /// Returns `true` if a later use in this block is fixed to `reg`, which the value can keep until then.
    fn is_fixed_to(&self, vreg: VReg, reg: Reg, point: ProgPoint) -> bool {
        let block = self.order.block_at(self.s.assignment.position);
        if point >= block.stop() {
            return false;
        }
        let is_fixed_use =
            |o: &Operand| o.is_use() && o.vreg() == vreg && o.fixed_reg() == Some(self.registers.preg(reg));
        self.problem.operands(block.inst(point.position())).iter().any(is_fixed_use)
            && self.blocked(vreg, point) & reg.bit() == 0
    }

    /// Records the copies of the gap. Splits open new intervals.
    pub(crate) fn record_copies(&mut self, inst: Inst) {
        if self.s.assignment.copies.is_empty() {
            return;
        }
        let point = ProgPoint::before(self.s.assignment.position);
        let first = self.scan.gap_moves.len() as u32;
        let mut free = self.registers.allocatable;
        for (class, free) in free.iter_mut().enumerate() {
            *free &= !self.scan.occupancy.held[class] & !self.s.assignment.taken[0][class];
        }
        for i in 0..self.s.assignment.copies.len() {
            let Copy { vreg, from, to, into, is_split } = self.s.assignment.copies[i];
            let source = from.map(|from| self.scan.occupancy.intervals[from]);
            let since_def = source.is_some_and(|interval| interval.since_def);
            if let Some(interval) = source {
                free[interval.reg.class()] &= !interval.reg.bit();
            }
            if !to.is_none() {
                free[to.class()] &= !to.bit();
                self.scan.occupancy.used[to.class()] |= to.bit();
            }
            if is_split {
                self.diagnostics.event(Event::Split { vreg, at: inst });
            }
            let interval = match is_split {
                true => self.open(vreg, to, point, since_def).into(),
                false => None.into(),
            };
            if !is_split && since_def {
                self.values.set(vreg, flag::NEEDS_DEF_REG);
            }
            self.scan.gap_moves.push(GapMove { vreg, from, to, into, interval });
        }
        let moves = first..self.scan.gap_moves.len() as u32;
        self.scan.gaps.push(Gap { inst, point, moves, free });
    }
}

/// Largest number of surrounding loops that are considered for a better split position.
const LOOPS_TRIED: usize = 16;

impl Scan<'_, '_> {
    /// Spills the value in `reg` at `point`. If it has not been used since a surrounding loop was entered, it is
    /// spilled at the loop's header.
    pub(crate) fn evict(&mut self, reg: Reg, point: ProgPoint) {
        let id = self.close(reg, point);
        self.scan.occupancy.evict(id);
        let vreg = self.scan.occupancy.intervals[id].vreg;
        let at = self.inst_at(point);
        self.diagnostics.event(Event::Split { vreg, at });
        self.diagnostics.event(Event::Spill { vreg, at });
        self.out.stats.splits += 1;
        self.values.find_use(vreg, point);
        let busy = self.values.def(vreg).max(self.values[vreg].before);
        let def = self.values.def(vreg);
        if let Some(head) = self.outermost_loop(point, busy) {
            self.cut_back(id, head);
        } else if busy == def && def < point && self.values.is_at_head(vreg) && !self.values.is_edge_def(vreg) {
            // A parameter that is spilled before its first use is passed in memory.
            self.cut_back(id, def);
            self.values.set(vreg, flag::DEF_IN_MEM);
        }
        self.schedule_reload(vreg, point);
    }

    /// Returns the start of the outermost loop around `point` that begins after `busy`.
    fn outermost_loop(&self, point: ProgPoint, busy: ProgPoint) -> Option<ProgPoint> {
        let mut best = None;
        for l in self.order.loops_around(self.order.index_at(point.position())).take(LOOPS_TRIED) {
            let block = self.order.block(l.header);
            if block.start() <= busy {
                break;
            }
            // Edges compare registers only at join points; other blocks inherit the state of their predecessor.
            if l.entries != Entries::Anywhere && block.start() < point && self.problem.preds(block.block).len() >= 2 {
                best = Some(block.start());
            }
        }
        best
    }

    /// Schedules a reload of the value, which is in memory at `point`. If its next use is in a later loop, it is
    /// reloaded at that loop's header.
    pub(crate) fn schedule_reload(&mut self, vreg: VReg, point: ProgPoint) {
        let next = self.values.next_use(vreg, point);
        if next >= self.values.end(vreg) {
            return;
        }
        let here = self.order.index_at(point.position());
        let around = self.order.loops_around(self.order.index_at(next.position())).take(LOOPS_TRIED);
        let ahead = around.take_while(|l| l.header > here).last();
        if let Some(head) = ahead.map(|l| l.header)
            && self.problem.preds(self.order.block(head).block).len() >= 2
        {
            let list = &mut self.s.reload_heads[head.index()];
            self.s.reloads.push((vreg, *list));
            *list = self.s.reloads.len() as u32 - 1;
        }
    }

    /// Reloads values scheduled for the head of the block at `at` into free registers.
    pub(crate) fn reload_at_head(&mut self, at: BlockIndex) {
        let point = self.order.block(at).start();
        let mut item = self.s.reload_heads[at.index()];
        while item != NONE {
            let (vreg, next) = self.s.reloads[item as usize];
            item = next;
            // In an unusual order the reload may have been scheduled before the definition, which has been
            // assigned.
            let begins = self.values.def(vreg) == point;
            if begins || !self.values.current_reg(vreg).is_none() || !self.values.is_live(vreg, point) {
                continue;
            }
            let class = self.values[vreg].class();
            let until = self.values.next_use(vreg, point);
            let fresh = self.fresh(class);
            let free = self.registers.allocatable[class] & !self.scan.occupancy.held[class] & !fresh;
            let good = free & !self.blocked(vreg, until);
            if good != 0 {
                let reg = self.pick_register(vreg, good, point, Reg::NONE);
                self.open(vreg, reg, point, false);
            }
        }
    }
}
