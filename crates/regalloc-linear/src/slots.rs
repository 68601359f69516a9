//! Spill slots: one per value that is ever in memory, shared by values that never live at the same time.
//!
//! A linear scan over the lives of the values, holes included, one list of free slots per width. A block parameter and its
//! arguments try to share, since a move from a slot to itself is none. Cost: n log n in spilled values.

use crate::hints::Hints;
use crate::liveness::Liveness;
use crate::point::Point;
use crate::residence::Residence;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{AllocError, Allocation, Problem, Slot, VReg};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Slots are numbered below this.
const MAX_SLOTS: usize = 1 << 30;
/// Widths are powers of two up to 64, so their logarithms are below this.
const WIDTHS: usize = 7;

#[derive(Default)]
pub(crate) struct Slots {
    /// By value.
    slots: Vec<Option<Slot>>,
    spilled: Vec<VReg>,
    /// Slots in use, by the point where they come free.
    busy: BinaryHeap<Reverse<(Point, u32)>>,
    free: [Vec<Slot>; WIDTHS],
    /// By slot: is it free? Lists may name slots that were taken for the sake of a partner since.
    is_free: Vec<bool>,
    /// By slot: where its last owner's life ends.
    until: Vec<Point>,
    /// By parameter: a slot one of its arguments has.
    offered: Vec<Option<Slot>>,
}

impl Slots {
    pub(crate) fn build(
        &mut self,
        problem: &Problem,
        live: &Liveness,
        hints: &Hints,
        residence: &Residence,
        out: &mut Allocation,
    ) -> Result<(), AllocError> {
        self.begin(problem, hints, residence);
        self.spilled.sort_unstable_by_key(|&vreg| (live.start(vreg), vreg));
        for i in 0..self.spilled.len() {
            let vreg = self.spilled[i];
            let start = live.start(vreg);
            // A slot that is modified in place is written before the instruction as well, and that of a parameter on
            // edges, where others may still be read: only the value's own source may end there.
            let is_pair = residence.facts[vreg.index()].pair_in_mem;
            let has_source = start == live.def(vreg) && (is_pair || live.is_at_head(vreg));
            self.expire(if has_source { Point::early(start.slot()).prev() } else { start }, out);
            let size = u32::from(problem.width(vreg));
            let own = |s: &Slot| has_source && self.until[s.index()] <= start && out.slots[*s].size == size;
            let slot = match self.offered[vreg.index()].filter(own) {
                Some(slot) => slot,
                None => self.choose(problem, hints, vreg, out)?,
            };
            self.slots[vreg.index()] = Some(slot);
            self.is_free[slot.index()] = false;
            self.until[slot.index()] = live.end(vreg);
            self.busy.push(Reverse((live.end(vreg), slot.as_u32())));
            if let Some(param) = hints.partner(vreg) {
                self.offered[param.index()].get_or_insert(slot);
            }
        }
        Ok(())
    }

    /// The value's slot, if it is ever in memory.
    pub(crate) fn get(&self, vreg: VReg) -> Option<Slot> {
        self.slots[vreg.index()]
    }

    fn begin(&mut self, problem: &Problem, hints: &Hints, residence: &Residence) {
        self.slots.clear();
        self.slots.resize(problem.vregs.len(), None);
        self.offered.clear();
        self.offered.resize(problem.vregs.len(), None);
        self.is_free.clear();
        self.until.clear();
        self.busy.clear();
        self.free.iter_mut().for_each(Vec::clear);
        self.spilled.clear();
        let spilled = problem.vregs.keys().filter(|&vreg| residence.facts[vreg.index()].mem_read);
        let facts = |vreg: VReg| residence.facts[vreg.index()];
        self.spilled.extend(spilled.filter(|&vreg| !hints.is_remat(vreg) || facts(vreg).in_operand));
    }

    fn expire(&mut self, point: Point, out: &Allocation) {
        while let Some(&Reverse((end, slot))) = self.busy.peek() {
            if end > point {
                break;
            }
            self.busy.pop();
            let slot = Slot::from_u32(slot);
            // Taken over in place by a value that lives on.
            if self.until[slot.index()] > end {
                continue;
            }
            self.is_free[slot.index()] = true;
            self.free[out.slots[slot].size.trailing_zeros() as usize].push(slot);
        }
    }

    fn choose(
        &mut self,
        problem: &Problem,
        hints: &Hints,
        vreg: VReg,
        out: &mut Allocation,
    ) -> Result<Slot, AllocError> {
        let width = problem.width(vreg);
        let partners = [self.offered[vreg.index()], hints.partner(vreg).and_then(|p| self.slots[p.index()])];
        for slot in partners.into_iter().flatten() {
            if self.is_free[slot.index()] && out.slots[slot].size == u32::from(width) {
                return Ok(slot);
            }
        }
        let list = &mut self.free[width.trailing_zeros() as usize % WIDTHS];
        while let Some(slot) = list.pop() {
            if self.is_free[slot.index()] {
                return Ok(slot);
            }
        }
        if out.slots.len() >= MAX_SLOTS {
            return Err(AllocError::TooLarge { what: "spill slots", limit: MAX_SLOTS as u64 });
        }
        self.is_free.push(false);
        self.until.push(Point::FIRST);
        Ok(out.add_slot(width))
    }
}
