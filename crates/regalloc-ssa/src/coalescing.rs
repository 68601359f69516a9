//! Congruence classes of values that share one slot and one register hint: parameters and the arguments passed to
//! them.
//!
//! ```text
//! b1(v2): .. v3 = add v2, 1; branch -> b1(v3)      {v2, v3}: v2 is dead where v3 begins
//! ```
//!
//! No two members are live at one point, so that a slot can belong to the whole class. Each pair that a block
//! parameter or a move connects is tried, in descending order of frequency. Two classes merge unless a member of
//! one interferes with a member of the other. Most classes have two or three members. Two values interfere if the
//! one that is defined first is live where the other is defined (Budimlić et al., *Fast copy coalescing and
//! live-range identification*, 2002).
//!
//! 1. No two members of a class are live at one point.
//! 2. All members of a class are of one register class, and all or none are references. An unlisted value is the only
//!    member of its class.
//!
//! Cost: linear in the pairs that are tried; a budget bounds tests of large classes.

use crate::constraints::Constraints;
use crate::liveness::Liveness;
use crate::tables::{check, scaled};
use cranelift_entity::EntityRef;
use kingpost_regalloc::meter::MeterRef;
use kingpost_regalloc::meter::heap_bytes;
use kingpost_regalloc::sort::sort;
use kingpost_regalloc::{AllocError, Problem, VReg};
use kingpost_regalloc_common::affinity::Affinities;
use kingpost_regalloc_common::order::LinearOrder;
use kingpost_regalloc_common::point::PointRange;
use kingpost_regalloc_common::release;
use std::fmt::{self, Write};

/// Budget of interference tests, per pair that is tried.
const TESTS_PER_PAIR: u64 = 32;

/// The classes, and the memory of their construction.
#[derive(Default)]
pub(crate) struct Coalescing {
    /// Per value, the representative of its class: the member with the least number.
    classes: Vec<VReg>,
    /// Per value, the next member of its class; the first follows the last.
    next: Vec<VReg>,
    /// Values that do not represent their class, some of them twice.
    pub(crate) merged: Vec<VReg>,
    /// Values that should be in one class, so that no move is needed.
    pairs: Affinities,
    pub(crate) steps: u64,
}

heap_bytes!(Coalescing { classes, next, merged, pairs } without { steps });

impl Coalescing {
    pub(crate) fn compute(
        &mut self,
        problem: &Problem,
        order: &LinearOrder,
        constraints: &Constraints,
        live: &Liveness,
        meter: MeterRef<'_>,
    ) -> Result<(), AllocError> {
        self.classes.clear();
        self.classes.extend(problem.vregs.keys());
        self.merged.clear();
        self.steps = 0;
        meter.reserve(problem.size() - problem.num_operands() as u64)?;
        self.find_pairs(problem, order, constraints, live);
        if self.pairs.is_empty() {
            return Ok(());
        }
        self.next.clone_from(&self.classes);
        let budget = self.pairs.len() as u64 * TESTS_PER_PAIR;
        let (pairs, mut paid) = (std::mem::take(&mut self.pairs), 0);
        for ((a, b), tried) in pairs.iter().zip(1..) {
            meter.spend_batch(tried + self.steps + self.merged.len() as u64, &mut paid)?;
            let (x, y) = (problem.vregs[a], problem.vregs[b]);
            let alike = x.class == y.class && x.is_ref == y.is_ref;
            let is_unlisted = live.is_unlisted[a.index()] || live.is_unlisted[b.index()];
            let [x, y] = [a, b].map(|vreg| self.class(vreg));
            if alike && !is_unlisted && x != y && !self.interfere(live, x, y, budget) {
                self.merge(x.min(y), x.max(y));
            }
        }
        meter.spend_rest(pairs.len() as u64 + self.steps + self.merged.len() as u64, &mut paid)?;
        self.pairs = pairs;
        Ok(())
    }

