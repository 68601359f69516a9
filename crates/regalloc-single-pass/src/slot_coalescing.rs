//! Slots that block parameters share with their arguments, so that edges move nothing between them.
//!
//! ```text
//! b1(v1): ..; jump b2(v1)         v1, v2 and v3 in one slot, if all are in memory
//! b2(v2): ..; brif b2(v2), b3(v2)
//! b3(v3): ..; jump b1(v3)
//! ```
//!
//! Congruence classes of values that are live apart (Boissinot et al., *Revisiting out-of-SSA translation*, 2009, section IV),
//! merged along the edges that run most often. They are made when the first parameter needs a slot, which is the only time
//! that this allocator looks for live ranges. Cost: linear in operands, n log n in arguments of edges.

use crate::state::State;
use crate::survey::NONE;
use cranelift_entity::packed_option::PackedOption;
use kingpost_regalloc::{Allocation, Pos, Problem, Slot, VReg};
use kingpost_regalloc_common::congruence::Congruence;
use kingpost_regalloc_common::live_blocks::{DefsAndUses, LiveBlocks, LiveUse};
use kingpost_regalloc_common::order::LinearOrder;
use kingpost_regalloc_common::point::{PointRange, ProgPoint};
use std::cmp::Reverse;

/// Steps that merges may take, for each live range.
const STEPS_PER_RANGE: usize = 64;

/// The classes of one problem. Memory is kept from one problem to the next.
#[derive(Default)]
pub(crate) struct SlotCoalescing {
    is_built: bool,
    members: Members,
    live: LiveBlocks,
    ranges: Vec<PointRange>,
    classes: Congruence<PointRange>,
    /// By representative.
    slots: Vec<PackedOption<Slot>>,
    /// Frequency, argument, parameter.
    pairs: Vec<(Reverse<u64>, u32, u32)>,
}

/// Values that are arguments or parameters, by [`Value::member`](crate::state::Value::member).
#[derive(Default)]
struct Members {
    list: Vec<Member>,
    uses: Vec<LiveUse>,
}

#[derive(Clone, Copy)]
struct Member {
    vreg: VReg,
    def: ProgPoint,
    last_use: Option<ProgPoint>,
    first_use: u32,
}

impl SlotCoalescing {
    pub(crate) fn begin(&mut self) {
        self.is_built = false;
    }

    /// The slot of a value, made when it is first asked for.
    pub(crate) fn slot(
        &mut self,
        (problem, order): (&Problem, &LinearOrder),
        vreg: VReg,
        state: &mut State,
        out: &mut Allocation,
    ) -> Slot {
        let value = state.value(vreg);
        if let Some(slot) = value.existing_slot() {
            return slot;
        }
        let width = value.width;
        if value.is_param && !self.is_built {
            self.build(problem, order, state);
        }
        let class = self.class(state, vreg);
        let shared = class.and_then(|class| self.slots[class as usize].expand());
        let slot = shared.unwrap_or_else(|| out.add_slot(width));
        if let Some(class) = class {
            self.slots[class as usize] = slot.into();
        }
        state.value_mut(vreg).set_slot(slot);
        slot
    }

    /// Have two values one slot, once they need one?
    pub(crate) fn are_one(&mut self, state: &State, a: VReg, b: VReg) -> bool {
        let slots = [a, b].map(|vreg| state.value(vreg).existing_slot());
        if a == b || slots[0].is_some() && slots[1].is_some() {
            return slots[0] == slots[1];
        }
        let classes = [a, b].map(|vreg| self.class(state, vreg));
        classes[0] == classes[1] && classes[0].is_some()
    }

    fn class(&mut self, state: &State, vreg: VReg) -> Option<u32> {
        let member = state.value(vreg).member;
        (member != NONE).then(|| self.classes.find(member))
    }

    fn build(&mut self, problem: &Problem, order: &LinearOrder, state: &mut State) {
        self.is_built = true;
        self.find_pairs(problem, state);
        self.members.find_uses(problem, order, state);
        self.find_ranges(problem, order, state);
        self.slots.clear();
        self.slots.resize(self.members.list.len(), None.into());
        self.pairs.sort_unstable();
        for &(_, from, to) in &self.pairs {
            let width = |member: u32| state.value(self.members.list[member as usize].vreg).width;
            if width(from) == width(to) {
                let (a, b) = (self.classes.find(from), self.classes.find(to));
                self.classes.merge(a, b);
            }
        }
    }

