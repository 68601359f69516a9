//! The registers of values at the head of a block.
//!
//! At a join point each value that the plan has in a register is given the one in which most edges bring it, by
//! frequency, so that few edges have to move it. Back edges, whose sources are not known yet, bring it in the hint of its
//! class.
//!
//! Cost: linear in the values in registers at the ends of predecessors, and arguments times registers.

use crate::coloring::{Coloring, Input};
use crate::liveness::scaled;
use crate::register_map::Value;
use crate::spill_plan::{Placement, is_joined};
use cranelift_entity::EntityRef;
use kingpost_regalloc::{Allocation, Edge, PReg, PRegSet, VReg};

const NONE: u32 = u32::MAX;
/// An edge whose source is a bare jump counts so many times: the jump, which costs two moves, goes if nothing moves there.
const JUMP_WEIGHT: u32 = 3;
/// The class hint counts as much as one of so many edges: there the value is met again.
const HINT_SHARE: u32 = 4;

impl Value {
    /// Another edge brings the value in a register. The one that most bring it in wins, if those are more than half.
    fn vote(&mut self, reg: PReg, weight: u32) {
        if self.candidate == Some(reg) {
            self.votes = self.votes.saturating_add(weight);
        } else if self.votes >= weight {
            self.votes -= weight;
        } else {
            (self.candidate, self.votes) = (Some(reg), weight - self.votes);
        }
    }
}

impl Coloring {
    /// Starts the block at a place: fills the register map and the next uses at its head.
    #[inline(never)]
    pub(crate) fn enter(&mut self, input: &Input, place: u32, out: &mut Allocation) {
        let problem = input.problem;
        let block = input.order.blocks[place as usize];
        self.place = place;
        let entries = input.live.entries(place);
        let values = &mut self.map.values[..];
        for entry in entries {
            let value = &mut values[entry.vreg.index()];
            value.next = entry.next;
            value.live_at = if entry.next.is_dead() { NONE } else { place };
        }
        self.steps += entries.len() as u64;
        self.picker.enter(input, place);
        match problem.preds(block) {
            _ if place > 0 && is_joined(problem, block) => {
                self.map.remove(self.map.occupied);
                self.join(input, place);
            }
            &[edge] => self.inherit(input, place, edge, out),
            _ => self.map.remove(self.map.occupied),
        }
        for &param in problem.params(block) {
            if let Some(reg) = self.map.at(param) {
                self.store_at_head(input, param, reg, out);
            }
        }
        if self.labels.any() {
            for entry in input.live.entries(place) {
                if !entry.next.is_dead() && input.constraints.labelled[entry.vreg.index()] {
                    self.labels.note(entry.vreg, self.map.at(entry.vreg), self.picker.first_inst());
                }
            }
        }
    }

    /// From the only predecessor: all that is live stays where it was.
    fn inherit(&mut self, input: &Input, place: u32, edge: Edge, out: &mut Allocation) {
        let problem = input.problem;
        let from = input.order.place(problem.edge(edge).from);
        let values = &self.map.values;
        let exit = self.assignment.exits[from as usize].range();
        if from + 1 == place {
            let is_dead = |&&(vreg, _): &&(VReg, PReg)| values[vreg.index()].live_at != place;
            let dead: PRegSet = self.assignment.pool[exit].iter().filter(is_dead).map(|resident| resident.1).collect();
            self.map.remove(dead);
        } else {
            self.map.remove(self.map.occupied);
            for i in exit {
                let (vreg, reg) = self.assignment.pool[i];
                if self.map.values[vreg.index()].live_at == place {
                    self.map.put(vreg, reg);
                }
            }
        }
        for &vreg in problem.edge_defs(edge) {
            if self.map.values[vreg.index()].live_at == place
                && let Some(reg) = self.branch_defs[vreg.index()].as_reg()
            {
                self.put(vreg, reg);
                self.store_at_head(input, vreg, reg, out);
            }
        }
    }

