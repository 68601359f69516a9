//! Which instructions and values are needed, how often each value is used, and where memory may change.
//!
//! Works backwards from what has effects, through block parameters to the arguments passed to them, so that a ring of
//! parameters that only feed each other is not needed. Cost: linear in operands and edges.

use crate::block_order::BlockOrder;
use cranelift_entity::EntityRef;
use kingpost_ir::cfg::ControlFlowGraph;
use kingpost_ir::release::release;
use kingpost_ir::{Block, BlockArgKind, Function, Inst, Opcode, Value, ValueDef};

/// Point, in one block, since which memory has not changed and no trap has happened.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Epoch {
    /// Stores, calls and fences seen so far, in the lower half; in the upper one, instructions that may trap. One word,
    /// as there are few registers for the loop that counts.
    seen: u64,
    /// Calls from here on, in the order of blocks.
    pub(crate) calls: u32,
}

impl Epoch {
    /// Stores, calls and fences seen so far.
    pub(crate) fn writes(self) -> u32 {
        self.seen as u32
    }

    /// Returns instructions that may trap seen so far.
    pub(crate) fn traps(self) -> u32 {
        (self.seen >> 32) as u32
    }
}

/// Whether an instruction is lowered.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Need {
    /// Nothing needs it.
    #[default]
    None,
    /// It has no effect, but its results have uses, which may do without it.
    Results,
    /// It is lowered: for its effect, or for a result in a register.
    Own,
    /// Its user does what it does.
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

/// Instructions of a function that may be kept for the next.
const MAX_KEPT: usize = 1 << 17;

/// Needed values and instructions of one function. Cleared and used again.
#[derive(Default, Debug)]
pub(crate) struct Needed {
    /// By value.
    values: Vec<ValueFacts>,
    /// By instruction. Those of blocks that are not visited are left over from other functions.
    insts: Vec<InstFacts>,
    /// By block.
    blocks: Vec<BlockFacts>,
    worklist: Vec<Value>,
}

impl Needed {
    /// Frees the memory of a function that is larger than most, once it is lowered: allocators need it more.
    pub(crate) fn release(&mut self) {
        if self.insts.len() > MAX_KEPT {
            release(&mut self.values);
            release(&mut self.insts);
            release(&mut self.blocks);
            release(&mut self.worklist);
        }
    }

    /// Computes everything for the reachable blocks of `func`.
    pub(crate) fn compute(&mut self, func: &Function, cfg: &ControlFlowGraph, order: &BlockOrder) {
        self.values.clear();
        self.blocks.clear();
        self.values.resize(func.dfg.num_values(), ValueFacts::default());
        if self.insts.len() < func.dfg.num_insts() {
            self.insts.resize(func.dfg.num_insts(), InstFacts::default());
        }
        self.blocks.resize(func.dfg.num_blocks(), BlockFacts::default());
        let mut calls = 0;
        // Users come before definitions, but for what is passed back to the head of a loop.
        for &block in order.rpo().iter().rev() {
            if let Some(last) = cfg.terminator(block) {
                self.scan_edges(func, last);
                calls = scan_insts(func, last, calls, &mut self.values, &mut self.insts);
            }
            self.blocks[block.index()] = BlockFacts { is_done: true, calls };
            // The parameters are known now; edges back to here come from blocks that are done.
            if !func.dfg.block_params(block).is_empty() && cfg.preds(block).iter().any(|pred| self.is_done(pred.block))
            {
                self.pass_back(func, cfg, block);
            }
        }
    }

    fn is_done(&self, block: Block) -> bool {
        self.blocks[block.index()].is_done
    }

    /// Marks what back edges to `block` pass to needed parameters.
    fn pass_back(&mut self, func: &Function, cfg: &ControlFlowGraph, block: Block) {
        for (index, &param) in func.dfg.block_params(block).iter().enumerate() {
            if self.uses(param) > 0 && !self.values[param.index()].is_passed {
                self.need_param(func, cfg, param, block, index);
                self.drain_worklist(func, cfg);
            }
        }
    }

    /// Marks what the values on the work list are computed from.
    fn drain_worklist(&mut self, func: &Function, cfg: &ControlFlowGraph) {
        while let Some(value) = self.worklist.pop() {
            match func.dfg.value_def(value) {
                // What is not visited yet finds its uses then.
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

    /// Counts what the branch at the end of a block passes to needed parameters of blocks that are known, and to the
    /// runtime.
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
        // Edges of blocks that are not visited yet are counted then.
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

    /// Returns `true` if an instruction is lowered by itself.
    #[inline]
    pub(crate) fn is_lowered(&self, inst: Inst) -> bool {
        self.insts[inst.index()].need == Need::Own
    }

    /// Records that a register was made for a result of an instruction, which is lowered then.
    #[inline]
    pub(crate) fn mark_used(&mut self, inst: Inst) {
        let need = &mut self.insts[inst.index()].need;
        if *need != Need::OfUser {
            *need = Need::Own;
        }
    }

    /// Records that its user does what an instruction does.
    pub(crate) fn mark_sunk(&mut self, inst: Inst) {
        self.insts[inst.index()].need = Need::OfUser;
    }

    /// Returns the opcode of the instruction whose first result a value is.
    #[inline]
    pub(crate) fn opcode(&self, value: Value) -> Option<Opcode> {
        self.values[value.index()].opcode
    }

    /// Returns the number of needed instructions and edges that use a value.
    #[inline]
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

/// Counts what the instructions of a block use, from the `last` one on backwards, in whose successors there are so many
/// calls. Returns how many there are from the head of the block on.
///
/// A function of its own, so that what the loop needs stays in registers.
#[inline(never)]
fn scan_insts(func: &Function, last: Inst, calls: u32, values: &mut [ValueFacts], insts: &mut [InstFacts]) -> u32 {
    // Counted from the end; what matters is how two of one block differ.
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
            // A load that does not trap is there for its result.
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

/// Returns the values that a branch's exception table hands to the runtime.
fn contexts(func: &Function, branch: Inst) -> impl Iterator<Item = Value> {
    let items = func.dfg.inst_exception_table(branch).map(|table| func.dfg.exception_table(table).items);
    items.unwrap_or_default().iter().filter_map(|item| item.context())
}

/// Returns `true` if the instruction may trap. Accesses marked `notrap` do not.
pub(crate) fn may_trap(func: &Function, inst: Inst) -> bool {
    let opcode = func.dfg.opcode(inst);
    if opcode.has_memory_flags() {
        return func.dfg.inst(inst).memflags().is_some_and(|flags| !flags.notrap());
    }
    opcode.can_trap()
}
