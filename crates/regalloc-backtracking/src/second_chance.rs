//! A second chance for values in memory: where a value waits there between two pieces in registers and some register is free
//! all the while, it waits in that register.

use crate::live::{Liveness, Segment};
use crate::machine::Machine;
use crate::occupancy::Occupancy;
use crate::order::Order;
use crate::places::{Piece, Places};
use kingpost_regalloc::{PReg, Problem};

/// Blocks that a gap may touch.
const MAX_BLOCKS: u32 = 8;

/// What gaps are looked for in.
pub(crate) struct SecondChance<'a> {
    pub(crate) problem: &'a Problem,
    pub(crate) order: &'a Order,
    pub(crate) live: &'a Liveness,
    pub(crate) machine: &'a Machine,
    pub(crate) occupancy: &'a mut [Occupancy; 2],
    /// Callee-saved registers that are not used.
    pub(crate) unused: [u64; 2],
}

impl SecondChance<'_> {
    /// Fills gaps between the pieces of each value.
    pub(crate) fn run(&mut self, places: &mut Places) {
        let mut found = false;
        for i in 1..places.all_pieces().len() {
            let (before, after) = (places.all_pieces()[i - 1], places.all_pieces()[i]);
            if before.segment.vreg == after.segment.vreg
                && before.segment.to < after.segment.from
                && let Some(piece) = self.fill(&before, &after)
            {
                let number = self.machine.registers.number(piece.reg);
                self.occupancy[piece.reg.class().index()].insert(number, &piece.segment, crate::order::NONE);
                places.add(piece);
                found = true;
            }
        }
        if found {
            places.sort();
        }
    }

    fn fill(&self, before: &Piece, after: &Piece) -> Option<Piece> {
        let (from, to, vreg) = (before.segment.to, after.segment.from, before.segment.vreg);
        let segment = Segment { from, to, vreg, uses: 0, uses_end: 0 };
        // The value is there before the gap, so what happens where the gap begins happens to it.
        let across = Segment { from: from - 1, ..segment };
        if !self.is_gap(&segment, before, after)
            || !self.machine.is_plain() && self.machine.lost(self.problem, across) != 0
        {
            return None;
        }
        let class = self.problem.class(vreg);
        let number = |reg: PReg| 1 << self.machine.registers.number(reg);
        let taken = self.occupancy[class.index()].taken(from, to) | self.unused[class.index()];
        let free = self.machine.registers.all[class.index()] & !taken;
        let may_move = from.is_multiple_of(4);
        let reg = match free {
            _ if free & number(before.reg) != 0 => before.reg,
            _ if free & number(after.reg) != 0 && may_move => after.reg,
            0 => return None,
            _ if may_move => self.machine.registers.reg(class, free.trailing_zeros() as usize),
            _ => return None,
        };
        Some(Piece { segment, reg })
    }

    /// Is the value live all along, no wall in the way, and can the gap be entered only from the piece before it or itself?
    fn is_gap(&self, segment: &Segment, before: &Piece, after: &Piece) -> bool {
        let Segment { from, to, vreg, .. } = *segment;
        let (first, last) = (self.order.index_at(from), self.order.index_at(to));
        if last - first > MAX_BLOCKS || self.machine.walls_before(from) != self.machine.walls_before(to) {
            return false;
        }
        let ranges = self.live.ranges(vreg);
        let range = ranges.get(ranges.partition_point(|range| range.to <= from));
        if range.is_none_or(|range| range.from > from || range.to < to) || self.live.remat(vreg).is_some() {
            return false;
        }
        (first..=last).map(|at| &self.order.places[at as usize]).filter(|place| place.start() >= from).all(|place| {
            self.problem.preds(place.block).iter().all(|&edge| {
                let end = self.order.place(self.problem.edge(edge).from).stop() - 1;
                (before.segment.from..after.segment.to).contains(&end)
            })
        })
    }
}