    /// Stores a value that begins here if the plan stores it at its definition.
    fn store_at_head(&mut self, input: &Input, vreg: VReg, reg: PReg, out: &mut Allocation) {
        if input.plan.placements[vreg.index()] == Placement::AtDefinition {
            self.store(input, vreg, reg, self.picker.first_inst(), out);
        }
    }

    /// Fills the empty register map with the entry set of the plan.
    fn join(&mut self, input: &Input, place: u32) {
        self.vote_predecessors(input, place);
        let mut left = 0;
        for &vreg in input.spills.entry(place) {
            let candidate = self.map.values[vreg.index()].candidate;
            left += u32::from(!self.put_if_free(vreg, candidate));
        }
        if left > 0 {
            self.join_rest(input, place);
        }
        self.assignment.param_starts[place as usize] = self.assignment.param_regs.len() as u32;
        let params = input.problem.params(input.order.blocks[place as usize]).iter();
        self.assignment.param_regs.extend(params.map(|&param| self.map.at(param)));
        self.assignment.entries[place as usize] = self.save_map();
    }

    /// Values whose candidate is taken get the hint of their class, or else any register.
    fn join_rest(&mut self, input: &Input, place: u32) {
        for &vreg in input.spills.entry(place) {
            if self.map.at(vreg).is_none() {
                self.put_if_free(vreg, input.hints.get(vreg));
            }
        }
        for &vreg in input.spills.entry(place) {
            if self.map.at(vreg).is_none() {
                let free = input.constraints.allocatable.difference(self.map.occupied);
                let reg = self.pick(input, vreg, self.picker.first_inst(), self.known_end(vreg), free);
                self.put(vreg, reg.expect("an entry set has no more values than there are registers"));
            }
        }
    }

    /// Puts a value into a register if that is free. Returns whether it is there now.
    fn put_if_free(&mut self, vreg: VReg, reg: Option<PReg>) -> bool {
        let Some(reg) = reg.filter(|&reg| !self.map.occupied.contains(reg)) else { return false };
        self.put(vreg, reg);
        true
    }

    /// Finds the register in which most predecessors leave each value of the entry set.
    fn vote_predecessors(&mut self, input: &Input, place: u32) {
        let problem = input.problem;
        let preds = problem.preds(input.order.blocks[place as usize]);
        let mut hint_votes = 0u32;
        for &edge in preds {
            let data = problem.edge(edge);
            let is_back = input.order.place(data.from) >= place;
            hint_votes =
                hint_votes.saturating_add(if is_back { scaled(data.freq) } else { scaled(data.freq) / HINT_SHARE });
        }
        for &vreg in input.spills.entry(place) {
            let hint = input.hints.get(vreg);
            let value = &mut self.map.values[vreg.index()];
            (value.candidate, value.votes) = (hint, if hint.is_some() { hint_votes } else { 0 });
        }
        for &edge in preds {
            self.vote_predecessor(input, place, edge);
        }
    }

    fn vote_predecessor(&mut self, input: &Input, place: u32, edge: Edge) {
        let problem = input.problem;
        let data = problem.edge(edge);
        let from = input.order.place(data.from);
        if from >= place {
            return;
        }
        let is_jump = problem.first_inst(data.from) == problem.terminator(data.from);
        let weight = scaled(data.freq).saturating_mul(if is_jump { JUMP_WEIGHT } else { 1 });
        let residents = self.assignment.exit(from);
        let values = &mut self.map.values[..];
        for &(vreg, reg) in residents {
            let value = &mut values[vreg.index()];
            if value.live_at == place {
                value.vote(reg, weight);
            }
        }
        for (&param, &arg) in problem.params(data.to).iter().zip(problem.edge_args(edge)) {
            let ends = values[arg.index()].live_at != place;
            if let Some(&(_, reg)) = residents.iter().find(|resident| ends && resident.0 == arg) {
                values[param.index()].vote(reg, weight);
            }
        }
    }
}
