//! The control-flow graph: successors and predecessors of blocks.
//!
//! Edges are stored in two arrays, one sorted by source and one by destination, with the start of
//! each block's part (compressed sparse rows). Parallel edges are kept: each edge is known by its
//! terminator and its position among the terminator's destinations. Computing it is linear; it
//! is stale as soon as a terminator or the layout changes.

use cranelift_entity::EntityRef;

use crate::entities::{Block, Inst};
use crate::function::Function;

/// An edge, seen from its destination.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub struct Predecessor {
    /// The block in which the edge starts.
    pub block: Block,
    /// The terminator of that block.
    pub inst: Inst,
    /// Which of the terminator's destinations it is.
    pub edge: u32,
}

/// Successors and predecessors of all blocks.
#[derive(Clone, Default, Debug)]
pub struct ControlFlowGraph {
    succ_starts: Vec<u32>,
    succs: Vec<Block>,
    pred_starts: Vec<u32>,
    preds: Vec<Predecessor>,
}

impl ControlFlowGraph {
    /// The graph of a function.
    pub fn new(func: &Function) -> ControlFlowGraph {
        let mut cfg = ControlFlowGraph::default();
        cfg.compute(func);
        cfg
    }

    /// Computes the graph of a function in the memory of this one.
    pub fn compute(&mut self, func: &Function) {
        let blocks = func.dfg.num_blocks();
        self.succ_starts.clear();
        self.succ_starts.resize(blocks + 1, 0);
        self.pred_starts.clear();
        self.pred_starts.resize(blocks + 1, 0);
        for block in func.layout.blocks() {
            let dests = terminator_destinations(func, block);
            self.succ_starts[block.index() + 1] = dests.map_or(0, |(_, dests)| dests.len() as u32);
            for call in dests.into_iter().flat_map(|(_, dests)| dests) {
                self.pred_starts[call.block.index() + 1] += 1;
            }
        }
        for index in 0..blocks {
            self.succ_starts[index + 1] += self.succ_starts[index];
            self.pred_starts[index + 1] += self.pred_starts[index];
        }
        self.fill(func);
    }

    fn fill(&mut self, func: &Function) {
        let edges = self.succ_starts.last().map_or(0, |&edges| edges as usize);
        let nowhere = Predecessor { block: Block::new(0), inst: Inst::new(0), edge: 0 };
        self.succs.clear();
        self.succs.resize(edges, Block::new(0));
        self.preds.clear();
        self.preds.resize(edges, nowhere);
        // While filling, `pred_starts[b]` is where the next predecessor of `b` goes.
        for block in func.layout.blocks() {
            let Some((inst, dests)) = terminator_destinations(func, block) else { continue };
            let start = self.succ_starts[block.index()] as usize;
            for (edge, call) in dests.iter().enumerate() {
                self.succs[start + edge] = call.block;
                let next = &mut self.pred_starts[call.block.index()];
                self.preds[*next as usize] = Predecessor { block, inst, edge: edge as u32 };
                *next += 1;
            }
        }
        // Now it is the end of `b`'s part, which is the start of the next one's.
        self.pred_starts.rotate_right(1);
        if let Some(first) = self.pred_starts.first_mut() {
            *first = 0;
        }
    }

    /// The destinations of the block's terminator, in their order.
    #[inline]
    pub fn succs(&self, block: Block) -> &[Block] {
        &self.succs[range(&self.succ_starts, block)]
    }

    /// The edges into the block, in the order of their sources in the layout.
    #[inline]
    pub fn preds(&self, block: Block) -> &[Predecessor] {
        &self.preds[range(&self.pred_starts, block)]
    }

    /// Index of the block's first outgoing edge in a table of all edges; the others follow.
    #[inline]
    pub fn first_edge(&self, block: Block) -> usize {
        self.succ_starts[block.index()] as usize
    }

    /// Number of edges.
    pub fn num_edges(&self) -> usize {
        self.succs.len()
    }
}

fn range(starts: &[u32], block: Block) -> std::ops::Range<usize> {
    starts[block.index()] as usize..starts[block.index() + 1] as usize
}

fn terminator_destinations(func: &Function, block: Block) -> Option<(Inst, &[crate::instruction::BlockCall])> {
    let inst = func.layout.last_inst(block)?;
    Some((inst, func.dfg.branch_destinations(inst)))
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
    fn no_blocks() {
        let cfg = ControlFlowGraph::new(&Function::default());
        assert_eq!(cfg.num_edges(), 0);
    }
}
