//! Execution frequencies of blocks and edges.
//!
//! The frequency of a block is what the client has given, [`crate::Function::set_block_frequency`], or else an
//! estimate. A block is assumed to run eight times as often as the code around its innermost loop, up to a cap. Cold
//! blocks, blocks that end in a trap and blocks that only exceptions reach are assumed to run hardly ever. The outgoing
//! edges of a block share its frequency in proportion to the weights of their destinations; an exception edge gets
//! almost none. Frequencies are integers in units of 1/1024 of the function's entry. The cost is linear in blocks and
//! edges.
//!
//! The estimate needs the control-flow graph, the dominator tree and the loops.

use cranelift_entity::EntityRef;

use crate::cfg::{ControlFlowGraph, Predecessor};
use crate::dominators::DominatorTree;
use crate::entities::Block;
use crate::function::Function;
use crate::layout::Layout;
use crate::loops::LoopForest;
use crate::opcodes::Opcode;
use crate::release::release;
use kingpost_meter::heap_bytes;

/// Frequencies of blocks and edges.
#[derive(Clone, Default, Debug)]
pub struct Frequencies {
    blocks: Vec<u32>,
    /// Frequencies of edges, by the graph's edge index.
    edges: Vec<u32>,
}

heap_bytes!(Frequencies { blocks, edges });

impl Frequencies {
    /// Clears everything and frees the memory.
    pub(crate) fn release(&mut self) {
        release(&mut self.blocks);
        release(&mut self.edges);
    }

    /// The frequency of the entry block.
    pub const ENTRY: u32 = Layout::ENTRY;
    /// Largest frequency that counts as never executed.
    pub const RARE: u32 = Layout::RARE;
    /// Largest frequency: 2^20 runs for each call of the function.
    pub const MAX: u32 = Layout::MAX;
    /// Loops deeper than this count as this deep.
    const MAX_DEPTH: u32 = 6;

    /// Estimates the frequencies of a function.
    pub fn new(func: &Function, cfg: &ControlFlowGraph, tree: &DominatorTree, loops: &LoopForest) -> Frequencies {
        let mut frequencies = Frequencies::default();
        frequencies.compute(func, cfg, tree, loops);
        frequencies
    }

    /// Estimates the frequencies of a function and reuses the memory of these.
    pub fn compute(&mut self, func: &Function, cfg: &ControlFlowGraph, tree: &DominatorTree, loops: &LoopForest) {
        self.blocks.clear();
        self.blocks.resize(func.dfg.num_blocks(), 0);
        self.edges.clear();
        self.edges.resize(cfg.num_edges(), 0);
        if cfg.num_edges() == 0 {
            return self.count_entry(func);
        }
        for &block in tree.cfg_postorder() {
            self.blocks[block.index()] = match func.layout.frequency(block) {
                Some(given) => given,
                None if is_rare(func, cfg, block) => Frequencies::RARE,
                None => Frequencies::ENTRY << (3 * loops.block_depth(block).min(Frequencies::MAX_DEPTH)),
            };
        }
        self.count_entry(func);
        for &block in tree.cfg_postorder() {
            self.share(func, block, cfg);
        }
    }

    fn count_entry(&mut self, func: &Function) {
        if let Some(entry) = func.layout.entry_block() {
            self.blocks[entry.index()] = Frequencies::ENTRY;
        }
    }

    /// Divides a block's frequency among its outgoing edges.
    fn share(&mut self, func: &Function, block: Block, cfg: &ControlFlowGraph) {
        let succs = cfg.succs(block);
        if let [_] = succs {
            self.edges[cfg.first_edge(block)] = self.block(block);
            return;
        }
        let handlers = match func.dfg.has_exception_tables() {
            true => cfg.terminator(block).map_or(0, |last| func.dfg.num_handlers(last)),
            false => 0,
        };
        let total: u64 = succs[handlers..].iter().map(|&succ| u64::from(self.block(succ))).sum();
        let own = u64::from(self.block(block));
        for (edge, &succ) in succs.iter().enumerate() {
            let share = if edge < handlers { 0 } else { own * u64::from(self.block(succ)) / total.max(1) };
            self.edges[cfg.first_edge(block) + edge] = (share as u32).max(Frequencies::RARE);
        }
    }

    /// Returns the frequency of a block; 0 if it is unreachable.
    pub fn block(&self, block: Block) -> u32 {
        self.blocks[block.index()]
    }

    /// Returns the frequency of destination number `edge` of a block's terminator.
    pub fn edge(&self, cfg: &ControlFlowGraph, block: Block, edge: usize) -> u32 {
        self.edges[cfg.first_edge(block) + edge]
    }
}

