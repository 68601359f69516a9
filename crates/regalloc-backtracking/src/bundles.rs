//! Values joined to bundles: parameters with their arguments, copies, results with the uses whose register they take
//! over, most frequent first, as long as their live ranges do not overlap.

use crate::live::{Liveness, Segment};
use crate::order::{NONE, POST};
use kingpost_regalloc::{EdgeData, PReg, Problem, VReg};
use std::cmp::Reverse;

/// How many segments all merges together may look at, per segment.
const MERGE_STEPS: usize = 64;

/// Edges into a block beyond which the arguments of each parameter are taken together.
const MANY_PREDS: usize = 16;

/// A list as short as this is merged into a longer one without looking at all of that.
const MAX_SMALL: usize = 4;

/// Segments that can be moved in one step.
const MOVED_PER_STEP: usize = 16;

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
    /// What it weighs against others in its register, or [`UNKNOWN`](crate::wants::UNKNOWN).
    pub(crate) weight: u64,
    /// Does it live over a wall?
    pub(crate) crosses: bool,
    pub(crate) reg: Option<PReg>,
}

/// A set of values that were one bundle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Family {
    /// The register that one of its bundles had last.
    pub(crate) hint: Option<PReg>,
}

/// Two values that would better be in one place.
#[derive(Clone, Copy, Debug)]
struct Pair {
    freq: u64,
    group: u32,
    a: VReg,
    b: VReg,
    on_edge: bool,
}

/// All bundles.
#[derive(Default)]
pub(crate) struct Bundles {
    pub(crate) segments: Vec<Segment>,
    pub(crate) bundles: Vec<Bundle>,
    pub(crate) families: Vec<Family>,
    /// By value: its family, or [`NONE`] if it is never live.
    pub(crate) family_of: Vec<u32>,
    pairs: Vec<Pair>,
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

    /// Forgets all pairs.
    pub(crate) fn begin(&mut self) {
        self.pairs.clear();
    }

    /// Notes that the arguments of an edge would better be where the parameters are.
    pub(crate) fn add_edge(&mut self, problem: &Problem, edge: &EdgeData, args: &[VReg], params: &[VReg]) {
        let is_wide = problem.preds(edge.to).len() > MANY_PREDS;
        for (&arg, &param) in args.iter().zip(params) {
            // What goes to one such parameter comes together, so that its list stays at the end of all.
            let group = if is_wide { param.as_u32() } else { 0 };
            self.pairs.push(Pair { freq: edge.freq.0, group, a: arg, b: param, on_edge: true });
        }
    }

    /// Notes that two values would better be in one place.
    pub(crate) fn add_pair(&mut self, freq: u64, a: VReg, b: VReg) {
        self.pairs.push(Pair { freq, group: 0, a, b, on_edge: false });
    }

    /// Makes the bundles, from the most frequent pair on.
    pub(crate) fn build(&mut self, problem: &Problem, live: &Liveness) {
        self.segments.clear();
        self.bundles.clear();
        self.families.clear();
        self.lists.clear();
        self.roots.clear();
        self.segments.extend_from_slice(live.all_ranges());
        self.lists.extend(live.range_starts().windows(2).map(|pair| (pair[0], pair[1])));
        self.roots.extend(0..problem.vregs.len() as u32);
        for pair in self.pairs.iter_mut().filter(|pair| pair.on_edge) {
            if hint(problem, live, pair.a).is_some_and(|reg| hint(problem, live, pair.b) == Some(reg)) {
                pair.freq *= 3;
            }
        }
        self.pairs.sort_by_key(|pair| (Reverse(pair.freq), pair.group));
        let mut steps = MERGE_STEPS * (self.segments.len() + 1);
        for i in 0..self.pairs.len() {
            let Pair { a, b, .. } = self.pairs[i];
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
                self.bundles.push(Bundle { start, end, family, cuts: 0, weight: 0, crosses: false, reg: None });
            }
        }
        for v in 0..self.lists.len() {
            if self.lists[v].0 < self.lists[v].1 || self.roots[v] != v as u32 {
                let root = self.root(v as u32);
                self.family_of[v] = self.family_of[root as usize];
            }
        }
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
        let (big, small) = if na >= nb { (a, b) } else { (b, a) };
        if na.min(nb) <= MAX_SMALL {
            *steps -= na.min(nb);
            if !self.fits(big, small) {
                return;
            }
            if self.lists[big as usize].1 as usize == self.segments.len() {
                return self.insert(big, small, steps);
            }
        }
        *steps = steps.saturating_sub(na + nb);
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
        self.lists[big as usize] = (start, self.segments.len() as u32);
        self.lists[small as usize] = (0, 0);
        self.roots[small as usize] = big;
    }

    /// Is no segment of a short list in the way of one of a long list?
    fn fits(&self, big: u32, small: u32) -> bool {
        let [big, small] = [big, small].map(|v| {
            let (start, end) = self.lists[v as usize];
            &self.segments[start as usize..end as usize]
        });
        small.iter().all(|&segment| {
            let next = big.partition_point(|other| other.from < segment.from);
            big[..next].last().is_none_or(|last| last.to <= widened(segment))
                && big.get(next).is_none_or(|&next| segment.to <= widened(next))
        })
    }

    /// Adds a short list to the list at the end of all, in place.
    fn insert(&mut self, big: u32, small: u32, steps: &mut usize) {
        let (start, end) = self.lists[small as usize];
        for i in start as usize..end as usize {
            let (segment, first) = (self.segments[i], self.lists[big as usize].0 as usize);
            let at = first + self.segments[first..].partition_point(|other| other.from < segment.from);
            *steps = steps.saturating_sub((self.segments.len() - at) / MOVED_PER_STEP);
            self.segments.insert(at, segment);
        }
        self.lists[big as usize].1 = self.segments.len() as u32;
        self.lists[small as usize] = (0, 0);
        self.roots[small as usize] = big;
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
