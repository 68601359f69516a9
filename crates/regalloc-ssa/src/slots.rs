//! Slots shared by several classes: a linear scan over the lifetimes of classes.
//!
//! A class has one slot for its whole life. Its lifetime is the hull of the live ranges of all members that are
//! ever in memory, and of the ends of the blocks that pass arguments to its parameters, because the arguments are
//! stored there. Two classes share a slot if their lifetimes are disjoint and their slots have one size. Cost: n
//! log n in slots, linear in live ranges.

use crate::class_slots::ClassSlots;
use crate::color_input::ColorInput;
use crate::spill_plan::Placement;
use crate::tables::reset;
use cranelift_entity::{EntityRef, PrimaryMap};
use kingpost_regalloc::meter::heap_bytes;
use kingpost_regalloc::{AllocError, Allocation, EditKind, Loc, Slot, SlotData, VReg};
use kingpost_regalloc_common::answer;
use kingpost_regalloc_common::point::{PointRange, ProgPoint};
use kingpost_regalloc_common::slot_packing::SlotPacking;

#[derive(Default)]
pub(crate) struct Slots {
    /// Per slot, the hull of its lifetime.
    lifetimes: Vec<PointRange>,
    /// The slots before sharing.
    old: PrimaryMap<Slot, SlotData>,
    packing: SlotPacking<ProgPoint>,
    /// Per slot, the slot that replaces it.
    becomes: Vec<Slot>,
}

heap_bytes!(Slots { lifetimes, old, packing, becomes });

impl Slots {
    /// Replaces slots by shared ones. `operands` are the indices of operands in slots.
    ///
    /// # Errors
    /// If there are more slots than can be numbered.
    pub(crate) fn share(
        &mut self,
        input: &ColorInput,
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
        answer::sort_stack_maps(out);
        for slot in out.emergency.iter_mut().flatten() {
            *slot = becomes(*slot);
        }
        Ok(())
    }

    /// Computes the lifetimes of slots. Emergency slots belong to no class and are in use everywhere.
    fn find_lifetimes(&mut self, input: &ColorInput, class_slots: &ClassSlots, slots: usize) {
        reset(&mut self.lifetimes, slots, NOWHERE);
        for (slot, lifetime) in self.lifetimes.iter_mut().enumerate() {
            if class_slots.owners.get(slot).is_none_or(|owner| owner.is_none()) {
                *lifetime = EVERYWHERE;
            }
        }
        // A value may be passed on in memory without an edit or operand of its own.
        let is_in_memory = |vreg: VReg| {
            let placement = input.plan.placements[vreg.index()];
            class_slots.is_placed(vreg) || matches!(placement, Placement::AtDefinition | Placement::AtEvictions)
        };
        for vreg in input.problem.vregs.keys().filter(|&vreg| is_in_memory(vreg)) {
            if let Some(slot) = class_slots.get(input.classes, vreg) {
                let lifetime = &mut self.lifetimes[slot.index()];
                add_value(input, vreg, lifetime);
            }
        }
        // An argument in memory is read at the end of a bare jump, which is in no live range.
        for index in input.order.indices().filter(|index| input.live.jumps.are[index.index()]) {
            let block = input.order.block(index);
            let args = input.problem.edge_args(input.problem.succs(block.block)[0]).iter();
            for &arg in args.filter(|&&arg| is_in_memory(arg)) {
                if let Some(slot) = class_slots.get(input.classes, arg) {
                    widen(&mut self.lifetimes[slot.index()], block.points());
                }
            }
        }
    }

    fn assign(&mut self, out: &mut Allocation) -> Result<(), AllocError> {
        std::mem::swap(&mut self.old, &mut out.slots);
        out.slots.clear();
        for (slot, data) in self.old.iter() {
            let PointRange { from, to } = self.lifetimes[slot.index()];
            self.packing.add(slot.as_u32(), from..to, data.size as u8);
        }
        reset(&mut self.becomes, self.old.len(), Slot::from_u32(0));
        let becomes = &mut self.becomes;
        self.packing.pack(out, |id, slot| becomes[id as usize] = slot)
    }
}

const NOWHERE: PointRange = PointRange { from: ProgPoint::OPEN, to: ProgPoint::FIRST };
const EVERYWHERE: PointRange = PointRange { from: ProgPoint::FIRST, to: ProgPoint::OPEN };

fn widen(lifetime: &mut PointRange, points: PointRange) {
    *lifetime = PointRange::new(lifetime.from.min(points.from), lifetime.to.max(points.to));
}

/// Widens `lifetime` to the points at which a value is live, beginning before its def, where the value that it
/// overwrites may be copied.
fn add_value(input: &ColorInput, vreg: VReg, lifetime: &mut PointRange) {
    let live = input.live;
    if live.is_unlisted[vreg.index()] {
        *lifetime = EVERYWHERE;
        return;
    }
    let PointRange { from, to } = live.hull(vreg);
    widen(lifetime, PointRange::new(from.prev(), to));
    let block = live.defs[vreg.index()].block;
    if live.is_defined_at_head(vreg, block) {
        for &edge in input.problem.preds(input.order.block(block).block) {
            let stop = input.order.block(input.order.index(input.problem.edge(edge).from)).stop();
            widen(lifetime, PointRange::new(stop.prev(), stop));
        }
    }
}
