//! The order of blocks, and of the instructions in each block.
//!
//! Doubly linked lists in tables. Invariants: 1. A block or instruction is in the layout at most once. 2.
//! Instructions are in blocks of the layout. 3. The sequence numbers of a block's instructions increase. An insertion
//! that finds no gap renumbers the block.

use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use std::num::NonZeroU32;

use crate::entities::{Block, Inst, grown};
use kingpost_meter::heap_bytes;

#[derive(Copy, Clone, Default, Hash, Debug)]
struct BlockNode {
    prev: PackedOption<Block>,
    next: PackedOption<Block>,
    first: PackedOption<Inst>,
    last: PackedOption<Inst>,
    /// Frequency that the client has given.
    frequency: Option<NonZeroU32>,
}

#[derive(Copy, Clone, Default, Hash, Debug)]
struct InstNode {
    prev: PackedOption<Inst>,
    next: PackedOption<Inst>,
    block: PackedOption<Block>,
    seq: u32,
}

/// Distance of the sequence numbers of appended instructions.
const GAP: u32 = 64;
/// Maximum distance after renumbering. It is wide, because a renumbered block tends to receive more insertions.
const WIDE_GAP: u32 = 1 << 14;
/// Distance of an inserted instruction from its neighbor if there is room. It is small, because insertions tend to
/// follow each other at one place.
const STEP: u32 = 4;

/// The order of blocks and instructions.
#[derive(Clone, Default, Hash, Debug)]
pub struct Layout {
    blocks: SecondaryMap<Block, BlockNode>,
    insts: SecondaryMap<Inst, InstNode>,
    first: PackedOption<Block>,
    last: PackedOption<Block>,
}

heap_bytes!(Layout { blocks, insts } without { first, last });

impl Layout {
    /// Frequency of the entry block, which runs once for each call of the function.
    pub const ENTRY: u32 = 1 << 10;
    /// Largest frequency of cold blocks.
    pub const RARE: u32 = 1;
    /// Largest frequency: 2^20 runs for each call of the function.
    pub const MAX: u32 = Layout::ENTRY << 20;

    /// Removes everything from the layout and keeps the memory.
    pub fn clear(&mut self) {
        self.blocks.clear();
        self.insts.clear();
        self.first = None.into();
        self.last = None.into();
    }

    /// Returns the first block.
    #[inline]
    pub fn entry_block(&self) -> Option<Block> {
        self.first.expand()
    }

    /// Returns the last block.
    pub fn last_block(&self) -> Option<Block> {
        self.last.expand()
    }

    /// Returns `true` if the block is in the layout.
    pub fn is_block_inserted(&self, block: Block) -> bool {
        self.blocks[block].prev.is_some() || self.first == block.into()
    }

    /// Appends a block that is not in the layout.
    pub fn append_block(&mut self, block: Block) {
        debug_assert!(!self.is_block_inserted(block), "{block} is already in the layout");
        let last = self.last.expand();
        self.link_block(last, block, None);
    }

    /// Inserts a block that is not in the layout after one that is.
    pub fn insert_block_after(&mut self, block: Block, after: Block) {
        debug_assert!(!self.is_block_inserted(block), "{block} is already in the layout");
        let next = self.next_block(after);
        self.link_block(Some(after), block, next);
    }

    /// Inserts a block that is not in the layout before one that is.
    pub fn insert_block(&mut self, block: Block, before: Block) {
        debug_assert!(!self.is_block_inserted(block), "{block} is already in the layout");
        let prev = self.prev_block(before);
        self.link_block(prev, block, Some(before));
    }

    fn link_block(&mut self, prev: Option<Block>, block: Block, next: Option<Block>) {
        let node = grown(&mut self.blocks, block);
        node.prev = prev.into();
        node.next = next.into();
        match prev {
            Some(prev) => self.blocks[prev].next = block.into(),
            None => self.first = block.into(),
        }
        match next {
            Some(next) => self.blocks[next].prev = block.into(),
            None => self.last = block.into(),
        }
    }

