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
use kingpost_regalloc::{AllocError, Allocation, EditKind, Loc, Slot, SlotData, VReg};
use kingpost_regalloc_common::slot_packing::SlotPacking;

#[derive(Default)]
pub(crate) struct Slots {
    /// Per slot, the first and last point of its lifetime.
    lifetimes: Vec<(u32, u32)>,
    /// The slots as they were.
    old: PrimaryMap<Slot, SlotData>,
    packing: SlotPacking<u32>,
    /// Per slot, the one that it becomes.
    becomes: Vec<Slot>,
}

impl Slots {
    /// Lets slots share. `operands` are those that are in slots.
    ///
    /// # Errors
    /// There are more slots than can be numbered.
    pub(crate) fn share(
        &mut self,
        input: &Input,
        class_slots: &ClassSlots,
        operands: &[u32],
        out: &mut Allocation,
    ) -> Result<(), AllocError> {
        if out.slots.len() < 2 {
            return Ok(());
        }
        self.find_lifetimes(input, class_slots, out.slots.len());
        self.assign(out)?;
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
        Ok(())
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

    fn assign(&mut self, out: &mut Allocation) -> Result<(), AllocError> {
        std::mem::swap(&mut self.old, &mut out.slots);
        out.slots.clear();
        for (slot, data) in self.old.iter() {
            let (start, last) = self.lifetimes[slot.index()];
            self.packing.add(slot.as_u32(), start..last.saturating_add(1), data.size as u8);
        }
        reset(&mut self.becomes, self.old.len(), Slot::from_u32(0));
        let becomes = &mut self.becomes;
        self.packing.pack(out, |id, slot| becomes[id as usize] = slot)
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
