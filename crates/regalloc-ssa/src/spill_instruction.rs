//! One instruction: what it wants in registers, what it takes registers from, and who leaves for that.

use crate::liveness::{Next, rate};
use crate::spilling::{Input, NO_RANK, Spilling};
use cranelift_entity::EntityRef;
use kingpost_regalloc::{ClobberId, Constraint, Inst, InstFlags, Operand, PRegSet, Pos, Problem, RegClass, VReg};

/// Numbers per class of registers.
type Counts = [usize; 2];

/// The instruction at hand: its number, its position in the block, the rate of the block.
#[derive(Clone, Copy)]
struct At {
    inst: Inst,
    pos: u32,
    here: u32,
}

impl Spilling {
    pub(crate) fn instruction(&mut self, input: Input, inst: Inst, pos: u32, here: u32) {
        let problem = input.problem;
        let flags = problem.flags(inst);
        let operands = problem.operands(inst);
        let first = problem.operand_range(inst).start;
        let now = At { inst, pos, here };
        let is_branch = flags.has(InstFlags::BRANCH);
        if flags.has(InstFlags::REMAT) && self.defer(input, operands[0].vreg(), input.live.after[first], here) {
            return;
        }
        let stamp = inst.as_u32() + 1;
        if !input.facts.has_demands(inst) && self.is_roomy(operands.len()) {
            return self.roomy(input, operands, first, now);
        }
        let mut early = [0; 2];
        let mut late = [0; 2];
        let mut missing = false;
        for (i, &operand) in operands.iter().enumerate() {
            let vreg = operand.vreg();
            let v = vreg.index();
            let class = problem.class(vreg).index();
            let next = input.live.after[first + i];
            self.values[v].next = next;
            if operand.is_def() {
                late[class] += 1;
                early[class] +=
                    usize::from(operand.pos() == Pos::Early || self.is_copied(operand, operands, input, first));
                continue;
            }
            let known = self.values[v].busy == stamp;
            self.values[v].busy = stamp;
            if self.values[v].index == 0 && !known {
                if needs_register(input, operand, operands, i) {
                    missing = true;
                    early[class] += 1;
                } else {
                    self.values[v].spilled = true;
                }
            }
            late[class] += usize::from(operand.pos() == Pos::Late && next.is_dead());
        }
        let obstacle = input.facts.has_demands(inst) && is_obstacle(problem, inst, operands);
        if obstacle {
            self.count_copies(input, inst, first, &mut early);
        }
        for class in RegClass::ALL {
            let c = class.index();
            if self.inside[c].len() + early[c] > self.limits[c] {
                self.shrink(input, class, self.limits[c].saturating_sub(early[c]), Some(stamp), now);
            }
        }
        if missing {
            self.reload(input, operands, now);
        }
        for operand in operands.iter().filter(|operand| operand.is_use()) {
            let vreg = operand.vreg();
            if self.values[vreg.index()].next.is_dead() && self.values[vreg.index()].index != 0 {
                self.remove(problem, vreg);
            }
        }
        if obstacle || flags.has(InstFlags::SAFEPOINT) {
            self.pass_obstacle(input, operands, flags, now);
        }
        for class in RegClass::ALL {
            let c = class.index();
            if self.inside[c].len() + late[c] > self.limits[c] {
                self.shrink(input, class, self.limits[c].saturating_sub(late[c]), None, now);
            }
        }
        for operand in operands.iter().filter(|operand| operand.is_def() && !is_branch) {
            let vreg = operand.vreg();
            if !self.values[vreg.index()].next.is_dead() && operand.constraint() != Constraint::Stack {
                self.add(problem, vreg);
                self.values[vreg.index()].clean = false;
                self.count_rank(input, problem.class(vreg), now);
            }
        }
    }

    /// Are there registers for so many more values, whatever their class?
    fn is_roomy(&self, operands: usize) -> bool {
        (0..2).all(|c| self.inside[c].len() + operands <= self.limits[c])
    }

