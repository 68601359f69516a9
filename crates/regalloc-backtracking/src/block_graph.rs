//! The edges between blocks of the linear order, with their frequencies, as two flat lists.
//!
//! Cost: linear in blocks and edges.

use cranelift_entity::EntityRef;
use kingpost_regalloc::meter::heap_bytes;
use kingpost_regalloc::{Edge, EdgeData, Freq, Problem};
use kingpost_regalloc_common::order::{BlockIndex, LinearOrder};

/// The other end of an edge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Neighbor {
    pub(crate) block: BlockIndex,
    /// Frequency of the edge.
    pub(crate) freq: Freq,
}

/// The neighbors of all blocks at one end of their edges.
#[derive(Default)]
struct Neighbors {
    list: Vec<Neighbor>,
    /// By block, the index of its first neighbor. One more index ends the list.
    starts: Vec<u32>,
}

heap_bytes!(Neighbors { list, starts });

impl Neighbors {
    fn clear(&mut self) {
        self.list.clear();
        self.starts.clear();
        self.starts.push(0);
    }

    fn push(&mut self, problem: &Problem, edges: &[Edge], end: impl Fn(&EdgeData) -> BlockIndex) {
        let data = edges.iter().map(|&edge| problem.edge(edge));
        self.list.extend(data.map(|edge| Neighbor { block: end(edge), freq: edge.freq }));
        self.starts.push(self.list.len() as u32);
    }

    fn of(&self, block: BlockIndex) -> &[Neighbor] {
        let bounds = &self.starts[block.index()..block.index() + 2];
        &self.list[bounds[0] as usize..bounds[1] as usize]
    }
}

/// The control-flow graph in terms of [`BlockIndex`].
#[derive(Default)]
pub(crate) struct BlockGraph {
    preds: Neighbors,
    succs: Neighbors,
}

heap_bytes!(BlockGraph { preds, succs });

impl BlockGraph {
    pub(crate) fn build(&mut self, problem: &Problem, order: &LinearOrder) {
        self.preds.clear();
        self.succs.clear();
        for block in order.blocks().values() {
            self.preds.push(problem, problem.preds(block.block), |edge| order.index(edge.from));
            self.succs.push(problem, problem.succs(block.block), |edge| order.index(edge.to));
        }
    }

    /// Returns the predecessors of a block.
    pub(crate) fn preds(&self, block: BlockIndex) -> &[Neighbor] {
        self.preds.of(block)
    }

    /// Returns the successors of a block.
    pub(crate) fn succs(&self, block: BlockIndex) -> &[Neighbor] {
        self.succs.of(block)
    }
}
