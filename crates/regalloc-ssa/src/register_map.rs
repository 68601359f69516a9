//! The map from registers to values during coloring's walk over a block.
//!
//! 1. No two values are in one register, and no value is in two, between instructions.

use crate::tables::reset;
use crate::uses::DEAD;
use cranelift_entity::EntityRef;
use cranelift_entity::packed_option::PackedOption;
use kingpost_regalloc::meter::heap_bytes;
use kingpost_regalloc::{Inst, PReg, PRegSet, RegClass, VReg};
use kingpost_regalloc_common::order::BlockIndex;

/// Facts of a value.
#[derive(Clone, Copy)]
pub(crate) struct Value {
    /// For a live value, the distance of its next use from the head of the current block, or [`DEAD`].
    pub(crate) distance: u32,
    /// The last block at whose head it was live or defined.
    pub(crate) live_at: PackedOption<BlockIndex>,
    /// One plus the number of the instruction that evicts it after reading it.
    pub(crate) evicted_after: u32,
    /// Its number among the values in registers at the current join point, if it is one of them.
    pub(crate) number: u16,
    /// Its register.
    pub(crate) at: Option<PReg>,
}

impl Value {
    pub(crate) fn is_dead(&self) -> bool {
        self.distance == DEAD
    }
}

pub(crate) struct RegisterMap {
    pub(crate) values: Vec<Value>,
    /// By register, the value in it if the register is occupied.
    residents: [VReg; PReg::COUNT],
    pub(crate) occupied: PRegSet,
}

heap_bytes!(RegisterMap { values } without { residents, occupied });

impl Default for RegisterMap {
    fn default() -> RegisterMap {
        let residents = [VReg::from_u32(0); PReg::COUNT];
        RegisterMap { values: Vec::new(), residents, occupied: PRegSet::EMPTY }
    }
}

impl RegisterMap {
    pub(crate) fn begin(&mut self, values: usize) {
        let value = Value { distance: DEAD, live_at: None.into(), evicted_after: 0, number: 0, at: None };
        reset(&mut self.values, values, value);
        self.occupied = PRegSet::EMPTY;
    }

    pub(crate) fn at(&self, vreg: VReg) -> Option<PReg> {
        self.values[vreg.index()].at
    }

    /// Returns the value in an occupied register.
    pub(crate) fn resident(&self, reg: PReg) -> VReg {
        self.residents[reg.index()]
    }

    /// Puts a value into a free register.
    pub(crate) fn put(&mut self, vreg: VReg, reg: PReg) {
        debug_assert!(!self.occupied.contains(reg), "{reg} is occupied when {vreg} comes");
        self.residents[reg.index()] = vreg;
        self.values[vreg.index()].at = Some(reg);
        self.occupied.insert(reg);
    }

    /// Frees registers. All of them must be occupied.
    #[inline]
    pub(crate) fn remove(&mut self, regs: PRegSet) {
        for class in RegClass::ALL {
            let mut left = regs.mask(class);
            while left != 0 {
                let reg = PReg::new(class, left.trailing_zeros() as u8);
                self.values[self.residents[reg.index()].index()].at = None;
                left &= left - 1;
            }
        }
        self.occupied = self.occupied.difference(regs);
    }

    /// Returns `true` if the value keeps a register after the instruction.
    pub(crate) fn lives_on(&self, vreg: VReg, inst: Inst) -> bool {
        let value = &self.values[vreg.index()];
        !value.is_dead() && value.evicted_after != inst.as_u32() + 1
    }

    /// Appends all values in registers, by register.
    #[inline]
    pub(crate) fn add_residents(&self, to: &mut Vec<(VReg, PReg)>) {
        for class in RegClass::ALL {
            let mut left = self.occupied.mask(class);
            while left != 0 {
                let reg = PReg::new(class, left.trailing_zeros() as u8);
                to.push((self.resident(reg), reg));
                left &= left - 1;
            }
        }
    }

    /// Returns all values in registers, by register.
    pub(crate) fn residents(&self) -> impl Iterator<Item = (VReg, PReg)> {
        self.occupied.iter().map(|reg| (self.residents[reg.index()], reg))
    }
}
