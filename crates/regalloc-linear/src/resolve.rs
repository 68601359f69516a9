//! Resolution: the moves on edges, the values that are read from memory, and the stores of each spilled value.
//!
//! ```text
//! b1: .. v0 in r1 ..; jump b3 ─┐
//! b2: .. v0 in memory; jump b3 ┴▶ b3: v0 in r2       b1 gets  move r2 <- r1,  b2 gets  fill r2 <- slot of v0
//! ```
//!
//! Only split intervals at the two ends of an edge are compared, register by register, so that an edge costs at
//! most the registers plus its arguments. Blocks that continue from the end of their only predecessor are skipped.
//!
//! A spilled value is stored once, right after its definition, so that all later splits into memory are free. If it
//! is cheaper by the blocks' frequencies, it is stored at each spill point instead (a value from a hot block that
//! is spilled on a cold path only). Rematerializable values are never stored.
//!
//! Cost: linear in split intervals, gap moves, and edges times registers.

use crate::collect::Constraints;
use crate::linear_scan::{GapMove, ScanResult};

use crate::split_intervals::SplitInterval;
use crate::values::{IntervalId, Values, flag};
use cranelift_entity::{EntityRef, PrimaryMap};
use kingpost_regalloc::meter::MeterRef;
use kingpost_regalloc::meter::{HeapBytes, heap_bytes};
use kingpost_regalloc::{AllocError, Block, Edge, EdgeData, Inst, Problem, VReg};
use kingpost_regalloc_common::order::{BlockIndex, LinearOrder, OrderedBlock};
use kingpost_regalloc_common::point::{Position, ProgPoint};
use kingpost_regalloc_common::preference::{Masks, Reg, Registers, regs};
use std::ops::Range;

/// A point inside a block at which a value is spilled.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct SpillPoint {
    pub(crate) inst: Inst,
    pub(crate) vreg: VReg,
    pub(crate) interval: IntervalId,
}

/// A value to be stored after the instruction that defines it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct DefStore {
    /// The instruction after the definition.
    pub(crate) before: Inst,
    pub(crate) vreg: VReg,
}

#[derive(Default)]
pub(crate) struct Resolved {
    pub(crate) edges: EdgeMoves,
    pub(crate) spill_points: Vec<SpillPoint>,
    /// Stores in the order of instructions, without values defined at heads of blocks.
    pub(crate) def_stores: Vec<DefStore>,
    /// Values with slots, in order.
    pub(crate) in_slots: Vec<VReg>,
    /// By value: the sum of the frequencies of its spill points.
    spill_freq: Vec<u64>,
    /// Safepoints by position.
    safepoints: Vec<Position>,
    /// References in memory at safepoints.
    pub(crate) references: Vec<(Inst, VReg)>,
}

heap_bytes!(Resolved { edges, spill_points, def_stores, in_slots, spill_freq, safepoints, references });

pub(crate) struct ResolveInput<'a> {
    pub(crate) problem: &'a Problem,
    pub(crate) registers: &'a Registers,
    pub(crate) order: &'a LinearOrder,
    pub(crate) constraints: &'a Constraints,
}

impl Resolved {
    /// Finds the moves of all edges, the stores of all values, and the values that need slots.
    ///
    /// # Errors
    /// If the meter refuses.
    pub(crate) fn build(
        &mut self,
        input: &ResolveInput<'_>,
        values: &mut Values,
        scan: &ScanResult,
        meter: MeterRef<'_>,
    ) -> Result<(), AllocError> {
        self.begin(input.problem);
        self.read_gaps(values, scan);
        self.edges.build(input, values, scan, &mut self.spill_freq);
        self.find_spill_points(input, values, scan);
        self.find_references(input, values, meter)?;
        self.choose_stores(input, values);
        Ok(())
    }

    /// Returns the number of stores, spill points, moves on edges and references.
    pub(crate) fn num_steps(&self) -> usize {
        self.def_stores.len() + self.spill_points.len() + self.edges.moves.len() + self.references.len()
    }

    fn begin(&mut self, problem: &Problem) {
        let values = problem.vregs.len();
        self.spill_points.clear();
        self.def_stores.clear();
        self.in_slots.clear();
        self.spill_freq.clear();
        self.spill_freq.resize(values, 0);
        self.references.clear();
    }

    fn read_gaps(&self, values: &mut Values, scan: &ScanResult) {
        for gap in &scan.gaps {
            for m in &scan.gap_moves[gap.moves.start as usize..gap.moves.end as usize] {
                if is_needed(&scan.occupancy.intervals, m)
                    && source_reg(&scan.occupancy.intervals, m, gap.point).is_none()
                {
                    values.note_read(m.vreg);
                }
            }
        }
    }

