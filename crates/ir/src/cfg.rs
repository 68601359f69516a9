//! The control-flow graph: successors and predecessors of blocks.
//!
//! Edges are stored in two arrays: one is grouped by source, in the order of the layout, and one is sorted by
//! destination. Each block stores the start of its part in both. Parallel edges are kept: an edge is identified by
//! its terminator and its index among the terminator's destinations. Computing the graph takes linear time. A change
//! to a terminator or to the layout makes it stale.

use cranelift_entity::EntityRef;
use cranelift_entity::packed_option::PackedOption;
use std::ops::Range;

use crate::entities::{Block, Inst};
use crate::function::Function;
use crate::layout::Layout;
use crate::release::release;
use kingpost_meter::heap_bytes;

/// An edge, seen from its destination.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Predecessor {
    /// The block in which the edge starts.
    pub block: Block,
    /// The terminator of `block`.
    pub inst: Inst,
    /// Index of the edge among the terminator's destinations.
    pub edge: u32,
}

/// The end of a block.
#[derive(Copy, Clone, Default, Debug)]
struct Exit {
    terminator: PackedOption<Inst>,
    /// Start of the block's destinations among the destinations of all blocks.
    start: u32,
    end: u32,
}

/// Successors and predecessors of all blocks.
#[derive(Clone, Default, Debug)]
pub struct ControlFlowGraph {
    /// Blocks of the layout, in its order.
    blocks: Vec<Block>,
    /// By block.
    exits: Vec<Exit>,
    succs: Vec<Block>,
    pred_starts: Vec<u32>,
    preds: Vec<Predecessor>,
}

heap_bytes!(ControlFlowGraph { blocks, exits, succs, pred_starts, preds });

impl ControlFlowGraph {
    /// Clears everything and frees the memory.
    pub(crate) fn release(&mut self) {
        release(&mut self.blocks);
        release(&mut self.exits);
        release(&mut self.succs);
        release(&mut self.pred_starts);
        release(&mut self.preds);
    }

    /// Returns the graph of a function.
    pub fn new(func: &Function) -> ControlFlowGraph {
        let mut cfg = ControlFlowGraph::default();
        cfg.compute(func);
        cfg
    }

    /// Computes the graph of a function in the memory of this one.
    pub fn compute(&mut self, func: &Function) {
        let blocks = func.dfg.num_blocks();
        self.blocks.clear();
        self.exits.clear();
        self.exits.resize(blocks, Exit::default());
        self.succs.clear();
        self.pred_starts.clear();
        // One more, because while the array is filled the start of `b`'s part is stored one entry further on.
        self.pred_starts.resize(blocks + 2, 0);
        let (exits, pred_starts) = (&mut self.exits[..], &mut self.pred_starts[2..]);
        for block in func.layout.blocks() {
            self.blocks.push(block);
            let Some(inst) = func.layout.last_inst(block) else { continue };
            let start = self.succs.len() as u32;
            for call in func.dfg.branch_destinations(inst) {
                self.succs.push(call.block);
                pred_starts[call.block.index()] += 1;
            }
            exits[block.index()] = Exit { terminator: inst.into(), start, end: self.succs.len() as u32 };
        }
        if self.succs.is_empty() {
            return self.preds.clear();
        }
        let mut edges = 0;
        for start in &mut self.pred_starts {
            edges += *start;
            *start = edges;
        }
        self.fill_preds();
    }

    fn fill_preds(&mut self) {
        let nowhere = Predecessor { block: Block::new(0), inst: Inst::new(0), edge: 0 };
        self.preds.clear();
        self.preds.resize(self.succs.len(), nowhere);
        // While the arrays are filled, `pred_starts[b + 1]` is the index of the next predecessor of `b`. Afterwards
        // it is the end of the part of `b`.
        let (exits, preds, nexts) = (&self.exits[..], &mut self.preds[..], &mut self.pred_starts[1..]);
        for &block in &self.blocks {
            let Exit { terminator, start, end } = exits[block.index()];
            let Some(inst) = terminator.expand() else { continue };
            for (edge, succ) in self.succs[start as usize..end as usize].iter().enumerate() {
                let next = &mut nexts[succ.index()];
                preds[*next as usize] = Predecessor { block, inst, edge: edge as u32 };
                *next += 1;
            }
        }
    }

