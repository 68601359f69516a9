//! The machine as an allocator sees it: registers, and the costs of edits.

use crate::reg::{PReg, PRegSet, RegClass};

/// The registers of one class and the edits the machine has for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassEnv {
    /// Allocatable registers in order of preference. A problem or an allocation may name no other register.
    pub order: Vec<PReg>,
    /// The allocatable registers whose first use costs a save and a restore.
    pub callee_saved: PRegSet,
    /// A register that is not in `order` and that edits may overwrite. It never carries a value across an
    /// instruction.
    pub scratch: Option<PReg>,
    /// Whether the machine can exchange two registers of the class in one instruction.
    pub exchange: bool,
    /// Whether the machine can move from slot to slot in one instruction.
    pub slot_move: bool,
}

impl ClassEnv {
    /// Returns the allocatable registers as a set.
    pub fn allocatable(&self) -> PRegSet {
        self.order.iter().copied().collect()
    }
}

/// Prices of edits in halves of a load, per execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// Register to register.
    pub mov: u32,
    /// Two registers exchanged.
    pub exchange: u32,
    /// Register to slot.
    pub spill: u32,
    /// Slot to register.
    pub fill: u32,
    /// A rematerialized value.
    pub remat: u32,
    /// Slot to slot.
    pub slot_move: u32,
    /// Save and restore of one callee-saved register, at entry frequency.
    pub callee_saved: u32,
    /// The jump of an edge block that is not empty, at the edge's frequency.
    pub edge_block: u32,
}

impl Default for Costs {
    fn default() -> Costs {
        Costs { mov: 1, exchange: 2, spill: 2, fill: 2, remat: 1, slot_move: 4, callee_saved: 4, edge_block: 2 }
    }
}

/// The machine: registers per class and the costs of edits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MachineEnv {
    /// Indexed by [`RegClass::index`].
    pub classes: [ClassEnv; 2],
    /// Costs of edits.
    pub costs: Costs,
}

impl MachineEnv {
    /// Returns the registers of one class.
    #[inline]
    pub fn class(&self, class: RegClass) -> &ClassEnv {
        &self.classes[class.index()]
    }

    /// Returns all allocatable registers of both classes.
    pub fn allocatable(&self) -> PRegSet {
        self.classes[0].allocatable().union(self.classes[1].allocatable())
    }

    /// Returns all callee-saved registers of both classes.
    pub fn callee_saved(&self) -> PRegSet {
        self.classes[0].callee_saved.union(self.classes[1].callee_saved)
    }

    /// Returns an artificial machine for tests: the first `ints` and `floats` registers, all caller-saved, with an
    /// integer exchange and no scratch register.
    pub fn simple(ints: u8, floats: u8) -> MachineEnv {
        let class = |class, n| ClassEnv {
            order: (0..n).map(|i| PReg::new(class, i)).collect(),
            exchange: class == RegClass::Int,
            ..ClassEnv::default()
        };
        MachineEnv { classes: [class(RegClass::Int, ints), class(RegClass::Float, floats)], costs: Costs::default() }
    }
}
