//! Where each value is defined, where it is used, and over which points it is live.
//!
//! ```text
//! b0: def v0 ..; brif b1, b2      v0: used in b2 only, so live over b0 and b2, with a hole
//! b1: ..; jump b3                     over b1, which lies between them in the order
//! b2: use v0; jump b3
//! ```
//!
//! Uses are collected value by value (count, prefix sum, fill), so that they are sorted. A value used only in the block
//! that defines it has one range. For any other the blocks it is live into are found by walking backwards from its uses
//! (Appel, *Modern Compiler Implementation*, 1998, section 19.6), which is exact for irreducible loops too, and needs one
//! stamp per block in place of sets; ranges of adjacent blocks merge. As the result may be quadratic (all values live in all
//! blocks), the walks share a budget proportional to the input. Once that is used up a value gets one range that covers
//! its definition, its uses and all loops around them that do not hold the definition: a superset of the truth.
//!
//! Cost: linear in operands plus live blocks, at most [`BLOCKS_PER_SLOT`] per slot.

use crate::order::{NONE, Order};
use crate::point::Point;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{AllocError, Operand, Pos, Problem, VReg};
use std::ops::Range as IndexRange;

/// Blocks that walks may visit, per slot of the order.
const BLOCKS_PER_SLOT: usize = 8;

/// By how much walks may exceed their budget where nothing simpler will do: for references, since stack maps must be exact,
/// and in orders in which a definition may come after its uses.
const LAST_RESORT: usize = 64;

/// Points over which a value is live: `from` is the first, `to` the first one after.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LiveRange {
    pub(crate) from: Point,
    pub(crate) to: Point,
}

/// Definitions, uses and live ranges of all values.
#[derive(Default)]
pub(crate) struct Liveness {
    defs: Vec<Point>,
    /// Does the value appear on an edge, as result of a terminator?
    edge_defs: Vec<bool>,
    at_head: Vec<bool>,
    /// Is the range a superset of the truth?
    hulls: Vec<bool>,
    use_starts: Vec<u32>,
    uses: Vec<Point>,
    range_starts: Vec<u32>,
    ranges: Vec<LiveRange>,
    walk: Walk,
}

/// Scratch memory of the walks.
#[derive(Default)]
struct Walk {
    /// By index in the order: one plus the last value found live into the block, and out of it.
    live_in: Vec<u32>,
    live_out: Vec<u32>,
    /// First point after the last use in a block the value is live into.
    last_use: Vec<Point>,
    members: Vec<u32>,
    work: Vec<u32>,
    visited: usize,
    /// Segment tree over the order: the last source of an edge back to any block of a stretch.
    back_from: Vec<u32>,
}

impl Liveness {
    /// # Errors
    /// If the walks exceed their budget and the order is too unusual for anything simpler.
    pub(crate) fn build(&mut self, problem: &Problem, order: &Order) -> Result<(), AllocError> {
        self.count_uses(problem);
        self.find_defs_and_uses(problem, order);
        self.find_ranges(problem, order)
    }

    /// Where the value begins to exist.
    pub(crate) fn def(&self, vreg: VReg) -> Point {
        self.defs[vreg.index()]
    }

    /// Does the value appear on an edge, as result of a terminator?
    pub(crate) fn is_edge_def(&self, vreg: VReg) -> bool {
        self.edge_defs[vreg.index()]
    }

    /// Does the value begin with its block, as parameter or result of a terminator?
    pub(crate) fn is_at_head(&self, vreg: VReg) -> bool {
        self.at_head[vreg.index()]
    }

    /// Are the ranges exactly the points at which the value is live?
    pub(crate) fn is_exact(&self, vreg: VReg) -> bool {
        !self.hulls[vreg.index()]
    }

    /// The points of use, ascending. A use by an edge counts at the late point of the terminator.
    pub(crate) fn uses(&self, vreg: VReg) -> &[Point] {
        &self.uses[self.use_range(vreg)]
    }

    /// Indices of the uses of a value, for [`Liveness::use_at`].
    pub(crate) fn use_range(&self, vreg: VReg) -> IndexRange<usize> {
        let v = vreg.index();
        self.use_starts[v] as usize..self.use_starts[v + 1] as usize
    }

    pub(crate) fn use_at(&self, index: usize) -> Point {
        self.uses[index]
    }

