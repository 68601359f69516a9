//! The dominator tree.
//!
//! Block A dominates block B if every path from the entry to B passes through A.
//!
//! ```text
//! block0: brif v0, block1, block2      block0
//! block1: jump block3                  ├─ block1
//! block2: jump block3                  ├─ block2
//! block3: return                       └─ block3
//! ```
//!
//! Immediate dominators by the simple version of Lengauer and Tarjan, "A fast algorithm for finding dominators in a
//! flowgraph" (1979): O(m log n) for m edges and n blocks. The tree is then numbered in preorder, so that a query
//! takes constant time. Unreachable blocks dominate no block and no block dominates them. No step recurses.

use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, SecondaryMap};

use crate::cfg::ControlFlowGraph;
use crate::entities::{Block, Inst, Value};
use crate::function::Function;
use crate::layout::Layout;
use crate::release::{map_apart, release};
use crate::value_data::ValueDef;
use kingpost_meter::heap_bytes;

#[derive(Copy, Clone, Default, Debug)]
struct Node {
    idom: PackedOption<Block>,
    /// Position in a preorder of the tree, from 1; 0 for unreachable blocks.
    pre: u32,
    /// The largest `pre` among the descendants. The descendants have all numbers from `pre` to `last`.
    last: u32,
    /// Distance from the entry.
    depth: u32,
    /// An ancestor. Any ancestor is reached in a logarithmic number of steps over `jump` and `idom` links: Myers, "An
    /// applicative random-access stack" (1983).
    jump: PackedOption<Block>,
}

/// The dominator tree of a function.
#[derive(Clone, Default, Debug)]
pub struct DominatorTree {
    nodes: SecondaryMap<Block, Node>,
    postorder: Vec<Block>,
    preorder: Vec<Block>,
    dfs: Dfs,
}

heap_bytes!(DominatorTree { nodes, postorder, preorder, dfs });

impl DominatorTree {
    /// Returns the dominator tree of a function.
    pub fn new(func: &Function, cfg: &ControlFlowGraph) -> DominatorTree {
        let mut tree = DominatorTree::default();
        tree.compute(func, cfg);
        tree
    }

    /// Computes the tree of a function in the memory of this one.
    pub fn compute(&mut self, func: &Function, cfg: &ControlFlowGraph) {
        self.search(func, cfg);
        self.complete(func, cfg);
    }

    /// Clears everything and frees the memory.
    pub(crate) fn release(&mut self) {
        release(&mut self.postorder);
        release(&mut self.preorder);
        release(&mut self.dfs.vertices);
        release(&mut self.dfs.places);
        release(&mut self.dfs.stack);
        release(&mut self.dfs.path);
        self.nodes = SecondaryMap::new();
    }

    /// Runs only the depth-first search, which finds the reachable blocks and their orders, but not the tree.
    pub(crate) fn search(&mut self, func: &Function, cfg: &ControlFlowGraph) {
        self.nodes.clear();
        self.preorder.clear();
        self.reorder(func, cfg);
    }

    /// Computes the tree after [`DominatorTree::search`].
    pub(crate) fn complete(&mut self, func: &Function, cfg: &ControlFlowGraph) {
        map_apart(&mut self.nodes, func.dfg.num_blocks());
        self.nodes.resize(func.dfg.num_blocks());
        let Some(entry) = func.layout.entry_block() else { return };
        self.dfs.immediate_dominators(cfg);
        self.preorder.resize(self.postorder.len(), entry);
        self.nodes[entry] = Node { pre: 1, last: 1, jump: entry.into(), ..Node::default() };
        // Each block comes after its dominators. Of siblings, the one with the highest postorder number comes first.
        for &block in self.postorder.iter().rev().skip(1) {
            let (idom, size) = self.dfs.dominator_and_size(block);
            let above = &mut self.nodes[idom];
            // `last` is the last preorder number given to the dominator's children so far.
            let (pre, depth) = (above.last + 1, above.depth + 1);
            above.last += size;
            let jump = self.jump_below(idom).into();
            self.nodes[block] = Node { idom: idom.into(), pre, last: pre, depth, jump };
            self.preorder[pre as usize - 1] = block;
        }
    }

    /// Computes the orders of the depth-first search again, after the destinations of terminators have changed their
    /// order. The tree and its preorder stay valid.
    pub fn reorder(&mut self, func: &Function, cfg: &ControlFlowGraph) {
        self.postorder.clear();
        self.dfs.run(func.layout.entry_block(), cfg, func.dfg.num_blocks(), &mut self.postorder);
    }

    /// Returns the `jump` ancestor for the children of `block`.
    fn jump_below(&self, block: Block) -> Block {
        let jump = |block: Block| self.nodes[block].jump.expand().unwrap_or(block);
        let (once, twice) = (jump(block), jump(jump(block)));
        let depth = |block: Block| self.nodes[block].depth;
        if depth(block) - depth(once) == depth(once) - depth(twice) { twice } else { block }
    }

