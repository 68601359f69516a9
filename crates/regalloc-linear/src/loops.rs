//! At the head of a loop with calls: values that the loop uses move to registers that its calls keep.
//!
//! ```text
//! v0 in r1, used in the loop; v1 in r12, not used in it
//! b1: .. call .. use v0; brif b1, b2          b1 is entered with v0 in r12 and v1 in memory
//! ```
//!
//! What calls would take is otherwise stored and loaded in each round, as values get registers in the order in which they
//! begin. Cost: per loop head, registers times obstacles near ahead.

use crate::values::NONE;
use crate::values::fact;
use crate::walk::Scan;
use cranelift_entity::EntityRef;
use kingpost_regalloc::VReg;
use kingpost_regalloc_common::order::BlockIndex;
use kingpost_regalloc_common::point::ProgPoint;
use kingpost_regalloc_common::preference::{Reg, regs};

impl Scan<'_, '_> {
    /// Makes room for the values held at the head of the block at `at`, which is entered `entered` times, if a loop
    /// begins there.
    pub(crate) fn settle_loop(&mut self, at: BlockIndex, entered: u64) {
        let Some(l) = self.order.loop_of_header(at) else { return };
        let end = self.order.loop_points(l).to;
        if self.s.obstacle_slot >= end.position() {
            return;
        }
        for class in 0..2 {
            for reg in regs(class, self.found.residence.held[class]) {
                if reg.is_in(&self.found.residence.held) {
                    self.keep_over_calls(at, reg, end, entered);
                }
            }
        }
    }

    /// Moves the value in `reg` if it is used before `end` and had to leave the register more often than the loop is
    /// entered.
    fn keep_over_calls(&mut self, at: BlockIndex, reg: Reg, end: ProgPoint, entered: u64) {
        let start = self.order.block(at).start();
        let vreg = self.found.residence.holder_vreg(reg);
        let until = self.values.live_until(vreg, start).min(end);
        let Some(slot) = self.first_lost(vreg, reg, until) else { return };
        if self.order.freq_at(slot).0 <= entered
            || self.values.is_remat(vreg)
            || self.next_use_through(vreg, start) >= end
        {
            return;
        }
        let Some(to) = self.register_over_calls(vreg, start, until, end) else { return };
        let since_def = self.last_stay(vreg).is_some_and(|stay| stay.since_def);
        self.close(reg, start);
        self.open(vreg, to, start, since_def);
        self.found.settled[at.index()] = NONE;
    }

    /// A register that no obstacle takes from the value: a free one, or one whose value the loop does not use.
    fn register_over_calls(&mut self, vreg: VReg, start: ProgPoint, until: ProgPoint, end: ProgPoint) -> Option<Reg> {
        let class = self.values[vreg].class();
        let kept = self.registers.allocatable[class] & !self.blocked(vreg, until);
        let residence = &self.found.residence;
        let fresh = self.registers.callee_saved[class] & !residence.used[class];
        let (free, held) = (kept & !residence.held[class] & !fresh, kept & residence.held[class]);
        if free != 0 {
            return Some(Reg::new(class, free.trailing_zeros()));
        }
        let (to, next) = self.farthest(class, held, start)?;
        let loser = self.found.residence.holder_vreg(to);
        if next < end || self.values.is_edge_def(loser) {
            return None;
        }
        self.evict(to, start);
        if self.values.def(loser) == start {
            // A parameter that only goes round.
            self.values.set(loser, fact::DEF_IN_MEM);
        }
        Some(to)
    }
}
