//! The values in registers at the head of a block (`W_entry` of Braun and Hack).
//!
//! At a join point a value is in a register if loading it on the edges that lack it costs no more than loading it
//! later. If these values exceed the registers, the ones with the greatest benefit per instruction until their next
//! use are chosen. A back edge is assumed to have every value until its source has been visited.

use crate::liveness::{BareJumpEntries, Entry};
use crate::register_set::{NOT_COUNTED, Value};
use crate::spill_input::SpillInput;
use crate::spill_instruction::SpillSite;
use crate::spilling::Spilling;
use crate::tables::{Span, scaled};
use cranelift_entity::EntityRef;
use kingpost_regalloc::meter::heap_bytes;
use kingpost_regalloc::sort::sort_by;
use kingpost_regalloc::{Block, Edge, RegClass, VReg};
use kingpost_regalloc_common::order::BlockIndex;
use kingpost_regalloc_common::release;

/// Memory of the computation, reused for each head.
#[derive(Default)]
pub(crate) struct Scratch {
    /// Candidates per value.
    candidates: Vec<EntryCandidate>,
    /// Number of heads so far, including earlier problems, so that candidates need not be cleared.
    heads: u32,
    /// Frequency with which the current head is reached from visited blocks.
    known: u64,
    /// Number of edges so far.
    edges: u32,
    chosen: Vec<(f32, VReg)>,
    bare_jump: BareJumpEntries,
}

heap_bytes!(Scratch { candidates, chosen, bare_jump } without { heads, known, edges });

/// Facts on the arrival of a value at a head, for parameters and spilled values. Any other value arrives in a
/// register, and never in memory. There is one entry per value, hence the packed layout.
#[derive(Clone, Copy, Default)]
#[repr(C, packed(4))]
struct EntryCandidate {
    /// Frequency with which it arrives in a register at the head `head`.
    in_register: u64,
    /// For a parameter, the cost that edges save if it is in a register.
    edge_benefit: i64,
    head: u32,
    /// The last head at which it arrived in a register, but not in memory.
    dirty: u32,
    /// The last edge that was found to hold it in a register.
    edge: u32,
}

impl EntryCandidate {
    fn note(&mut self, head: u32, freq: u64) {
        self.in_register = if self.head == head { self.in_register + freq } else { freq };
        self.head = head;
    }
}

/// Frequency with which a head is reached: in total, and from unvisited blocks.
#[derive(Clone, Copy)]
struct Arrivals {
    total: u64,
    unknown: u64,
}

/// The current head.
struct Head {
    index: BlockIndex,
    arrivals: Arrivals,
    /// Whether values begin at the head.
    receives: bool,
    /// Per class, the distance of the first instruction that destroys all registers.
    wipes: [u32; 2],
}

impl Head {
    fn defines(&self, input: &SpillInput, vreg: VReg) -> bool {
        self.receives && input.live.is_defined_at_head(vreg, self.index)
    }

    /// Returns `true` if an instruction before the next use destroys all registers.
    fn wipes(&self, value: &Value) -> bool {
        self.wipes[usize::from(value.class & 1)] < value.next.distance
    }
}

impl Scratch {
    pub(crate) fn release(&mut self) {
        release(&mut self.candidates);
    }

    pub(crate) fn begin(&mut self, values: usize) {
        if self.heads.max(self.edges) > u32::MAX / 2 {
            (self.heads, self.edges) = (0, 0);
            self.candidates.clear();
        }
        if self.candidates.len() < values {
            self.candidates.resize(values, EntryCandidate::default());
        }
    }

    /// Returns the frequency with which the value arrives at the head in a register.
    fn arrives_in_register(&self, vreg: VReg, is_spilled: bool) -> u64 {
        let candidate = &self.candidates[vreg.index()];
        match candidate.head == self.heads {
            true => candidate.in_register,
            false if is_spilled => 0,
            false => self.known,
        }
    }
}

