//! The blocks of machine code: the reachable blocks of the function and one block per edge that needs its own.
//!
//! Before: a control-flow graph in which any branch passes arguments. After: machine blocks in allocation order, without
//! critical edges, with arguments only where a block has a single successor. Edges of one branch with equal target and
//! arguments are one. Edge blocks that stay empty cost nothing: emission passes through them.
//!
//! Order: reverse post-order, each loop contiguous; an edge block follows its predecessor. Cost: linear in blocks and edges.

use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, SecondaryMap};
use kingpost_ir::{Block as IrBlock, BlockCall, Function, Inst as IrInst};
use kingpost_regalloc::Block;

/// What a machine block stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MachineBlock {
    /// A block of the function.
    Ir(IrBlock),
    /// The edge number `edge` of the branch at the end of `from`.
    Edge {
        /// The predecessor.
        from: IrBlock,
        /// Index of the edge among the branch's destinations.
        edge: u32,
    },
}

/// Machine blocks in order, and where each branch goes. Cleared and used again.
#[derive(Default, Debug)]
pub struct BlockOrder {
    blocks: Vec<MachineBlock>,
    rpo: Vec<IrBlock>,
    block_of: SecondaryMap<IrBlock, PackedOption<Block>>,
    /// Machine block per destination of every branch, block after block.
    targets: Vec<Block>,
    /// Where each function block's destinations begin in `targets` and `same_as`.
    first_target: SecondaryMap<IrBlock, u32>,
    /// For each destination, the first equal one of the same branch.
    same_as: Vec<u32>,
    in_edges: SecondaryMap<IrBlock, u32>,
    last_seen: SecondaryMap<IrBlock, u32>,
    chain: Vec<u32>,
    stack: Vec<(IrBlock, u32)>,
    visited: SecondaryMap<IrBlock, bool>,
}

const NONE: u32 = u32::MAX;
/// How many unequal destinations of one target are compared before an edge is taken to be new.
const MAX_COMPARED: usize = 8;

impl BlockOrder {
    /// Computes the order for `func`.
    pub fn compute(&mut self, func: &Function) {
        self.clear();
        let Some(entry) = func.layout.entry_block() else { return };
        self.reverse_post_order(func, entry);
        self.unify_edges(func);
        self.place_blocks(func);
        self.resolve_targets(func);
    }

    fn clear(&mut self) {
        self.blocks.clear();
        self.rpo.clear();
        self.block_of.clear();
        self.targets.clear();
        self.first_target.clear();
        self.same_as.clear();
        self.in_edges.clear();
        self.last_seen.clear();
        self.chain.clear();
        self.stack.clear();
        self.visited.clear();
    }

    fn reverse_post_order(&mut self, func: &Function, entry: IrBlock) {
        self.visited[entry] = true;
        self.stack.push((entry, 0));
        while let Some((block, next)) = self.stack.last_mut() {
            // Later destinations first, so that the first one ends up right behind its branch.
            let dests = destinations(func, *block);
            let Some(index) = (dests.len() as u32).checked_sub(*next + 1) else {
                self.rpo.push(*block);
                self.stack.pop();
                continue;
            };
            *next += 1;
            let dest = dests[index as usize].block;
            if !self.visited[dest] {
                self.visited[dest] = true;
                self.stack.push((dest, 0));
            }
        }
        self.rpo.reverse();
    }

    /// Finds equal edges of each branch and counts the different ones into each block.
    fn unify_edges(&mut self, func: &Function) {
        for i in 0..self.rpo.len() {
            let block = self.rpo[i];
            let dests = destinations(func, block);
            let first = self.same_as.len() as u32;
            self.first_target[block] = first;
            for (k, dest) in dests.iter().enumerate() {
                let same = self.find_equal(func, dests, k, dest, first);
                self.same_as.push(same);
                if same == k as u32 {
                    self.in_edges[dest.block] += 1;
                    let last = &mut self.last_seen[dest.block];
                    self.chain.push(*last);
                    *last = first + k as u32 + 1;
                } else {
                    self.chain.push(0);
                }
            }
        }
    }

