//! Memory for one constrained instruction of coloring.

use crate::demands::{Matching, Request, Site};
use crate::spill_plan::Transfer;
use kingpost_regalloc::meter::heap_bytes;
use kingpost_regalloc::{Inst, PReg, PRegSet, Problem, VReg};
use kingpost_regalloc_common::matching::Points;

/// Memory reused for each instruction.
#[derive(Default)]
pub(crate) struct Scratch {
    pub(crate) matching: Matching,
    /// Values that are reloaded from memory.
    pub(crate) reloads: Vec<VReg>,
    /// Values that memory also has, so that operands that may be in memory read them there.
    pub(crate) copied: Vec<VReg>,
    /// Results that begin in memory.
    pub(crate) begins: Vec<VReg>,
    /// Per operand, its place, and the number of its request if it needs a register.
    pub(crate) sites: Vec<(Site, u32)>,
    /// The registers in which operands read values, without duplicates.
    pub(crate) reads: Vec<Read>,
    pub(crate) taken: Taken,
    /// Values that live through, with the registers to which they move.
    pub(crate) moved: Vec<(VReg, PReg)>,
    /// Registers of values with their last use in the instruction.
    pub(crate) ending: PRegSet,
    /// The registers in `ending`, and the registers that moved values leave.
    pub(crate) freed: PRegSet,
    /// Values that must leave their registers, with the distances of their next uses.
    pub(crate) displaced: Vec<(u32, VReg)>,
    /// Values that live through, sorted.
    pub(crate) through: Vec<VReg>,
}

heap_bytes!(Scratch { matching, reloads, copied, begins, sites, reads, moved, displaced, through } without { taken, ending, freed });

impl Scratch {
    pub(crate) fn begin(&mut self, problem: &Problem) {
        self.matching.begin(problem);
        self.reloads.clear();
        self.copied.clear();
        self.begins.clear();
    }

    /// Records the registers that were found for operands.
    pub(crate) fn note_requests(&mut self) {
        let Scratch { matching, reads, taken, .. } = self;
        let uses = matching.requests().iter().filter(|request| request.is_use);
        reads.clear();
        reads.extend(uses.filter_map(|request| {
            let &Request { vreg, points, is_written, reg, .. } = request;
            Some(Read { vreg, reg: reg?, is_late: points.late(), is_written })
        }));
        *taken = Taken {
            early: matching.taken(Points::EARLY),
            late: matching.taken(Points::LATE).union(matching.taken_on_edges()),
        };
    }

    /// Records the transfers that the current instruction performs itself.
    pub(crate) fn note_transfers(&mut self, transfers: &[(Inst, VReg, Transfer)]) {
        let of =
            |kind: Transfer| transfers.iter().filter(move |transfer| transfer.2 == kind).map(|transfer| transfer.1);
        self.reloads.extend(of(Transfer::Reload));
        self.copied.extend(of(Transfer::ReadInMemory));
        self.begins.extend(of(Transfer::Begin));
    }
}

/// A read of a value in a register by an operand.
#[derive(Clone, Copy)]
pub(crate) struct Read {
    pub(crate) vreg: VReg,
    pub(crate) reg: PReg,
    /// Whether the register is also taken at the late point.
    pub(crate) is_late: bool,
    /// Whether the instruction writes it.
    pub(crate) is_written: bool,
}

/// Registers of operands.
#[derive(Clone, Copy, Default)]
pub(crate) struct Taken {
    pub(crate) early: PRegSet,
    /// Registers taken at the late point, on any edge.
    pub(crate) late: PRegSet,
}
