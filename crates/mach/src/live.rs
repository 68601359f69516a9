//! Which instructions and values are needed, how often each value is used, and where memory may change.
//!
//! Works backwards from what has effects, through block parameters to the arguments passed to them, so that a ring of
//! parameters that only feed each other is not needed. Cost: linear in operands and edges.

use crate::block_order::BlockOrder;
use cranelift_entity::SecondaryMap;
use kingpost_ir::{Block, BlockArgKind, Function, Inst, Value, ValueDef};

/// When, in one block, memory may have changed or a trap may have happened.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Epoch {
    /// Stores, calls and fences seen so far.
    pub(crate) writes: u32,
    /// Instructions that may trap seen so far.
    pub(crate) traps: u32,
    /// Calls from here on, in the order of blocks.
    pub(crate) calls: u32,
}

/// Why an instruction is lowered by itself, if it is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Effect {
    /// It has no effect: only for its results.
    #[default]
    None,
    /// For its effect.
    Own,
    /// Not at all: its user does what it does.
    OfUser,
}

/// What is known of an instruction.
#[derive(Clone, Copy, Default, Debug)]
struct InstFacts {
    epoch: Epoch,
    is_needed: bool,
    effect: Effect,
}

/// Needed values and instructions of one function. Cleared and used again.
#[derive(Default, Debug)]
pub(crate) struct Needed {
    /// By value.
    uses: Vec<u32>,
    /// By instruction.
    insts: Vec<InstFacts>,
    params: SecondaryMap<Value, bool>,
    worklist: Vec<Value>,
    /// Blocks that have been visited.
    done: SecondaryMap<Block, bool>,
    /// Edges into each block: branch instruction and destination index, as chains.
    incoming: SecondaryMap<Block, u32>,
    edges: Vec<(Inst, u32, u32)>,
    /// Calls from the head of each block on, and from the point that the scan has come to.
    calls_from: SecondaryMap<Block, u32>,
    calls: u32,
}

impl Needed {
    /// Computes everything for the reachable blocks of `func`.
    pub(crate) fn compute(&mut self, func: &Function, order: &BlockOrder) {
        self.uses.clear();
        self.insts.clear();
        self.params.clear();
        self.incoming.clear();
        self.edges.clear();
        // Sized once: growing by one element per access costs more than the access.
        self.uses.resize(func.dfg.num_values(), 0);
        self.params.resize(func.dfg.num_values());
        self.insts.resize(func.dfg.num_insts(), InstFacts::default());
        self.incoming.resize(func.dfg.num_blocks());
        self.done.clear();
        self.done.resize(func.dfg.num_blocks());
        self.calls_from.clear();
        self.calls_from.resize(func.dfg.num_blocks());
        self.calls = 0;
        // Users come before definitions, but for what is passed back to the head of a loop.
        for &block in order.rpo().iter().rev() {
            if let Some(last) = func.layout.last_inst(block) {
                self.scan_edges(func, last);
                self.calls = scan_insts(func, last, self.calls, &mut self.uses, &mut self.insts);
            }
            self.done[block] = true;
            self.calls_from[block] = self.calls;
            // The parameters are known now; edges back to here were noted before.
            if self.incoming[block] != 0 {
                self.pass_back(func, block);
            }
        }
    }

    /// Marks what back edges to `block` pass to needed parameters.
    fn pass_back(&mut self, func: &Function, block: Block) {
        for index in 0..func.dfg.block_params(block).len() {
            let param = func.dfg.block_params(block)[index];
            if self.uses(param) > 0 && !self.params[param] {
                self.need_param(func, param, block, index);
                self.drain_worklist(func);
            }
        }
    }

    /// Marks what the values on the work list are computed from.
    fn drain_worklist(&mut self, func: &Function) {
        while let Some(value) = self.worklist.pop() {
            match func.dfg.value_def(value) {
                // What is not visited yet finds its uses then.
                ValueDef::Result(inst, _) => {
                    if func.layout.inst_block(inst).is_some_and(|block| self.done[block]) {
                        self.need_inst(func, inst);
                    }
                }
                ValueDef::Param(block, index) => {
                    if self.done[block] {
                        self.need_param(func, value, block, index as usize);
                    }
                }
                ValueDef::Undefined => {}
            }
        }
    }

    /// Notes the edges out of the branch at the end of a block, and what they pass to needed parameters.
    fn scan_edges(&mut self, func: &Function, last: Inst) {
        if !func.dfg.opcode(last).is_branch() {
            return;
        }
        for (k, dest) in func.dfg.branch_destinations(last).iter().enumerate() {
            let head = &mut self.incoming[dest.block];
            self.edges.push((last, k as u32, *head));
            *head = self.edges.len() as u32;
            if self.done[dest.block] {
                let params = func.dfg.block_params(dest.block);
                for (&param, arg) in params.iter().zip(func.dfg.block_args(*dest)) {
                    if self.uses(param) > 0
                        && let BlockArgKind::Value(arg) = arg.kind()
                    {
                        self.uses[arg.as_u32() as usize] += 1;
                    }
                }
            }
        }
        for context in contexts(func, last) {
            self.uses[context.as_u32() as usize] += 1;
        }
    }

