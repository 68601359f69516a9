//! Where values are live, how far away their next use is, and how often they would have to be loaded for it.
//!
//! ```text
//! b1 freq 10: ..            v0 is live at the head of b1; its next use is 3 instructions away on the way
//!             use v1            to b2, but behind the edge to b2, which runs once: a reload costs no more
//!             branch -> b1, b2
//! b2 freq 1:  use v0
//! ```
//!
//! From each use backwards to its def, block by block (Brandner, Boissinot, Darte, de Dinechin and Rastello, *Computing
//! liveness sets for SSA-form programs*, 2011), then distances to next uses through the blocks (Braun and Hack, *Register
//! spilling and live-range splitting for SSA-form programs*, 2009). There is one entry per block and value live at its
//! head, and one answer per operand: what comes after it. A value is live after an operand unless that is [`DEAD`].
//!
//! As there may be as many entries as blocks times values, the walks share a budget. Values met after it is used up are
//! *far*: between blocks they are in memory, and have no entries but at their own definition.
//!
//! Cost: linear in operands and entries; of the entries there are at most [`ENTRIES_PER_ITEM`] per instruction and block.

use crate::order::Order;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{AllocError, Block, Constraint, Freq, Operand, Pos, Problem, VReg};
use std::fmt::{self, Write};

/// There is no next use.
pub(crate) const DEAD: u32 = u32::MAX;
/// No distance that means something is larger.
pub(crate) const FAR: u32 = 1 << 30;
/// What an edge to a block that runs much less often adds, so that uses in a loop come before uses behind it.
pub(crate) const AWAY: u32 = 1 << 16;
/// The last use in a block of a value that lives on behind it.
pub(crate) const LIVE_OUT: u32 = u32::MAX;

const ENTRIES_PER_ITEM: usize = 24;
/// By how much references may exceed the budget: their liveness at safepoints must be exact.
const LAST_RESORT: usize = 64;
const NONE: u32 = u32::MAX;

/// The next use of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Next {
    /// Instructions between the head of the block and the use, or [`DEAD`].
    pub(crate) distance: u32,
    /// How often the value would be loaded for it, were it in memory here: the least frequent place on the way.
    pub(crate) rate: u32,
}

impl Next {
    pub(crate) const DEAD: Next = Next { distance: DEAD, rate: 0 };

    pub(crate) fn is_dead(self) -> bool {
        self.distance == DEAD
    }
}

/// A value at the head of a block: live there, or defined there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) vreg: VReg,
    pub(crate) next: Next,
    /// The point of the last use in the block, or [`LIVE_OUT`].
    pub(crate) end: u32,
}

/// Points of a block: its head, for each instruction one before and one after it, and its end, where arguments are read.
pub(crate) const HEAD: u32 = 0;

/// The point before (early) or after (late) the instruction at a position, among the points of its block.
pub(crate) fn point(pos: u32, at: Pos) -> u32 {
    1 + 2 * pos + u32::from(at == Pos::Late)
}

/// The point at the end of a block of `len` instructions.
pub(crate) fn end_point(len: u32) -> u32 {
    1 + 2 * len
}

/// A frequency as a small number: 256 per call.
pub(crate) fn rate(freq: Freq) -> u32 {
    (freq.0 >> 8).clamp(1, u64::from(u32::MAX)) as u32
}

/// Liveness of one problem after another.
#[derive(Default)]
pub(crate) struct Liveness {
    /// Per operand, what comes after it. Distances count from the head of the operand's block.
    pub(crate) after: Vec<Next>,
    /// Per value, the place of the block that defines it.
    pub(crate) def_place: Vec<u32>,
    /// Per value, the point of its def in that block.
    pub(crate) def_point: Vec<u32>,
    /// Per value, the point of the last use in the block that defines it, or [`LIVE_OUT`].
    pub(crate) def_end: Vec<u32>,
    /// Per value: is it live in places where it has no entry?
    pub(crate) far: Vec<bool>,
    pub(crate) steps: u64,
    entries: Vec<Entry>,
    /// Per place, where its entries start; one more at the end.
    starts: Vec<u32>,
    /// Per value, where its share of `places` starts; one more at the end.
    value_starts: Vec<u32>,
    /// Place and index in `entries`, value by value, in ascending order.
    places: Vec<(u32, u32)>,
    // What the walks need.
    use_heads: Vec<u32>,
    uses: Vec<(u32, u32)>,
    pairs: Vec<(VReg, u32)>,
    marks: Vec<u32>,
    work: Vec<u32>,
    // What measuring needs.
    current: Vec<Next>,
    last: Vec<u32>,
    touched: Vec<VReg>,
}

