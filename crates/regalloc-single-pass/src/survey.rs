//! The survey: what the walk, which comes backwards, must know before it meets a value's definition.
//!
//! For each value: the instruction that computes it again, how many calls come before its definition, the block of that.
//! For each loop: the parameters of its header and the values used in it and defined outside, with the frequencies of their uses
//! added up; and the calls in it.
//!
//! Cost: linear in operands; a value used in a nest of loops is noted once per loop.

use crate::state::{State, Value};
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, PrimaryMap};
use kingpost_regalloc::{ClobberId, Freq, InstFlags, Problem, VReg};
use kingpost_regalloc_common::order::{BlockIndex, LinearOrder, LoopId};

/// A value that a loop may have in a register at its header: a parameter of that, or one that the loop uses and does not define.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoopUse {
    pub(crate) vreg: VReg,
    /// Frequencies of its uses, added up; of a parameter, also those of edges back that bring another value.
    pub(crate) weight: u64,
    id: LoopId,
    /// The next one of the loop, or [`NONE`].
    next: u32,
    /// The one of the same value in the next larger loop that uses it, or [`NONE`].
    outer: u32,
}

pub(crate) const NONE: u32 = u32::MAX;

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
    /// Where the uses of its header's parameters begin, one each.
    params: u32,
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
    /// Calls before the point that the survey has come to.
    num_calls: u32,
}

impl Survey {
    pub(crate) fn run(&mut self, problem: &Problem, order: &LinearOrder, state: &mut State) {
        self.uses.clear();
        self.exits.clear();
        self.calls.clear();
        self.loops.clear();
        for _ in order.loops().keys() {
            self.loops.push(LoopData { first_use: NONE, params: NONE, first_exit: NONE, has_calls: false });
        }
        for edge in problem.edges() {
            for &vreg in problem.edge_defs(edge) {
                let index = order.index(problem.edge(edge).to);
                let value = state.value_mut(vreg);
                (value.edge, value.block) = (edge.into(), index);
            }
        }
        self.num_calls = 0;
        let mut met_before = std::mem::take(&mut self.met_before);
        met_before.clear();
        met_before.resize(problem.num_operands(), 0);
        for index in order.indices() {
            let before = self.num_calls;
            self.block(problem, order, index, state, &mut met_before);
            self.calls.push(self.num_calls);
            if self.num_calls > before {
                self.note_calls(order, order.block(index).innermost);
            }
        }
        self.met_before = met_before;
        for label in &problem.labels {
            // A label is answered by the slot, which has nothing else then.
            let value = state.value_mut(label.vreg);
            (value.is_stored, value.is_labelled) = (true, true);
        }
        self.sum_up();
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

    fn block(
        &mut self,
        problem: &Problem,
        order: &LinearOrder,
        index: BlockIndex,
        state: &mut State,
        met_before: &mut [u32],
    ) {
        let block = order.block(index);
        let in_loop = block.innermost.is_some();
        for &param in problem.params(block.block) {
            let value = state.value_mut(param);
            (value.block, value.is_param, value.calls) = (index, true, self.num_calls);
        }
        if let Some(id) = block.innermost.expand().filter(|_| order.is_header(index)) {
            self.loops[id].params = self.uses.len() as u32;
            for &param in problem.params(block.block) {
                self.note_use(order, index, Freq(0), state.value_mut(param), param);
            }
        }
        let mut position = block.head.as_u32();
        for step in problem.walk(block.block) {
            position += 1;
            let before = self.num_calls;
            self.num_calls += u32::from(step.clobbers != ClobberId::NONE);
            let operands = &problem.all_operands()[step.operands.clone()];
            for (operand, met_before) in operands.iter().zip(&mut met_before[step.operands]) {
                let vreg = operand.vreg();
                let value = state.value_mut(vreg);
                *met_before = std::mem::replace(&mut value.next_met, position);
                if operand.is_use() {
                    value.lives_over_call |= value.calls < before;
                    if in_loop {
                        self.note_use(order, index, block.freq, value, vreg);
                    }
                    continue;
                }
                value.calls = self.num_calls;
                if value.edge.is_none() {
                    value.block = index;
                }
                if step.flags.has(InstFlags::REMAT) {
                    value.remat = step.inst.into();
                }
            }
        }
        for &edge in problem.succs(block.block) {
            let to = problem.edge(edge).to;
            let target = order.index(to);
            if in_loop {
                self.note_exit(order, block.innermost, target);
            }
            for &arg in problem.edge_args(edge) {
                let value = state.value_mut(arg);
                value.lives_over_call |= value.calls < self.num_calls;
                if in_loop {
                    self.note_use(order, index, Freq(0), value, arg);
                }
            }
            if let Some(id) = order.block(target).innermost.expand().filter(|_| target <= index) {
                let first = self.loops[id].params as usize;
                let pairs = problem.edge_args(edge).iter().zip(problem.params(to));
                for (entry, _) in self.uses[first..].iter_mut().zip(pairs).filter(|(_, (arg, param))| arg != param) {
                    // In memory the parameter would have to be stored here.
                    entry.weight = entry.weight.saturating_add(problem.edge(edge).freq.0);
                }
            }
        }
    }

    /// Notes a use in the innermost loop around a block, if the value comes into that from outside.
    #[inline]
    fn note_use(&mut self, order: &LinearOrder, index: BlockIndex, freq: Freq, value: &mut Value, vreg: VReg) {
        let innermost = order.block(index).innermost;
        let Some(id) = innermost.expand().filter(|&id| value.comes_into(order.loops()[id].header)) else { return };
        if self.uses.get(value.loop_use as usize).is_none_or(|entry| entry.id != id) {
            self.note_loops(order, index, value, vreg);
        }
        let entry = &mut self.uses[value.loop_use as usize];
        entry.weight = entry.weight.saturating_add(freq.0 >> u32::from(value.remat.is_some()));
    }

    /// Makes the entries of a value in the loops around a block, from the inside, up to the first that has it noted already.
    fn note_loops(&mut self, order: &LinearOrder, index: BlockIndex, value: &mut Value, vreg: VReg) {
        let loops = order.loops();
        let mut noted = value.loop_use;
        while let Some(entry) = self.uses.get(noted as usize).filter(|entry| loops[entry.id].end <= index) {
            noted = entry.outer;
        }
        let noted_id = self.uses.get(noted as usize).map(|entry| entry.id);
        let first = self.uses.len() as u32;
        let mut around = order.block(index).innermost;
        while let Some(id) = around.expand()
            && Some(id) != noted_id
            && index < loops[id].end
            && value.comes_into(loops[id].header)
        {
            let next = std::mem::replace(&mut self.loops[id].first_use, self.uses.len() as u32);
            self.uses.push(LoopUse { vreg, weight: 0, id, next, outer: self.uses.len() as u32 + 1 });
            around = loops[id].parent;
        }
        value.loop_use = if self.uses.len() as u32 == first { noted } else { first };
        if let Some(last) = self.uses[first as usize..].last_mut() {
            last.outer = noted;
        }
    }

    /// Adds the weights of uses in loops to those in the loops around.
    fn sum_up(&mut self) {
        for id in self.loops.keys().rev() {
            let mut next = self.loops[id].first_use;
            while let Some(&LoopUse { weight, next: after, outer, .. }) = self.uses.get(next as usize) {
                if let Some(entry) = self.uses.get_mut(outer as usize) {
                    entry.weight = entry.weight.saturating_add(weight);
                }
                next = after;
            }
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
