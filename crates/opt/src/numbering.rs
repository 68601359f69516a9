//! Numbering: keeps one of several equal instructions; its result represents the results of the removed ones.
//!
//! ```text
//! v2 = iadd v0, v1                         v2 = iadd v0, v1
//! v3 = iadd v1, v0                         v4 = imul v2, v2
//! v4 = imul v2, v3
//! ```
//!
//! Part of the walk of [`crate::gvn`].

use kingpost_ir::{Block, Inst, InstData, Value};

use crate::gvn::{MEDIUM_LOOP, Walk};
use crate::purity::{constant, is_cheap, is_constant};

impl Walk<'_> {
    /// Makes `value` the representative of `result`, and adds the uses of `result` to the uses of `value`.
    pub(crate) fn represent(&mut self, result: Value, value: Value) {
        self.representatives[result] = value.into();
        if self.are_uses_counted {
            self.uses[value] = self.uses[value].saturating_add(self.uses[result]);
        }
    }

    /// Returns the first result of an equal instruction that is available. If there is none, records and returns
    /// `existing`, or else the first result of a new instruction.
    pub(crate) fn number(&mut self, data: &InstData, existing: Option<Value>) -> Value {
        let key = data.unordered_key();
        let (place, entry) = self.table.find(key);
        if let Some(value) = entry.map(Value::from_u32)
            && self.make_available(data, value)
        {
            return value;
        }
        let value = existing.unwrap_or_else(|| self.make_inst(data));
        self.table.set(place, key, value.as_u32());
        value
    }

    /// Numbers an instruction that exists. If an equal one is available, removes the instruction and makes the
    /// result of the equal one the representative of `result`.
    #[inline(always)]
    pub(crate) fn number_existing(&mut self, key: [u64; 2], data: &InstData, inst: Inst, result: Value) {
        let (place, entry) = self.table.find(key);
        if let Some(value) = entry.map(Value::from_u32)
            && self.make_available(data, value)
        {
            self.represent(result, value);
            return self.func.layout.remove_inst(inst);
        }
        self.table.set(place, key, result.as_u32());
    }

    /// Makes a pure instruction before the one that is visited. Returns its first result.
    #[inline(never)]
    fn make_inst(&mut self, data: &InstData) -> Value {
        let inst = self.func.dfg.make_inst(*data);
        self.func.dfg.make_results(inst, data.controlling_type());
        self.func.layout.insert_inst(inst, self.before);
        let location = self.func.srcloc(self.before);
        if !location.is_none() {
            self.func.srclocs[inst] = location;
        }
        self.func.dfg.inst_results(inst)[0]
    }

    /// Returns `true` if a value is defined on all paths to the current point of the walk.
    pub(crate) fn is_available(&self, value: Value) -> bool {
        let block = self.func.defining_block(value);
        block.is_some_and(|block| block == self.block || self.analyses.dominators.dominates(block, self.block))
    }

    /// Returns `true` if `value`, the result of a movable instruction, can be used in the current block and should
    /// be. Moves the instruction up if that is necessary and pays.
    #[inline(always)]
    fn make_available(&mut self, data: &InstData, value: Value) -> bool {
        let Some(inst) = self.func.dfg.first_result_of(value) else { return false };
        let Some(block) = self.func.layout.inst_block(inst) else { return false };
        block == self.block
            || !(self.loop_size >= MEDIUM_LOOP && self.is_better_repeated(data))
                && (self.analyses.dominators.dominates(block, self.block)
                    || !is_constant(data.opcode()) && self.hoist(inst, block))
    }

    /// Returns `true` if repeating an instruction costs less than keeping its result in a register between blocks
    /// of a medium or large loop. Such an instruction is cheap, and at most one of its operands is not a constant.
    fn is_better_repeated(&self, data: &InstData) -> bool {
        is_cheap(data.opcode())
            && match *data.args() {
                [_] => self.loop_size >= self.large_loop,
                [_, y] => constant(self.func, y).is_some(),
                _ => false,
            }
    }

    /// Moves a non-constant instruction from a block that does not dominate the current block to the end of their
    /// common dominator, if that pays. Returns `true` if it has moved.
    #[inline(never)]
    fn hoist(&mut self, inst: Inst, block: Block) -> bool {
        let common = self.analyses.dominators.common_dominator(block, self.block);
        let frequency = |block| u64::from(self.analyses.frequencies.block(block));
        let pays = frequency(common) <= frequency(block) + frequency(self.block);
        let Some(terminator) = self.func.layout.last_inst(common) else { return false };
        if !pays {
            return false;
        }
        self.func.layout.remove_inst(inst);
        self.func.layout.insert_inst(inst, terminator);
        true
    }

    /// Removes an instruction and makes `value` the representative of its only result, unless `value` is that
    /// result.
    pub(crate) fn replace(&mut self, inst: Inst, result: Value, value: Value) {
        if value != result {
            self.represent(result, value);
            self.func.layout.remove_inst(inst);
        }
    }

    /// Removes an instruction, and makes the results of the instruction whose first result is `first` the
    /// representatives of its results.
    pub(crate) fn replace_all(&mut self, inst: Inst, first: Value) {
        let Some(equal) = self.func.dfg.first_result_of(first) else { return };
        for index in 0..self.func.dfg.inst_results(inst).len() {
            let [result, value] = [inst, equal].map(|inst| self.func.dfg.inst_results(inst)[index]);
            self.represent(result, value);
        }
        self.func.layout.remove_inst(inst);
    }
}
