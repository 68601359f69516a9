//! Writes the answer: the location of every operand, and the edits that move values there.
//!
//! Before one instruction run, in this order: moves of the edge into its block, stores of parameters, copies of the
//! previous instruction's results with their stores, moves of values that change locations, copies for the operands,
//! and moves of the edge out of the block. Each group is one parallel move.
//!
//! Cost: n log n in moves, linear in operands.

mod repeated;

use crate::bundles::Bundles;
use crate::interference::Interference;
use crate::liveness::Liveness;
use crate::reservations::Reservations;
use crate::value_locations::{ValueLoc, ValueLocations};
use kingpost_regalloc::meter::MeterRef;
use kingpost_regalloc::meter::{HeapBytes, heap_bytes};
use kingpost_regalloc::{
    AllocError, Allocation, Edge, Edit, EditKind, Inst, LabelUse, Loc, MachineEnv, NoRegister, Operand, PReg, PRegSet,
    ParallelMoves, Problem, StackMapEntry, VReg,
};
use kingpost_regalloc_common::answer;
use kingpost_regalloc_common::hoist::hoist_edge_moves;
use kingpost_regalloc_common::label_places::place_labels;
use kingpost_regalloc_common::order::LinearOrder;
use kingpost_regalloc_common::point::{PointRange, Position, ProgPoint};

/// Groups of moves between two instructions, in the order in which they run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Phase {
    /// Moves of the edge into the block, at its head.
    Edge,
    /// Stores of parameters into their slots, at a head.
    Params,
    /// Copies of the previous instruction's results.
    Results,
    /// Moves of values that change locations.
    Split,
    /// Copies for operands.
    Operands,
    /// Moves of the edge out of the block, before its jump.
    Jump,
}

/// Point at which a value leaves its register, and the register.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Exit {
    /// Before the instruction at this position.
    At(Position, PReg),
    /// On an edge.
    On(Edge, PReg),
}

/// A move before the instruction at a position, or at a head.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Move {
    inst: Inst,
    from: PackedLoc,
    to: PackedLoc,
    vreg: VReg,
    phase: Phase,
}

/// A [`ValueLoc`] as one word: the register with the highest bit set, or the value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct PackedLoc(u32);

impl PackedLoc {
    const REG: u32 = 1 << 31;

    fn new(loc: ValueLoc) -> PackedLoc {
        match loc {
            ValueLoc::Reg(reg) => PackedLoc(PackedLoc::REG | reg.index() as u32),
            ValueLoc::Memory(vreg) => PackedLoc(vreg.as_u32()),
        }
    }

    fn get(self) -> ValueLoc {
        match self.0 & PackedLoc::REG {
            0 => ValueLoc::Memory(VReg::from_u32(self.0)),
            _ => ValueLoc::Reg(PReg::from_index((self.0 & !PackedLoc::REG) as usize)),
        }
    }
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

heap_bytes!(Output { moves, kinds, exits, in_slots } without { parallel });

pub(crate) struct Emit<'a> {
    pub(crate) problem: &'a Problem,
    pub(crate) env: &'a MachineEnv,
    pub(crate) order: &'a LinearOrder,
    pub(crate) live: &'a Liveness,
    pub(crate) reservations: &'a Reservations,
    pub(crate) bundles: &'a Bundles,
    pub(crate) interference: &'a [Interference; 2],
    pub(crate) locations: &'a mut ValueLocations,
    pub(crate) s: &'a mut Output,
    pub(crate) out: &'a mut Allocation,
    pub(crate) meter: MeterRef<'a>,
}

