//! Spill slots: one per class of values that share one, shared again by classes that never live at the same time.
//!
//! A linear scan over the lives of the classes, holes included, one list of free slots per width. Cost: n log n in spilled
//! values.

use crate::resolve::Input;
use crate::slot_classes::SlotClasses;
use crate::values::{Values, fact};
use kingpost_regalloc::{AllocError, Allocation, Slot, VReg};
use kingpost_regalloc_common::point::ProgPoint;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Slots are numbered below this.
const MAX_SLOTS: usize = 1 << 30;
/// Widths are powers of two up to 64, so their logarithms are below this.
const WIDTHS: usize = 7;

#[derive(Default)]
pub(crate) struct Slots {
    classes: SlotClasses,
    /// By class that was not merged into another one.
    slots: Vec<Option<Slot>>,
    /// Classes by the start of their lives.
    sorted: Vec<(ProgPoint, u32)>,
    /// Slots in use, by the point where they come free.
    busy: BinaryHeap<Reverse<(ProgPoint, u32)>>,
    free: [Vec<Slot>; WIDTHS],
}

impl Slots {
    pub(crate) fn build(
        &mut self,
        input: &Input<'_>,
        values: &mut Values,
        in_slots: &[VReg],
        out: &mut Allocation,
    ) -> Result<(), AllocError> {
        self.classes.build(input, values, in_slots);
        self.begin();
        for i in 0..self.sorted.len() {
            let (start, id) = self.sorted[i];
            let class = self.classes.classes[id as usize];
            // A slot that is modified in place is written before the instruction as well, and that of a parameter on
            // edges, where others may still be read.
            self.expire(if class.is_written_early { start.prev() } else { start }, out);
            let slot = match self.free[list(u32::from(class.width))].pop() {
                Some(slot) => slot,
                None if out.slots.len() >= MAX_SLOTS => {
                    return Err(AllocError::TooLarge { what: "spill slots", limit: MAX_SLOTS as u64 });
                }
                None => out.add_slot(class.width),
            };
            self.slots[id as usize] = Some(slot);
            self.busy.push(Reverse((self.classes.life(id).to, slot.as_u32())));
        }
        for &vreg in in_slots {
            let value = &mut values[vreg];
            match self.slots[value.place as usize] {
                Some(slot) => value.place = slot.as_u32(),
                None => value.facts &= !fact::IN_SLOT,
            }
        }
        Ok(())
    }

    fn begin(&mut self) {
        let classes = self.classes.classes.len() as u32;
        self.slots.clear();
        self.slots.resize(classes as usize, None);
        self.busy.clear();
        self.free.iter_mut().for_each(Vec::clear);
        self.sorted.clear();
        let roots = (0..classes).filter(|&class| self.classes.is_root(class));
        self.sorted.extend(roots.map(|class| (self.classes.life(class).from, class)));
        self.sorted.sort_unstable();
    }

    fn expire(&mut self, point: ProgPoint, out: &Allocation) {
        while let Some(&Reverse((end, slot))) = self.busy.peek() {
            if end > point {
                break;
            }
            self.busy.pop();
            let slot = Slot::from_u32(slot);
            self.free[list(out.slots[slot].size)].push(slot);
        }
    }
}

/// Which list of free slots is for slots of this size.
fn list(size: u32) -> usize {
    size.trailing_zeros() as usize % WIDTHS
}
