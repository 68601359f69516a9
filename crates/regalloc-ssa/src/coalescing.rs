//! Congruence classes of values that share one slot and one register hint: parameters and the arguments passed to them.
//!
//! ```text
//! b1(v2): .. v3 = add v2, 1; branch -> b1(v3)      {v2, v3}: v2 is dead where v3 begins
//! ```
//!
//! No two members are live at one point, so that a slot may belong to the class as a whole. Each pair that a block
//! parameter, or a move, brings together is tried, the most frequent first.
//!
//! 1. No two members of a class are live at one point.
//! 2. All members of a class are of one register class, and references or not; far values are alone.
//!
//! Cost: linear in the ranges of what is tried; a budget bounds classes that are tried again and again.

use crate::constraints::Constraints;
use crate::liveness::{Liveness, scaled};
use crate::spill_plan::check;
use cranelift_entity::EntityRef;
use kingpost_regalloc::sort::{sort, sort_by_key};
use kingpost_regalloc::{Problem, VReg};
use kingpost_regalloc_common::affinity::Affinities;
use kingpost_regalloc_common::congruence::Congruence;
use kingpost_regalloc_common::order::{BlockIndex, LinearOrder};
use kingpost_regalloc_common::point::{PointRange, ProgPoint};
use std::fmt::{self, Write};

/// Steps of all merges, per pair that is tried.
const STEPS_PER_PAIR: usize = 32;

/// Classes with more ranges than this do not grow.
const MOST_RANGES: usize = 224;

/// So many ranges are sorted by comparison.
const FEW: usize = 20;

/// The live ranges of one value after another.
#[derive(Default)]
struct Ranges {
    /// Ascending, with their blocks.
    list: Vec<(BlockIndex, PointRange)>,
    /// Per block in order, the range at hand in it, if it is a member.
    by_block: Vec<PointRange>,
    /// A bit per block. Empty in between.
    members: Vec<u64>,
}

impl Ranges {
    fn find(&mut self, order: &LinearOrder, live: &Liveness, vreg: VReg) {
        self.list.clear();
        self.list.extend(live.ranges(order, vreg));
        if self.list.len() <= FEW {
            sort_by_key(&mut self.list, |range| range.0);
            return;
        }
        let least = self.list.iter().map(|range| range.0).min().unwrap_or_default().index() / 64;
        let end = self.list.iter().map(|range| range.0).max().unwrap_or_default().index() / 64 + 1;
        if end - least > self.list.len() {
            self.list.sort_unstable_by_key(|range| range.0);
            return;
        }
        self.by_block
            .resize(order.num_blocks().max(self.by_block.len()), PointRange::new(ProgPoint::FIRST, ProgPoint::FIRST));
        self.members.resize(end.max(self.members.len()), 0);
        for (block, range) in self.list.drain(..) {
            self.by_block[block.index()] = range;
            self.members[block.index() / 64] |= 1 << (block.index() % 64);
        }
        for (i, word) in self.members[..end].iter_mut().enumerate().skip(least) {
            while *word != 0 {
                let block = 64 * i + word.trailing_zeros() as usize;
                self.list.push((BlockIndex::new(block), self.by_block[block]));
                *word &= *word - 1;
            }
        }
    }
}

/// The classes, and what their search needs.
#[derive(Default)]
pub(crate) struct Coalescing {
    /// Per value, the one that stands for its class: the least of it.
    classes: Vec<VReg>,
    /// Values that are not alone in their class, some of them twice.
    pub(crate) merged: Vec<VReg>,
    congruence: Congruence<PointRange>,
    /// Values that should be in one class, so that no move is needed.
    pairs: Affinities,
    ranges: Ranges,
    pub(crate) steps: u64,
}

impl Coalescing {
    pub(crate) fn compute(
        &mut self,
        problem: &Problem,
        order: &LinearOrder,
        constraints: &Constraints,
        live: &Liveness,
    ) {
        self.classes.clear();
        self.classes.extend(problem.vregs.keys());
        self.merged.clear();
        self.steps = 0;
        self.find_pairs(problem, order, constraints, live);
        if self.pairs.is_empty() {
            return;
        }
        self.congruence.begin(problem.vregs.len());
        self.congruence.budget = self.pairs.len() * STEPS_PER_PAIR;
        let budget = self.congruence.budget;
        let pairs = std::mem::take(&mut self.pairs);
        pairs.iter().for_each(|(a, b)| self.try_pair(problem, order, live, a, b));
        self.pairs = pairs;
        self.steps += (budget - self.congruence.budget) as u64;
        for &vreg in &self.merged {
            self.classes[vreg.index()] = self.classes[self.congruence.find(vreg.as_u32()) as usize];
        }
    }

