//! Writes the allocation: edits in the order in which they run, slots of operands, dropped instructions, stack maps,
//! labels.
//!
//! Before one instruction run, in this order: the moves of the edge into its block, stores of values that begin
//! with the block or with the previous instruction, stores at spill points, the moves of the gap, and the moves of
//! the edge out of the block. Cost: linear in blocks and edits, apart from sorting within single gaps.

use crate::linear_scan::ScanResult;
use crate::resolve::{DefStore, EdgeMove, ResolveInput, Resolved, SpillPoint, is_needed, source_reg};
use crate::values::{IntervalId, Values, flag};
use cranelift_entity::EntityRef;
use cranelift_entity::packed_option::ReservedValue;
use kingpost_regalloc::meter::{MeterRef, heap_bytes};
use kingpost_regalloc::{
    AllocError, Allocation, Constraint, Edge, Edit, EditKind, Inst, LabelUse, Loc, MachineEnv, NoRegister, Operand,
    PReg, ParallelMoves, StackMapEntry, VReg,
};
use kingpost_regalloc_common::answer;
use kingpost_regalloc_common::edge_sites::is_at_head;
use kingpost_regalloc_common::hoist::hoist_edge_moves;
use kingpost_regalloc_common::label_places::place_labels;
use kingpost_regalloc_common::matching::tied_def;
use kingpost_regalloc_common::order::{BlockIndex, OrderedBlock};
use kingpost_regalloc_common::point::{Position, ProgPoint};
use kingpost_regalloc_common::preference::{Masks, regs};

/// Scratch memory of the writer.
#[derive(Default)]
pub(crate) struct Scratch {
    /// The moves that are being collected.
    moves: ParallelMoves,
    kinds: Vec<EditKind>,
    pub(crate) labels: Vec<IntervalId>,
}

heap_bytes!(Scratch { kinds, labels } without { moves });

/// Progress in writing the lists of stores.
struct Next {
    def_stores: usize,
    spill_points: usize,
    /// The instruction before which the next store of either kind is placed, or the reserved value, which is the
    /// greatest, if there is none.
    store: Inst,
}

pub(crate) struct Emit<'a> {
    pub(crate) input: &'a ResolveInput<'a>,
    pub(crate) env: &'a MachineEnv,
    pub(crate) values: &'a Values,
    pub(crate) scan: &'a ScanResult,
    pub(crate) resolved: &'a Resolved,
    pub(crate) s: &'a mut Scratch,
    pub(crate) out: &'a mut Allocation,
    pub(crate) meter: MeterRef<'a>,
}