    /// Returns `true` if there is a path from the entry to the block.
    pub fn is_reachable(&self, block: Block) -> bool {
        self.dfs.places.get(block.index()).is_some_and(|place| place.number != 0)
    }

    /// Returns the immediate dominator; `None` for the entry and unreachable blocks.
    #[inline]
    pub fn idom(&self, block: Block) -> Option<Block> {
        self.nodes[block].idom.expand()
    }

    /// Returns `true` if every path from the entry to `b` passes through `a`. A reachable block dominates itself.
    pub fn dominates(&self, a: Block, b: Block) -> bool {
        let (a, b) = (&self.nodes[a], &self.nodes[b]);
        a.pre != 0 && a.pre <= b.pre && b.pre <= a.last
    }

    /// Returns `true` if `a` precedes `b` in one block, or if the block of `a` strictly dominates the block of `b`.
    /// An instruction does not dominate itself.
    pub fn inst_dominates(&self, a: Inst, b: Inst, layout: &Layout) -> bool {
        match (layout.inst_block(a), layout.inst_block(b)) {
            (Some(x), Some(y)) if x == y => layout.seq(a) < layout.seq(b),
            (Some(x), Some(y)) => self.dominates(x, y),
            _ => false,
        }
    }

    /// Returns `true` if the definition of a value precedes the instruction on all paths.
    pub fn value_dominates(&self, func: &Function, value: Value, inst: Inst) -> bool {
        match func.dfg.value_def(value) {
            ValueDef::Result(def, _) => self.inst_dominates(def, inst, &func.layout),
            ValueDef::Param(block, _) => match func.layout.inst_block(inst) {
                Some(user) => self.dominates(block, user),
                None => false,
            },
            ValueDef::Undefined => false,
        }
    }

    /// Returns the blocks that `block` dominates immediately, by decreasing postorder number at the time when the
    /// tree was computed.
    pub fn children(&self, block: Block) -> impl Iterator<Item = Block> {
        let Node { pre, last, .. } = self.nodes[block];
        let at = move |number: u32| (number < last).then(|| self.preorder[number as usize]);
        std::iter::successors(at(pre), move |&child| at(self.nodes[child].last))
    }

    /// Returns the reachable blocks in postorder of a depth-first search that visits the destinations of a terminator
    /// in their order.
    pub fn cfg_postorder(&self) -> &[Block] {
        &self.postorder
    }

    /// Returns the reachable blocks in reverse postorder: each block precedes the blocks it dominates.
    pub fn reverse_postorder(&self) -> impl DoubleEndedIterator<Item = Block> + ExactSizeIterator {
        self.postorder.iter().rev().copied()
    }

    /// Returns the position of a reachable block in [`DominatorTree::cfg_postorder`].
    pub fn postorder_number(&self, block: Block) -> u32 {
        self.dfs.places[block.index()].post
    }

    /// Returns the deepest block that dominates two reachable blocks. Takes time proportional to the logarithm of the
    /// tree's depth.
    #[inline]
    pub fn common_dominator(&self, a: Block, b: Block) -> Block {
        let mut block = a;
        while !self.dominates(block, b) {
            let node = &self.nodes[block];
            // The entry dominates every block, so the loop ends before it runs out of parents.
            let (Some(idom), Some(jump)) = (node.idom.expand(), node.jump.expand()) else { break };
            block = if self.dominates(jump, b) { idom } else { jump };
        }
        block
    }

    /// Returns the position of a reachable block in [`DominatorTree::preorder`], counted from 1; 0 for unreachable
    /// blocks. The number of a child is larger than the number of its parent.
    pub fn preorder_number(&self, block: Block) -> u32 {
        self.nodes[block].pre
    }

    /// Returns the reachable blocks in preorder of the tree.
    pub fn preorder(&self) -> &[Block] {
        &self.preorder
    }

    /// Returns `true` if `a` is `b` or an ancestor of `b` in the depth-first search. An edge from `b` to `a` closes a
    /// cycle of the graph then.
    pub fn is_search_ancestor(&self, a: Block, b: Block) -> bool {
        let (x, y) = (self.dfs.places[a.index()], self.dfs.places[b.index()]);
        // Discovered no later and finished no earlier.
        x.number != 0 && x.number <= y.number && x.post >= y.post
    }
}

/// A reachable block, numbered in the order of discovery.
#[derive(Copy, Clone, Debug)]
struct Vertex {
    block: Block,
    parent: u32,
    semi: u32,
    /// The ancestor in the forest of processed vertices; a root is its own ancestor.
    ancestor: u32,
    /// The vertex with the least semidominator on the path to the ancestor.
    label: u32,
    dom: u32,
    /// The first vertex whose semidominator is this vertex, or `NONE`.
    bucket: u32,
    /// The next vertex in the same bucket.
    bucket_next: u32,
    /// Number of vertices that this one dominates, including itself, once it is known.
    size: u32,
}

