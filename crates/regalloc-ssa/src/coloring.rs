//! Colouring: blocks in dominance order, with a map from registers to values that may change at any point.
//!
//! A block with one way in goes on where that left off; another takes over what its first visited predecessor has in
//! registers, and the other edges repair the difference with one parallel move each (Colombet, Boissinot, Brisk, Hack and
//! Rastello, *Graph-coloring and treescan register allocation using repairing*, 2011).

use crate::coalescing::Coalescing;
use crate::liveness::{DEAD, Liveness};
use crate::matching::Matcher;
use crate::reload::Reloads;
use crate::spilling::Spilling;
use cranelift_entity::SecondaryMap;
use kingpost_regalloc::{
    AllocError, Allocation, Block, Edit, EditKind, Inst, Loc, MachineEnv, PReg, PRegSet, ParallelMoves, Problem,
    StackMapEntry, VReg,
};
use std::fmt::{self, Write};

/// What colouring reads.
#[derive(Clone, Copy)]
pub(crate) struct Input<'a> {
    pub(crate) problem: &'a Problem,
    pub(crate) env: &'a MachineEnv,
    pub(crate) live: &'a Liveness,
    pub(crate) plan: &'a Spilling,
    /// Of both classes.
    pub(crate) allocatable: PRegSet,
}

/// A value in a register.
pub(crate) type Resident = (VReg, PReg);

/// A range of one of the pools, per block.
#[derive(Clone, Copy, Default)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Span {
    pub(crate) fn range(self) -> std::ops::Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// Where a labelled value was over a few instructions; in its slot if there is no register.
#[derive(Clone, Copy)]
pub(crate) struct Stay {
    pub(crate) vreg: VReg,
    pub(crate) reg: Option<PReg>,
    pub(crate) from: Inst,
    pub(crate) to: Inst,
}

/// The register map and everything decided so far.
#[derive(Default)]
pub(crate) struct Coloring {
    /// Who is in which register.
    pub(crate) regs: SecondaryMap<PRegIndex, Option<VReg>>,
    pub(crate) at: SecondaryMap<VReg, Option<PReg>>,
    pub(crate) occupied: PRegSet,
    /// Position in the block of the next use of each live value.
    pub(crate) next: SecondaryMap<VReg, Next>,
    /// Is the value live at the head of the block at hand?
    pub(crate) entering: SecondaryMap<VReg, bool>,
    /// The register that a value had at the head of the last loop: back edges want it there.
    pub(crate) former: SecondaryMap<VReg, Option<PReg>>,
    /// First and last instruction of the block at hand.
    pub(crate) bounds: (u32, u32),
    /// Values that only live through the loop at hand.
    pub(crate) through: Vec<Resident>,
    /// Values used in the loop at hand, with their distances.
    pub(crate) near: Vec<(u32, VReg)>,
    pub(crate) matcher: Matcher,
    pub(crate) moves: ParallelMoves,
    pub(crate) sequence: Vec<EditKind>,
    pub(crate) scratch: crate::instruction::Scratch,
    /// Edits inside blocks, block by block in the order of the walk.
    pub(crate) edits: Vec<Edit>,
    pub(crate) edit_spans: SecondaryMap<Block, Span>,
    pub(crate) residents: Vec<Resident>,
    pub(crate) entries: SecondaryMap<Block, Span>,
    pub(crate) ends: SecondaryMap<Block, Span>,
    pub(crate) visited: SecondaryMap<Block, bool>,
    /// Where branches leave their results.
    pub(crate) branch_defs: SecondaryMap<VReg, Option<Loc>>,
    /// Is the value where its def left it, or was moved to from there?
    pub(crate) original: SecondaryMap<VReg, bool>,
    /// Somebody reads the register that the value is computed into.
    pub(crate) def_read: SecondaryMap<VReg, bool>,
    pub(crate) live_refs: Vec<VReg>,
    pub(crate) labelled: SecondaryMap<VReg, bool>,
    pub(crate) stays: Vec<Stay>,
    /// Per labelled value, its stay under way.
    pub(crate) open: SecondaryMap<VReg, Option<(Option<PReg>, Inst)>>,
    pub(crate) open_list: Vec<VReg>,
    /// Callee-saved registers in use already.
    pub(crate) used: PRegSet,
}

/// A register as an index.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct PRegIndex(PReg);

impl cranelift_entity::EntityRef for PRegIndex {
    fn new(index: usize) -> PRegIndex {
        PRegIndex(PReg::from_index(index))
    }

    fn index(self) -> usize {
        self.0.index()
    }
}

/// The position of a next use.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Next(pub(crate) u32);

impl Default for Next {
    fn default() -> Next {
        Next(DEAD)
    }
}

impl Coloring {
    pub(crate) fn run(
        &mut self,
        input: Input,
        classes: &mut Coalescing,
        reloads: &mut Reloads,
        out: &mut Allocation,
    ) -> Result<(), AllocError> {
        self.begin(input.problem);
        for &block in &input.live.order {
            self.enter(input, block, classes, reloads, out);
            let start = self.edits.len() as u32;
            for inst in input.problem.insts(block) {
                self.instruction(input, (block, inst), classes, reloads, out)?;
            }
            self.edit_spans[block] = Span { start, end: self.edits.len() as u32 };
            self.leave_block(input.problem, block);
        }
        self.empty();
        Ok(())
    }