impl Emit<'_> {
    /// Writes the answer.
    ///
    /// # Errors
    /// If a class has no register for moves between slots, or there are too many slots.
    pub(crate) fn run(&mut self) -> Result<(), AllocError> {
        self.s.moves.clear();
        self.s.in_slots.clear();
        self.s.parallel.begin();
        self.split_moves();
        self.edges();
        let order = self.order;
        for block in order.blocks().values() {
            self.operands(block);
        }
        self.stack_map_slots();
        self.delay_stores();
        self.store_defs();
        self.locations.assign_slots(self.problem, self.live, self.bundles, self.out)?;
        self.write_locations();
        self.meter.reserve(2 * self.s.moves.len() as u64)?;
        self.write_moves()?;
        repeated::drop_repeated(self.problem, self.env, self.out);
        self.stack_maps()?;
        for i in 0..self.problem.labels.len() {
            self.label(self.problem.labels[i]);
        }
        answer::sort_tables(self.out);
        if hoist_edge_moves(self.problem, self.env, self.order, self.out) {
            place_labels(self.problem, self.env, self.out, self.meter)?;
        }
        self.out.collect_saved(self.problem, self.env.callee_saved());
        Ok(())
    }

    /// Adds a move between different locations, and records the slots that it needs.
    pub(crate) fn add(&mut self, at: Position, phase: Phase, from: ValueLoc, to: ValueLoc, vreg: VReg) {
        if from == to {
            return;
        }
        for loc in [from, to] {
            if let ValueLoc::Memory(vreg) = loc
                && (loc == to || self.live.remat(vreg).is_none())
            {
                self.locations.needs_slot(vreg);
            }
        }
        self.push(at, phase, from, to, vreg);
    }

    /// Adds a move whose slots are already recorded.
    pub(crate) fn push(&mut self, at: Position, phase: Phase, from: ValueLoc, to: ValueLoc, vreg: VReg) {
        let inst = self.order.inst_at(at);
        let (from, to) = (PackedLoc::new(from), PackedLoc::new(to));
        self.s.moves.push(Move { inst, from, to, vreg, phase });
    }

    fn split_moves(&mut self) {
        for i in 0..self.locations.all_fragments().len() {
            let fragment = self.locations.all_fragments()[i];
            let from = fragment.points.from;
            let at = from.position();
            if from.is_before() && self.order.block_at(at).head != at {
                let source = self.locations.at(fragment.vreg, from.prev());
                self.add(at, Phase::Split, source, ValueLoc::Reg(fragment.reg), fragment.vreg);
            }
        }
    }

    fn stack_map_slots(&mut self) {
        for (vreg, _) in self.problem.vregs.iter().filter(|(_, data)| data.is_ref) {
            for range in self.live.ranges(vreg) {
                if self.reservations.safepoints(range.range()).next().is_some() {
                    self.locations.needs_slot(vreg);
                }
            }
        }
    }

    fn stack_maps(&mut self) -> Result<(), AllocError> {
        let mut paid = self.out.stack_maps.len() as u64;
        for (vreg, _) in self.problem.vregs.iter().filter(|(_, data)| data.is_ref) {
            let Some(slot) = self.locations.loc(ValueLoc::Memory(vreg)).as_slot() else { continue };
            for range in self.live.ranges(vreg) {
                self.meter
                    .spend_growing(self.out.stack_maps.len() as u64, &mut paid, || self.out.stack_maps.heap_bytes())?;
                for point in self.reservations.safepoints(range.range()) {
                    let inst = self.order.inst_at(point.position());
                    // A result that overwrites its input in memory is not there yet.
                    let is_result = |operand: &Operand| operand.vreg() == vreg && operand.is_def() && operand.is_rmw();
                    if !self.problem.operands(inst).iter().any(is_result) {
                        self.out.stack_maps.push(StackMapEntry { inst, slot });
                    }
                }
            }
        }
        Ok(self.meter.spend_rest(self.out.stack_maps.len() as u64, &mut paid)?)
    }

    /// Writes the locations that are slots, and drops moves from a location to itself.
    fn write_locations(&mut self) {
        for &(k, vreg) in &self.s.in_slots {
            self.out.locs[k as usize] = self.locations.loc(ValueLoc::Memory(vreg));
        }
        answer::drop_void_moves(self.problem, self.reservations.moves.iter().copied(), self.out);
    }

    fn write_moves(&mut self) -> Result<(), AllocError> {
        let mut moves = std::mem::take(&mut self.s.moves);
        // Only the first two phases occur at a head, so that the phase separates the head from the first
        // instruction.
        moves.sort_unstable_by_key(|m| u64::from(m.inst.as_u32()) << 3 | m.phase as u64);
        let mut groups = moves.chunk_by(|a, b| (a.inst, a.phase) == (b.inst, b.phase));
        let result = groups.try_for_each(|group| self.write_group(group));
        self.s.moves = moves;
        result
    }

    fn write_group(&mut self, group: &[Move]) -> Result<(), AllocError> {
        for m in group {
            let data = self.problem.vregs[m.vreg];
            let (from, to) = (self.locations.loc(m.from.get()), self.locations.loc(m.to.get()));
            match (m.from.get(), self.live.remat(m.vreg)) {
                (ValueLoc::Memory(_), Some(inst)) => self.s.parallel.add_remat(inst, to, data.class, data.width),
                _ => self.s.parallel.add(from, to, data.class, data.width),
            }
        }
        if self.s.parallel.is_empty() {
            return Ok(());
        }
        let m = group[0];
        self.s.kinds.clear();
        if !self.s.parallel.resolve_in_order(&mut self.s.kinds) {
            let free = self.free(&m);
            let result = self.s.parallel.resolve(free, (self.problem, self.env), self.out, &mut self.s.kinds);
            result.map_err(|NoRegister(class)| AllocError::TooFewRegisters { inst: m.inst, class })?;
        }
        self.out.edits.extend(self.s.kinds.iter().map(|&kind| Edit { at: m.inst, kind }));
        Ok(())
    }

    /// Returns registers that hold no value while the group of a move runs, except its sources.
    fn free(&self, m: &Move) -> PRegSet {
        let block = self.problem.block_of(m.inst);
        let at = self.block(block).position(m.inst);
        let before = ProgPoint::before(at);
        let other = match m.phase {
            Phase::Edge | Phase::Params => return self.free_at_head(block),
            Phase::Jump => return self.free_at_head(self.problem.edge(self.problem.succs(block)[0]).to),
            Phase::Results => before.prev(),
            Phase::Split => before,
            Phase::Operands => before.next(),
        };
        let operands = PointRange::new(ProgPoint::early(at), ProgPoint::after(at));
        self.free_registers(|interference| {
            interference.taken_at(before) | interference.taken_at(other) | interference.reserved(operands)
        })
    }

    /// Records the location of a labeled value before each instruction.
    fn label(&mut self, label: LabelUse) {
        if label.from >= label.to || self.live.is_memory_only(label.vreg) {
            return;
        }
        let block = *self.block(self.problem.block_of(label.from));
        let (from, to) = answer::label_insts(self.problem, &label, |_| true);
        for at in block.position(from).up_to(block.position(to)) {
            let point = ProgPoint::early(at);
            let loc = match self.live.is_live(label.vreg, point) {
                true => match self.locations.at(label.vreg, point) {
                    ValueLoc::Memory(_) if self.live.remat(label.vreg).is_some() => continue,
                    place => self.locations.loc(place),
                },
                // A value that a result may overwrite is not live here, but still in its location.
                false => self.read_at(label.vreg, block.inst(at)),
            };
            answer::push_label(self.out, label.label, loc, block.inst(at), block.inst(at.next()));
        }
    }

    /// Returns the location in which an instruction reads a value, or [`Loc::NONE`] if it does not.
    fn read_at(&self, vreg: VReg, inst: Inst) -> Loc {
        let operands = self.problem.operands(inst).iter().zip(self.out.operand_locs(self.problem, inst));
        let mut uses = operands.filter(|(operand, _)| operand.is_use() && operand.vreg() == vreg);
        uses.next().map_or(Loc::NONE, |(_, &loc)| loc)
    }
}
