//! The order in which blocks are visited, and the regions of it that loops cover.
//!
//! The problem's own order serves if each block comes after one of its predecessors, and so after whatever dominates it;
//! else it is a reverse post-order. A *place* is a position in the order.

use crate::liveness::{reset, scaled};
use cranelift_entity::EntityRef;
use kingpost_regalloc::{Block, Problem};

const NONE: u32 = u32::MAX;

#[derive(Default)]
pub(crate) struct Order {
    pub(crate) blocks: Vec<Block>,
    /// Per place, how often its block runs.
    pub(crate) freqs: Vec<u32>,
    /// Per block.
    places: Vec<u32>,
    /// All places in order: from the first to the last of an outermost loop, or one that is in no loop.
    pub(crate) regions: Vec<(u32, u32)>,
    /// Is every loop entered at its first block only?
    pub(crate) is_reducible: bool,
    /// Loops around the block at hand: first and last place.
    nest: Vec<(u32, u32)>,
    stack: Vec<(Block, usize)>,
}

impl Order {
    pub(crate) fn compute(&mut self, problem: &Problem) {
        self.blocks.clear();
        self.blocks.extend_from_slice(&problem.order);
        self.number(problem);
        if !self.find_loops(problem) {
            self.post_order(problem);
            self.blocks.reverse();
            self.number(problem);
            self.find_loops(problem);
        }
        self.freqs.clear();
        self.freqs.extend(self.blocks.iter().map(|&block| scaled(problem.freq(block))));
    }

    pub(crate) fn place(&self, block: Block) -> u32 {
        self.places[block.index()]
    }

    fn number(&mut self, problem: &Problem) {
        reset(&mut self.places, problem.num_blocks(), NONE);
        for (place, block) in self.blocks.iter().enumerate() {
            self.places[block.index()] = place as u32;
        }
    }

    fn post_order(&mut self, problem: &Problem) {
        self.blocks.clear();
        reset(&mut self.places, problem.num_blocks(), NONE);
        let entry = problem.entry();
        self.places[entry.index()] = 0;
        self.stack.push((entry, 0));
        while let Some((block, next)) = self.stack.last_mut() {
            let Some(&edge) = problem.succs(*block).get(*next) else {
                self.blocks.push(*block);
                self.stack.pop();
                continue;
            };
            *next += 1;
            let to = problem.edge(edge).to;
            if self.places[to.index()] == NONE {
                self.places[to.index()] = 0;
                self.stack.push((to, 0));
            }
        }
    }

    /// Regions from the target of an edge that leads back to its source; those that overlap count as one. Does each
    /// block but the first come after one of its predecessors?
    fn find_loops(&mut self, problem: &Problem) -> bool {
        let mut serves = true;
        self.regions.clear();
        self.is_reducible = true;
        self.nest.clear();
        let (mut begin, mut end) = (0, 0);
        for place in 0..self.blocks.len() as u32 {
            while self.nest.last().is_some_and(|&(_, last)| last < place) {
                self.nest.pop();
            }
            let around = self.nest.last().map_or(0, |&(first, _)| first);
            let (mut back, mut least) = (NONE, place);
            for &edge in problem.preds(self.blocks[place as usize]) {
                let from = self.place(problem.edge(edge).from);
                if from >= place {
                    back = if back == NONE { from } else { back.max(from) };
                }
                least = least.min(from);
            }
            serves &= least < place || place == 0;
            self.is_reducible &= least >= around;
            if back != NONE {
                self.nest.push((place, back));
                end = end.max(back);
            }
            if end <= place {
                self.regions.push((begin, place));
                begin = place + 1;
            }
        }
        serves
    }
}
