//! The loop forest.
//!
//! A loop is defined by its back edges: edges to a header that dominates their source. The blocks of the loop are all
//! blocks that reach a back edge without passing through the header. Loops with equal headers are one loop.
//!
//! ```text
//! block1: brif v0, block2, block4      loop0: header block1, blocks 1 2 3
//! block2: brif v0, block2, block3      └─ loop1: header block2, block 2
//! block3: jump block1
//! ```
//!
//! Edges that close a cycle without a dominating header make their destination an *irreducible entry*. Such cycles
//! are marked, but they are no loops here.
//!
//! Headers are processed from the innermost outwards (decreasing reverse postorder). A union-find over loops skips
//! blocks of processed loops: near-linear in the edges. Needs the control-flow graph and the dominator tree. The
//! depth-first search is enough if there are no irreducible entries. In that case a header dominates the source of an
//! edge to it if no backward path from the source leaves the header's descendants in the search, except for paths
//! through the header. No step recurses.

use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, PrimaryMap, SecondaryMap, entity_impl};

use crate::cfg::ControlFlowGraph;
use crate::dominators::DominatorTree;
use crate::entities::Block;
use crate::function::Function;
use crate::release::release_map;
use kingpost_meter::heap_bytes;

/// A loop. An inner loop has a smaller number than the loops around it.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Loop(u32);
entity_impl!(Loop, "loop");

#[derive(Copy, Clone, Debug)]
struct LoopData {
    header: Block,
    parent: PackedOption<Loop>,
    /// Union-find link: a loop around this one, or this loop.
    link: Loop,
    depth: u32,
    /// Number of blocks, including the blocks of inner loops.
    blocks: u32,
    /// Number of the loop in a preorder of the forest, and the end of the numbers of the loops inside it.
    first: u32,
    end: u32,
    /// End of the range that is not given to inner loops yet.
    untaken: u32,
}

/// The loops of a function.
#[derive(Clone, Default, Debug)]
pub struct LoopForest {
    loops: PrimaryMap<Loop, LoopData>,
    innermost: SecondaryMap<Block, PackedOption<Loop>>,
    irreducible: SecondaryMap<Block, bool>,
    any_irreducible: bool,
    stack: Vec<Block>,
}

heap_bytes!(LoopForest { loops, innermost, irreducible, stack } without { any_irreducible });

impl LoopForest {
    /// Clears everything and frees the memory.
    pub(crate) fn release(&mut self) {
        release_map(&mut self.loops);
        *self = LoopForest::default();
    }

    /// Returns the loop forest of a function.
    pub fn new(func: &Function, cfg: &ControlFlowGraph, tree: &DominatorTree) -> LoopForest {
        let mut loops = LoopForest::default();
        loops.compute(func, cfg, tree);
        loops
    }

    /// Computes the loops of a function in the memory of this forest.
    pub fn compute(&mut self, func: &Function, cfg: &ControlFlowGraph, tree: &DominatorTree) {
        let found = self.find_loops(func, cfg, tree, |header, block| tree.dominates(header, block));
        debug_assert!(found, "what a header dominates descends from it");
    }

    /// Computes the forest like [`LoopForest::compute`], but needs only the tree's depth-first search. Returns `true`
    /// if there are no irreducible entries. If there are any, the forest is not valid.
    pub(crate) fn compute_reducible(&mut self, func: &Function, cfg: &ControlFlowGraph, tree: &DominatorTree) -> bool {
        self.find_loops(func, cfg, tree, |_, _| true)
    }

    /// Finds the loops. `dominates` decides whether a header dominates a block with an edge back to it. Returns
    /// `false` if `dominates` was wrong.
    fn find_loops(
        &mut self,
        func: &Function,
        cfg: &ControlFlowGraph,
        tree: &DominatorTree,
        dominates: impl Fn(Block, Block) -> bool,
    ) -> bool {
        self.loops.clear();
        self.innermost.clear();
        self.innermost.resize(func.dfg.num_blocks());
        self.irreducible.clear();
        self.any_irreducible = false;
        if cfg.num_edges() == 0 {
            return true;
        }
        // In postorder, inner headers precede outer ones.
        for &header in tree.cfg_postorder() {
            self.stack.clear();
            for pred in cfg.preds(header) {
                if !tree.is_search_ancestor(header, pred.block) {
                    continue;
                }
                if dominates(header, pred.block) {
                    self.stack.push(pred.block);
                } else {
                    self.irreducible[header] = true;
                    self.any_irreducible = true;
                }
            }
            if !self.stack.is_empty() && !self.find_loop(header, cfg, tree) {
                return false;
            }
        }
        self.count(tree);
        self.number();
        true
    }

