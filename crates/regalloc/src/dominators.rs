//! Immediate dominators of a problem's blocks.
//!
//! Lengauer and Tarjan, *A fast algorithm for finding dominators in a flowgraph* (1979), the simple version with path
//! compression: O(edges × log blocks) in the worst case, without recursion.

use crate::entities::Block;
use crate::problem::Problem;
use cranelift_entity::EntityRef;

const NONE: u32 = u32::MAX;

/// The dominator tree, laid out so that one comparison answers a query.
pub(crate) struct Dominators {
    /// Per block, its number in a preorder walk of the dominator tree and one past the last number of its subtree.
    /// A block that cannot be reached has the empty span ([`NONE`], 0).
    spans: Vec<(u32, u32)>,
}

impl Dominators {
    /// Computes the tree. The successor and predecessor lists must match the edges.
    pub(crate) fn new(problem: &Problem) -> Dominators {
        let walk = Walk::new(problem);
        let idoms = idoms(problem, &walk);
        // Both walks number a dominator before the blocks it dominates, so that sums over subtrees need no separate
        // walk.
        let count = idoms.len();
        let mut sizes = vec![1u32; count];
        for v in (1..count).rev() {
            sizes[idoms[v] as usize] += sizes[v];
        }
        let mut spans = vec![(NONE, 0); problem.num_blocks()];
        let mut starts = vec![0u32; count];
        let mut next = vec![1u32; count];
        for v in 0..count {
            if v > 0 {
                let idom = idoms[v] as usize;
                starts[v] = starts[idom] + next[idom];
                next[idom] += sizes[v];
            }
            spans[walk.order[v].index()] = (starts[v], starts[v] + sizes[v]);
        }
        Dominators { spans }
    }

    /// Returns `true` if there is a path from the entry to `block`.
    pub(crate) fn is_reachable(&self, block: Block) -> bool {
        self.spans[block.index()].1 > 0
    }

    /// Returns `true` if `a` is on every path from the entry to `b`, and `false` if either is unreachable.
    pub(crate) fn dominates(&self, a: Block, b: Block) -> bool {
        let ((start, end), (b, _)) = (self.spans[a.index()], self.spans[b.index()]);
        start <= b && b < end
    }
}

/// A depth-first walk from the entry. All numbers are positions in its preorder.
struct Walk {
    order: Vec<Block>,
    /// Per block.
    numbers: Vec<u32>,
    parents: Vec<u32>,
}

impl Walk {
    fn new(problem: &Problem) -> Walk {
        let mut walk = Walk { order: Vec::new(), numbers: vec![NONE; problem.num_blocks()], parents: Vec::new() };
        let mut stack: Vec<(u32, usize)> = Vec::new();
        let enter = |walk: &mut Walk, block: Block, parent: u32| {
            let number = walk.order.len() as u32;
            walk.numbers[block.index()] = number;
            walk.order.push(block);
            walk.parents.push(parent);
            number
        };
        if problem.num_blocks() > 0 {
            stack.push((enter(&mut walk, problem.entry(), 0), 0));
        }
        while let Some((number, next)) = stack.last_mut() {
            let Some(&edge) = problem.succs(walk.order[*number as usize]).get(*next) else {
                stack.pop();
                continue;
            };
            *next += 1;
            let (to, parent) = (problem.edge(edge).to, *number);
            if walk.numbers[to.index()] == NONE {
                stack.push((enter(&mut walk, to, parent), 0));
            }
        }
        walk
    }
}

/// The forest of the algorithm: `label` is the vertex of least semidominator between a vertex and its root.
struct Forest {
    ancestor: Vec<u32>,
    label: Vec<u32>,
    semi: Vec<u32>,
    path: Vec<u32>,
}

impl Forest {
    /// Returns the label of a vertex, and makes each vertex on the path a child of the root. The loop terminates
    /// because ancestors have smaller numbers.
    fn eval(&mut self, v: u32) -> u32 {
        if self.ancestor[v as usize] == NONE {
            return v;
        }
        let mut u = v;
        while self.ancestor[self.ancestor[u as usize] as usize] != NONE {
            self.path.push(u);
            u = self.ancestor[u as usize];
        }
        while let Some(w) = self.path.pop() {
            let above = self.ancestor[w as usize] as usize;
            let (own, theirs) = (self.label[w as usize], self.label[above]);
            if self.semi[theirs as usize] < self.semi[own as usize] {
                self.label[w as usize] = theirs;
            }
            self.ancestor[w as usize] = self.ancestor[above];
        }
        self.label[v as usize]
    }
}