    /// The live ranges, ascending, none adjacent to the next.
    pub(crate) fn ranges(&self, vreg: VReg) -> &[LiveRange] {
        &self.ranges[self.range_range(vreg)]
    }

    /// Indices of the ranges of a value, for [`Liveness::range_at`].
    pub(crate) fn range_range(&self, vreg: VReg) -> IndexRange<usize> {
        let v = vreg.index();
        self.range_starts[v] as usize..self.range_starts[v + 1] as usize
    }

    pub(crate) fn range_at(&self, index: usize) -> LiveRange {
        self.ranges[index]
    }

    /// Is the value live at `point`?
    pub(crate) fn is_live(&self, vreg: VReg, point: Point) -> bool {
        let ranges = self.ranges(vreg);
        let next = ranges.partition_point(|range| range.to <= point);
        ranges.get(next).is_some_and(|range| range.from <= point)
    }

    /// One past the last point of the value's life.
    pub(crate) fn end(&self, vreg: VReg) -> Point {
        self.ranges(vreg).last().map_or(self.def(vreg), |range| range.to)
    }

    fn count_uses(&mut self, problem: &Problem) {
        let counts = &mut self.use_starts;
        counts.clear();
        counts.resize(problem.vregs.len() + 1, 0);
        for operand in problem.all_operands() {
            counts[operand.vreg().index()] += u32::from(operand.is_use());
        }
        for edge in problem.edges() {
            for arg in problem.edge_args(edge) {
                counts[arg.index()] += 1;
            }
        }
        let mut start = 0;
        for count in counts.iter_mut() {
            start += std::mem::replace(count, start);
        }
        self.uses.clear();
        self.uses.resize(start as usize, Point::FIRST);
    }

    /// Fills in uses block by block. Starts of the values move on to their ends, and are moved back at the end.
    fn find_defs_and_uses(&mut self, problem: &Problem, order: &Order) {
        self.defs.clear();
        self.defs.resize(problem.vregs.len(), Point::FIRST);
        self.edge_defs.clear();
        self.edge_defs.resize(problem.vregs.len(), false);
        self.at_head.clear();
        self.at_head.resize(problem.vregs.len(), false);
        for place in &order.places {
            for param in problem.params(place.block) {
                self.defs[param.index()] = place.start();
                self.at_head[param.index()] = true;
            }
            for (slot, inst) in (place.head + 1..).zip(problem.insts(place.block)) {
                self.note_operands(problem.operands(inst), slot);
            }
            for &edge in problem.succs(place.block) {
                for &arg in problem.edge_args(edge) {
                    self.note_use(arg, place.stop().prev());
                }
                for &def in problem.edge_defs(edge) {
                    self.edge_defs[def.index()] = true;
                }
            }
        }
        self.place_edge_defs(problem, order);
        self.use_starts.rotate_right(1);
        self.use_starts[0] = 0;
    }

    /// Early uses first, so that the uses of each value are sorted.
    fn note_operands(&mut self, operands: &[Operand], slot: u32) {
        let mut has_late_uses = false;
        for operand in operands {
            let is_early = operand.pos() == Pos::Early;
            let point = if is_early { Point::early(slot) } else { Point::late(slot) };
            match operand.is_def() {
                true => self.defs[operand.vreg().index()] = point,
                false if is_early => self.note_use(operand.vreg(), point),
                false => has_late_uses = true,
            }
        }
        if has_late_uses {
            for operand in operands.iter().filter(|o| o.is_use() && o.pos() == Pos::Late) {
                self.note_use(operand.vreg(), Point::late(slot));
            }
        }
    }

    fn note_use(&mut self, vreg: VReg, point: Point) {
        let cursor = &mut self.use_starts[vreg.index()];
        self.uses[*cursor as usize] = point;
        *cursor += 1;
    }

    fn place_edge_defs(&mut self, problem: &Problem, order: &Order) {
        for edge in problem.edges() {
            for def in problem.edge_defs(edge) {
                self.defs[def.index()] = order.place(problem.edge(edge).to).start();
                self.at_head[def.index()] = true;
            }
        }
    }