    /// Returns the blocks of the layout in its order, as they were when the graph was computed.
    #[inline]
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Returns the destinations of the block's terminator, in the terminator's order.
    #[inline]
    pub fn succs(&self, block: Block) -> &[Block] {
        let Exit { start, end, .. } = self.exits[block.index()];
        &self.succs[start as usize..end as usize]
    }

    /// Records that `next` has been merged into `block` and has left the layout. The only edge into `next` was a jump
    /// of `block`. After the last merge, [`ControlFlowGraph::update_sources`] makes the graph valid.
    pub fn merge(&mut self, block: Block, next: Block) {
        self.exits[block.index()] = std::mem::take(&mut self.exits[next.index()]);
    }

    /// Updates the source blocks of edges whose terminators have moved.
    pub fn update_sources(&mut self, layout: &Layout) {
        for pred in &mut self.preds {
            if let Some(block) = layout.inst_block(pred.inst) {
                pred.block = block;
            }
        }
    }

    /// Returns the edges into the block, in the order of their sources in the layout when the graph was computed.
    #[inline]
    pub fn preds(&self, block: Block) -> &[Predecessor] {
        let start = self.pred_starts[block.index()] as usize;
        &self.preds[start..self.pred_starts[block.index() + 1] as usize]
    }

    /// Returns the index of the block's first outgoing edge in a table of all edges. The other edges of the block
    /// follow it.
    pub fn first_edge(&self, block: Block) -> usize {
        self.exits[block.index()].start as usize
    }

    /// Returns the indices of the block's outgoing edges in a table of all edges.
    #[inline]
    pub(crate) fn edges(&self, block: Block) -> Range<u32> {
        let Exit { start, end, .. } = self.exits[block.index()];
        start..end
    }

    /// Returns the destination of an edge in the table of all edges.
    pub(crate) fn destination(&self, edge: usize) -> Block {
        self.succs[edge]
    }

    /// Returns the last instruction of a block of the layout.
    #[inline]
    pub fn terminator(&self, block: Block) -> Option<Inst> {
        self.exits[block.index()].terminator.expand()
    }

    /// Returns the number of edges.
    pub fn num_edges(&self) -> usize {
        self.succs.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::function_of_edges;

    #[test]
    fn edges_in_both_directions() {
        let func = function_of_edges(&[&[1, 2], &[3], &[3, 3, 1], &[]]);
        let cfg = ControlFlowGraph::new(&func);
        let block = Block::new;
        assert_eq!(cfg.succs(block(2)), [block(3), block(3), block(1)]);
        let preds = |number| -> Vec<(usize, u32)> {
            let preds = cfg.preds(block(number)).iter();
            preds.map(|pred| (pred.block.index(), pred.edge)).collect()
        };
        assert_eq!(preds(3), [(1, 0), (2, 0), (2, 1)]);
        assert_eq!(preds(1), [(0, 0), (2, 2)]);
        assert_eq!(preds(0), []);
        assert_eq!((cfg.num_edges(), cfg.first_edge(block(2))), (6, 3));
    }

    #[test]
    fn merged_blocks() {
        let mut func = function_of_edges(&[&[1], &[2], &[1, 3, 3], &[]]);
        let mut cfg = ControlFlowGraph::new(&func);
        let block = Block::new;
        let last = func.layout.last_inst(block(2));
        let jump = func.layout.last_inst(block(1)).unwrap();
        func.layout.remove_inst(jump);
        func.layout.append_insts_of(block(1), block(2));
        cfg.merge(block(1), block(2));
        cfg.update_sources(&func.layout);
        assert_eq!(cfg.succs(block(1)), [block(1), block(3), block(3)]);
        assert_eq!(cfg.succs(block(2)), []);
        assert_eq!(cfg.terminator(block(1)), last);
        let preds = |number| -> Vec<usize> { cfg.preds(block(number)).iter().map(|pred| pred.block.index()).collect() };
        assert_eq!((preds(1), preds(3)), (vec![0, 1], vec![1, 1]));
    }

    #[test]
    fn no_blocks() {
        let cfg = ControlFlowGraph::new(&Function::default());
        assert_eq!(cfg.num_edges(), 0);
    }
}