/// Returns the immediate dominators by preorder number; the entry is its own.
fn idoms(problem: &Problem, walk: &Walk) -> Vec<u32> {
    let count = walk.order.len();
    let numbers: Vec<u32> = (0..count as u32).collect();
    let mut forest = Forest { ancestor: vec![NONE; count], label: numbers.clone(), semi: numbers, path: Vec::new() };
    let mut idoms = vec![0; count];
    // Vertices by semidominator, as linked lists.
    let (mut bucket, mut next) = (vec![NONE; count], vec![NONE; count]);
    for w in (1..count as u32).rev() {
        for &edge in problem.preds(walk.order[w as usize]) {
            let v = walk.numbers[problem.edge(edge).from.index()];
            if v != NONE {
                let u = forest.eval(v);
                forest.semi[w as usize] = forest.semi[w as usize].min(forest.semi[u as usize]);
            }
        }
        let semi = forest.semi[w as usize] as usize;
        next[w as usize] = std::mem::replace(&mut bucket[semi], w);
        let parent = walk.parents[w as usize];
        forest.ancestor[w as usize] = parent;
        let mut v = std::mem::replace(&mut bucket[parent as usize], NONE);
        while v != NONE {
            let u = forest.eval(v);
            let deferred = forest.semi[u as usize] < forest.semi[v as usize];
            idoms[v as usize] = if deferred { u } else { parent };
            v = next[v as usize];
        }
    }
    for w in 1..count {
        if idoms[w] != forest.semi[w] {
            idoms[w] = idoms[idoms[w] as usize];
        }
    }
    idoms
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Freq;

    fn graph(blocks: u32, edges: &[(u32, u32)]) -> Problem {
        let mut problem = Problem::default();
        for _ in 0..blocks {
            problem.begin_block(Freq::ENTRY, &[]);
        }
        for &(from, to) in edges {
            problem.add_edge(Block::from_u32(from), Block::from_u32(to), Freq::ENTRY, &[], &[]);
        }
        problem.finish();
        problem
    }

    /// Returns `true` if `to` can be reached without `without`. By definition `a` dominates `b` if `b` cannot be
    /// reached without `a`.
    fn reaches_without(blocks: u32, edges: &[(u32, u32)], to: u32, without: Option<u32>) -> bool {
        let mut seen = vec![false; blocks as usize];
        let mut work = if without == Some(0) { vec![] } else { vec![0] };
        while let Some(block) = work.pop() {
            if !std::mem::replace(&mut seen[block as usize], true) {
                work.extend(edges.iter().filter(|e| e.0 == block && Some(e.1) != without).map(|e| e.1));
            }
        }
        seen[to as usize]
    }

    #[test]
    fn agrees_with_the_definition_on_random_graphs() {
        let mut seed = 1u64;
        let mut random = |below: u32| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) as u32 % below
        };
        for _ in 0..500 {
            let blocks = 1 + random(9);
            let edges: Vec<_> = (0..random(3 * blocks)).map(|_| (random(blocks), random(blocks))).collect();
            let dominators = Dominators::new(&graph(blocks, &edges));
            for b in 0..blocks {
                let reachable = reaches_without(blocks, &edges, b, None);
                assert_eq!(dominators.is_reachable(Block::from_u32(b)), reachable);
                for a in 0..blocks {
                    let want = reachable && !reaches_without(blocks, &edges, b, Some(a));
                    let got = dominators.dominates(Block::from_u32(a), Block::from_u32(b));
                    assert_eq!(got, want, "{a} {b} in {edges:?}");
                }
            }
        }
    }

    #[test]
    fn long_chains_need_no_stack() {
        let edges: Vec<_> = (0..200_000).map(|i| (i, i + 1)).collect();
        let dominators = Dominators::new(&graph(200_001, &edges));
        assert!(dominators.dominates(Block::from_u32(1), Block::from_u32(200_000)));
    }
}