    /// Removes an empty block from the layout.
    pub fn remove_block(&mut self, block: Block) {
        debug_assert!(self.blocks[block].first.is_none(), "{block} still has instructions");
        let BlockNode { prev, next, frequency, .. } = self.blocks[block];
        match prev.expand() {
            Some(prev) => self.blocks[prev].next = next,
            None => self.first = next,
        }
        match next.expand() {
            Some(next) => self.blocks[next].prev = prev,
            None => self.last = prev,
        }
        self.blocks[block] = BlockNode { frequency, ..BlockNode::default() };
    }

    /// Returns the block after `block`.
    #[inline]
    pub fn next_block(&self, block: Block) -> Option<Block> {
        self.blocks[block].next.expand()
    }

    /// Returns the block before `block`.
    pub fn prev_block(&self, block: Block) -> Option<Block> {
        self.blocks[block].prev.expand()
    }

    /// Returns all blocks in layout order.
    pub fn blocks(&self) -> Blocks<'_> {
        Blocks { layout: self, next: self.entry_block() }
    }

    /// Returns `true` if the block is rarely executed.
    pub fn is_cold(&self, block: Block) -> bool {
        self.frequency(block).is_some_and(|frequency| frequency <= Layout::RARE)
    }

    /// Records that the block is rarely executed, whatever frequency it was given.
    pub fn set_cold(&mut self, block: Block) {
        self.set_frequency(block, Layout::RARE);
    }

    /// Returns the frequency that the block was given, in the unit of [`Layout::ENTRY`].
    pub fn frequency(&self, block: Block) -> Option<u32> {
        self.blocks[block].frequency.map(NonZeroU32::get)
    }

    /// Sets the frequency of a block, from [`Layout::RARE`], which means that it is cold, to [`Layout::MAX`]. Other frequencies
    /// are rounded to one of these.
    pub fn set_frequency(&mut self, block: Block, frequency: u32) {
        let frequency = frequency.clamp(Layout::RARE, Layout::MAX);
        self.blocks[block].frequency = NonZeroU32::new(frequency);
    }

    /// Returns the first instruction of a block.
    #[inline]
    pub fn first_inst(&self, block: Block) -> Option<Inst> {
        self.blocks[block].first.expand()
    }

    /// Returns the last instruction of a block.
    #[inline]
    pub fn last_inst(&self, block: Block) -> Option<Inst> {
        self.blocks[block].last.expand()
    }

    /// Returns the instruction after `inst` in its block.
    #[inline]
    pub fn next_inst(&self, inst: Inst) -> Option<Inst> {
        self.insts[inst].next.expand()
    }

    /// Returns the instruction before `inst` in its block.
    #[inline]
    pub fn prev_inst(&self, inst: Inst) -> Option<Inst> {
        self.insts[inst].prev.expand()
    }

    /// Returns the block that holds the instruction.
    #[inline]
    pub fn inst_block(&self, inst: Inst) -> Option<Block> {
        self.insts[inst].block.expand()
    }

    /// Returns the sequence number of an instruction. Sequence numbers increase along a block.
    pub fn seq(&self, inst: Inst) -> u32 {
        self.insts[inst].seq
    }

    /// Returns the instructions of a block in order, as a double-ended iterator.
    #[inline]
    pub fn block_insts(&self, block: Block) -> Insts<'_> {
        Insts { layout: self, head: self.first_inst(block), tail: self.last_inst(block) }
    }

    /// Appends an instruction to a block.
    #[inline]
    pub fn append_inst(&mut self, inst: Inst, block: Block) {
        debug_assert!(self.inst_block(inst).is_none(), "{inst} is already in the layout");
        let last = self.blocks[block].last;
        let seq = match last.expand() {
            Some(last) => self.insts[last].seq.checked_add(GAP),
            None => Some(GAP),
        };
        *grown(&mut self.insts, inst) =
            InstNode { prev: last, next: None.into(), block: block.into(), seq: seq.unwrap_or(u32::MAX) };
        match last.expand() {
            Some(last) => self.insts[last].next = inst.into(),
            None => self.blocks[block].first = inst.into(),
        }
        self.blocks[block].last = inst.into();
        if seq.is_none() {
            self.renumber(block);
        }
    }

    /// Inserts an instruction before another one.
    pub fn insert_inst(&mut self, inst: Inst, before: Inst) {
        debug_assert!(self.inst_block(inst).is_none(), "{inst} is already in the layout");
        let InstNode { prev, block, seq: after_seq, .. } = self.insts[before];
        let prev_seq = prev.expand().map_or(0, |prev| self.insts[prev].seq);
        let step = STEP.min((after_seq - prev_seq) / 2);
        let seq = if prev.is_none() { after_seq - step } else { prev_seq + step };
        self.insts[inst] = InstNode { prev, next: before.into(), block, seq };
        self.insts[before].prev = inst.into();
        let block = block.expand();
        match prev.expand() {
            Some(prev) => self.insts[prev].next = inst.into(),
            None => {
                if let Some(block) = block {
                    self.blocks[block].first = inst.into();
                }
            }
        }
        if let (0, Some(block)) = (step, block) {
            self.renumber(block);
        }
    }

    /// Inserts an instruction after another one.
    pub fn insert_inst_after(&mut self, inst: Inst, after: Inst) {
        match (self.next_inst(after), self.inst_block(after)) {
            (Some(next), _) => self.insert_inst(inst, next),
            (None, Some(block)) => self.append_inst(inst, block),
            (None, None) => debug_assert!(false, "{after} is not in the layout"),
        }
    }

    /// Removes an instruction from its block.
    #[inline]
    pub fn remove_inst(&mut self, inst: Inst) {
        let InstNode { prev, next, block, .. } = std::mem::take(&mut self.insts[inst]);
        let Some(block) = block.expand() else { return };
        match prev.expand() {
            Some(prev) => self.insts[prev].next = next,
            None => self.blocks[block].first = next,
        }
        match next.expand() {
            Some(next) => self.insts[next].prev = prev,
            None => self.blocks[block].last = prev,
        }
    }

    /// Moves `inst` and all later instructions of its block into `new_block`, which is in the layout and empty.
    /// Linear in the moved instructions.
    pub fn split_block(&mut self, new_block: Block, inst: Inst) {
        let Some(old_block) = self.inst_block(inst) else { return };
        let prev = std::mem::take(&mut self.insts[inst].prev);
        let last = self.blocks[old_block].last;
        self.blocks[old_block].last = prev;
        match prev.expand() {
            Some(prev) => self.insts[prev].next = None.into(),
            None => self.blocks[old_block].first = None.into(),
        }
        self.blocks[new_block].first = inst.into();
        self.blocks[new_block].last = last;
        let mut cursor = Some(inst);
        while let Some(inst) = cursor {
            self.insts[inst].block = new_block.into();
            cursor = self.next_inst(inst);
        }
    }

    /// Moves all instructions of `from` to the end of `block`, and removes `from` from the layout. Takes time linear
    /// in the number of moved instructions.
    pub fn append_insts_of(&mut self, block: Block, from: Block) {
        let BlockNode { first, last, .. } = self.blocks[from];
        self.blocks[from].first = None.into();
        self.blocks[from].last = None.into();
        self.remove_block(from);
        let Some(head) = first.expand() else { return };
        let end = std::mem::replace(&mut self.blocks[block].last, last);
        match end.expand() {
            Some(end) => self.insts[end].next = first,
            None => self.blocks[block].first = first,
        }
        self.insts[head].prev = end;
        let mut seq = end.expand().map_or(0, |end| self.insts[end].seq);
        let mut next = Some(head);
        while let Some(inst) = next {
            seq = seq.saturating_add(GAP);
            let node = &mut self.insts[inst];
            node.block = block.into();
            node.seq = seq;
            next = node.next.expand();
        }
        if seq == u32::MAX {
            self.renumber(block);
        }
    }

    /// Numbers the instructions of a block again, in the lower half of the number space. Linear in the instructions of
    /// the block.
    fn renumber(&mut self, block: Block) {
        let count = self.block_insts(block).count() as u32;
        let gap = ((1 << 31) / count.max(1)).clamp(1, WIDE_GAP);
        let mut seq = 0_u32;
        let mut cursor = self.first_inst(block);
        while let Some(inst) = cursor {
            seq = seq.saturating_add(gap);
            self.insts[inst].seq = seq;
            cursor = self.next_inst(inst);
        }
    }
}