    /// Returns `true` if a member of one class interferes with a member of the other, or if the budget is
    /// exhausted. The budget bounds the steps along the rings of members.
    fn interfere(&mut self, live: &Liveness, x: VReg, y: VReg, budget: u64) -> bool {
        let (mut a, mut b) = (x, y);
        loop {
            self.steps += 1;
            if self.steps > budget || live.interfere(a, b) {
                return true;
            }
            b = self.next[b.index()];
            if b == y {
                a = self.next[a.index()];
                if a == x {
                    return false;
                }
            }
        }
    }

    /// Merges the members of one class into the class of a value with a lesser number. Takes one step for each
    /// member, because the members of a class are in one ring.
    fn merge(&mut self, to: VReg, from: VReg) {
        let mut member = from;
        loop {
            self.classes[member.index()] = to;
            self.merged.push(member);
            member = self.next[member.index()];
            if member == from {
                break;
            }
        }
        self.next.swap(to.index(), from.index());
    }

    /// Frees memory of a large problem that later phases do not need.
    pub(crate) fn release(&mut self) {
        release(&mut self.next);
    }

    /// Returns the representative of the value's class.
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
                // An argument that is also live-in is live together with the parameter.
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

    /// Plants a fault: puts two values into one class.
    #[cfg(test)]
    pub(crate) fn unite(&mut self, a: VReg, b: VReg) {
        self.classes[b.index()] = self.classes[a.index()];
    }

    /// Checks the invariants of the classes.
    ///
    /// # Errors
    /// Two members of one class that are live at one point, or of different kinds.
    pub(crate) fn verify(&self, problem: &Problem, order: &LinearOrder, live: &Liveness) -> Result<(), String> {
        let mut ranges: Vec<(VReg, PointRange, VReg)> = Vec::new();
        for vreg in problem.vregs.keys().filter(|&vreg| live.is_defined(vreg)) {
            let class = self.class(vreg);
            let (data, root) = (&problem.vregs[vreg], &problem.vregs[class]);
            let alike = data.class == root.class && data.is_ref == root.is_ref;
            let is_unlisted = live.is_unlisted[vreg.index()];
            check(alike && (class == vreg || !is_unlisted), || format!("rule 2: {vreg} is in the class of {class}"))?;
            ranges.extend(live.ranges(order, vreg).map(|(_, range)| (class, range, vreg)));
        }
        sort(&mut ranges);
        for pair in ranges.windows(2) {
            let meet = pair[0].0 == pair[1].0 && pair[0].1.overlaps(pair[1].1);
            check(!meet, || format!("rule 1: {} and {} are live at one point", pair[0].2, pair[1].2))?;
        }
        Ok(())
    }

    /// Writes one line per class with several values.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Merges each value with a random one, cycles included. Checks that the least of the connected values
    /// represents each of them, and that the ring of a class has all its members.
    #[test]
    fn random_links_are_joined() {
        let mut state = 1_u64;
        let mut random = move |limit: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % limit
        };
        for _ in 0..300 {
            let next: Vec<usize> = (0..1 + random(30)).map(|_| random(30)).collect();
            let vregs: Vec<VReg> = (0..30).map(VReg::new).collect();
            let mut all = Coalescing { classes: vregs.clone(), next: vregs.clone(), ..Coalescing::default() };
            let mut least = vregs.clone();
            for (from, &to) in next.iter().enumerate() {
                let [x, y] = [from, to].map(|value| all.class(vregs[value]));
                if x != y {
                    all.merge(x.min(y), x.max(y));
                }
                let both = least.iter_mut().filter(|class| [x, y].contains(class));
                both.for_each(|class| *class = x.min(y));
            }
            assert_eq!(all.classes, least, "{next:?}");
            for &vreg in &vregs {
                let ring = std::iter::successors(Some(vreg), |at| Some(all.next[at.index()]).filter(|&at| at != vreg));
                let mut ring: Vec<VReg> = ring.take(vregs.len() + 1).collect();
                ring.sort_unstable();
                let members = vregs.iter().copied().filter(|other| least[other.index()] == least[vreg.index()]);
                assert_eq!(ring, members.collect::<Vec<_>>(), "{next:?}");
            }
        }
    }
}
