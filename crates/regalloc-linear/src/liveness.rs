//! Where each value is defined, where it is used, and over which points it is live.
//!
//! ```text
//! b0: def v0 ..; brif b1, b2      v0: used in b2 only, so live over b0 and b2, with a hole
//! b1: ..; jump b3                     over b1, which lies between them in the order
//! b2: use v0; jump b3
//! ```
//!
//! Definitions and uses come backwards (`survey.rs`), so that the list of the uses of each value begins with the first. A
//! value used only in the block that defines it has one range. The others are left to `live_blocks.rs`. Cost: linear in
//! operands, besides that.

use crate::live_blocks::LiveBlocks;
use crate::order::{NONE, Order};
use crate::point::Point;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{AllocError, Problem, VReg};
use std::ops::Range as IndexRange;

/// Points over which a value is live: `from` is the first, `to` the first one after.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct LiveRange {
    pub(crate) from: Point,
    pub(crate) to: Point,
}

/// A use, and the next one of its value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    pub(crate) point: Point,
    /// Index of the next use, or [`NONE`].
    pub(crate) next: u32,
}

/// Bits of what is known of a value.
mod flag {
    /// It appears on an edge, as result of a terminator.
    pub(super) const EDGE_DEF: u32 = 1;
    /// It begins with its block.
    pub(super) const AT_HEAD: u32 = 2;
    /// Its range is a superset of the truth.
    pub(super) const HULL: u32 = 4;
    /// It is used outside its block.
    pub(super) const GLOBAL: u32 = 8;
}

/// One value.
#[derive(Clone, Copy)]
struct Data {
    def: Point,
    /// Index of the first use, or [`NONE`].
    first: u32,
    /// The last use, if there is one.
    last: Point,
    flags: u32,
    /// Its part of the ranges.
    ranges: [u32; 2],
}

/// A value of which nothing is known yet.
const UNKNOWN: Data = Data { def: Point::OPEN, first: NONE, last: Point::FIRST, flags: 0, ranges: [0; 2] };

/// Definitions, uses and live ranges of all values.
#[derive(Default)]
pub(crate) struct Liveness {
    values: Vec<Data>,
    uses: Vec<Use>,
    ranges: Vec<LiveRange>,
    /// Values used outside the blocks that define them, the last one defined first.
    globals: Vec<VReg>,
    blocks: LiveBlocks,
}

/// Noting what comes, backwards.
impl Liveness {
    /// Forgets the former problem.
    pub(crate) fn begin(&mut self, problem: &Problem) {
        self.values.clear();
        self.values.resize(problem.vregs.len(), UNKNOWN);
        self.uses.clear();
        self.globals.clear();
    }

    /// `vreg` is used at `point`, which is not after any other use.
    pub(crate) fn note_use(&mut self, vreg: VReg, point: Point) {
        let value = &mut self.values[vreg.index()];
        let next = std::mem::replace(&mut value.first, self.uses.len() as u32);
        self.uses.push(Use { point, next });
        if next == NONE {
            value.last = point;
        }
        // In an unusual order the definition may come after uses.
        if value.def != Point::OPEN {
            self.make_global(vreg);
        }
    }

    /// `vreg` is defined at `def`, in a block that ends at `stop`. Results of edges have been noted before.
    pub(crate) fn note_def(&mut self, vreg: VReg, def: Point, stop: Point) {
        let value = &mut self.values[vreg.index()];
        if value.flags & flag::EDGE_DEF != 0 {
            return;
        }
        value.def = def;
        // In an unusual order a use may come before the definition.
        let is_late = self.uses.get(value.first as usize).is_some_and(|first| first.point < def);
        if value.last >= stop || is_late {
            self.make_global(vreg);
        }
    }

    /// `vreg` begins with the block between the two points.
    pub(crate) fn note_param(&mut self, vreg: VReg, start: Point, stop: Point) {
        self.note_def(vreg, start, stop);
        self.values[vreg.index()].flags |= flag::AT_HEAD;
    }

    /// `vreg` is a result on an edge from a block that ends at `from` to the one between the other two points.
    pub(crate) fn note_edge_def(&mut self, vreg: VReg, from: Point, start: Point, stop: Point) {
        self.note_param(vreg, start, stop);
        self.values[vreg.index()].flags |= flag::EDGE_DEF;
        if start < from {
            self.make_global(vreg);
        }
    }

    fn make_global(&mut self, vreg: VReg) {
        let flags = &mut self.values[vreg.index()].flags;
        if *flags & flag::GLOBAL == 0 {
            *flags |= flag::GLOBAL;
            self.globals.push(vreg);
        }
    }
}

/// Reading.
impl Liveness {
    /// Where the value begins to exist.
    pub(crate) fn def(&self, vreg: VReg) -> Point {
        self.values[vreg.index()].def
    }

