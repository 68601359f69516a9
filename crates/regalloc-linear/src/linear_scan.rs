//! The linear scan: blocks in order, registers assigned at the starts of live ranges, intervals split where a
//! register is needed for another value.
//!
//! ```text
//! b0: def v0, v1, v2 ..           three values, two registers: when v2 is defined the one whose next
//!     use v1                      use is farthest is spilled, and reloaded before it is used
//!     use v2; use v0
//! ```
//!
//! Linear scan over intervals with holes (Wimmer and Mössenböck, *Optimized interval splitting in a linear scan
//! register allocator*, 2005; on SSA form Wimmer and Franz, *Linear scan register allocation on SSA form*, 2010).
//! Each value that begins takes a register free until the value's end, if there is one, otherwise the register free
//! for longest. If none is free, the value with the farthest next use is split and spilled. The differences to the
//! papers are these:
//!
//! - All constraints of one instruction are solved together (`assign_operands.rs`), as a small assignment problem.
//!   Splitting therefore needs no minimal intervals and always terminates: each instruction is visited once.
//! - The registers at a block's entry are the registers at the end of one of its predecessors, which may be far away in
//!   the order (Traub, Holloway and Smith, *Quality and speed in linear-scan register allocation*, 1998). A split interval
//!   ends if its value is in another place there than at the end of the preceding block. So there are no inactive
//!   intervals to test against.
//! - A value spilled inside a loop that has not used it is split at the loop's header in retrospect: the optimal
//!   split position. A value used in a loop that was spilled before is reloaded at the header if a register is free
//!   there.
//!
//! The scan needs live ranges, hints and clobber points. It produces split intervals, the moves of each gap, and
//! the intervals at the heads and ends of blocks, which resolution compares. Cost: linear in operands, times
//! registers where one must be evicted; the matchings of last resort share a budget.

use crate::assign_operands::OperandAssignment;
use crate::collect::Constraints;
use crate::split_intervals::{Occupancy, SplitInterval};
use crate::values::{IntervalId, NONE, Value, Values};
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, SecondaryMap};
use kingpost_regalloc::meter::heap_bytes;
use kingpost_regalloc::{AllocError, Allocation, Diagnostics, Event, Inst, Loc, MachineEnv, Problem, VReg};
use kingpost_regalloc_common::matching::Matching;
use kingpost_regalloc_common::order::LinearOrder;
use kingpost_regalloc_common::point::{Position, ProgPoint};
use kingpost_regalloc_common::preference::{Masks, Reg, Registers, regs};
use std::ops::Range;

/// One copy in the gap before an instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GapMove {
    pub(crate) vreg: VReg,
    /// The split interval it is copied from; `None` if it is copied from memory.
    pub(crate) from: PackedOption<IntervalId>,
    /// Its register; [`Reg::NONE`] if it is copied to the slot of `into`.
    pub(crate) to: Reg,
    pub(crate) into: VReg,
    /// The split interval that begins with it; `None` if it is a copy for the instruction only.
    pub(crate) interval: PackedOption<IntervalId>,
}

/// The copies before one instruction: a parallel move.
#[derive(Clone, Debug)]
pub(crate) struct Gap {
    pub(crate) inst: Inst,
    pub(crate) point: ProgPoint,
    pub(crate) moves: Range<u32>,
    /// Registers that are free over the gap.
    pub(crate) free: Masks,
}

/// The result of the scan.
#[derive(Default)]
pub(crate) struct ScanResult {
    pub(crate) occupancy: Occupancy,
    pub(crate) gaps: Vec<Gap>,
    pub(crate) gap_moves: Vec<GapMove>,
    /// Registers written by definitions that are not rematerializable.
    pub(crate) written: Masks,
    /// Instructions with operands in memory.
    pub(crate) in_memory: Vec<Inst>,
    /// Registers to which terminators write results that exist on one edge.
    pub(crate) edge_def_regs: SecondaryMap<VReg, Reg>,
    /// Split intervals that are open at heads and ends of blocks. The ranges in `blocks` select lists of them.
    pub(crate) maps: Vec<IntervalId>,
    /// Block states by block index.
    pub(crate) blocks: Vec<BlockState>,
}

heap_bytes!(ScanResult { occupancy, gaps, gap_moves, in_memory, edge_def_regs, maps, blocks } without { written });

