//! Colouring: blocks in dominance order, with a map from registers to values that may change at any point.
//!
//! A block with one way in goes on where that left off. Where paths meet, values are at their homes, and every edge
//! brings them there with one parallel move (Colombet, Boissinot, Brisk, Hack and Rastello, *Graph-coloring and treescan
//! register allocation using repairing*, 2011). In between each definition takes a register that is free: spilling has
//! seen to it that there is one. Where operands are bound to registers, or registers are lost, the plan may be one short;
//! then one more value goes to memory, which is always possible (`instruction.rs`).
//!
//! 1. No two values are in one register, and no value is in two, between instructions.
//! 2. A live value in no register is in its slot, unless it can be computed anywhere.
//!
//! Cost: linear in operands, entries, and registers per block.

use crate::coalescing::Coalescing;
use crate::constraints::Facts;
use crate::liveness::{Liveness, Next, reset};
use crate::matching::Matcher;
use crate::moves::Moves;
use crate::order::Order;
use crate::pick_register::Preference;
use crate::register_hints::Homes;
use crate::reload::Reloads;
use crate::spilling::{NONE, Spilling};
use cranelift_entity::EntityRef;
use kingpost_regalloc::{
    AllocError, Allocation, Edit, EditKind, Inst, InstFlags, Loc, MachineEnv, PReg, PRegSet, Problem, RegClass, VReg,
};
use std::fmt::{self, Write};
use std::ops::Range;

/// What colouring reads.
#[derive(Clone, Copy)]
pub(crate) struct Input<'a> {
    pub(crate) problem: &'a Problem,
    pub(crate) env: &'a MachineEnv,
    pub(crate) order: &'a Order,
    pub(crate) facts: &'a Facts,
    pub(crate) live: &'a Liveness,
    pub(crate) classes: &'a Coalescing,
    pub(crate) plan: &'a Spilling,
    pub(crate) homes: &'a Homes,
}

/// What colouring writes.
pub(crate) struct Output<'a> {
    pub(crate) reloads: &'a mut Reloads,
    pub(crate) out: &'a mut Allocation,
}

/// A value in a register; does memory hold it as well?
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resident {
    pub(crate) vreg: VReg,
    pub(crate) reg: PReg,
    pub(crate) clean: bool,
}

/// By register, the value in it.
struct Residents([VReg; PReg::COUNT]);

impl Default for Residents {
    fn default() -> Residents {
        Residents([VReg::from_u32(0); PReg::COUNT])
    }
}

/// A range of one of the pools.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Span {
    pub(crate) fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// An instruction, its flags, the indices of its operands.
pub(crate) type Step = (Inst, InstFlags, Range<usize>);

/// What is known about a value.
#[derive(Clone, Copy)]
pub(crate) struct Value {
    /// While it is live, its next use, counted from the head of the block at hand.
    pub(crate) next: Next,
    /// The last place where it was found live at the head.
    pub(crate) live_at: u32,
    /// One plus the instruction after which it leaves its register.
    pub(crate) leaves: u32,
    /// Where it is.
    pub(crate) at: Option<PReg>,
    /// While it is live: does memory hold it?
    pub(crate) clean: bool,
    /// Is it where its def left it?
    pub(crate) original: bool,
    /// Somebody reads the register that it is computed into.
    pub(crate) def_read: bool,
    /// Where paths meet: the register that most bring it to, and by how many more than others.
    pub(crate) wants: Option<PReg>,
    pub(crate) votes: u32,
}

impl Default for Value {
    fn default() -> Value {
        let (next, live_at) = (Next::DEAD, NONE);
        let (clean, original, def_read) = (false, false, false);
        Value { next, live_at, leaves: 0, at: None, clean, original, def_read, wants: None, votes: 0 }
    }
}