    fn find_spill_points(&mut self, input: &ResolveInput<'_>, values: &mut Values, scan: &ScanResult) {
        let intervals = &scan.occupancy.intervals;
        for &id in &scan.occupancy.evicted {
            let interval = &intervals[id];
            if interval.is_void() || interval.continued || values.is_remat(interval.vreg) {
                continue;
            }
            let position = interval.to.position();
            let block = input.order.block_at(position);
            // At a block's head, edges store it.
            if block.head == position {
                continue;
            }
            let mut source = id;
            if interval.from == ProgPoint::before(position) {
                // The interval lasts one instruction: the value is stored from its previous register.
                match interval.prev.expand() {
                    Some(prev) if intervals[prev].to == interval.from && !intervals[prev].is_void() => source = prev,
                    _ => continue,
                }
            }
            self.spill_points.push(SpillPoint { inst: block.inst(position), vreg: interval.vreg, interval: source });
            let freq = &mut self.spill_freq[interval.vreg.index()];
            *freq = freq.saturating_add(block.freq.0);
        }
        self.spill_points.sort_unstable();
    }

    /// Finds references that live across a safepoint, at which they are in memory.
    fn find_references(
        &mut self,
        input: &ResolveInput<'_>,
        values: &mut Values,
        meter: MeterRef<'_>,
    ) -> Result<(), AllocError> {
        if !values.has_refs {
            return Ok(());
        }
        let mut paid = 0;
        self.safepoints.clear();
        let safepoints = input.constraints.clobber_points.iter().filter(|o| o.safepoint);
        self.safepoints.extend(safepoints.map(|o| o.position));
        if self.safepoints.is_empty() {
            return Ok(());
        }
        meter.reserve(input.problem.vregs.len() as u64)?;
        for (vreg, data) in input.problem.vregs.iter() {
            if !data.is_ref || values.is_remat(vreg) {
                continue;
            }
            meter.spend_growing(4 * self.references.len() as u64, &mut paid, || 2 * self.references.heap_bytes())?;
            let Values { list, ranges, .. } = &mut *values;
            let value = &mut list[vreg.index()];
            for range in &ranges[value.ranges[0] as usize..value.ranges[1] as usize] {
                let first = self.safepoints.partition_point(|&position| ProgPoint::early(position) < range.from);
                for &position in
                    self.safepoints[first..].iter().take_while(|&&position| ProgPoint::late(position) < range.to)
                {
                    self.references.push((input.order.block_at(position).inst(position), vreg));
                    value.facts |= flag::MEM_READ;
                }
            }
        }
        Ok(meter.spend_rest(4 * self.references.len() as u64, &mut paid)?)
    }

    /// Decides where values are stored, and which values need slots.
    fn choose_stores(&mut self, input: &ResolveInput<'_>, values: &mut Values) {
        for (index, value) in values.list.iter_mut().enumerate() {
            if !value.has(flag::MEM_READ) {
                continue;
            }
            let vreg = VReg::new(index);
            let is_remat = value.is_remat();
            if !is_remat || value.has(flag::IN_OPERAND) {
                value.facts |= flag::IN_SLOT;
                self.in_slots.push(vreg);
            }
            if is_remat || value.has(flag::DEF_IN_MEM) {
                continue;
            }
            let position = value.def.position();
            let block = input.order.block_at(position);
            if !value.has(flag::FORCE_STORE) && self.spill_freq[index] < block.freq.0 {
                value.facts |= flag::STORED_LATE;
                continue;
            }
            value.facts |= flag::STORED_AT_DEF;
            if !value.has(flag::AT_HEAD) {
                self.def_stores.push(DefStore { before: block.inst(position.next()), vreg });
            }
        }
        self.def_stores.sort_unstable();
    }
}

/// Returns `true` if the move begins no split interval, or one that is not void.
pub(crate) fn is_needed(intervals: &PrimaryMap<IntervalId, SplitInterval>, m: &GapMove) -> bool {
    m.interval.expand().is_none_or(|id| !intervals[id].is_void())
}

/// Returns the register that the move reads, if the value is still there.
pub(crate) fn source_reg(
    intervals: &PrimaryMap<IntervalId, SplitInterval>,
    m: &GapMove,
    point: ProgPoint,
) -> Option<Reg> {
    let interval = m.from.map(|from| &intervals[from])?;
    (!interval.is_void() && interval.to >= point).then_some(interval.reg)
}