    fn find_equal(&self, func: &Function, dests: &[BlockCall], k: usize, dest: &BlockCall, first: u32) -> u32 {
        let mut seen = self.last_seen[dest.block];
        for _ in 0..MAX_COMPARED {
            // Entries are one above the index; those of other branches end the chain.
            if seen <= first {
                break;
            }
            let other = (seen - 1 - first) as usize;
            if func.dfg.block_args(dests[other]) == func.dfg.block_args(*dest) {
                return other as u32;
            }
            seen = self.chain[seen as usize - 1];
        }
        k as u32
    }

    /// Does the branch of `block` have edges that differ?
    fn branches(&self, block: IrBlock, dests: usize) -> bool {
        let first = self.first_target[block] as usize;
        self.same_as[first..first + dests].iter().any(|&same| same != 0)
    }

    fn place_blocks(&mut self, func: &Function) {
        for i in 0..self.rpo.len() {
            let block = self.rpo[i];
            self.block_of[block] = Block::new(self.blocks.len()).into();
            self.blocks.push(MachineBlock::Ir(block));
            let dests = destinations(func, block);
            let first = self.first_target[block] as usize;
            self.targets.resize(first + dests.len(), Block::from_u32(NONE - 1));
            if !self.branches(block, dests.len()) {
                continue;
            }
            for (k, dest) in dests.iter().enumerate() {
                let own = self.same_as[first + k] == k as u32;
                if own && (self.in_edges[dest.block] > 1 || !func.dfg.block_args(*dest).is_empty()) {
                    self.targets[first + k] = Block::new(self.blocks.len());
                    self.blocks.push(MachineBlock::Edge { from: block, edge: k as u32 });
                }
            }
        }
    }

    /// Fills in targets that have no edge block, and those of equal edges.
    fn resolve_targets(&mut self, func: &Function) {
        for &block in &self.rpo {
            let first = self.first_target[block] as usize;
            for (k, dest) in destinations(func, block).iter().enumerate() {
                let same = self.same_as[first + k] as usize;
                self.targets[first + k] = if same != k {
                    self.targets[first + same]
                } else if self.targets[first + k].as_u32() == NONE - 1 {
                    self.block_of[dest.block].expect("a reachable block is placed")
                } else {
                    self.targets[first + k]
                };
            }
        }
    }

    /// Machine blocks in order.
    pub fn blocks(&self) -> &[MachineBlock] {
        &self.blocks
    }

    /// Reachable blocks of the function in reverse post-order.
    pub fn rpo(&self) -> &[IrBlock] {
        &self.rpo
    }

    /// The machine block of a reachable block.
    pub fn block_of(&self, block: IrBlock) -> Option<Block> {
        self.block_of[block].expand()
    }

    /// The machine blocks to which the branch of `block` goes, one per destination in the order of the text.
    pub fn targets(&self, block: IrBlock, dests: usize) -> &[Block] {
        let first = self.first_target[block] as usize;
        &self.targets[first..first + dests]
    }

    /// For each destination of the branch of `block`, the index of the first equal one.
    pub fn same_as(&self, block: IrBlock, dests: usize) -> &[u32] {
        let first = self.first_target[block] as usize;
        &self.same_as[first..first + dests]
    }
}

/// Destinations of the branch at the end of `block`.
pub(crate) fn destinations(func: &Function, block: IrBlock) -> &[BlockCall] {
    match func.layout.last_inst(block) {
        Some(inst) if is_branch(func, inst) => func.dfg.branch_destinations(inst),
        _ => &[],
    }
}

fn is_branch(func: &Function, inst: IrInst) -> bool {
    func.dfg.opcode(inst).is_branch()
}
