//! One backward pass over the code before the scan. It collects definitions and uses, from which live ranges
//! follow, register hints, and the clobber points, at which instructions take registers.
//!
//! ```text
//! b0: def v0 ..; brif b1, b2      v0: used in b2 only, so live over b0 and b2, with a hole
//! b1: ..; jump b3                     over b1, which lies between them in the order
//! b2: v1 = move v0                v0 is copied to v1, which is used in r3: both have the hint r3
//!     call (use v1 = r3), clobbers {r0, r1, r2}
//! ```
//!
//! Definitions and uses are met backwards, so that the use list of each value begins with the first use, and the
//! hint nearest to a value's definition is kept. Hints travel through moves, tied operands and forward edges. A
//! value has one live range if it is used only in the block that defines it and in the blocks after it that each
//! continue from the previous block of the order. The other ranges are found by data flow over blocks.
//!
//! This pass is not shared with other allocators: it writes facts of a value to the value's single cache line, and
//! clobber points have masks in the allocator's register numbers. Cost: linear in operands and edge arguments,
//! besides the data flow.

use crate::values::{NONE, Use, Values, flag};
use cranelift_entity::EntityRef;
use kingpost_regalloc::meter::MeterRef;
use kingpost_regalloc::meter::{HeapBytes, heap_bytes};
use kingpost_regalloc::{
    AllocError, ClobberId, Constraint, Inst, InstFlags, Operand, OperandClass, Pos, Problem, Step, VReg,
};
use kingpost_regalloc_common::live_blocks::LiveBlocks;
use kingpost_regalloc_common::order::{LinearOrder, OrderedBlock};
use kingpost_regalloc_common::point::{Phase, PointRange, Position, ProgPoint};
use kingpost_regalloc_common::preference::{Masks, Reg, Registers};
use std::ops::Range;

pub(crate) fn run(
    problem: &Problem,
    order: &LinearOrder,
    registers: &Registers,
    values: &mut Values,
    live: &mut Liveness,
    constraints: &mut Constraints,
) {
    values.begin(problem);
    live.begin();
    constraints.begin();
    let mut collector = Collector { problem, order, registers, values, live, constraints };
    // End of the run of blocks that each continue from the previous one: no path leads into its middle.
    let mut stop = order.stop();
    for (index, block) in order.blocks().iter().rev() {
        collector.block(block, stop);
        if !block.falls_through(index) {
            stop = block.start();
        }
    }
    constraints.finish(order, values);
}

struct Collector<'a> {
    problem: &'a Problem,
    order: &'a LinearOrder,
    registers: &'a Registers,
    values: &'a mut Values,
    live: &'a mut Liveness,
    constraints: &'a mut Constraints,
}

