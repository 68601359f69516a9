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
use kingpost_regalloc::{Block, Freq, Inst, MachineEnv, PReg, PRegSet, Problem, RegClass, VReg};
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
    pub(crate) busy: u32,
    /// Is it in memory, or computed again, anywhere?
    pub(crate) spilled: bool,
    /// Memory has it, on the way here.
    pub(crate) clean: bool,
    /// The callee-saved register that its stay is counted for in `worth`, or [`NO_RANK`].
    pub(crate) rank: u8,
}

/// Its stay has not been counted.
pub(crate) const NO_RANK: u8 = u8::MAX;

impl Default for Value {
    fn default() -> Value {
        let (leaves, next, index, busy) = (0, Next::DEAD, 0, 0);
        Value { leaves, next, index, live_at: NONE, busy, spilled: false, clean: false, rank: NO_RANK }
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
    pub(crate) worth: [Vec<u64>; 2],
    /// Is this a walk that finds out what callee-saved registers are worth?
    pub(crate) is_learning: bool,
    /// What each of them costs.
    pub(crate) price: u64,
    /// Per class, the highest rank in use.
    pub(crate) ranks: Counts,
    pub(crate) limits: Counts,
    /// Per class, the number of caller-saved registers.
    pub(crate) bases: Counts,
    pub(crate) entry: crate::spill_entry::Scratch,
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
        self.values[vreg.index()].rank = NO_RANK;
    }

    pub(crate) fn remove(&mut self, problem: &Problem, vreg: VReg) {
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
