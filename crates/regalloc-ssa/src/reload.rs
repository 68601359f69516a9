//! Where a value comes from that is in no register: its slot, written once at its def, or its computation again.
//!
//! The code stays SSA: a value has one slot for all of its life, which is valid from the def on, so that leaving a
//! register costs nothing and no edge stores anything but parameters.

use crate::liveness::Liveness;
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use kingpost_regalloc::{Allocation, Loc, ParallelMoves, Problem, Slot, VReg};
use std::fmt::{self, Write};

/// The memory side of an allocation.
#[derive(Default)]
pub(crate) struct Reloads {
    slots: SecondaryMap<VReg, PackedOption<Slot>>,
}

impl Reloads {
    pub(crate) fn clear(&mut self) {
        self.slots.clear();
    }

    /// The slot of a value that has one.
    pub(crate) fn slot(&self, vreg: VReg) -> Option<Slot> {
        self.slots[vreg].expand()
    }

    /// The slot of a value, which is stored at its def from now on.
    pub(crate) fn store(&mut self, problem: &Problem, vreg: VReg, out: &mut Allocation) -> Loc {
        let slot = match self.slots[vreg].expand() {
            Some(slot) => slot,
            None => {
                let slot = out.add_slot(problem.width(vreg));
                self.slots[vreg] = slot.into();
                slot
            }
        };
        Loc::slot(slot)
    }

    /// The value leaves its register and is needed later.
    pub(crate) fn leave(&mut self, problem: &Problem, live: &Liveness, vreg: VReg, out: &mut Allocation) {
        if live.remat[vreg].is_none() {
            self.store(problem, vreg, out);
        }
    }

    /// Adds to `moves` what brings a value to `to` that is in no register.
    pub(crate) fn bring(
        &mut self,
        problem: &Problem,
        live: &Liveness,
        vreg: VReg,
        to: Loc,
        moves: &mut ParallelMoves,
        out: &mut Allocation,
    ) {
        let (class, width) = (problem.class(vreg), problem.width(vreg));
        match live.remat[vreg].expand() {
            Some(inst) => moves.add_remat(inst, to, class, width),
            None => moves.add(self.store(problem, vreg, out), to, class, width),
        }
    }

    /// One line per value in memory.
    pub(crate) fn dump(&self, problem: &Problem, live: &Liveness, out: &mut String) -> fmt::Result {
        for vreg in problem.vregs.keys() {
            match (self.slot(vreg), live.remat[vreg].expand()) {
                (_, Some(inst)) => writeln!(out, "{vreg}: computed again as {inst}")?,
                (Some(slot), None) => writeln!(out, "{vreg}: stored at its def in {slot}")?,
                (None, None) => {}
            }
        }
        Ok(())
    }
}
