//! One instruction: what it wants in registers, what it takes registers from, and who leaves for that.

use crate::liveness::Next;
use crate::spilling::{Input, NO_RANK, Spilling};
use cranelift_entity::EntityRef;
use kingpost_regalloc::{ClobberId, Constraint, Inst, InstFlags, Operand, PRegSet, Pos, Problem, RegClass, VReg};

/// Numbers per class of registers.
type Counts = [usize; 2];

/// The instruction at hand: its number, its position in the block, the rate of the block.
#[derive(Clone, Copy)]
pub(crate) struct At {
    pub(crate) inst: Inst,
    pub(crate) pos: u32,
    pub(crate) here: u32,
}

impl Spilling {
    /// Instructions without demands, while values need only be taken in and nothing is to be learned: those from `at` up
    /// to `end`, or the one that is given back.
    pub(crate) fn calm_run(&mut self, input: Input, at: u32, end: u32, here: u32) -> u32 {
        let problem = input.problem;
        let start = problem.operand_range(Inst::from_u32(at)).start;
        let range = start..problem.operand_range(Inst::from_u32(end - 1)).end;
        let operands = &problem.all_operands()[range.clone()];
        self.is_stale = true;
        for (i, (&operand, &next)) in operands.iter().zip(&input.live.after[range]).enumerate() {
            let vreg = operand.vreg();
            let value = &mut self.values[vreg.index()];
            value.next = next;
            if operand.is_use() {
                if value.index == 0 {
                    return self.stop_run(problem, at, start + i);
                }
            } else if next.is_dead() || value.waits && next.rate <= here {
                value.spilled = true;
            } else if self.inside[usize::from(value.class)].len() < self.calm[usize::from(value.class)] {
                self.add(vreg, false);
            } else {
                return self.stop_run(problem, at, start + i);
            }
        }
        end
    }

    /// The instruction with the operand `i`, which is as if it had not been met.
    fn stop_run(&mut self, problem: &Problem, at: u32, i: usize) -> u32 {
        let mut inst = Inst::from_u32(at);
        while problem.operand_range(inst).end <= i {
            inst = Inst::from_u32(inst.as_u32() + 1);
        }
        for operand in problem.operands(inst).iter().filter(|operand| operand.is_def()) {
            if self.is_inside(operand.vreg()) {
                self.remove(operand.vreg());
            }
        }
        inst.as_u32()
    }

    /// One instruction.
    pub(crate) fn instruction(&mut self, input: Input, now: At) {
        let range = input.problem.operand_range(now.inst);
        let operands = &input.problem.all_operands()[range.clone()];
        let after = &input.live.after[range];
        if input.problem.flags(now.inst).has(InstFlags::REMAT)
            && self.defer(input, operands[0].vreg(), after[0], now.here)
        {
            return;
        }
        if !input.facts.has_demands(now.inst) {
            if self.calm(input, operands, after) {
                return;
            }
            self.sweep();
            if self.has_room(operands.len(), self.limits) {
                return self.roomy(input, operands, after, now);
            }
        }
        self.sweep();
        self.crowded(input, operands, after, now);
    }

    /// Are there registers for so many more values, whatever their class?
    #[inline]
    fn has_room(&self, more: usize, limits: Counts) -> bool {
        self.inside[0].len() + more <= limits[0] && self.inside[1].len() + more <= limits[1]
    }

    /// An instruction without demands in a place where nobody leaves and nothing is to be learned. Is this one?
    #[inline]
    fn calm(&mut self, input: Input, operands: &[Operand], after: &[Next]) -> bool {
        let defs = operands.iter().filter(|operand| operand.is_def()).count();
        if !self.has_room(defs, self.calm) {
            self.sweep();
            if !self.has_room(defs, self.calm) {
                return false;
            }
        }
        for (i, (&operand, &next)) in operands.iter().zip(after).enumerate() {
            let value = &mut self.values[operand.vreg().index()];
            value.next = next;
            if operand.is_use() && value.index == 0 {
                value.spilled = true;
                if needs_register(input, operand, operands, i) {
                    if !self.has_room(defs + 1, self.calm) {
                        return false;
                    }
                    self.add(operand.vreg(), true);
                }
            }
        }
        self.is_stale = true;
        for (operand, next) in operands.iter().zip(after) {
            if operand.is_def() && !next.is_dead() {
                self.add(operand.vreg(), false);
            }
        }
        true
    }

