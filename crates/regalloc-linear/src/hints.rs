//! What is known about values and registers before the walk: the register each value would like, the values it wants to
//! share one with, the instructions that keep registers from values, and what can be computed again.
//!
//! Instructions come backwards (`survey.rs`), so that the wish nearest to a value's definition wins, and wishes travel through
//! moves, tied operands and forward edges: `v1 = move v0` with `v1` wanted in `r3` makes `v0` want `r3`.
//! Cost: linear in operands and edge arguments.

use crate::values::NONE;
use crate::values::Values;
use kingpost_regalloc::{ClobberId, Inst, Operand, Pos, VReg};
use kingpost_regalloc_common::order::LinearOrder;
use kingpost_regalloc_common::point::{Phase, Position, ProgPoint};
use kingpost_regalloc_common::preference::{Masks, Reg};

/// An instruction at which registers are taken by fixed operands, lost to clobbers, or useless to references.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Obstacle {
    pub(crate) slot: Position,
    pub(crate) clobbers: ClobberId,
    pub(crate) safepoint: bool,
    /// Taken at the early point by fixed operands.
    pub(crate) early: Masks,
    /// Taken at the late point by fixed operands.
    pub(crate) late: Masks,
}

/// Wishes and obstacles of one problem.
#[derive(Default)]
pub(crate) struct Hints {
    /// Values that some instruction could compute anywhere.
    pub(crate) remats: Vec<VReg>,
    /// Instructions that copy.
    pub(crate) moves: Vec<Inst>,
    /// Values that must be in a slot for some operand.
    pub(crate) needs_slots: Vec<VReg>,
    /// Ascending by slot.
    pub(crate) obstacles: Vec<Obstacle>,
    /// By obstacle: how often clobbering instructions from it on run, together.
    calls_from: Vec<u64>,
}

impl Hints {
    /// Forgets the former problem.
    pub(crate) fn begin(&mut self) {
        self.obstacles.clear();
        self.remats.clear();
        self.moves.clear();
        self.needs_slots.clear();
    }

    /// All instructions have come.
    pub(crate) fn finish(&mut self, order: &LinearOrder, values: &mut Values) {
        self.weigh_calls(order);
        self.obstacles.reverse();
        // Whoever must be in memory for some operand needs a slot, so computing it again saves nothing.
        for &vreg in &self.needs_slots {
            values[vreg].remat = NONE;
        }
    }

    fn weigh_calls(&mut self, order: &LinearOrder) {
        let mut sum = 0u64;
        self.calls_from.clear();
        for obstacle in &self.obstacles {
            if obstacle.clobbers != ClobberId::NONE {
                sum = sum.saturating_add(order.freq_at(obstacle.slot).0);
            }
            self.calls_from.push(sum);
        }
        self.calls_from.reverse();
    }

    /// How often clobbering instructions from the obstacle at `index` on run, together.
    pub(crate) fn calls_from(&self, index: usize) -> u64 {
        self.calls_from.get(index).copied().unwrap_or(0)
    }

    /// An edge passes `arg` to `param`. Blocks come backwards, so that what happens to the parameter further on is known.
    pub(crate) fn passes(&mut self, values: &mut Values, arg: VReg, param: VReg) {
        let data = values[param];
        let first = values.use_at(data.next);
        let point = first.map_or(ProgPoint::FIRST, |first| first.point);
        values[param].first_use = match (data.partner(), first) {
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

    /// `from` becomes `to`, and had best be where `to` is wanted.
    #[inline]
    pub(crate) fn flows(&mut self, values: &mut Values, from: VReg, to: VReg) {
        let (wish, slot) = values.wish(to);
        let from = &mut values[from];
        from.partner = to.as_u32();
        if !wish.is_none() {
            (from.wish, from.wish_slot) = (wish, slot);
        }
    }

    /// The instruction in `slot`, before which nothing in that slot came, is an obstacle.
    pub(crate) fn obstacle(&mut self, slot: Position, clobbers: ClobberId, safepoint: bool) {
        self.obstacles.push(Obstacle { slot, clobbers, safepoint, early: [0; 2], late: [0; 2] });
    }

    /// An operand fixed to `reg`, at the instruction that `at` tells of.
    pub(crate) fn fixed(&mut self, values: &mut Values, operand: Operand, reg: Reg, at: (Position, ClobberId, bool)) {
        let (slot, clobbers, safepoint) = at;
        if self.obstacles.last().is_none_or(|last| last.slot != slot) {
            self.obstacle(slot, clobbers, safepoint);
        }
        let (false, Some(obstacle)) = (reg.is_none(), self.obstacles.last_mut()) else { return };
        if operand.pos() == Pos::Early {
            obstacle.early[reg.class()] |= reg.bit();
        }
        if operand.is_def() || operand.pos() == Pos::Late {
            obstacle.late[reg.class()] |= reg.bit();
        }
        if operand.is_use() {
            let value = &mut values[operand.vreg()];
            (value.wish, value.wish_slot) = (reg, slot);
        }
    }
}