    fn find_ranges(&mut self, problem: &Problem, order: &Order) -> Result<(), AllocError> {
        self.walk.begin(order);
        self.ranges.clear();
        self.range_starts.clear();
        self.hulls.clear();
        self.hulls.resize(problem.vregs.len(), false);
        for (vreg, data) in problem.vregs.iter() {
            self.range_starts.push(self.ranges.len() as u32);
            let def = self.defs[vreg.index()];
            let uses = &self.uses[self.use_starts[vreg.index()] as usize..self.use_starts[vreg.index() + 1] as usize];
            let defined = Point::early(def.slot() + 1);
            let (Some(&first), Some(&last)) = (uses.first(), uses.last()) else {
                self.ranges.push(LiveRange { from: def, to: defined });
                continue;
            };
            let home = order.place_at(def.slot());
            if first >= home.start() && last < home.stop() {
                self.ranges.push(LiveRange { from: def, to: defined.max(last.next()) });
            } else if self.walk.is_over_budget(order, 1) && !data.is_ref && order.is_forward {
                self.hulls[vreg.index()] = true;
                let to = self.walk.hull_end(order, def, last);
                self.ranges.push(LiveRange { from: def, to });
            } else if self.walk.is_over_budget(order, LAST_RESORT) {
                return Err(AllocError::StepBudget { steps: self.walk.visited as u64 });
            } else {
                self.walk.exact(problem, order, vreg, def, uses, &mut self.ranges);
            }
        }
        self.range_starts.push(self.ranges.len() as u32);
        Ok(())
    }
}

impl Walk {
    fn begin(&mut self, order: &Order) {
        let blocks = order.places.len();
        self.live_in.clear();
        self.live_in.resize(blocks, 0);
        self.live_out.clear();
        self.live_out.resize(blocks, 0);
        self.last_use.clear();
        self.last_use.resize(blocks, Point::FIRST);
        self.back_from.clear();
        self.visited = 0;
    }

    fn is_over_budget(&self, order: &Order, times: usize) -> bool {
        self.visited > times * BLOCKS_PER_SLOT * order.num_slots()
    }

    /// Appends the exact ranges of a value that is used outside the block that defines it.
    fn exact(
        &mut self,
        problem: &Problem,
        order: &Order,
        vreg: VReg,
        def: Point,
        uses: &[Point],
        ranges: &mut Vec<LiveRange>,
    ) {
        let stamp = vreg.as_u32() + 1;
        let home = order.at_slot(def.slot());
        let mut home_end = Point::early(def.slot() + 1);
        self.members.clear();
        self.members.push(home);
        for &point in uses {
            let at = order.at_slot(point.slot());
            if at == home {
                home_end = home_end.max(point.next());
            } else {
                self.last_use[at as usize] = point.next();
                self.enter(at, stamp);
            }
        }
        while let Some(at) = self.work.pop() {
            for &edge in problem.preds(order.places[at as usize].block) {
                let pred = order.at(problem.edge(edge).from);
                self.live_out[pred as usize] = stamp;
                if pred != home {
                    self.enter(pred, stamp);
                }
            }
        }
        self.visited += self.members.len();
        self.sort_members(stamp);
        let first = ranges.len();
        for &at in &self.members {
            let place = &order.places[at as usize];
            let from = if at == home { def } else { place.start() };
            let to = match self.live_out[at as usize] == stamp {
                true => place.stop(),
                false if at == home => home_end,
                false => self.last_use[at as usize],
            };
            match ranges[first..].last_mut() {
                Some(last) if last.to == from && at != home => last.to = to,
                _ => ranges.push(LiveRange { from, to }),
            }
        }
    }

    fn enter(&mut self, at: u32, stamp: u32) {
        if std::mem::replace(&mut self.live_in[at as usize], stamp) != stamp {
            self.members.push(at);
            self.work.push(at);
        }
    }

    /// Few members are sorted; many are picked up in order from the stamps.
    fn sort_members(&mut self, stamp: u32) {
        let (Some(&low), Some(&high)) = (self.members.iter().min(), self.members.iter().max()) else { return };
        if self.members.len() < 32 || ((high - low) as usize) > 4 * self.members.len() {
            return self.members.sort_unstable();
        }
        let home = self.members[0];
        self.members.clear();
        self.members.extend((low..=high).filter(|&at| at == home || self.live_in[at as usize] == stamp));
    }

    /// The end of the last block of the smallest stretch of blocks that holds the definition and the last use, and from
    /// which no edge leads back into it from behind.
    fn hull_end(&mut self, order: &Order, def: Point, last_use: Point) -> Point {
        if self.back_from.is_empty() {
            self.build_tree(order);
        }
        let home = order.at_slot(def.slot());
        let last = order.at_slot(last_use.slot());
        let (mut from, mut end) = (home + 1, last);
        while from <= end {
            let back = self.last_back(from, end);
            (from, end) = (end + 1, back.max(end));
        }
        if end == last && self.live_in_is_unneeded(order, last, home) {
            return last_use.next();
        }
        order.places[end as usize].stop()
    }

