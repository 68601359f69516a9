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

/// Set in [`Places::homes`] for values that are in several places.
const SPLIT: u32 = 1 << 31;

/// Where all values are, and their slots.
#[derive(Default)]
pub(crate) struct Places {
    /// By value: the register that it is in all its life, or [`SPLIT`] with its index in `lists`, or [`NONE`] if it is in
    /// memory all its life.
    homes: Vec<u32>,
    /// Of values that are in several places, by value.
    pieces: Vec<Piece>,
    /// Where the pieces of each such value start and end.
    lists: Vec<(u32, u32)>,
    is_slotted: Vec<bool>,
    /// Is the slot written where the value leaves its register, not where it is defined?
    is_sunk: Vec<bool>,
    /// Values that are in slots.
    pub(crate) slotted: Vec<VReg>,
    /// By value.
    slots: Vec<Option<Slot>>,
    /// Hull and width of each family that needs a slot.
    hulls: Vec<(u32, u32, u8, u32)>,
    /// By family: its index in `hulls`, later its slot.
    by_family: Vec<u32>,
    /// Slots in use: the first to become free on top.
    active: BinaryHeap<Reverse<(u32, u8, Slot)>>,
    /// By the logarithm of the width.
    free: [Vec<Slot>; 8],
}

impl Places {
    pub(crate) fn build(&mut self, problem: &Problem, bundles: &Bundles) {
        let values = problem.vregs.len();
        self.homes.clear();
        self.homes.resize(values, NONE);
        self.pieces.clear();
        for (b, bundle) in bundles.bundles.iter().enumerate() {
            let Some(reg) = bundle.reg else { continue };
            let segments = bundles.segments(b as u32);
            match bundle.cuts {
                0 => segments.iter().for_each(|segment| self.homes[segment.vreg.index()] = reg.index() as u32),
                _ => self.pieces.extend(segments.iter().map(|&segment| Piece { segment, reg })),
            }
        }
        self.sort();
        self.is_slotted.clear();
        self.is_slotted.resize(values, false);
        self.is_sunk.clear();
        self.is_sunk.resize(values, false);
        self.slotted.clear();
        self.slots.clear();
        self.slots.resize(values, None);
    }

    /// Adds a piece; [`Places::sort`] must follow.
    pub(crate) fn add(&mut self, piece: Piece) {
        self.pieces.push(piece);
    }

    /// Sorts the pieces by value and joins what belongs together.
    pub(crate) fn sort(&mut self) {
        let key = |piece: &Piece| u64::from(piece.segment.vreg.as_u32()) << 32 | u64::from(piece.segment.from);
        self.pieces.sort_unstable_by_key(key);
        self.pieces.dedup_by(|next, last| {
            let joins =
                next.segment.vreg == last.segment.vreg && next.reg == last.reg && next.segment.from == last.segment.to;
            if joins {
                last.segment.to = next.segment.to;
            }
            joins
        });
        self.lists.clear();
        let mut start = 0;
        for pieces in self.pieces.chunk_by(|a, b| a.segment.vreg == b.segment.vreg) {
            self.homes[pieces[0].segment.vreg.index()] = SPLIT | self.lists.len() as u32;
            self.lists.push((start, start + pieces.len() as u32));
            start += pieces.len() as u32;
        }
    }

    /// The register that a value is in wherever it is live.
    pub(crate) fn home(&self, vreg: VReg) -> Option<PReg> {
        let home = self.homes[vreg.index()];
        (home & SPLIT == 0).then(|| PReg::from_index(home as usize))
    }

    /// The pieces of a value that is in several places.
    pub(crate) fn pieces(&self, vreg: VReg) -> &[Piece] {
        match self.homes[vreg.index()] {
            home if home == NONE || home & SPLIT == 0 => &[],
            home => {
                let (start, end) = self.lists[(home & !SPLIT) as usize];
                &self.pieces[start as usize..end as usize]
            }
        }
    }

    /// The pieces of all values that are in several places.
    pub(crate) fn all_pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Where a value is at a point at which it is live.
    pub(crate) fn at(&self, vreg: VReg, point: u32) -> Where {
        if let Some(reg) = self.home(vreg) {
            return Where::Reg(reg);
        }
        let pieces = self.pieces(vreg);
        let next = pieces.partition_point(|piece| piece.segment.to <= point);
        match pieces.get(next) {
            Some(piece) if piece.segment.from <= point => Where::Reg(piece.reg),
            _ => Where::Memory(vreg),
        }
    }

    /// Notes that the value is read from its slot, or written there by an instruction.
    pub(crate) fn needs_slot(&mut self, vreg: VReg) {
        if !std::mem::replace(&mut self.is_slotted[vreg.index()], true) {
            self.slotted.push(vreg);
        }
    }

    /// Notes that the slot is written wherever the value leaves its register.
    pub(crate) fn sink(&mut self, vreg: VReg) {
        self.is_sunk[vreg.index()] = true;
    }

    /// Is the slot written only where the value leaves its register?
    pub(crate) fn is_sunk(&self, vreg: VReg) -> bool {
        self.is_sunk[vreg.index()]
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
        self.by_family.resize(bundles.families.len(), NONE);
        self.hulls.clear();
        self.slotted.sort_unstable();
        for &vreg in &self.slotted {
            let (&[first, ..], &[.., last]) = (live.ranges(vreg), live.ranges(vreg)) else {
                self.slots[vreg.index()] = Some(out.add_slot(problem.width(vreg)));
                continue;
            };
            let family = bundles.family_of[vreg.index()];
            let index = &mut self.by_family[family as usize];
            if *index == NONE {
                *index = self.hulls.len() as u32;
                self.hulls.push((u32::MAX, 0, 0, family));
            }
            let hull = &mut self.hulls[*index as usize];
            let width = hull.2.max(problem.width(vreg));
            *hull = (hull.0.min(widened(first)), hull.1.max(last.to), width, family);
        }
        self.hulls.sort_unstable();
        self.active.clear();
        self.free.iter_mut().for_each(Vec::clear);
        for &(from, to, width, family) in &self.hulls {
            while let Some(&Reverse((end, width, slot))) = self.active.peek()
                && end <= from
            {
                self.free[width.ilog2() as usize].push(slot);
                self.active.pop();
            }
            let slot = self.free[width.ilog2() as usize].pop().unwrap_or_else(|| out.add_slot(width));
            self.active.push(Reverse((to, width, slot)));
            self.by_family[family as usize] = slot.as_u32();
        }
        for &vreg in &self.slotted {
            let slot = &mut self.slots[vreg.index()];
            if slot.is_none() {
                *slot = Some(Slot::from_u32(self.by_family[bundles.family_of[vreg.index()] as usize]));
            }
        }
    }
}
