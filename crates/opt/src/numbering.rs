//! Numbering: of equal instructions one stays, and its result stands for those of the others.
//!
//! ```text
//! v2 = iadd v0, v1                         v2 = iadd v0, v1
//! v3 = iadd v1, v0                         v4 = imul v2, v2
//! v4 = imul v2, v3
//! ```
//!
//! Part of the walk of [`crate::gvn`].

use kingpost_ir::{Block, Inst, InstData, Value, ValueDef};

use crate::gvn::{MEDIUM_LOOP, Walk};
use crate::purity::{constant, is_cheap, is_constant};

impl Walk<'_> {
    /// What uses `result` uses `value` from here on, so its uses are those of `value`.
    #[inline]
    pub(crate) fn represent(&mut self, result: Value, value: Value) {
        self.representatives[result] = value.into();
        if self.are_uses_counted {
            self.uses[value] = self.uses[value].saturating_add(self.uses[result]);
        }
    }

    /// The first result of the instruction that is numbered equal. If there is none, that is `existing`, or that of a new instruction.
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

    /// Numbers an instruction that exists. One that is equal to another goes, and that one's result stands for its own.
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

    /// Makes a pure instruction in front of the one that is visited. Returns its first result.
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

    /// Whether a value is defined on all paths to where the walk is.
    pub(crate) fn is_available(&self, value: Value) -> bool {
        let block = match self.func.dfg.value_def(value) {
            ValueDef::Result(inst, _) => self.func.layout.inst_block(inst),
            ValueDef::Param(block, _) => Some(block),
            ValueDef::Undefined => None,
        };
        block.is_some_and(|block| block == self.block || self.analyses.dominators.dominates(block, self.block))
    }

    /// As [`Walk::is_available`], for the result of a movable instruction, which moves up if need be and if that pays.
    #[inline(always)]
    fn make_available(&mut self, data: &InstData, value: Value) -> bool {
        let Some(inst) = self.func.dfg.first_result_of(value) else { return false };
        let Some(block) = self.func.layout.inst_block(inst) else { return false };
        block == self.block
            || !(self.loop_size >= MEDIUM_LOOP && self.is_better_repeated(data))
                && (self.analyses.dominators.dominates(block, self.block)
                    || !is_constant(data.opcode()) && self.hoist(inst, block))
    }

    /// Whether an instruction costs less than a register for its result from another block to this one, in a loop of medium size or a
    /// large one: a cheap one, of one operand that is no constant.
    fn is_better_repeated(&self, data: &InstData) -> bool {
        is_cheap(data.opcode())
            && match *data.args() {
                [_] => self.loop_size >= self.large_loop,
                [_, y] => constant(self.func, y).is_some(),
                _ => false,
            }
    }

    /// Moves an instruction that is no constant from a block that does not dominate that of the walk to one that dominates both, if that
    /// pays.
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

    /// Removes an instruction; `value` stands for its only result, if it is another one.
    pub(crate) fn replace(&mut self, inst: Inst, result: Value, value: Value) {
        if value != result {
            self.represent(result, value);
            self.func.layout.remove_inst(inst);
        }
    }

    /// Removes an instruction; the results of the one whose first result is `first` stand for its own.
    pub(crate) fn replace_all(&mut self, inst: Inst, first: Value) {
        let Some(equal) = self.func.dfg.first_result_of(first) else { return };
        for index in 0..self.func.dfg.inst_results(inst).len() {
            let [result, value] = [inst, equal].map(|inst| self.func.dfg.inst_results(inst)[index]);
            self.represent(result, value);
        }
        self.func.layout.remove_inst(inst);
    }
}
