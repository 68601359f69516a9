//! Who is in registers at the head of a block.

use crate::liveness::{Next, rate};
use crate::spilling::{Input, NO_RANK, NONE, Spilling, is_joined};
use cranelift_entity::EntityRef;
use kingpost_regalloc::{Block, Edge, RegClass, VReg};

/// Memory for one head after another.
#[derive(Default)]
pub(crate) struct Scratch {
    /// Per value.
    arrivals: Vec<Arrival>,
    /// Heads so far, of earlier problems too, so that arrivals need not be cleared.
    heads: u32,
    /// Edges so far.
    edges: u32,
    wanted: [Vec<(f32, VReg)>; 2],
}

/// How a value comes to a head.
#[derive(Clone, Copy, Default)]
struct Arrival {
    /// How often it comes in a register to the head `head`.
    often: u64,
    /// If it is a parameter, what edges save if it is in a register.
    on_edges: i64,
    head: u32,
    /// The last head to which it came in a register, but not in memory.
    dirty: u32,
    /// The last edge on which it was met.
    edge: u32,
}

impl Arrival {
    fn note(&mut self, head: u32, often: u64) {
        self.often = if self.head == head { self.often + often } else { often };
        self.head = head;
    }
}

impl Scratch {
    pub(crate) fn begin(&mut self, values: usize) {
        if self.heads.max(self.edges) > u32::MAX / 2 {
            (self.heads, self.edges) = (0, 0);
            self.arrivals.clear();
        }
        if self.arrivals.len() < values {
            self.arrivals.resize(values, Arrival::default());
        }
    }
}

impl Spilling {
    /// Starts a block: sets what is in registers, and the next uses.
    pub(crate) fn enter(&mut self, input: Input, place: u32) {
        let problem = input.problem;
        let block = input.order.blocks[place as usize];
        for entry in input.live.entries(place) {
            let v = entry.vreg.index();
            self.values[v].next = entry.next;
            self.values[v].live_at = if entry.next.is_dead() { NONE } else { place };
        }
        self.steps += input.live.entries(place).len() as u64;
        if place > 0 && is_joined(problem, block) {
            self.empty();
            self.join(input, place);
        } else if let &[edge] = problem.preds(block) {
            self.inherit(input, place, edge);
        } else {
            self.empty();
        }
    }

    /// The only way in: all that lives on is where it was.
    fn inherit(&mut self, input: Input, place: u32, edge: Edge) {
        let problem = input.problem;
        let from = input.order.place(problem.edge(edge).from);
        if from + 1 == place {
            self.retain(|value| {
                value.rank = NO_RANK;
                value.live_at == place
            });
        } else {
            self.empty();
            let (start, end) = self.exits[from as usize];
            for i in start..end {
                let vreg = self.pool[i as usize];
                if self.values[vreg.index()].live_at == place {
                    self.add(vreg, self.pool_clean[i as usize]);
                }
            }
        }
        for &vreg in problem.edge_defs(edge) {
            let c = problem.class(vreg).index();
            let fits = self.inside[c].len() < self.limits[c];
            if self.values[vreg.index()].live_at == place && !self.is_inside(vreg) {
                if fits {
                    self.add(vreg, false);
                } else {
                    self.values[vreg.index()].clean = false;
                    self.leave(vreg, u64::from(rate(problem.freq(input.order.blocks[place as usize]))));
                }
            }
        }
    }

    fn join(&mut self, input: Input, place: u32) {
        let problem = input.problem;
        let block = input.order.blocks[place as usize];
        self.entry.heads += 1;
        let (total, unknown) = self.find(input, block);
        let mut wanted = std::mem::take(&mut self.entry.wanted);
        wanted.iter_mut().for_each(Vec::clear);
        for entry in input.live.entries(place) {
            if self.values[entry.vreg.index()].live_at == place {
                // Once a value is stored it is for good: edges back into a loop have it stored if those into it have.
                let clean = self.entry.arrivals[entry.vreg.index()].dirty != self.entry.heads
                    && (unknown == 0 || input.order.is_reducible);
                self.values[entry.vreg.index()].clean = clean && !input.live.is_defined_at_head(entry.vreg, place);
                let (gain, score) = self.gain(input, entry.vreg, entry.next, place, total, unknown);
                if gain > 0 {
                    wanted[problem.class(entry.vreg).index()].push((score, entry.vreg));
                } else {
                    self.leave_at_head(entry.vreg);
                }
            }
        }
        for class in RegClass::ALL {
            let wanted = &mut wanted[class.index()];
            let limit = self.limits[class.index()];
            if wanted.len() > limit {
                let order = |a: &(f32, VReg), b: &(f32, VReg)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
                wanted.select_nth_unstable_by(limit, order);
                wanted[..limit].sort_unstable_by(order);
                wanted.drain(limit..).for_each(|(_, vreg)| self.leave_at_head(vreg));
            }
            for &(_, vreg) in wanted.iter() {
                self.add(vreg, self.values[vreg.index()].clean);
                let known = self.found_in(vreg);
                self.values[vreg.index()].spilled |= known + unknown < total;
            }
        }
        self.entry.wanted = wanted;
        self.heads[place as usize] = self.save();
    }

