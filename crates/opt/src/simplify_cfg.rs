//! Simplification of control flow: removes unreachable blocks and block parameters that always have one value, and
//! merges blocks with their only predecessor.
//!
//! ```text
//! block0(v0: i32): jump block1(v0)         block0(v0: i32): v2 = iadd v0, v0
//! block1(v1: i32): v2 = iadd v1, v1        return v2
//!                  return v2
//! ```
//!
//! The function may use aliases, before and after. Leaves nothing of `Analyses` valid except for the control-flow
//! graph. Cost: linear in blocks, edges and their arguments.

use crate::constant_params::ConstantParams;
use kingpost_ir::cfg::ControlFlowGraph;
use kingpost_ir::{Block, Function, Inst, InstView, Opcode};
use kingpost_meter::Meter;
use kingpost_meter::heap_bytes;

/// Maximum number of rounds. Each round but the first follows one that converted branches, and finds branches
/// around them.
const ROUNDS: usize = 4;

/// Extent to which the pass has invalidated the `Analyses`.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Changes {
    None,
    /// All but the control-flow graph in [`SimplifyCfg::cfg`].
    AllButGraph,
    All,
}

/// Memory of the pass.
#[derive(Default, Debug)]
pub(crate) struct SimplifyCfg {
    pub(crate) cfg: ControlFlowGraph,
    /// By block: whether it is reached.
    reached: Vec<bool>,
    /// By block: whether an instruction names it other than as a destination. Empty if no instruction can.
    named: Vec<bool>,
    stack: Vec<Block>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) params: ConstantParams,
    /// By value: whether a block other than the one that defines it uses it. Empty if not computed.
    pub(crate) used_elsewhere: Vec<bool>,
}

heap_bytes!(SimplifyCfg { cfg, reached, named, stack, blocks, params, used_elsewhere });

impl SimplifyCfg {
    /// Runs the pass, and returns its changes. Leaves the control-flow graph in `cfg`, unless that is invalid, too.
    /// If `is_graph_known`, the graph is in `cfg` before, and all blocks must be reachable.
    pub(crate) fn run(&mut self, func: &mut Function, is_graph_known: bool, meter: &Meter) -> Changes {
        let Some(entry) = func.layout.entry_block() else { return Changes::All };
        self.find_named_blocks(func);
        let mut changed = false;
        let mut is_converted = false;
        for round in 0..ROUNDS {
            if meter.reserve((func.dfg.num_insts() + 2 * func.dfg.num_blocks()) as u64).is_err() {
                return Changes::All;
            }
            if is_graph_known && round == 0 {
                self.blocks.clear();
                self.blocks.extend_from_slice(self.cfg.blocks());
            } else {
                self.cfg.compute(func);
                changed |= self.clean(func, entry);
            }
            changed |= self.remove_constant_params(func, entry) | self.merge_blocks(func, entry);
            let is_threaded = self.thread_jumps(func);
            if is_threaded {
                self.cfg.compute(func);
                self.clean(func, entry);
                self.remove_constant_params(func, entry);
            }
            is_converted = self.convert_branches(func);
            if is_threaded | is_converted {
                changed = true;
                self.merge_blocks(func, entry);
            }
            if !is_converted {
                break;
            }
        }
        match changed {
            false => Changes::None,
            true if is_converted => Changes::All,
            true => Changes::AllButGraph,
        }
    }

    /// Removes unreachable blocks, and does none of the other parts of the pass. The graph is valid before and
    /// after. Returns `true` if there were any.
    pub(crate) fn run_on_unreachable(&mut self, func: &mut Function, cfg: &mut ControlFlowGraph) -> bool {
        let Some(entry) = func.layout.entry_block() else { return false };
        std::mem::swap(&mut self.cfg, cfg);
        self.find_named_blocks(func);
        let changed = self.clean(func, entry);
        std::mem::swap(&mut self.cfg, cfg);
        changed
    }

    /// Removes unreachable blocks. The graph is valid before and after. Returns `true` if there were any.
    fn clean(&mut self, func: &mut Function, entry: Block) -> bool {
        let changed = self.remove_unreachable(func, entry);
        if changed {
            self.cfg.compute(func);
        }
        changed
    }

