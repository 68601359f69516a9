//! The survey: what the walk, which comes backwards, must know before it meets a value's definition.
//!
//! For each value: the instruction that computes it again, how many calls come before its definition, the block of that.
//! For each loop: the values used in it and defined outside, with the frequencies of their uses added up; and the calls in it.
//!
//! Cost: linear in operands; a use in a nest of loops is noted once per loop.

use crate::state::State;
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, PrimaryMap};
use kingpost_regalloc::{ClobberId, InstFlags, Problem, VReg};
use kingpost_regalloc_common::order::{BlockIndex, LinearOrder, LoopId};

/// A value that a loop uses and does not define.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoopUse {
    pub(crate) vreg: VReg,
    /// Frequencies of its uses, added up.
    pub(crate) weight: u64,
    /// The next one of the loop, or [`NONE`].
    next: u32,
}

const NONE: u32 = u32::MAX;

/// A block that an edge out of a loop leads to.
#[derive(Clone, Copy, Debug)]
struct LoopExit {
    to: BlockIndex,
    /// The next one of the loop, or [`NONE`].
    next: u32,
}

/// An edge counts as one out of so many of the loops around it, from the inside.
const MAX_LEFT: usize = 8;

/// What is known of a loop.
#[derive(Clone, Copy, Debug)]
struct LoopData {
    first_use: u32,
    first_exit: u32,
    has_calls: bool,
}

/// The result. Its memory is used again.
#[derive(Default, Debug)]
pub(crate) struct Survey {
    uses: Vec<LoopUse>,
    exits: Vec<LoopExit>,
    loops: PrimaryMap<LoopId, LoopData>,
    /// By block: calls before its end.
    calls: Vec<u32>,
    /// By operand: where the same value was met before it in the linear order, one more than that position; 0 if nowhere.
    pub(crate) met_before: Vec<u32>,
}

impl Survey {
    pub(crate) fn run(&mut self, problem: &Problem, order: &LinearOrder, state: &mut State) {
        self.uses.clear();
        self.exits.clear();
        self.calls.clear();
        self.loops.clear();
        for _ in order.loops().keys() {
            self.loops.push(LoopData { first_use: NONE, first_exit: NONE, has_calls: false });
        }
        for edge in problem.edges() {
            for &vreg in problem.edge_defs(edge) {
                let value = state.value_mut(vreg);
                (value.edge, value.block) = (edge.into(), order.index(problem.edge(edge).to));
            }
        }
        let mut calls = 0;
        self.met_before.clear();
        self.met_before.resize(problem.num_operands(), 0);
        for index in order.indices() {
            let before = calls;
            self.block(problem, order, index, state, &mut calls);
            self.calls.push(calls);
            if calls > before {
                self.note_calls(order, order.block(index).innermost);
            }
        }
        for label in &problem.labels {
            // A label is answered by the slot.
            state.value_mut(label.vreg).is_stored = true;
        }
    }

    /// Calls before the end of a block, in the linear order.
    pub(crate) fn calls_before_end(&self, index: BlockIndex) -> u32 {
        self.calls[index.index()]
    }

    /// Is there a call in the loop?
    pub(crate) fn has_calls(&self, id: LoopId) -> bool {
        self.loops[id].has_calls
    }

    /// The values used in the loop that are defined outside.
    pub(crate) fn uses(&self, id: LoopId) -> impl Iterator<Item = &LoopUse> {
        let mut next = self.loops[id].first_use;
        std::iter::from_fn(move || {
            let entry = self.uses.get(next as usize)?;
            next = entry.next;
            Some(entry)
        })
    }

    /// The blocks behind the loop that edges out of it lead to.
    pub(crate) fn exits(&self, id: LoopId) -> impl Iterator<Item = BlockIndex> {
        let mut next = self.loops[id].first_exit;
        std::iter::from_fn(move || {
            let exit = self.exits.get(next as usize)?;
            next = exit.next;
            Some(exit.to)
        })
    }

