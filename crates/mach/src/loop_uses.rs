//! What each loop uses of values that come into it from outside: how often, in registers.
//!
//! Before: `block1(v1): v2 = load.i64 v0; brif v2, block1(v2), block2`. After: in the loop of `block1`, `v0` and `v1`.
//!
//! Values that selection takes into their users, constants above all, are left out. Cost: linear in the operands of instructions
//! in loops, and for each value in the loops that use it.

use crate::block_order::BlockOrder;
use crate::live::Needed;
use cranelift_entity::SecondaryMap;
use kingpost_ir::loops::{Loop, LoopForest};
use kingpost_ir::{Block, Function, Opcode, Value, ValueDef};

const NONE: u32 = u32::MAX;

/// A value that one loop uses.
#[derive(Clone, Copy, Debug)]
struct LoopUse {
    value: Value,
    /// Frequencies of its uses, added up.
    weight: u64,
    id: Loop,
    /// The next one of the loop, or [`NONE`].
    next: u32,
    /// The one of the same value in the loop around, or [`NONE`].
    outer: u32,
}

/// The uses of one function's loops. Cleared and used again.
#[derive(Default, Debug)]
pub(crate) struct LoopUses {
    uses: Vec<LoopUse>,
    /// By loop: its first use.
    first: Vec<u32>,
    /// By value: one more than its last use noted.
    last: SecondaryMap<Value, u32>,
    /// The loops around the block that the scan is in, outer ones first.
    around: Vec<Loop>,
}

impl LoopUses {
    /// Finds the uses of all loops.
    pub(crate) fn compute(&mut self, func: &Function, order: &BlockOrder, loops: &LoopForest, needed: &Needed) {
        self.uses.clear();
        self.first.clear();
        let count = loops.loops().next_back().map_or(0, |last| last.as_u32() as usize + 1);
        if count == 0 {
            return;
        }
        self.first.resize(count, NONE);
        self.last.clear();
        self.last.resize(func.dfg.num_values());
        let mut innermost = None;
        for &block in order.rpo() {
            let here = loops.innermost_loop(block);
            if here != innermost {
                innermost = here;
                self.around.clear();
                self.around.extend(std::iter::successors(here, |&each| loops.parent(each)));
                self.around.reverse();
            }
            if !self.around.is_empty() {
                self.block(func, order, loops, needed, block);
            }
        }
        // Inner loops come before those around them.
        for id in 0..count {
            let mut next = self.first[id];
            while let Some(&LoopUse { weight, next: after, outer, .. }) = self.uses.get(next as usize) {
                if let Some(entry) = self.uses.get_mut(outer as usize) {
                    entry.weight = entry.weight.saturating_add(weight);
                }
                next = after;
            }
        }
    }

    /// The values, with their weights, that a loop uses.
    pub(crate) fn of(&self, id: Loop) -> impl Iterator<Item = (Value, u64)> {
        let mut next = self.first.get(id.as_u32() as usize).copied().unwrap_or(NONE);
        std::iter::from_fn(move || {
            let entry = self.uses.get(next as usize)?;
            next = entry.next;
            Some((entry.value, entry.weight))
        })
    }

    fn block(&mut self, func: &Function, order: &BlockOrder, loops: &LoopForest, needed: &Needed, block: Block) {
        let freq = order.block_of(block).map_or(0, |block| order.freq(block).0);
        let mut next = func.layout.first_inst(block);
        while let Some(inst) = next {
            if needed.is_needed(inst) {
                for &arg in func.dfg.inst_args(inst) {
                    self.note(func, order, loops, arg, freq);
                }
            }
            next = func.layout.next_inst(inst);
        }
    }

    #[inline]
    fn note(&mut self, func: &Function, order: &BlockOrder, loops: &LoopForest, mut value: Value, freq: u64) {
        let def = loop {
            match func.dfg.value_def(value) {
                ValueDef::Param(block, _) => break block,
                ValueDef::Undefined => return,
                ValueDef::Result(inst, _) => match func.dfg.opcode(inst) {
                    Opcode::Uextend | Opcode::Ireduce => value = func.dfg.inst_args(inst)[0],
                    Opcode::Icmp | Opcode::Fcmp => return,
                    _ if func.dfg.inst_args(inst).is_empty() && !func.dfg.opcode(inst).is_call() => return,
                    _ => match func.layout.inst_block(inst) {
                        Some(block) => break block,
                        None => return,
                    },
                },
            }
        };
        let Some(from) = order.block_of(def) else { return };
        let is_param = matches!(func.dfg.value_def(value), ValueDef::Param(..));
        let comes_into = |each: Loop| {
            let header = order.block_of(loops.header(each));
            header.is_some_and(|header| from < header || is_param && from == header)
        };
        let Some(&innermost) = self.around.last().filter(|&&each| comes_into(each)) else { return };
        let mut noted = self.last[value].wrapping_sub(1);
        while let Some(entry) = self.uses.get(noted as usize)
            && self.around.get(loops.depth(entry.id) as usize - 1) != Some(&entry.id)
        {
            noted = entry.outer;
        }
        if self.uses.get(noted as usize).is_none_or(|entry| entry.id != innermost) {
            noted = self.add(value, noted, comes_into);
            self.last[value] = noted + 1;
        }
        let entry = &mut self.uses[noted as usize];
        entry.weight = entry.weight.saturating_add(freq);
    }

    /// Makes the entries of a value in the loops around, up to the first that has it `noted` already. Returns the innermost.
    fn add(&mut self, value: Value, noted: u32, comes_into: impl Fn(Loop) -> bool) -> u32 {
        let known = self.uses.get(noted as usize).map(|entry| entry.id);
        let mut outer = noted;
        let start = match known {
            Some(known) => self.around.iter().position(|&each| each == known).map_or(0, |at| at + 1),
            None => self.around.iter().position(|&each| comes_into(each)).unwrap_or(0),
        };
        for &id in &self.around[start..] {
            let next = std::mem::replace(&mut self.first[id.as_u32() as usize], self.uses.len() as u32);
            self.uses.push(LoopUse { value, weight: 0, id, next, outer });
            outer = self.uses.len() as u32 - 1;
        }
        outer
    }
}