impl Spilling {
    /// Returns the span of the values in registers at the end of a bare jump, which are the values at the end of
    /// its predecessor. Returns `None` for other blocks, and if the values may exceed the registers, because some
    /// registers may have been closed since. The current set is unchanged.
    pub(crate) fn pass_bare_jump(&mut self, input: &SpillInput, index: BlockIndex) -> Option<Span> {
        let from = input.live.jumps.source_of(input.order, index)?;
        let exit = self.plan.exits[from.index()]?;
        self.saved.limits.iter().all(|&limit| exit.range().len() <= limit).then_some(exit)
    }

    /// Starts a block: sets the values in registers, and the next uses.
    pub(crate) fn enter(&mut self, input: &SpillInput, index: BlockIndex) {
        let last = self.last.replace(index);
        let Some((edge, from)) = input.order.block(index).inherits() else {
            self.set.empty();
            if index > BlockIndex::FIRST {
                self.join(input, index);
            }
            return;
        };
        let entries = input.live.all_entries(input.problem, input.order, index, &mut self.entry.bare_jump);
        let values = &mut self.set.values[..];
        for entry in entries {
            let value = &mut values[entry.vreg.index()];
            (value.next, value.live_at) = (entry.next, index.into());
        }
        self.steps += entries.len() as u64;
        self.inherit(input, index, edge, (from, last == Some(from)));
    }

    /// Initializes the set from the only predecessor. Live values keep their registers.
    fn inherit(&mut self, input: &SpillInput, index: BlockIndex, edge: Edge, (from, is_at_hand): (BlockIndex, bool)) {
        if is_at_hand {
            self.set.retain(|value| {
                value.saved_index = NOT_COUNTED;
                value.live_at == index.into()
            });
        } else {
            self.set.empty();
            for i in self.plan.exits[from.index()].unwrap_or_default().range() {
                let vreg = self.plan.pool[i];
                if self.set.values[vreg.index()].live_at == index.into() {
                    self.set.add(vreg, self.plan.pool_clean[i]);
                }
            }
        }
        if !input.problem.edge_defs(edge).is_empty() {
            self.add_edge_defs(input, index, edge);
        }
    }

    /// Adds the results of the preceding branch. If there are too many, some are spilled at the head.
    #[cold]
    fn add_edge_defs(&mut self, input: &SpillInput, index: BlockIndex, edge: Edge) {
        let problem = input.problem;
        let block = input.order.block(index).block;
        let head = SpillSite { inst: problem.first_inst(block), pos: 0, here: scaled(input.order.block(index).freq) };
        for &vreg in problem.edge_defs(edge) {
            let class = problem.class(vreg);
            let value = &mut self.set.values[vreg.index()];
            if value.live_at != index.into() || value.next.is_dead() || value.is_member() {
                continue;
            }
            if input.constraints.begin_in_memory.contains(vreg) {
                (value.is_clean, value.is_spilled) = (true, true);
                continue;
            }
            self.set.add(vreg, false);
            if self.set.len(class) > self.saved.limits[class.index()] {
                self.scratch.reads += 1;
                self.evict(vreg, head);
            }
        }
    }

