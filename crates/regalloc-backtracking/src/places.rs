//! Where each value is at each point: in a register over its pieces, else in memory; and which values need slots.

use crate::bundles::{Bundles, widened};
use crate::live::{Liveness, Segment};
use crate::order::NONE;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{Allocation, Loc, PReg, Problem, Slot, VReg};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Where a value is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Where {
    Reg(PReg),
    /// In the slot of this value, or to be computed again.
    Memory(VReg),
}

/// A stretch over which a value is in a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Piece {
    pub(crate) segment: Segment,
    pub(crate) reg: PReg,
}

/// Pieces of all values, and their slots.
#[derive(Default)]
pub(crate) struct Places {
    pieces: Vec<Piece>,
    starts: Vec<u32>,
    in_slot: Vec<bool>,
    /// Is the slot written where the value leaves its register, not where it is defined?
    is_sunk: Vec<bool>,
    /// By value.
    slots: Vec<Option<Slot>>,
    /// Hull and width of each family that needs a slot.
    hulls: Vec<(u32, u32, u8, u32)>,
    by_family: Vec<(u32, u32, u8)>,
    family_slots: Vec<Option<Slot>>,
    /// Slots in use: the first to become free on top.
    active: BinaryHeap<Reverse<(u32, u8, Slot)>>,
    /// By the logarithm of the width.
    free: [Vec<Slot>; 8],
}

impl Places {
    pub(crate) fn build(&mut self, problem: &Problem, bundles: &Bundles) {
        self.pieces.clear();
        for (b, bundle) in bundles.bundles.iter().enumerate() {
            if let Some(reg) = bundle.reg {
                self.pieces.extend(bundles.segments(b as u32).iter().map(|&segment| Piece { segment, reg }));
            }
        }
        self.sort(problem);
        let values = problem.vregs.len();
        self.in_slot.clear();
        self.in_slot.resize(values, false);
        self.is_sunk.clear();
        self.is_sunk.resize(values, false);
        self.slots.clear();
        self.slots.resize(values, None);
    }

    /// Adds a piece; [`Places::sort`] must follow.
    pub(crate) fn add(&mut self, piece: Piece) {
        self.pieces.push(piece);
    }

    /// Sorts the pieces by value and joins what belongs together.
    pub(crate) fn sort(&mut self, problem: &Problem) {
        self.pieces.sort_unstable_by_key(|piece| (piece.segment.vreg, piece.segment.from));
        self.pieces.dedup_by(|next, last| {
            let joins =
                next.segment.vreg == last.segment.vreg && next.reg == last.reg && next.segment.from == last.segment.to;
            if joins {
                last.segment.to = next.segment.to;
            }
            joins
        });
        let values = problem.vregs.len();
        self.starts.clear();
        self.starts.resize(values + 1, 0);
        for piece in &self.pieces {
            self.starts[piece.segment.vreg.index() + 1] += 1;
        }
        for v in 0..values {
            self.starts[v + 1] += self.starts[v];
        }
    }

    pub(crate) fn pieces(&self, vreg: VReg) -> &[Piece] {
        &self.pieces[self.starts[vreg.index()] as usize..self.starts[vreg.index() + 1] as usize]
    }

    pub(crate) fn all_pieces(&self) -> &[Piece] {
        &self.pieces
    }

    pub(crate) fn at(&self, vreg: VReg, point: u32) -> Where {
        let pieces = self.pieces(vreg);
        let next = pieces.partition_point(|piece| piece.segment.to <= point);
        match pieces.get(next) {
            Some(piece) if piece.segment.from <= point => Where::Reg(piece.reg),
            _ => Where::Memory(vreg),
        }
    }

    /// Notes that the value is read from its slot, or written there by an instruction.
    pub(crate) fn needs_slot(&mut self, vreg: VReg) {
        self.in_slot[vreg.index()] = true;
    }

    pub(crate) fn has_slot(&self, vreg: VReg) -> bool {
        self.in_slot[vreg.index()]
    }

    /// Notes that the slot is written wherever the value leaves its register.
    pub(crate) fn sink(&mut self, vreg: VReg) {
        self.is_sunk[vreg.index()] = true;
    }

    /// Is the slot needed, and written at once?
    pub(crate) fn is_stored_at_def(&self, vreg: VReg) -> bool {
        self.in_slot[vreg.index()] && !self.is_sunk[vreg.index()]
    }

    /// The place as a location; slots must be assigned.
    pub(crate) fn loc(&self, place: Where) -> Loc {
        match place {
            Where::Reg(reg) => Loc::reg(reg),
            Where::Memory(vreg) => self.slots[vreg.index()].map_or(Loc::NONE, Loc::slot),
        }
    }

    /// Gives slots to the values that need them: one per family, families that are never live at once share.
    pub(crate) fn assign_slots(&mut self, problem: &Problem, live: &Liveness, bundles: &Bundles, out: &mut Allocation) {
        self.by_family.clear();
        self.by_family.resize(bundles.families.len(), (u32::MAX, 0, 0));
        for vreg in problem.vregs.keys().filter(|vreg| self.in_slot[vreg.index()]) {
            let family = bundles.family_of[vreg.index()];
            let (&[first, ..], &[.., last]) = (live.ranges(vreg), live.ranges(vreg)) else {
                self.slots[vreg.index()] = Some(out.add_slot(problem.width(vreg)));
                continue;
            };
            let hull = &mut self.by_family[family as usize];
            let width = hull.2.max(problem.width(vreg));
            *hull = (hull.0.min(widened(first)), hull.1.max(last.to), width);
        }
        self.hulls.clear();
        let families = self.by_family.iter().enumerate().filter(|(_, hull)| hull.2 > 0);
        self.hulls.extend(families.map(|(family, &(from, to, width))| (from, to, width, family as u32)));
        self.hulls.sort_unstable();
        self.family_slots.clear();
        self.family_slots.resize(bundles.families.len(), None);
        self.active.clear();
        self.free.iter_mut().for_each(Vec::clear);
        for i in 0..self.hulls.len() {
            let (from, to, width, family) = self.hulls[i];
            while let Some(&Reverse((end, width, slot))) = self.active.peek()
                && end <= from
            {
                self.free[width.ilog2() as usize].push(slot);
                self.active.pop();
            }
            let slot = self.free[width.ilog2() as usize].pop().unwrap_or_else(|| out.add_slot(width));
            self.active.push(Reverse((to, width, slot)));
            self.family_slots[family as usize] = Some(slot);
        }
        for v in 0..self.slots.len() {
            let family = bundles.family_of[v];
            if self.in_slot[v] && self.slots[v].is_none() && family != NONE {
                self.slots[v] = self.family_slots[family as usize];
            }
        }
    }
}