    /// Removes blocks from the layout that no path from the entry or a named block reaches. Returns `true` if there
    /// were any.
    fn remove_unreachable(&mut self, func: &mut Function, entry: Block) -> bool {
        self.reached.clear();
        self.reached.resize(func.dfg.num_blocks(), false);
        for block in func.layout.blocks() {
            if block == entry || self.is_named(block) {
                self.stack.push(block);
                self.reached[block.as_u32() as usize] = true;
            }
        }
        let mut count = 0;
        while let Some(block) = self.stack.pop() {
            count += 1;
            for &succ in self.cfg.succs(block) {
                if !std::mem::replace(&mut self.reached[succ.as_u32() as usize], true) {
                    self.stack.push(succ);
                }
            }
        }
        self.blocks.clear();
        self.blocks.extend(func.layout.blocks());
        if count == self.blocks.len() {
            return false;
        }
        for &block in &self.blocks {
            if !self.reached[block.as_u32() as usize] {
                while let Some(inst) = func.layout.first_inst(block) {
                    func.layout.remove_inst(inst);
                }
                func.layout.remove_block(block);
            }
        }
        self.blocks.retain(|block| self.reached[block.as_u32() as usize]);
        true
    }

    fn remove_constant_params(&mut self, func: &mut Function, entry: Block) -> bool {
        let removed = self.params.remove(func, &self.cfg, &self.blocks, entry);
        if removed {
            func.dfg.compress_aliases();
        }
        removed
    }

    /// Appends each block to its only predecessor if that ends in a jump. Takes one step for each merged block.
    /// Returns `true` if there were any.
    fn merge_blocks(&mut self, func: &mut Function, entry: Block) -> bool {
        let mut changed = false;
        for index in 0..self.blocks.len() {
            let block = self.blocks[index];
            // Starts only at the first block of a chain, so that no instruction moves twice.
            if self.follower(func, entry, block).is_none() || self.follows_jump(func, entry, block) {
                continue;
            }
            while let Some((jump, next)) = self.follower(func, entry, block) {
                func.layout.remove_inst(jump);
                // The frequency of the entry block is known.
                if block != entry
                    && let Some(frequency) = func.layout.frequency(next)
                {
                    let own = func.layout.frequency(block).unwrap_or(frequency);
                    func.layout.set_frequency(block, own.min(frequency));
                }
                func.layout.append_insts_of(block, next);
                self.cfg.merge(block, next);
                changed = true;
            }
        }
        if changed {
            self.cfg.update_sources(&func.layout);
        }
        changed
    }

    /// Returns the block that can be appended to `block`, and the jump between them.
    fn follower(&self, func: &Function, entry: Block, block: Block) -> Option<(Inst, Block)> {
        let jump = func.layout.last_inst(block).filter(|&last| func.dfg.opcode(last) == Opcode::Jump)?;
        let next = func.dfg.branch_destinations(jump)[0].block;
        self.follows_jump(func, entry, next).then_some((jump, next))
    }

    /// Returns `true` if a block can be appended to its only predecessor.
    fn follows_jump(&self, func: &Function, entry: Block, block: Block) -> bool {
        let &[pred] = self.cfg.preds(block) else { return false };
        func.dfg.opcode(pred.inst) == Opcode::Jump
            && pred.block != block
            && block != entry
            && func.dfg.block_params(block).is_empty()
            && !self.is_named(block)
    }

    pub(crate) fn is_named(&self, block: Block) -> bool {
        self.named.get(block.as_u32() as usize).is_some_and(|&named| named)
    }

    /// Finds the blocks that `get_exception_handler_address` names. They end in a call with handlers, and keep
    /// their name.
    pub(crate) fn find_named_blocks(&mut self, func: &Function) {
        self.named.clear();
        if !func.dfg.has_handler_addresses() {
            return;
        }
        self.named.resize(func.dfg.num_blocks(), false);
        for inst in func.layout.blocks().flat_map(|block| func.layout.block_insts(block)) {
            if func.dfg.opcode(inst) == Opcode::GetExceptionHandlerAddress
                && let InstView::ExceptionHandlerAddress { block, .. } = func.dfg.view(inst)
            {
                self.named[block.as_u32() as usize] = true;
            }
        }
    }
}
