//! Blocks of machine code: the reachable blocks of the function, and one block for each edge that needs its own.
//!
//! Before: a control-flow graph in which any branch passes arguments. After: machine blocks in allocation order,
//! without critical edges, with arguments only where a block has a single successor. Edges of one branch with equal
//! target and arguments are merged. Edge blocks that remain empty cost nothing, because emission bypasses them. Each
//! edge of a call with handlers has an edge block: the call has operands, which a branch into a join must not have,
//! and the instructions after it on its normal edge need a block. That edge is never merged with the edge of a
//! handler.
//!
//! Order: reverse post-order, each loop contiguous; an edge block follows its predecessor. Cost: linear in blocks and
//! edges.

use cranelift_entity::EntityRef;
use cranelift_entity::packed_option::{PackedOption, ReservedValue};
use kingpost_ir::analyses::Analyses;
use kingpost_ir::frequencies::Frequencies;
use kingpost_ir::loops::Loop;
use kingpost_ir::release::release;
use kingpost_ir::{Block as IrBlock, BlockCall, Function, Inst as IrInst};
use kingpost_meter::heap_bytes;
use kingpost_regalloc::{Block, Freq};
use std::ops::Range;

/// Returns the frequency with which destination number `edge` of a block's terminator is taken.
pub fn edge_freq(analyses: &Analyses, block: IrBlock, edge: usize) -> Freq {
    scale(analyses.frequencies.edge(&analyses.cfg, block, edge))
}

/// Converts a frequency from the unit of the frequency analysis to the unit of allocation problems.
fn scale(freq: u32) -> Freq {
    Freq((u64::from(freq) * (Freq::ENTRY.0 / u64::from(Frequencies::ENTRY))).min(Freq::MAX.0))
}

/// Origin of a machine block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MachineBlock {
    /// A block of the function.
    Ir(IrBlock),
    /// The edge number `edge` of the branch at the end of `from`.
    Edge {
        /// The predecessor.
        from: IrBlock,
        /// Index of the edge among the destinations of the branch.
        edge: u32,
    },
}

/// Data of a block of the function.
#[derive(Clone, Copy, Default, Debug)]
struct Placement {
    block: PackedOption<Block>,
    /// Start of the block's destinations in [`BlockOrder::targets`] and `same_as`.
    first_target: u32,
    in_edges: u32,
    /// Index of the last destination that names the block, plus one.
    last_seen: u32,
}

/// Machine blocks in order, and the targets of each branch. Cleared and reused.
#[derive(Default, Debug)]
pub struct BlockOrder {
    blocks: Vec<MachineBlock>,
    freqs: Vec<Freq>,
    /// Whether each machine block is placed after all other blocks.
    cold: Vec<bool>,
    rpo: Vec<IrBlock>,
    /// Data by block of the function.
    placements: Vec<Placement>,
    /// Machine block of each destination of every branch, numbered like the edges of the graph. Reserved until it is
    /// known.
    targets: Vec<Block>,
    /// For each destination, the first equal destination of the branch.
    same_as: Vec<u32>,
    /// For each destination, the value of `last_seen` before it.
    chain: Vec<u32>,
    lists: LoopLists,
}

heap_bytes!(BlockOrder { blocks, freqs, cold, rpo, placements, targets, same_as, chain, lists });

/// Blocks and inner loops of each loop, in order, as linked lists.
#[derive(Default, Debug)]
struct LoopLists {
    /// First and last item of each loop. Index 0 is for items outside loops, and index `n + 1` for loop `n`.
    ends: Vec<(u32, u32)>,
    items: Vec<(Item, u32)>,
    stack: Vec<u32>,
}

heap_bytes!(LoopLists { ends, items, stack });

#[derive(Clone, Copy, Debug)]
enum Item {
    Block(IrBlock),
    Loop(Loop),
}

impl LoopLists {
    fn push(&mut self, list: usize, item: Item) {
        if self.ends.len() <= list {
            self.ends.resize(list + 1, (NONE, NONE));
        }
        let index = self.items.len() as u32;
        self.items.push((item, NONE));
        let (first, last) = &mut self.ends[list];
        match *last {
            NONE => *first = index,
            last => self.items[last as usize].1 = index,
        }
        *last = index;
    }

    /// Appends the blocks in reverse post-order to `out`, with each loop contiguous at the position of its header.
    fn order(&mut self, analyses: &Analyses, out: &mut Vec<IrBlock>) {
        let loops = &analyses.loops;
        self.ends.clear();
        self.items.clear();
        let list = |l: Option<Loop>| l.map_or(0, |l| l.index() + 1);
        for block in analyses.dominators.reverse_postorder() {
            let inner = loops.innermost_loop(block);
            if let Some(l) = inner.filter(|&l| loops.header(l) == block) {
                self.push(list(loops.parent(l)), Item::Loop(l));
            }
            self.push(list(inner), Item::Block(block));
        }
        self.stack.clear();
        self.stack.extend(self.ends.first().map(|&(first, _)| first));
        while let Some(index) = self.stack.pop() {
            let Some(&(item, next)) = self.items.get(index as usize) else { continue };
            self.stack.push(next);
            match item {
                Item::Block(block) => out.push(block),
                Item::Loop(l) => self.stack.push(self.ends[l.index() + 1].0),
            }
        }
    }
}