/// The register map and everything decided so far.
#[derive(Default)]
pub(crate) struct Coloring {
    /// By register: who is in it, if it is occupied.
    regs: Residents,
    pub(crate) values: Vec<Value>,
    pub(crate) occupied: PRegSet,
    /// Registers that anything was ever put into.
    pub(crate) used: PRegSet,
    /// The block at hand.
    pub(crate) place: u32,
    /// Number of its first and last instruction.
    pub(crate) bounds: (u32, u32),
    /// Homes of values that will be in registers at its end.
    pub(crate) reserved: PRegSet,
    /// Index of the first obstacle not behind the instruction at hand, and its number if it is in this block.
    pub(crate) obstacle: usize,
    pub(crate) obstacle_at: u32,
    eviction: usize,
    /// Number of the instruction of that eviction.
    eviction_at: u32,
    /// Registers of each class, best first.
    pub(crate) preferences: [Preference; 2],
    pub(crate) matcher: Matcher,
    pub(crate) moves: Moves,
    pub(crate) sequence: Vec<EditKind>,
    pub(crate) scratch: crate::instruction::Scratch,
    pub(crate) bound: crate::fixed_operands::Scratch,
    /// Are there references?
    pub(crate) has_refs: bool,
    has_labels: bool,
    /// Edits inside blocks, block by block in the order of the walk.
    pub(crate) edits: Vec<Edit>,
    /// Per place.
    pub(crate) edit_spans: Vec<Span>,
    pub(crate) residents: Vec<Resident>,
    pub(crate) entries: Vec<Span>,
    pub(crate) ends: Vec<Span>,
    /// Where the parameters of blocks are that begin in registers, block by block.
    pub(crate) param_regs: Vec<Option<PReg>>,
    /// Per place, the first of those of its block.
    pub(crate) param_starts: Vec<u32>,
    /// Per value, where a branch left it.
    pub(crate) branch_defs: Vec<Loc>,
    /// Values that can be computed anywhere but were computed where they stand.
    pub(crate) computed: Vec<VReg>,
    /// Operands in slots.
    pub(crate) in_slots: Vec<u32>,
    pub(crate) live_refs: Vec<VReg>,
    pub(crate) labels: crate::labels::Labels,
    pub(crate) slots: crate::slots::Slots,
    pub(crate) steps: u64,
}

impl Coloring {
    pub(crate) fn run(&mut self, input: Input, output: &mut Output) -> Result<(), AllocError> {
        let input = &input;
        self.begin(input);
        for place in 0..input.order.blocks.len() as u32 {
            let block = input.order.blocks[place as usize];
            let start = self.edits.len() as u32;
            self.enter(input, place, output);
            for step in input.problem.walk(block) {
                self.instruction(input, &step, output)?;
            }
            self.edit_spans[place as usize] = Span { start, end: self.edits.len() as u32 };
            self.leave_block(input.problem, block);
        }
        self.empty();
        Ok(())
    }

    fn begin(&mut self, input: &Input) {
        let (values, places) = (input.problem.vregs.len(), input.order.blocks.len());
        reset(&mut self.values, values, Value::default());
        self.has_labels = !input.problem.labels.is_empty();
        self.has_refs = input.problem.vregs.values().any(|data| data.is_ref);
        for (preference, class) in self.preferences.iter_mut().zip(&input.env.classes) {
            preference.set(&class.order);
        }
        self.occupied = PRegSet::EMPTY;
        self.used = PRegSet::EMPTY;
        self.obstacle = 0;
        self.obstacle_at = u32::MAX;
        self.eviction = 0;
        self.find_eviction(input);
        self.matcher.begin();
        self.moves.begin();
        self.edits.clear();
        reset(&mut self.edit_spans, places, Span::default());
        self.residents.clear();
        reset(&mut self.entries, places, Span::default());
        reset(&mut self.param_starts, places, 0);
        reset(&mut self.ends, places, Span::default());
        self.param_regs.clear();
        self.computed.clear();
        self.in_slots.clear();
        self.live_refs.clear();
        self.labels.begin(input.problem);
        self.steps = 0;
    }

    /// Who is in `reg`.
    pub(crate) fn resident(&self, reg: PReg) -> Option<VReg> {
        self.occupied.contains(reg).then(|| self.regs.0[reg.index()])
    }

    /// Puts a value into a register that is empty.
    #[inline]
    pub(crate) fn put(&mut self, vreg: VReg, reg: PReg) {
        debug_assert!(!self.occupied.contains(reg), "{reg} is taken when {vreg} comes");
        self.regs.0[reg.index()] = vreg;
        self.values[vreg.index()].at = Some(reg);
        self.occupied.insert(reg);
        self.used.insert(reg);
    }

    /// Empties a register.
    pub(crate) fn take_out(&mut self, reg: PReg) {
        if self.occupied.contains(reg) {
            self.values[self.regs.0[reg.index()].index()].at = None;
            self.occupied.remove(reg);
        }
    }

