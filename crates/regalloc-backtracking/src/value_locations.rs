//! The location of each value at each point: a register over its fragments, otherwise memory; and the values that
//! need slots.
//!
//! ```text
//! v0: r1 0l..4, r2 6..9        in memory from 4 to 6; v1: r3        in one register wherever it is live
//! ```
//!
//! Cost: n log n in fragments and in slots; a query is logarithmic in the fragments of the value.

use crate::bundles::Bundles;
use crate::liveness::{Liveness, reserved_from};
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, SecondaryMap};
use kingpost_regalloc::meter::heap_bytes;
use kingpost_regalloc::{AllocError, Allocation, Loc, PReg, Problem, Slot, VReg};
use kingpost_regalloc_common::point::{PointRange, ProgPoint};
use kingpost_regalloc_common::slot_packing::SlotPacking;

/// Location of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ValueLoc {
    Reg(PReg),
    /// In the slot of this value, or rematerialized.
    Memory(VReg),
}

/// Points over which a value is in a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fragment {
    pub(crate) vreg: VReg,
    pub(crate) points: PointRange,
    pub(crate) reg: PReg,
}

/// Locations of a value over its live ranges.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Assignment {
    /// In memory everywhere.
    #[default]
    Memory,
    /// In one register everywhere.
    Reg(PReg),
    /// In the registers of the fragments from `start` up to and excluding `end`, and in memory between.
    Fragments { start: u32, end: u32 },
}

/// Facts of a value in memory.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct InMemory {
    needs_slot: bool,
    /// Whether the slot is written where the value leaves its register, not at its definition.
    is_delayed: bool,
    slot: PackedOption<Slot>,
}

/// The slot that the values of a spill set share.
#[derive(Clone, Copy, Debug)]
struct SharedSlot {
    /// The range from the first to the last point at which a value in memory is live.
    points: PointRange,
    width: u8,
    slot: Option<Slot>,
}

impl SharedSlot {
    const UNUSED: SharedSlot = SharedSlot { points: PointRange::EMPTY, width: 0, slot: None };

    fn add(&mut self, points: PointRange, width: u8) {
        self.points = match self.width {
            0 => points,
            _ => PointRange::new(self.points.from.min(points.from), self.points.to.max(points.to)),
        };
        self.width = self.width.max(width);
    }
}

/// Locations of all values, and their slots.
#[derive(Default)]
pub(crate) struct ValueLocations {
    assignments: SecondaryMap<VReg, Assignment>,
    /// Fragments by value, in order.
    fragments: Vec<Fragment>,
    memory: SecondaryMap<VReg, InMemory>,
    /// Values that need a slot.
    pub(crate) slotted: Vec<VReg>,
    /// Shared slots by spill set.
    shared: Vec<SharedSlot>,
    packing: SlotPacking<ProgPoint>,
}

heap_bytes!(ValueLocations { assignments, fragments, memory, slotted, shared, packing });

impl ValueLocations {
    /// Takes over the registers of all bundles.
    pub(crate) fn build(&mut self, problem: &Problem, bundles: &Bundles) {
        self.assignments.clear();
        self.assignments.resize(problem.vregs.len());
        self.fragments.clear();
        for (bundle, data) in &bundles.bundles {
            let Some(reg) = data.reg else { continue };
            for segment in bundles.segments(bundle) {
                match data.splits {
                    0 => self.assignments[segment.vreg] = Assignment::Reg(reg),
                    _ => self.fragments.push(Fragment { vreg: segment.vreg, points: segment.range(), reg }),
                }
            }
        }
        self.sort();
        self.memory.clear();
        self.memory.resize(problem.vregs.len());
        self.slotted.clear();
    }

    /// Adds a fragment. [`ValueLocations::sort`] must follow.
    pub(crate) fn add(&mut self, fragment: Fragment) {
        self.fragments.push(fragment);
    }

    /// Sorts the fragments by value and joins adjacent fragments of one register.
    pub(crate) fn sort(&mut self) {
        self.fragments.sort_unstable_by_key(|fragment| {
            u64::from(fragment.vreg.as_u32()) << 32 | fragment.points.from.index() as u64
        });
        self.fragments.dedup_by(|next, last| {
            let joins = next.vreg == last.vreg && next.reg == last.reg && next.points.from == last.points.to;
            if joins {
                last.points.to = next.points.to;
            }
            joins
        });
        let mut start = 0;
        for fragments in self.fragments.chunk_by(|a, b| a.vreg == b.vreg) {
            let end = start + fragments.len() as u32;
            self.assignments[fragments[0].vreg] = Assignment::Fragments { start, end };
            start = end;
        }
    }

    /// Returns the register of a value that is in one register wherever it is live.
    pub(crate) fn only_reg(&self, vreg: VReg) -> Option<PReg> {
        match self.assignments[vreg] {
            Assignment::Reg(reg) => Some(reg),
            Assignment::Memory | Assignment::Fragments { .. } => None,
        }
    }