    /// Finds the loop of a header. The stack holds the sources of the edges back to it. Returns `false` if the header
    /// does not dominate them.
    fn find_loop(&mut self, header: Block, cfg: &ControlFlowGraph, tree: &DominatorTree) -> bool {
        let link = Loop::new(self.loops.len());
        let data = LoopData { header, parent: None.into(), link, depth: 0, blocks: 0, first: 0, end: 1, untaken: 0 };
        let this = self.loops.push(data);
        self.innermost[header] = this.into();
        while let Some(block) = self.stack.pop() {
            if !tree.is_search_ancestor(header, block) {
                return false;
            }
            // The header of the outermost loop found so far represents all blocks of that loop.
            let entered = match self.innermost[block].expand() {
                None => {
                    self.innermost[block] = this.into();
                    block
                }
                Some(inner) => {
                    let outermost = self.find(inner);
                    if outermost == this {
                        continue;
                    }
                    self.loops[outermost].parent = this.into();
                    self.loops[outermost].link = this;
                    self.loops[outermost].header
                }
            };
            let preds = cfg.preds(entered).iter().map(|pred| pred.block);
            self.stack.extend(preds.filter(|&pred| tree.is_reachable(pred)));
        }
        true
    }

    /// Returns the outermost loop around a loop, with path halving. Terminates because links lead to loops with
    /// larger numbers.
    fn find(&mut self, inner: Loop) -> Loop {
        let mut current = inner;
        loop {
            let link = self.loops[current].link;
            if link == current {
                return current;
            }
            self.loops[current].link = self.loops[link].link;
            current = link;
        }
    }

    /// Computes depths and the preorder. On entry, `end` holds the number of loops inside each loop, including
    /// itself.
    fn number(&mut self) {
        // A loop has a larger number than the loops inside it. Inner loops take their ranges from the end of the
        // outer loop's range, the last one first.
        let mut roots = self.loops.len() as u32;
        for number in (0..self.loops.len()).rev().map(Loop::new) {
            let LoopData { parent, end: count, .. } = self.loops[number];
            let (depth, end) = match parent.expand() {
                Some(parent) => (self.loops[parent].depth + 1, &mut self.loops[parent].untaken),
                None => (1, &mut roots),
            };
            let last = *end;
            *end -= count;
            let data = &mut self.loops[number];
            (data.depth, data.first, data.end, data.untaken) = (depth, last - count, last, last);
        }
    }

    /// Counts the blocks of each loop. Counts in `end` the loops inside each loop, including itself.
    fn count(&mut self, tree: &DominatorTree) {
        if self.loops.is_empty() {
            return;
        }
        for &block in tree.cfg_postorder() {
            if let Some(innermost) = self.innermost[block].expand() {
                self.loops[innermost].blocks += 1;
            }
        }
        for number in (0..self.loops.len()).map(Loop::new) {
            let LoopData { parent, blocks, end, .. } = self.loops[number];
            if let Some(parent) = parent.expand() {
                self.loops[parent].blocks += blocks;
                self.loops[parent].end += end;
            }
        }
    }

    /// Returns all loops; inner loops precede the loops around them.
    pub fn loops(&self) -> impl DoubleEndedIterator<Item = Loop> + use<> {
        self.loops.keys()
    }

    /// Returns the header of a loop, which dominates the loop.
    #[inline]
    pub fn header(&self, each: Loop) -> Block {
        self.loops[each].header
    }

    /// Returns the innermost loop around a loop.
    #[inline]
    pub fn parent(&self, each: Loop) -> Option<Loop> {
        self.loops[each].parent.expand()
    }

    /// Returns the number of loops that contain the loop, including itself.
    #[inline]
    pub fn depth(&self, each: Loop) -> u32 {
        self.loops[each].depth
    }

    /// Returns the number of blocks in the loop, including the blocks of inner loops.
    #[inline]
    pub fn num_blocks(&self, each: Loop) -> u32 {
        self.loops[each].blocks
    }

    /// Returns the innermost loop that contains the block.
    #[inline]
    pub fn innermost_loop(&self, block: Block) -> Option<Loop> {
        self.innermost[block].expand()
    }

    /// Returns the number of loops that contain the block.
    pub fn block_depth(&self, block: Block) -> u32 {
        self.innermost_loop(block).map_or(0, |innermost| self.depth(innermost))
    }

    /// Returns `true` if the block is the header of a loop.
    pub fn is_header(&self, block: Block) -> bool {
        self.innermost_loop(block).is_some_and(|innermost| self.header(innermost) == block)
    }

    /// Returns `true` if the loop contains the block.
    #[inline]
    pub fn contains(&self, outer: Loop, block: Block) -> bool {
        let LoopData { first, end, .. } = self.loops[outer];
        self.innermost_loop(block).is_some_and(|inner| (first..end).contains(&self.loops[inner].first))
    }

    /// Returns `true` if a cycle without a dominating header closes at the block.
    pub fn is_irreducible_entry(&self, block: Block) -> bool {
        self.irreducible[block]
    }