    /// An instruction without demands where nobody needs to leave.
    fn roomy(&mut self, input: Input, operands: &[Operand], first: usize, now: At) {
        let problem = input.problem;
        for (i, &operand) in operands.iter().enumerate() {
            let vreg = operand.vreg();
            let v = vreg.index();
            self.values[v].next = input.live.after[first + i];
            if operand.is_use() && self.values[v].index == 0 {
                self.values[v].spilled = true;
                if needs_register(input, operand, operands, i) {
                    self.add(problem, vreg);
                    self.values[v].clean = true;
                    self.count_rank(input, problem.class(vreg), now);
                }
            }
        }
        for operand in operands.iter().filter(|operand| operand.is_use()) {
            let v = operand.vreg().index();
            if self.values[v].next.is_dead() && self.values[v].index != 0 {
                self.remove(problem, operand.vreg());
            }
        }
        for vreg in operands.iter().filter(|operand| operand.is_def()).map(|operand| operand.vreg()) {
            if !self.values[vreg.index()].next.is_dead() {
                self.add(problem, vreg);
                self.values[vreg.index()].clean = false;
                self.count_rank(input, problem.class(vreg), now);
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

    /// Does the def overwrite an input that lives on, so that it needs a copy of it?
    fn is_copied(&self, def: Operand, operands: &[Operand], input: Input, first: usize) -> bool {
        match def.constraint() {
            Constraint::Reuse(k) => {
                let vreg = operands[usize::from(k)].vreg();
                let last = operands.iter().rposition(|o| o.vreg() == vreg).unwrap_or(0);
                !input.live.after[first + last].is_dead()
            }
            _ => false,
        }
    }

    /// Uses bound to a register that their value cannot keep need a copy.
    fn count_copies(&self, input: Input, inst: Inst, first: usize, early: &mut Counts) {
        let problem = input.problem;
        let operands = problem.operands(inst);
        let lost = problem.clobbers(inst).lost;
        let late: PRegSet = operands.iter().filter(|o| o.is_def()).filter_map(|o| o.fixed_reg()).collect();
        for (i, operand) in operands.iter().enumerate().filter(|(_, o)| o.is_use()) {
            let Some(reg) = operand.fixed_reg() else { continue };
            let lives_on =
                !self.values[operand.vreg().index()].next.is_dead() && !input.live.after[first + i].is_dead();
            if lives_on && lost.union(late).contains(reg) && self.values[operand.vreg().index()].index != 0 {
                early[problem.class(operand.vreg()).index()] += 1;
            }
        }
    }

    fn reload(&mut self, input: Input, operands: &[Operand], now: At) {
        for (i, &operand) in operands.iter().enumerate().filter(|(_, o)| o.is_use()) {
            let vreg = operand.vreg();
            if self.values[vreg.index()].index == 0 && needs_register(input, operand, operands, i) {
                self.add(input.problem, vreg);
                self.values[vreg.index()].spilled = true;
                self.values[vreg.index()].clean = true;
                self.count_rank(input, input.problem.class(vreg), now);
            }
        }
    }

    /// What clobbers and fixed results leave no register for.
    fn pass_obstacle(&mut self, input: Input, operands: &[Operand], flags: InstFlags, now: At) {
        let problem = input.problem;
        let lost = problem.clobbers(now.inst).killed(8);
        let fixed: PRegSet = operands.iter().filter(|o| o.is_def()).filter_map(|o| o.fixed_reg()).collect();
        let gone = lost.union(fixed);
        for class in RegClass::ALL {
            let c = class.index();
            let left = self.open.difference(gone).of_class(class).len();
            self.count_crossing(input, class, gone, now);
            if self.inside[c].len() > left {
                self.shrink(input, class, left, None, now);
            }
        }
        if flags.has(InstFlags::SAFEPOINT) {
            for c in 0..2 {
                for i in (0..self.inside[c].len()).rev() {
                    let vreg = self.inside[c][i];
                    if problem.vregs[vreg].is_ref {
                        self.evict(input, vreg, now);
                    }
                }
            }
        }
    }

    /// Makes room: those leave whose return costs least per instruction of absence.
    fn shrink(&mut self, input: Input, class: RegClass, limit: usize, busy: Option<u32>, now: At) {
        while self.inside[class.index()].len() > limit {
            let mut best: Option<(f32, VReg)> = None;
            self.steps += self.inside[class.index()].len() as u64;
            for &vreg in &self.inside[class.index()] {
                if busy == Some(self.values[vreg.index()].busy) {
                    continue;
                }
                let score = self.score(input, vreg, now);
                if best.is_none_or(|(least, other)| score < least || score == least && vreg > other) {
                    best = Some((score, vreg));
                }
            }
            let Some((_, vreg)) = best else { break };
            self.evict(input, vreg, now);
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
        let def = rate(input.problem.freq(input.order.blocks[input.live.def_place[v] as usize]));
        u64::from(def).saturating_sub(self.values[v].leaves).min(here)
    }

    fn evict(&mut self, input: Input, vreg: VReg, now: At) {
        let v = vreg.index();
        self.remove(input.problem, vreg);
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
        }
    }

    /// One more value is in a register, which may take a callee-saved one.
    fn count_rank(&mut self, input: Input, class: RegClass, now: At) {
        let c = class.index();
        let Some(rank) = self.inside[c].len().checked_sub(self.bases[c] + 1) else { return };
        self.ranks[c] = self.ranks[c].max(rank + 1);
        if !self.is_learning || self.worth[c].get(rank).is_none_or(|&worth| worth > self.price) {
            return;
        }
        let least = self.inside[c].iter().map(|&vreg| self.price(input, vreg, now.here)).min();
        if let Some(worth) = self.worth[c].get_mut(rank) {
            *worth += least.unwrap_or(0);
        }
    }

    /// Values that live through a call, the most precious first, each pay for a callee-saved register of their own as long
    /// as they stay in registers.
    fn count_crossing(&mut self, input: Input, class: RegClass, gone: PRegSet, now: At) {
        let c = class.index();
        let base = input.facts.allocatable.difference(input.facts.callee_saved).difference(gone).of_class(class).len();
        if self.inside[c].len() <= base || !self.is_learning {
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
        let saved = input.facts.callee_saved.difference(gone).of_class(class).len();
        let most = (u64::BITS - ranks.leading_zeros()) as usize;
        self.ranks[c] = self.ranks[c].max(most.min(saved));
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

/// Does the instruction take registers from values that live through it?
fn is_obstacle(problem: &Problem, inst: Inst, operands: &[Operand]) -> bool {
    problem.clobber_id(inst) != ClobberId::NONE || operands.iter().any(|operand| operand.fixed_reg().is_some())
}
