//! Fills gaps between the fragments of a value: if a value is in memory between two registers and some register is
//! free throughout, it stays in that register.
//!
//! ```text
//! v0: r1 0l..4, r2 6..9, r1 free from 4 to 6        becomes        v0: r1 0l..6, r2 6..9
//! ```
//!
//! Cost: a query of the interference and at most a few blocks per gap.

use crate::interference::Interference;
use crate::liveness::{Liveness, Segment};
use crate::reservations::Reservations;
use crate::value_locations::{Fragment, ValueLocations};
use kingpost_regalloc::{Diagnostics, Event, Inst, Loc, PReg, Problem};
use kingpost_regalloc_common::order::LinearOrder;
use kingpost_regalloc_common::point::{PointRange, ProgPoint};
use kingpost_regalloc_common::preference::regs;

/// Largest number of blocks of a gap.
const MAX_BLOCKS: usize = 8;

/// Input of the search for gaps.
pub(crate) struct FillGaps<'a> {
    pub(crate) problem: &'a Problem,
    pub(crate) order: &'a LinearOrder,
    pub(crate) live: &'a Liveness,
    pub(crate) reservations: &'a Reservations,
    pub(crate) interference: &'a mut [Interference; 2],
    /// Callee-saved registers that are not used.
    pub(crate) unused: [u64; 2],
}

impl FillGaps<'_> {
    /// Fills gaps between the fragments of each value.
    pub(crate) fn run(&mut self, locations: &mut ValueLocations, diagnostics: &mut Diagnostics<'_>) {
        let mut found = false;
        for i in 1..locations.all_fragments().len() {
            let (before, after) = (locations.all_fragments()[i - 1], locations.all_fragments()[i]);
            if before.vreg != after.vreg || before.points.to >= after.points.from {
                continue;
            }
            if let Some(fragment) = self.fill(&before, &after) {
                let reg = self.reservations.registers.reg(fragment.reg);
                self.interference[reg.class()].take(reg, fragment.points);
                locations.add(fragment);
                found = true;
                if diagnostics.observer.is_some() {
                    diagnostics.event(self.assignment(&fragment));
                }
            }
        }
        if found {
            locations.sort();
        }
    }

    fn assignment(&self, fragment: &Fragment) -> Event<'static> {
        let from = self.order.inst_at(fragment.points.from.position());
        let last = self.order.inst_at(fragment.points.to.prev().position());
        let to = Inst::from_u32(last.as_u32() + 1);
        Event::Assign { vreg: fragment.vreg, loc: Loc::reg(fragment.reg), from, to }
    }

    fn fill(&self, before: &Fragment, after: &Fragment) -> Option<Fragment> {
        let (vreg, points) = (before.vreg, PointRange::new(before.points.to, after.points.from));
        // The value is there before the gap, so that instructions at the start of the gap affect it.
        let across = Segment::without_uses(vreg, points.from.prev(), points.to);
        if !self.is_gap(points, before, after)
            || !self.reservations.is_plain() && self.reservations.lost(self.problem, &across) != 0
        {
            return None;
        }
        let (registers, class) = (&self.reservations.registers, self.problem.class(vreg).index());
        let bit = |reg: PReg| registers.reg(reg).bit();
        let free = registers.allocatable[class] & !self.interference[class].taken(points) & !self.unused[class];
        let may_move = points.from.is_before();
        let reg = match free {
            _ if free & bit(before.reg) != 0 => before.reg,
            _ if free & bit(after.reg) != 0 && may_move => after.reg,
            _ if may_move => regs(class, free).next().map(|reg| registers.preg(reg))?,
            _ => return None,
        };
        Some(Fragment { vreg, points, reg })
    }

    /// Returns `true` if the value is live throughout, no call is in the way, and the gap can be entered only from
    /// the preceding fragment or from itself.
    fn is_gap(&self, points: PointRange, before: &Fragment, after: &Fragment) -> bool {
        let PointRange { from, to } = points;
        let (first, last) = (self.order.index_at(from.position()), self.order.index_at(to.position()));
        let blocks = first.up_to(last.next());
        if blocks.len() > MAX_BLOCKS + 1
            || self.reservations.calls_before(from) != self.reservations.calls_before(to)
            || !self.live.is_live_throughout(before.vreg, from, to)
            || self.live.remat(before.vreg).is_some()
        {
            return false;
        }
        let known = PointRange::new(before.points.from, after.points.to);
        blocks.map(|at| self.order.block(at)).filter(|block| block.start() >= from).all(|block| {
            self.problem.preds(block.block).iter().all(|&edge| {
                let pred = self.order.block(self.order.index(self.problem.edge(edge).from));
                known.contains(ProgPoint::after(pred.terminator()))
            })
        })
    }
}
