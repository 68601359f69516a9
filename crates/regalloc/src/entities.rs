//! Dense ids of everything the contract talks about.

use cranelift_entity::entity_impl;

/// A virtual register: one SSA value that needs a location.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VReg(u32);
entity_impl!(VReg, "v");

/// A basic block of a problem.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Block(u32);
entity_impl!(Block, "b");

/// An instruction of a problem. Instructions of one block are numbered consecutively.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Inst(u32);
entity_impl!(Inst, "i");

/// A control-flow edge between two blocks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Edge(u32);
entity_impl!(Edge, "e");

/// A spill slot of an allocation. Slots never overlap.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot(u32);
entity_impl!(Slot, "s");

/// An interned clobber description; [`ClobberId::NONE`] clobbers nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClobberId(u32);
entity_impl!(ClobberId, "clobbers");

impl ClobberId {
    /// The empty description, present in every problem.
    pub const NONE: ClobberId = ClobberId(0);
}

/// An interned subset of a register class, for [`Constraint::Within`](crate::Constraint::Within).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegSetId(u32);
entity_impl!(RegSetId, "set");
