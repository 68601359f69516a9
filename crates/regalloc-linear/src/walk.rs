//! The walk: blocks in order, registers given out as values begin to live and taken back as they are needed elsewhere.
//!
//! ```text
//! b0: def v0, v1, v2 ..           three values, two registers: when v2 is defined the one whose next
//!     use v1                      use is farthest goes to memory, where it is until it is used again
//!     use v2; use v0
//! ```
//!
//! Linear scan over intervals with holes (Wimmer and Mössenböck, *Optimized interval splitting in a linear scan register
//! allocator*, 2005; on SSA form Wimmer and Franz, *Linear scan register allocation on SSA form*, 2010). Each value that
//! begins takes a register free until the value's end, if there is one, else the one free for longest; if none is free,
//! the value with the farthest next use is split and spilled. Where this differs from the papers:
//!
//! - All constraints of one instruction are met together (`instruction.rs`), as a small assignment problem, so that
//!   splitting needs no minimal intervals and always ends: each instruction is visited once.
//! - A stay ends with the stretch of blocks it is live in. Whatever is in registers at the end of a predecessor is in the
//!   same ones where its successor begins, however far away that is in the order (Traub, Holloway and Smith, *Quality and
//!   speed in linear-scan register allocation*, 1998). So there are no inactive intervals to test against.
//! - A value spilled inside a loop where it was not used leaves its register at the loop's head, in retrospect: the optimal
//!   split position. A value used in a loop that has been spilled before gets a register at the loop's head if one is left.
//!
//! Needs liveness and hints; leaves stays, the moves of each gap, and the registers at the ends and heads of blocks that
//! edges must match. Cost: linear in operands, times registers where one must be evicted; searches for the registers of
//! one instruction share a budget.

use crate::hints::Hints;
use crate::instruction::Plan;
use crate::residence::Residence;
use crate::values::NONE;
use crate::values::{Value, Values};
use kingpost_regalloc::{AllocError, Allocation, Event, Inst, Loc, MachineEnv, Observer, Problem, VReg};
use kingpost_regalloc_common::matching::Matching;
use kingpost_regalloc_common::order::LinearOrder;
use kingpost_regalloc_common::point::{Position, ProgPoint};
use kingpost_regalloc_common::preference::{Masks, Reg, Registers};
use std::ops::Range;

/// One copy in the gap before an instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GapMove {
    pub(crate) vreg: VReg,
    /// The stay it is copied from, or [`NONE`] if from memory.
    pub(crate) from: u32,
    /// None if it is copied to the slot of `into`.
    pub(crate) to: Reg,
    pub(crate) into: VReg,
    /// The stay that begins with it, or [`NONE`] if it is a copy for the instruction only.
    pub(crate) stay: u32,
}

/// The copies before one instruction; they happen at once.
#[derive(Clone, Debug)]
pub(crate) struct Gap {
    pub(crate) inst: Inst,
    pub(crate) point: ProgPoint,
    pub(crate) moves: Range<u32>,
    /// Registers that hold nothing over the gap.
    pub(crate) free: Masks,
}

/// Everything the walk finds out.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) residence: Residence,
    pub(crate) gaps: Vec<Gap>,
    pub(crate) gap_moves: Vec<GapMove>,
    /// By index in the order: the gaps of a block.
    pub(crate) gaps_of: Vec<Range<u32>>,
    /// Registers that definitions write, those of constants apart.
    pub(crate) written: Masks,
    /// Instructions with operands in memory.
    pub(crate) in_memory: Vec<Inst>,
    /// Stays at heads and ends of blocks, each block's share in the ranges below.
    pub(crate) maps: Vec<u32>,
    /// By index in the order; empty where no edge needs it.
    pub(crate) at_head: Vec<Range<u32>>,
    pub(crate) at_end: Vec<Range<u32>>,
    /// By index in the order: may edges into the block need moves?
    pub(crate) resolve: Vec<bool>,
    /// By index in the order: the edge into the block, as a number, that needs none, since all registers stay as they
    /// are; or [`NONE`].
    pub(crate) settled: Vec<u32>,
}

impl Found {
    fn begin(&mut self, blocks: usize) {
        self.residence.begin();
        self.written = [0; 2];
        self.gaps.clear();
        self.gap_moves.clear();
        self.gaps_of.clear();
        self.in_memory.clear();
        self.maps.clear();
        self.at_head.clear();
        self.at_head.resize(blocks, 0..0);
        self.at_end.clear();
        self.at_end.resize(blocks, 0..0);
        self.resolve.clear();
        self.resolve.resize(blocks, false);
        self.settled.clear();
        self.settled.resize(blocks, NONE);
    }

    /// A definition of `value` writes `reg`.
    #[inline]
    pub(crate) fn note_written(&mut self, value: &Value, reg: Reg) {
        self.written[reg.class()] |= if value.is_remat() { 0 } else { reg.bit() };
    }

    /// The stays of one block's share of the maps.
    pub(crate) fn map(&self, share: &Range<u32>) -> &[u32] {
        &self.maps[share.start as usize..share.end as usize]
    }

