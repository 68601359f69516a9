//! Final targets of branches to each block.
//!
//! ```text
//! b4: mov r0 <- 0; jump b9
//! b5: jump b6                         a branch to b5 or b7 goes to b9, one to b4 to b8
//! b6: jump b9
//! b7: jump b5
//! b8: mov r0 <- 0; jump b9
//! ```
//!
//! A branch to a block that holds only a jump is redirected to the target of the jump, except for the entry and for
//! cycles of such blocks. Blocks that hold equal moves and a jump to one target, as for edges that pass equal
//! arguments, are merged into the last of them, which is nearest to the target. Redirected blocks are not emitted.
//!
//! Cost: linear in blocks, cycles included, except for sorting the blocks that hold moves and a jump. Each of these
//! is compared with a few.

use crate::inst::{MInst, NO_BLOCK};
use crate::row::{Row, RowKind};
use cranelift_entity::EntityRef;
use kingpost_meter::heap_bytes;
use kingpost_regalloc::Block;
use kingpost_regalloc::sort::sort_by_key;
use std::cmp::Reverse;

/// Number of different blocks with a jump to one target that are compared with the next one.
const MAX_DIFFERENT: usize = 8;

/// Final targets of one function's branches. Cleared and reused.
#[derive(Default, Debug)]
pub(crate) struct Threads {
    /// Target of a branch to each block.
    to: Vec<Block>,
    /// Blocks that hold moves and a jump, each with the target of the jump.
    moves: Vec<(Block, Block)>,
}

heap_bytes!(Threads { to, moves });

impl Threads {
    /// Begins a function of `blocks` blocks, with every branch to its own target.
    pub(crate) fn begin(&mut self, blocks: usize) {
        self.to.clear();
        self.to.extend((0..blocks).map(Block::new));
        self.moves.clear();
    }

    /// Records that a block holds only a jump.
    pub(crate) fn pass_through(&mut self, block: Block, to: Block) {
        self.to[block.index()] = to;
    }

    /// Records that a block holds moves and a jump.
    pub(crate) fn note_moves(&mut self, block: Block, to: Block) {
        self.moves.push((block, to));
    }

    /// Returns the final target of a branch to each block.
    pub(crate) fn to(&self) -> &[Block] {
        &self.to
    }

    /// Follows all chains of jumps, and merges blocks whose moves are equal.
    pub(crate) fn resolve(&mut self, are_same: impl Fn(Block, Block) -> bool) {
        self.resolve_chains();
        if self.merge(are_same) {
            self.resolve_chains();
        }
    }

    fn resolve_chains(&mut self) {
        for block in (0..self.to.len()).map(Block::new) {
            if self.to[block.index()] != block {
                self.resolve_chain(block);
            }
        }
    }

    /// Follows `block`'s chain of jumps and shortens it. A chain that ends in a cycle ends at one block of the cycle,
    /// at `block` itself if it is part of the cycle. Takes at most four steps for each block of the chain: a block is
    /// recorded after 1, 2, 4, 8, … steps, and a cycle is found when the walk arrives at the recorded block (Brent,
    /// "An improved Monte Carlo factorization algorithm", 1980).
    fn resolve_chain(&mut self, block: Block) {
        let (mut end, mut noted) = (block, block);
        let (mut steps, mut limit) = (0, 1);
        while self.to[end.index()] != end {
            end = self.to[end.index()];
            if end == block || end == noted {
                self.to[end.index()] = end;
                break;
            }
            steps += 1;
            if steps == limit {
                (noted, steps, limit) = (end, 0, 2 * limit);
            }
        }
        let mut at = block;
        while self.to[at.index()] != end {
            let next = self.to[at.index()];
            self.to[at.index()] = end;
            at = next;
        }
    }

    /// Redirects branches to each block with moves to the last block that has equal ones. Returns `true` if any
    /// branch is redirected.
    fn merge(&mut self, are_same: impl Fn(Block, Block) -> bool) -> bool {
        for (_, to) in &mut self.moves {
            *to = self.to[to.index()];
        }
        sort_by_key(&mut self.moves, |&(block, to)| (to, Reverse(block)));
        let mut merged = false;
        for same_place in self.moves.chunk_by(|a, b| a.1 == b.1) {
            let mut kept = [None; MAX_DIFFERENT];
            for &(block, _) in same_place {
                let mut places = kept.iter_mut();
                match places.find(|place| place.is_none_or(|kept| are_same(kept, block))) {
                    Some(Some(kept)) => (self.to[block.index()], merged) = (*kept, true),
                    Some(place) => *place = Some(block),
                    None => {}
                }
            }
        }
        merged
    }
}

