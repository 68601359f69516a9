//! Writes the answer: the location of every operand, and the edits that bring values there.
//!
//! Before one instruction run, in this order: moves of the edge into its block, stores of parameters, copies of what the
//! instruction before has written with their stores, moves of values that change places, copies for the operands, and
//! moves of the edge out of the block. Each group is one parallel move.

mod repeated;

use crate::bundles::Bundles;
use crate::edges::is_at_head;
use crate::live::Liveness;
use crate::machine::Machine;
use crate::occupancy::Occupancy;
use crate::order::{EARLY, Order, POST, PRE};
use crate::places::{Places, Where};
use crate::sink_stores::Exit;
use kingpost_regalloc::{
    AllocError, Allocation, Edit, EditKind, Inst, LabelRange, LabelUse, MachineEnv, NoRegister, Operand, PRegSet,
    ParallelMoves, Problem, RegClass, StackMapEntry, VReg,
};

/// Groups of moves between two instructions, in the order in which they run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Phase {
    /// At a head: the edge into the block.
    Edge,
    /// At a head: parameters into their slots.
    Params,
    /// What the instruction before wrote.
    Results,
    /// Values that change places.
    Split,
    /// Copies for operands.
    Operands,
    /// Before a jump: the edge out of the block.
    Jump,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Move {
    at: Inst,
    slot: u32,
    phase: Phase,
    from: Where,
    to: Where,
    vreg: VReg,
}

/// Scratch memory of the writer.
#[derive(Default)]
pub(crate) struct Output {
    moves: Vec<Move>,
    parallel: ParallelMoves,
    kinds: Vec<EditKind>,
    pub(crate) exits: Vec<Exit>,
    /// Operands in the slots of values.
    pub(crate) in_slots: Vec<(u32, VReg)>,
}

pub(crate) struct Emit<'a> {
    pub(crate) problem: &'a Problem,
    pub(crate) env: &'a MachineEnv,
    pub(crate) order: &'a Order,
    pub(crate) live: &'a Liveness,
    pub(crate) machine: &'a Machine,
    pub(crate) bundles: &'a Bundles,
    pub(crate) occupancy: &'a [Occupancy; 2],
    pub(crate) places: &'a mut Places,
    pub(crate) s: &'a mut Output,
    pub(crate) out: &'a mut Allocation,
}

