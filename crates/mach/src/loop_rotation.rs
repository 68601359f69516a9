//! Order of emission of blocks: loops that test at the top are rotated to test at the bottom, and rare blocks come
//! last.
//!
//! ```text
//!     b1: cmp; jge b3                          jmp b1
//!     b2: …                                    b2: …
//!         jmp b1                               b1: cmp; jl b2
//!     b3: …                                    b3: …
//! ```
//!
//! A loop that ends in a jump to its header is rotated so that it ends with its first block that may leave it,
//! usually the header itself. The jump enters the loop instead, and the branch of that block becomes the back edge.
//! No code is duplicated. Only loops of at most [`MAX_BLOCKS`] blocks are rotated, inner ones first. In larger loops
//! the jump does not matter, and so the cost is linear in blocks.

use crate::block_order::{BlockOrder, MachineBlock, destinations};
use cranelift_entity::{EntityRef, SecondaryMap};
use kingpost_ir::Function;
use kingpost_ir::analyses::Analyses;
use kingpost_ir::loops::Loop;
use kingpost_meter::heap_bytes;
use kingpost_regalloc::Block;

/// Largest number of blocks of a loop that is rotated.
const MAX_BLOCKS: usize = 48;

/// Scratch memory of the computation. Cleared and reused.
#[derive(Default, Debug)]
pub(crate) struct LoopRotation {
    /// Last block of each loop. Loops are contiguous, except for blocks of edges that leave them.
    last: SecondaryMap<Loop, Option<Block>>,
}

heap_bytes!(LoopRotation { last });

impl LoopRotation {
    /// Appends all blocks to `layout` in the order of emission.
    pub(crate) fn lay_out(
        &mut self,
        func: &Function,
        analyses: &Analyses,
        order: &BlockOrder,
        layout: &mut Vec<Block>,
    ) {
        let blocks = (0..order.blocks().len()).map(Block::new);
        layout.extend(blocks.clone());
        if analyses.loops.loops().next().is_some() {
            self.find_last(func, analyses, order);
        }
        for each in analyses.loops.loops() {
            let (Some(first), Some(last)) = (order.block_of(analyses.loops.header(each)), self.last[each]) else {
                continue;
            };
            let range = first.index()..last.index() + 1;
            if first.index() > 0 && range.len() > 1 && range.len() <= MAX_BLOCKS {
                rotate(func, analyses, order, each, &mut layout[range]);
            }
        }
        if blocks.clone().any(|block| order.is_cold(block)) {
            layout.retain(|&block| !order.is_cold(block));
            layout.extend(blocks.filter(|&block| order.is_cold(block)));
        }
    }

    fn find_last(&mut self, func: &Function, analyses: &Analyses, order: &BlockOrder) {
        let loops = &analyses.loops;
        self.last.clear();
        for (index, &block) in order.blocks().iter().enumerate() {
            let innermost = match block {
                MachineBlock::Ir(block) => loops.innermost_loop(block),
                // Among edges within loops, only edges back to a header can be last.
                MachineBlock::Edge { from, edge } => {
                    let to = destinations(func, from)[edge as usize].block;
                    loops.innermost_loop(to).filter(|&each| loops.header(each) == to && loops.contains(each, from))
                }
            };
            if let Some(innermost) = innermost {
                self.last[innermost] = Some(Block::new(index));
            }
        }
        for each in loops.loops() {
            if let Some(parent) = loops.parent(each) {
                self.last[parent] = self.last[parent].max(self.last[each]);
            }
        }
    }
}

/// Rotates one loop, whose inner loops have been rotated.
fn rotate(func: &Function, analyses: &Analyses, order: &BlockOrder, each: Loop, blocks: &mut [Block]) {
    let loops = &analyses.loops;
    let leaves = |&block: &Block| {
        let MachineBlock::Ir(block) = order.blocks()[block.index()] else { return false };
        if loops.innermost_loop(block) != Some(each) {
            return false;
        }
        let dests = destinations(func, block);
        let targets = order.targets(block, dests.len());
        let exits = |(dest, &target): (&kingpost_ir::BlockCall, &Block)| {
            !loops.contains(each, dest.block) && !order.is_cold(target)
        };
        dests.iter().zip(targets).any(exits)
    };
    if blocks.last().is_some_and(leaves) {
        return;
    }
    if let Some(exiting) = blocks.iter().position(leaves) {
        blocks.rotate_left(exiting + 1);
    }
}