const NONE: u32 = u32::MAX;

/// Position of a block in the depth-first search.
#[derive(Copy, Clone, Default, Debug)]
struct SearchPosition {
    /// Number of the block's vertex plus one; 0 if the block was not reached.
    number: u32,
    /// Position in postorder.
    post: u32,
}

/// A block with successors that are not visited yet.
#[derive(Copy, Clone, Debug)]
struct Visit {
    block: Block,
    vertex: u32,
    /// Remaining edges to successors that are not visited yet.
    next: u32,
    end: u32,
}

/// Depth-first search and the Lengauer-Tarjan algorithm, on the numbers of the search.
#[derive(Clone, Default, Debug)]
struct Dfs {
    vertices: Vec<Vertex>,
    /// By block.
    places: Vec<SearchPosition>,
    stack: Vec<Visit>,
    path: Vec<u32>,
}

heap_bytes!(Dfs { vertices, places, stack, path });

impl Dfs {
    fn number(&self, block: Block) -> u32 {
        self.places[block.index()].number.wrapping_sub(1)
    }

    fn run(&mut self, entry: Option<Block>, cfg: &ControlFlowGraph, blocks: usize, postorder: &mut Vec<Block>) {
        self.vertices.clear();
        self.places.clear();
        self.places.resize(blocks, SearchPosition::default());
        if let Some(entry) = entry {
            self.discover(entry, 0, cfg);
        }
        while let Some(visit) = self.stack.last_mut() {
            let Visit { block, vertex, next, end } = *visit;
            if next == end {
                self.places[block.index()].post = postorder.len() as u32;
                postorder.push(block);
                self.stack.pop();
                continue;
            }
            visit.next += 1;
            let succ = cfg.destination(next as usize);
            if self.places[succ.index()].number == 0 {
                self.discover(succ, vertex, cfg);
            }
        }
    }

    fn discover(&mut self, block: Block, parent: u32, cfg: &ControlFlowGraph) {
        let number = self.vertices.len() as u32;
        self.vertices.push(Vertex {
            block,
            parent,
            semi: number,
            ancestor: number,
            label: number,
            dom: 0,
            bucket: NONE,
            bucket_next: NONE,
            size: 1,
        });
        self.places[block.index()].number = number + 1;
        let edges = cfg.edges(block);
        self.stack.push(Visit { block, vertex: number, next: edges.start, end: edges.end });
    }

    fn immediate_dominators(&mut self, cfg: &ControlFlowGraph) {
        for w in (1..self.vertices.len() as u32).rev() {
            let Vertex { block, parent, .. } = self.vertices[w as usize];
            let preds = cfg.preds(block);
            let mut semi = w;
            for pred in preds {
                // Edges from unreachable blocks do not count.
                if self.places[pred.block.index()].number != 0 {
                    let u = self.eval(self.number(pred.block));
                    semi = semi.min(self.vertices[u as usize].semi);
                }
            }
            let bucket = std::mem::replace(&mut self.vertices[semi as usize].bucket, w);
            let vertex = &mut self.vertices[w as usize];
            vertex.semi = semi;
            vertex.bucket_next = bucket;
            vertex.ancestor = parent;
            self.empty_bucket(parent);
        }
        for w in 1..self.vertices.len() {
            let vertex = self.vertices[w];
            if vertex.dom != vertex.semi {
                self.vertices[w].dom = self.vertices[vertex.dom as usize].dom;
            }
        }
        for w in (1..self.vertices.len()).rev() {
            let Vertex { dom, size, .. } = self.vertices[w];
            self.vertices[dom as usize].size += size;
        }
    }

    /// Returns the immediate dominator of a reachable block other than the entry, and the number of blocks that the
    /// block dominates.
    fn dominator_and_size(&self, block: Block) -> (Block, u32) {
        let Vertex { dom, size, .. } = self.vertices[self.number(block) as usize];
        (self.vertices[dom as usize].block, size)
    }

    fn empty_bucket(&mut self, parent: u32) {
        let mut v = std::mem::replace(&mut self.vertices[parent as usize].bucket, NONE);
        while v != NONE {
            let u = self.eval(v);
            let semi = self.vertices[v as usize].semi;
            let closer = self.vertices[u as usize].semi < semi;
            self.vertices[v as usize].dom = if closer { u } else { parent };
            v = self.vertices[v as usize].bucket_next;
        }
    }

    /// Returns the vertex with the least semidominator on the path from `v` to its root, excluding the root.
    fn eval(&mut self, v: u32) -> u32 {
        self.compress(v);
        self.vertices[v as usize].label
    }