    /// An instruction without demands where nobody needs to leave.
    fn roomy(&mut self, input: Input, operands: &[Operand], after: &[Next], now: At) {
        for (i, (&operand, &next)) in operands.iter().zip(after).enumerate() {
            let vreg = operand.vreg();
            let value = &mut self.values[vreg.index()];
            value.next = next;
            if operand.is_use() && value.index == 0 {
                value.spilled = true;
                if needs_register(input, operand, operands, i) {
                    self.add(vreg, true);
                    self.count_rank(input, vreg, now);
                }
            }
        }
        self.end_uses(operands);
        for (operand, next) in operands.iter().zip(after) {
            if operand.is_def() && !next.is_dead() {
                self.add(operand.vreg(), false);
                self.count_rank(input, operand.vreg(), now);
            }
        }
    }

    /// Takes out the values that end here.
    fn end_uses(&mut self, operands: &[Operand]) {
        for operand in operands {
            let value = &self.values[operand.vreg().index()];
            if operand.is_use() && value.next.is_dead() && value.index != 0 {
                self.remove(operand.vreg());
            }
        }
    }

    /// An instruction where somebody may have to leave.
    fn crowded(&mut self, input: Input, operands: &[Operand], after: &[Next], now: At) {
        let problem = input.problem;
        self.crowds += 1;
        let stamp = self.crowds;
        let mut early = [0; 2];
        let mut late = [0; 2];
        let (mut missing, mut bound, mut keeps_bound) = (false, false, false);
        let mut results = PRegSet::EMPTY;
        for (i, (&operand, &next)) in operands.iter().zip(after).enumerate() {
            let value = &mut self.values[operand.vreg().index()];
            let class = usize::from(value.class);
            let fixed = operand.fixed_reg();
            bound |= fixed.is_some();
            value.next = next;
            if operand.is_def() {
                late[class] += 1;
                early[class] += usize::from(operand.pos() == Pos::Early || is_copied(operand, operands, after));
                results = fixed.map_or(results, |reg| results.with(reg));
                continue;
            }
            keeps_bound |= fixed.is_some() && !next.is_dead();
            let known = std::mem::replace(&mut value.busy, stamp) == stamp;
            if value.index == 0 && !known {
                if needs_register(input, operand, operands, i) {
                    missing = true;
                    early[class] += 1;
                } else {
                    value.spilled = true;
                }
            }
            late[class] += usize::from(operand.pos() == Pos::Late && next.is_dead());
        }
        let flags = problem.flags(now.inst);
        let clobbers = problem.clobbers(now.inst);
        if keeps_bound {
            self.count_copies(operands, after, clobbers.lost.union(results), &mut early);
        }
        self.make_room(input, early, Some(stamp), now);
        if missing {
            self.reload(input, operands, now);
        }
        self.end_uses(operands);
        if bound || problem.clobber_id(now.inst) != ClobberId::NONE {
            self.pass_obstacle(input, clobbers.killed(8).union(results), now);
        }
        if self.has_refs && flags.has(InstFlags::SAFEPOINT) {
            self.evict_refs(problem, now);
        }
        self.make_room(input, late, None, now);
        if flags.has(InstFlags::BRANCH) {
            return;
        }
        for (operand, next) in operands.iter().zip(after) {
            if operand.is_def() && !next.is_dead() && operand.constraint() != Constraint::Stack {
                self.add(operand.vreg(), false);
                self.count_rank(input, operand.vreg(), now);
            }
        }
    }

    /// Sees to it that so many more values have registers.
    fn make_room(&mut self, input: Input, more: Counts, busy: Option<u32>, now: At) {
        for (c, more) in more.into_iter().enumerate() {
            if self.inside[c].len() + more > self.limits[c] {
                self.shrink(input, c, self.limits[c].saturating_sub(more), busy, now);
            }
        }
    }