    fn begin(&mut self, problem: &Problem) {
        self.regs.clear();
        self.at.clear();
        self.occupied = PRegSet::EMPTY;
        self.next.clear();
        self.entering.clear();
        self.matcher.clear();
        self.matcher.steps = 0;
        self.moves.begin(problem);
        self.edits.clear();
        self.edit_spans.clear();
        self.residents.clear();
        self.entries.clear();
        self.ends.clear();
        self.visited.clear();
        self.branch_defs.clear();
        self.def_read.clear();
        self.original.clear();
        self.former.clear();
        self.live_refs.clear();
        self.labelled.clear();
        self.stays.clear();
        self.open.clear();
        self.open_list.clear();
        self.used = PRegSet::EMPTY;
        for label in &problem.labels {
            self.labelled[label.vreg] = true;
        }
    }

    /// Who is in `reg`.
    pub(crate) fn resident(&self, reg: PReg) -> Option<VReg> {
        self.regs[PRegIndex(reg)]
    }

    /// Puts a value into a register that is empty.
    pub(crate) fn put(&mut self, vreg: VReg, reg: PReg) {
        self.regs[PRegIndex(reg)] = Some(vreg);
        self.at[vreg] = Some(reg);
        self.occupied.insert(reg);
        self.used.insert(reg);
    }

    /// Empties a register.
    pub(crate) fn take_out(&mut self, reg: PReg) {
        if let Some(vreg) = self.regs[PRegIndex(reg)].take() {
            self.at[vreg] = None;
        }
        self.occupied.remove(reg);
    }

    /// Empties all registers.
    pub(crate) fn empty(&mut self) {
        for reg in self.occupied.iter() {
            self.take_out(reg);
        }
    }

    /// Starts a block: the register map and the next uses at its head.
    fn enter(
        &mut self,
        input: Input,
        block: Block,
        classes: &mut Coalescing,
        reloads: &mut Reloads,
        out: &mut Allocation,
    ) {
        let problem = input.problem;
        self.bounds = (problem.first_inst(block).as_u32(), problem.terminator(block).as_u32());
        self.empty();
        self.live_refs.clear();
        for &(vreg, distance) in input.live.entry(block) {
            self.next[vreg] = Next(distance);
            if problem.vregs[vreg].is_ref && distance != DEAD {
                self.live_refs.push(vreg);
            }
        }
        for &(vreg, distance) in input.live.entry(block) {
            self.entering[vreg] = distance != DEAD;
        }
        self.choose_entry(input, block, classes, reloads, out);
        for &(vreg, _) in input.live.entry(block) {
            self.entering[vreg] = false;
        }
        self.visited[block] = true;
        let first = problem.first_inst(block);
        for &(vreg, distance) in input.live.entry(block) {
            if distance != DEAD && self.labelled[vreg] {
                self.note(vreg, self.at[vreg], first);
            }
        }
    }

    /// Notes where a labelled value is from `from` on.
    pub(crate) fn note(&mut self, vreg: VReg, reg: Option<PReg>, from: Inst) {
        match self.open[vreg] {
            Some((before, _)) if before == reg => return,
            Some((before, start)) if start < from => self.stays.push(Stay { vreg, reg: before, from: start, to: from }),
            Some(_) => {}
            None => self.open_list.push(vreg),
        }
        self.open[vreg] = Some((reg, from));
    }

    /// A labelled value is no more, or the block ends.
    fn close(&mut self, vreg: VReg, to: Inst) {
        if let Some((reg, from)) = self.open[vreg].take()
            && from < to
        {
            self.stays.push(Stay { vreg, reg, from, to });
        }
    }

    fn leave_block(&mut self, problem: &Problem, block: Block) {
        // Moves of an edge stand before the branch.
        let moves = problem.succs(block).len() == 1;
        let end = Inst::from_u32(problem.terminator(block).as_u32() + u32::from(!moves));
        while let Some(vreg) = self.open_list.pop() {
            self.close(vreg, end);
        }
        let start = self.residents.len() as u32;
        for reg in self.occupied.iter() {
            if let Some(vreg) = self.resident(reg) {
                self.residents.push((vreg, reg));
                self.def_read[vreg] |= self.original[vreg];
            }
        }
        self.ends[block] = Span { start, end: self.residents.len() as u32 };
    }

    /// Labelled values that die in `inst` or moved before it.
    pub(crate) fn update_labels(&mut self, inst: Inst) {
        let mut i = 0;
        while i < self.open_list.len() {
            let vreg = self.open_list[i];
            if self.next[vreg].0 == DEAD {
                self.close(vreg, inst);
                self.open_list.swap_remove(i);
                continue;
            }
            self.note(vreg, self.at[vreg], inst);
            i += 1;
        }
    }

    /// A safepoint: references that live on are in the slots that the map names.
    pub(crate) fn map_references(&mut self, input: Input, inst: Inst, reloads: &mut Reloads, out: &mut Allocation) {
        let next = &self.next;
        self.live_refs.retain(|&vreg| next[vreg].0 != DEAD);
        for &vreg in &self.live_refs {
            reloads.leave(input.problem, input.live, vreg, out);
            if input.live.remat[vreg].is_none()
                && let Some(slot) = reloads.slot(vreg)
            {
                out.stack_maps.push(StackMapEntry { inst, slot });
            }
        }
    }

    /// One line per block: what its head finds in registers and what its end leaves there.
    pub(crate) fn dump(&self, live: &Liveness, out: &mut String) -> fmt::Result {
        for &block in &live.order {
            write!(out, "{block}:")?;
            for (vreg, reg) in &self.residents[self.entries[block].range()] {
                write!(out, " {vreg}={reg}")?;
            }
            write!(out, " ->")?;
            for (vreg, reg) in &self.residents[self.ends[block].range()] {
                write!(out, " {vreg}={reg}")?;
            }
            writeln!(out)?;
        }
        Ok(())
    }
}
