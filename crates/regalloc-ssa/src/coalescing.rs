//! Congruence classes of values that share one slot and one register hint: parameters and the arguments passed to them.
//!
//! ```text
//! b1(v2): .. v3 = add v2, 1; branch -> b1(v3)      {v2, v3}: v2 is dead where v3 begins
//! ```
//!
//! No two members are live at one point, so that a slot may belong to the class as a whole. Each pair that a block parameter, or a move, brings together is tried, the most frequent first; two classes
//! become one unless some of their live ranges meet (Boissinot et al., *Revisiting out-of-SSA translation*, 2009).
//!
//! 1. No two members of a class are live at one point.
//! 2. All members of a class are of one register class, and references or not; far values are alone.
//!
//! Cost: linear in the ranges of what is tried; a budget bounds classes that are tried again and again.

use crate::constraints::Constraints;
use crate::liveness::{Liveness, end_point, reset, scaled};
use crate::order::Order;
use crate::spill_plan::check;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{Problem, VReg};
use std::fmt::{self, Write};

/// Ranges that may be looked at, per pair that is tried.
const RANGES_PER_PAIR: usize = 32;

/// Classes with more ranges than this do not grow.
const MOST_RANGES: usize = 256;

/// The points at which a value is live, both ends included, numbered through all blocks in order.
type Range = (u32, u32);

/// Two values that should be in one class, so that no move is needed.
#[derive(Clone, Copy)]
struct Pair {
    /// The least is tried first: the most frequent, and among those that are as frequent the one found first.
    key: u64,
    a: VReg,
    b: VReg,
}

/// Union-find over values.
#[derive(Default)]
pub(crate) struct Coalescing {
    parents: Vec<u32>,
    /// Per place, the number of the point at its head.
    pub(crate) bases: Vec<u32>,
    /// Per root, its ranges in the pool; empty if not asked for yet.
    spans: Vec<(u32, u32)>,
    pool: Vec<Range>,
    pairs: Vec<Pair>,
    /// Values that do not stand for their class.
    pub(crate) merged: Vec<VReg>,
    pub(crate) steps: u64,
}

impl Coalescing {
    pub(crate) fn compute(&mut self, problem: &Problem, order: &Order, constraints: &Constraints, live: &Liveness) {
        let values = problem.vregs.len();
        self.parents.clear();
        self.parents.extend(0..values as u32);
        reset(&mut self.spans, values, (0, 0));
        self.pool.clear();
        self.merged.clear();
        self.steps = 0;
        self.number_points(problem, order);
        self.find_pairs(problem, order, constraints, live);
        let mut budget = self.pairs.len() * RANGES_PER_PAIR;
        for i in 0..self.pairs.len() {
            let Pair { a, b, .. } = self.pairs[i];
            let (a, b) = (self.root(a), self.root(b));
            let (x, y) = (problem.vregs[a], problem.vregs[b]);
            let alike = x.class == y.class && x.is_ref == y.is_ref;
            if a == b || !alike || live.far[a.index()] || live.far[b.index()] {
                continue;
            }
            let (x, y) = (self.ranges_of(live, a), self.ranges_of(live, b));
            let work = (x.1 - x.0 + y.1 - y.0) as usize;
            if work > budget.min(MOST_RANGES) {
                continue;
            }
            budget -= work;
            self.steps += work as u64;
            if let Some(merged) = self.merge(x, y) {
                let (low, high) = (a.min(b), a.max(b));
                self.parents[high.index()] = low.as_u32();
                self.merged.push(high);
                self.spans[low.index()] = merged;
            }
        }
        for i in 0..self.merged.len() {
            let vreg = self.merged[i];
            self.parents[vreg.index()] = self.root(vreg).as_u32();
        }
    }

    /// The value that stands for the class.
    pub(crate) fn class(&self, vreg: VReg) -> VReg {
        VReg::from_u32(self.parents[vreg.index()])
    }

    fn number_points(&mut self, problem: &Problem, order: &Order) {
        self.bases.clear();
        let mut base = 0;
        for &block in &order.blocks {
            self.bases.push(base);
            base += end_point(problem.insts(block).len() as u32) + 1;
        }
        self.bases.push(base);
    }

    fn find_pairs(&mut self, problem: &Problem, order: &Order, constraints: &Constraints, live: &Liveness) {
        self.pairs.clear();
        for edge in problem.edges() {
            let data = problem.edge(edge);
            let to = order.place(data.to);
            for (&param, &arg) in problem.params(data.to).iter().zip(problem.edge_args(edge)) {
                // An argument that is live-in as well is live together with the parameter.
                if live.entry(to, arg).is_none_or(|entry| entry.next.is_dead() || live.is_defined_at_head(arg, to)) {
                    self.add_pair(scaled(data.freq), param, arg);
                }
            }
        }
        for &(place, inst) in &constraints.moves {
            if let [a, b] = problem.operands(inst) {
                self.add_pair(order.freqs[place as usize], a.vreg(), b.vreg());
            }
        }
        self.pairs.sort_unstable_by_key(|pair| pair.key);
    }

