//! Split intervals: the value in each register at each point. The scan writes them, resolution reads them.
//!
//! A value is in a register over a *split interval*, and in memory wherever it is live outside of them, so that
//! memory needs no record. The split intervals of a value are linked from the last backwards and follow each other
//! in the linear order.
//!
//! 1. No two open intervals are in one register, and no two belong to one value.
//! 2. An interval that ends where it begins is void: it was cut off in retrospect, and must not be read from.

use crate::values::{IntervalId, Values, flag};
use cranelift_entity::PrimaryMap;
use cranelift_entity::packed_option::{PackedOption, ReservedValue};
use kingpost_regalloc::VReg;
use kingpost_regalloc::meter::heap_bytes;
use kingpost_regalloc_common::point::ProgPoint;
use kingpost_regalloc_common::preference::{Masks, Reg};

/// A value in a register from one point to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SplitInterval {
    pub(crate) vreg: VReg,
    pub(crate) from: ProgPoint,
    /// First point after the interval; [`ProgPoint::OPEN`] while it is open.
    pub(crate) to: ProgPoint,
    /// The value's interval before this one.
    pub(crate) prev: PackedOption<IntervalId>,
    pub(crate) reg: Reg,
    /// Whether the value is rematerializable and has been in registers since its definition.
    pub(crate) since_def: bool,
    /// Whether it ended in an eviction, while the value was live.
    pub(crate) evicted: bool,
    /// Whether another one begins where this one ends.
    pub(crate) continued: bool,
}

impl SplitInterval {
    pub(crate) fn is_void(&self) -> bool {
        self.from >= self.to
    }

    /// Returns `true` if the value is in the register at `point`.
    pub(crate) fn covers(&self, point: ProgPoint) -> bool {
        self.from <= point && point < self.to
    }
}

/// The value in a register.
#[derive(Clone, Copy, Debug)]
struct Occupant {
    interval: IntervalId,
    vreg: VReg,
    /// The end of the live range that the value is in.
    until: ProgPoint,
}

pub(crate) struct Occupancy {
    pub(crate) intervals: PrimaryMap<IntervalId, SplitInterval>,
    /// Intervals that ended in evictions, unsorted.
    pub(crate) evicted: Vec<IntervalId>,
    /// Occupants by register; valid for the registers in `held`.
    occupants: [Occupant; Reg::TABLE],
    pub(crate) held: Masks,
    /// Registers that have held a value.
    pub(crate) used: Masks,
}

heap_bytes!(Occupancy { intervals, evicted } without { occupants, held, used });

impl Default for Occupancy {
    fn default() -> Occupancy {
        let (interval, vreg) = (IntervalId::reserved_value(), VReg::reserved_value());
        let empty = Occupant { interval, vreg, until: ProgPoint::FIRST };
        Occupancy {
            intervals: PrimaryMap::new(),
            evicted: Vec::new(),
            occupants: [empty; Reg::TABLE],
            held: [0; 2],
            used: [0; 2],
        }
    }
}

impl Occupancy {
    pub(crate) fn begin(&mut self) {
        self.intervals.clear();
        self.evicted.clear();
        self.held = [0; 2];
        self.used = [0; 2];
    }

    /// Returns the open split interval of a held register.
    pub(crate) fn interval_in(&self, reg: Reg) -> IntervalId {
        debug_assert!(reg.is_in(&self.held), "nothing is in {reg:?}");
        self.occupants[reg.index()].interval
    }

    /// Returns the value in a held register.
    pub(crate) fn vreg_in(&self, reg: Reg) -> VReg {
        debug_assert!(reg.is_in(&self.held), "nothing is in {reg:?}");
        self.occupants[reg.index()].vreg
    }

    /// Returns the end of the current live range of the value in a held register.
    pub(crate) fn range_end_in(&self, reg: Reg) -> ProgPoint {
        self.occupants[reg.index()].until
    }

    /// Extends the interval of a held register to another live range of its value, which ends at `until`.
    pub(crate) fn extend_range(&mut self, reg: Reg, until: ProgPoint) {
        self.occupants[reg.index()].until = until;
    }

    /// Opens a split interval in `reg`, which must be free.
    #[inline(always)]
    pub(crate) fn open(
        &mut self,
        values: &mut Values,
        vreg: VReg,
        reg: Reg,
        from: ProgPoint,
        since_def: bool,
    ) -> IntervalId {
        debug_assert!(!reg.is_in(&self.held), "{reg:?} is taken when {vreg} comes");
        let (until, value) = values.live_until_mut(vreg, from);
        // Only read for rematerializable values.
        let since_def = since_def && value.is_remat();
        let prev = value.interval;
        if let Some(prev) = prev.expand() {
            let prev = &mut self.intervals[prev];
            debug_assert!(prev.to <= from, "{vreg} is in a register already");
            prev.continued |= prev.to == from;
        }
        let id = self.intervals.push(SplitInterval {
            vreg,
            from,
            to: ProgPoint::OPEN,
            prev,
            reg,
            since_def,
            evicted: false,
            continued: false,
        });
        value.interval = id.into();
        (value.current_reg, value.last_reg) = (reg, reg);
        value.facts = if since_def { value.facts | flag::REG_SINCE_DEF } else { value.facts & !flag::REG_SINCE_DEF };
        self.occupants[reg.index()] = Occupant { interval: id, vreg, until };
        self.held[reg.class()] |= reg.bit();
        self.used[reg.class()] |= reg.bit();
        id
    }

    /// Closes the split interval in `reg`.
    pub(crate) fn close(&mut self, values: &mut Values, reg: Reg, to: ProgPoint) -> IntervalId {
        debug_assert!(reg.is_in(&self.held), "nothing is in {reg:?}");
        let Occupant { interval: id, vreg, .. } = self.occupants[reg.index()];
        self.intervals[id].to = to;
        values[vreg].current_reg = Reg::NONE;
        self.held[reg.class()] &= !reg.bit();
        id
    }

    /// Marks an interval that ends in an eviction.
    pub(crate) fn evict(&mut self, id: IntervalId) {
        let is_evicted = &mut self.intervals[id].evicted;
        if !std::mem::replace(is_evicted, true) {
            self.evicted.push(id);
        }
    }
}
