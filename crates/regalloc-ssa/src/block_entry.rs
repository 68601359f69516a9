//! Where values are at the head of a block in which paths meet.
//!
//! Each value that the plan has in a register there is given the one in which most paths bring it, by frequency, so that
//! few edges have to move it. Paths back into a loop, which are not known yet, bring it to its home.
//!
//! Cost: linear in the values that are in registers at the ends of paths, and arguments times registers.

use crate::coloring::{Coloring, Input, Resident, Value};
use crate::liveness::rate;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{Edge, Inst, PReg, VReg};

/// A path whose last block is a jump counts so many times: the jump, which costs two moves, goes if nothing moves there.
const JUMP_WEIGHT: u32 = 3;
/// The home counts as much as one of so many paths: there the value is met again.
const HOME_SHARE: u32 = 4;

impl Value {
    /// Another path brings the value to a register. The one that most bring it to wins, if those are more than half.
    fn vote(&mut self, reg: PReg, weight: u32) {
        if self.wants == Some(reg) {
            self.votes = self.votes.saturating_add(weight);
        } else if self.votes >= weight {
            self.votes -= weight;
        } else {
            (self.wants, self.votes) = (Some(reg), weight - self.votes);
        }
    }
}

impl Coloring {
    /// Fills the empty register map with those whom the plan wants in registers.
    pub(crate) fn join(&mut self, input: &Input, place: u32) {
        self.ask_paths(input, place);
        let mut left = 0;
        for &vreg in input.plan.head(place) {
            let Value { wants, live_at, .. } = self.values[vreg.index()];
            if live_at == place {
                left += u32::from(!self.put_if_free(vreg, wants));
            }
        }
        if left > 0 {
            self.join_rest(input, place);
        }
        self.save_joined(input, place);
    }

    /// Those whom another keeps from where paths bring them go home, or else anywhere.
    fn join_rest(&mut self, input: &Input, place: u32) {
        for &vreg in input.plan.head(place) {
            let Value { at, live_at, .. } = self.values[vreg.index()];
            if at.is_none() && live_at == place {
                self.put_if_free(vreg, input.homes.home(vreg));
            }
        }
        let first = Inst::from_u32(self.bounds.0);
        for &vreg in input.plan.head(place) {
            let Value { at, live_at, .. } = self.values[vreg.index()];
            if at.is_some() || live_at != place {
                continue;
            }
            let free = input.plan.open.difference(self.occupied);
            if let Some(reg) = self.pick(input, vreg, first, self.known_end(vreg), free) {
                self.put(vreg, reg);
            }
        }
    }

    /// Puts a value into a register if that is empty. Is it there now?
    fn put_if_free(&mut self, vreg: VReg, reg: Option<PReg>) -> bool {
        let Some(reg) = reg.filter(|&reg| !self.occupied.contains(reg)) else { return false };
        self.put(vreg, reg);
        true
    }

    /// Where do paths bring values, and whom does memory have? Once a value is stored it is for good, so that edges back
    /// into a loop have it stored if those into it have.
    fn ask_paths(&mut self, input: &Input, place: u32) {
        let problem = input.problem;
        let preds = problem.preds(input.order.blocks[place as usize]);
        let (mut at_home, mut is_loop) = (0u32, false);
        for &edge in preds {
            let data = problem.edge(edge);
            let is_back = input.order.place(data.from) >= place;
            is_loop |= is_back;
            at_home = at_home.saturating_add(if is_back { rate(data.freq) } else { rate(data.freq) / HOME_SHARE });
        }
        let known = input.order.is_reducible || !is_loop;
        for &vreg in input.plan.head(place) {
            let home = input.homes.home(vreg);
            let value = &mut self.values[vreg.index()];
            value.original = false;
            value.clean = known && !input.live.is_defined_at_head(vreg, place);
            (value.wants, value.votes) = (home, if home.is_some() { at_home } else { 0 });
        }
        for &edge in preds {
            self.ask_path(input, place, edge);
        }
    }

    fn ask_path(&mut self, input: &Input, place: u32, edge: Edge) {
        let problem = input.problem;
        let data = problem.edge(edge);
        let from = input.order.place(data.from);
        if from >= place {
            return;
        }
        let is_jump = problem.first_inst(data.from) == problem.terminator(data.from);
        let weight = rate(data.freq).saturating_mul(if is_jump { JUMP_WEIGHT } else { 1 });
        let residents = &self.residents[self.ends[from as usize].range()];
        let values = &mut self.values[..];
        for &Resident { vreg, reg, clean } in residents {
            let value = &mut values[vreg.index()];
            value.clean &= clean;
            if value.live_at == place {
                value.vote(reg, weight);
            }
        }
        for (&param, &arg) in problem.params(data.to).iter().zip(problem.edge_args(edge)) {
            let leaves = values[arg.index()].live_at != place;
            if let Some(resident) = residents.iter().find(|resident| leaves && resident.vreg == arg) {
                values[param.index()].vote(resident.reg, weight);
            }
        }
    }

    /// Notes who is where when paths meet.
    fn save_joined(&mut self, input: &Input, place: u32) {
        self.param_starts[place as usize] = self.param_regs.len() as u32;
        let params = input.problem.params(input.order.blocks[place as usize]);
        self.param_regs.extend(params.iter().map(|param: &VReg| self.values[param.index()].at));
        self.entries[place as usize] = self.save();
    }
}