impl Collector<'_> {
    /// Collects a block of a run that ends at `stop`.
    fn block(&mut self, block: &OrderedBlock, stop: ProgPoint) {
        if block.passes {
            self.edges(block);
        }
        let mut position = block.end;
        for step in self.problem.walk(block.block).rev() {
            position = position.prev();
            self.instruction(step, position, stop);
        }
        if block.receives {
            for &param in self.problem.params(block.block) {
                self.live.note_param(self.values, param, block.start(), stop);
            }
        }
    }

    /// Collects the edges out of a block that pass values: their arguments are used, and their results begin at the
    /// targets.
    #[inline(never)]
    fn edges(&mut self, block: &OrderedBlock) {
        let (problem, stop) = (self.problem, block.stop());
        for &edge in problem.succs(block.block) {
            for (&arg, &param) in problem.edge_args(edge).iter().zip(problem.params(problem.edge(edge).to)) {
                self.live.note_use(self.values, arg, stop.prev());
                self.constraints.passes(self.values, arg, param);
            }
            for &def in problem.edge_defs(edge) {
                let target = self.order.block(self.order.index(problem.edge(edge).to));
                self.live.note_edge_def(self.values, def, stop, target.start(), target.stop());
            }
        }
    }

    fn instruction(&mut self, step: Step, position: Position, stop: ProgPoint) {
        let operands = &self.problem.all_operands()[step.operands];
        if step.operand_class == OperandClass::Constrained {
            self.constrained(step.inst, operands, position, stop);
        } else {
            for &operand in operands {
                if operand.is_def() {
                    self.live.note_def(self.values, operand.vreg(), ProgPoint::late(position), stop);
                    if let Some(k) = operand.reused() {
                        self.tied(operands, k, operand);
                    }
                } else {
                    self.live.note_use(self.values, operand.vreg(), ProgPoint::early(position));
                    if !operand.is_reg() && operand.constraint() == Constraint::Any {
                        self.constraints.needs_slots.push(operand.vreg());
                    }
                }
            }
        }
        if step.flags.has(InstFlags::MOVE) || step.flags.has(InstFlags::REMAT) {
            self.flagged(step.inst, step.flags, operands);
        }
    }

    /// Collects a [constrained](OperandClass::Constrained) instruction.
    #[inline(never)]
    fn constrained(&mut self, inst: Inst, operands: &[Operand], position: Position, stop: ProgPoint) {
        let (clobbers, safepoint) = (self.problem.clobber_id(inst), self.problem.flags(inst).has(InstFlags::SAFEPOINT));
        if safepoint || clobbers != ClobberId::NONE {
            self.constraints.clobber_point(position, clobbers, safepoint);
        }
        for &operand in operands {
            let vreg = operand.vreg();
            let point = if operand.pos() == Pos::Late { ProgPoint::late(position) } else { ProgPoint::early(position) };
            if operand.is_def() {
                self.live.note_def(self.values, vreg, point, stop);
            } else if operand.pos() == Pos::Early {
                self.live.note_use(self.values, vreg, point);
            } else {
                self.live.note_late_use(self.values, vreg, point);
            }
            match operand.constraint() {
                Constraint::Reg | Constraint::MemOk | Constraint::Within(_) => {}
                Constraint::Fixed(preg) => {
                    let at = (position, clobbers, safepoint);
                    self.constraints.fixed(self.values, operand, self.registers.reg(preg), at);
                }
                Constraint::Reuse(k) => self.tied(operands, k, operand),
                Constraint::Stack | Constraint::Any => self.constraints.needs_slots.push(operand.vreg()),
            }
        }
    }

    /// Collects a result in the location of use `k`.
    fn tied(&mut self, operands: &[Operand], k: u8, def: Operand) {
        if let Some(source) = operands.get(usize::from(k)) {
            self.constraints.flows(self.values, source.vreg(), def.vreg());
        }
    }

    /// Collects a move or a rematerializable definition.
    #[inline(never)]
    fn flagged(&mut self, inst: Inst, flags: InstFlags, operands: &[Operand]) {
        match operands {
            [a, b] if flags.has(InstFlags::MOVE) => {
                self.constraints.moves.push(inst);
                let (def, source) = if a.is_def() { (a, b) } else { (b, a) };
                if source.fixed_reg().is_none() {
                    self.constraints.flows(self.values, source.vreg(), def.vreg());
                }
            }
            [def] if flags.has(InstFlags::REMAT) && def.constraint() == Constraint::Reg => {
                self.constraints.remats.push(def.vreg());
                self.values[def.vreg()].remat = inst.into();
            }
            _ => {}
        }
    }
}

/// The computation of live ranges, and its memory.
#[derive(Default)]
pub(crate) struct Liveness {
    /// Values used outside the runs of blocks that define them, in reverse order of definitions.
    globals: Vec<VReg>,
    blocks: LiveBlocks,
}

heap_bytes!(Liveness { globals, blocks });

/// Definitions and uses, backwards.
impl Liveness {
    /// Prepares for a problem.
    pub(crate) fn begin(&mut self) {
        self.globals.clear();
    }

    /// Records a use of `vreg` at `point`, which is not after any other use.
    #[inline]
    pub(crate) fn note_use(&mut self, values: &mut Values, vreg: VReg, point: ProgPoint) {
        let Values { list, uses, .. } = values;
        let value = &mut list[vreg.index()];
        let next = std::mem::replace(&mut value.next, uses.len() as u32);
        uses.push(Use { point, next });
        value.last = if next == NONE { point } else { value.last };
        // In an unusual order the definition may come after uses.
        if value.def != ProgPoint::OPEN {
            self.make_global(values, vreg);
        }
    }

    /// Records a use of `vreg` in an instruction whose early uses may already be recorded. Takes one step for
    /// each of these uses.
    pub(crate) fn note_late_use(&mut self, values: &mut Values, vreg: VReg, point: ProgPoint) {
        let first = values[vreg].next;
        let mut before = NONE;
        let mut next = first;
        while let Some(at) = values.use_at(next).filter(|at| at.point < point) {
            (before, next) = (next, at.next);
        }
        values[vreg].next = next;
        let index = values.uses.len() as u32;
        self.note_use(values, vreg, point);
        if before != NONE {
            values.uses[before as usize].next = index;
            values[vreg].next = first;
        }
    }

