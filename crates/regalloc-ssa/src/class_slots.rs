//! The spill slot of each class of values, created on first use.

use crate::coalescing::Coalescing;
use crate::tables::reset;
use cranelift_entity::EntityRef;
use cranelift_entity::packed_option::PackedOption;
use kingpost_regalloc::meter::heap_bytes;
use kingpost_regalloc::{Allocation, Problem, Slot, VReg};

#[derive(Default)]
pub(crate) struct ClassSlots {
    /// Per class.
    slots: Vec<PackedOption<Slot>>,
    /// Per value: whether an edit, an operand or a stack map names its slot.
    is_placed: Vec<bool>,
    /// Per slot, the class that owns it.
    pub(crate) owners: Vec<PackedOption<VReg>>,
}

heap_bytes!(ClassSlots { slots, is_placed, owners });

impl ClassSlots {
    pub(crate) fn begin(&mut self, problem: &Problem) {
        let values = problem.vregs.len();
        reset(&mut self.slots, values, None.into());
        reset(&mut self.is_placed, values, false);
        self.owners.clear();
    }

    /// Returns `true` if an edit, an operand or a stack map names the slot of the value.
    pub(crate) fn is_placed(&self, vreg: VReg) -> bool {
        self.is_placed[vreg.index()]
    }

    /// Returns the slot of a value, if it has one.
    pub(crate) fn get(&self, classes: &Coalescing, vreg: VReg) -> Option<Slot> {
        self.slots[classes.class(vreg).index()].expand()
    }

    /// Returns the slot of a value, and creates it if necessary.
    pub(crate) fn place(&mut self, problem: &Problem, classes: &Coalescing, vreg: VReg, out: &mut Allocation) -> Slot {
        self.is_placed[vreg.index()] = true;
        let class = classes.class(vreg);
        let width = u32::from(problem.width(vreg));
        let slot = match self.slots[class.index()].expand() {
            Some(slot) => slot,
            None => {
                let slot = out.add_slot(problem.width(vreg));
                self.slots[class.index()] = slot.into();
                self.owners.resize(slot.index() + 1, None.into());
                self.owners[slot.index()] = class.into();
                slot
            }
        };
        let data = &mut out.slots[slot];
        data.size = data.size.max(width);
        data.align = data.align.max(width.next_power_of_two());
        slot
    }
}
