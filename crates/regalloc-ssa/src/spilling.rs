//! Which values are in registers where: next-use distances (Braun and Hack, *Register spilling and live-range splitting
//! for SSA-form programs*, 2009), weighed by what it costs to bring a value back.
//!
//! ```text
//! b0: def v0, v1, v2 ..       three values, two registers: where the third is defined one must leave. The one
//!     use v1                  whose return costs least per instruction of absence goes: v0 if all run once,
//!     use v2; use v0          but v1 if v0 and v2 are used in a loop and v1 behind it
//! ```
//!
//! Blocks are walked in order with the set of values in registers, per class. Where paths meet, a value is in a register
//! if loading it on the edges that lack it costs no more than loading it later (`spill_entry.rs`). A back edge is taken
//! to have everything until its source has been visited, and where that was wrong all is walked once more with what is
//! known then. The first walk also tells how many callee-saved registers are worth their saving: each rank of values
//! beyond the caller-saved registers counts what it would have cost to have one register less.
//!
//! Nothing is assigned here: what leaves is a list of evictions in the order of the walk, and the sets at the heads of
//! blocks where paths meet. A value not in a register is in memory, or is computed again; `reload.rs` says which.
//!
//! Cost: linear in operands and entries; an eviction looks at all registers of its class.

use crate::coalescing::Coalescing;
use crate::facts::Facts;
use crate::liveness::{Liveness, Next, rate, reset};
use crate::order::Order;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{
    Block, ClobberId, Constraint, Freq, Inst, InstFlags, MachineEnv, Operand, PReg, PRegSet, Pos, Problem, RegClass,
    VReg,
};
use std::fmt::{self, Write};

/// So many registers are used whatever it costs to save them, as instructions need some.
const FEWEST: usize = 5;
/// Walks over the whole problem.
const ROUNDS: u32 = 2;
pub(crate) const NONE: u32 = u32::MAX;

/// Numbers per class of registers.
type Counts = [usize; 2];

/// What spilling reads.
#[derive(Clone, Copy)]
pub(crate) struct Input<'a> {
    pub(crate) problem: &'a Problem,
    pub(crate) env: &'a MachineEnv,
    pub(crate) order: &'a Order,
    pub(crate) facts: &'a Facts,
    pub(crate) live: &'a Liveness,
    pub(crate) classes: &'a Coalescing,
}

/// Ranges of the pool of values.
pub(crate) type Span = (u32, u32);

/// What is known about a value.
#[derive(Clone, Copy)]
pub(crate) struct Value {
    /// How often it leaves registers that hold it but memory does not.
    pub(crate) leaves: u64,
    /// While it is live, its next use, counted from the head of the block at hand.
    pub(crate) next: Next,
    /// One plus its index among the values in registers, or 0.
    pub(crate) index: u32,
    /// The last place where it was found live at the head.
    pub(crate) live_at: u32,
    /// One plus the last instruction that read it.
    busy: u32,
    /// Is it in memory, or computed again, anywhere?
    pub(crate) spilled: bool,
    /// Memory has it, on the way here.
    pub(crate) clean: bool,
    /// Its stay in registers has been counted in `worth`.
    counted: bool,
}

impl Default for Value {
    fn default() -> Value {
        let (leaves, next, index, busy) = (0, Next::DEAD, 0, 0);
        Value { leaves, next, index, live_at: NONE, busy, spilled: false, clean: false, counted: false }
    }
}