    fn try_pair(&mut self, problem: &Problem, order: &LinearOrder, live: &Liveness, a: VReg, b: VReg) {
        let (x, y) = (problem.vregs[a], problem.vregs[b]);
        let alike = x.class == y.class && x.is_ref == y.is_ref;
        if !alike || live.far[a.index()] || live.far[b.index()] {
            return;
        }
        let [x, y] = [a, b].map(|vreg| {
            let root = self.congruence.find(vreg.as_u32());
            if self.congruence.len(root) == 0 {
                self.ranges.find(order, live, vreg);
                self.congruence.set(root, self.ranges.list.iter().map(|&(_, range)| range));
            }
            root
        });
        if x != y && self.congruence.len(x) + self.congruence.len(y) <= MOST_RANGES && self.congruence.merge(x, y) {
            let root = if self.congruence.is_representative(x) { x } else { y };
            self.classes[root as usize] = self.classes[x as usize].min(self.classes[y as usize]);
            self.merged.extend([x, y].map(VReg::from_u32));
        }
    }

    /// Frees memory that only a large problem needs, and later phases do not.
    pub(crate) fn release(&mut self) {
        self.congruence.release();
    }

    /// The value that stands for the class.
    pub(crate) fn class(&self, vreg: VReg) -> VReg {
        self.classes[vreg.index()]
    }

    fn find_pairs(&mut self, problem: &Problem, order: &LinearOrder, constraints: &Constraints, live: &Liveness) {
        self.pairs.clear();
        for edge in problem.edges() {
            let args = problem.edge_args(edge);
            if args.is_empty() {
                continue;
            }
            let data = problem.edge(edge);
            let to = order.index(data.to);
            for (&param, &arg) in problem.params(data.to).iter().zip(args) {
                // An argument that is live-in as well is live together with the parameter.
                if !live.is_live_in(to, arg) || live.is_defined_at_head(arg, to) {
                    self.pairs.add(u64::from(scaled(data.freq)), param, arg);
                }
            }
        }
        for &(block, inst) in &constraints.moves {
            if let [a, b] = problem.operands(inst) {
                self.pairs.add(u64::from(scaled(order.block(block).freq)), a.vreg(), b.vreg());
            }
        }
        self.pairs.sort();
    }

    /// Plants a fault: two values are in one class.
    #[cfg(test)]
    pub(crate) fn unite(&mut self, a: VReg, b: VReg) {
        self.classes[b.index()] = self.classes[a.index()];
    }

    /// # Errors
    /// Two members of one class that are live at one point, or not of one kind.
    pub(crate) fn verify(&self, problem: &Problem, order: &LinearOrder, live: &Liveness) -> Result<(), String> {
        let mut ranges: Vec<(VReg, PointRange, VReg)> = Vec::new();
        for vreg in problem.vregs.keys().filter(|&vreg| live.is_defined(vreg)) {
            let class = self.class(vreg);
            let (data, root) = (&problem.vregs[vreg], &problem.vregs[class]);
            let alike = data.class == root.class && data.is_ref == root.is_ref;
            let is_far = live.far[vreg.index()];
            check(alike && (class == vreg || !is_far), || format!("rule 2: {vreg} is in the class of {class}"))?;
            ranges.extend(live.ranges(order, vreg).map(|(_, range)| (class, range, vreg)));
        }
        sort(&mut ranges);
        for pair in ranges.windows(2) {
            let meet = pair[0].0 == pair[1].0 && pair[0].1.overlaps(pair[1].1);
            check(!meet, || format!("rule 1: {} and {} are live at one point", pair[0].2, pair[1].2))?;
        }
        Ok(())
    }

    /// One line per class of several values.
    pub(crate) fn dump(&self, problem: &Problem, out: &mut String) -> fmt::Result {
        for root in problem.vregs.keys() {
            let members: Vec<_> =
                problem.vregs.keys().filter(|&v| self.class(v) == root).map(|v| v.to_string()).collect();
            if members.len() > 1 {
                writeln!(out, "{}", members.join(", "))?;
            }
        }
        Ok(())
    }
}