impl Liveness {
    pub(crate) fn compute(&mut self, problem: &Problem, order: &Order) -> Result<(), AllocError> {
        self.steps = 0;
        self.find_defs_and_uses(problem, order);
        self.find_entries(problem, order)?;
        self.sort_entries(problem, order);
        self.measure_all(problem, order);
        Ok(())
    }

    /// What is live at the head of the block at a place, by value; parameters and results of the branch before it as
    /// well, even those that are dead.
    pub(crate) fn entries(&self, place: u32) -> &[Entry] {
        &self.entries[self.starts[place as usize] as usize..self.starts[place as usize + 1] as usize]
    }

    /// The entry of one value.
    pub(crate) fn entry(&self, place: u32, vreg: VReg) -> Option<&Entry> {
        let entries = self.entries(place);
        entries.binary_search_by_key(&vreg, |entry| entry.vreg).ok().map(|i| &entries[i])
    }

    /// As [`Liveness::entry`] for one value after another: `hint` is where the next one is if numbers follow each other.
    pub(crate) fn entry_after(&self, place: u32, vreg: VReg, hint: &mut usize) -> Option<&Entry> {
        let entries = self.entries(place);
        if entries.get(*hint).is_none_or(|entry| entry.vreg != vreg) {
            *hint = entries.binary_search_by_key(&vreg, |entry| entry.vreg).ok()?;
        }
        *hint += 1;
        entries.get(*hint - 1)
    }

    /// The places where a value has entries, ascending.
    pub(crate) fn places(&self, vreg: VReg) -> impl DoubleEndedIterator<Item = (u32, &Entry)> {
        let range = self.value_starts[vreg.index()] as usize..self.value_starts[vreg.index() + 1] as usize;
        self.places[range].iter().map(|&(place, entry)| (place, &self.entries[entry as usize]))
    }

    /// Is the value, which has an entry at `place`, a parameter or a result of the branch before?
    pub(crate) fn is_defined_at_head(&self, vreg: VReg, place: u32) -> bool {
        self.def_place[vreg.index()] == place && self.def_point[vreg.index()] == HEAD
    }

    fn find_defs_and_uses(&mut self, problem: &Problem, order: &Order) {
        let values = problem.vregs.len();
        reset(&mut self.def_place, values, NONE);
        reset(&mut self.def_point, values, HEAD);
        reset(&mut self.use_heads, values, NONE);
        self.uses.clear();
        for (place, &block) in order.blocks.iter().enumerate() {
            let place = place as u32;
            for &param in problem.params(block) {
                self.def_place[param.index()] = place;
            }
            for (pos, inst) in problem.insts(block).enumerate() {
                for operand in problem.operands(inst) {
                    if operand.is_def() {
                        let v = operand.vreg().index();
                        (self.def_place[v], self.def_point[v]) = (place, point(pos as u32, operand.pos()));
                    } else {
                        self.note_use(operand.vreg(), place);
                    }
                }
            }
            for &edge in problem.succs(block) {
                for &arg in problem.edge_args(edge) {
                    self.note_use(arg, place);
                }
            }
        }
        for edge in problem.edges() {
            for &vreg in problem.edge_defs(edge) {
                let place = order.place(problem.edge(edge).to);
                (self.def_place[vreg.index()], self.def_point[vreg.index()]) = (place, HEAD);
            }
        }
    }

    /// Blocks are visited one after another and definitions first, so that one look tells whether the use is news.
    fn note_use(&mut self, vreg: VReg, place: u32) {
        let head = &mut self.use_heads[vreg.index()];
        let known = self.uses.get(*head as usize).is_some_and(|&(last, _)| last == place);
        if self.def_place[vreg.index()] != place && !known {
            self.uses.push((place, *head));
            *head = self.uses.len() as u32 - 1;
        }
    }

