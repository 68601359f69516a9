//! A function whose operands have their places, ready to be encoded. An allocator that works during selection makes
//! it instead of a [`Code`](crate::Code) with instructions and an allocation.

use crate::inst::MInst;
use crate::regs::Regs;
use crate::row::{RowKind, Twin};
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, PrimaryMap};
use kingpost_meter::heap_bytes;
use kingpost_regalloc::{Block, EditKind, Inst, Loc, PRegSet, Slot, SlotData};

/// Unit of encoding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InstOrEdit {
    /// An instruction.
    Inst(AllocatedInst),
    /// An edit. A rematerialization is an instruction instead.
    Edit(EditKind),
}

impl InstOrEdit {
    /// Returns `true` if this is an edit, or an instruction that neither transfers control nor traps nor reads a
    /// slot, such as one that rematerializes a value on an edge.
    pub(crate) fn is_move(&self) -> bool {
        match self {
            InstOrEdit::Inst(placed) => !placed.is_special && placed.inst.trap().is_none(),
            InstOrEdit::Edit(_) => true,
        }
    }
}

/// An instruction with its registers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AllocatedInst {
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

impl AllocatedInst {
    /// Returns an instruction of the given kind without registers.
    pub fn new(inst: MInst, kind: RowKind, flags_are_dead: bool) -> AllocatedInst {
        let is_special = kind.is_control();
        AllocatedInst { inst, regs: Regs::default(), flags_are_dead, is_special, slot: None.into() }
    }

    /// Replaces one operand by a slot, which the memory twin of the row reads.
    pub fn read_slot(&mut self, slot: Slot, twin: Twin) {
        self.inst.row = twin.row;
        (self.slot, self.is_special) = (slot.into(), true);
    }
}

const _: () = assert!(size_of::<InstOrEdit>() == 32);

/// Items of a function. Cleared and reused.
#[derive(Clone, Default, Debug)]
pub struct AllocatedCode {
    /// Items to encode: blocks from the last to the first, and in each the items in reverse order.
    pub list: Vec<InstOrEdit>,
    /// Source locations of the items, or empty if the function has none.
    pub srclocs: Vec<u32>,
    /// Items at the heads of blocks before all further items, in order.
    pub heads: Vec<InstOrEdit>,
    /// For each block, the range of its items, and the range of its edits in `heads`.
    pub blocks: Vec<BlockRanges>,
    /// Spill slots.
    pub slots: PrimaryMap<Slot, SlotData>,
    /// Registers that the function preserves and writes, or a superset of them.
    pub written: PRegSet,
    /// Items of the problem's instructions, if the items are read by more than emission.
    pub origins: Origins,
}

heap_bytes!(AllocatedCode { list, srclocs, heads, blocks, slots, origins } without { written });

/// The items that the instructions of a problem became, and the rematerializations among the items. Empty if only
/// emission reads the items.
#[derive(Clone, Default, Debug)]
pub struct Origins {
    /// Outcome by instruction of the problem.
    pub insts: PrimaryMap<Inst, Outcome>,
    /// Indices of rematerializations in [`AllocatedCode::list`], ascending, with the instruction that defines the value.
    pub remats: Vec<(u32, Inst)>,
    /// Indices of rematerializations in [`AllocatedCode::heads`], ascending, with the instruction that defines the value.
    pub head_remats: Vec<(u32, Inst)>,
    /// For each class, the slot that parallel moves use between two instructions.
    pub emergency: [Option<Slot>; 2],
}

heap_bytes!(Origins { insts, remats, head_remats } without { emergency });

/// Result of allocation for one instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The item at this index of [`AllocatedCode::list`].
    Item(u32),
    /// No item.
    Dropped {
        /// Index of the item added after the instruction was dropped, which runs before it.
        before: u32,
        /// Location of its operands.
        loc: Loc,
    },
}

impl Outcome {
    /// Returns the index after the items that run after the instruction, and the index of the last item that runs before it.
    pub(crate) fn bounds(self) -> (u32, u32) {
        match self {
            Outcome::Item(item) => (item, item + 1),
            Outcome::Dropped { before, .. } => (before, before),
        }
    }
}

/// Ranges of one block.
#[derive(Clone, Copy, Default, Debug)]
pub struct BlockRanges {
    /// Range in [`AllocatedCode::list`].
    pub list: (u32, u32),
    /// Range in [`AllocatedCode::heads`].
    pub heads: (u32, u32),
}

impl AllocatedCode {
    /// Clears the items for a function of `blocks` blocks.
    pub fn clear(&mut self, blocks: usize) {
        self.list.clear();
        self.srclocs.clear();
        self.heads.clear();
        self.blocks.clear();
        self.blocks.resize(blocks, BlockRanges::default());
        self.slots.clear();
        self.written = PRegSet::EMPTY;
        self.origins.insts.clear();
        self.origins.remats.clear();
        self.origins.head_remats.clear();
    }

    /// Returns the items at the head of a block, which run before all its further items, in order.
    pub(crate) fn head(&self, block: Block) -> &[InstOrEdit] {
        let (start, end) = self.blocks[block.index()].heads;
        &self.heads[start as usize..end as usize]
    }

    /// Returns the items of a block after its head, last one first.
    pub(crate) fn rest(&self, block: Block) -> &[InstOrEdit] {
        let (start, end) = self.blocks[block.index()].list;
        &self.list[start as usize..end as usize]
    }

    /// Returns the items of a block in the order in which they run, each with its source location.
    pub(crate) fn in_order(&self, block: Block) -> impl Iterator<Item = (&InstOrEdit, u32)> {
        let (start, end) = self.blocks[block.index()].list;
        let srclocs = self.srclocs.get(start as usize..end as usize).unwrap_or_default();
        let at_head = srclocs.last().copied().unwrap_or(u32::MAX);
        let head = self.head(block).iter().map(move |item| (item, at_head));
        let rest = self.rest(block).iter().enumerate().rev();
        head.chain(rest.map(move |(k, item)| (item, srclocs.get(k).copied().unwrap_or(u32::MAX))))
    }
}