const NONE: u32 = u32::MAX;
/// A block that runs less than once for this number of iterations of its loop, as the client says, is cold.
const SELDOM: u32 = 64;
/// Number of unequal destinations of one target that are compared before an edge counts as new.
const MAX_COMPARED: usize = 8;

impl BlockOrder {
    /// Clears everything and frees the memory.
    pub(crate) fn release(&mut self) {
        release(&mut self.blocks);
        release(&mut self.freqs);
        release(&mut self.cold);
        release(&mut self.rpo);
        release(&mut self.placements);
        release(&mut self.targets);
        release(&mut self.same_as);
        release(&mut self.chain);
        release(&mut self.lists.ends);
        release(&mut self.lists.items);
    }

    /// Computes the order for `func`.
    pub fn compute(&mut self, func: &Function, analyses: &Analyses) {
        self.clear(func.dfg.num_blocks());
        if analyses.loops.loops().next().is_some() {
            self.lists.order(analyses, &mut self.rpo);
        } else {
            self.rpo.extend(analyses.dominators.reverse_postorder());
        }
        let has_edges = analyses.cfg.num_edges() > 0;
        if has_edges {
            self.unify_edges(func, analyses);
        }
        self.place_blocks(func, analyses);
        if has_edges {
            self.resolve_targets(analyses);
        }
    }

    /// Clears the order for a function of `num_blocks` blocks.
    fn clear(&mut self, num_blocks: usize) {
        self.blocks.clear();
        self.freqs.clear();
        self.cold.clear();
        self.rpo.clear();
        self.targets.clear();
        self.same_as.clear();
        self.chain.clear();
        self.placements.clear();
        self.placements.resize(num_blocks, Placement::default());
    }

    /// Finds equal edges of each branch and counts the distinct edges into each block.
    fn unify_edges(&mut self, func: &Function, analyses: &Analyses) {
        let edges = analyses.cfg.num_edges();
        self.targets.resize(edges, Block::reserved_value());
        self.same_as.resize(edges, 0);
        self.chain.resize(edges, 0);
        for i in 0..self.rpo.len() {
            let block = self.rpo[i];
            let first = analyses.cfg.first_edge(block) as u32;
            self.placements[block.index()].first_target = first;
            match *analyses.cfg.succs(block) {
                [] => {}
                [succ] => self.placements[succ.index()].in_edges += 1,
                ref succs => self.unify_edges_of(func, block, succs, first),
            }
        }
    }

    /// Merges equal edges of one branch, whose destinations are numbered from `first` on.
    fn unify_edges_of(&mut self, func: &Function, block: IrBlock, succs: &[IrBlock], first: u32) {
        let normal = if func.dfg.has_exception_tables() { num_handlers(func, block) } else { 0 };
        for (k, &succ) in succs.iter().enumerate() {
            let is_normal = k > 0 && k == normal;
            let seen = self.placements[succ.index()].last_seen;
            let is_new = is_normal || earlier(seen, first, k).is_none();
            let same = if is_new { k } else { self.find_equal(func, block, k, first) };
            self.same_as[first as usize + k] = same as u32;
            if same == k {
                self.chain[first as usize + k] = seen;
                let target = &mut self.placements[succ.index()];
                target.in_edges += 1;
                target.last_seen = first + k as u32 + 1;
            }
        }
    }

    fn find_equal(&self, func: &Function, block: IrBlock, k: usize, first: u32) -> usize {
        let dests = destinations(func, block);
        let mut seen = self.placements[dests[k].block.index()].last_seen;
        for _ in 0..MAX_COMPARED {
            let Some(other) = earlier(seen, first, k) else { break };
            if func.dfg.block_args(dests[other]) == func.dfg.block_args(dests[k]) {
                return other;
            }
            seen = self.chain[seen as usize - 1];
        }
        k
    }

    /// Returns `true` if the branch of `block` has edges that differ.
    fn branches(&self, block: IrBlock, dests: usize) -> bool {
        self.same_as(block, dests).iter().any(|&same| same != 0)
    }