impl Emit<'_> {
    pub(crate) fn run(&mut self) -> Result<(), AllocError> {
        self.s.moves.begin();
        self.memory_operands();
        let mut next = Next { def_stores: 0, spill_points: 0, store: Inst::reserved_value() };
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
        if hoist_edge_moves(self.input.problem, self.env, self.input.order, self.out) {
            place_labels(self.input.problem, self.env, self.out, self.meter)?;
        }
        self.collect_saved();
        Ok(())
    }

    /// Visits the points of a block that have edits, without a walk over its instructions.
    fn block(&mut self, at: BlockIndex, next: &mut Next) -> Result<(), AllocError> {
        let problem = self.input.problem;
        let block = &self.input.order.block(at);
        let terminator = problem.terminator(block.block);
        if self.scan.blocks[at.index()].resolve {
            self.block_head(block, at)?;
        }
        let mut gaps = self.scan.blocks[at.index()].gaps.clone();
        while next.store <= terminator || !gaps.is_empty() {
            let gap = gaps.clone().next().map(|gap| self.scan.gaps[gap as usize].inst);
            if gap.is_none_or(|gap| next.store <= gap) {
                self.store_next(next);
            } else if let Some(gap) = gaps.next() {
                self.gap(gap as usize)?;
            }
        }
        match *problem.succs(block.block) {
            [edge] if !self.resolved.edges.of(edge).is_empty() && !is_at_head(problem, edge) => {
                self.edge(edge, terminator)
            }
            _ => Ok(()),
        }
    }

    /// Writes the next store of either kind.
    fn store_next(&mut self, next: &mut Next) {
        if self.resolved.def_stores.get(next.def_stores).is_some_and(|def_stores| def_stores.before == next.store) {
            self.store_at_def(next.def_stores);
            next.def_stores += 1;
        } else {
            self.store_at_spill_point(next.spill_points);
            next.spill_points += 1;
        }
        self.find_store(next);
    }

    fn find_store(&self, next: &mut Next) {
        let def_store = self.resolved.def_stores.get(next.def_stores).map(|store| store.before);
        let spill_point = self.resolved.spill_points.get(next.spill_points).map(|point| point.inst);
        let none = Inst::reserved_value();
        next.store = def_store.unwrap_or(none).min(spill_point.unwrap_or(none));
    }

    /// Emits edits of the edge into a block with one predecessor, and stores of values that begin with the block,
    /// if edges into it may need moves.
    fn block_head(&mut self, block: &OrderedBlock, at: BlockIndex) -> Result<(), AllocError> {
        let problem = self.input.problem;
        let inst = problem.first_inst(block.block);
        let only_edge = || match *problem.preds(block.block) {
            [edge] if is_at_head(problem, edge) => Some(edge),
            _ => None,
        };
        let edge = block.inherits().map(|(edge, _)| edge).or_else(only_edge);
        if let Some(edge) = edge.filter(|&edge| !self.resolved.edges.of(edge).is_empty()) {
            self.edge(edge, inst)?;
        }
        if edge.is_some_and(|edge| problem.edge_defs(edge).is_empty()) {
            return Ok(());
        }
        let start = block.start();
        for &id in self.scan.map(&self.scan.blocks[at.index()].at_head) {
            let interval = self.scan.occupancy.intervals[id];
            let begins = interval.from == start && !interval.is_void() && self.values.def(interval.vreg) == start;
            if begins && self.values.has(interval.vreg, flag::STORED_AT_DEF) {
                self.store(inst, interval.vreg, self.input.registers.preg(interval.reg));
            }
        }
        Ok(())
    }

    /// Stores a value after the instruction that defines it.
    fn store_at_def(&mut self, index: usize) {
        let DefStore { before, vreg } = self.resolved.def_stores[index];
        let range = self.input.problem.operand_range(Inst::from_u32(before.as_u32() - 1));
        for k in range {
            let operand = self.input.problem.all_operands()[k];
            if let (true, Some(reg)) = (operand.is_def() && operand.vreg() == vreg, self.out.locs[k].as_reg()) {
                self.store(before, vreg, reg);
            }
        }
    }

    fn store_at_spill_point(&mut self, index: usize) {
        let SpillPoint { inst, vreg, interval } = self.resolved.spill_points[index];
        if self.values.has(vreg, flag::STORED_LATE) {
            self.store(inst, vreg, self.input.registers.preg(self.scan.occupancy.intervals[interval].reg));
        }
    }

    fn store(&mut self, at: Inst, vreg: VReg, from: PReg) {
        if let Some(to) = self.values.slot(vreg) {
            let width = self.input.problem.width(vreg);
            self.out.edits.push(Edit { at, kind: EditKind::Spill { from, to, width } });
        }
    }

    /// Returns the slot of a value, or [`Loc::NONE`] if it is never read from memory.
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
        match remat {
            Some(inst) => self.s.moves.add_remat(inst, to, data.class, data.width),
            None => self.s.moves.add(from, to, data.class, data.width),
        }
    }

    fn gap(&mut self, gap: usize) -> Result<(), AllocError> {
        let scan = self.scan;
        let gap = &scan.gaps[gap];
        let intervals = &scan.occupancy.intervals;
        for m in &scan.gap_moves[gap.moves.start as usize..gap.moves.end as usize] {
            if !is_needed(intervals, m) {
                continue;
            }
            let from = match source_reg(intervals, m, gap.point) {
                Some(reg) => Loc::reg(self.input.registers.preg(reg)),
                None => self.memory(m.vreg),
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
            if !to.is_none() && self.is_needed_store(m) && !self.is_stored(m) {
                let from = match m.from.is_none() {
                    true => self.memory(m.from_vreg),
                    false => Loc::reg(self.input.registers.preg(m.from)),
                };
                self.add_move(m.from_vreg, from, m.to_vreg, to);
            }
        }
        self.flush(at, |emit| emit.free_after(edge))
    }

    /// Returns the registers that are free at the end of the edge.
    fn free_after(&self, edge: Edge) -> Masks {
        let head = self.input.order.index(self.input.problem.edge(edge).to);
        let start = self.input.order.block(head).start();
        let mut free = self.input.registers.allocatable;
        for &id in self.scan.map(&self.scan.blocks[head.index()].at_head) {
            let interval = self.scan.occupancy.intervals[id];
            if interval.covers(start) {
                free[interval.reg.class()] &= !interval.reg.bit();
            }
        }
        free
    }

    fn is_needed_store(&self, m: &EdgeMove) -> bool {
        !m.leaves_register || self.values.has(m.to_vreg, flag::STORED_LATE)
    }

    /// Returns `true` if memory already holds the value in its new location, because its definition was stored
    /// there.
    fn is_stored(&self, m: &EdgeMove) -> bool {
        m.to.is_none()
            && !m.from.is_none()
            && m.from_vreg != m.to_vreg
            && self.values.has(m.from_vreg, flag::STORED_AT_DEF | flag::DEF_IN_MEM)
            && self.values.slot(m.from_vreg) == self.values.slot(m.to_vreg)
    }

    /// Writes the collected moves in sequence.
    fn flush(&mut self, at: Inst, free: impl FnOnce(&Self) -> Masks) -> Result<(), AllocError> {
        if self.s.moves.is_empty() {
            return Ok(());
        }
        self.s.kinds.clear();
        if !self.s.moves.resolve_in_order(&mut self.s.kinds) {
            let free = self.input.registers.some_of(free(self));
            let on = (self.input.problem, self.env);
            let result = self.s.moves.resolve(free, on, self.out, &mut self.s.kinds);
            result.map_err(|NoRegister(class)| AllocError::TooFewRegisters { inst: at, class })?;
        }
        self.out.edits.extend(self.s.kinds.iter().map(|&kind| Edit { at, kind }));
        Ok(())
    }

    /// Assigns slots to operands in memory.
    fn memory_operands(&mut self) {
        let problem = self.input.problem;
        for &inst in &self.scan.in_memory {
            let range = problem.operand_range(inst);
            let operands = problem.operands(inst);
            for k in 0..operands.len() {
                if self.out.locs[range.start + k].is_none() {
                    self.out.locs[range.start + k] = self.memory(memory_owner(operands, k));
                }
            }
        }
    }

    /// Drops rematerializable definitions that are not read, and moves from a location to itself.
    fn drop_instructions(&mut self) {
        let problem = self.input.problem;
        for &vreg in &self.input.constraints.remats {
            let Some(inst) = self.values.remat(vreg) else { continue };
            let loc = &mut self.out.locs[problem.operand_range(inst).start];
            if !self.values.has(vreg, flag::NEEDS_DEF_REG) {
                *loc = Loc::NONE;
                self.out.drop_inst(inst);
            } else if let Some(reg) = loc.as_reg() {
                self.out.saved.insert(reg);
            }
        }
        answer::drop_void_moves(problem, self.input.constraints.moves.iter().copied(), self.out);
    }

    pub(crate) fn is_unread_constant(&self, vreg: VReg) -> bool {
        self.values.is_remat(vreg) && !self.values.has(vreg, flag::NEEDS_DEF_REG)
    }

    /// Collects the callee-saved registers that are written. The scan recorded definitions; rematerializable ones
    /// are added if they are read.
    fn collect_saved(&mut self) {
        let ResolveInput { problem, registers, constraints, .. } = *self.input;
        let mut written = self.out.saved;
        for (class, written_mask) in self.scan.written.into_iter().enumerate() {
            for reg in regs(class, written_mask & registers.callee_saved[class]) {
                written.insert(registers.preg(reg));
            }
        }
        for clobber_point in &constraints.clobber_points {
            written = written.union(problem.all_clobbers()[clobber_point.clobbers].lost);
        }
        answer::collect_saved(self.env, written, self.out);
    }
}