/// Returns the target of an instruction that is a jump to a single block.
pub(crate) fn jump_target(rows: &[Row], inst: &MInst) -> Option<Block> {
    let row = &rows[usize::from(inst.row.0)];
    let is_jump =
        row.kind == RowKind::Branch && inst.extra == NO_BLOCK && inst.aux != NO_BLOCK && row.operands.is_empty();
    is_jump.then(|| Block::from_u32(inst.aux))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threads(blocks: usize, jumps: &[(usize, usize)], moves: &[(usize, usize, u32)]) -> Vec<usize> {
        let mut threads = Threads::default();
        threads.begin(blocks);
        jumps.iter().for_each(|&(block, to)| threads.pass_through(Block::new(block), Block::new(to)));
        moves.iter().for_each(|&(block, to, _)| threads.note_moves(Block::new(block), Block::new(to)));
        let what = |block: Block| moves.iter().find(|moves| moves.0 == block.index()).map(|moves| moves.2);
        threads.resolve(|a, b| what(a) == what(b));
        threads.to().iter().map(|to| to.index()).collect()
    }

    #[test]
    fn chains_are_followed_and_rings_broken() {
        assert_eq!(threads(5, &[(1, 2), (2, 4)], &[]), [0, 4, 4, 3, 4]);
        assert_eq!(threads(4, &[(1, 2), (2, 3), (3, 1)], &[]), [0, 1, 1, 1]);
        // A cycle that is entered through another block.
        assert_eq!(threads(4, &[(1, 2), (2, 3), (3, 2)], &[]), [0, 2, 2, 2]);
    }

    /// Checks random graphs: every block is redirected to one that its jumps reach, and the result depends only on
    /// the end of the chain.
    #[test]
    fn random_graphs_are_resolved() {
        let mut state = 1_u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize
        };
        for _ in 0..3000 {
            let blocks = 2 + random() % 40;
            // One block in eight holds more than a jump and is its own target, as is the entry.
            let mut target =
                |block: usize| if block == 0 || random() % 8 == 0 { block } else { 1 + random() % (blocks - 1) };
            let next: Vec<usize> = (0..blocks).map(&mut target).collect();
            let jumps: Vec<_> = next.iter().copied().enumerate().filter(|(block, to)| block != to).collect();
            let to = threads(blocks, &jumps, &[]);
            for block in 0..blocks {
                let after = |from: usize| std::iter::successors(Some(from), |&at| Some(next[at])).skip(1).take(blocks);
                let end = to[block];
                assert!(end == block || after(block).any(|at| at == end), "{block} to {end} in {next:?}");
                assert!(after(end).any(|at| at == end), "{block} to {end}, which goes on in {next:?}");
                assert!(
                    end == block || end == to[next[block]],
                    "{block} to {end}, its successor elsewhere in {next:?}"
                );
            }
        }
    }

    #[test]
    fn the_last_of_equal_blocks_stands_for_all() {
        // Blocks 1, 2 and 4 pass equal arguments to 6, the second by way of 5, and 3 passes other ones.
        let moves = [(1, 6, 7), (2, 5, 7), (3, 6, 8), (4, 6, 7)];
        assert_eq!(threads(7, &[(5, 6)], &moves), [0, 4, 4, 3, 4, 6, 6]);
        // A jump to a merged block is redirected too, and equal moves to another target stay.
        assert_eq!(threads(6, &[(5, 1)], &[(1, 4, 7), (2, 4, 7), (3, 0, 7)]), [0, 2, 2, 3, 4, 2]);
    }

    #[test]
    fn of_many_different_ones_some_stay() {
        let moves: Vec<_> = (1..20).map(|block| (block, 20, block as u32 % 10)).collect();
        let to = threads(21, &[], &moves);
        assert_eq!((to[9], to[8], to[2], to[1]), (19, 18, 12, 1));
    }
}
