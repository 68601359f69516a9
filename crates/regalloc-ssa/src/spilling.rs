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
//! if loading it on the edges that lack it costs no more than loading it later (`entry_set.rs`). A back edge is taken
//! to have everything until its source has been visited, and where that was wrong the loop is walked once more with what
//! is known then. The first walk also tells how many callee-saved registers are worth their saving: each rank of values
//! beyond the caller-saved registers counts what it would have cost to have one register less. If one in use is not, a
//! second walk begins where that was. It has to be expected once more are in use than have proved their worth: loops are
//! left to it then.
//!
//! Nothing is assigned here: what leaves is a list of evictions in the order of the walk, and the sets at the heads of
//! blocks where paths meet. A value not in a register is in memory, or is computed again; `reload.rs` says which.
//!
//! Cost: linear in operands and entries; an eviction looks at all registers of its class.

use crate::coalescing::Coalescing;
use crate::constraints::Facts;
use crate::liveness::{Liveness, Next, rate, reset};
use crate::order::Order;
use crate::spill_instruction::At;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{Block, Freq, Inst, MachineEnv, PReg, PRegSet, Problem, RegClass, VReg, VRegData};
use std::fmt::{self, Write};

/// So many registers are used whatever it costs to save them, as instructions need some.
const FEWEST: usize = 5;
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
    /// The last of the crowded instructions that read it, by [`Spilling::crowds`].
    pub(crate) busy: u32,
    /// Index of its class.
    pub(crate) class: u8,
    /// Can it be computed anywhere, so that it is where it is used?
    pub(crate) waits: bool,
    /// Is it in memory, or computed again, anywhere?
    pub(crate) spilled: bool,
    /// Memory has it, on the way here.
    pub(crate) clean: bool,
    /// The callee-saved register that its stay is counted for in `worth`, or [`NO_RANK`].
    pub(crate) rank: u8,
}

/// Its stay has not been counted.
pub(crate) const NO_RANK: u8 = u8::MAX;

impl Value {
    fn new(facts: &Facts, vreg: VReg, data: &VRegData) -> Value {
        Value {
            leaves: 0,
            next: Next::DEAD,
            index: 0,
            live_at: NONE,
            busy: 0,
            class: data.class.index() as u8,
            waits: facts.remat(vreg).is_some() && !facts.labelled[vreg.index()],
            spilled: false,
            clean: false,
            rank: NO_RANK,
        }
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
    /// What was added to [`Value::leaves`], in the order of the walk.
    pub(crate) leavings: Vec<(VReg, u64)>,
    pub(crate) values: Vec<Value>,
    /// Per place where paths meet, who is in registers at its head.
    pub(crate) heads: Vec<Span>,
    /// Per place, who is in registers at its end.
    pub(crate) exits: Vec<Span>,
    pub(crate) pool: Vec<VReg>,
    /// Per member of the pool: memory has it as well.
    pub(crate) pool_clean: Vec<bool>,
    pub(crate) steps: u64,
    /// Who is in registers; those who died since the last [`Spilling::sweep`] as well.
    pub(crate) inside: [Vec<VReg>; 2],
    /// May somebody have died since?
    pub(crate) is_stale: bool,
    /// While no more than these are in registers nobody leaves, and no callee-saved register of unknown worth is needed.
    pub(crate) calm: Counts,
    /// Per class and rank, what one more callee-saved register saves.
    pub(crate) worth: [Vec<u64>; 2],
    /// Is this a walk that finds out what callee-saved registers are worth?
    pub(crate) is_learning: bool,
    /// Is it known which registers are open?
    pub(crate) is_last: bool,
    /// What each of them costs.
    pub(crate) price: u64,
    /// Per class and rank in use, the stretch that used it first.
    pub(crate) ranks: [Vec<u32>; 2],
    /// The stretch at hand.
    pub(crate) stretch: u32,
    /// The first stretch of the second walk, or [`NONE`].
    pub(crate) again: u32,
    /// Per stretch, how many evictions and leavings there were before.
    pub(crate) marks: Vec<(usize, usize)>,
    pub(crate) limits: Counts,
    /// Per class, the number of caller-saved registers.
    pub(crate) bases: Counts,
    pub(crate) entry: crate::entry_set::Scratch,
    pub(crate) has_refs: bool,
    /// Instructions so far where somebody might have had to leave.
    pub(crate) crowds: u32,
    /// A back edge lacks what its target was thought to find.
    pub(crate) surprised: bool,
    pub(crate) sorted: Vec<(u64, VReg)>,
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
        self.begin(input);
        self.walk(input, 0);
        self.learn(input);
        if self.again != NONE {
            self.resume(input, self.again);
            self.walk(input, self.again);
        }
        self.empty();
    }