impl Emit<'_> {
    pub(crate) fn run(&mut self) -> Result<(), AllocError> {
        self.s.moves.clear();
        self.s.in_slots.clear();
        self.s.parallel.begin(self.problem);
        self.split_moves();
        self.edges();
        for place in &self.order.places {
            self.operands(place);
        }
        self.stack_map_slots();
        self.sink_stores();
        self.store_defs();
        self.places.assign_slots(self.problem, self.live, self.bundles, self.out);
        self.write_locations();
        self.write_moves()?;
        repeated::drop_repeated(self.problem, self.env, self.out);
        self.stack_maps();
        for i in 0..self.problem.labels.len() {
            self.label(self.problem.labels[i]);
        }
        self.out.labels.sort_unstable_by_key(|range| (range.label, range.from));
        self.out.collect_saved(self.problem, self.env.callee_saved());
        Ok(())
    }

    pub(crate) fn add(&mut self, point: u32, phase: Phase, from: Where, to: Where, vreg: VReg) {
        if from == to {
            return;
        }
        for place in [from, to] {
            if let Where::Memory(vreg) = place
                && (place == to || self.live.remat(vreg).is_none())
            {
                self.places.needs_slot(vreg);
            }
        }
        self.push(point, phase, from, to, vreg);
    }

    pub(crate) fn push(&mut self, point: u32, phase: Phase, from: Where, to: Where, vreg: VReg) {
        let at = self.order.inst(self.problem, point);
        self.s.moves.push(Move { at, slot: point / 4, phase, from, to, vreg });
    }

    fn split_moves(&mut self) {
        for i in 0..self.places.all_pieces().len() {
            let piece = self.places.all_pieces()[i];
            let from = piece.segment.from;
            if from % 4 == PRE && self.order.place_at(from).start() != from {
                let source = self.places.at(piece.segment.vreg, from - 1);
                self.add(from, Phase::Split, source, Where::Reg(piece.reg), piece.segment.vreg);
            }
        }
    }

    fn stack_map_slots(&mut self) {
        for (vreg, _) in self.problem.vregs.iter().filter(|(_, data)| data.is_ref) {
            for &range in self.live.ranges(vreg) {
                if self.machine.safepoints(range).next().is_some() {
                    self.places.needs_slot(vreg);
                }
            }
        }
    }

    fn stack_maps(&mut self) {
        for (vreg, _) in self.problem.vregs.iter().filter(|(_, data)| data.is_ref) {
            let Some(slot) = self.places.loc(Where::Memory(vreg)).as_slot() else { continue };
            for &range in self.live.ranges(vreg) {
                for point in self.machine.safepoints(range) {
                    let inst = self.order.inst(self.problem, point);
                    // What the instruction writes over its input in memory is not there yet.
                    let is_result = |operand: &Operand| operand.vreg() == vreg && operand.is_def() && operand.is_rmw();
                    if !self.problem.operands(inst).iter().any(is_result) {
                        self.out.stack_maps.push(StackMapEntry { inst, slot });
                    }
                }
            }
        }
        self.out.stack_maps.sort_unstable();
        self.out.stack_maps.dedup();
    }

    /// Writes the locations that are slots, and drops moves that lead nowhere.
    fn write_locations(&mut self) {
        for &(k, vreg) in &self.s.in_slots {
            self.out.locs[k as usize] = self.places.loc(Where::Memory(vreg));
        }
        for &inst in &self.machine.moves {
            if matches!(self.out.operand_locs(self.problem, inst), [a, b] if a == b) {
                self.out.drop_inst(inst);
            }
        }
    }

    fn write_moves(&mut self) -> Result<(), AllocError> {
        let mut moves = std::mem::take(&mut self.s.moves);
        // Only the first two phases are at a head, so that the phase tells the head from the first instruction.
        moves.sort_unstable_by_key(|m| u64::from(m.at.as_u32()) << 3 | m.phase as u64);
        let mut result = Ok(());
        for group in moves.chunk_by(|a, b| (a.at, a.phase) == (b.at, b.phase)) {
            result = result.and_then(|()| self.write_group(group));
        }
        self.s.moves = moves;
        result
    }

    fn write_group(&mut self, group: &[Move]) -> Result<(), AllocError> {
        if let &[m] = group
            && let Some(kind) = self.single(&m)
        {
            self.out.edits.push(Edit { at: m.at, kind });
            return Ok(());
        }
        for m in group {
            let data = self.problem.vregs[m.vreg];
            let (from, to) = (self.places.loc(m.from), self.places.loc(m.to));
            match (m.from, self.live.remat(m.vreg)) {
                (Where::Memory(_), Some(inst)) => self.s.parallel.add_remat(inst, to, data.class, data.width),
                _ => self.s.parallel.add(from, to, data.class, data.width),
            }
        }
        if self.s.parallel.is_empty() {
            return Ok(());
        }
        let m = group[0];
        let free = self.free(&m);
        self.s.kinds.clear();
        let result = self.s.parallel.resolve(free, self.env, self.out, &mut self.s.kinds);
        result.map_err(|NoRegister(class)| AllocError::TooFewRegisters { inst: m.at, class })?;
        self.out.edits.extend(self.s.kinds.iter().map(|&kind| Edit { at: m.at, kind }));
        Ok(())
    }

    /// The edit that does a move by itself, unless it needs a register on the way.
    fn single(&self, m: &Move) -> Option<EditKind> {
        let width = self.problem.width(m.vreg);
        match (m.from, m.to) {
            (Where::Memory(_), Where::Reg(to)) => match self.live.remat(m.vreg) {
                Some(inst) => Some(EditKind::Remat { inst, to }),
                None => Some(EditKind::Fill { from: self.places.loc(m.from).as_slot()?, to, width }),
            },
            (Where::Reg(from), Where::Reg(to)) => Some(EditKind::Move { from, to, width }),
            (Where::Reg(from), Where::Memory(_)) => {
                Some(EditKind::Spill { from, to: self.places.loc(m.to).as_slot()?, width })
            }
            (Where::Memory(_), Where::Memory(_)) => None,
        }
    }

    /// Registers that hold nothing where the group runs, but for what it reads.
    fn free(&self, m: &Move) -> PRegSet {
        let at = m.slot * 4;
        let block = self.order.place_at(at).block;
        let points = match m.phase {
            Phase::Edge | Phase::Params => return self.free_at_head(block),
            Phase::Jump => {
                let edge = self.problem.succs(block)[0];
                return self.free_at_head(self.problem.edge(edge).to);
            }
            Phase::Results => [at - 1, at],
            Phase::Split => [at, at],
            Phase::Operands => [at, at + EARLY],
        };
        let mut free = PRegSet::EMPTY;
        for class in RegClass::ALL {
            let occupancy = &self.occupancy[class.index()];
            if !occupancy.is_empty() {
                let taken = points.iter().fold(0, |mask, &point| mask | occupancy.taken_at(point));
                let fixed = occupancy.fixed(at + EARLY, at + POST);
                free = free.union(self.machine.registers.free(class, taken | fixed));
            }
        }
        free
    }

    /// Says where a labelled value is before each instruction.
    fn label(&mut self, wish: LabelUse) {
        if wish.from >= wish.to || self.live.is_in_memory(wish.vreg) {
            return;
        }
        let place = *self.order.place(self.problem.block_of(wish.from));
        let from = self.order.point(self.problem, &place, wish.from);
        let to = self.order.point(self.problem, &place, wish.to).min(place.stop());
        let moves_before_jump = match self.problem.succs(place.block) {
            &[edge] => !is_at_head(self.problem, edge),
            _ => false,
        };
        let to = if moves_before_jump { to.min(place.stop() - 4) } else { to };
        for at in (from..to).step_by(4) {
            let point = at + EARLY;
            let ranges = self.live.ranges(wish.vreg);
            let next = ranges.partition_point(|range| range.to <= point);
            if ranges.get(next).is_none_or(|range| range.from > point) {
                continue;
            }
            let place = self.places.at(wish.vreg, point);
            let loc = self.places.loc(place);
            if loc.is_none() || place == Where::Memory(wish.vreg) && self.live.remat(wish.vreg).is_some() {
                continue;
            }
            let inst = self.order.inst(self.problem, at);
            let end = Inst::from_u32(inst.as_u32() + 1);
            match self.out.labels.last_mut() {
                Some(last) if last.label == wish.label && last.loc == loc && last.to == inst => last.to = end,
                _ => self.out.labels.push(LabelRange { label: wish.label, loc, from: inst, to: end }),
            }
        }
    }
}
