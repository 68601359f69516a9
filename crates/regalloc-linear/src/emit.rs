//! Writes the answer: edits in the order in which they run, slots of operands, elisions, stack maps, labels.
//!
//! Before one instruction run, in this order: the moves of the edge into its block, stores of values that begin with the
//! block or with the instruction before it, stores of values that leave their registers, the moves of the gap, and the
//! moves of the edge out of the block. Cost: linear in blocks and edits, apart from sorting within single gaps.

use crate::edges::EdgeMove;
use crate::resolve::{Input, Leaving, Resolved, Stored, is_from_reg, is_needed};
use crate::values::NONE;
use crate::values::{Values, fact};
use crate::walk::Found;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{
    AllocError, Allocation, Constraint, Edge, Edit, EditKind, Inst, Loc, MachineEnv, NoRegister, Operand, PReg,
    PRegSet, ParallelMoves, RegClass, StackMapEntry, VReg,
};
use kingpost_regalloc_common::answer;
use kingpost_regalloc_common::edge_sites::is_at_head;
use kingpost_regalloc_common::order::{BlockIndex, OrderedBlock};
use kingpost_regalloc_common::preference::{Masks, regs};

/// So many moves of one place are looked at one by one for whether they depend on each other.
const MOST_DIRECT: usize = 16;

/// One of the moves of a place.
#[derive(Clone, Copy)]
struct Move {
    /// The value is computed, not copied.
    remat: Option<Inst>,
    from: Loc,
    to: Loc,
    class: RegClass,
    width: u8,
}

impl Move {
    /// What it takes if it is the only one; none if it goes from memory to memory.
    fn as_edit(&self) -> Option<EditKind> {
        let width = self.width;
        match (self.from.as_reg(), self.to.as_reg()) {
            (None, Some(to)) if self.remat.is_some() => self.remat.map(|inst| EditKind::Remat { inst, to }),
            (Some(from), Some(to)) => Some(EditKind::Move { from, to, width }),
            (Some(from), None) => self.to.as_slot().map(|to| EditKind::Spill { from, to, width }),
            (None, Some(to)) => self.from.as_slot().map(|from| EditKind::Fill { from, to, width }),
            (None, None) => None,
        }
    }
}

/// Scratch memory of the writer.
#[derive(Default)]
pub(crate) struct Scratch {
    /// Of the place that is being written.
    moves: Vec<Move>,
    parallel: ParallelMoves,
    /// Does `parallel` know this problem?
    has_begun: bool,
    kinds: Vec<EditKind>,
    pub(crate) labels: Vec<u32>,
}

/// How far the lists of stores have been written.
struct Next {
    stored: usize,
    leaving: usize,
    /// The instruction before which the next one of either kind stands, as a number, or [`NONE`].
    store: u32,
}

pub(crate) struct Emit<'a> {
    pub(crate) input: &'a Input<'a>,
    pub(crate) env: &'a MachineEnv,
    pub(crate) values: &'a Values,
    pub(crate) found: &'a Found,
    pub(crate) resolved: &'a Resolved,
    pub(crate) s: &'a mut Scratch,
    pub(crate) out: &'a mut Allocation,
}