/// A copy on an edge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EdgeMove {
    /// The value before and after: they differ for parameters.
    pub(crate) from_vreg: VReg,
    pub(crate) to_vreg: VReg,
    /// Its register before; [`Reg::NONE`] if it is in memory.
    pub(crate) from: Reg,
    pub(crate) to: Reg,
    /// Whether the move is a store that is needed only if the value is not stored at its definition.
    pub(crate) leaves_register: bool,
}

/// The moves of all edges.
pub(crate) struct EdgeMoves {
    moves: Vec<EdgeMove>,
    /// Moves by edge.
    ranges: Vec<Range<u32>>,
    /// The values in registers at the head of the block, without the values that begin there.
    expected: Vec<(VReg, Reg)>,
    /// The registers held at the end of `block`, and by register the value in it.
    held: Masks,
    /// Held registers of rematerializable values that have been in registers since their definitions.
    since_def: Masks,
    owners: [VReg; Reg::TABLE],
    block: Option<Block>,
}

heap_bytes!(EdgeMoves { moves, ranges, expected } without { held, since_def, owners, block });

impl Default for EdgeMoves {
    fn default() -> EdgeMoves {
        let owners = [VReg::from_u32(0); Reg::TABLE];
        let (moves, ranges, expected) = (Vec::new(), Vec::new(), Vec::new());
        EdgeMoves { moves, ranges, expected, held: [0; 2], since_def: [0; 2], owners, block: None }
    }
}

impl EdgeMoves {
    /// Finds the moves of all edges, and records the values that they read from memory. Adds the frequencies of
    /// edges on which values are spilled to `spill_freq`.
    pub(crate) fn build(
        &mut self,
        input: &ResolveInput<'_>,
        values: &mut Values,
        scan: &ScanResult,
        spill_freq: &mut [u64],
    ) {
        self.moves.clear();
        self.ranges.clear();
        self.ranges.resize(input.problem.num_edges(), 0..0);
        self.held = [0; 2];
        self.block = None;
        let mut resolution = Resolution { input, values, scan, spill_freq, s: self };
        for (at, block) in input.order.blocks().iter() {
            if scan.blocks[at.index()].resolve {
                resolution.block(at, block);
            }
        }
    }

    /// Plants a fault: removes the moves of all edges.
    #[cfg(test)]
    pub(crate) fn forget(&mut self) {
        self.ranges.fill(0..0);
    }

    pub(crate) fn of(&self, edge: Edge) -> &[EdgeMove] {
        let Range { start, end } = self.ranges[edge.index()];
        &self.moves[start as usize..end as usize]
    }
}

struct Resolution<'a> {
    input: &'a ResolveInput<'a>,
    values: &'a mut Values,
    scan: &'a ScanResult,
    spill_freq: &'a mut [u64],
    s: &'a mut EdgeMoves,
}