    fn need_inst(&mut self, func: &Function, inst: Inst) {
        let facts = &mut self.insts[inst.as_u32() as usize];
        if std::mem::replace(&mut facts.is_needed, true) {
            return;
        }
        for &arg in func.dfg.inst_args(inst) {
            self.use_value(arg);
        }
    }

    fn need_param(&mut self, func: &Function, value: Value, block: Block, index: usize) {
        if self.params[value] {
            return;
        }
        self.params[value] = true;
        let mut edge = self.incoming[block];
        while edge != 0 {
            let (branch, dest, next) = self.edges[edge as usize - 1];
            let call = func.dfg.branch_destinations(branch)[dest as usize];
            if let Some(BlockArgKind::Value(arg)) = func.dfg.block_args(call).get(index).map(|a| a.kind()) {
                self.use_value(arg);
            }
            edge = next;
        }
    }

    fn use_value(&mut self, value: Value) {
        let uses = &mut self.uses[value.as_u32() as usize];
        *uses += 1;
        if *uses == 1 {
            self.worklist.push(value);
        }
    }

    /// Is it lowered even if no result has a use, or not although one has?
    #[inline]
    pub(crate) fn effect(&self, inst: Inst) -> Effect {
        self.insts[inst.as_u32() as usize].effect
    }

    /// Notes that its user does what an instruction does.
    pub(crate) fn mark_sunk(&mut self, inst: Inst) {
        self.insts[inst.as_u32() as usize].effect = Effect::OfUser;
    }

    /// How many needed instructions and edges use a value.
    #[inline]
    pub(crate) fn uses(&self, value: Value) -> u32 {
        self.uses[value.as_u32() as usize]
    }

    /// How many calls come from the head of a block on.
    pub(crate) fn calls_from(&self, block: Block) -> u32 {
        self.calls_from[block]
    }

    /// What had happened in the block before the instruction.
    pub(crate) fn epoch(&self, inst: Inst) -> Epoch {
        self.insts[inst.as_u32() as usize].epoch
    }
}

/// Counts what the instructions of a block use, from the `last` one on backwards, in whose successors there are so many calls.
/// Returns how many there are from the head of the block on.
fn scan_insts(func: &Function, last: Inst, calls: u32, uses: &mut [u32], insts: &mut [InstFacts]) -> u32 {
    // Counted from the end; what matters is how two of one block differ.
    let mut epoch = Epoch { writes: u32::MAX, traps: u32::MAX, calls };
    let mut next = Some(last);
    while let Some(inst) = next {
        let opcode = func.dfg.opcode(inst);
        let mut effect = Effect::None;
        if opcode.has_side_effects() {
            epoch.writes -= u32::from(opcode.can_store() || opcode.is_call() || opcode.other_side_effects());
            epoch.traps -= u32::from(may_trap(func, inst));
            epoch.calls += u32::from(opcode.is_call());
            if has_effect(func, inst) {
                effect = Effect::Own;
            }
        }
        let is_used = |result: &Value| uses[result.as_u32() as usize] > 0;
        let is_needed = effect == Effect::Own || func.dfg.inst_results(inst).iter().any(is_used);
        insts[inst.as_u32() as usize] = InstFacts { epoch, is_needed, effect };
        if is_needed {
            for arg in func.dfg.inst_args(inst) {
                uses[arg.as_u32() as usize] += 1;
            }
        }
        next = func.layout.prev_inst(inst);
    }
    epoch.calls
}

/// The values that a branch's exception table hands to the runtime.
fn contexts(func: &Function, branch: Inst) -> impl Iterator<Item = Value> {
    let items = func.dfg.inst_exception_table(branch).map(|table| func.dfg.exception_table(table).items);
    items.unwrap_or_default().iter().filter_map(|item| item.context())
}

/// May the instruction trap? Accesses marked `notrap` do not.
pub(crate) fn may_trap(func: &Function, inst: Inst) -> bool {
    let opcode = func.dfg.opcode(inst);
    if opcode.has_memory_flags() {
        return func.dfg.inst(inst).memflags().is_some_and(|flags| !flags.notrap());
    }
    opcode.can_trap()
}

/// Must the instruction be kept even if its results have no use?
fn has_effect(func: &Function, inst: Inst) -> bool {
    let opcode = func.dfg.opcode(inst);
    if opcode.has_memory_flags() {
        return opcode.can_store() || opcode.other_side_effects() || may_trap(func, inst);
    }
    opcode.has_side_effects()
}
