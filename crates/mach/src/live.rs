//! Liveness of instructions and values, numbers of uses, and points at which memory may change.
//!
//! Works backwards from instructions with effects, through block parameters to the arguments passed to them, so that
//! a cycle of parameters that only feed each other is not needed. Cost: linear in operands and edges.

use crate::block_order::BlockOrder;
use cranelift_entity::EntityRef;
use kingpost_ir::cfg::ControlFlowGraph;
use kingpost_ir::release::release;
use kingpost_ir::{Block, BlockArgKind, Function, Inst, Opcode, Value, ValueDef};
use kingpost_meter::heap_bytes;

/// Interval of one block in which memory does not change and no trap happens.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Epoch {
    /// Number of stores, calls and fences so far in the lower half, and of instructions that may trap in the upper
    /// half. They share one word because the loop that counts has few registers.
    seen: u64,
    /// Number of calls from here on, in the order of blocks.
    pub(crate) calls: u32,
}

impl Epoch {
    /// Returns the number of stores, calls and fences so far.
    pub(crate) fn writes(self) -> u32 {
        self.seen as u32
    }

    /// Returns the number of instructions that may trap so far.
    pub(crate) fn traps(self) -> u32 {
        (self.seen >> 32) as u32
    }
}

/// Whether an instruction is lowered.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Need {
    /// No instruction needs it.
    #[default]
    None,
    /// It has no effect, and its results have uses, which may fold it.
    Results,
    /// It is lowered for its effect, or for a result in a register.
    Own,
    /// Its user performs it.
    OfUser,
}

/// Facts of an instruction. 16 bytes, written at once.
#[derive(Clone, Copy, Default, Debug)]
struct InstFacts {
    epoch: Epoch,
    need: Need,
}

/// Facts of a value.
#[derive(Clone, Copy, Default, Debug)]
struct ValueFacts {
    uses: u32,
    /// The opcode of the instruction whose first result it is.
    opcode: Option<Opcode>,
    /// Whether it is a parameter whose arguments on edges back to its block are marked.
    is_passed: bool,
}

/// Facts of a block.
#[derive(Clone, Copy, Default, Debug)]
struct BlockFacts {
    /// Whether it has been visited.
    is_done: bool,
    /// Calls from its head on.
    calls: u32,
}

/// Largest number of instructions of a function whose memory is kept for the next one.
const MAX_KEPT: usize = 1 << 17;

/// Needed values and instructions of one function. Cleared and reused.
#[derive(Default, Debug)]
pub(crate) struct Needed {
    /// Facts by value.
    values: Vec<ValueFacts>,
    /// Facts by instruction. Entries of blocks that are not visited are left over from other functions.
    insts: Vec<InstFacts>,
    /// Facts by block.
    blocks: Vec<BlockFacts>,
    worklist: Vec<Value>,
}

heap_bytes!(Needed { values, insts, blocks, worklist });

impl Needed {
    /// Frees the memory of a large function once it is lowered, so that the allocator can use it.
    pub(crate) fn release(&mut self) {
        if self.insts.len() > MAX_KEPT {
            release(&mut self.values);
            release(&mut self.insts);
            release(&mut self.blocks);
            release(&mut self.worklist);
        }
    }

    /// Computes the facts of the reachable blocks of `func`.
    pub(crate) fn compute(&mut self, func: &Function, cfg: &ControlFlowGraph, order: &BlockOrder) {
        self.values.clear();
        self.blocks.clear();
        self.values.resize(func.dfg.num_values(), ValueFacts::default());
        if self.insts.len() < func.dfg.num_insts() {
            self.insts.resize(func.dfg.num_insts(), InstFacts::default());
        }
        self.blocks.resize(func.dfg.num_blocks(), BlockFacts::default());
        let mut calls = 0;
        // Users come before definitions, except for arguments passed back to the head of a loop.
        for &block in order.rpo().iter().rev() {
            if let Some(last) = cfg.terminator(block) {
                self.scan_edges(func, last);
                calls = scan_insts(func, last, calls, &mut self.values, &mut self.insts);
            }
            self.blocks[block.index()] = BlockFacts { is_done: true, calls };
            // The needed parameters are known now. Edges back to this block come from blocks that are done.
            if !func.dfg.block_params(block).is_empty() && cfg.preds(block).iter().any(|pred| self.is_done(pred.block))
            {
                self.pass_back(func, cfg, block);
            }
        }
    }

    fn is_done(&self, block: Block) -> bool {
        self.blocks[block.index()].is_done
    }

    /// Marks the arguments of back edges to needed parameters of `block`.
    fn pass_back(&mut self, func: &Function, cfg: &ControlFlowGraph, block: Block) {
        for (index, &param) in func.dfg.block_params(block).iter().enumerate() {
            if self.uses(param) > 0 && !self.values[param.index()].is_passed {
                self.need_param(func, cfg, param, block, index);
                self.drain_worklist(func, cfg);
            }
        }
    }

    /// Marks the operands of the definitions of the values on the work list.
    fn drain_worklist(&mut self, func: &Function, cfg: &ControlFlowGraph) {
        while let Some(value) = self.worklist.pop() {
            match func.dfg.value_def(value) {
                // An instruction that is not visited yet finds its uses later.
                ValueDef::Result(inst, _) => {
                    if func.layout.inst_block(inst).is_some_and(|block| self.is_done(block)) {
                        self.need_inst(func, inst);
                    }
                }
                ValueDef::Param(block, index) => {
                    if self.is_done(block) {
                        self.need_param(func, cfg, value, block, index as usize);
                    }
                }
                ValueDef::Undefined => {}
            }
        }
    }