    /// A value that can be computed anywhere is computed where it is used, unless that is a busier place.
    fn defer(&mut self, input: Input, vreg: VReg, next: Next, here: u32) -> bool {
        let facts = input.facts;
        let v = vreg.index();
        let deferred = next.is_dead() || next.rate <= here && !facts.read_in_memory[v] && !facts.labelled[v];
        if deferred {
            self.values[v].next = next;
            self.values[v].spilled = true;
        }
        deferred
    }

    /// Uses bound to a register that their value cannot keep need a copy.
    fn count_copies(&self, operands: &[Operand], after: &[Next], gone: PRegSet, early: &mut Counts) {
        for (operand, next) in operands.iter().zip(after) {
            let Some(reg) = operand.fixed_reg().filter(|_| operand.is_use()) else { continue };
            let value = &self.values[operand.vreg().index()];
            let lives_on = !value.next.is_dead() && !next.is_dead();
            if lives_on && gone.contains(reg) && value.index != 0 {
                early[usize::from(value.class)] += 1;
            }
        }
    }

    fn reload(&mut self, input: Input, operands: &[Operand], now: At) {
        for (i, &operand) in operands.iter().enumerate().filter(|(_, o)| o.is_use()) {
            let vreg = operand.vreg();
            if !self.is_inside(vreg) && needs_register(input, operand, operands, i) {
                self.values[vreg.index()].spilled = true;
                self.add(vreg, true);
                self.count_rank(input, vreg, now);
            }
        }
    }

    /// What clobbers and fixed results leave no register for.
    fn pass_obstacle(&mut self, input: Input, gone: PRegSet, now: At) {
        for class in RegClass::ALL {
            let c = class.index();
            if self.inside[c].is_empty() {
                continue;
            }
            if !self.is_last {
                self.count_crossing(input, class, gone, now);
            }
            let left = (self.open.mask(class) & !gone.mask(class)).count_ones() as usize;
            if self.inside[c].len() > left {
                self.shrink(input, c, left, None, now);
            }
        }
    }

    /// The collector finds references in memory.
    fn evict_refs(&mut self, problem: &Problem, now: At) {
        for c in 0..2 {
            for i in (0..self.inside[c].len()).rev() {
                let vreg = self.inside[c][i];
                if problem.vregs[vreg].is_ref {
                    self.evict(vreg, now);
                }
            }
        }
    }

    /// Makes room: those leave whose return costs least per instruction of absence.
    fn shrink(&mut self, input: Input, c: usize, limit: usize, busy: Option<u32>, now: At) {
        while self.inside[c].len() > limit {
            let mut best: Option<(f32, VReg)> = None;
            self.steps += self.inside[c].len() as u64;
            for &vreg in &self.inside[c] {
                if busy == Some(self.values[vreg.index()].busy) {
                    continue;
                }
                let score = self.score(input, vreg, now);
                if best.is_none_or(|(least, other)| score < least || score == least && vreg > other) {
                    best = Some((score, vreg));
                }
            }
            let Some((_, vreg)) = best else { break };
            self.evict(vreg, now);
        }
    }

    fn score(&self, input: Input, vreg: VReg, now: At) -> f32 {
        let next = self.values[vreg.index()].next;
        if next.is_dead() {
            return 0.0;
        }
        let distance = next.distance.saturating_sub(now.pos).max(1);
        self.price(input, vreg, now.here) as f32 / distance as f32
    }

    /// What it costs if the value leaves here and comes back later.
    pub(crate) fn price(&self, input: Input, vreg: VReg, here: u32) -> u64 {
        let costs = &input.env.costs;
        let v = vreg.index();
        let back = u64::from(self.values[v].next.rate);
        if input.facts.remat(vreg).is_some() {
            return back * u64::from(costs.remat);
        }
        back * u64::from(costs.fill) + self.store_rate(input, vreg, u64::from(here)) * u64::from(costs.spill)
    }

