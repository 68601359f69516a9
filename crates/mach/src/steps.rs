//! A function whose operands have their places, ready to be encoded: what an allocator that works while instructions are
//! selected makes instead of a [`Code`](crate::Code) with instructions and an allocation.

use crate::inst::MInst;
use crate::regs::Regs;
use crate::row::{RowKind, Twin};
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, PrimaryMap};
use kingpost_regalloc::{Block, EditKind, Inst, Loc, PRegSet, Slot, SlotData};

/// Something to be encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Step {
    /// An instruction.
    Inst(PlacedInst),
    /// An edit; none is rematerialisation, which is an instruction here.
    Edit(EditKind),
}

impl Step {
    /// Is this an edit, or an instruction that neither transfers control nor traps nor reads a slot: such as computes a value again on an
    /// edge?
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
    /// The instruction; the row's memory twin where an operand is in a slot.
    pub inst: MInst,
    /// Its registers, those of operands in memory left out, those of its address last.
    pub regs: Regs,
    /// Does nothing behind it read the flags that are there before it?
    pub flags_are_dead: bool,
    /// Does it transfer control, or have an operand in a slot?
    pub is_special: bool,
    /// The slot that is its memory operand.
    pub slot: PackedOption<Slot>,
}

impl PlacedInst {
    /// An instruction of that kind without registers.
    #[inline]
    pub fn new(inst: MInst, kind: RowKind, flags_are_dead: bool) -> PlacedInst {
        let is_special = kind.is_control();
        PlacedInst { inst, regs: Regs::default(), flags_are_dead, is_special, slot: None.into() }
    }

    /// Takes one operand from a slot, by the memory twin of the row.
    #[inline]
    pub fn read_slot(&mut self, slot: Slot, twin: Twin) {
        self.inst.row = twin.row;
        (self.slot, self.is_special) = (slot.into(), true);
    }
}

const _: () = assert!(size_of::<Step>() == 32);

/// The function. Cleared and used again.
#[derive(Clone, Default, Debug)]
pub struct Steps {
    /// What is to be encoded: blocks from the last to the first, in each from the last to the first.
    pub list: Vec<Step>,
    /// Source locations of the steps if the function has any, else empty.
    pub srclocs: Vec<u32>,
    /// What runs at the heads of blocks before anything else, in order.
    pub heads: Vec<Step>,
    /// By block: where its steps begin and end, and its edits in `heads`.
    pub blocks: Vec<BlockSteps>,
    /// Spill slots.
    pub slots: PrimaryMap<Slot, SlotData>,
    /// Of the registers that the function preserves, at least those that anything writes.
    pub written: PRegSet,
    /// The steps of the problem's instructions, if anything but emission reads the steps.
    pub origins: Origins,
}

/// The steps that the instructions of a problem became, and the values that steps compute again. Empty if nothing but emission
/// reads the steps.
#[derive(Clone, Default, Debug)]
pub struct Origins {
    /// By instruction of the problem.
    pub insts: PrimaryMap<Inst, Outcome>,
    /// Indices of steps in [`Steps::list`] that compute a value again, ascending, and the instruction that defines the value.
    pub remats: Vec<(u32, Inst)>,
    /// Indices of such steps in [`Steps::heads`], ascending.
    pub head_remats: Vec<(u32, Inst)>,
    /// Per class, the slot that parallel moves use between two instructions.
    pub emergency: [Option<Slot>; 2],
}

/// The result of allocation for one instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The step at this index of [`Steps::list`].
    Step(u32),
    /// No step.
    Dropped {
        /// Index of the step added after the instruction was dropped, which runs before it.
        before: u32,
        /// The location of its operands.
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

/// What there is of one block.
#[derive(Clone, Copy, Default, Debug)]
pub struct BlockSteps {
    /// A part of [`Steps::list`].
    pub list: (u32, u32),
    /// A part of [`Steps::heads`].
    pub heads: (u32, u32),
}

impl Steps {
    /// Empties it for a function of so many blocks.
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

    /// Returns the steps at the head of a block, which run before all others, in order.
    pub(crate) fn head(&self, block: Block) -> &[Step] {
        let (start, end) = self.blocks[block.index()].heads;
        &self.heads[start as usize..end as usize]
    }

    /// Returns the other steps of a block, last one first.
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