/// Iterator over the blocks of a layout.
#[derive(Clone, Debug)]
pub struct Blocks<'a> {
    layout: &'a Layout,
    next: Option<Block>,
}

impl Iterator for Blocks<'_> {
    type Item = Block;

    #[inline]
    fn next(&mut self) -> Option<Block> {
        let block = self.next?;
        self.next = self.layout.next_block(block);
        Some(block)
    }
}

/// Iterator over the instructions of a block.
#[derive(Clone, Debug)]
pub struct Insts<'a> {
    layout: &'a Layout,
    head: Option<Inst>,
    tail: Option<Inst>,
}

impl Insts<'_> {
    fn take_if_last(&mut self) -> bool {
        let last = self.head == self.tail;
        if last {
            self.head = None;
            self.tail = None;
        }
        last
    }
}

impl Iterator for Insts<'_> {
    type Item = Inst;

    #[inline]
    fn next(&mut self) -> Option<Inst> {
        let inst = self.head?;
        if !self.take_if_last() {
            self.head = self.layout.next_inst(inst);
        }
        Some(inst)
    }
}

impl DoubleEndedIterator for Insts<'_> {
    fn next_back(&mut self) -> Option<Inst> {
        let inst = self.tail?;
        if !self.take_if_last() {
            self.tail = self.layout.prev_inst(inst);
        }
        Some(inst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn insts(layout: &Layout, block: Block) -> Vec<u32> {
        let insts: Vec<Inst> = layout.block_insts(block).collect();
        let mut back: Vec<Inst> = layout.block_insts(block).rev().collect();
        back.reverse();
        assert_eq!(insts, back);
        assert!(insts.windows(2).all(|pair| layout.seq(pair[0]) < layout.seq(pair[1])));
        insts.into_iter().map(Inst::as_u32).collect()
    }

    #[test]
    fn blocks_keep_their_order() {
        let mut layout = Layout::default();
        let block = Block::from_u32;
        layout.append_block(block(1));
        layout.append_block(block(2));
        layout.insert_block(block(0), block(1));
        layout.insert_block_after(block(3), block(1));
        let order = |layout: &Layout| layout.blocks().map(Block::as_u32).collect::<Vec<_>>();
        assert_eq!(order(&layout), [0, 1, 3, 2]);
        layout.remove_block(block(0));
        layout.remove_block(block(2));
        assert_eq!(order(&layout), [1, 3]);
        assert!(!layout.is_block_inserted(block(2)) && layout.is_block_inserted(block(1)));
        layout.clear();
        assert_eq!(order(&layout), []);
    }

    #[test]
    fn insertions_renumber() {
        let mut layout = Layout::default();
        let (block, inst) = (Block::from_u32(0), Inst::from_u32);
        layout.append_block(block);
        layout.append_inst(inst(0), block);
        layout.append_inst(inst(1), block);
        for number in 2..400 {
            layout.insert_inst(inst(number), inst(1));
        }
        let mut expected: Vec<u32> = (2..400).collect();
        expected.insert(0, 0);
        expected.push(1);
        assert_eq!(insts(&layout, block), expected);
        for number in 400..500 {
            layout.insert_inst(inst(number), layout.first_inst(block).unwrap());
        }
        layout.insert_inst_after(inst(500), inst(1));
        layout.remove_inst(inst(0));
        assert_eq!(insts(&layout, block).len(), 500);
    }

    #[test]
    fn many_insertions_at_one_place() {
        let mut layout = Layout::default();
        let (block, inst) = (Block::from_u32(0), Inst::from_u32);
        layout.append_block(block);
        layout.append_inst(inst(0), block);
        (1..200_000).for_each(|number| layout.insert_inst(inst(number), inst(0)));
        assert_eq!(insts(&layout, block).len(), 200_000);
    }

    #[test]
    fn split() {
        let mut layout = Layout::default();
        let (a, b, inst) = (Block::from_u32(0), Block::from_u32(1), Inst::from_u32);
        layout.append_block(a);
        (0..4).for_each(|number| layout.append_inst(inst(number), a));
        layout.append_block(b);
        layout.split_block(b, inst(2));
        assert_eq!((insts(&layout, a), insts(&layout, b)), (vec![0, 1], vec![2, 3]));
        layout.append_inst(inst(9), a);
        assert_eq!(insts(&layout, a), [0, 1, 9]);
        assert_eq!(layout.inst_block(inst(3)), Some(b));
    }
}