    /// Notes that some operand of the instruction is in memory.
    pub(crate) fn note_in_memory(&mut self, inst: Inst) {
        if self.in_memory.last() != Some(&inst) {
            self.in_memory.push(inst);
        }
    }
}

/// The walk's own memory.
#[derive(Default)]
pub(crate) struct Scratch {
    pub(crate) plan: Plan,
    /// By index in the order: values to be given a register at the head, as a list through `reloads`.
    pub(crate) reload_heads: Vec<u32>,
    pub(crate) reloads: Vec<(VReg, u32)>,
    /// Values whose `edge_reg` is set.
    pub(crate) edge_values: Vec<VReg>,
    /// Index of the first obstacle after the current slot.
    pub(crate) obstacle: usize,
    /// Its slot, or the end.
    pub(crate) obstacle_slot: Position,
    /// The search of last resort for registers of one instruction.
    pub(crate) matching: Matching,
}

impl Scratch {
    fn begin(&mut self, problem: &Problem, hints: &Hints, blocks: usize) {
        self.reload_heads.clear();
        self.reload_heads.resize(blocks, NONE);
        self.reloads.clear();
        self.edge_values.clear();
        self.obstacle = 0;
        self.obstacle_slot = hints.obstacles.first().map_or(Position::END, |o| o.slot);
        self.matching.begin(problem);
    }
}

/// One walk under way.
pub(crate) struct Scan<'a, 'o> {
    pub(crate) problem: &'a Problem,
    pub(crate) env: &'a MachineEnv,
    pub(crate) registers: &'a Registers,
    pub(crate) order: &'a LinearOrder,
    pub(crate) values: &'a mut Values,
    pub(crate) hints: &'a Hints,
    pub(crate) found: &'a mut Found,
    pub(crate) s: &'a mut Scratch,
    pub(crate) out: &'a mut Allocation,
    pub(crate) observer: Option<&'a mut (dyn Observer + 'o)>,
    /// Does the log or the observer want to know?
    pub(crate) is_told: bool,
}

impl Scan<'_, '_> {
    pub(crate) fn run(&mut self) -> Result<(), AllocError> {
        let blocks = self.order.num_blocks();
        self.out.stats.steps += (self.problem.num_operands() + self.problem.num_insts()) as u64;
        self.found.begin(blocks);
        self.s.begin(self.problem, self.hints, blocks);
        for at in self.order.indices() {
            let place = *self.order.block(at);
            self.start_block(at);
            let gaps = self.found.gaps.len() as u32;
            for slot in place.positions() {
                self.pass_obstacles(slot);
                self.instruction(place.inst(slot), slot)?;
            }
            self.found.gaps_of.push(gaps..self.found.gaps.len() as u32);
            self.end_block(at);
        }
        self.close_all(self.order.stop());
        Ok(())
    }

    #[inline]
    fn pass_obstacles(&mut self, slot: Position) {
        while self.s.obstacle_slot <= slot {
            self.s.obstacle += 1;
            self.s.obstacle_slot = self.hints.obstacles.get(self.s.obstacle).map_or(Position::END, |o| o.slot);
        }
    }

    /// `vreg` lives in `reg` from its definition: what it flows into, and others that do, had best be there too.
    #[inline]
    pub(crate) fn offer(&mut self, vreg: VReg, reg: Reg) {
        if let Some(partner) = self.values.partner(vreg) {
            let last_reg = &mut self.values[partner].last_reg;
            if last_reg.is_none() {
                *last_reg = reg;
            }
        }
    }

    /// The register of the value that `vreg` flows into, or of another one that does.
    pub(crate) fn partners_register(&self, vreg: VReg) -> Reg {
        self.values.partner(vreg).map_or(Reg::NONE, |partner| self.values[partner].last_reg)
    }

    /// The instruction in whose gap `point` is, or the first one of the block whose head it is.
    pub(crate) fn inst_at(&self, point: ProgPoint) -> Inst {
        let place = self.order.block_at(point.position());
        place.inst(point.position().max(place.head.next()))
    }

    pub(crate) fn loc(&self, reg: Reg) -> Loc {
        Loc::reg(self.registers.preg(reg))
    }

    /// Tells that `vreg` lives in `reg` from `inst` on.
    #[inline]
    pub(crate) fn tell_assignment(&mut self, vreg: VReg, reg: Reg, inst: Inst) {
        if self.is_told {
            self.tell_assigned(vreg, reg, inst);
        }
    }

    #[cold]
    fn tell_assigned(&mut self, vreg: VReg, reg: Reg, inst: Inst) {
        let last = self.order.stop().prev();
        let to = self.inst_at(self.values.end(vreg).prev().min(last));
        self.event(Event::Assign { vreg, loc: self.loc(reg), from: inst, to });
    }

    /// Tells the log and the observer.
    pub(crate) fn event(&mut self, event: Event<'_>) {
        if !self.is_told {
            return;
        }
        log::trace!("{event:?}");
        if let Some(observer) = &mut self.observer {
            observer.event(event);
        }
    }
}
