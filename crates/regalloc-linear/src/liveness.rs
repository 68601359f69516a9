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

use crate::values::NONE;
use crate::values::{Use, Values, fact};
use cranelift_entity::EntityRef;
use kingpost_regalloc::{AllocError, Problem, VReg};
use kingpost_regalloc_common::live_blocks::LiveBlocks;
use kingpost_regalloc_common::order::LinearOrder;
use kingpost_regalloc_common::point::{PointRange, ProgPoint};
use std::ops::Range;

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
    pub(crate) fn note_use(&mut self, values: &mut Values, vreg: VReg, point: ProgPoint) {
        let Values { list, uses, .. } = values;
        let value = &mut list[vreg.index()];
        let next = std::mem::replace(&mut value.next, uses.len() as u32);
        uses.push(Use { point, next });
        value.last = if next == NONE { point } else { value.last };
        // In an unusual order the definition may come after uses.
        if value.def != ProgPoint::OPEN {
            self.make_global(values, vreg);
        }
    }

    /// As [`Liveness::note_use`], where uses at the early point of the same instruction may have come before.
    pub(crate) fn note_late_use(&mut self, values: &mut Values, vreg: VReg, point: ProgPoint) {
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
    pub(crate) fn note_def(&mut self, values: &mut Values, vreg: VReg, def: ProgPoint, stop: ProgPoint) {
        let Values { list, uses, ranges, .. } = values;
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
        let defined = def.next_position();
        value.add_range(PointRange { from: def, to: defined.max(value.last.end_of_use()) }, ranges);
    }

    /// `vreg` begins with the block between the two points.
    pub(crate) fn note_param(&mut self, values: &mut Values, vreg: VReg, start: ProgPoint, stop: ProgPoint) {
        self.note_def(values, vreg, start, stop);
        values.set(vreg, fact::AT_HEAD);
    }

    /// `vreg` is a result on an edge from a block that ends at `from` to the one between the other two points.
    pub(crate) fn note_edge_def(
        &mut self,
        values: &mut Values,
        vreg: VReg,
        from: ProgPoint,
        start: ProgPoint,
        stop: ProgPoint,
    ) {
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
        order: &LinearOrder,
        values: &mut Values,
    ) -> Result<(), AllocError> {
        if self.globals.is_empty() {
            return Ok(());
        }
        self.globals.reverse();
        let Liveness { globals, blocks } = self;
        blocks.begin(problem, order);
        for chunk in globals.chunks(LiveBlocks::CHUNK) {
            let needs_truth = !order.is_forward() || chunk.iter().any(|&vreg| values[vreg].is_ref());
            if blocks.find(order, values, chunk, needs_truth)? {
                let Values { list, ranges, .. } = &mut *values;
                let mut set = |k: usize, span: Range<u32>| list[chunk[k].index()].ranges = [span.start, span.end];
                blocks.append_to(ranges, chunk.len(), &mut set);
                for &vreg in chunk {
                    list[vreg.index()].begin_ranges(ranges);
                }
                continue;
            }
            for &vreg in chunk {
                let Values { list, ranges, .. } = &mut *values;
                let value = &mut list[vreg.index()];
                let last = value.last.max(value.def);
                let to = blocks.hull_end(order, value.def, last, last.end_of_use());
                value.add_range(PointRange { from: value.def, to }, ranges);
                value.facts |= fact::HULL;
            }
        }
        Ok(())
    }
}