    /// A use in a loop that does not hold the definition keeps the value to the loop's end, which the stretch shows; in
    /// any other block the value ends at its use.
    fn live_in_is_unneeded(&self, order: &Order, last: u32, home: u32) -> bool {
        let innermost = order.places[last as usize].innermost;
        innermost == NONE || order.loops[innermost as usize].head <= home
    }

    fn build_tree(&mut self, order: &Order) {
        let n = order.places.len();
        self.back_from.resize(n, 0);
        self.back_from.extend(order.back_from.iter().map(|&from| if from == NONE { 0 } else { from }));
        for i in (1..n).rev() {
            self.back_from[i] = self.back_from[2 * i].max(self.back_from[2 * i + 1]);
        }
    }

    /// The last source of an edge back to any of the blocks `from..=to`.
    fn last_back(&self, from: u32, to: u32) -> u32 {
        let n = self.back_from.len() / 2;
        let (mut low, mut high, mut best) = (from as usize + n, to as usize + n + 1, 0);
        while low < high {
            if low % 2 == 1 {
                best = best.max(self.back_from[low]);
                low += 1;
            }
            if high % 2 == 1 {
                high -= 1;
                best = best.max(self.back_from[high]);
            }
            low /= 2;
            high /= 2;
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_regalloc::{ClobberId, Freq, InstFlags, RegClass};

    /// Blocks of two instructions each: the given defs and uses, then a branch.
    fn ranges(blocks: &[(&[u32], &[u32])], edges: &[(u32, u32)], values: usize) -> Vec<String> {
        let mut p = Problem::default();
        let v: Vec<VReg> = (0..values).map(|_| p.add_vreg(RegClass::Int, 8, false)).collect();
        for (defs, uses) in blocks {
            p.begin_block(Freq::ENTRY, &[]);
            for &u in *uses {
                p.push_operand(Operand::reg_use(v[u as usize]));
            }
            for &d in *defs {
                p.push_operand(Operand::reg_def(v[d as usize]));
            }
            p.push_inst(InstFlags::NONE, ClobberId::NONE);
            p.push_inst(InstFlags::BRANCH, ClobberId::NONE);
        }
        for &(from, to) in edges {
            let block = kingpost_regalloc::Block::from_u32;
            p.add_edge(block(from), block(to), Freq::ENTRY, &[], &[]);
        }
        p.finish();
        let mut order = Order::default();
        order.build(&p);
        let mut live = Liveness::default();
        live.build(&p, &order).expect("few blocks");
        v.iter()
            .map(|&v| {
                let ranges = live.ranges(v).iter().map(|r| format!("{:?}..{:?}", r.from, r.to));
                ranges.collect::<Vec<_>>().join(" ")
            })
            .collect()
    }

    #[test]
    fn a_value_used_on_one_side_has_a_hole() {
        let blocks: [(&[u32], &[u32]); 4] = [(&[0], &[]), (&[], &[]), (&[], &[0]), (&[], &[])];
        assert_eq!(ranges(&blocks, &[(0, 1), (0, 2), (1, 3), (2, 3)], 1), ["1+..3 6..7+"]);
    }

    #[test]
    fn a_use_in_a_loop_keeps_the_value_to_its_end() {
        let blocks: [(&[u32], &[u32]); 4] = [(&[0, 1], &[]), (&[], &[0]), (&[2], &[]), (&[], &[1])];
        let got = ranges(&blocks, &[(0, 1), (1, 2), (2, 1), (1, 3)], 3);
        assert_eq!(got, ["1+..9", "1+..10+", "7+..8"]);
    }

    #[test]
    fn irreducible_loops_are_exact() {
        // Both b1 and b2 are entered from b0 and lead to each other; v0 is used in b1 only.
        let blocks: [(&[u32], &[u32]); 4] = [(&[0], &[]), (&[], &[0]), (&[], &[]), (&[], &[])];
        assert_eq!(ranges(&blocks, &[(0, 1), (0, 2), (1, 2), (2, 1), (2, 3)], 1), ["1+..9"]);
    }
}
