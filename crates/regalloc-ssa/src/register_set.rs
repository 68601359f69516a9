//! The values in registers while spilling walks over a block, per class.

use crate::constraints::Constraints;
use crate::liveness::Next;
use cranelift_entity::EntityRef;
use cranelift_entity::packed_option::PackedOption;
use kingpost_regalloc::{Problem, RegClass, VReg, VRegData};
use kingpost_regalloc_common::order::BlockIndex;

/// Numbers per class of registers.
pub(crate) type Counts = [usize; 2];

/// What is known about a value.
#[derive(Clone, Copy)]
pub(crate) struct Value {
    /// How often it leaves registers while memory does not have it.
    pub(crate) stores: u64,
    /// While it is live, its next use, counted from the head of the block at hand.
    pub(crate) next: Next,
    /// One plus its index among the values in registers, or 0.
    index: u32,
    /// The last block at whose head it was found live.
    pub(crate) live_at: PackedOption<BlockIndex>,
    /// Number of the last instruction under high pressure that reads it.
    pub(crate) read_by: u32,
    /// Index of its class.
    pub(crate) class: u8,
    /// Can it be computed anywhere, so that it is where it is used?
    pub(crate) is_deferrable: bool,
    /// Is it computed where it is used, and not where it is defined?
    pub(crate) is_deferred: bool,
    /// Is it in memory, or computed again, anywhere?
    pub(crate) is_spilled: bool,
    /// Does memory have it, on all paths to here?
    pub(crate) is_clean: bool,
    /// The callee-saved register that its interval in registers is counted for, or [`NOT_COUNTED`].
    pub(crate) saved_index: u8,
}

/// The interval at hand has not been counted.
pub(crate) const NOT_COUNTED: u8 = u8::MAX;

impl Value {
    fn new(constraints: &Constraints, vreg: VReg, data: &VRegData) -> Value {
        Value {
            stores: 0,
            next: Next::DEAD,
            index: 0,
            live_at: None.into(),
            read_by: 0,
            class: data.class.index() as u8,
            is_deferrable: constraints.remat(vreg).is_some() && !constraints.labelled[vreg.index()],
            is_deferred: false,
            is_spilled: false,
            is_clean: false,
            saved_index: NOT_COUNTED,
        }
    }
}

/// Values in registers, those that died since the last [`RegisterSet::sweep`] included.
#[derive(Default)]
pub(crate) struct RegisterSet {
    pub(crate) values: Vec<Value>,
    pub(crate) members: [Vec<VReg>; 2],
    /// May a member have died since it was last swept?
    pub(crate) is_stale: bool,
}

impl RegisterSet {
    pub(crate) fn begin(&mut self, problem: &Problem, constraints: &Constraints) {
        self.members.iter_mut().for_each(Vec::clear);
        self.is_stale = false;
        self.values.clear();
        let vregs = problem.vregs.values().enumerate();
        self.values.extend(vregs.map(|(v, data)| Value::new(constraints, VReg::new(v), data)));
    }

    pub(crate) fn len(&self, class: RegClass) -> usize {
        self.members[class.index()].len()
    }

    pub(crate) fn contains(&self, vreg: VReg) -> bool {
        self.values[vreg.index()].is_member()
    }

    /// Is there room for so many more values of any class?
    #[inline]
    pub(crate) fn has_room(&self, more: usize, limits: Counts) -> bool {
        self.members[0].len() + more <= limits[0] && self.members[1].len() + more <= limits[1]
    }

    /// The value comes into a register.
    #[inline]
    pub(crate) fn add(&mut self, vreg: VReg, is_clean: bool) {
        let value = &mut self.values[vreg.index()];
        let members = &mut self.members[usize::from(value.class)];
        members.push(vreg);
        value.index = members.len() as u32;
        value.saved_index = NOT_COUNTED;
        value.is_clean = is_clean;
    }

    pub(crate) fn remove(&mut self, vreg: VReg) {
        let value = &mut self.values[vreg.index()];
        let index = std::mem::take(&mut value.index) as usize;
        let members = &mut self.members[usize::from(value.class)];
        members.swap_remove(index - 1);
        if let Some(&moved) = members.get(index - 1) {
            self.values[moved.index()].index = index as u32;
        }
    }

    pub(crate) fn empty(&mut self) {
        for members in &mut self.members {
            members.drain(..).for_each(|vreg| self.values[vreg.index()].index = 0);
        }
        self.is_stale = false;
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
                value.index = if is_kept { kept as u32 } else { 0 };
            }
            members.truncate(kept);
        }
    }

    /// Removes the members that died.
    pub(crate) fn sweep(&mut self) {
        if std::mem::take(&mut self.is_stale) {
            self.retain(|value| !value.next.is_dead());
        }
    }
}

impl Value {
    #[inline]
    pub(crate) fn is_member(&self) -> bool {
        self.index != 0
    }
}