    fn block(&mut self, problem: &Problem, order: &LinearOrder, index: BlockIndex, state: &mut State, calls: &mut u32) {
        let block = order.block(index);
        for &param in problem.params(block.block) {
            let value = state.value_mut(param);
            (value.block, value.calls) = (index, *calls);
        }
        let in_loop = block.innermost.is_some();
        let mut position = block.head.as_u32();
        for step in problem.walk(block.block) {
            position += 1;
            let before = *calls;
            *calls += u32::from(step.clobbers != ClobberId::NONE);
            for at in step.operands {
                let operand = problem.all_operands()[at];
                let vreg = operand.vreg();
                let value = state.value_mut(vreg);
                self.met_before[at] = std::mem::replace(&mut value.next_met, position);
                if operand.is_use() {
                    value.lives_over_call |= value.calls < before;
                    if in_loop {
                        self.note_use(order, index, state, vreg);
                    }
                    continue;
                }
                let value = state.value_mut(vreg);
                value.calls = *calls;
                if value.edge.is_none() {
                    value.block = index;
                }
                if step.flags.has(InstFlags::REMAT) {
                    value.remat = step.inst.into();
                }
            }
        }
        if in_loop {
            problem.succs(block.block).iter().for_each(|&edge| {
                self.note_exit(order, block.innermost, order.index(problem.edge(edge).to));
            });
        }
        for &arg in problem.succs(block.block).iter().flat_map(|&edge| problem.edge_args(edge)) {
            let value = state.value_mut(arg);
            value.lives_over_call |= value.calls < *calls;
            if in_loop {
                self.note_use(order, index, state, arg);
            }
        }
    }

    /// Notes a use in the loops around a block that do not hold the definition, from the inside, up to the first that has it
    /// noted already.
    #[inline]
    fn note_use(&mut self, order: &LinearOrder, index: BlockIndex, state: &mut State, vreg: VReg) {
        let value = state.value_mut(vreg);
        let innermost = order.block(index).innermost;
        let Some(id) = innermost.expand() else { return };
        if value.block >= order.loops()[id].header {
            return;
        }
        let weight = order.block(index).freq.0 >> u32::from(value.remat.is_some());
        if value.last_loop == innermost {
            let entry = &mut self.uses[value.loop_use as usize];
            entry.weight = entry.weight.saturating_add(weight);
            return;
        }
        let (last, defined, first) = (value.last_loop, value.block, self.uses.len());
        let mut around = innermost;
        while let Some(id) = around.expand() {
            let l = &order.loops()[id];
            let is_noted = last.expand().is_some_and(|last| {
                let last = &order.loops()[last];
                l.header <= last.header && last.end <= l.end
            });
            if defined >= l.header || is_noted {
                break;
            }
            self.uses.push(LoopUse { vreg, weight, next: self.loops[id].first_use });
            self.loops[id].first_use = self.uses.len() as u32 - 1;
            around = l.parent;
        }
        if self.uses.len() > first {
            (value.last_loop, value.loop_use) = (innermost, first as u32);
        }
    }

    /// Notes an edge out of loops.
    fn note_exit(&mut self, order: &LinearOrder, innermost: PackedOption<LoopId>, to: BlockIndex) {
        let mut around = innermost;
        for _ in 0..MAX_LEFT {
            let Some(id) = around.expand().filter(|&id| order.loops()[id].end <= to) else { break };
            self.exits.push(LoopExit { to, next: self.loops[id].first_exit });
            self.loops[id].first_exit = self.exits.len() as u32 - 1;
            around = order.loops()[id].parent;
        }
    }

    fn note_calls(&mut self, order: &LinearOrder, innermost: PackedOption<LoopId>) {
        let mut around = innermost;
        while let Some(id) = around.expand() {
            if std::mem::replace(&mut self.loops[id].has_calls, true) {
                break;
            }
            around = order.loops()[id].parent;
        }
    }
}