    /// Does the value appear on an edge, as result of a terminator?
    pub(crate) fn is_edge_def(&self, vreg: VReg) -> bool {
        self.values[vreg.index()].flags & flag::EDGE_DEF != 0
    }

    /// Does the value begin with its block, as parameter or result of a terminator?
    pub(crate) fn is_at_head(&self, vreg: VReg) -> bool {
        self.values[vreg.index()].flags & flag::AT_HEAD != 0
    }

    /// Are the ranges exactly the points at which the value is live?
    pub(crate) fn is_exact(&self, vreg: VReg) -> bool {
        self.values[vreg.index()].flags & flag::HULL == 0
    }

    /// Is the value used at all?
    pub(crate) fn is_used(&self, vreg: VReg) -> bool {
        self.first_index(vreg) != NONE
    }

    /// The points of use, ascending. A use by an edge counts at the late point of the terminator.
    pub(crate) fn uses(&self, vreg: VReg) -> impl Iterator<Item = Point> {
        self.uses_from(self.first_index(vreg))
    }

    /// The points of use from the one with the given index on, which may be [`NONE`].
    pub(crate) fn uses_from(&self, mut index: u32) -> impl Iterator<Item = Point> {
        std::iter::from_fn(move || {
            let at = self.uses.get(index as usize)?;
            index = at.next;
            Some(at.point)
        })
    }

    /// Index of the value's first use, or [`NONE`].
    pub(crate) fn first_index(&self, vreg: VReg) -> u32 {
        self.values[vreg.index()].first
    }

    /// The use with an index, unless that is [`NONE`].
    pub(crate) fn use_at(&self, index: u32) -> Option<Use> {
        self.uses.get(index as usize).copied()
    }

    pub(crate) fn last_use(&self, vreg: VReg) -> Option<Point> {
        let value = &self.values[vreg.index()];
        (value.first != NONE).then_some(value.last)
    }

    /// The live ranges, ascending, none adjacent to the next.
    pub(crate) fn ranges(&self, vreg: VReg) -> &[LiveRange] {
        &self.ranges[self.range_range(vreg)]
    }

    /// Indices of the ranges of a value, for [`Liveness::range_at`].
    pub(crate) fn range_range(&self, vreg: VReg) -> IndexRange<usize> {
        let [start, end] = self.values[vreg.index()].ranges;
        start as usize..end as usize
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
}

/// Live ranges from definitions and uses.
impl Liveness {
    /// # Errors
    /// If the search for live blocks exceeds its budget and the order is too unusual for anything simpler.
    pub(crate) fn find_ranges(&mut self, problem: &Problem, order: &Order) -> Result<(), AllocError> {
        self.ranges.clear();
        for value in &mut self.values {
            // A value that nothing defines.
            if value.def == Point::OPEN {
                value.def = Point::FIRST;
            }
            let at = self.ranges.len() as u32;
            value.ranges = [at, at];
            if value.flags & flag::GLOBAL == 0 {
                let defined = Point::early(value.def.slot() + 1);
                let to = if value.first == NONE { defined } else { defined.max(value.last.next()) };
                self.ranges.push(LiveRange { from: value.def, to });
                value.ranges[1] = at + 1;
            }
        }
        self.globals.reverse();
        let mut blocks = std::mem::take(&mut self.blocks);
        let globals = std::mem::take(&mut self.globals);
        let result = self.find_global_ranges(problem, order, &mut blocks, &globals);
        self.blocks = blocks;
        self.globals = globals;
        result
    }

    fn find_global_ranges(
        &mut self,
        problem: &Problem,
        order: &Order,
        blocks: &mut LiveBlocks,
        globals: &[VReg],
    ) -> Result<(), AllocError> {
        if globals.is_empty() {
            return Ok(());
        }
        blocks.begin(order);
        for chunk in globals.chunks(LiveBlocks::CHUNK) {
            let needs_truth = !order.is_forward || chunk.iter().any(|&vreg| problem.vregs[vreg].is_ref);
            if blocks.find(problem, order, self, chunk, needs_truth)? {
                let values = &mut self.values;
                blocks.append_ranges(&mut self.ranges, |k, span| values[chunk[k].index()].ranges = span);
                continue;
            }
            for &vreg in chunk {
                let at = self.ranges.len() as u32;
                let value = &mut self.values[vreg.index()];
                let to = blocks.hull_end(order, value.def, value.last.max(value.def));
                self.ranges.push(LiveRange { from: value.def, to });
                value.ranges = [at, at + 1];
                value.flags |= flag::HULL;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hints::Hints;
    use crate::machine::Machine;
    use kingpost_regalloc::{ClobberId, Freq, InstFlags, Operand, RegClass};

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
        crate::survey::run(&p, &order, &Machine::default(), &mut live, &mut Hints::default());
        live.find_ranges(&p, &order).expect("few blocks");
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