    /// Walks over the stretches from one on.
    fn walk(&mut self, input: Input, from: u32) {
        for (i, &(place, end)) in input.order.stretches.iter().enumerate().skip(from as usize) {
            self.stretch = i as u32;
            self.surprised = false;
            if !self.is_last {
                self.marks.push((self.evictions.len(), self.leavings.len()));
            }
            (place..=end).for_each(|place| self.block(input, place));
            if self.is_last || !self.surprised {
                continue;
            }
            if self.again == NONE && RegClass::ALL.into_iter().all(|class| self.first_worthless(input, class).is_none())
            {
                self.repeat(input, place, end);
            } else {
                self.again = self.again.min(self.stretch);
            }
        }
    }

    /// Walks a loop once more, as it lacked something that its head was thought to find on the way back.
    fn repeat(&mut self, input: Input, place: u32, end: u32) {
        self.take_back(self.stretch);
        self.is_learning = false;
        (place..=end).for_each(|place| self.block(input, place));
        self.is_learning = true;
    }

    /// Forgets who left from a stretch on.
    fn take_back(&mut self, stretch: u32) {
        let (evictions, leavings) = self.marks[stretch as usize];
        self.evictions.truncate(evictions);
        for (vreg, often) in self.leavings.drain(leavings..) {
            self.values[vreg.index()].leaves -= often;
        }
    }

    /// Goes back to the end of the block before a stretch.
    fn resume(&mut self, input: Input, stretch: u32) {
        self.take_back(stretch);
        (self.is_last, self.is_learning) = (true, false);
        self.set_limits();
        self.empty();
        let before = input.order.stretches[stretch as usize].0.checked_sub(1);
        let (start, end) = before.map_or((0, 0), |place| self.exits[place as usize]);
        for i in start as usize..end as usize {
            self.add(self.pool[i], self.pool_clean[i]);
        }
    }

    fn begin(&mut self, input: Input) {
        let values = input.problem.vregs.len();
        (self.is_last, self.is_learning, self.again) = (false, true, NONE);
        self.marks.clear();
        self.evictions.clear();
        self.leavings.clear();
        self.empty();
        self.crowds = 0;
        self.has_refs = input.problem.vregs.values().any(|data| data.is_ref);
        self.values.clear();
        let vregs = input.problem.vregs.values().enumerate();
        self.values.extend(vregs.map(|(v, data)| Value::new(input.facts, VReg::new(v), data)));
        self.price = u64::from(input.env.costs.callee_saved) * u64::from(rate(Freq::ENTRY));
        self.entry.begin(values);
        for class in RegClass::ALL {
            let c = class.index();
            let caller_saved = input.facts.allocatable.difference(input.facts.callee_saved);
            self.bases[c] = caller_saved.of_class(class).len();
            reset(&mut self.worth[c], 64, 0);
            self.ranks[c].clear();
        }
        self.set_limits();
    }

    fn set_limits(&mut self) {
        for class in RegClass::ALL {
            self.limits[class.index()] = self.open.of_class(class).len();
            self.stay_calm(class.index());
        }
    }

    /// As long as no more values are in registers than this there is nothing to learn.
    pub(crate) fn stay_calm(&mut self, c: usize) {
        let known = self.bases[c] + self.worth[c].iter().take_while(|&&worth| worth > self.price).count();
        self.calm[c] = if self.is_last { self.limits[c] } else { known.min(self.limits[c]) };
    }