    /// Lists arguments with parameters, and numbers both. A value with a slot may have been moved from or to it already where
    /// another one was, and stays alone.
    fn find_pairs(&mut self, problem: &Problem, state: &mut State) {
        self.members.list.clear();
        self.pairs.clear();
        for edge in problem.edges() {
            let data = problem.edge(edge);
            for (&arg, &param) in problem.edge_args(edge).iter().zip(problem.params(data.to)) {
                let can_share = |vreg: VReg| {
                    let value = state.value(vreg);
                    value.remat.is_none() && !value.is_labelled && value.existing_slot().is_none()
                };
                if arg != param && can_share(arg) && can_share(param) {
                    let (from, to) = (self.members.number(state, arg), self.members.number(state, param));
                    self.pairs.push((Reverse(data.freq.0), from, to));
                }
            }
        }
    }

    fn find_ranges(&mut self, problem: &Problem, order: &LinearOrder, state: &State) {
        let list = &self.members.list;
        self.classes.begin(list.len());
        self.live.begin(problem, order);
        let mut vregs = [VReg::from_u32(0); LiveBlocks::CHUNK];
        for (first, chunk) in (0..).step_by(LiveBlocks::CHUNK).zip(list.chunks(LiveBlocks::CHUNK)) {
            vregs.iter_mut().zip(chunk).for_each(|(vreg, member)| *vreg = member.vreg);
            let values = InState { members: &self.members, state };
            self.ranges.clear();
            if self.live.find(order, &values, &vregs[..chunk.len()], false) == Ok(true) {
                let mut spans = [(0, 0); LiveBlocks::CHUNK];
                self.live.append_to(&mut self.ranges, chunk.len(), |k, span| spans[k] = (span.start, span.end));
                for (member, &(start, end)) in (first..).zip(&spans[..chunk.len()]) {
                    self.classes.set(member, self.ranges[start as usize..end as usize].iter().copied());
                }
                continue;
            }
            for (number, member) in (first..).zip(chunk) {
                let last = member.last_use.unwrap_or(member.def);
                let to = self.live.hull_end(order, member.def, last, last.end_of_use());
                self.classes.set(number, [PointRange::new(member.def, to)]);
            }
        }
        self.classes.budget = STEPS_PER_RANGE * self.classes.pool.len();
    }
}

impl Members {
    fn number(&mut self, state: &mut State, vreg: VReg) -> u32 {
        let value = state.value_mut(vreg);
        if value.member == NONE {
            value.member = self.list.len() as u32;
            self.list.push(Member { vreg, def: ProgPoint::FIRST, last_use: None, first_use: NONE });
        }
        value.member
    }

    /// Finds definitions and uses, the last ones first.
    fn find_uses(&mut self, problem: &Problem, order: &LinearOrder, state: &State) {
        self.uses.clear();
        for index in order.indices().rev() {
            let block = order.block(index);
            for &edge in problem.succs(block.block) {
                let target = order.block(order.index(problem.edge(edge).to));
                problem.edge_args(edge).iter().for_each(|&arg| self.note_use(state, arg, block.stop().prev()));
                problem.edge_defs(edge).iter().for_each(|&def| self.note_def(state, def, target.start()));
            }
            for (position, step) in block.positions().zip(problem.walk(block.block)).rev() {
                for operand in &problem.all_operands()[step.operands] {
                    let is_late = operand.pos() == Pos::Late;
                    let point = if is_late { ProgPoint::late(position) } else { ProgPoint::early(position) };
                    match operand.is_def() {
                        true if state.value(operand.vreg()).edge.is_some() => {}
                        true => self.note_def(state, operand.vreg(), point),
                        false => self.note_use(state, operand.vreg(), point),
                    }
                }
            }
            problem.params(block.block).iter().for_each(|&param| self.note_def(state, param, block.start()));
        }
    }

    fn note_def(&mut self, state: &State, vreg: VReg, point: ProgPoint) {
        if let Some(member) = self.list.get_mut(state.value(vreg).member as usize) {
            member.def = point;
        }
    }

    fn note_use(&mut self, state: &State, vreg: VReg, point: ProgPoint) {
        if let Some(member) = self.list.get_mut(state.value(vreg).member as usize) {
            self.uses.push(LiveUse { point, end: point.end_of_use(), next: member.first_use });
            member.first_use = self.uses.len() as u32 - 1;
            member.last_use = member.last_use.max(Some(point));
        }
    }
}

/// The members, found by their values.
struct InState<'a> {
    members: &'a Members,
    state: &'a State,
}

impl InState<'_> {
    fn member(&self, vreg: VReg) -> &Member {
        &self.members.list[self.state.value(vreg).member as usize]
    }
}

impl DefsAndUses for InState<'_> {
    fn def(&self, vreg: VReg) -> ProgPoint {
        self.member(vreg).def
    }

    fn last_use(&self, vreg: VReg) -> Option<ProgPoint> {
        self.member(vreg).last_use
    }

    fn first_use(&self, vreg: VReg) -> u32 {
        self.member(vreg).first_use
    }

    fn use_at(&self, cursor: u32) -> Option<LiveUse> {
        self.members.uses.get(cursor as usize).copied()
    }
}