impl Emit<'_> {
    pub(crate) fn run(&mut self) -> Result<(), AllocError> {
        self.s.has_begun = false;
        self.s.moves.clear();
        self.memory_operands();
        let mut next = Next { stored: 0, leaving: 0, store: NONE };
        self.find_store(&mut next);
        for block in self.input.problem.blocks() {
            self.block(self.input.order.index(block), &mut next)?;
        }
        self.drop_instructions();
        for &(inst, vreg) in &self.resolved.references {
            if let Some(slot) = self.values.slot(vreg) {
                self.out.stack_maps.push(StackMapEntry { inst, slot });
            }
        }
        for i in 0..self.input.problem.labels.len() {
            self.label(self.input.problem.labels[i]);
        }
        answer::sort_tables(self.out);
        self.collect_saved();
        Ok(())
    }

    /// Visits the places in a block at which something happens, not its instructions.
    fn block(&mut self, at: BlockIndex, next: &mut Next) -> Result<(), AllocError> {
        let problem = self.input.problem;
        let place = &self.input.order.block(at);
        let terminator = problem.terminator(place.block);
        self.block_head(place, at)?;
        let mut gaps = self.found.gaps_of[at.index()].clone();
        while next.store <= terminator.as_u32() || !gaps.is_empty() {
            let gap = gaps.clone().next().map(|gap| self.found.gaps[gap as usize].inst.as_u32());
            if gap.is_none_or(|gap| next.store <= gap) {
                self.store_next(next);
            } else if let Some(gap) = gaps.next() {
                self.gap(gap as usize)?;
            }
        }
        match *problem.succs(place.block) {
            [edge] if !self.resolved.edges.of(edge).is_empty() && !is_at_head(problem, edge) => {
                self.edge(edge, terminator)
            }
            _ => Ok(()),
        }
    }

    /// The next one of both kinds of stores.
    fn store_next(&mut self, next: &mut Next) {
        if self.resolved.stored.get(next.stored).is_some_and(|stored| stored.before.as_u32() == next.store) {
            self.store_result(next.stored);
            next.stored += 1;
        } else {
            self.store_leaving(next.leaving);
            next.leaving += 1;
        }
        self.find_store(next);
    }

    fn find_store(&self, next: &mut Next) {
        let stored = self.resolved.stored.get(next.stored).map_or(NONE, |stored| stored.before.as_u32());
        let leaving = self.resolved.leaving.get(next.leaving).map_or(NONE, |leaving| leaving.inst.as_u32());
        next.store = stored.min(leaving);
    }

    /// Edits of the edge into a block with one predecessor, and stores of values that begin with the block.
    fn block_head(&mut self, place: &OrderedBlock, at: BlockIndex) -> Result<(), AllocError> {
        let problem = self.input.problem;
        let inst = problem.first_inst(place.block);
        if let &[edge] = problem.preds(place.block)
            && !self.resolved.edges.of(edge).is_empty()
            && is_at_head(problem, edge)
        {
            self.edge(edge, inst)?;
        }
        let begins = match problem.preds(place.block) {
            &[edge] => !problem.edge_defs(edge).is_empty(),
            _ => false,
        };
        if !begins && problem.params(place.block).is_empty() {
            return Ok(());
        }
        let start = place.start();
        for &id in self.found.map(&self.found.at_head[at.index()]) {
            let stay = self.found.residence.stay(id);
            let begins = stay.from == start && !stay.is_void() && self.values.def(stay.vreg) == start;
            if begins && self.values.has(stay.vreg, fact::STORED_AT_DEF) {
                self.store(inst, stay.vreg, self.input.registers.preg(stay.reg));
            }
        }
        Ok(())
    }

    /// Stores a value after the instruction that defines it.
    fn store_result(&mut self, index: usize) {
        let Stored { before, vreg } = self.resolved.stored[index];
        let range = self.input.problem.operand_range(Inst::from_u32(before.as_u32() - 1));
        for k in range {
            let operand = self.input.problem.all_operands()[k];
            if let (true, Some(reg)) = (operand.is_def() && operand.vreg() == vreg, self.out.locs[k].as_reg()) {
                self.store(before, vreg, reg);
            }
        }
    }

    fn store_leaving(&mut self, index: usize) {
        let Leaving { inst, vreg, stay } = self.resolved.leaving[index];
        if self.values.has(vreg, fact::STORED_LATE) {
            self.store(inst, vreg, self.input.registers.preg(self.found.residence.stay(stay).reg));
        }
    }

    fn store(&mut self, at: Inst, vreg: VReg, from: PReg) {
        if let Some(to) = self.values.slot(vreg) {
            let width = self.input.problem.width(vreg);
            self.out.edits.push(Edit { at, kind: EditKind::Spill { from, to, width } });
        }
    }

    /// The value's place in memory; none if it is never read from there.
    pub(crate) fn memory(&self, vreg: VReg) -> Loc {
        self.values.slot(vreg).map_or(Loc::NONE, Loc::slot)
    }

    /// Collects a move.
    fn add_move(&mut self, from_vreg: VReg, from: Loc, to_vreg: VReg, to: Loc) {
        let remat = match from.as_reg() {
            Some(_) => None,
            None => self.values.remat(from_vreg),
        };
        if remat.is_none() && (from.is_none() || from == to) {
            return;
        }
        let data = &self.input.problem.vregs[to_vreg];
        self.s.moves.push(Move { remat, from, to, class: data.class, width: data.width });
    }

    fn gap(&mut self, gap: usize) -> Result<(), AllocError> {
        let found = self.found;
        let gap = &found.gaps[gap];
        let stays = &found.residence.stays;
        for m in &found.gap_moves[gap.moves.start as usize..gap.moves.end as usize] {
            if !is_needed(stays, m) {
                continue;
            }
            let from = match is_from_reg(stays, m, gap.point) {
                true => Loc::reg(self.input.registers.preg(stays[m.from as usize].reg)),
                false => self.memory(m.vreg),
            };
            let to = if m.to.is_none() { self.memory(m.into) } else { Loc::reg(self.input.registers.preg(m.to)) };
            self.add_move(m.vreg, from, m.into, to);
        }
        self.flush(gap.inst, |_| gap.free)
    }

    fn edge(&mut self, edge: Edge, at: Inst) -> Result<(), AllocError> {
        let resolved = self.resolved;
        for m in resolved.edges.of(edge) {
            let to = if m.to.is_none() { self.memory(m.to_vreg) } else { Loc::reg(self.input.registers.preg(m.to)) };
            if !to.is_none() && self.is_wanted(m) && !self.is_stored(m) {
                let from = match m.from.is_none() {
                    true => self.memory(m.from_vreg),
                    false => Loc::reg(self.input.registers.preg(m.from)),
                };
                self.add_move(m.from_vreg, from, m.to_vreg, to);
            }
        }
        self.flush(at, |emit| emit.free_after(edge))
    }

    /// Registers that hold nothing where the edge ends.
    fn free_after(&self, edge: Edge) -> Masks {
        let head = self.input.order.index(self.input.problem.edge(edge).to);
        let start = self.input.order.block(head).start();
        let mut free = self.input.registers.allocatable;
        for &id in self.found.map(&self.found.at_head[head.index()]) {
            let stay = self.found.residence.stay(id);
            if stay.covers(start) {
                free[stay.reg.class()] &= !stay.reg.bit();
            }
        }
        free
    }

    fn is_wanted(&self, m: &EdgeMove) -> bool {
        !m.leaves_register || self.values.has(m.to_vreg, fact::STORED_LATE)
    }

    /// Is the value in its new place in memory already, since it was stored there when it was defined?
    fn is_stored(&self, m: &EdgeMove) -> bool {
        m.to.is_none()
            && !m.from.is_none()
            && m.from_vreg != m.to_vreg
            && self.values.has(m.from_vreg, fact::STORED_AT_DEF | fact::DEF_IN_MEM)
            && self.values.slot(m.from_vreg) == self.values.slot(m.to_vreg)
    }

    /// Makes the collected moves one after the other.
    fn flush(&mut self, at: Inst, free: impl FnOnce(&Self) -> Masks) -> Result<(), AllocError> {
        if self.s.moves.is_empty() {
            return Ok(());
        }
        if self.are_independent() {
            let edits = self.s.moves.drain(..).filter_map(|m| Some(Edit { at, kind: m.as_edit()? }));
            self.out.edits.extend(edits);
            return Ok(());
        }
        if !std::mem::replace(&mut self.s.has_begun, true) {
            self.s.parallel.begin(self.input.problem);
        }
        for m in self.s.moves.drain(..) {
            match m.remat {
                Some(inst) => self.s.parallel.add_remat(inst, m.to, m.class, m.width),
                None => self.s.parallel.add(m.from, m.to, m.class, m.width),
            }
        }
        self.s.kinds.clear();
        let free = self.input.registers.some_of(free(self));
        let result = self.s.parallel.resolve(free, self.env, self.out, &mut self.s.kinds);
        result.map_err(|NoRegister(class)| AllocError::TooFewRegisters { inst: at, class })?;
        self.out.edits.extend(self.s.kinds.iter().map(|&kind| Edit { at, kind }));
        Ok(())
    }

    /// Are the moves right in the order in which they stand, since nothing that one writes is read by a later one? What
    /// is in memory is to be read once only.
    fn are_independent(&self) -> bool {
        let moves = &self.s.moves;
        let (mut written, mut stores) = (PRegSet::EMPTY, false);
        moves.len() <= MOST_DIRECT
            && moves.iter().enumerate().all(|(i, m)| {
                let fine = match (m.from.as_reg(), m.to.as_reg()) {
                    (Some(from), _) => !written.contains(from),
                    (None, Some(_)) => {
                        let is_again = moves[..i].iter().any(|other| (other.from, other.remat) == (m.from, m.remat));
                        !is_again && (m.remat.is_some() || !stores)
                    }
                    (None, None) => false,
                };
                match m.to.as_reg() {
                    Some(to) => written.insert(to),
                    None => stores = true,
                }
                fine
            })
    }

    /// Slots for operands in memory.
    fn memory_operands(&mut self) {
        let problem = self.input.problem;
        for &inst in &self.found.in_memory {
            let range = problem.operand_range(inst);
            let operands = problem.operands(inst);
            for k in 0..operands.len() {
                if self.out.locs[range.start + k].is_none() {
                    self.out.locs[range.start + k] = self.memory(memory_owner(operands, k));
                }
            }
        }
    }

    /// Drops constants that nobody reads where they are defined, and copies from a place to itself.
    fn drop_instructions(&mut self) {
        let problem = self.input.problem;
        for &vreg in &self.input.hints.remats {
            let Some(inst) = self.values.remat(vreg) else { continue };
            let loc = &mut self.out.locs[problem.operand_range(inst).start];
            if !self.values.has(vreg, fact::KEEP_DEF) {
                *loc = Loc::NONE;
                self.out.drop_inst(inst);
            } else if let Some(reg) = loc.as_reg() {
                self.out.saved.insert(reg);
            }
        }
        answer::drop_void_moves(problem, self.input.hints.moves.iter().copied(), self.out);
    }

    pub(crate) fn is_unread_constant(&self, vreg: VReg) -> bool {
        self.values.is_remat(vreg) && !self.values.has(vreg, fact::KEEP_DEF)
    }

    /// The callee-saved registers that anything writes. Definitions were noted as registers were given out, those of
    /// constants as it turned out that they are read.
    fn collect_saved(&mut self) {
        let Input { problem, registers, hints, .. } = *self.input;
        let mut written = self.out.saved;
        for (class, written_mask) in self.found.written.into_iter().enumerate() {
            for reg in regs(class, written_mask & registers.callee_saved[class]) {
                written.insert(registers.preg(reg));
            }
        }
        for obstacle in &hints.obstacles {
            written = written.union(problem.all_clobbers()[obstacle.clobbers].lost);
        }
        answer::collect_saved(self.env, written, self.out);
    }
}

/// The value in whose slot an operand in memory is: for a use that is tied to a def, that def.
fn memory_owner(operands: &[Operand], k: usize) -> VReg {
    let operand = operands[k];
    if operand.is_def() || operand.constraint() != Constraint::MemOk {
        return operand.vreg();
    }
    let tied = operands.iter().find(|def| def.constraint() == Constraint::Reuse(k as u8));
    tied.map_or(operand.vreg(), |def| def.vreg())
}
