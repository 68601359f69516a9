//! Which value lives in which register when: the record that the walk writes and resolution reads.
//!
//! A value is in a register over a *stay*, and in memory wherever it is live outside its stays, so that being in memory
//! needs no record at all. Stays of a value are linked from the last backwards and follow each other in the linear order.
//!
//! 1. Of the open stays no two are in one register, and none of them belong to one value.
//! 2. A stay that ends where it begins is void: it was taken back, and nothing may be read from it.

use crate::values::NONE;
use crate::values::{Values, fact};
use crate::walk::Scan;
use cranelift_entity::EntityRef;
use kingpost_regalloc::VReg;
use kingpost_regalloc_common::point::ProgPoint;
use kingpost_regalloc_common::preference::{Masks, Reg, regs};

/// A value in a register from one point to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stay {
    pub(crate) vreg: VReg,
    pub(crate) from: ProgPoint,
    /// First point after; [`ProgPoint::OPEN`] while it lasts.
    pub(crate) to: ProgPoint,
    /// The value's stay before this one, or [`NONE`].
    pub(crate) prev: u32,
    pub(crate) reg: Reg,
    /// Can the value be computed again, and has it been in registers since its definition?
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
    pub(crate) fn covers(&self, point: ProgPoint) -> bool {
        self.from <= point && point < self.to
    }
}

/// Who is in a register.
#[derive(Clone, Copy, Debug)]
struct Holder {
    stay: u32,
    vreg: VReg,
    /// The end of the live range that the value is in.
    until: ProgPoint,
}

pub(crate) struct Residence {
    pub(crate) stays: Vec<Stay>,
    /// Stays that ended while the value was still live, in no order.
    pub(crate) evicted: Vec<u32>,
    /// By register, if `held` says that something is in it.
    holders: [Holder; Reg::TABLE],
    pub(crate) held: Masks,
    /// Registers that anything was ever put into.
    pub(crate) used: Masks,
}

impl Default for Residence {
    fn default() -> Residence {
        let nobody = Holder { stay: NONE, vreg: VReg::from_u32(0), until: ProgPoint::FIRST };
        Residence { stays: Vec::new(), evicted: Vec::new(), holders: [nobody; Reg::TABLE], held: [0; 2], used: [0; 2] }
    }
}

impl Residence {
    pub(crate) fn begin(&mut self) {
        self.stays.clear();
        self.evicted.clear();
        self.held = [0; 2];
        self.used = [0; 2];
    }

    pub(crate) fn stay(&self, id: u32) -> &Stay {
        &self.stays[id as usize]
    }

    /// The stay in a register that is held.
    pub(crate) fn holder(&self, reg: Reg) -> u32 {
        debug_assert!(reg.is_in(&self.held), "nothing is in {reg:?}");
        self.holders[reg.index()].stay
    }

    /// The value in a register that is held.
    pub(crate) fn holder_vreg(&self, reg: Reg) -> VReg {
        debug_assert!(reg.is_in(&self.held), "nothing is in {reg:?}");
        self.holders[reg.index()].vreg
    }

    /// The end of the live range that the value in a register that is held is in.
    pub(crate) fn holder_until(&self, reg: Reg) -> ProgPoint {
        self.holders[reg.index()].until
    }

    /// The value begins to live in `reg`, which nothing is in.
    #[inline(always)]
    pub(crate) fn open(&mut self, values: &mut Values, vreg: VReg, reg: Reg, from: ProgPoint, since_def: bool) -> u32 {
        debug_assert!(!reg.is_in(&self.held), "{reg:?} is taken when {vreg} comes");
        let id = self.stays.len() as u32;
        let until = values.live_until(vreg, from);
        let value = &mut values[vreg];
        // Of others nobody asks.
        let since_def = since_def && value.is_remat();
        let prev = value.stay;
        if prev != NONE {
            let prev = &mut self.stays[prev as usize];
            debug_assert!(prev.to <= from, "{vreg} is in a register already");
            prev.continued |= prev.to == from;
        }
        self.stays.push(Stay {
            vreg,
            from,
            to: ProgPoint::OPEN,
            prev,
            reg,
            since_def,
            evicted: false,
            continued: false,
        });
        value.stay = id;
        (value.home, value.last_reg) = (reg, reg);
        value.facts = if since_def { value.facts | fact::SINCE_DEF } else { value.facts & !fact::SINCE_DEF };
        self.holders[reg.index()] = Holder { stay: id, vreg, until };
        self.held[reg.class()] |= reg.bit();
        self.used[reg.class()] |= reg.bit();
        id
    }

    /// What is in `reg` leaves it.
    #[inline]
    fn close(&mut self, values: &mut Values, reg: Reg, to: ProgPoint) -> u32 {
        debug_assert!(reg.is_in(&self.held), "nothing is in {reg:?}");
        let Holder { stay: id, vreg, .. } = self.holders[reg.index()];
        self.stays[id as usize].to = to;
        values[vreg].home = Reg::NONE;
        self.held[reg.class()] &= !reg.bit();
        id
    }

    /// The stay ends while its value is still live.
    pub(crate) fn evict(&mut self, id: u32) {
        let is_evicted = &mut self.stays[id as usize].evicted;
        if !std::mem::replace(is_evicted, true) {
            self.evicted.push(id);
        }
    }
}

impl Scan<'_, '_> {
    /// The value begins to live in `reg`, which nothing is in.
    pub(crate) fn open(&mut self, vreg: VReg, reg: Reg, from: ProgPoint, since_def: bool) -> u32 {
        self.found.residence.open(self.values, vreg, reg, from, since_def)
    }

    /// What is in `reg` leaves it.
    #[inline]
    pub(crate) fn close(&mut self, reg: Reg, to: ProgPoint) -> u32 {
        self.found.residence.close(self.values, reg, to)
    }

    /// Empties all registers.
    pub(crate) fn close_all(&mut self, to: ProgPoint) {
        for class in 0..2 {
            for reg in regs(class, self.found.residence.held[class]) {
                self.close(reg, to);
            }
        }
    }

    /// The register the value was in last.
    pub(crate) fn last_reg(&self, vreg: VReg) -> Reg {
        let value = &self.values[vreg];
        if value.stay == NONE { Reg::NONE } else { value.last_reg }
    }

    pub(crate) fn last_stay(&self, vreg: VReg) -> Option<&Stay> {
        self.found.residence.stays.get(self.values[vreg].stay as usize)
    }

    /// Takes back, from the block head `point` on, all that the closed stays of a value up to `id` claim.
    pub(crate) fn cut_back(&mut self, mut id: u32, point: ProgPoint) {
        self.unsettle(point);
        while let Some(&stay) = self.found.residence.stays.get(id as usize) {
            if stay.to <= point {
                return;
            }
            self.found.residence.evict(id);
            let cut = &mut self.found.residence.stays[id as usize];
            cut.continued = false;
            if stay.from < point {
                cut.to = point;
                return;
            }
            cut.to = stay.from;
            id = stay.prev;
            self.unsettle(stay.from);
        }
    }

    /// If `point` is the head of a block, registers may change on all edges into it.
    fn unsettle(&mut self, point: ProgPoint) {
        self.found.settled[self.order.index_at(point.position()).index()] = NONE;
    }
}