    /// How often each value comes in a register. Gives how often the block runs, and how often from blocks unknown yet.
    fn find(&mut self, input: Input, block: Block) -> (u64, u64) {
        let problem = input.problem;
        let (mut total, mut unknown) = (0, 0);
        let spill = i64::from(input.env.costs.spill);
        let head = self.entry.heads;
        let params = problem.params(block);
        for &param in params {
            self.entry.arrivals[param.index()].on_edges = 0;
        }
        for &edge in problem.preds(block) {
            let data = problem.edge(edge);
            let often = u64::from(rate(data.freq));
            total += often;
            let (start, end) = self.exits[input.order.place(data.from) as usize];
            if start == NONE {
                unknown += often;
                for (&param, &arg) in params.iter().zip(problem.edge_args(edge)) {
                    // What is passed to itself stays in memory for nothing.
                    let store = if param == arg { 0 } else { spill };
                    self.entry.arrivals[param.index()].on_edges += store * often as i64;
                }
                continue;
            }
            let span = start as usize..end as usize;
            self.steps += span.len() as u64;
            self.entry.edges += 1;
            for (&vreg, &clean) in self.pool[span.clone()].iter().zip(&self.pool_clean[span]) {
                let arrival = &mut self.entry.arrivals[vreg.index()];
                arrival.edge = self.entry.edges;
                arrival.note(head, often);
                arrival.dirty = if clean { arrival.dirty } else { head };
            }
            for (&param, &arg) in params.iter().zip(problem.edge_args(edge)) {
                let is_inside = self.entry.arrivals[arg.index()].edge == self.entry.edges;
                let arrival = &mut self.entry.arrivals[param.index()];
                if is_inside {
                    arrival.note(head, often);
                }
                arrival.on_edges += often as i64 * saved_on_edge(input, param, arg, is_inside);
            }
        }
        (total, unknown)
    }

    /// How often the value comes to the head in a register.
    fn found_in(&self, vreg: VReg) -> u64 {
        let arrival = &self.entry.arrivals[vreg.index()];
        if arrival.head == self.entry.heads { arrival.often } else { 0 }
    }

    /// What is won by having the value in a register at the head, and that per instruction it stays there unused.
    fn gain(&self, input: Input, vreg: VReg, next: Next, place: u32, total: u64, unknown: u64) -> (i64, f32) {
        let costs = &input.env.costs;
        let found = self.found_in(vreg);
        if input.facts.is_wiped(place, input.problem.class(vreg), next.distance) {
            // It goes to memory before it is read. A tie goes to the register: one store behind the head serves all edges.
            let stores = i64::from(costs.spill) * total as i64;
            let gain = match input.live.is_defined_at_head(vreg, place) {
                true => self.entry.arrivals[vreg.index()].on_edges - stores + 1,
                false => i64::from(unknown == 0 && found == total),
            };
            return (gain, 0.0);
        }
        let lacking = total.saturating_sub(found + unknown) as i64;
        let is_remat = input.facts.remat(vreg).is_some();
        let fill = i64::from(if is_remat { costs.remat } else { costs.fill });
        let mut gain = fill * (i64::from(next.rate) - lacking);
        if input.live.is_defined_at_head(vreg, place) {
            gain = fill * i64::from(next.rate) + self.entry.arrivals[vreg.index()].on_edges;
        } else if !is_remat {
            gain += i64::from(costs.spill) * self.store_rate(input, vreg, found) as i64;
        }
        (gain, gain as f32 / next.distance.max(1) as f32)
    }

    /// The value is in memory at the head; edges that have it in a register may have to store it.
    fn leave_at_head(&mut self, vreg: VReg) {
        let found = self.found_in(vreg);
        self.leave(vreg, found);
    }

    /// Lacks the edge something that its target, visited before, wants in a register? Is an argument worth less than
    /// thought?
    pub(crate) fn lacks(&self, input: Input, edge: Edge, to: u32) -> bool {
        let problem = input.problem;
        let lives = |vreg: VReg| self.is_inside(vreg) || input.live.is_defined_at_head(vreg, to);
        let mut args = problem.params(problem.edge(edge).to).iter().zip(problem.edge_args(edge));
        let spill = i64::from(input.env.costs.spill);
        !self.head(to).iter().all(|&vreg| lives(vreg))
            || args.any(|(&param, &arg)| saved_on_edge(input, param, arg, self.is_inside(arg)) != spill)
    }
}

/// What an edge saves if a parameter is in a register rather than in memory.
fn saved_on_edge(input: Input, param: VReg, arg: VReg, is_inside: bool) -> i64 {
    let costs = &input.env.costs;
    let shared = input.classes.class(param) == input.classes.class(arg);
    match (is_inside, input.facts.remat(arg)) {
        (true, _) | (false, Some(_)) => i64::from(costs.spill),
        (false, None) if shared => -i64::from(costs.fill),
        (false, None) => i64::from(costs.spill),
    }
}