    /// Walks from uses up to defs.
    fn find_entries(&mut self, problem: &Problem, order: &Order) -> Result<(), AllocError> {
        reset(&mut self.marks, order.blocks.len(), NONE);
        reset(&mut self.far, problem.vregs.len(), false);
        self.pairs.clear();
        let budget = 4096 + ENTRIES_PER_ITEM * (problem.num_insts() + order.blocks.len());
        for (vreg, data) in problem.vregs.iter() {
            let v = vreg.index();
            if self.def_place[v] != NONE && self.def_point[v] == HEAD {
                self.pairs.push((vreg, self.def_place[v]));
            }
            let mut next = self.use_heads[v];
            if next != NONE && self.pairs.len() > budget {
                if !data.is_ref {
                    self.far[v] = true;
                    continue;
                }
                if self.pairs.len() > LAST_RESORT * budget {
                    return Err(AllocError::StepBudget { steps: self.pairs.len() as u64 });
                }
            }
            while let Some(&(place, before)) = self.uses.get(next as usize) {
                next = before;
                self.enter(vreg, place);
                while let Some(place) = self.work.pop() {
                    for &edge in problem.preds(order.blocks[place as usize]) {
                        self.steps += 1;
                        self.enter(vreg, order.place(problem.edge(edge).from));
                    }
                }
            }
        }
        self.steps += self.pairs.len() as u64;
        Ok(())
    }

    /// The value is live at the head of the block, unless it is defined in it.
    fn enter(&mut self, vreg: VReg, place: u32) {
        let v = vreg.as_u32();
        if self.marks[place as usize] != v && self.def_place[v as usize] != place {
            self.marks[place as usize] = v;
            self.pairs.push((vreg, place));
            self.work.push(place);
        }
    }

    /// Entries by place and, within one, by value; then the places of each value.
    fn sort_entries(&mut self, problem: &Problem, order: &Order) {
        count(&mut self.starts, order.blocks.len(), self.pairs.iter().map(|&(_, place)| place as usize));
        let blank = Entry { vreg: VReg::from_u32(0), next: Next { distance: FAR, rate: 1 }, end: LIVE_OUT };
        self.entries.clear();
        self.entries.resize(self.pairs.len(), blank);
        for &(vreg, place) in &self.pairs {
            let at = &mut self.starts[place as usize];
            self.entries[*at as usize].vreg = vreg;
            *at += 1;
        }
        shift(&mut self.starts);
        count(&mut self.value_starts, problem.vregs.len(), self.pairs.iter().map(|&(vreg, _)| vreg.index()));
        self.places.clear();
        self.places.resize(self.pairs.len(), (0, 0));
        for place in 0..order.blocks.len() {
            for i in self.starts[place]..self.starts[place + 1] {
                let at = &mut self.value_starts[self.entries[i as usize].vreg.index()];
                self.places[*at as usize] = (place as u32, i);
                *at += 1;
            }
        }
        shift(&mut self.value_starts);
    }

    /// Blocks from the last to the first; those of loops twice, since what a back edge leads to is known then.
    fn measure_all(&mut self, problem: &Problem, order: &Order) {
        let values = problem.vregs.len();
        reset(&mut self.after, problem.num_operands(), Next::DEAD);
        reset(&mut self.current, values, Next::DEAD);
        reset(&mut self.last, values, LIVE_OUT);
        reset(&mut self.def_end, values, 0);
        let mut place = order.blocks.len() as u32;
        while place > 0 {
            place -= 1;
            self.measure(problem, order, place);
            // The stretch of an outermost loop.
            let end = order.outermost_end(place);
            if let Some(end) = end {
                for place in (place..=end).rev() {
                    self.measure(problem, order, place);
                }
            }
        }
    }

    /// Takes the next uses at the ends of successors through the block.
    fn measure(&mut self, problem: &Problem, order: &Order, place: u32) {
        let block = order.blocks[place as usize];
        let len = problem.insts(block).len() as u32;
        self.measure_edges(problem, order, block, len);
        let here = rate(problem.freq(block));
        for (pos, inst) in problem.insts(block).enumerate().rev() {
            for i in problem.operand_range(inst).rev() {
                let operand = problem.all_operands()[i];
                let v = operand.vreg().index();
                let next = self.current[v];
                let at = point(pos as u32, operand.pos());
                self.after[i] = if next.is_dead() && self.far[v] { Next { distance: FAR, rate: 1 } } else { next };
                if operand.is_def() {
                    let end = if next.is_dead() { point(pos as u32, Pos::Late) } else { self.last[v] };
                    self.def_end[v] = if self.far[v] { LIVE_OUT } else { end };
                    continue;
                }
                if next.is_dead() {
                    self.touched.push(operand.vreg());
                    self.last[v] = if self.far[v] { LIVE_OUT } else { at };
                } else if self.last[v] == at.wrapping_sub(1) && operand.pos() == Pos::Late {
                    self.last[v] = at;
                }
                self.current[v] = Next { distance: pos as u32, rate: use_rate(operand, here) };
            }
        }
        let range = self.starts[place as usize] as usize..self.starts[place as usize + 1] as usize;
        self.steps += range.len() as u64 + u64::from(len);
        for entry in &mut self.entries[range] {
            let v = entry.vreg.index();
            (entry.next, entry.end) = (self.current[v], self.last[v]);
            if self.def_place[v] == place {
                if self.far[v] && entry.next.is_dead() {
                    entry.next = Next { distance: FAR, rate: 1 };
                }
                entry.end = if entry.next.is_dead() { HEAD } else { entry.end };
                self.def_end[v] = entry.end;
            }
        }
        for vreg in self.touched.drain(..) {
            self.current[vreg.index()] = Next::DEAD;
            self.last[vreg.index()] = LIVE_OUT;
        }
    }

