//! The values in registers during spilling's walk over a block, per class.

use crate::spill_input::SpillInput;
use crate::uses::Next;
use cranelift_entity::EntityRef;
use cranelift_entity::packed_option::PackedOption;
use kingpost_regalloc::meter::heap_bytes;
use kingpost_regalloc::{RegClass, VReg};
use kingpost_regalloc_common::order::BlockIndex;

/// Numbers per class of registers.
pub(crate) type Counts = [usize; 2];

/// Facts of a value.
#[derive(Clone, Copy)]
pub(crate) struct Value {
    /// For a live value, its next use, counted from the head of the current block.
    pub(crate) next: Next,
    /// Frequency up to which evictions may still store the value before one store at its definition costs no more.
    pub(crate) stores_left: u32,
    /// The last block at whose head it was live or defined.
    pub(crate) live_at: PackedOption<BlockIndex>,
    /// Number of the last instruction under high pressure that reads it.
    pub(crate) read_by: u32,
    /// One plus its index among the values in registers, or 0. Sixteen bits suffice for registers.
    index: u16,
    /// Index of its class, 0 or 1.
    pub(crate) class: u8,
    /// Index of the callee-saved register for which its current interval is counted, or [`NOT_COUNTED`].
    pub(crate) saved_index: u8,
    /// Whether it is rematerializable.
    pub(crate) is_remat: bool,
    /// Whether it is rematerialized at its uses instead of being computed at its definition.
    pub(crate) is_deferred: bool,
    /// Whether it is in memory, or rematerialized, at some point. Otherwise it is in a register throughout its live
    /// range.
    pub(crate) is_spilled: bool,
    /// Whether memory holds it on all paths to this point.
    pub(crate) is_clean: bool,
}

/// The current interval has not been counted.
pub(crate) const NOT_COUNTED: u8 = u8::MAX;

impl Value {
    /// Returns the facts of a value that is defined with frequency `freq`.
    fn new(class: RegClass, freq: u32) -> Value {
        Value {
            next: Next::DEAD,
            stores_left: freq,
            live_at: None.into(),
            read_by: 0,
            index: 0,
            class: class.index() as u8,
            saved_index: NOT_COUNTED,
            is_remat: false,
            is_deferred: false,
            is_spilled: false,
            is_clean: false,
        }
    }
}

/// The values in registers.
#[derive(Default)]
pub(crate) struct RegisterSet {
    pub(crate) values: Vec<Value>,
    pub(crate) members: [Vec<VReg>; 2],
}

heap_bytes!(RegisterSet { values, members });

impl RegisterSet {
    pub(crate) fn begin(&mut self, input: &SpillInput) {
        self.members.iter_mut().for_each(Vec::clear);
        self.values.clear();
        let SpillInput { problem, live, constraints, .. } = *input;
        let facts = problem.vregs.values().zip(&live.defs);
        self.values.extend(facts.map(|(data, def)| Value::new(data.class, def.freq)));
        for &vreg in &live.unlisted_values {
            let value = &mut self.values[vreg.index()];
            (value.stores_left, value.is_spilled) = (0, true);
        }
        for &vreg in &constraints.computed {
            self.values[vreg.index()].is_remat = true;
        }
    }

    pub(crate) fn len(&self, class: RegClass) -> usize {
        self.members[class.index()].len()
    }

    /// Returns the number of members of each class.
    pub(crate) fn counts(&self) -> Counts {
        [self.members[0].len(), self.members[1].len()]
    }

    pub(crate) fn contains(&self, vreg: VReg) -> bool {
        self.values[vreg.index()].is_member()
    }

    /// Returns `true` if there is room for `more` further values of any class.
    pub(crate) fn has_room(&self, more: usize, limits: Counts) -> bool {
        self.members[0].len() + more <= limits[0] && self.members[1].len() + more <= limits[1]
    }

    /// Adds a value.
    pub(crate) fn add(&mut self, vreg: VReg, is_clean: bool) {
        let value = &mut self.values[vreg.index()];
        value.saved_index = NOT_COUNTED;
        value.is_clean = is_clean;
        let members = &mut self.members[usize::from(value.class & 1)];
        members.push(vreg);
        value.index = members.len() as u16;
    }

    #[inline]
    pub(crate) fn remove(&mut self, vreg: VReg) {
        let value = &mut self.values[vreg.index()];
        let index = std::mem::take(&mut value.index);
        let members = &mut self.members[usize::from(value.class & 1)];
        if let Some(last) = members.pop().filter(|&last| last != vreg) {
            members[usize::from(index) - 1] = last;
            self.values[last.index()].index = index;
        }
    }

    pub(crate) fn empty(&mut self) {
        for members in &mut self.members {
            members.drain(..).for_each(|vreg| self.values[vreg.index()].index = 0);
        }
    }

    /// Keeps the members for which `keep` returns `true`.
    pub(crate) fn retain(&mut self, keep: impl Fn(&mut Value) -> bool) {
        for members in &mut self.members {
            let mut kept = 0;
            for i in 0..members.len() {
                let vreg = members[i];
                let value = &mut self.values[vreg.index()];
                let is_kept = keep(value);
                if is_kept {
                    members[kept] = vreg;
                    kept += 1;
                }
                value.index = if is_kept { kept as u16 } else { 0 };
            }
            members.truncate(kept);
        }
    }
}

impl Value {
    pub(crate) fn is_member(&self) -> bool {
        self.index != 0
    }

    /// Subtracts a store of frequency `freq` from the value's remaining stores. Returns the amount subtracted.
    pub(crate) fn take_store(&mut self, freq: u64) -> u32 {
        let stores = u64::from(self.stores_left).min(freq) as u32;
        self.stores_left -= stores;
        stores
    }

    /// Returns the frequency of stores of the value if it leaves registers `here` times: one at its definition, or
    /// one at each eviction.
    pub(crate) fn store_freq(&self, here: u64) -> u64 {
        if self.is_clean { 0 } else { u64::from(self.stores_left).min(here) }
    }
}
