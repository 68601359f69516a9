//! Which instructions and values are needed, how often each value is used, and where memory may change.
//!
//! Works backwards from what has effects, through block parameters to the arguments passed to them, so that a ring of
//! parameters that only feed each other is not needed. Cost: linear in operands and edges.

use crate::block_order::{BlockOrder, destinations};
use cranelift_entity::SecondaryMap;
use kingpost_ir::{Block, BlockArgKind, Function, Inst, Value, ValueDef};

/// When, in one block, memory may have changed or a trap may have happened.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Epoch {
    /// Stores, calls and fences seen so far.
    pub(crate) writes: u32,
    /// Instructions that may trap seen so far.
    pub(crate) traps: u32,
}

/// Needed values and instructions of one function. Cleared and used again.
#[derive(Default, Debug)]
pub(crate) struct Needed {
    uses: SecondaryMap<Value, u32>,
    insts: SecondaryMap<Inst, bool>,
    params: SecondaryMap<Value, bool>,
    epochs: SecondaryMap<Inst, Epoch>,
    worklist: Vec<Value>,
    /// Edges into each block: branch instruction and destination index, as chains.
    incoming: SecondaryMap<Block, u32>,
    edges: Vec<(Inst, u32, u32)>,
}

impl Needed {
    /// Computes everything for the reachable blocks of `func`.
    pub(crate) fn compute(&mut self, func: &Function, order: &BlockOrder) {
        self.uses.clear();
        self.insts.clear();
        self.params.clear();
        self.epochs.clear();
        self.incoming.clear();
        self.edges.clear();
        for &block in order.rpo() {
            if let Some(branch) = func.layout.last_inst(block) {
                for (k, dest) in destinations(func, block).iter().enumerate() {
                    let head = &mut self.incoming[dest.block];
                    self.edges.push((branch, k as u32, *head));
                    *head = self.edges.len() as u32;
                }
            }
        }
        for &block in order.rpo() {
            self.scan_block(func, block);
        }
        while let Some(value) = self.worklist.pop() {
            match func.dfg.value_def(value) {
                ValueDef::Result(inst, _) => self.need_inst(func, inst),
                ValueDef::Param(block, index) => self.need_param(func, value, block, index as usize),
                ValueDef::Undefined => {}
            }
        }
    }

    fn scan_block(&mut self, func: &Function, block: Block) {
        let mut epoch = Epoch::default();
        for inst in func.layout.block_insts(block) {
            self.epochs[inst] = epoch;
            let opcode = func.dfg.opcode(inst);
            if opcode.can_store() || opcode.is_call() || opcode.other_side_effects() {
                epoch.writes += 1;
            }
            if may_trap(func, inst) {
                epoch.traps += 1;
            }
            if has_effect(func, inst) {
                self.need_inst(func, inst);
            }
        }
    }

    fn need_inst(&mut self, func: &Function, inst: Inst) {
        if self.insts[inst] {
            return;
        }
        self.insts[inst] = true;
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
        let uses = &mut self.uses[value];
        *uses += 1;
        if *uses == 1 {
            self.worklist.push(value);
        }
    }

    /// How many needed instructions and edges use a value.
    pub(crate) fn uses(&self, value: Value) -> u32 {
        self.uses[value]
    }

    /// What had happened in the block before the instruction.
    pub(crate) fn epoch(&self, inst: Inst) -> Epoch {
        self.epochs[inst]
    }
}

/// May the instruction trap? Accesses marked `notrap` do not.
pub(crate) fn may_trap(func: &Function, inst: Inst) -> bool {
    let opcode = func.dfg.opcode(inst);
    if opcode.has_memory_flags() {
        return func.dfg.inst(inst).memflags().is_some_and(|flags| !flags.notrap());
    }
    opcode.can_trap()
}

/// Must the instruction stay even if nobody uses its results?
pub(crate) fn has_effect(func: &Function, inst: Inst) -> bool {
    let opcode = func.dfg.opcode(inst);
    if opcode.has_memory_flags() {
        return opcode.can_store() || opcode.other_side_effects() || may_trap(func, inst);
    }
    opcode.has_side_effects()
}