    /// Numbers the machine blocks: each block of the function, followed by its edge blocks.
    fn place_blocks(&mut self, func: &Function, analyses: &Analyses) {
        for i in 0..self.rpo.len() {
            let block = self.rpo[i];
            self.placements[block.index()].block = Block::new(self.blocks.len()).into();
            self.blocks.push(MachineBlock::Ir(block));
            self.freqs.push(scale(analyses.frequencies.block(block)));
            self.cold.push(i > 0 && is_cold(func, analyses, block));
            let count = analyses.cfg.succs(block).len();
            if count >= 2 && self.branches(block, count) {
                self.place_edges(func, analyses, block);
            }
        }
    }

    /// Numbers the edge blocks of a block whose edges differ.
    fn place_edges(&mut self, func: &Function, analyses: &Analyses, block: IrBlock) {
        let first = self.placements[block.index()].first_target as usize;
        let dests = destinations(func, block);
        let throws = func.dfg.has_exception_tables() && num_handlers(func, block) > 0;
        for (k, dest) in dests.iter().enumerate() {
            let own = self.same_as[first + k] == k as u32;
            if own
                && (throws
                    || self.placements[dest.block.index()].in_edges > 1
                    || !func.dfg.block_args(*dest).is_empty())
            {
                self.targets[first + k] = Block::new(self.blocks.len());
                self.blocks.push(MachineBlock::Edge { from: block, edge: k as u32 });
                self.freqs.push(Freq(0));
            }
        }
        // An edge block runs as often as all the equal edges that it represents.
        for k in 0..dests.len() {
            let target = self.targets[first + self.same_as[first + k] as usize];
            if !target.is_reserved_value() {
                let freq = &mut self.freqs[target.index()];
                freq.0 = (freq.0 + edge_freq(analyses, block, k).0).min(Freq::MAX.0);
            }
        }
        let edges = &self.freqs[self.cold.len()..];
        self.cold.extend(edges.iter().map(|&freq| freq <= scale(Frequencies::RARE)));
    }

    /// Fills in the targets of edges without a block, and of edges that are equal to another one.
    fn resolve_targets(&mut self, analyses: &Analyses) {
        for &block in &self.rpo {
            let succs = analyses.cfg.succs(block);
            let edges = range(self.placements[block.index()].first_target, succs.len());
            let (targets, same_as) = (&mut self.targets[edges.clone()], &self.same_as[edges]);
            for (k, (&succ, &same)) in succs.iter().zip(same_as).enumerate() {
                if same != k as u32 {
                    targets[k] = targets[same as usize];
                } else if targets[k].is_reserved_value() {
                    targets[k] = self.placements[succ.index()].block.expect("a reachable block is placed");
                }
            }
        }
    }

    /// Returns the machine blocks in order.
    pub fn blocks(&self) -> &[MachineBlock] {
        &self.blocks
    }

    /// Returns the frequency of a machine block.
    pub fn freq(&self, block: Block) -> Freq {
        self.freqs[block.index()]
    }

    /// Returns `true` if a machine block runs so rarely that it should be placed after all hot blocks. The entry is
    /// never cold.
    pub fn is_cold(&self, block: Block) -> bool {
        self.cold[block.index()]
    }

    /// Returns the reachable blocks of the function in order.
    pub fn rpo(&self) -> &[IrBlock] {
        &self.rpo
    }

    /// Returns the machine block of a reachable block.
    pub fn block_of(&self, block: IrBlock) -> Option<Block> {
        self.placements[block.index()].block.expand()
    }

    /// Returns the target blocks of the branch of `block`, one per destination in the order of the text.
    pub fn targets(&self, block: IrBlock, dests: usize) -> &[Block] {
        &self.targets[range(self.placements[block.index()].first_target, dests)]
    }

    /// Returns the target block of destination number `k` of the branch of `block`, unless an earlier destination is
    /// equal.
    pub fn own_target(&self, block: IrBlock, k: usize) -> Option<Block> {
        let index = self.placements[block.index()].first_target as usize + k;
        (self.same_as[index] == k as u32).then(|| self.targets[index])
    }

    /// Returns for each destination of the branch of `block` the index of the first equal one.
    pub fn same_as(&self, block: IrBlock, dests: usize) -> &[u32] {
        &self.same_as[range(self.placements[block.index()].first_target, dests)]
    }

    /// Returns the target blocks of the branch of `block`, without the targets of repeated edges.
    pub fn own_targets(&self, block: IrBlock, dests: usize) -> impl Iterator<Item = Block> {
        let edges = self.same_as(block, dests).iter().zip(self.targets(block, dests));
        edges.enumerate().filter(|&(k, (&same, _))| same == k as u32).map(|(_, (_, &to))| to)
    }
}

/// Returns `true` if a block runs hardly ever, or if the client says that it runs hardly ever for each iteration of its loop.
fn is_cold(func: &Function, analyses: &Analyses, block: IrBlock) -> bool {
    let frequency = analyses.frequencies.block(block);
    let is_seldom = || {
        let header = analyses.loops.innermost_loop(block).map(|inner| analyses.loops.header(inner));
        let around = header.map_or(Frequencies::ENTRY, |header| analyses.frequencies.block(header));
        frequency < around / SELDOM
    };
    frequency <= Frequencies::RARE || func.layout.frequency(block).is_some() && is_seldom()
}