    /// Counts the arguments that the branch at the end of a block passes to needed parameters of known blocks, and to
    /// the runtime.
    fn scan_edges(&mut self, func: &Function, last: Inst) {
        for dest in func.dfg.branch_destinations(last) {
            let args = func.dfg.block_args(*dest);
            if args.is_empty() || !self.is_done(dest.block) {
                continue;
            }
            for (&param, arg) in func.dfg.block_params(dest.block).iter().zip(args) {
                if self.uses(param) > 0
                    && let BlockArgKind::Value(arg) = arg.kind()
                {
                    self.values[arg.index()].uses += 1;
                }
            }
        }
        if func.dfg.has_exception_tables() {
            for context in contexts(func, last) {
                self.values[context.index()].uses += 1;
            }
        }
    }

    fn need_inst(&mut self, func: &Function, inst: Inst) {
        let need = &mut self.insts[inst.index()].need;
        if *need != Need::None {
            return;
        }
        *need = Need::Results;
        for &arg in func.dfg.inst_args(inst) {
            self.use_value(arg);
        }
    }

    fn need_param(&mut self, func: &Function, cfg: &ControlFlowGraph, value: Value, block: Block, index: usize) {
        if std::mem::replace(&mut self.values[value.index()].is_passed, true) {
            return;
        }
        // Edges of blocks that are not visited yet are counted with these blocks.
        for pred in cfg.preds(block) {
            if self.is_done(pred.block) {
                let call = func.dfg.branch_destinations(pred.inst)[pred.edge as usize];
                if let Some(BlockArgKind::Value(arg)) = func.dfg.block_args(call).get(index).map(|a| a.kind()) {
                    self.use_value(arg);
                }
            }
        }
    }

    fn use_value(&mut self, value: Value) {
        let uses = &mut self.values[value.index()].uses;
        *uses += 1;
        if *uses == 1 {
            self.worklist.push(value);
        }
    }

    /// Returns `true` if an instruction is lowered as such.
    pub(crate) fn is_lowered(&self, inst: Inst) -> bool {
        self.insts[inst.index()].need == Need::Own
    }

    /// Records that a result of an instruction has a register, so that the instruction is lowered.
    pub(crate) fn mark_used(&mut self, inst: Inst) {
        let need = &mut self.insts[inst.index()].need;
        if *need != Need::OfUser {
            *need = Need::Own;
        }
    }

    /// Records that the user of an instruction performs it.
    pub(crate) fn mark_sunk(&mut self, inst: Inst) {
        self.insts[inst.index()].need = Need::OfUser;
    }

    /// Returns the opcode of the instruction whose first result a value is.
    pub(crate) fn opcode(&self, value: Value) -> Option<Opcode> {
        self.values[value.index()].opcode
    }

    /// Returns the number of needed instructions and edges that use a value.
    pub(crate) fn uses(&self, value: Value) -> u32 {
        self.values[value.index()].uses
    }

    /// Returns the number of calls from the head of a block on.
    pub(crate) fn calls_from(&self, block: Block) -> u32 {
        self.blocks[block.index()].calls
    }

    /// Returns the epoch of the block before the instruction.
    pub(crate) fn epoch(&self, inst: Inst) -> Epoch {
        self.insts[inst.index()].epoch
    }
}

/// Counts the uses by the instructions of a block, from the `last` one on backwards. `calls` is the number of calls
/// in its successors. Returns the number of calls from the head of the block on.
///
/// A separate function, so that the values of the loop stay in registers.
#[inline(never)]
fn scan_insts(func: &Function, last: Inst, calls: u32, values: &mut [ValueFacts], insts: &mut [InstFacts]) -> u32 {
    // The epoch counts from the end; only differences within one block matter.
    let mut epoch = Epoch { seen: u64::MAX, calls };
    let mut next = Some(last);
    while let Some(inst) = next {
        next = func.layout.prev_inst(inst);
        let opcode = func.dfg.opcode(inst);
        let mut is_needed = false;
        if opcode.has_side_effects() {
            let writes = opcode.can_store() || opcode.is_call() || opcode.other_side_effects();
            let traps = may_trap(func, inst);
            epoch.seen -= u64::from(writes) | u64::from(traps) << 32;
            epoch.calls += u32::from(opcode.is_call());
            // A load that does not trap is needed only for its result.
            is_needed = writes || traps || !opcode.has_memory_flags();
        }
        let mut need = if is_needed { Need::Own } else { Need::None };
        match *func.dfg.inst_results(inst) {
            [] => {}
            [result] => {
                let result = &mut values[result.index()];
                result.opcode = Some(opcode);
                if !is_needed && result.uses > 0 {
                    need = Need::Results;
                }
            }
            [first, ..] => {
                values[first.index()].opcode = Some(opcode);
                let is_used = |result: &Value| values[result.index()].uses > 0;
                if !is_needed && func.dfg.inst_results(inst).iter().any(is_used) {
                    need = Need::Results;
                }
            }
        }
        insts[inst.index()] = InstFacts { epoch, need };
        if need != Need::None {
            for arg in func.dfg.inst_args(inst) {
                values[arg.index()].uses += 1;
            }
        }
    }
    epoch.calls
}

/// Returns the values that a branch's exception table passes to the runtime.
fn contexts(func: &Function, branch: Inst) -> impl Iterator<Item = Value> {
    let items = func.dfg.inst_exception_table(branch).map(|table| func.dfg.exception_table(table).items);
    items.unwrap_or_default().iter().filter_map(|item| item.context())
}

/// Returns `true` if the instruction may trap. Accesses marked `notrap` do not trap.
pub(crate) fn may_trap(func: &Function, inst: Inst) -> bool {
    let opcode = func.dfg.opcode(inst);
    if opcode.has_memory_flags() {
        return func.dfg.inst(inst).memflags().is_some_and(|flags| !flags.notrap());
    }
    opcode.can_trap()
}
