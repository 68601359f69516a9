//! Slots for several classes, one after another: a linear scan over the lifetimes of classes.
//!
//! A class has one slot for all of its life. Its lifetime is the hull of the live ranges of all members that are ever in
//! memory, and of the ends of the blocks that pass arguments to its parameters, as that is where they are stored. Two
//! classes whose lifetimes are disjoint, and whose slots are of one size, share. Cost: n log n in slots, linear in live
//! ranges.

use crate::class_slots::ClassSlots;
use crate::coloring::Input;
use crate::liveness::{HEAD, LIVE_OUT, end_point, reset};
use cranelift_entity::{EntityRef, PrimaryMap};
use kingpost_regalloc::{Allocation, EditKind, Loc, Slot, SlotData, VReg};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Sizes are powers of two up to 64 bytes.
const SIZES: usize = 7;

#[derive(Default)]
pub(crate) struct Slots {
    /// Per slot, the first and last point of its lifetime.
    lifetimes: Vec<(u32, u32)>,
    /// The slots as they were.
    old: PrimaryMap<Slot, SlotData>,
    /// Slots by the start of their lifetimes.
    order: Vec<u32>,
    /// Per slot, the one that it becomes.
    becomes: Vec<Slot>,
    /// Last point of slots in use, and their new number.
    busy: [BinaryHeap<Reverse<(u32, u32)>>; SIZES],
}

impl Slots {
    /// Lets slots share. `operands` are those that are in slots.
    pub(crate) fn share(&mut self, input: &Input, class_slots: &ClassSlots, operands: &[u32], out: &mut Allocation) {
        if out.slots.len() < 2 {
            return;
        }
        self.find_lifetimes(input, class_slots, out.slots.len());
        self.assign(out);
        let becomes = |slot: Slot| self.becomes[slot.index()];
        for &i in operands {
            let loc = &mut out.locs[i as usize];
            *loc = loc.as_slot().map_or(*loc, |slot| Loc::slot(becomes(slot)));
        }
        for edit in &mut out.edits {
            match &mut edit.kind {
                EditKind::Spill { to: slot, .. } | EditKind::Fill { from: slot, .. } => *slot = becomes(*slot),
                EditKind::SlotMove { from, to, .. } => (*from, *to) = (becomes(*from), becomes(*to)),
                EditKind::Move { .. } | EditKind::Exchange { .. } | EditKind::Remat { .. } => {}
            }
        }
        for entry in &mut out.stack_maps {
            entry.slot = becomes(entry.slot);
        }
        out.stack_maps.sort_unstable();
        for label in &mut out.labels {
            label.loc = label.loc.as_slot().map_or(label.loc, |slot| Loc::slot(becomes(slot)));
        }
        for slot in out.emergency.iter_mut().flatten() {
            *slot = becomes(*slot);
        }
    }

    /// Slots that belong to no class, those for emergencies, are in use everywhere.
    fn find_lifetimes(&mut self, input: &Input, class_slots: &ClassSlots, slots: usize) {
        reset(&mut self.lifetimes, slots, (u32::MAX, 0));
        for (slot, lifetime) in self.lifetimes.iter_mut().enumerate() {
            if class_slots.owners.get(slot).is_none_or(|owner| owner.is_none()) {
                *lifetime = (0, u32::MAX);
            }
        }
        for &vreg in &class_slots.placed {
            if let Some(slot) = class_slots.get(input.classes, vreg) {
                let lifetime = &mut self.lifetimes[slot.index()];
                add_value(input, vreg, lifetime);
            }
        }
    }

    fn assign(&mut self, out: &mut Allocation) {
        std::mem::swap(&mut self.old, &mut out.slots);
        out.slots.clear();
        let old = &self.old;
        self.order.clear();
        self.order.extend(0..old.len() as u32);
        let lifetimes = &self.lifetimes;
        self.order.sort_unstable_by_key(|&slot| (lifetimes[slot as usize], slot));
        reset(&mut self.becomes, old.len(), Slot::from_u32(0));
        self.busy.iter_mut().for_each(BinaryHeap::clear);
        for &slot in &self.order {
            let SlotData { size, align } = old[Slot::from_u32(slot)];
            let (start, end) = self.lifetimes[slot as usize];
            let busy = &mut self.busy[size.trailing_zeros() as usize % SIZES];
            let free = busy.peek().filter(|Reverse((last, _))| *last < start).map(|Reverse((_, new))| *new);
            let new = match free {
                Some(new) => {
                    busy.pop();
                    Slot::from_u32(new)
                }
                None => out.slots.push(SlotData { size, align }),
            };
            busy.push(Reverse((end, new.as_u32())));
            self.becomes[slot as usize] = new;
        }
    }
}

fn widen(lifetime: &mut (u32, u32), point: u32) {
    *lifetime = (lifetime.0.min(point), lifetime.1.max(point));
}

/// The points at which a value is live; from before its def on, where the value it overwrites may be copied.
fn add_value(input: &Input, vreg: VReg, lifetime: &mut (u32, u32)) {
    let live = input.live;
    if live.far[vreg.index()] {
        *lifetime = (0, u32::MAX);
        return;
    }
    let bases = &input.classes.bases;
    let mut add = |place: usize, from: u32, to: u32| {
        let len = input.problem.insts(input.order.blocks[place]).len() as u32;
        widen(lifetime, bases[place] + from);
        widen(lifetime, bases[place] + if to == LIVE_OUT { end_point(len) } else { to });
    };
    let (def, point) = (live.def_place[vreg.index()] as usize, live.def_point[vreg.index()]);
    if def < input.order.blocks.len() {
        add(def, point.saturating_sub(1), live.def_end[vreg.index()]);
    }
    let mut places = live.places(vreg);
    if let Some((place, entry)) = places.next() {
        add(place as usize, 0, entry.end);
    }
    if let Some((place, entry)) = places.next_back() {
        add(place as usize, 0, entry.end);
    }
    if point == HEAD && def < input.order.blocks.len() {
        for &edge in input.problem.preds(input.order.blocks[def]) {
            let from = input.order.place(input.problem.edge(edge).from) as usize;
            widen(lifetime, bases[from + 1] - 1);
        }
    }
}
