//! The blocks in the order of the checker's walk: the reachable ones, and which of them need a stored entry state.
//!
//! A *root* is the entry or a block with several incoming edges. Every other block has one incoming edge and is
//! walked right after its predecessor, so that its state is never stored.

use cranelift_entity::EntityRef;
use kingpost_meter::heap_bytes;
use kingpost_regalloc::{Block, Problem};

const NONE: u32 = u32::MAX;

#[derive(Default)]
pub(crate) struct Flow {
    /// All reachable blocks, each after its successors except on edges of loops.
    pub(crate) postorder: Vec<Block>,
    /// The reachable roots in the problem's order, the entry first. Loops are contiguous in this order, so that a
    /// loop can be walked until it is stable before the code after it. Only speed depends on this.
    pub(crate) roots: Vec<Block>,
    /// For each root, the last root from which an edge leads back to it, or itself.
    pub(crate) last_latch: Vec<u32>,
    /// For each block, the root that it is walked with.
    walked_with: Vec<u32>,
    /// Number of a block in `roots`.
    root_of: Vec<u32>,
    reached: Vec<bool>,
    stack: Vec<(Block, usize)>,
}

heap_bytes!(Flow { postorder, roots, last_latch, walked_with, root_of, reached, stack });

impl Flow {
    pub(crate) fn compute(&mut self, problem: &Problem) {
        let blocks = problem.num_blocks();
        self.roots.clear();
        self.postorder.clear();
        self.root_of.clear();
        self.root_of.resize(blocks, NONE);
        self.reached.clear();
        self.reached.resize(blocks, false);
        self.stack.clear();
        if blocks == 0 {
            return;
        }
        self.enter(problem.entry());
        while let Some((block, next)) = self.stack.last_mut() {
            let Some(&edge) = problem.succs(*block).get(*next) else {
                self.postorder.push(*block);
                self.stack.pop();
                continue;
            };
            *next += 1;
            let to = problem.edge(edge).to;
            if !self.reached[to.index()] {
                self.enter(to);
            }
        }
        self.number_roots(problem, problem.order.iter().copied());
        // An order that is not a permutation of all blocks breaks a rule of problems; it must not break the walk.
        let known = |&block: &Block| self.root_of[block.index()] != NONE || !is_root(problem, block);
        if self.roots.first() != Some(&problem.entry()) || !self.postorder.iter().all(known) {
            self.roots.clear();
            self.root_of.fill(NONE);
            let order = std::mem::take(&mut self.postorder);
            self.number_roots(problem, order.iter().rev().copied());
            self.postorder = order;
        }
        self.find_latches(problem);
    }

    fn number_roots(&mut self, problem: &Problem, order: impl Iterator<Item = Block>) {
        for block in order.filter(|&block| is_root(problem, block)) {
            if self.reached[block.index()] && self.root_of[block.index()] == NONE {
                self.root_of[block.index()] = self.roots.len() as u32;
                self.roots.push(block);
            }
        }
    }

    fn find_latches(&mut self, problem: &Problem) {
        self.walked_with.clear();
        self.walked_with.resize(problem.num_blocks(), 0);
        self.last_latch.clear();
        self.last_latch.extend(0..self.roots.len() as u32);
        for &block in self.postorder.iter().rev() {
            let root = self.root_of[block.index()];
            let before = problem.preds(block).first().map(|&edge| problem.edge(edge).from);
            self.walked_with[block.index()] = match before {
                Some(before) if root == NONE => self.walked_with[before.index()],
                _ => root,
            };
        }
        for &block in &self.postorder {
            let from = self.walked_with[block.index()];
            for &edge in problem.succs(block) {
                let root = self.root_of[problem.edge(edge).to.index()];
                if root <= from {
                    let last = &mut self.last_latch[root as usize];
                    *last = from.max(*last);
                }
            }
        }
    }

    fn enter(&mut self, block: Block) {
        self.reached[block.index()] = true;
        self.stack.push((block, 0));
    }

    pub(crate) fn reaches(&self, block: Block) -> bool {
        self.reached[block.index()]
    }

    pub(crate) fn root(&self, block: Block) -> Option<usize> {
        let number = self.root_of[block.index()];
        (number != NONE).then_some(number as usize)
    }
}

fn is_root(problem: &Problem, block: Block) -> bool {
    block.index() < problem.num_blocks() && (block == problem.entry() || problem.preds(block).len() > 1)
}