    /// Records that `vreg` is defined at `def`, in a run of blocks that ends at `stop`. Results of edges have been
    /// recorded before.
    pub(crate) fn note_def(&mut self, values: &mut Values, vreg: VReg, def: ProgPoint, stop: ProgPoint) {
        let Values { list, uses, ranges, .. } = values;
        let value = &mut list[vreg.index()];
        if value.has(flag::EDGE_DEF) {
            return;
        }
        value.def = def;
        // In an unusual order a use may come before the definition.
        let is_late = uses.get(value.next as usize).is_some_and(|first| first.point < def);
        if value.last >= stop || is_late {
            return self.make_global(values, vreg);
        }
        // All uses have been met, unless the order is unusual; then the range is computed again.
        let defined = def.next_position();
        value.add_range(PointRange { from: def, to: defined.max(value.last.end_of_use()) }, ranges);
    }

    /// Records that `vreg` begins with the block between the two points.
    pub(crate) fn note_param(&mut self, values: &mut Values, vreg: VReg, start: ProgPoint, stop: ProgPoint) {
        self.note_def(values, vreg, start, stop);
        values.set(vreg, flag::AT_HEAD);
    }

    /// Records that `vreg` is a result on an edge from a block that ends at `from` to the block between the other
    /// two points.
    pub(crate) fn note_edge_def(
        &mut self,
        values: &mut Values,
        vreg: VReg,
        from: ProgPoint,
        start: ProgPoint,
        stop: ProgPoint,
    ) {
        self.note_param(values, vreg, start, stop);
        values.set(vreg, flag::EDGE_DEF);
        if start < from {
            self.make_global(values, vreg);
        }
    }

    fn make_global(&mut self, values: &mut Values, vreg: VReg) {
        if !values.has(vreg, flag::GLOBAL) {
            values.set(vreg, flag::GLOBAL);
            self.globals.push(vreg);
        }
    }
}

/// Live ranges from definitions and uses.
impl Liveness {
    /// Computes the ranges of values used outside the run of blocks that defines them. All other ranges are known
    /// already.
    ///
    /// # Errors
    /// If the budget of the data flow is exceeded and the order is too unusual for a hull of the ranges.
    pub(crate) fn find_ranges(
        &mut self,
        problem: &Problem,
        order: &LinearOrder,
        values: &mut Values,
        meter: MeterRef<'_>,
    ) -> Result<(), AllocError> {
        if self.globals.is_empty() {
            return Ok(());
        }
        self.globals.reverse();
        let Liveness { globals, blocks } = self;
        blocks.begin(problem, order);
        meter.reserve((order.num_blocks() + globals.len()) as u64)?;
        for chunk in globals.chunks(LiveBlocks::CHUNK) {
            let needs_truth = !order.is_forward() || chunk.iter().any(|&vreg| values[vreg].is_ref());
            let first = values.ranges.len();
            if blocks.find(order, values, chunk, needs_truth, meter)? {
                let Values { list, ranges, .. } = &mut *values;
                let mut set = |k: usize, span: Range<u32>| list[chunk[k].index()].ranges = [span.start, span.end];
                blocks.append_to(ranges, chunk.len(), &mut set);
                for &vreg in chunk {
                    list[vreg.index()].begin_ranges(ranges);
                }
                meter.spend((ranges.len() - first) as u64)?;
                meter.grow(|| ranges.heap_bytes())?;
                continue;
            }
            for &vreg in chunk {
                let Values { list, ranges, .. } = &mut *values;
                let value = &mut list[vreg.index()];
                let last = value.last.max(value.def);
                let to = blocks.hull_end(order, value.def, last, last.end_of_use());
                value.add_range(PointRange { from: value.def, to }, ranges);
                value.facts |= flag::HULL;
            }
        }
        Ok(())
    }
}

/// An instruction that excludes values from some registers: registers of fixed operands, clobbered registers, and
/// for references at a safepoint all registers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClobberPoint {
    pub(crate) position: Position,
    pub(crate) clobbers: ClobberId,
    pub(crate) safepoint: bool,
    /// Registers of fixed operands at the early point.
    pub(crate) early: Masks,
    /// Registers of fixed operands at the late point.
    pub(crate) late: Masks,
    /// Sum of the frequencies of this clobber point and all later ones that clobber registers.
    calls_from: u64,
}

