//! The values in registers while spilling walks over a block, per class.

use crate::liveness::Next;
use crate::spill_input::SpillInput;
use cranelift_entity::EntityRef;
use cranelift_entity::packed_option::PackedOption;
use kingpost_regalloc::{RegClass, VReg};
use kingpost_regalloc_common::order::BlockIndex;

/// Numbers per class of registers.
pub(crate) type Counts = [usize; 2];

/// Facts of a value.
#[derive(Clone, Copy)]
pub(crate) struct Value {
    /// While it is live, its next use, counted from the head of the block at hand.
    pub(crate) next: Next,
    /// Number of times that it may still leave registers while memory does not have it, before one store at its
    /// definition costs no more than those.
    pub(crate) stores_left: u32,
    /// The last block at whose head it was found live, or begins.
    pub(crate) live_at: PackedOption<BlockIndex>,
    /// Number of the last instruction under high pressure that reads it.
    pub(crate) read_by: u32,
    /// One plus its index among the values in registers, or 0. Registers are far fewer.
    index: u16,
    /// Index of its class, 0 or 1.
    pub(crate) class: u8,
    /// The callee-saved register that its interval in registers is counted for, or [`NOT_COUNTED`].
    pub(crate) saved_index: u8,
    /// Whether it can be computed anywhere.
    pub(crate) is_remat: bool,
    /// Whether it is computed where it is used, and not where it is defined.
    pub(crate) is_deferred: bool,
    /// Whether it is in memory, or rematerialized, anywhere. If not, it is in a register wherever it is live.
    pub(crate) is_spilled: bool,
    /// Whether memory has it, on all paths to here.
    pub(crate) is_clean: bool,
}

/// The interval at hand has not been counted.
pub(crate) const NOT_COUNTED: u8 = u8::MAX;

impl Value {
    /// Of a value that is defined so often.
    #[inline]
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

/// Values in registers.
#[derive(Default)]
pub(crate) struct RegisterSet {
    pub(crate) values: Vec<Value>,
    pub(crate) members: [Vec<VReg>; 2],
}

impl RegisterSet {
    pub(crate) fn begin(&mut self, input: &SpillInput) {
        self.members.iter_mut().for_each(Vec::clear);
        self.values.clear();
        let SpillInput { problem, live, constraints, .. } = *input;
        let facts = problem.vregs.values().zip(&live.defs);
        self.values.extend(facts.map(|(data, def)| Value::new(data.class, def.freq)));
        for &vreg in &live.far_values {
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
    #[inline]
    pub(crate) fn counts(&self) -> Counts {
        [self.members[0].len(), self.members[1].len()]
    }

    pub(crate) fn contains(&self, vreg: VReg) -> bool {
        self.values[vreg.index()].is_member()
    }

    /// Returns `true` if there is room for so many more values of any class.
    #[inline]
    pub(crate) fn has_room(&self, more: usize, limits: Counts) -> bool {
        self.members[0].len() + more <= limits[0] && self.members[1].len() + more <= limits[1]
    }

    /// The value comes into a register.
    #[inline]
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

    /// Returns `true` if these values are in registers, and no others, and memory has the clean ones.
    pub(crate) fn has_only(&self, members: &[VReg], clean: &[bool]) -> bool {
        let is_so = |(vreg, &is_clean): (&VReg, &bool)| {
            let value = &self.values[vreg.index()];
            value.is_member() && value.is_clean == is_clean
        };
        self.counts().iter().sum::<usize>() == members.len() && members.iter().zip(clean).all(is_so)
    }

    pub(crate) fn empty(&mut self) {
        for members in &mut self.members {
            members.drain(..).for_each(|vreg| self.values[vreg.index()].index = 0);
        }
    }

    /// Keeps the members for which `keep` is true.
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
    #[inline]
    pub(crate) fn is_member(&self) -> bool {
        self.index != 0
    }

    /// The value is stored so often. Returns by how much less it may be from now on.
    #[inline]
    pub(crate) fn take_store(&mut self, freq: u64) -> u32 {
        let stores = u64::from(self.stores_left).min(freq) as u32;
        self.stores_left -= stores;
        stores
    }

    /// Returns the frequency of stores of the value if it leaves registers `here` times: once at its definition, or at
    /// each eviction.
    #[inline]
    pub(crate) fn store_freq(&self, here: u64) -> u64 {
        if self.is_clean { 0 } else { u64::from(self.stores_left).min(here) }
    }
}
