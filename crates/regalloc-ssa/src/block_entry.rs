//! The registers of values at the head of a block.
//!
//! At a join point each value that the plan has in a register is assigned the register in which most edges, by
//! frequency, hold it, so that few edges have to move it. The sources of back edges are not known yet; they vote
//! for the hint of the value's class.
//!
//! Cost: linear in the values in registers at the ends of predecessors, and arguments times registers.

use crate::color_input::ColorInput;
use crate::coloring::Coloring;
use crate::spill_plan::Placement;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{Allocation, Edge, PReg, VReg};
use kingpost_regalloc_common::edge_sites::Majority;
use kingpost_regalloc_common::order::BlockIndex;

/// Weight of an edge whose source is a bare jump. The jump itself costs two moves, and vanishes if the edge has no
/// moves.
const JUMP_WEIGHT: u64 = 3;
/// Divisor of the frequency with which an edge from a known source votes for the class hint.
const HINT_SHARE: u64 = 4;

impl Coloring {
    /// Skips a bare jump: the values in registers at its end are the values at the end of its predecessor. Returns
    /// `false` if the block is no bare jump. The register map is unchanged.
    pub(crate) fn pass_bare_jump(&mut self, input: &ColorInput, index: BlockIndex) -> bool {
        let from = input.live.jumps.source_of(input.order, index);
        let Some(from) = from.filter(|&from| input.spills.is_passed_over(index, from)) else { return false };
        self.assignment.exits[index.index()] = self.assignment.exits[from.index()];
        true
    }

    /// Starts a block: fills the register map and the next uses at its head.
    #[inline(never)]
    pub(crate) fn enter(&mut self, input: &ColorInput, index: BlockIndex, out: &mut Allocation) {
        let problem = input.problem;
        let block = input.order.block(index);
        self.index = index;
        let entries = input.live.all_entries(problem, input.order, index, &mut self.bare_jump);
        let values = &mut self.map.values[..];
        for entry in entries {
            let value = &mut values[entry.vreg.index()];
            (value.distance, value.live_at) = (entry.next.distance, index.into());
        }
        self.steps += entries.len() as u64;
        self.picker.enter(input, index);
        if let Some((edge, from)) = block.inherits() {
            self.inherit(input, index, edge, from, out);
        } else {
            self.map.remove(self.map.occupied);
            if index > BlockIndex::FIRST {
                self.join(input, index);
            }
            for &param in problem.params(block.block) {
                if let Some(reg) = self.map.at(param) {
                    self.store_at_head(input, param, reg, out);
                }
            }
        }
    }

    /// Initializes the register map from the only predecessor. Live values keep their registers.
    fn inherit(&mut self, input: &ColorInput, index: BlockIndex, edge: Edge, from: BlockIndex, out: &mut Allocation) {
        self.map.remove(self.map.occupied);
        for i in self.assignment.exits[from.index()].range() {
            let (vreg, reg) = self.assignment.pool[i];
            if self.map.values[vreg.index()].live_at == index.into() {
                self.map.put(vreg, reg);
            }
        }
        for &vreg in input.problem.edge_defs(edge) {
            let value = &self.map.values[vreg.index()];
            if value.live_at == index.into()
                && !value.is_dead()
                && let Some(reg) = self.branch_defs[vreg.index()].as_reg()
            {
                self.put(vreg, reg);
                self.store_at_head(input, vreg, reg, out);
            }
        }
    }

    /// Stores a value that begins at the block head if the plan stores it at its definition.
    fn store_at_head(&mut self, input: &ColorInput, vreg: VReg, reg: PReg, out: &mut Allocation) {
        if input.plan.placements[vreg.index()] == Placement::AtDefinition {
            let head = input.problem.first_inst(input.order.block(self.index).block);
            self.store(input, vreg, reg, head, out);
        }
    }