    /// Returns `true` if there is a cycle without a dominating header.
    pub fn has_irreducible_cycles(&self) -> bool {
        self.any_irreducible
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Random, function_of_edges, random_edges};

    fn forest(edges: &[&[usize]]) -> (LoopForest, DominatorTree, ControlFlowGraph) {
        let func = function_of_edges(edges);
        let cfg = ControlFlowGraph::new(&func);
        let tree = DominatorTree::new(&func, &cfg);
        (LoopForest::new(&func, &cfg, &tree), tree, cfg)
    }

    #[test]
    fn nested_loops() {
        let (forest, ..) = forest(&[&[1], &[2, 4], &[2, 3], &[1], &[]]);
        let depth = |block| forest.block_depth(Block::new(block));
        assert_eq!((0..5).map(depth).collect::<Vec<_>>(), [0, 1, 2, 1, 0]);
        let inner = forest.innermost_loop(Block::new(2)).unwrap();
        let outer = forest.parent(inner).unwrap();
        assert_eq!((inner.index(), outer.index(), forest.parent(outer)), (0, 1, None));
        assert_eq!((forest.num_blocks(inner), forest.num_blocks(outer)), (1, 3));
        assert_eq!(forest.header(outer), Block::new(1));
        assert!(forest.contains(outer, Block::new(2)) && !forest.contains(inner, Block::new(3)));
        assert!(forest.is_header(Block::new(2)) && !forest.is_header(Block::new(3)));
        assert!(!forest.has_irreducible_cycles());
    }

    #[test]
    fn irreducible_cycles_are_marked() {
        let (forest, ..) = forest(&[&[1, 2], &[2, 3], &[1], &[]]);
        assert_eq!(forest.loops().count(), 0);
        assert!(forest.is_irreducible_entry(Block::new(1)));
        assert!(!forest.is_irreducible_entry(Block::new(2)));
    }

    /// Returns `true` if `from` reaches `to` without passing through `header`.
    fn reaches(edges: &[Vec<usize>], from: usize, to: usize, header: usize) -> bool {
        let mut seen = vec![false; edges.len()];
        let mut stack = vec![from];
        while let Some(block) = stack.pop() {
            if block == to {
                return true;
            }
            if block != header && !std::mem::replace(&mut seen[block], true) {
                stack.extend(&edges[block]);
            }
        }
        false
    }

    #[test]
    fn agrees_with_the_definition() {
        let mut random = Random::new(2);
        for _ in 0..200 {
            let edges = random_edges(&mut random, 10);
            let slices: Vec<&[usize]> = edges.iter().map(Vec::as_slice).collect();
            let (forest, tree, cfg) = forest(&slices);
            let (func, mut reducible) = (function_of_edges(&slices), LoopForest::default());
            let is_reducible = reducible.compute_reducible(&func, &cfg, &tree);
            assert_eq!(is_reducible, !forest.has_irreducible_cycles(), "{edges:?}");
            for block in (0..edges.len()).map(Block::new).filter(|_| is_reducible) {
                assert_eq!(reducible.innermost_loop(block), forest.innermost_loop(block), "{block} in {edges:?}");
            }
            for block in (0..edges.len()).map(Block::new) {
                let around = std::iter::successors(forest.innermost_loop(block), |&each| forest.parent(each));
                let around: Vec<Loop> = around.collect();
                for each in forest.loops() {
                    assert_eq!(forest.contains(each, block), around.contains(&each), "{each} of {block} in {edges:?}");
                }
            }
            for block in 0..edges.len() {
                let mut depth = 0;
                for header in 0..edges.len() {
                    let (b, h) = (Block::new(block), Block::new(header));
                    let mut latches = cfg.preds(h).iter().map(|pred| pred.block);
                    let inside = latches.any(|latch| {
                        tree.dominates(h, latch)
                            && tree.dominates(h, b)
                            && (block == header || latch != h && reaches(&edges, block, latch.index(), header))
                    });
                    depth += u32::from(inside);
                }
                let got = forest.block_depth(Block::new(block));
                assert_eq!(got, depth, "depth of block{block} in {edges:?}");
            }
        }
    }

    #[test]
    fn deep_nests() {
        // Block N jumps to N + 1. In the second half, block N may also branch back to its partner.
        let half = 50_000;
        let edges: Vec<Vec<usize>> = (0..2 * half + 1)
            .map(|block| match block {
                _ if block == 2 * half => vec![],
                _ if block >= half => vec![block + 1, 2 * half - block],
                _ => vec![block + 1],
            })
            .collect();
        let slices: Vec<&[usize]> = edges.iter().map(Vec::as_slice).collect();
        let (forest, ..) = forest(&slices);
        assert_eq!(forest.block_depth(Block::new(half)), half as u32);
    }
}