    fn join(&mut self, input: &SpillInput, index: BlockIndex) {
        let block = input.order.block(index);
        self.entry.heads += 1;
        let arrivals = self.visit_predecessors(input, block.block);
        let head = Head { index, arrivals, receives: block.receives, wipes: input.constraints.wipes(index) };
        // Once a value is stored it stays stored: edges back into a loop have it stored if the edges into the loop
        // have. This holds if loops are entered at their headers only. Otherwise back edges are unknown, or known
        // only from the region's first walk.
        let may_be_clean = self.is_reducible || !input.order.is_header(index);
        let costs_nothing = input.env.costs.fill.min(input.env.costs.remat) == 0;
        let entries = input.live.entries(index);
        self.steps += entries.len() as u64;
        for &Entry { vreg, next, .. } in entries {
            let value = &mut self.set.values[vreg.index()];
            (value.next, value.live_at) = (next, index.into());
            if next.is_dead() {
                continue;
            }
            let is_defined_here = head.defines(input, vreg);
            if !value.is_spilled && !is_defined_here && !head.wipes(value) && !costs_nothing {
                // All edges have it in a register.
                self.set.add(vreg, false);
                continue;
            }
            let candidate = &self.entry.candidates[vreg.index()];
            value.is_clean =
                may_be_clean && value.is_spilled && candidate.dirty != self.entry.heads && !is_defined_here;
            let Value { is_clean, is_spilled, .. } = *value;
            let found = self.entry.arrives_in_register(vreg, is_spilled);
            if self.benefit(input, vreg, &head, found) <= 0 {
                // Edges that have it in a register may have to store it.
                self.note_in_memory(vreg, found);
                continue;
            }
            self.set.add(vreg, is_clean);
            // A parameter may arrive in memory, although no value was spilled so far.
            if !is_spilled && found + arrivals.unknown < arrivals.total {
                self.set.values[vreg.index()].is_spilled = true;
            }
        }
        for class in [RegClass::Int, RegClass::Float] {
            if self.set.len(class) > self.saved.limits[class.index()] {
                self.drop_worst(input, class, &head);
            }
        }
        let start = self.plan.entry_pool.len() as u32;
        for members in &self.set.members {
            self.plan.entry_pool.extend(members);
        }
        let end = self.plan.entry_pool.len() as u32;
        self.plan.entries[index.index()] = Span { start, end };
        self.steps += u64::from(end - start);
    }

    /// Reduces the values of a class to the number of registers.
    #[inline(never)]
    fn drop_worst(&mut self, input: &SpillInput, class: RegClass, head: &Head) {
        let mut chosen = std::mem::take(&mut self.entry.chosen);
        let members = self.set.members[class.index()].iter();
        chosen.clear();
        chosen.extend(members.map(|&vreg| (self.benefit_rate(input, vreg, head), vreg)));
        let limit = self.saved.limits[class.index()];
        let order = |a: &(f32, VReg), b: &(f32, VReg)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        chosen.select_nth_unstable_by(limit, order);
        sort_by(&mut chosen[..limit], order);
        chosen.iter().for_each(|&(_, vreg)| self.set.remove(vreg));
        for &(_, vreg) in &chosen[..limit] {
            self.set.add(vreg, self.set.values[vreg.index()].is_clean);
        }
        for &(_, vreg) in &chosen[limit..] {
            let found = self.entry.arrives_in_register(vreg, self.set.values[vreg.index()].is_spilled);
            self.note_in_memory(vreg, found);
        }
        self.entry.chosen = chosen;
    }

    /// Computes, per value, the frequency with which it arrives in a register.
    fn visit_predecessors(&mut self, input: &SpillInput, block: Block) -> Arrivals {
        let problem = input.problem;
        let mut arrivals = Arrivals { total: 0, unknown: 0 };
        let spill = i64::from(input.env.costs.spill);
        let head = self.entry.heads;
        let params = problem.params(block);
        for &param in params {
            let candidate = &mut self.entry.candidates[param.index()];
            (candidate.head, candidate.in_register, candidate.edge_benefit) = (head, 0, 0);
        }
        for &edge in problem.preds(block) {
            let data = problem.edge(edge);
            let freq = u64::from(scaled(data.freq));
            arrivals.total += freq;
            let Some(exit) = self.plan.exits[input.order.index(data.from).index()] else {
                arrivals.unknown += freq;
                for (&param, &arg) in params.iter().zip(problem.edge_args(edge)) {
                    // A parameter passed to itself needs no store.
                    let store = if param == arg { 0 } else { spill };
                    self.entry.candidates[param.index()].edge_benefit += store * freq as i64;
                }
                continue;
            };
            self.steps += exit.range().len() as u64;
            self.entry.edges += 1;
            self.note_arrivals(exit, freq);
            let values = &self.set.values[..];
            for (&param, &arg) in params.iter().zip(problem.edge_args(edge)) {
                let is_spilled = values[arg.index()].is_spilled;
                let is_in_register = !is_spilled || self.entry.candidates[arg.index()].edge == self.entry.edges;
                let candidate = &mut self.entry.candidates[param.index()];
                if is_in_register {
                    candidate.note(head, freq);
                }
                candidate.edge_benefit += freq as i64 * saved_on_edge(input, param, arg, is_in_register);
            }
        }
        self.entry.known = arrivals.total - arrivals.unknown;
        arrivals
    }