/// The plan, and the sets that the walk carries along.
#[derive(Default)]
pub(crate) struct Spilling {
    /// Registers that may be used: all, but for callee-saved ones that are not worth it.
    pub(crate) open: PRegSet,
    /// Values that leave their registers at an instruction, in the order of the walk: those it reads after that, others
    /// before.
    pub(crate) evictions: Vec<(Inst, VReg)>,
    pub(crate) values: Vec<Value>,
    /// Per place where paths meet, who is in registers at its head.
    pub(crate) heads: Vec<Span>,
    /// Per place, who is in registers at its end.
    pub(crate) exits: Vec<Span>,
    pub(crate) pool: Vec<VReg>,
    /// Per member of the pool: memory has it as well.
    pub(crate) pool_clean: Vec<bool>,
    pub(crate) steps: u64,
    /// Who is in registers.
    pub(crate) inside: [Vec<VReg>; 2],
    /// Per class and rank, what one more callee-saved register saves.
    worth: [Vec<u64>; 2],
    /// Is this a walk that finds out what callee-saved registers are worth?
    is_learning: bool,
    /// What each of them costs.
    price: u64,
    /// Per class, the highest rank in use.
    ranks: Counts,
    limits: Counts,
    /// Per class, the number of caller-saved registers.
    bases: Counts,
    pub(crate) entry: crate::spill_entry::Scratch,
    /// A back edge lacks what its target was thought to find.
    pub(crate) surprised: bool,
    sorted: Vec<u64>,
}

impl Spilling {
    pub(crate) fn compute(&mut self, input: Input) {
        self.open = input.facts.allocatable;
        self.steps = 0;
        let blocks = input.order.blocks.len();
        reset(&mut self.exits, blocks, (NONE, NONE));
        reset(&mut self.heads, blocks, (0, 0));
        self.pool.clear();
        self.pool_clean.clear();
        for round in 0..ROUNDS {
            self.begin(input);
            self.is_learning = round + 1 < ROUNDS;
            for place in 0..blocks as u32 {
                self.block(input, place);
            }
            if round + 1 == ROUNDS || !self.learn(input) && !self.surprised {
                break;
            }
        }
        self.empty();
    }

    fn begin(&mut self, input: Input) {
        let values = input.problem.vregs.len();
        self.evictions.clear();
        self.empty();
        reset(&mut self.values, values, Value::default());
        self.surprised = false;
        self.entry.begin(values);
        for class in RegClass::ALL {
            let c = class.index();
            self.limits[c] = self.open.of_class(class).len();
            let caller_saved = input.facts.allocatable.difference(input.facts.callee_saved);
            self.bases[c] = caller_saved.of_class(class).len();
            reset(&mut self.worth[c], 64, 0);
        }
        self.ranks = [0; 2];
        self.price = u64::from(input.env.costs.callee_saved) * u64::from(rate(Freq::ENTRY));
    }

    /// Closes callee-saved registers that are not worth it. Was one of them in use?
    fn learn(&mut self, input: Input) -> bool {
        let price = self.price;
        let mut changed = false;
        for class in RegClass::ALL {
            let env = input.env.class(class);
            let kept = self.worth[class.index()].iter().take_while(|&&worth| worth > price).count();
            let kept = kept.max((FEWEST + env.callee_saved.len()).saturating_sub(env.order.len()));
            let saved = env.order.iter().filter(|&&reg| env.callee_saved.contains(reg));
            saved.skip(kept).for_each(|&reg| self.open.remove(reg));
            changed |= self.ranks[class.index()] > kept;
        }
        changed
    }

    pub(crate) fn empty(&mut self) {
        for inside in &mut self.inside {
            for vreg in inside.drain(..) {
                if let Some(value) = self.values.get_mut(vreg.index()) {
                    value.index = 0;
                }
            }
        }
    }

    /// Notes who is in registers.
    pub(crate) fn save(&mut self) -> Span {
        let start = self.pool.len() as u32;
        for inside in &self.inside {
            self.pool.extend_from_slice(inside);
            self.pool_clean.extend(inside.iter().map(|vreg| self.values[vreg.index()].clean));
        }
        (start, self.pool.len() as u32)
    }

    pub(crate) fn is_inside(&self, vreg: VReg) -> bool {
        self.values[vreg.index()].index != 0
    }

    pub(crate) fn limit(&self, class: RegClass) -> usize {
        self.limits[class.index()]
    }

    /// The value comes to be in a register.
    pub(crate) fn add(&mut self, problem: &Problem, vreg: VReg) {
        let inside = &mut self.inside[problem.class(vreg).index()];
        inside.push(vreg);
        self.values[vreg.index()].index = inside.len() as u32;
        self.values[vreg.index()].counted = false;
    }