    fn measure_edges(&mut self, problem: &Problem, order: &Order, block: Block, len: u32) {
        for &edge in problem.succs(block) {
            let data = problem.edge(edge);
            let to = order.place(data.to);
            let away = problem.freq(data.to).0.saturating_mul(3) < problem.freq(block).0;
            let beyond = len + if away { AWAY } else { 0 };
            let on_edge = rate(data.freq);
            for i in self.starts[to as usize]..self.starts[to as usize + 1] {
                let Entry { vreg, next, .. } = self.entries[i as usize];
                if self.def_place[vreg.index()] != to {
                    self.approach(vreg, beyond, next, on_edge);
                }
            }
            let mut hint = 0;
            for (&arg, &param) in problem.edge_args(edge).iter().zip(problem.params(data.to)) {
                let next = self.entry_after(to, param, &mut hint).map_or(Next::DEAD, |entry| entry.next);
                if self.current[arg.index()].is_dead() {
                    self.last[arg.index()] = if self.far[arg.index()] { LIVE_OUT } else { end_point(len) };
                    self.touched.push(arg);
                }
                let distance = if next.is_dead() { FAR } else { beyond.saturating_add(next.distance).min(FAR) };
                self.improve(arg, Next { distance, rate: next.rate.clamp(1, on_edge) });
            }
        }
    }

    fn approach(&mut self, vreg: VReg, beyond: u32, next: Next, on_edge: u32) {
        if self.current[vreg.index()].is_dead() {
            self.touched.push(vreg);
        }
        self.last[vreg.index()] = LIVE_OUT;
        let distance = beyond.saturating_add(next.distance).min(FAR);
        self.improve(vreg, Next { distance, rate: next.rate.min(on_edge) });
    }

    fn improve(&mut self, vreg: VReg, next: Next) {
        let known = &mut self.current[vreg.index()];
        known.rate = if known.is_dead() { next.rate } else { known.rate.max(next.rate) };
        known.distance = known.distance.min(next.distance);
    }

    /// One line per block: what is live at its head and how far away it is used.
    pub(crate) fn dump(&self, order: &Order, out: &mut String) -> fmt::Result {
        for (place, block) in order.blocks.iter().enumerate() {
            write!(out, "{block}:")?;
            for entry in self.entries(place as u32) {
                match entry.next.distance {
                    DEAD => write!(out, " {} dead", entry.vreg)?,
                    FAR.. => write!(out, " {} far", entry.vreg)?,
                    AWAY.. => write!(out, " {} away", entry.vreg)?,
                    distance => write!(out, " {} in {distance}", entry.vreg)?,
                }
                out.push(',');
            }
            if out.ends_with(',') {
                out.pop();
            }
            writeln!(out)?;
        }
        Ok(())
    }
}

/// An operand that may be in memory spares half of the load.
fn use_rate(operand: Operand, here: u32) -> u32 {
    match operand.constraint() {
        Constraint::MemOk => (here / 2).max(1),
        Constraint::Any | Constraint::Stack => 1,
        _ => here,
    }
}

/// Empties a table and fills it anew.
pub(crate) fn reset<T: Clone>(table: &mut Vec<T>, len: usize, value: T) {
    table.clear();
    table.resize(len, value);
}

/// Counts keys below `len` and turns the counts into starts.
fn count(starts: &mut Vec<u32>, len: usize, keys: impl Iterator<Item = usize>) {
    reset(starts, len + 1, 0);
    keys.for_each(|key| starts[key] += 1);
    let mut start = 0;
    for count in starts {
        start += std::mem::replace(count, start);
    }
}

/// Undoes that filling moved each start to the start of the next.
fn shift(starts: &mut [u32]) {
    starts.rotate_right(1);
    starts[0] = 0;
}