    /// Returns the fragments of a value that is in several locations.
    pub(crate) fn fragments(&self, vreg: VReg) -> &[Fragment] {
        match self.assignments[vreg] {
            Assignment::Fragments { start, end } => &self.fragments[start as usize..end as usize],
            Assignment::Memory | Assignment::Reg(_) => &[],
        }
    }

    /// Returns the fragments of all values that are in several locations.
    pub(crate) fn all_fragments(&self) -> &[Fragment] {
        &self.fragments
    }

    /// Returns the location of a value at a point at which it is live.
    pub(crate) fn at(&self, vreg: VReg, point: ProgPoint) -> ValueLoc {
        if let Some(reg) = self.only_reg(vreg) {
            return ValueLoc::Reg(reg);
        }
        let fragments = self.fragments(vreg);
        let next = fragments.partition_point(|fragment| fragment.points.to <= point);
        match fragments.get(next) {
            Some(fragment) if fragment.points.from <= point => ValueLoc::Reg(fragment.reg),
            _ => ValueLoc::Memory(vreg),
        }
    }

    /// Records that the value is read from its slot, or written there by an instruction.
    pub(crate) fn needs_slot(&mut self, vreg: VReg) {
        if !std::mem::replace(&mut self.memory[vreg].needs_slot, true) {
            self.slotted.push(vreg);
        }
    }

    /// Records that the slot is written wherever the value leaves its register.
    pub(crate) fn delay(&mut self, vreg: VReg) {
        self.memory[vreg].is_delayed = true;
    }

    /// Returns `true` if the slot is written only where the value leaves its register.
    pub(crate) fn is_delayed(&self, vreg: VReg) -> bool {
        self.memory[vreg].is_delayed
    }

    /// Returns the [`Loc`] of a location. Slots must be assigned.
    pub(crate) fn loc(&self, loc: ValueLoc) -> Loc {
        match loc {
            ValueLoc::Reg(reg) => Loc::reg(reg),
            ValueLoc::Memory(vreg) => self.memory[vreg].slot.expand().map_or(Loc::NONE, Loc::slot),
        }
    }

    /// Assigns slots to the values that need them: one per spill set. Spill sets that are never live at once share
    /// a slot.
    ///
    /// # Errors
    /// If there would be more slots than can be numbered.
    pub(crate) fn assign_slots(
        &mut self,
        problem: &Problem,
        live: &Liveness,
        bundles: &Bundles,
        out: &mut Allocation,
    ) -> Result<(), AllocError> {
        self.shared.clear();
        self.shared.resize(bundles.hints.len(), SharedSlot::UNUSED);
        self.slotted.sort_unstable();
        for &vreg in &self.slotted {
            let width = problem.width(vreg);
            match (bundles.spill_set(vreg), live.ranges(vreg)) {
                (Some(spill_set), [first, ..]) => {
                    let end = live.ranges(vreg).last().map_or(first.to, |last| last.to);
                    self.shared[spill_set.index()].add(PointRange::new(reserved_from(first.from), end), width);
                }
                _ => self.memory[vreg].slot = out.add_slot(width).into(),
            }
        }
        for (set, shared) in self.shared.iter().enumerate().filter(|(_, shared)| shared.width > 0) {
            self.packing.add(set as u32, shared.points.from..shared.points.to, shared.width);
        }
        let shared = &mut self.shared;
        self.packing.pack(out, |set, slot| shared[set as usize].slot = Some(slot))?;
        for &vreg in &self.slotted {
            if let Some(set) = bundles.spill_set(vreg) {
                self.memory[vreg].slot = self.shared[set.index()].slot.into();
            }
        }
        Ok(())
    }

    /// Writes a line per value: its registers by point, or that it is in memory, and its slot.
    pub(crate) fn dump(&self, problem: &Problem, out: &mut String) -> std::fmt::Result {
        use std::fmt::Write;
        for vreg in problem.vregs.keys() {
            write!(out, "{vreg}:")?;
            match self.assignments[vreg] {
                Assignment::Memory => write!(out, " memory")?,
                Assignment::Reg(reg) => write!(out, " {reg}")?,
                Assignment::Fragments { .. } => {
                    for fragment in self.fragments(vreg) {
                        write!(out, " {} {}", fragment.reg, fragment.points)?;
                    }
                }
            }
            writeln!(out)?;
        }
        Ok(())
    }

    /// Writes a line per value that has a slot.
    pub(crate) fn dump_slots(&self, problem: &Problem, out: &mut String) -> std::fmt::Result {
        use std::fmt::Write;
        let mut slots = problem.vregs.keys().filter_map(|vreg| Some((vreg, self.memory[vreg].slot.expand()?)));
        slots.try_for_each(|(vreg, slot)| writeln!(out, "{vreg} in {slot}"))
    }
}