/// Returns `true` if a block without a given frequency is assumed to run hardly ever.
pub(crate) fn is_rare(func: &Function, cfg: &ControlFlowGraph, block: Block) -> bool {
    let last = cfg.terminator(block);
    let is_exceptional = |pred: &Predecessor| (pred.edge as usize) < func.dfg.num_handlers(pred.inst);
    let preds = || cfg.preds(block);
    last.is_some_and(|last| func.dfg.opcode(last) == Opcode::Trap)
        || func.dfg.has_exception_tables() && !preds().is_empty() && preds().iter().all(is_exceptional)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::function_of_edges;
    use cranelift_entity::EntityRef;

    #[test]
    fn loops_count_more_and_cold_blocks_less() {
        let mut func = function_of_edges(&[&[1], &[1, 2, 3], &[], &[], &[3]]);
        func.layout.set_cold(Block::new(3));
        let cfg = ControlFlowGraph::new(&func);
        let tree = DominatorTree::new(&func, &cfg);
        let loops = LoopForest::new(&func, &cfg, &tree);
        let frequencies = Frequencies::new(&func, &cfg, &tree, &loops);
        let blocks: Vec<u32> = (0..5).map(|b| frequencies.block(Block::new(b))).collect();
        assert_eq!(blocks, [1024, 8192, 1024, 1, 0]);
        let edge = |edge| frequencies.edge(&cfg, Block::new(1), edge);
        assert_eq!((edge(0), edge(1), edge(2)), (7280, 910, 1));
    }

    #[test]
    fn given_frequencies_replace_estimates() {
        let mut func = function_of_edges(&[&[1], &[2, 3], &[1], &[]]);
        func.set_block_frequency(Block::new(1), 101.0);
        func.set_block_frequency(Block::new(2), 100.0);
        func.set_block_frequency(Block::new(0), 5.0);
        let cfg = ControlFlowGraph::new(&func);
        let tree = DominatorTree::new(&func, &cfg);
        let loops = LoopForest::new(&func, &cfg, &tree);
        let frequencies = Frequencies::new(&func, &cfg, &tree, &loops);
        let blocks: Vec<u32> = (0..4).map(|b| frequencies.block(Block::new(b)) / 1024).collect();
        assert_eq!(blocks, [1, 101, 100, 1]);
        assert_eq!([0, 1].map(|edge| frequencies.edge(&cfg, Block::new(1), edge) / 1024), [100, 1]);
    }

    #[test]
    fn frequencies_are_rounded_to_the_range() {
        let mut func = function_of_edges(&[&[1], &[]]);
        let block = Block::new(1);
        let mut given = |runs| {
            func.set_block_frequency(block, runs);
            (func.layout.frequency(block), func.layout.is_cold(block))
        };
        assert_eq!(given(0.25), (Some(256), false));
        for runs in [0.0, 0.001, -1.0, f64::NAN] {
            assert_eq!(given(runs), (Some(Frequencies::RARE), true));
        }
        assert_eq!(given(f64::INFINITY), (Some(Frequencies::MAX), false));
    }

    #[test]
    fn exceptions_are_rare() {
        use crate::exception_table::ExceptionItem;
        use crate::extfunc::{ExtFuncData, ExternalName};
        use crate::signature::{CallConv, Signature};
        // Block 0 calls. Block 1 is the normal return, block 2 the handler, and block 3 the join of both.
        let mut func = function_of_edges(&[&[], &[3], &[3], &[]]);
        let signature = func.dfg.signatures.push(Signature::new(CallConv::Tail));
        let name = ExternalName::Named("f".into());
        let callee = func.dfg.ext_funcs.push(ExtFuncData { name, signature, colocated: false, patchable: false });
        let [normal, handler] = [1, 2].map(|block| func.dfg.block_call_with_values(Block::new(block), &[]));
        let table = func.dfg.make_exception_table(signature, normal, &[ExceptionItem::Tag(1)], &[handler]);
        let data = func.dfg.try_call_data(callee, &[], table);
        let call = func.dfg.make_inst(data);
        if let Some(last) = func.layout.last_inst(Block::new(0)) {
            func.layout.remove_inst(last);
        }
        func.layout.append_inst(call, Block::new(0));
        let cfg = ControlFlowGraph::new(&func);
        let tree = DominatorTree::new(&func, &cfg);
        let loops = LoopForest::new(&func, &cfg, &tree);
        let frequencies = Frequencies::new(&func, &cfg, &tree, &loops);
        let blocks: Vec<u32> = (0..4).map(|b| frequencies.block(Block::new(b))).collect();
        assert_eq!(blocks, [1024, 1024, 1, 1024]);
        assert_eq!([0, 1].map(|edge| frequencies.edge(&cfg, Block::new(0), edge)), [1, 1024]);
    }
}