    /// Fills the empty register map with the entry set of the plan.
    fn join(&mut self, input: &ColorInput, index: BlockIndex) {
        self.vote_predecessors(input, index);
        let mut left = 0;
        for i in 0..self.majorities.len() {
            let (vreg, most) = self.majorities[i];
            left += u32::from(!self.put_if_free(vreg, most.winner()));
        }
        if left > 0 {
            self.join_rest(input, index);
        }
        self.assignment.param_starts[index.index()] = self.assignment.param_regs.len() as u32;
        let params = input.problem.params(input.order.block(index).block).iter();
        self.assignment.param_regs.extend(params.map(|&param| self.map.at(param)));
        self.assignment.entries[index.index()] = self.save_map();
    }

    /// Assigns values whose candidate is taken to the hint of their class, or otherwise to any register.
    fn join_rest(&mut self, input: &ColorInput, index: BlockIndex) {
        for &vreg in input.spills.entry(index) {
            if self.map.at(vreg).is_none() {
                self.put_if_free(vreg, input.hints.get(vreg));
            }
        }
        for &vreg in input.spills.entry(index) {
            if self.map.at(vreg).is_none() {
                let free = input.constraints.allocatable.difference(self.map.occupied);
                let reg = self.pick(input, vreg, self.known_end(vreg), free);
                self.put(vreg, reg.expect("an entry set has no more values than there are registers"));
            }
        }
    }

    /// Puts a value into a register if it is free. Returns `true` if the value is in that register now.
    fn put_if_free(&mut self, vreg: VReg, reg: Option<PReg>) -> bool {
        let Some(reg) = reg.filter(|&reg| !self.map.occupied.contains(reg)) else { return false };
        self.put(vreg, reg);
        true
    }

    /// Finds the register in which most predecessors leave each value of the entry set.
    fn vote_predecessors(&mut self, input: &ColorInput, index: BlockIndex) {
        let problem = input.problem;
        let preds = problem.preds(input.order.block(index).block);
        let head = input.order.block(index).head;
        let (mut hint_votes, mut all_votes) = (0, 0);
        for &edge in preds {
            let data = problem.edge(edge);
            let is_back = input.order.index(data.from) >= index;
            hint_votes += data.freq.0 / if is_back { 1 } else { HINT_SHARE };
            all_votes += data.freq.0;
        }
        self.majorities.clear();
        for (number, &vreg) in (0..).zip(input.spills.entry(index)) {
            self.map.values[vreg.index()].number = number;
            let mut majority = Majority::default();
            if let Some(hint) = input.hints.get(vreg) {
                // In a register that calls preserve, the value need not move before the next call.
                let is_kept = input.constraints.callee_saved.contains(hint);
                let calls = if is_kept { input.hints.call_after(vreg, head).min(all_votes) } else { 0 };
                majority.vote(hint, hint_votes + calls);
            }
            self.majorities.push((vreg, majority));
        }
        for &edge in preds {
            self.vote_predecessor(input, index, edge);
        }
    }

    fn vote_predecessor(&mut self, input: &ColorInput, index: BlockIndex, edge: Edge) {
        let problem = input.problem;
        let data = problem.edge(edge);
        let from = input.order.index(data.from);
        if from >= index {
            return;
        }
        let is_jump = problem.first_inst(data.from) == problem.terminator(data.from);
        let weight = data.freq.0.max(1) * if is_jump { JUMP_WEIGHT } else { 1 };
        let residents = self.assignment.exit(from);
        let (values, majorities) = (&self.map.values[..], &mut self.majorities[..]);
        let mut vote = |vreg: VReg, reg| {
            let number = values[vreg.index()].number;
            if let Some((_, majority)) = majorities.get_mut(usize::from(number)).filter(|(other, _)| *other == vreg) {
                majority.vote(reg, weight);
            }
        };
        residents.iter().for_each(|&(vreg, reg)| vote(vreg, reg));
        for (&param, &arg) in problem.params(data.to).iter().zip(problem.edge_args(edge)) {
            let ends = values[arg.index()].live_at != index.into();
            if let Some(&(_, reg)) = residents.iter().find(|resident| ends && resident.0 == arg) {
                vote(param, reg);
            }
        }
    }
}