impl Resolution<'_> {
    /// Resolves the edges into a block.
    fn block(&mut self, at: BlockIndex, block: &OrderedBlock) {
        let start = block.start();
        let scan = self.scan;
        self.s.expected.clear();
        for &id in scan.map(&scan.blocks[at.index()].at_head) {
            let interval = &scan.occupancy.intervals[id];
            let (vreg, reg) = (interval.vreg, interval.reg);
            if interval.from == start && self.values.def(vreg) == start {
                self.values[vreg].current_reg = if interval.is_void() { Reg::NONE } else { reg };
            } else if interval.covers(start) {
                self.s.expected.push((vreg, reg));
            }
        }
        for &edge in self.input.problem.preds(block.block) {
            let first = self.s.moves.len() as u32;
            self.edge(edge, start);
            self.s.ranges[edge.index()] = first..self.s.moves.len() as u32;
        }
        for &id in scan.map(&scan.blocks[at.index()].at_head) {
            self.values[scan.occupancy.intervals[id].vreg].current_reg = Reg::NONE;
        }
    }

    fn edge(&mut self, edge: Edge, start: ProgPoint) {
        let (problem, order) = (self.input.problem, self.input.order);
        let data = problem.edge(edge);
        let (args, defs) = (problem.edge_args(edge), problem.edge_defs(edge));
        let params = problem.params(data.to);
        let last = order.block(order.index(data.from)).stop().prev();
        self.read_end(data.from);
        // Registers of values that have none at the head of the successor.
        let mut left = self.s.held;
        for i in 0..self.s.expected.len() {
            let (vreg, to) = self.s.expected[i];
            if to.is_in(&left) && self.s.owners[to.index()] == vreg {
                left[to.class()] &= !to.bit();
                self.note_def_read(vreg, to);
                continue;
            }
            let from = self.find(vreg);
            if !from.is_none() {
                left[from.class()] &= !from.bit();
            }
            // If the live range is a superset there may be no value to move.
            if self.values.is_exact(vreg) || self.values.is_live_at(vreg, last) {
                self.pass(vreg, vreg, from, to, data.freq.0);
            }
        }
        for (&arg, &param) in args.iter().zip(params) {
            if self.values.is_used(param) {
                let (from, to) = (self.find(arg), self.values.current_reg(param));
                self.pass(arg, param, from, to, data.freq.0);
                if to.is_none() && !from.is_none() {
                    self.weigh_jump(arg, data);
                }
            }
        }
        for &def in defs {
            if self.values.is_used(def) {
                self.pass(def, def, self.scan.edge_def_regs[def], self.values.current_reg(def), 0);
            }
        }
        for (class, left) in left.into_iter().enumerate() {
            for reg in regs(class, left) {
                self.leave(self.s.owners[reg.index()], reg, start, data.freq.0);
            }
        }
    }

    /// Adds the cost of a block's jump to a store on an edge with a block of its own, unless the block has other
    /// edits. If a store at the definition costs less than both, the value is in memory from there on.
    fn weigh_jump(&mut self, vreg: VReg, data: &EdgeData) {
        let order = self.input.order;
        let block = order.block(order.index(data.from));
        if block.num_insts() != 1 || self.input.problem.succs(data.from).len() != 1 {
            return;
        }
        let costs = self.input.registers.costs();
        let jump = data.freq.0.saturating_mul(costs.edge_block.into()) / u64::from(costs.spill.max(1));
        if data.freq.0.saturating_add(jump) > order.block_at(self.values.def(vreg).position()).freq.0 {
            self.values.note_read(vreg);
            let spill_points = &mut self.spill_freq[vreg.index()];
            *spill_points = spill_points.saturating_add(jump);
        }
    }

    /// Reads the values in registers at the end of the block.
    fn read_end(&mut self, block: Block) {
        if self.s.block.replace(block) == Some(block) {
            return;
        }
        for (class, held) in self.s.held.into_iter().enumerate() {
            for reg in regs(class, held) {
                self.values[self.s.owners[reg.index()]].edge_reg = Reg::NONE;
            }
        }
        let at = self.input.order.index(block);
        let last = self.input.order.block(at).stop().prev();
        self.s.held = [0; 2];
        self.s.since_def = [0; 2];
        for &id in self.scan.map(&self.scan.blocks[at.index()].at_end) {
            let interval = self.scan.occupancy.intervals[id];
            if interval.covers(last) {
                self.s.held[interval.reg.class()] |= interval.reg.bit();
                self.s.owners[interval.reg.index()] = interval.vreg;
                self.values[interval.vreg].edge_reg = interval.reg;
                if interval.since_def {
                    self.s.since_def[interval.reg.class()] |= interval.reg.bit();
                }
            }
        }
    }

    /// Returns the register of a value at the end of the predecessor.
    fn find(&self, vreg: VReg) -> Reg {
        self.values[vreg].edge_reg
    }

    /// Records that the value is read from `reg` at the end of the predecessor.
    fn note_def_read(&mut self, vreg: VReg, reg: Reg) {
        if reg.is_in(&self.s.since_def) {
            self.values.set(vreg, flag::NEEDS_DEF_REG);
        }
    }

    /// Passes `from` at the predecessor's end to `to` at the successor's head.
    fn pass(&mut self, from_vreg: VReg, to_vreg: VReg, from: Reg, to: Reg, freq: u64) {
        if !from.is_none() {
            self.note_def_read(from_vreg, from);
        } else if from_vreg != to_vreg || !to.is_none() {
            self.values.note_read(from_vreg);
        }
        // A value stored at its definition need not be stored for a parameter that shares its slot.
        if to.is_none() && !from.is_none() {
            let spill_points = &mut self.spill_freq[from_vreg.index()];
            *spill_points = spill_points.saturating_add(freq);
        }
        if from != to || (from.is_none() && from_vreg != to_vreg) {
            self.s.moves.push(EdgeMove { from_vreg, to_vreg, from, to, leaves_register: false });
        }
    }

    /// Records that the value is in `reg` at the end of the predecessor and may be in memory at the head of the
    /// successor.
    fn leave(&mut self, vreg: VReg, reg: Reg, start: ProgPoint, freq: u64) {
        if self.values.is_remat(vreg) || !self.values.is_live_at(vreg, start) || self.values.def(vreg) == start {
            return;
        }
        let spill_points = &mut self.spill_freq[vreg.index()];
        *spill_points = spill_points.saturating_add(freq);
        self.note_def_read(vreg, reg);
        self.s.moves.push(EdgeMove { from_vreg: vreg, to_vreg: vreg, from: reg, to: Reg::NONE, leaves_register: true });
    }
}