    /// Makes each vertex on the path a child of the root. Terminates because ancestors have smaller numbers.
    fn compress(&mut self, v: u32) {
        self.path.clear();
        let mut v = v;
        loop {
            let ancestor = self.vertices[v as usize].ancestor;
            if self.vertices[ancestor as usize].ancestor == ancestor {
                break;
            }
            self.path.push(v);
            v = ancestor;
        }
        while let Some(v) = self.path.pop() {
            let ancestor = self.vertices[self.vertices[v as usize].ancestor as usize];
            let best = |number: u32| self.vertices[number as usize].semi;
            if best(ancestor.label) < best(self.vertices[v as usize].label) {
                self.vertices[v as usize].label = ancestor.label;
            }
            self.vertices[v as usize].ancestor = ancestor.ancestor;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Random, function_of_edges, random_edges};

    fn tree(edges: &[&[usize]]) -> DominatorTree {
        let func = function_of_edges(edges);
        DominatorTree::new(&func, &ControlFlowGraph::new(&func))
    }

    fn idoms(edges: &[&[usize]]) -> Vec<Option<usize>> {
        let tree = tree(edges);
        (0..edges.len()).map(|block| tree.idom(Block::new(block)).map(Block::index)).collect()
    }

    #[test]
    fn small_graphs() {
        assert_eq!(idoms(&[&[]]), [None]);
        assert_eq!(idoms(&[&[1, 2], &[3], &[3], &[]]), [None, Some(0), Some(0), Some(0)]);
        // An unreachable block that points at a reachable one.
        assert_eq!(idoms(&[&[2], &[2], &[]]), [None, None, Some(0)]);
        // An irreducible loop.
        assert_eq!(idoms(&[&[1, 2], &[2], &[1]]), [None, Some(0), Some(0)]);
    }

    #[test]
    fn orders() {
        let tree = tree(&[&[2, 1], &[3], &[5, 4], &[4], &[5, 3], &[6, 4], &[]]);
        let numbers = |blocks: &[Block]| blocks.iter().map(|b| b.index()).collect::<Vec<_>>();
        assert_eq!(numbers(tree.cfg_postorder()), [6, 3, 4, 5, 2, 1, 0]);
        assert_eq!(numbers(tree.preorder()), [0, 1, 2, 5, 6, 4, 3]);
        assert!(tree.is_search_ancestor(Block::new(5), Block::new(4)));
        assert!(!tree.is_search_ancestor(Block::new(1), Block::new(3)));
    }

    /// Returns for each block whether it is reachable from block 0 without passing through `without`.
    fn reachable(edges: &[Vec<usize>], without: Option<usize>) -> Vec<bool> {
        let mut seen = vec![false; edges.len()];
        let mut stack = vec![0];
        while let Some(block) = stack.pop() {
            if Some(block) != without && !std::mem::replace(&mut seen[block], true) {
                stack.extend(&edges[block]);
            }
        }
        seen
    }

    #[test]
    fn agrees_with_the_definition() {
        let mut random = Random::new(1);
        for _ in 0..300 {
            let edges = random_edges(&mut random, 12);
            let slices: Vec<&[usize]> = edges.iter().map(Vec::as_slice).collect();
            let tree = tree(&slices);
            let all = reachable(&edges, None);
            for a in 0..edges.len() {
                let rest = reachable(&edges, Some(a));
                for b in 0..edges.len() {
                    let expected = all[a] && all[b] && !rest[b];
                    let got = tree.dominates(Block::new(a), Block::new(b));
                    assert_eq!(got, expected, "{a} dominates {b} in {edges:?}");
                    if all[a] && all[b] {
                        let common = tree.common_dominator(Block::new(a), Block::new(b));
                        let above = |block| tree.dominates(Block::new(block), Block::new(a));
                        let both =
                            (0..edges.len()).filter(|&c| above(c) && tree.dominates(Block::new(c), Block::new(b)));
                        let deepest = both.max_by_key(|&c| tree.preorder_number(Block::new(c)));
                        assert_eq!(Some(common.index()), deepest, "{a} and {b} in {edges:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn large_graphs() {
        // A ladder in which each block can reach all earlier ones by way of its neighbor.
        let count = 100_000;
        let edges: Vec<Vec<usize>> = (0..count)
            .map(|block| match block {
                _ if block + 1 == count => vec![block / 2 + 1],
                0 => vec![1],
                _ => vec![block + 1, block / 2 + 1],
            })
            .collect();
        let slices: Vec<&[usize]> = edges.iter().map(Vec::as_slice).collect();
        let tree = tree(&slices);
        assert_eq!(tree.cfg_postorder().len(), count);
        assert!(tree.dominates(Block::new(count / 2), Block::new(count - 1)));
    }
}