/// State of one block after the scan.
#[derive(Clone, Default)]
pub(crate) struct BlockState {
    /// Its gaps.
    pub(crate) gaps: Range<u32>,
    /// The list of split intervals at its head, and at its end; empty if no edge needs it.
    pub(crate) at_head: Range<u32>,
    pub(crate) at_end: Range<u32>,
    /// Whether edges into it may need moves.
    pub(crate) resolve: bool,
}

impl ScanResult {
    fn begin(&mut self, blocks: usize) {
        self.occupancy.begin();
        self.written = [0; 2];
        self.gaps.clear();
        self.gap_moves.clear();
        self.in_memory.clear();
        self.edge_def_regs.clear();
        self.maps.clear();
        self.blocks.clear();
        self.blocks.resize(blocks, BlockState::default());
    }

    /// Records that a definition of `value` writes `reg`.
    pub(crate) fn note_written(&mut self, value: &Value, reg: Reg) {
        self.written[reg.class()] |= if value.is_remat() { 0 } else { reg.bit() };
    }

    /// Returns one list of split intervals.
    pub(crate) fn map(&self, share: &Range<u32>) -> &[IntervalId] {
        &self.maps[share.start as usize..share.end as usize]
    }

    /// Records that some operand of the instruction is in memory.
    pub(crate) fn note_in_memory(&mut self, inst: Inst) {
        if self.in_memory.last() != Some(&inst) {
            self.in_memory.push(inst);
        }
    }
}

/// Scratch memory of the scan.
#[derive(Default)]
pub(crate) struct Scratch {
    pub(crate) assignment: OperandAssignment,
    /// By block index: values to be reloaded at the head, as a list through `reloads`.
    pub(crate) reload_heads: Vec<u32>,
    pub(crate) reloads: Vec<(VReg, u32)>,
    /// Split intervals of values that a block inherits, without those that stay open.
    pub(crate) reopened: Vec<IntervalId>,
    /// Values whose `edge_reg` is set.
    pub(crate) edge_values: Vec<VReg>,
    /// Index of the first clobber point after the current position.
    pub(crate) clobber_point: usize,
    /// Its position, or the end.
    pub(crate) clobber_at: Position,
    /// The matching of last resort for the registers of one instruction.
    pub(crate) matching: Matching,
}

heap_bytes!(Scratch { assignment, reload_heads, reloads, reopened, edge_values, matching } without { clobber_point, clobber_at });

impl Scratch {
    fn begin(&mut self, problem: &Problem, constraints: &Constraints, blocks: usize) {
        self.reload_heads.clear();
        self.reload_heads.resize(blocks, NONE);
        self.reloads.clear();
        self.edge_values.clear();
        self.clobber_point = 0;
        self.clobber_at = constraints.clobber_points.first().map_or(Position::END, |o| o.position);
        self.matching.begin(problem);
    }
}

/// The state of the scan.
pub(crate) struct Scan<'a, 'o> {
    pub(crate) problem: &'a Problem,
    pub(crate) env: &'a MachineEnv,
    pub(crate) registers: &'a Registers,
    pub(crate) order: &'a LinearOrder,
    pub(crate) values: &'a mut Values,
    pub(crate) constraints: &'a Constraints,
    pub(crate) scan: &'a mut ScanResult,
    pub(crate) s: &'a mut Scratch,
    pub(crate) out: &'a mut Allocation,
    pub(crate) diagnostics: &'a mut Diagnostics<'o>,
}

impl Scan<'_, '_> {
    pub(crate) fn run(&mut self) -> Result<(), AllocError> {
        let blocks = self.order.num_blocks();
        self.out.stats.steps += (self.problem.num_operands() + self.problem.num_insts()) as u64;
        self.scan.begin(blocks);
        self.s.begin(self.problem, self.constraints, blocks);
        let (meter, mut paid) = (self.diagnostics.meter, self.out.stats.steps);
        for at in self.order.indices() {
            let block = *self.order.block(at);
            meter.reserve(2 * u64::from(block.num_insts()))?;
            meter.spend_batch(self.steps(), &mut paid)?;
            self.start_block(at);
            let gaps = self.scan.gaps.len() as u32;
            for (step, position) in self.problem.walk(block.block).zip(block.positions()) {
                self.pass_clobber_points(position);
                self.instruction(step, position)?;
            }
            self.scan.blocks[at.index()].gaps = gaps..self.scan.gaps.len() as u32;
            self.end_block(at);
        }
        self.close_all(self.order.stop());
        Ok(meter.spend_rest(self.steps(), &mut paid)?)
    }

