//! A function whose operands have their places, ready to be encoded. An allocator that works during selection makes
//! it instead of a [`Code`](crate::Code) with instructions and an allocation.

use crate::inst::MInst;
use crate::regs::Regs;
use crate::row::{RowKind, Twin};
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, PrimaryMap};
use kingpost_regalloc::{Block, EditKind, Inst, Loc, PRegSet, Slot, SlotData};

/// Unit of encoding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// An instruction.
    Inst(PlacedInst),
    /// An edit. A rematerialization is an instruction instead.
    Edit(EditKind),
}

impl Step {
    /// Returns `true` if this is an edit, or an instruction that neither transfers control nor traps nor reads a
    /// slot, such as one that rematerializes a value on an edge.
    pub(crate) fn is_move(&self) -> bool {
        match self {
            Step::Inst(placed) => !placed.is_special && placed.inst.trap().is_none(),
            Step::Edit(_) => true,
        }
    }
}

/// An instruction with its registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlacedInst {
    /// Instruction, whose row is the memory twin if an operand is in a slot.
    pub inst: MInst,
    /// Registers of its operands without operands in memory, with the registers of its address last.
    pub regs: Regs,
    /// Whether no instruction after it reads the flags from before it.
    pub flags_are_dead: bool,
    /// Whether it transfers control, or has an operand in a slot.
    pub is_special: bool,
    /// Slot that is its memory operand.
    pub slot: PackedOption<Slot>,
}

impl PlacedInst {
    /// Returns an instruction of the given kind without registers.
    #[inline]
    pub fn new(inst: MInst, kind: RowKind, flags_are_dead: bool) -> PlacedInst {
        let is_special = kind.is_control();
        PlacedInst { inst, regs: Regs::default(), flags_are_dead, is_special, slot: None.into() }
    }

    /// Replaces one operand by a slot, which the memory twin of the row reads.
    #[inline]
    pub fn read_slot(&mut self, slot: Slot, twin: Twin) {
        self.inst.row = twin.row;
        (self.slot, self.is_special) = (slot.into(), true);
    }
}

const _: () = assert!(size_of::<Step>() == 32);

/// Steps of a function. Cleared and reused.
#[derive(Clone, Default, Debug)]
pub struct Steps {
    /// Steps to encode: blocks from the last to the first, and in each the steps in reverse order.
    pub list: Vec<Step>,
    /// Source locations of the steps, or empty if the function has none.
    pub srclocs: Vec<u32>,
    /// Steps at the heads of blocks before all further steps, in order.
    pub heads: Vec<Step>,
    /// For each block, the range of its steps, and the range of its edits in `heads`.
    pub blocks: Vec<BlockSteps>,
    /// Spill slots.
    pub slots: PrimaryMap<Slot, SlotData>,
    /// Registers that the function preserves and writes, or a superset of them.
    pub written: PRegSet,
    /// Steps of the problem's instructions, if the steps are read by more than emission.
    pub origins: Origins,
}

/// The steps that the instructions of a problem became, and the rematerializations among the steps. Empty if only
/// emission reads the steps.
#[derive(Clone, Default, Debug)]
pub struct Origins {
    /// Outcome by instruction of the problem.
    pub insts: PrimaryMap<Inst, Outcome>,
    /// Indices of rematerializations in [`Steps::list`], ascending, with the instruction that defines the value.
    pub remats: Vec<(u32, Inst)>,
    /// Indices of rematerializations in [`Steps::heads`], ascending, with the instruction that defines the value.
    pub head_remats: Vec<(u32, Inst)>,
    /// For each class, the slot that parallel moves use between two instructions.
    pub emergency: [Option<Slot>; 2],
}

/// Result of allocation for one instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The step at this index of [`Steps::list`].
    Step(u32),
    /// No step.
    Dropped {
        /// Index of the step added after the instruction was dropped, which runs before it.
        before: u32,
        /// Location of its operands.
        loc: Loc,
    },
}

impl Outcome {
    /// Returns the index after the steps that run after the instruction, and the index of the last step that runs before it.
    pub(crate) fn bounds(self) -> (u32, u32) {
        match self {
            Outcome::Step(step) => (step, step + 1),
            Outcome::Dropped { before, .. } => (before, before),
        }
    }
}

/// Ranges of one block.
#[derive(Clone, Copy, Default, Debug)]
pub struct BlockSteps {
    /// Range in [`Steps::list`].
    pub list: (u32, u32),
    /// Range in [`Steps::heads`].
    pub heads: (u32, u32),
}

impl Steps {
    /// Clears the steps for a function of `blocks` blocks.
    pub fn clear(&mut self, blocks: usize) {
        self.list.clear();
        self.srclocs.clear();
        self.heads.clear();
        self.blocks.clear();
        self.blocks.resize(blocks, BlockSteps::default());
        self.slots.clear();
        self.written = PRegSet::EMPTY;
        self.origins.insts.clear();
        self.origins.remats.clear();
        self.origins.head_remats.clear();
    }

    /// Returns the steps at the head of a block, which run before all its further steps, in order.
    pub(crate) fn head(&self, block: Block) -> &[Step] {
        let (start, end) = self.blocks[block.index()].heads;
        &self.heads[start as usize..end as usize]
    }

    /// Returns the steps of a block after its head, last one first.
    pub(crate) fn rest(&self, block: Block) -> &[Step] {
        let (start, end) = self.blocks[block.index()].list;
        &self.list[start as usize..end as usize]
    }

    /// Returns the steps of a block in the order in which they run, each with its source location.
    pub(crate) fn in_order(&self, block: Block) -> impl Iterator<Item = (&Step, u32)> {
        let (start, end) = self.blocks[block.index()].list;
        let srclocs = self.srclocs.get(start as usize..end as usize).unwrap_or_default();
        let at_head = srclocs.last().copied().unwrap_or(u32::MAX);
        let head = self.head(block).iter().map(move |step| (step, at_head));
        let rest = self.rest(block).iter().enumerate().rev();
        head.chain(rest.map(move |(k, step)| (step, srclocs.get(k).copied().unwrap_or(u32::MAX))))
    }
}