/// Returns the indices of `dests` destinations from `first` on.
fn range(first: u32, dests: usize) -> Range<usize> {
    first as usize..first as usize + dests
}

/// Returns the index below `k`, counted from `first`, of the destination that was seen last. `seen` is one more than
/// its number.
fn earlier(seen: u32, first: u32, k: usize) -> Option<usize> {
    let index = (seen as usize).checked_sub(first as usize + 1)?;
    (index < k).then_some(index)
}

/// Returns the destinations of the branch at the end of `block`.
pub(crate) fn destinations(func: &Function, block: IrBlock) -> &[BlockCall] {
    match func.layout.last_inst(block) {
        Some(inst) if is_branch(func, inst) => func.dfg.branch_destinations(inst),
        _ => &[],
    }
}

/// Returns the number of destinations of the branch at the end of `block` that are handlers of exceptions. They are
/// the first ones.
pub(crate) fn num_handlers(func: &Function, block: IrBlock) -> usize {
    func.layout.last_inst(block).map_or(0, |last| func.dfg.num_handlers(last))
}

fn is_branch(func: &Function, inst: IrInst) -> bool {
    func.dfg.opcode(inst).is_branch()
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_ir::types::{I8, I32};
    use kingpost_ir::{InstData, Opcode, Value};

    /// Returns a function of empty blocks with these successors. A block with two ends in a `brif`, a block with more
    /// in a `br_table`.
    fn graph(succs: &[&[usize]]) -> Function {
        let mut func = Function::default();
        let blocks: Vec<IrBlock> = succs.iter().map(|_| func.dfg.make_block()).collect();
        let cond: Value = func.dfg.append_block_param(blocks[0], I8);
        let index: Value = func.dfg.append_block_param(blocks[0], I32);
        for (&block, succs) in blocks.iter().zip(succs) {
            func.layout.append_block(block);
            let mut calls: Vec<BlockCall> =
                succs.iter().map(|&s| func.dfg.block_call_with_values(blocks[s], &[])).collect();
            let data = match calls.len() {
                0 => func.dfg.return_data(&[]),
                1 => func.dfg.jump_data(calls[0]),
                2 => func.dfg.brif_data(cond, calls[0], calls[1]),
                _ => {
                    let default = calls.remove(0);
                    let table = func.dfg.make_jump_table(default, &calls);
                    func.dfg.br_table_data(index, table)
                }
            };
            debug_assert_eq!(data.opcode() == Opcode::Jump, succs.len() == 1);
            let inst = func.dfg.make_inst(InstData::clone(&data));
            func.layout.append_inst(inst, block);
        }
        func
    }

    /// Returns machine blocks as text: a number for a block, `from>to` for an edge block.
    fn order(succs: &[&[usize]]) -> String {
        let func = graph(succs);
        let mut analyses = Analyses::default();
        analyses.update(&func);
        let mut order = BlockOrder::default();
        order.compute(&func, &analyses);
        let text = order.blocks().iter().map(|block| match *block {
            MachineBlock::Ir(block) => block.index().to_string(),
            MachineBlock::Edge { from, edge } => {
                format!("{}>{}", from.index(), destinations(&func, from)[edge as usize].block.index())
            }
        });
        text.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn critical_edges_get_blocks_and_others_do_not() {
        assert_eq!(order(&[&[1, 2], &[3], &[3], &[]]), "0 2 1 3");
        assert_eq!(order(&[&[1, 2], &[2], &[]]), "0 0>2 1 2");
        assert_eq!(order(&[&[1], &[]]), "0 1");
        assert_eq!(order(&[&[1, 1], &[]]), "0 1");
    }

    #[test]
    fn loops_are_contiguous() {
        // 1 is a loop with body 2 and exit 3; reverse post-order alone may put 3 between them.
        assert_eq!(order(&[&[1], &[3, 2], &[1], &[]]), "0 1 2 3");
        // The inner loop 2-3 stays within 1-2-3-4.
        assert_eq!(order(&[&[1], &[5, 2], &[4, 3], &[2], &[1], &[]]), "0 1 1>2 2 3 4 5");
    }

    #[test]
    fn equal_edges_of_a_table_are_one() {
        assert_eq!(order(&[&[2, 1, 1, 2, 1], &[2], &[]]), "0 0>2 1 2");
        let wide: Vec<usize> = (0..100_000).map(|i| 1 + i % 3).collect();
        assert_eq!(order(&[&wide, &[4], &[4], &[4], &[]]), "0 3 2 1 4");
    }
}