/// Clobber points of one problem, and instructions and values for later stages.
#[derive(Default)]
pub(crate) struct Constraints {
    /// Rematerializable values.
    pub(crate) remats: Vec<VReg>,
    /// Moves.
    pub(crate) moves: Vec<Inst>,
    /// Values that must be in a slot for some operand.
    pub(crate) needs_slots: Vec<VReg>,
    /// Clobber points in ascending order of positions.
    pub(crate) clobber_points: Vec<ClobberPoint>,
}

heap_bytes!(Constraints { remats, moves, needs_slots, clobber_points });

impl Constraints {
    /// Prepares for a problem.
    pub(crate) fn begin(&mut self) {
        self.clobber_points.clear();
        self.remats.clear();
        self.moves.clear();
        self.needs_slots.clear();
    }

    /// Finishes after all instructions have been visited.
    pub(crate) fn finish(&mut self, order: &LinearOrder, values: &mut Values) {
        self.weigh_calls(order);
        self.clobber_points.reverse();
        // A value that must be in memory for some operand needs a slot, so that rematerialization saves nothing.
        for &vreg in &self.needs_slots {
            values[vreg].remat = None.into();
        }
    }

    fn weigh_calls(&mut self, order: &LinearOrder) {
        let mut sum = 0u64;
        for clobber_point in &mut self.clobber_points {
            if clobber_point.clobbers != ClobberId::NONE {
                sum = sum.saturating_add(order.freq_at(clobber_point.position).0);
            }
            clobber_point.calls_from = sum;
        }
    }

    /// Returns the sum of the frequencies of the clobber point at `index` and all later ones that clobber
    /// registers.
    pub(crate) fn calls_from(&self, index: usize) -> u64 {
        self.clobber_points.get(index).map_or(0, |clobber_point| clobber_point.calls_from)
    }

    /// Records that an edge passes `arg` to `param`. All later uses of `param` are known, because blocks are
    /// visited backwards.
    pub(crate) fn passes(&mut self, values: &mut Values, arg: VReg, param: VReg) {
        let data = values[param];
        let first = values.use_at(data.next);
        let point = first.map_or(ProgPoint::FIRST, |first| first.point);
        values[param].first_use = match (data.flows_into(), first) {
            (Some(next), Some(first)) if next == param && point.phase() == Phase::After => {
                values.use_at(first.next).map_or(point, |second| second.point)
            }
            (Some(next), _) if point.phase() == Phase::After && values.def(next) > point => {
                values[next].first_use.max(point)
            }
            _ => point,
        };
        self.flows(values, arg, param);
    }

    /// Records that `from` flows into `to`, and gives it the hint of `to`.
    pub(crate) fn flows(&mut self, values: &mut Values, from: VReg, to: VReg) {
        let (hint, position) = values.hint(to);
        let from = &mut values[from];
        from.flows_into = to.into();
        if !hint.is_none() {
            (from.hint, from.hint_at) = (hint, position);
        }
    }

    /// Adds a clobber point for the instruction at `position`, which has none yet.
    pub(crate) fn clobber_point(&mut self, position: Position, clobbers: ClobberId, safepoint: bool) {
        let (early, late) = ([0; 2], [0; 2]);
        self.clobber_points.push(ClobberPoint { position, clobbers, safepoint, early, late, calls_from: 0 });
    }

    /// Records an operand fixed to `reg`. `at` has the position of its instruction, its clobbers, and whether it is
    /// a safepoint.
    pub(crate) fn fixed(&mut self, values: &mut Values, operand: Operand, reg: Reg, at: (Position, ClobberId, bool)) {
        let (position, clobbers, safepoint) = at;
        if self.clobber_points.last().is_none_or(|last| last.position != position) {
            self.clobber_point(position, clobbers, safepoint);
        }
        let (false, Some(clobber_point)) = (reg.is_none(), self.clobber_points.last_mut()) else { return };
        if operand.pos() == Pos::Early {
            clobber_point.early[reg.class()] |= reg.bit();
        }
        if operand.is_def() || operand.pos() == Pos::Late {
            clobber_point.late[reg.class()] |= reg.bit();
        }
        if operand.is_use() {
            let value = &mut values[operand.vreg()];
            (value.hint, value.hint_at) = (reg, position);
        }
    }
}
