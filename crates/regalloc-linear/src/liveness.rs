//! Where each value is defined, where it is used, and over which points it is live.
//!
//! ```text
//! b0: def v0 ..; brif b1, b2      v0: used in b2 only, so live over b0 and b2, with a hole
//! b1: ..; jump b3                     over b1, which lies between them in the order
//! b2: use v0; jump b3
//! ```
//!
//! Uses are collected value by value (count, prefix sum, fill), so that they are sorted. A value used only in the block
//! that defines it has one range. The others are left to `live_blocks.rs`. Cost: linear in operands, besides that.

use crate::live_blocks::LiveBlocks;
use crate::order::Order;
use crate::point::Point;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{AllocError, Operand, Pos, Problem, VReg};
use std::ops::Range as IndexRange;

/// Points over which a value is live: `from` is the first, `to` the first one after.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LiveRange {
    pub(crate) from: Point,
    pub(crate) to: Point,
}

/// Bits of what is known of a value.
mod flag {
    /// It appears on an edge, as result of a terminator.
    pub(super) const EDGE_DEF: u8 = 1;
    /// It begins with its block.
    pub(super) const AT_HEAD: u8 = 2;
    /// Its range is a superset of the truth.
    pub(super) const HULL: u8 = 4;
    /// It is used outside its block.
    pub(super) const GLOBAL: u8 = 8;
}

/// Definitions, uses and live ranges of all values.
#[derive(Default)]
pub(crate) struct Liveness {
    pub(crate) defs: Vec<Point>,
    flags: Vec<u8>,
    use_starts: Vec<u32>,
    pub(crate) uses: Vec<Point>,
    /// By value: its part of `ranges`.
    spans: Vec<[u32; 2]>,
    ranges: Vec<LiveRange>,
    /// Values used outside the blocks that define them.
    globals: Vec<VReg>,
    blocks: LiveBlocks,
}

impl Liveness {
    /// # Errors
    /// If the search for live blocks exceeds its budget and the order is too unusual for anything simpler.
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
        self.flags[vreg.index()] & flag::EDGE_DEF != 0
    }

    /// Does the value begin with its block, as parameter or result of a terminator?
    pub(crate) fn is_at_head(&self, vreg: VReg) -> bool {
        self.flags[vreg.index()] & flag::AT_HEAD != 0
    }

    /// Are the ranges exactly the points at which the value is live?
    pub(crate) fn is_exact(&self, vreg: VReg) -> bool {
        self.flags[vreg.index()] & flag::HULL == 0
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

    /// The first index of each value's uses.
    pub(crate) fn use_starts(&self) -> &[u32] {
        &self.use_starts[..self.use_starts.len() - 1]
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
        let [start, end] = self.spans[vreg.index()];
        start as usize..end as usize
    }

    /// The first index of each value's ranges.
    pub(crate) fn range_starts(&self) -> impl Iterator<Item = u32> {
        self.spans.iter().map(|span| span[0])
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
        self.defs.resize(problem.vregs.len(), Point::OPEN);
        self.flags.clear();
        self.flags.resize(problem.vregs.len(), 0);
        self.globals.clear();
        self.note_edge_defs(problem, order);
        for place in &order.places {
            let start = place.start();
            for param in problem.params(place.block) {
                self.defs[param.index()] = start;
                self.flags[param.index()] |= flag::AT_HEAD;
            }
            for (slot, inst) in (place.head + 1..).zip(problem.insts(place.block)) {
                self.note_operands(problem.operands(inst), slot, start);
            }
            for &edge in problem.succs(place.block) {
                for &arg in problem.edge_args(edge) {
                    self.note_use(arg, place.stop().prev(), start);
                }
            }
        }
        self.use_starts.rotate_right(1);
        self.use_starts[0] = 0;
    }

    /// Results on edges begin where the edges lead to.
    fn note_edge_defs(&mut self, problem: &Problem, order: &Order) {
        for edge in problem.edges() {
            for def in problem.edge_defs(edge) {
                self.defs[def.index()] = order.place(problem.edge(edge).to).start();
                self.flags[def.index()] |= flag::EDGE_DEF | flag::AT_HEAD;
            }
        }
    }

    /// Early uses first, so that the uses of each value are sorted.
    fn note_operands(&mut self, operands: &[Operand], slot: u32, start: Point) {
        let mut has_late_uses = false;
        for operand in operands {
            let vreg = operand.vreg();
            let is_early = operand.pos() == Pos::Early;
            let point = if is_early { Point::early(slot) } else { Point::late(slot) };
            match operand.is_def() {
                true if self.flags[vreg.index()] & flag::EDGE_DEF == 0 => self.defs[vreg.index()] = point,
                true => {}
                false if is_early => self.note_use(vreg, point, start),
                false => has_late_uses = true,
            }
        }
        if has_late_uses {
            for operand in operands.iter().filter(|o| o.is_use() && o.pos() == Pos::Late) {
                self.note_use(operand.vreg(), Point::late(slot), start);
            }
        }
    }

    /// `start` is that of the block. Definitions that are still to come are at [`Point::OPEN`] meanwhile.
    fn note_use(&mut self, vreg: VReg, point: Point, start: Point) {
        let v = vreg.index();
        let cursor = &mut self.use_starts[v];
        self.uses[*cursor as usize] = point;
        *cursor += 1;
        let def = self.defs[v];
        if (def < start || def > point) && self.flags[v] & flag::GLOBAL == 0 {
            self.flags[v] |= flag::GLOBAL;
            self.globals.push(vreg);
        }
    }

    fn find_ranges(&mut self, problem: &Problem, order: &Order) -> Result<(), AllocError> {
        self.ranges.clear();
        self.spans.clear();
        for (v, def) in self.defs.iter_mut().enumerate() {
            // A value that nothing defines.
            if *def == Point::OPEN {
                *def = Point::FIRST;
            }
            let def = *def;
            let at = self.ranges.len() as u32;
            let uses = &self.uses[self.use_starts[v] as usize..self.use_starts[v + 1] as usize];
            if self.flags[v] & flag::GLOBAL != 0 {
                self.spans.push([at, at]);
                continue;
            }
            let defined = Point::early(def.slot() + 1);
            let to = uses.last().map_or(defined, |last| defined.max(last.next()));
            self.ranges.push(LiveRange { from: def, to });
            self.spans.push([at, at + 1]);
        }
        self.find_global_ranges(problem, order)
    }

    fn find_global_ranges(&mut self, problem: &Problem, order: &Order) -> Result<(), AllocError> {
        let mut blocks = std::mem::take(&mut self.blocks);
        let mut globals = std::mem::take(&mut self.globals);
        globals.sort_unstable_by_key(|vreg| self.defs[vreg.index()]);
        blocks.begin(order);
        for chunk in globals.chunks(LiveBlocks::CHUNK) {
            let needs_truth = !order.is_forward || chunk.iter().any(|&vreg| problem.vregs[vreg].is_ref);
            if blocks.find(problem, order, self, chunk, needs_truth)? {
                blocks.append_ranges(&mut self.ranges, |k, span| self.spans[chunk[k].index()] = span);
                continue;
            }
            for &vreg in chunk {
                let at = self.ranges.len() as u32;
                let last = self.uses(vreg).last().copied().unwrap_or(self.def(vreg));
                let to = blocks.hull_end(order, self.def(vreg), last);
                self.ranges.push(LiveRange { from: self.def(vreg), to });
                self.spans[vreg.index()] = [at, at + 1];
                self.flags[vreg.index()] |= flag::HULL;
            }
        }
        self.blocks = blocks;
        self.globals = globals;
        Ok(())
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