/// Returns the value that owns the slot of an operand in memory. For a use that is tied to a def, this is the def.
fn memory_owner(operands: &[Operand], k: usize) -> VReg {
    let operand = operands[k];
    if operand.is_def() || operand.constraint() != Constraint::MemOk {
        return operand.vreg();
    }
    tied_def(operands, k).map_or(operand.vreg(), Operand::vreg)
}

impl Emit<'_> {
    /// Writes the locations of a labeled value. Takes at most one step for each of its intervals, from the last one
    /// back.
    pub(crate) fn label(&mut self, label: LabelUse) {
        let ResolveInput { problem, order, .. } = *self.input;
        let values = self.values;
        let vreg = label.vreg;
        if !values.is_exact(vreg) || label.from >= label.to {
            return;
        }
        let block = *order.block(order.index(problem.block_of(label.from)));
        let (first, end) = answer::label_insts(problem, &label, |edge| !self.resolved.edges.of(edge).is_empty());
        let (low, high) = (block.position(first), block.position(end));
        self.s.labels.clear();
        let occupancy = &self.scan.occupancy;
        let mut next = values[vreg].interval.expand();
        while let Some(id) = next {
            let interval = &occupancy.intervals[id];
            if interval.to <= ProgPoint::before(low) && !interval.is_void() {
                break;
            }
            self.s.labels.push(id);
            next = interval.prev.expand();
        }
        for range in values.ranges(vreg) {
            let (from, to) = (first_slot(range.from).max(low), first_slot(range.to).min(high));
            self.label_range(label, &block, from, to);
        }
    }

    /// Records the location of a labeled value over one live range.
    fn label_range(&mut self, label: LabelUse, block: &OrderedBlock, from: Position, to: Position) {
        // The slot of a rematerializable value is written for single instructions only.
        let memory = if self.values.is_remat(label.vreg) { Loc::NONE } else { self.memory(label.vreg) };
        let mut at = from;
        for i in (0..self.s.labels.len()).rev() {
            let interval = self.scan.occupancy.intervals[self.s.labels[i]];
            let (interval_from, interval_to) = (first_slot(interval.from).max(at), first_slot(interval.to).min(to));
            if interval_from < interval_to {
                self.label_piece(label, block, memory, at, interval_from);
                let loc = Loc::reg(self.input.registers.preg(interval.reg));
                self.label_piece(label, block, loc, interval_from, interval_to);
                at = interval_to;
            }
        }
        self.label_piece(label, block, memory, at, to);
    }

    fn label_piece(&mut self, label: LabelUse, block: &OrderedBlock, loc: Loc, from: Position, to: Position) {
        if from < to && !self.is_unread_constant(label.vreg) {
            answer::push_label(self.out, label.label, loc, block.inst(from), block.inst(to));
        }
    }
}

/// Returns the first position that is not before `point`.
fn first_slot(point: ProgPoint) -> Position {
    point.prev().position().next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_regalloc::{Kind, Pos};

    #[test]
    fn operand_256_is_not_tied_to_the_def_that_reuses_operand_0() {
        let [tied, def, other] = [0, 1, 2].map(VReg::from_u32);
        let mut operands = vec![Operand::new(tied, Kind::Use, Pos::Early, Constraint::MemOk)];
        operands.push(Operand::new(def, Kind::Def, Pos::Late, Constraint::Reuse(0)));
        operands.resize(257, Operand::new(other, Kind::Use, Pos::Early, Constraint::MemOk));
        assert_eq!(memory_owner(&operands, 0), def);
        assert_eq!(memory_owner(&operands, 256), other);
    }
}