    /// Records the values that an edge holds in registers.
    fn note_arrivals(&mut self, exit: Span, freq: u64) {
        let head = self.entry.heads;
        let values = &self.set.values[..];
        let exit = self.plan.pool[exit.range()].iter().zip(&self.plan.pool_clean[exit.range()]);
        for (&vreg, &is_clean) in exit.filter(|(vreg, _)| values[vreg.index()].is_spilled) {
            let candidate = &mut self.entry.candidates[vreg.index()];
            candidate.edge = self.entry.edges;
            candidate.note(head, freq);
            candidate.dirty = if is_clean { candidate.dirty } else { head };
        }
    }

    /// Returns the benefit of having the value in a register at the head, given the frequency `found` with which it
    /// arrives in one.
    #[inline]
    fn benefit(&self, input: &SpillInput, vreg: VReg, head: &Head, found: u64) -> i64 {
        let value = &self.set.values[vreg.index()];
        let costs = &input.env.costs;
        let Arrivals { total, unknown } = head.arrivals;
        let edge_benefit = || self.entry.candidates[vreg.index()].edge_benefit;
        if head.wipes(value) {
            // It is stored before it is read. A tie favors the register, because one store after the head serves
            // all edges.
            let stores = i64::from(costs.spill) * total as i64;
            return match head.defines(input, vreg) {
                true => edge_benefit() - stores + 1,
                false => i64::from(unknown == 0 && found == total),
            };
        }
        let (load, spill) = if value.is_remat { (costs.remat, 0) } else { (costs.fill, costs.spill) };
        let (load, loads) = (i64::from(load), i64::from(value.next.freq));
        if head.defines(input, vreg) {
            return load * loads + edge_benefit();
        }
        let lacking = total.saturating_sub(found + unknown) as i64;
        load * (loads - lacking) + i64::from(spill) * value.store_freq(found) as i64
    }

    /// Returns the benefit per instruction until the next use.
    fn benefit_rate(&self, input: &SpillInput, vreg: VReg, head: &Head) -> f32 {
        let value = &self.set.values[vreg.index()];
        if head.wipes(value) {
            return 0.0;
        }
        let found = self.entry.arrives_in_register(vreg, value.is_spilled);
        self.benefit(input, vreg, head, found) as f32 / value.next.distance.max(1) as f32
    }

    /// Returns `true` if the entry set of the target, visited before, contains a value that this edge leaves in
    /// memory, or if an argument is worth less than assumed.
    pub(crate) fn lacks(&mut self, input: &SpillInput, edge: Edge, from: BlockIndex, to: BlockIndex) -> bool {
        let problem = input.problem;
        self.entry.edges += 1;
        let candidates = &mut self.entry.candidates[..];
        for &vreg in self.plan.exit(from) {
            candidates[vreg.index()].edge = self.entry.edges;
        }
        let is_in_register = |vreg: VReg| candidates[vreg.index()].edge == self.entry.edges;
        let found = |vreg: VReg| is_in_register(vreg) || input.live.is_defined_at_head(vreg, to);
        let mut args = problem.params(problem.edge(edge).to).iter().zip(problem.edge_args(edge));
        let spill = i64::from(input.env.costs.spill);
        !self.plan.entry(to).iter().all(|&vreg| found(vreg))
            || args.any(|(&param, &arg)| saved_on_edge(input, param, arg, is_in_register(arg)) != spill)
    }
}

/// Returns the cost that an edge saves if a parameter is in a register rather than in memory.
fn saved_on_edge(input: &SpillInput, param: VReg, arg: VReg, is_in_register: bool) -> i64 {
    let costs = &input.env.costs;
    let shared = input.classes.class(param) == input.classes.class(arg);
    match (is_in_register, input.constraints.remat(arg)) {
        (true, _) | (false, Some(_)) => i64::from(costs.spill),
        (false, None) if shared => -i64::from(costs.fill),
        (false, None) => i64::from(costs.spill),
    }
}