    fn remove(&mut self, problem: &Problem, vreg: VReg) {
        let index = std::mem::take(&mut self.values[vreg.index()].index) as usize;
        let inside = &mut self.inside[problem.class(vreg).index()];
        inside.swap_remove(index - 1);
        if let Some(&moved) = inside.get(index - 1) {
            self.values[moved.index()].index = index as u32;
        }
    }

    fn block(&mut self, input: Input, place: u32) {
        let problem = input.problem;
        let block = input.order.blocks[place as usize];
        self.enter(input, place);
        let here = rate(problem.freq(block));
        for (pos, inst) in problem.insts(block).enumerate() {
            self.instruction(input, inst, pos as u32, here);
        }
        self.exits[place as usize] = self.save();
        let start = self.exits[place as usize].0;
        self.steps += u64::from(self.pool.len() as u32 - start);
        for &edge in problem.succs(block) {
            let to = input.order.place(problem.edge(edge).to);
            if to <= place && !self.surprised {
                self.surprised = self.lacks(input, edge, to);
            }
        }
    }

    fn instruction(&mut self, input: Input, inst: Inst, pos: u32, here: u32) {
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

    /// Values that live through a call, the most precious first, each pay for one more callee-saved register.
    fn count_crossing(&mut self, input: Input, class: RegClass, gone: PRegSet, now: At) {
        let c = class.index();
        let base = input.facts.allocatable.difference(input.facts.callee_saved).difference(gone).of_class(class).len();
        if self.inside[c].len() <= base || !self.is_learning {
            return;
        }
        let mut sorted = std::mem::take(&mut self.sorted);
        sorted.clear();
        for &vreg in &self.inside[c] {
            let counted = std::mem::replace(&mut self.values[vreg.index()].counted, true);
            sorted.push(if counted { 0 } else { self.price(input, vreg, now.here) });
        }
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        let saved = input.facts.callee_saved.difference(gone).of_class(class).len();
        self.ranks[c] = self.ranks[c].max((sorted.len() - base).min(saved));
        for (worth, &price) in self.worth[c].iter_mut().zip(sorted.iter().skip(base)) {
            *worth += price;
        }
        self.sorted = sorted;
    }

    /// Who is in registers at the head of a block where paths meet.
    pub(crate) fn head(&self, place: u32) -> &[VReg] {
        let (start, end) = self.heads[place as usize];
        &self.pool[start as usize..end as usize]
    }

    /// Who is in registers at the end of a block.
    pub(crate) fn exit(&self, place: u32) -> &[VReg] {
        let (start, end) = self.exits[place as usize];
        if start == NONE { &[] } else { &self.pool[start as usize..end as usize] }
    }

    /// One line per block where paths meet, and per instruction at which values leave.
    pub(crate) fn dump(&self, input: Input, out: &mut String) -> fmt::Result {
        let closed = input.facts.allocatable.difference(self.open);
        if !closed.is_empty() {
            write!(out, "not worth saving:")?;
            closed.iter().try_for_each(|reg: PReg| write!(out, " {reg}"))?;
            writeln!(out)?;
        }
        let mut evictions = self.evictions.iter().peekable();
        for (place, &block) in input.order.blocks.iter().enumerate() {
            if is_joined(input.problem, block) && place > 0 {
                write!(out, "{block}:")?;
                let mut head = self.head(place as u32).to_vec();
                head.sort_unstable();
                head.iter().try_for_each(|vreg| write!(out, " {vreg}"))?;
                writeln!(out)?;
            }
            for inst in input.problem.insts(block) {
                while let Some((_, vreg)) = evictions.next_if(|eviction| eviction.0 == inst) {
                    writeln!(out, "{inst}: {vreg} leaves")?;
                }
            }
        }
        Ok(())
    }
}

/// The instruction at hand: its number, its position in the block, the rate of the block.
#[derive(Clone, Copy)]
struct At {
    inst: Inst,
    pos: u32,
    here: u32,
}

/// Do edges into the block carry moves? Where there is only one way in, and nothing is passed, the block takes over what
/// is.
pub(crate) fn is_joined(problem: &Problem, block: Block) -> bool {
    problem.preds(block).len() != 1 || !problem.params(block).is_empty()
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