    /// Empties registers, all of which are occupied.
    #[inline]
    pub(crate) fn take_out_all(&mut self, regs: PRegSet) {
        for class in RegClass::ALL {
            let mut left = regs.mask(class);
            while left != 0 {
                let reg = PReg::new(class, left.trailing_zeros() as u8);
                self.values[self.regs.0[reg.index()].index()].at = None;
                left &= left - 1;
            }
        }
        self.occupied = self.occupied.difference(regs);
    }

    /// Empties all registers.
    pub(crate) fn empty(&mut self) {
        self.take_out_all(self.occupied);
    }

    /// Is the value needed in registers after the instruction at hand?
    pub(crate) fn lives_on(&self, vreg: VReg, inst: Inst) -> bool {
        let value = &self.values[vreg.index()];
        !value.next.is_dead() && value.leaves != inst.as_u32() + 1
    }

    /// Serves an instruction.
    #[inline]
    fn instruction(&mut self, input: &Input, step: &Step, output: &mut Output) -> Result<(), AllocError> {
        let inst = step.0;
        if inst.as_u32() > self.obstacle_at {
            self.obstacle += 1;
            self.find_obstacle(input);
        }
        let special = input.facts.has_demands(inst) || step.1.has(InstFlags::REMAT);
        if special || inst.as_u32() == self.eviction_at || !self.simple(input, step, output) {
            return self.special(input, step, output);
        }
        Ok(())
    }

    /// Serves an instruction with demands, for which values must leave, or which can run anywhere.
    #[inline(never)]
    fn special(&mut self, input: &Input, step: &Step, output: &mut Output) -> Result<(), AllocError> {
        let (inst, flags, ref range) = *step;
        self.note_next_uses(input, range.clone());
        if flags.has(InstFlags::REMAT) && self.defer(input, inst, output) {
            return Ok(());
        }
        let evicts = inst.as_u32() == self.eviction_at;
        self.evict_planned(input, inst, output);
        let demands = input.facts.has_demands(inst);
        if demands && self.bound(input, step, output)? {
            return Ok(());
        }
        if !demands && (evicts || flags.has(InstFlags::REMAT)) && self.simple_after_evictions(input, step, output) {
            return Ok(());
        }
        self.note_next_uses(input, range.clone());
        self.constrained(input, inst, output)
    }

    fn note_next_uses(&mut self, input: &Input, range: Range<usize>) {
        for (operand, &after) in input.problem.all_operands()[range.clone()].iter().zip(&input.live.after[range]) {
            self.values[operand.vreg().index()].next = after;
        }
    }

    /// Notes where the first obstacle is that is not behind the walk, if that is in the block at hand.
    pub(crate) fn find_obstacle(&mut self, input: &Input) {
        let obstacle = input.facts.obstacles.get(self.obstacle).filter(|obstacle| obstacle.place == self.place);
        self.obstacle_at = obstacle.map_or(u32::MAX, |obstacle| self.bounds.0 + obstacle.pos);
    }

    fn find_eviction(&mut self, input: &Input) {
        self.eviction_at = input.plan.evictions.get(self.eviction).map_or(NONE, |eviction| eviction.0.as_u32());
    }

    /// Values that leave here according to the plan.
    fn evict_planned(&mut self, input: &Input, inst: Inst, output: &mut Output) {
        while self.eviction_at == inst.as_u32() {
            let vreg = input.plan.evictions[self.eviction].1;
            self.eviction += 1;
            self.find_eviction(input);
            let Some(reg) = self.values[vreg.index()].at else { continue };
            if self.values[vreg.index()].next.is_dead() {
                continue;
            }
            if let Some(to) = self.slot_to_write(input, vreg, output) {
                self.read_def(vreg);
                self.edits
                    .push(Edit { at: inst, kind: EditKind::Spill { from: reg, to, width: input.problem.width(vreg) } });
            }
            if input.problem.operands(inst).iter().any(|o| o.is_use() && o.vreg() == vreg) {
                self.values[vreg.index()].leaves = inst.as_u32() + 1;
            } else {
                self.take_out(reg);
            }
        }
    }

    /// Somebody reads the value from the register that it is in.
    pub(crate) fn read_def(&mut self, vreg: VReg) {
        let value = &mut self.values[vreg.index()];
        value.def_read |= value.original;
    }