    fn add_pair(&mut self, freq: u32, a: VReg, b: VReg) {
        let key = u64::from(!freq) << 32 | self.pairs.len() as u64;
        self.pairs.push(Pair { key, a, b });
    }

    fn root(&mut self, vreg: VReg) -> VReg {
        let mut v = vreg.as_u32();
        while self.parents[v as usize] != v {
            // Path halving.
            let parent = self.parents[v as usize];
            self.parents[v as usize] = self.parents[parent as usize];
            v = parent;
        }
        VReg::from_u32(v)
    }

    /// The span of the ranges of a class.
    fn ranges_of(&mut self, live: &Liveness, root: VReg) -> (u32, u32) {
        let span = self.spans[root.index()];
        if span.0 < span.1 {
            return span;
        }
        let start = self.pool.len();
        let v = root.index();
        let (place, point) = (live.def_place[v], live.def_point[v]);
        // All other blocks come after the one that defines the value.
        if point > 0 {
            self.add_range(start, place, point, live.def_end[v]);
        }
        for (place, entry) in live.places(root) {
            self.add_range(start, place, 0, entry.end);
        }
        let span = (start as u32, self.pool.len() as u32);
        self.spans[v] = span;
        span
    }

    /// Adds a range of one block, as part of the last one if it goes on there.
    fn add_range(&mut self, start: usize, place: u32, from: u32, to: u32) {
        let (base, last) = (self.bases[place as usize], self.bases[place as usize + 1] - 1);
        let (from, to) = (base + from, base.saturating_add(to).min(last));
        match self.pool[start..].last_mut() {
            Some(before) if before.1 + 1 == from => before.1 = to,
            _ => self.pool.push((from, to)),
        }
    }

    /// The ranges of two classes together, unless some meet.
    fn merge(&mut self, x: (u32, u32), y: (u32, u32)) -> Option<(u32, u32)> {
        let start = self.pool.len();
        let (mut i, mut j) = (x.0, y.0);
        let mut last: Option<Range> = None;
        while i < x.1 || j < y.1 {
            let (a, b) = (self.pool[i.min(x.1 - 1) as usize], self.pool[j.min(y.1 - 1) as usize]);
            let next = if j == y.1 || i < x.1 && a.0 < b.0 { a } else { b };
            if i < x.1 && next == a {
                i += 1
            } else {
                j += 1
            }
            match &mut last {
                Some(before) if before.1 >= next.0 => {
                    self.pool.truncate(start);
                    return None;
                }
                Some(before) if before.1 + 1 == next.0 => before.1 = next.1,
                _ => self.pool.extend(last.replace(next)),
            }
        }
        self.pool.extend(last);
        Some((start as u32, self.pool.len() as u32))
    }

    /// Plants a fault: two values are in one class.
    #[cfg(test)]
    pub(crate) fn unite(&mut self, a: VReg, b: VReg) {
        self.parents[b.index()] = self.parents[a.index()];
    }

    /// # Errors
    /// Two members of one class that are live at one point, or not of one kind.
    pub(crate) fn verify(&self, problem: &Problem, live: &Liveness) -> Result<(), String> {
        let mut ranges: Vec<(VReg, Range, VReg)> = Vec::new();
        for vreg in problem.vregs.keys().filter(|&vreg| live.def_place[vreg.index()] != u32::MAX) {
            let (class, v) = (self.class(vreg), vreg.index());
            let (data, root) = (&problem.vregs[vreg], &problem.vregs[class]);
            let alike = data.class == root.class && data.is_ref == root.is_ref;
            check(alike && (class == vreg || !live.far[v]), || format!("rule 2: {vreg} is in the class of {class}"))?;
            let mut add = |place: u32, from: u32, to: u32| {
                let (base, last) = (self.bases[place as usize], self.bases[place as usize + 1] - 1);
                ranges.push((class, (base + from, base.saturating_add(to).min(last)), vreg));
            };
            if live.def_point[v] > 0 {
                add(live.def_place[v], live.def_point[v], live.def_end[v]);
            }
            live.places(vreg).for_each(|(place, entry)| add(place, 0, entry.end));
        }
        ranges.sort_unstable();
        for pair in ranges.windows(2) {
            let meet = pair[0].0 == pair[1].0 && pair[0].1.1 >= pair[1].1.0;
            check(!meet, || format!("rule 1: {} and {} are live at one point", pair[0].2, pair[1].2))?;
        }
        Ok(())
    }

    /// One line per class of several values.
    pub(crate) fn dump(&self, problem: &Problem, out: &mut String) -> fmt::Result {
        for root in problem.vregs.keys().filter(|&v| self.class(v) == v) {
            let mut members = problem.vregs.keys().filter(|&v| self.class(v) == root && v != root).peekable();
            if members.peek().is_some() {
                write!(out, "{root}")?;
                members.try_for_each(|member| write!(out, ", {member}"))?;
                writeln!(out)?;
            }
        }
        Ok(())
    }
}