    /// How often the value must be stored if it leaves registers `here` times: once at its def, or whenever it leaves.
    pub(crate) fn store_rate(&self, input: Input, vreg: VReg, here: u64) -> u64 {
        let v = vreg.index();
        if self.values[v].clean || input.live.far[v] {
            return 0;
        }
        let def = input.order.rates[input.live.def_place[v] as usize];
        u64::from(def).saturating_sub(self.values[v].leaves).min(here)
    }

    fn evict(&mut self, vreg: VReg, now: At) {
        let v = vreg.index();
        self.remove(vreg);
        self.evictions.push((now.inst, vreg));
        if !self.values[v].next.is_dead() {
            self.leave(vreg, u64::from(now.here));
        }
    }

    /// A live value is not in a register from here on.
    pub(crate) fn leave(&mut self, vreg: VReg, rate: u64) {
        let v = vreg.index();
        self.values[v].spilled = true;
        if !std::mem::replace(&mut self.values[v].clean, true) {
            self.values[v].leaves += rate;
            self.leavings.push((vreg, rate));
        }
    }

    /// One more value is in a register, which may take a callee-saved one.
    #[inline]
    fn count_rank(&mut self, input: Input, vreg: VReg, now: At) {
        let c = usize::from(self.values[vreg.index()].class);
        if self.inside[c].len() <= self.calm[c] {
            return;
        }
        let Some(rank) = self.inside[c].len().checked_sub(self.bases[c] + 1) else { return };
        self.use_ranks(c, rank + 1);
        if !self.is_learning || self.worth[c].get(rank).is_none_or(|&worth| worth > self.price) {
            return;
        }
        let least = self.inside[c].iter().map(|&vreg| self.price(input, vreg, now.here)).min();
        if let Some(worth) = self.worth[c].get_mut(rank) {
            *worth += least.unwrap_or(0);
        }
        self.stay_calm(c);
    }

    /// Values that live through a call, the most precious first, each pay for a callee-saved register of their own as long
    /// as they stay in registers.
    fn count_crossing(&mut self, input: Input, class: RegClass, gone: PRegSet, now: At) {
        let c = class.index();
        let caller_saved = input.facts.allocatable.mask(class) & !input.facts.callee_saved.mask(class);
        let base = (caller_saved & !gone.mask(class)).count_ones() as usize;
        if self.inside[c].len() <= base {
            return;
        }
        let saved = input.facts.callee_saved.difference(gone).of_class(class).len();
        if !self.is_learning {
            self.use_ranks(c, (self.inside[c].len() - base).min(saved));
            return;
        }
        let mut ranks = 0u64;
        let mut sorted = std::mem::take(&mut self.sorted);
        sorted.clear();
        for &vreg in &self.inside[c] {
            match self.values[vreg.index()].rank {
                NO_RANK => sorted.push((self.price(input, vreg, now.here), vreg)),
                rank => ranks |= 1 << rank,
            }
        }
        sorted.sort_unstable_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        for &(price, vreg) in sorted.iter().skip(base) {
            let rank = ranks.trailing_ones();
            let Some(worth) = self.worth[c].get_mut(rank as usize) else { break };
            *worth += price;
            ranks |= 1 << rank;
            self.values[vreg.index()].rank = rank as u8;
        }
        self.sorted = sorted;
        let most = (u64::BITS - ranks.leading_zeros()) as usize;
        self.use_ranks(c, most.min(saved));
        self.stay_calm(c);
    }
}

/// Must a use that is not in a register be brought into one?
fn needs_register(input: Input, operand: Operand, operands: &[Operand], i: usize) -> bool {
    match operand.constraint() {
        Constraint::Stack | Constraint::Any => false,
        Constraint::MemOk => {
            let reused = operands.iter().any(|def| def.constraint() == Constraint::Reuse(i as u8));
            reused || input.facts.remat(operand.vreg()).is_some()
        }
        _ => true,
    }
}

/// Does the def overwrite an input that lives on, so that it needs a copy of it?
fn is_copied(def: Operand, operands: &[Operand], after: &[Next]) -> bool {
    let Constraint::Reuse(k) = def.constraint() else { return false };
    let vreg = operands[usize::from(k)].vreg();
    let last = operands.iter().rposition(|o| o.vreg() == vreg).unwrap_or(0);
    !after[last].is_dead()
}
