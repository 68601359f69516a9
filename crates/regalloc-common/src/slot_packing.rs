//! Assignment of spill slots to lifetimes: two lifetimes of one width that do not overlap may share a slot.
//!
//! ```text
//! points   0    10   20   30        a and c in slot 0, b in slot 1
//! a        |----|
//! b             .|--------|
//! c              .   |-----|
//! ```
//!
//! A lifetime is one range of points, its end excluded, including any holes. The lifetimes are processed by their
//! starts. Each takes the slot of its width that has been free for longest, or a new one. The result has as many
//! slots of a width as lifetimes of that width overlap at one point, which is minimal (interval graphs are perfect;
//! Gavril, *Algorithms for minimum coloring of chordal graphs*, 1972). Cost: n log n in lifetimes.

use kingpost_regalloc::meter::heap_bytes;
use kingpost_regalloc::{AllocError, Allocation, Slot};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// Bound on slot numbers.
const MAX_SLOTS: usize = 1 << 30;

/// Number of widths, which are powers of two up to 64 bytes.
const WIDTHS: usize = 7;

/// A range of points over which a value must be kept in memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Lifetime<P> {
    start: P,
    end: P,
    /// Width in bytes.
    width: u8,
    id: u32,
}

/// Packs lifetimes over points of type `P` into slots. Its memory is reused.
#[derive(Debug)]
pub struct SlotPacking<P> {
    lifetimes: Vec<Lifetime<P>>,
    /// By the logarithm of the width: slots with the ends of their last lifetimes, the earliest end on top.
    slots: [BinaryHeap<Reverse<(P, u32)>>; WIDTHS],
}

heap_bytes!(SlotPacking<P> { lifetimes, slots });

impl<P: Copy + Ord> Default for SlotPacking<P> {
    fn default() -> SlotPacking<P> {
        SlotPacking { lifetimes: Vec::new(), slots: Default::default() }
    }
}

impl<P: Copy + Ord> SlotPacking<P> {
    /// Adds a lifetime of `width` bytes, a power of two up to 64. `assign` receives `id`.
    pub fn add(&mut self, id: u32, points: Range<P>, width: u8) {
        self.lifetimes.push(Lifetime { start: points.start, end: points.end, width, id });
    }

    /// Calls `assign` with the slot of each lifetime, and clears the lifetimes. New slots are added to `out`.
    ///
    /// # Errors
    /// If the slots exceed the limit on their numbers.
    pub fn pack(&mut self, out: &mut Allocation, mut assign: impl FnMut(u32, Slot)) -> Result<(), AllocError> {
        self.lifetimes.sort_unstable();
        self.slots.iter_mut().for_each(BinaryHeap::clear);
        for Lifetime { start, end, width, id } in self.lifetimes.drain(..) {
            let slots = &mut self.slots[width.trailing_zeros() as usize % WIDTHS];
            let slot = match slots.peek() {
                Some(&Reverse((free_from, slot))) if free_from <= start => {
                    slots.pop();
                    Slot::from_u32(slot)
                }
                _ if out.slots.len() >= MAX_SLOTS => {
                    return Err(AllocError::TooLarge { what: "spill slots", limit: MAX_SLOTS as u64 });
                }
                _ => out.add_slot(width),
            };
            slots.push(Reverse((end, slot.as_u32())));
            assign(id, slot);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the slot of each lifetime, in order.
    fn pack(lifetimes: &[(Range<u32>, u8)]) -> Vec<u32> {
        let (mut packing, mut out) = (SlotPacking::default(), Allocation::default());
        let mut slots = vec![u32::MAX; lifetimes.len()];
        // The second round reuses the memory of the first.
        for _ in 0..2 {
            out.slots.clear();
            (0..).zip(lifetimes).for_each(|(id, (points, width))| packing.add(id, points.clone(), *width));
            packing.pack(&mut out, |id, slot| slots[id as usize] = slot.as_u32()).expect("there are few slots");
        }
        for (&slot, (_, width)) in slots.iter().zip(lifetimes) {
            assert_eq!(out.slots[Slot::from_u32(slot)].size, u32::from(*width));
        }
        slots
    }

    #[test]
    fn lifetimes_that_touch_share() {
        assert_eq!(pack(&[(0..10, 8), (10..20, 8)]), [0, 0]);
        assert_eq!(pack(&[(0..11, 8), (10..20, 8)]), [0, 1]);
        assert_eq!(pack(&[(20..30, 8), (10..20, 8), (5..15, 8)]), [0, 1, 0]);
    }

    #[test]
    fn widths_are_kept_apart() {
        assert_eq!(pack(&[(0..10, 8), (10..20, 16), (20..30, 8), (30..40, 16)]), [0, 1, 0, 1]);
    }

    #[test]
    fn as_many_slots_as_overlap() {
        let mut seed = 1u64;
        let mut random = |below: u32| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) as u32 % below
        };
        for _ in 0..100 {
            let mut lifetime = || {
                let start = random(60);
                (start..start + 1 + random(20), 8)
            };
            let lifetimes: Vec<_> = (0..30).map(|_| lifetime()).collect();
            let slots = pack(&lifetimes);
            for (i, (a, _)) in lifetimes.iter().enumerate() {
                let overlaps = |b: &Range<u32>| a.start < b.end && b.start < a.end;
                let clash = (0..i).find(|&j| slots[i] == slots[j] && overlaps(&lifetimes[j].0));
                assert_eq!(clash, None, "{lifetimes:?}: {slots:?}");
            }
            let deepest = (0..80).map(|p| lifetimes.iter().filter(|(points, _)| points.contains(&p)).count()).max();
            assert_eq!(slots.iter().max().map(|&slot| slot as usize + 1), deepest);
        }
    }
}