    /// Returns the steps so far: registers examined, and split intervals listed at blocks.
    fn steps(&self) -> u64 {
        self.out.stats.steps + self.scan.maps.len() as u64
    }

    fn pass_clobber_points(&mut self, position: Position) {
        while self.s.clobber_at <= position {
            self.s.clobber_point += 1;
            self.s.clobber_at =
                self.constraints.clobber_points.get(self.s.clobber_point).map_or(Position::END, |o| o.position);
        }
    }

    /// Records that `vreg` is defined in `reg`. This is a hint for the copy-related value that it flows into, and
    /// for other values that flow into that value.
    pub(crate) fn hint_related(&mut self, vreg: VReg, reg: Reg) {
        if let Some(flows_into) = self.values.flows_into(vreg) {
            let last_reg = &mut self.values[flows_into].last_reg;
            if last_reg.is_none() {
                *last_reg = reg;
            }
        }
    }

    /// Returns the register of the value that `vreg` flows into, or of another value that flows into it.
    pub(crate) fn related_register(&self, vreg: VReg) -> Reg {
        self.values.flows_into(vreg).map_or(Reg::NONE, |flows_into| self.values[flows_into].last_reg)
    }

    /// Returns the instruction after the gap that holds `point`, or the first instruction of the block whose head
    /// it is.
    pub(crate) fn inst_at(&self, point: ProgPoint) -> Inst {
        self.order.inst_at(point.position())
    }

    pub(crate) fn loc(&self, reg: Reg) -> Loc {
        Loc::reg(self.registers.preg(reg))
    }

    /// Reports that `vreg` is in `reg` from `from` on.
    pub(crate) fn trace_assignment(&mut self, vreg: VReg, reg: Reg, from: ProgPoint) {
        if self.diagnostics.observer.is_some() {
            self.announce_assignment(vreg, reg, from);
        }
    }

    #[cold]
    fn announce_assignment(&mut self, vreg: VReg, reg: Reg, from: ProgPoint) {
        let last = self.values.end(vreg).max(from.next()).min(self.order.stop()).prev();
        let to = Inst::from_u32(self.inst_at(last).as_u32() + 1);
        self.diagnostics.event(Event::Assign { vreg, loc: self.loc(reg), from: self.inst_at(from), to });
    }
}

/// Split intervals of the scan.
impl Scan<'_, '_> {
    /// Opens a split interval in `reg`, which must be free.
    pub(crate) fn open(&mut self, vreg: VReg, reg: Reg, from: ProgPoint, since_def: bool) -> IntervalId {
        self.trace_assignment(vreg, reg, from);
        self.scan.occupancy.open(self.values, vreg, reg, from, since_def)
    }

    /// Closes the split interval in `reg`.
    pub(crate) fn close(&mut self, reg: Reg, to: ProgPoint) -> IntervalId {
        self.scan.occupancy.close(self.values, reg, to)
    }

    /// Closes all split intervals.
    pub(crate) fn close_all(&mut self, to: ProgPoint) {
        for class in 0..2 {
            for reg in regs(class, self.scan.occupancy.held[class]) {
                self.close(reg, to);
            }
        }
    }

    /// Returns the last register of the value.
    pub(crate) fn last_reg(&self, vreg: VReg) -> Reg {
        let value = &self.values[vreg];
        if value.interval.is_none() { Reg::NONE } else { value.last_reg }
    }

    pub(crate) fn last_interval(&self, vreg: VReg) -> Option<&SplitInterval> {
        self.values[vreg].interval.map(|id| &self.scan.occupancy.intervals[id])
    }

    /// Cuts off the closed intervals of a value, up to `id`, at the block head `point`. Takes one step for each
    /// interval that is cut.
    pub(crate) fn cut_back(&mut self, id: IntervalId, point: ProgPoint) {
        let mut next = Some(id);
        while let Some(id) = next {
            let interval = self.scan.occupancy.intervals[id];
            if interval.to <= point {
                return;
            }
            self.scan.occupancy.evict(id);
            let cut = &mut self.scan.occupancy.intervals[id];
            cut.continued = false;
            if interval.from < point {
                cut.to = point;
                return;
            }
            cut.to = interval.from;
            next = interval.prev.expand();
        }
    }
}
