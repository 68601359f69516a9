//! The registers of one instruction's operands during their choice.

use crate::values::IntervalId;
use cranelift_entity::packed_option::PackedOption;
use kingpost_regalloc::VReg;
use kingpost_regalloc::meter::heap_bytes;
use kingpost_regalloc_common::point::Position;
use kingpost_regalloc_common::preference::{Clobbered, Masks, Reg, regs};

/// The early point of the instruction.
pub(crate) const EARLY: u8 = 1;
/// The late point.
pub(crate) const LATE: u8 = 2;
/// Both points.
pub(crate) const BOTH: u8 = EARLY | LATE;

/// No tied operand.
pub(crate) const UNTIED: u32 = u32::MAX;

/// A copy to be made before the instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copy {
    pub(crate) vreg: VReg,
    /// The interval it is copied from; `None` if it is copied from memory.
    pub(crate) from: PackedOption<IntervalId>,
    /// Its register; [`Reg::NONE`] if it is copied to memory.
    pub(crate) to: Reg,
    /// The value itself, or the value whose slot receives the copy.
    pub(crate) into: VReg,
    /// Whether it is a split, so that the value is in `to` from then on.
    pub(crate) is_split: bool,
}

/// The registers of operands at the early and the late point.
pub(crate) struct OperandAssignment {
    pub(crate) position: Position,
    pub(crate) kills: Clobbered,
    pub(crate) safepoint: bool,
    /// Whether operands that may be in memory must be there, because there are too few registers.
    pub(crate) prefers_memory: bool,
    /// Registers by operand.
    pub(crate) regs: Vec<Reg>,
    /// By operand: the index of the def tied to this use, or [`UNTIED`].
    pub(crate) tied: Vec<u32>,
    /// Registers of operands at the early and at the late point.
    pub(crate) taken: [Masks; 2],
    owners: [[VReg; Reg::TABLE]; 2],
    /// Registers whose values are read early and then dead.
    pub(crate) dying: Masks,
    /// Registers of reloaded values that are live after the instruction.
    pub(crate) loaded: Masks,
    pub(crate) copies: Vec<Copy>,
}

heap_bytes!(OperandAssignment { regs, tied, copies } without { position, kills, safepoint, prefers_memory, taken, owners, dying, loaded });

impl Default for OperandAssignment {
    fn default() -> OperandAssignment {
        let empty = [VReg::from_u32(0); Reg::TABLE];
        OperandAssignment {
            position: Position::new(0),
            kills: Clobbered::default(),
            safepoint: false,
            prefers_memory: false,
            regs: Vec::new(),
            tied: Vec::new(),
            taken: [[0; 2]; 2],
            owners: [empty; 2],
            dying: [0; 2],
            loaded: [0; 2],
            copies: Vec::new(),
        }
    }
}

impl OperandAssignment {
    pub(crate) fn begin(&mut self, position: Position, operands: usize, kills: Clobbered, safepoint: bool) {
        self.position = position;
        self.kills = kills;
        self.safepoint = safepoint;
        self.prefers_memory = false;
        self.tied.clear();
        self.tied.resize(operands, UNTIED);
        self.dying = [0; 2];
        self.copies.clear();
        self.forget_choices(operands);
    }

    /// Resets all choices of registers.
    pub(crate) fn forget_choices(&mut self, operands: usize) {
        self.regs.clear();
        self.regs.resize(operands, Reg::NONE);
        self.taken = [[0; 2]; 2];
        self.loaded = [0; 2];
    }

    fn is_taken(&self, reg: Reg, point: usize) -> bool {
        reg.is_in(&self.taken[point])
    }

    /// Returns the value that an operand has in the register at the early (0) or late (1) point.
    pub(crate) fn owner(&self, reg: Reg, point: usize) -> Option<VReg> {
        self.is_taken(reg, point).then(|| self.owners[point][reg.index()])
    }

    /// Returns `true` if `vreg` may be in `reg` at `points`. Operands of one value share a register.
    pub(crate) fn can_claim(&self, reg: Reg, vreg: VReg, points: u8) -> bool {
        (points & EARLY == 0 || self.owner(reg, 0).is_none_or(|owner| owner == vreg))
            && (points & LATE == 0 || self.owner(reg, 1).is_none_or(|owner| owner == vreg))
    }

    pub(crate) fn claim(&mut self, reg: Reg, vreg: VReg, points: u8) {
        for point in (0..2).filter(|point| points >> point & 1 != 0) {
            self.taken[point][reg.class()] |= reg.bit();
            self.owners[point][reg.index()] = vreg;
        }
    }

    /// Returns the register of a class in `mask` that holds `vreg` at the early point, and also at the late one if
    /// `points` has it.
    pub(crate) fn holding(&self, vreg: VReg, class: usize, mask: u64, points: u8) -> Option<Reg> {
        let late = points & LATE != 0;
        regs(class, mask & self.taken[0][class])
            .find(|&reg| self.owner(reg, 0) == Some(vreg) && (!late || self.owner(reg, 1) == Some(vreg)))
    }
}
