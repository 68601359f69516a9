//! Values joined to bundles: parameters with their arguments, copies, results with the uses whose register they take
//! over, most frequent first, as long as their live ranges do not overlap.

use crate::live::{Liveness, Segment};
use crate::order::{NONE, Order, POST};
use kingpost_regalloc::{Constraint, InstFlags, PReg, Problem, VReg};

/// How many segments all merges together may look at, per segment.
const MERGE_STEPS: usize = 64;

/// Uses looked at for a fixed register.
const MAX_HINTS: usize = 4;

/// Segments that are to share a register.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bundle {
    /// In [`Bundles::segments`].
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// The bundle before any split: all share its slot.
    pub(crate) family: u32,
    /// How often it was cut.
    pub(crate) cuts: u32,
    pub(crate) weight: u64,
    pub(crate) reg: Option<PReg>,
}

/// A set of values that were one bundle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Family {
    /// The register that one of its bundles had last.
    pub(crate) hint: Option<PReg>,
}

/// All bundles.
#[derive(Default)]
pub(crate) struct Bundles {
    pub(crate) segments: Vec<Segment>,
    pub(crate) bundles: Vec<Bundle>,
    pub(crate) families: Vec<Family>,
    /// By value: its family, or [`NONE`] if it is never live.
    pub(crate) family_of: Vec<u32>,
    pairs: Vec<(u64, VReg, VReg)>,
    merged: Vec<Segment>,
    roots: Vec<u32>,
    /// By value that stands for a set: its segments.
    lists: Vec<(u32, u32)>,
}

impl Bundles {
    pub(crate) fn segments(&self, bundle: u32) -> &[Segment] {
        let b = &self.bundles[bundle as usize];
        &self.segments[b.start as usize..b.end as usize]
    }

    pub(crate) fn build(&mut self, problem: &Problem, order: &Order, live: &Liveness) {
        self.segments.clear();
        self.bundles.clear();
        self.families.clear();
        self.lists.clear();
        self.roots.clear();
        for vreg in problem.vregs.keys() {
            let start = self.segments.len() as u32;
            self.segments.extend_from_slice(live.ranges(vreg));
            self.lists.push((start, self.segments.len() as u32));
            self.roots.push(vreg.as_u32());
        }
        self.find_pairs(problem, order, live);
        let mut steps = MERGE_STEPS * (self.segments.len() + 1);
        for i in 0..self.pairs.len() {
            let (_, a, b) = self.pairs[i];
            self.merge(problem, live, a, b, &mut steps);
        }
        self.family_of.clear();
        self.family_of.resize(problem.vregs.len(), NONE);
        for v in 0..self.lists.len() {
            let (start, end) = self.lists[v];
            if self.roots[v] == v as u32 && start < end {
                let family = self.families.len() as u32;
                self.families.push(Family { hint: None });
                self.family_of[v] = family;
                self.bundles.push(Bundle { start, end, family, cuts: 0, weight: 0, reg: None });
            }
        }
        for v in 0..self.lists.len() {
            if self.lists[v].0 < self.lists[v].1 || self.roots[v] != v as u32 {
                let root = self.root(v as u32);
                self.family_of[v] = self.family_of[root as usize];
            }
        }
    }

    fn find_pairs(&mut self, problem: &Problem, order: &Order, live: &Liveness) {
        self.pairs.clear();
        for place in &order.places {
            for &edge in problem.succs(place.block) {
                let params = problem.params(problem.edge(edge).to);
                for (&arg, &param) in problem.edge_args(edge).iter().zip(params) {
                    let freq = problem.edge(edge).freq.0;
                    let agree = hint(problem, live, arg).is_some_and(|reg| hint(problem, live, param) == Some(reg));
                    self.pairs.push((if agree { 3 * freq } else { freq }, arg, param));
                }
            }
            for inst in problem.insts(place.block) {
                let operands = problem.operands(inst);
                for operand in operands {
                    if let Constraint::Reuse(k) = operand.constraint() {
                        self.pairs.push((place.freq, operands[usize::from(k)].vreg(), operand.vreg()));
                    }
                }
                if let (true, &[a, b]) = (problem.flags(inst).has(InstFlags::MOVE), operands) {
                    self.pairs.push((place.freq, a.vreg(), b.vreg()));
                }
            }
        }
        self.pairs.sort_by_key(|pair| std::cmp::Reverse(pair.0));
    }

    fn root(&mut self, mut v: u32) -> u32 {
        while self.roots[v as usize] != v {
            let up = self.roots[self.roots[v as usize] as usize];
            self.roots[v as usize] = up;
            v = up;
        }
        v
    }

    fn merge(&mut self, problem: &Problem, live: &Liveness, a: VReg, b: VReg, steps: &mut usize) {
        if live.is_in_memory(a) || live.is_in_memory(b) {
            return;
        }
        let (a, b) = (self.root(a.as_u32()), self.root(b.as_u32()));
        let (la, lb) = (self.lists[a as usize], self.lists[b as usize]);
        let (na, nb) = ((la.1 - la.0) as usize, (lb.1 - lb.0) as usize);
        let classes = [a, b].map(|v| problem.class(VReg::from_u32(v)));
        if a == b || na == 0 || nb == 0 || classes[0] != classes[1] || na + nb > *steps {
            return;
        }
        *steps -= na + nb;
        self.merged.clear();
        let (mut i, mut j) = (la.0 as usize, lb.0 as usize);
        while i < la.1 as usize || j < lb.1 as usize {
            let first = j >= lb.1 as usize || i < la.1 as usize && self.segments[i].from < self.segments[j].from;
            let next = if first { self.segments[i] } else { self.segments[j] };
            if self.merged.last().is_some_and(|last| last.to > widened(next)) {
                return;
            }
            self.merged.push(next);
            if first { i += 1 } else { j += 1 }
        }
        let start = self.segments.len() as u32;
        self.segments.extend_from_slice(&self.merged);
        self.lists[a as usize] = (start, self.segments.len() as u32);
        self.lists[b as usize] = (0, 0);
        self.roots[b as usize] = a;
    }
}

/// The register that an operand of the value is fixed to, or one of the result that takes its register over.
fn hint(problem: &Problem, live: &Liveness, vreg: VReg) -> Option<PReg> {
    let fixed = |vreg| {
        let uses = live.uses(vreg).iter().filter(|u| u.operand != NONE);
        uses.take(MAX_HINTS).find_map(|u| problem.all_operands()[u.operand as usize].fixed_reg())
    };
    let tied = live.uses(vreg).iter().take(MAX_HINTS).filter(|u| u.operand != NONE && u.partner != NONE);
    fixed(vreg).or_else(|| tied.map(|u| VReg::from_u32(u.partner)).find_map(fixed))
}

/// Where the slot of a value may be written first: results that are copied may come to their slot at once.
pub(crate) fn widened(segment: Segment) -> u32 {
    if segment.from % 4 == POST { segment.from - 2 } else { segment.from }
}
