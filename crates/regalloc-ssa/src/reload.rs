//! Where a value comes from that is in no register: its slot, or its computation again; and when its slot is written.
//!
//! The code stays SSA: a value has one slot for all of its life, which it shares with its class, so that arguments in
//! memory are where their parameter is looked for. The slot is written once, at the def, or wherever the value leaves
//! registers that hold it, whichever happens less often. Loads stand where a register is needed first: before the
//! operand, or on an edge into a loop, as `spilling.rs` has it.
//!
//! 1. Where a live value is in no register its slot holds it, unless it can be computed anywhere.

use crate::coalescing::Coalescing;
use crate::liveness::reset;
use crate::spilling::{Input, Spilling};
use cranelift_entity::EntityRef;
use cranelift_entity::packed_option::PackedOption;
use kingpost_regalloc::{Allocation, Loc, Problem, Slot, VReg};
use std::fmt::{self, Write};

/// The memory side of an allocation.
#[derive(Default)]
pub(crate) struct Reloads {
    /// Per class.
    slots: Vec<PackedOption<Slot>>,
    /// Per value: is it stored where it is defined?
    at_def: Vec<bool>,
    /// Values that are in their slots anywhere.
    pub(crate) placed: Vec<VReg>,
    is_placed: Vec<bool>,
    /// Per slot, whose it is.
    pub(crate) owners: Vec<PackedOption<VReg>>,
}

impl Reloads {
    pub(crate) fn compute(&mut self, input: Input, plan: &Spilling) {
        let problem = input.problem;
        let values = problem.vregs.len();
        reset(&mut self.slots, values, None.into());
        reset(&mut self.at_def, values, false);
        self.owners.clear();
        self.placed.clear();
        reset(&mut self.is_placed, values, false);
        for (v, (value, &far)) in plan.values.iter().zip(&input.live.far).enumerate() {
            if (value.spilled || far) && input.facts.remat(VReg::new(v)).is_none() {
                let often = input.order.rates.get(input.live.def_place[v] as usize).map_or(0, |&rate| u64::from(rate));
                self.at_def[v] = far || value.leaves >= often;
            }
        }
    }

    /// Is the value stored where it is defined?
    pub(crate) fn is_stored_at_def(&self, vreg: VReg) -> bool {
        self.at_def[vreg.index()]
    }

    /// The slot of a value that has one.
    pub(crate) fn slot(&self, classes: &Coalescing, vreg: VReg) -> Option<Slot> {
        self.slots[classes.class(vreg).index()].expand()
    }

    /// The slot of a value, which is made if need be.
    pub(crate) fn place(&mut self, problem: &Problem, classes: &Coalescing, vreg: VReg, out: &mut Allocation) -> Loc {
        if !std::mem::replace(&mut self.is_placed[vreg.index()], true) {
            self.placed.push(vreg);
        }
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
        Loc::slot(slot)
    }

    /// One line per value in memory.
    pub(crate) fn dump(&self, input: Input, plan: &Spilling, out: &mut String) -> fmt::Result {
        for vreg in input.problem.vregs.keys().filter(|vreg| plan.values[vreg.index()].spilled) {
            match (self.slot(input.classes, vreg), input.facts.remat(vreg)) {
                (_, Some(inst)) => writeln!(out, "{vreg}: computed again as {inst}")?,
                (Some(_), None) if self.is_stored_at_def(vreg) => writeln!(out, "{vreg}: stored at its def")?,
                (Some(_), None) => writeln!(out, "{vreg}: stored where it leaves")?,
                (None, None) => {}
            }
        }
        Ok(())
    }
}