    /// A live value leaves the register it is in: the slot that must be written for that, if any.
    pub(crate) fn slot_to_write(
        &mut self,
        input: &Input,
        vreg: VReg,
        output: &mut Output,
    ) -> Option<kingpost_regalloc::Slot> {
        if input.facts.remat(vreg).is_some() || std::mem::replace(&mut self.values[vreg.index()].clean, true) {
            return None;
        }
        output.reloads.place(input.problem, input.classes, vreg, output.out).as_slot()
    }

    /// A value that can be computed anywhere is computed where it is used, unless that is a busier place.
    fn defer(&mut self, input: &Input, inst: Inst, output: &mut Output) -> bool {
        let vreg = input.problem.operands(inst)[0].vreg();
        let next = self.values[vreg.index()].next;
        let here = crate::liveness::rate(input.problem.freq(input.order.blocks[self.place as usize]));
        let deferred = next.is_dead()
            || next.rate <= here && input.facts.remat(vreg).is_some() && !input.facts.labelled[vreg.index()];
        if deferred {
            self.values[vreg.index()].original = false;
            output.out.drop_inst(inst);
        } else if input.facts.remat(vreg).is_some() {
            self.computed.push(vreg);
        }
        deferred
    }

    /// The register of a def after the instruction is known; its store, if it is to be stored there.
    #[inline]
    pub(crate) fn finish_def(&mut self, input: &Input, inst: Inst, vreg: VReg, loc: Loc, output: &mut Output) {
        let value = &mut self.values[vreg.index()];
        value.clean = loc.as_slot().is_some();
        if value.next.is_dead() {
            self.used = loc.as_reg().map_or(self.used, |reg| self.used.with(reg));
            return;
        }
        if let Some(reg) = loc.as_reg() {
            value.original = true;
            self.put(vreg, reg);
            if output.reloads.is_stored_at_def(vreg) {
                let after = Inst::from_u32(inst.as_u32() + 1);
                self.store_def(input, vreg, reg, after, output);
            }
        }
        if self.has_refs && input.problem.vregs[vreg].is_ref {
            self.live_refs.push(vreg);
        }
        if self.has_labels && input.facts.labelled[vreg.index()] {
            self.labels.note(vreg, loc.as_reg(), Inst::from_u32(inst.as_u32() + 1));
            self.values[vreg.index()].def_read = true;
        }
    }

    /// Stores a value that is to be stored where it begins.
    #[inline(never)]
    pub(crate) fn store_def(&mut self, input: &Input, vreg: VReg, from: PReg, at: Inst, output: &mut Output) {
        if output.reloads.is_stored_at_def(vreg)
            && let Some(to) = self.slot_to_write(input, vreg, output)
        {
            self.edits.push(Edit { at, kind: EditKind::Spill { from, to, width: input.problem.width(vreg) } });
        }
    }

    /// Elementary steps.
    pub(crate) fn steps(&self) -> u64 {
        self.steps + self.matcher.steps + self.edits.len() as u64
    }

    fn leave_block(&mut self, problem: &Problem, block: kingpost_regalloc::Block) {
        if !self.labels.is_empty() {
            // Moves of an edge stand before the branch.
            let moves = problem.succs(block).len() == 1;
            self.labels.close_all(Inst::from_u32(self.bounds.1 + u32::from(!moves)));
        }
        self.ends[self.place as usize] = self.save();
    }

    /// Notes who is where, for other blocks to read it there.
    pub(crate) fn save(&mut self) -> Span {
        let start = self.residents.len() as u32;
        for class in RegClass::ALL {
            let mut left = self.occupied.mask(class);
            while left != 0 {
                let reg = PReg::new(class, left.trailing_zeros() as u8);
                let vreg = self.regs.0[reg.index()];
                let value = &mut self.values[vreg.index()];
                value.def_read |= value.original;
                self.residents.push(Resident { vreg, reg, clean: value.clean });
                left &= left - 1;
            }
        }
        Span { start, end: self.residents.len() as u32 }
    }

    /// One line per block: what its head finds in registers, if paths meet there, and what its end leaves there.
    pub(crate) fn dump(&self, order: &Order, out: &mut String) -> fmt::Result {
        for (place, block) in order.blocks.iter().enumerate() {
            write!(out, "{block}:")?;
            for resident in &self.residents[self.entries[place].range()] {
                write!(out, " {}={}", resident.vreg, resident.reg)?;
            }
            write!(out, " ->")?;
            for resident in &self.residents[self.ends[place].range()] {
                write!(out, " {}={}", resident.vreg, resident.reg)?;
            }
            writeln!(out)?;
        }
        Ok(())
    }
}
