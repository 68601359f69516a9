//! Which value lives in which register when: the record that the walk writes and resolution reads.
//!
//! A value is in a register over a *stay*, and in memory wherever it is live outside its stays, so that being in memory
//! needs no record at all. Stays of a value are linked from the last backwards and follow each other in the linear order.
//!
//! 1. Of the open stays no two are in one register, and none of them belong to one value.
//! 2. A stay that ends where it begins is void: it was taken back, and nothing may be read from it.

use crate::machine::{Masks, Reg, regs};
use crate::order::NONE;
use crate::point::Point;
use cranelift_entity::EntityRef;
use kingpost_regalloc::VReg;

/// A value in a register from one point to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stay {
    pub(crate) vreg: VReg,
    pub(crate) from: Point,
    /// First point after; [`Point::OPEN`] while it lasts.
    pub(crate) to: Point,
    /// The value's stay before this one, or [`NONE`].
    pub(crate) prev: u32,
    pub(crate) reg: Reg,
    /// Has the value been in registers since its definition?
    pub(crate) since_def: bool,
    /// Did the stay end while the value was still live?
    pub(crate) evicted: bool,
    /// Does another stay go on where this one ends?
    pub(crate) continued: bool,
}

impl Stay {
    pub(crate) fn is_void(&self) -> bool {
        self.from >= self.to
    }

    /// Is the value in the register at `point`?
    pub(crate) fn covers(&self, point: Point) -> bool {
        self.from <= point && point < self.to
    }
}

/// Flags of a value, gathered while walking.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Facts {
    /// Something reads the value from memory.
    pub(crate) mem_read: bool,
    /// An instruction reads it there.
    pub(crate) in_operand: bool,
    /// The value is defined in memory by an instruction that modifies its slot, which holds another value before.
    pub(crate) pair_in_mem: bool,
    /// The value is written to memory where it is defined, by the definition itself or by edges.
    pub(crate) def_in_mem: bool,
    /// The value must be in memory while it is in a register as well.
    pub(crate) force_store: bool,
    /// Something reads the value from the register of its definition.
    pub(crate) keep_def: bool,
}

#[derive(Default)]
pub(crate) struct Residence {
    pub(crate) stays: Vec<Stay>,
    pub(crate) facts: Vec<Facts>,
    /// By value: its last stay, or [`NONE`].
    last: Vec<u32>,
    /// By value: the register it is in now.
    homes: Vec<Reg>,
    /// By register: the stay in it, if `held` says so.
    holders: Vec<u32>,
    pub(crate) held: Masks,
    /// Registers that anything was ever put into.
    pub(crate) used: Masks,
}

impl Residence {
    pub(crate) fn begin(&mut self, values: usize) {
        self.stays.clear();
        self.facts.clear();
        self.facts.resize(values, Facts::default());
        self.last.clear();
        self.last.resize(values, NONE);
        self.homes.clear();
        self.homes.resize(values, Reg::NONE);
        self.holders.clear();
        self.holders.resize(128, NONE);
        self.held = [0; 2];
        self.used = [0; 2];
    }

    pub(crate) fn facts(&mut self, vreg: VReg) -> &mut Facts {
        &mut self.facts[vreg.index()]
    }

    pub(crate) fn stay(&self, id: u32) -> &Stay {
        &self.stays[id as usize]
    }

    /// The stay in a register that is held.
    pub(crate) fn holder(&self, reg: Reg) -> u32 {
        debug_assert!(reg.is_in(&self.held), "nothing is in {reg:?}");
        self.holders[reg.index()]
    }

    pub(crate) fn holder_vreg(&self, reg: Reg) -> VReg {
        self.stays[self.holder(reg) as usize].vreg
    }

    /// The stay that lasts, if the value is in a register now.
    pub(crate) fn open_stay(&self, vreg: VReg) -> Option<u32> {
        (!self.home(vreg).is_none()).then(|| self.last[vreg.index()])
    }

    /// The register the value is in now.
    pub(crate) fn home(&self, vreg: VReg) -> Reg {
        self.homes[vreg.index()]
    }

    /// The value's last stay, or [`NONE`].
    pub(crate) fn last_id(&self, vreg: VReg) -> u32 {
        self.last[vreg.index()]
    }

    pub(crate) fn last_stay(&self, vreg: VReg) -> Option<&Stay> {
        self.stays.get(self.last[vreg.index()] as usize)
    }

    /// The register the value was in last.
    pub(crate) fn last_reg(&self, vreg: VReg) -> Reg {
        self.last_stay(vreg).map_or(Reg::NONE, |stay| stay.reg)
    }

    /// The value begins to live in `reg`, which nothing is in.
    pub(crate) fn open(&mut self, vreg: VReg, reg: Reg, from: Point, since_def: bool) -> u32 {
        debug_assert!(!reg.is_in(&self.held), "{reg:?} is taken when {vreg} comes");
        let id = self.stays.len() as u32;
        let prev = self.last[vreg.index()];
        if let Some(prev) = self.stays.get_mut(prev as usize) {
            debug_assert!(prev.to <= from, "{vreg} is in a register already");
            prev.continued |= prev.to == from;
        }
        self.stays.push(Stay { vreg, from, to: Point::OPEN, prev, reg, since_def, evicted: false, continued: false });
        self.last[vreg.index()] = id;
        self.homes[vreg.index()] = reg;
        self.holders[reg.index()] = id;
        self.held[reg.class()] |= reg.bit();
        self.used[reg.class()] |= reg.bit();
        id
    }

    /// What is in `reg` leaves it.
    pub(crate) fn close(&mut self, reg: Reg, to: Point) -> u32 {
        let id = self.holder(reg);
        let stay = &mut self.stays[id as usize];
        stay.to = to;
        self.homes[stay.vreg.index()] = Reg::NONE;
        self.held[reg.class()] &= !reg.bit();
        id
    }

    /// Empties all registers.
    pub(crate) fn close_all(&mut self, to: Point) {
        for class in 0..2 {
            for reg in regs(class, self.held[class]) {
                self.close(reg, to);
            }
        }
    }

    /// Takes back, from `point` on, all that the closed stays of a value up to `id` claim.
    pub(crate) fn cut_back(&mut self, id: u32, point: Point) {
        let mut id = id;
        while let Some(stay) = self.stays.get_mut(id as usize) {
            if stay.to <= point {
                return;
            }
            stay.evicted = true;
            stay.continued = false;
            if stay.from < point {
                stay.to = point;
                return;
            }
            stay.to = stay.from;
            id = stay.prev;
        }
    }
}