    /// Closes callee-saved registers that are not worth it.
    fn learn(&mut self, input: Input) {
        for class in RegClass::ALL {
            let env = input.env.class(class);
            let saved = env.order.iter().filter(|&&reg| env.callee_saved.contains(reg));
            saved.skip(self.worthy(input, class)).for_each(|&reg| self.open.remove(reg));
            if let Some(stretch) = self.first_worthless(input, class) {
                self.again = self.again.min(stretch);
            }
        }
    }

    /// So many callee-saved registers are worth it, as far as is known.
    fn worthy(&self, input: Input, class: RegClass) -> usize {
        let env = input.env.class(class);
        let kept = self.worth[class.index()].iter().take_while(|&&worth| worth > self.price).count();
        kept.max((FEWEST + env.callee_saved.len()).saturating_sub(env.order.len()))
    }

    /// The stretch that first used one more than those.
    fn first_worthless(&self, input: Input, class: RegClass) -> Option<u32> {
        self.ranks[class.index()].get(self.worthy(input, class)).copied()
    }

    /// So many callee-saved registers are in use.
    pub(crate) fn use_ranks(&mut self, c: usize, count: usize) {
        let ranks = &mut self.ranks[c];
        ranks.resize(count.max(ranks.len()), self.stretch);
    }

    pub(crate) fn empty(&mut self) {
        for inside in &mut self.inside {
            for vreg in inside.drain(..) {
                if let Some(value) = self.values.get_mut(vreg.index()) {
                    value.index = 0;
                }
            }
        }
        self.is_stale = false;
    }

    /// Keeps of those in registers who passes.
    pub(crate) fn retain(&mut self, keep: impl Fn(&mut Value) -> bool) {
        for inside in &mut self.inside {
            let mut kept = 0;
            for i in 0..inside.len() {
                let vreg = inside[i];
                let value = &mut self.values[vreg.index()];
                value.index = 0;
                if keep(value) {
                    inside[kept] = vreg;
                    kept += 1;
                    value.index = kept as u32;
                }
            }
            inside.truncate(kept);
        }
    }

    /// Takes out who died.
    pub(crate) fn sweep(&mut self) {
        if std::mem::take(&mut self.is_stale) {
            self.retain(|value| !value.next.is_dead());
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

    /// The value comes to be in a register.
    #[inline]
    pub(crate) fn add(&mut self, vreg: VReg, clean: bool) {
        let value = &mut self.values[vreg.index()];
        let inside = &mut self.inside[usize::from(value.class)];
        inside.push(vreg);
        value.index = inside.len() as u32;
        value.rank = NO_RANK;
        value.clean = clean;
    }

    pub(crate) fn remove(&mut self, vreg: VReg) {
        let value = &mut self.values[vreg.index()];
        let index = std::mem::take(&mut value.index) as usize;
        let inside = &mut self.inside[usize::from(value.class)];
        inside.swap_remove(index - 1);
        if let Some(&moved) = inside.get(index - 1) {
            self.values[moved.index()].index = index as u32;
        }
    }

    fn block(&mut self, input: Input, place: u32) {
        let problem = input.problem;
        let block = input.order.blocks[place as usize];
        self.enter(input, place);
        let here = input.order.rates[place as usize];
        let (first, end) = (problem.first_inst(block).as_u32(), problem.terminator(block).as_u32() + 1);
        let (mut at, mut demand) = (first, input.facts.next_demand(first, end));
        while at < end {
            if at > demand {
                demand = input.facts.next_demand(at, end);
            }
            if at < demand {
                at = self.calm_run(input, at, demand, here);
            }
            if at < end {
                self.instruction(input, At { inst: Inst::from_u32(at), pos: at - first, here });
                at += 1;
            }
        }
        self.sweep();
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

/// Do edges into the block carry moves? Where there is only one way in, and nothing is passed, the block takes over what
/// is.
pub(crate) fn is_joined(problem: &Problem, block: Block) -> bool {
    problem.preds(block).len() != 1 || !problem.params(block).is_empty()
}
