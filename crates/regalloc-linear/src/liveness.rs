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
use crate::values::{LiveRange, Use, Values, fact};
use cranelift_entity::EntityRef;
use kingpost_regalloc::{AllocError, Problem, VReg};

/// The search for live ranges, and its memory.
#[derive(Default)]
pub(crate) struct Liveness {
    /// Values used outside the blocks that define them, the last one defined first.
    globals: Vec<VReg>,
    blocks: LiveBlocks,
}

/// Noting what comes, backwards.
impl Liveness {
    /// Forgets the former problem.
    pub(crate) fn begin(&mut self) {
        self.globals.clear();
    }

    /// `vreg` is used at `point`, which is not after any other use.
    #[inline]
    pub(crate) fn note_use(&mut self, values: &mut Values, vreg: VReg, point: Point) {
        let Values { list, uses, .. } = values;
        let value = &mut list[vreg.index()];
        let next = std::mem::replace(&mut value.next, uses.len() as u32);
        uses.push(Use { point, next });
        value.last = if next == NONE { point } else { value.last };
        // In an unusual order the definition may come after uses.
        if value.def != Point::OPEN {
            self.make_global(values, vreg);
        }
    }

    /// As [`Liveness::note_use`], where uses at the early point of the same instruction may have come before.
    pub(crate) fn note_late_use(&mut self, values: &mut Values, vreg: VReg, point: Point) {
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

    /// `vreg` is defined at `def`, in a block that ends at `stop`. Results of edges have been noted before.
    #[inline]
    pub(crate) fn note_def(&mut self, values: &mut Values, vreg: VReg, def: Point, stop: Point) {
        let Values { list, uses, ranges } = values;
        let value = &mut list[vreg.index()];
        if value.has(fact::EDGE_DEF) {
            return;
        }
        value.def = def;
        // In an unusual order a use may come before the definition.
        let is_late = uses.get(value.next as usize).is_some_and(|first| first.point < def);
        if value.last >= stop || is_late {
            return self.make_global(values, vreg);
        }
        // All uses have come, unless the order is unusual; then this is done again.
        let defined = Point::early(def.slot() + 1);
        value.add_range(LiveRange { from: def, to: defined.max(value.last.next()) }, ranges);
    }

    /// `vreg` begins with the block between the two points.
    pub(crate) fn note_param(&mut self, values: &mut Values, vreg: VReg, start: Point, stop: Point) {
        self.note_def(values, vreg, start, stop);
        values.set(vreg, fact::AT_HEAD);
    }

    /// `vreg` is a result on an edge from a block that ends at `from` to the one between the other two points.
    pub(crate) fn note_edge_def(&mut self, values: &mut Values, vreg: VReg, from: Point, start: Point, stop: Point) {
        self.note_param(values, vreg, start, stop);
        values.set(vreg, fact::EDGE_DEF);
        if start < from {
            self.make_global(values, vreg);
        }
    }

    fn make_global(&mut self, values: &mut Values, vreg: VReg) {
        if !values.has(vreg, fact::GLOBAL) {
            values.set(vreg, fact::GLOBAL);
            self.globals.push(vreg);
        }
    }
}

/// Live ranges from definitions and uses.
impl Liveness {
    /// Those of values used in the block of their definition only are known already.
    ///
    /// # Errors
    /// If the search for live blocks exceeds its budget and the order is too unusual for anything simpler.
    pub(crate) fn find_ranges(
        &mut self,
        problem: &Problem,
        order: &Order,
        values: &mut Values,
    ) -> Result<(), AllocError> {
        if self.globals.is_empty() {
            return Ok(());
        }
        self.globals.reverse();
        let Liveness { globals, blocks } = self;
        blocks.begin(problem, order);
        for chunk in globals.chunks(LiveBlocks::CHUNK) {
            let needs_truth = !order.is_forward || chunk.iter().any(|&vreg| values[vreg].is_ref());
            if blocks.find(order, values, chunk, needs_truth)? {
                blocks.append_ranges(values, chunk);
                continue;
            }
            for &vreg in chunk {
                let Values { list, ranges, .. } = &mut *values;
                let value = &mut list[vreg.index()];
                let to = blocks.hull_end(order, value.def, value.last.max(value.def));
                value.add_range(LiveRange { from: value.def, to }, ranges);
                value.facts |= fact::HULL;
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
        let (mut values, mut live) = (Values::default(), Liveness::default());
        crate::survey::run(&p, &order, &Machine::default(), &mut values, &mut live, &mut Hints::default());
        live.find_ranges(&p, &order, &mut values).expect("few blocks");
        v.iter()
            .map(|&v| {
                let ranges = values.ranges(v).iter().map(|r| format!("{:?}..{:?}", r.from, r.to));
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
