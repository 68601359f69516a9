//! Values joined to bundles: parameters with their arguments, copies, results with the uses whose register they take
//! over, most frequent first, as long as their live ranges do not overlap.

use crate::live::{Liveness, Segment};
use crate::order::{NONE, POST};
use kingpost_regalloc::{EdgeData, PReg, Problem, VReg};
use std::cmp::Reverse;
use std::ops::Range;

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
    lists: Vec<List>,
    wide: Vec<Wide>,
    /// Sums of the frequencies in `wide` before each.
    sums: Vec<u64>,
}

/// A list in [`Bundles::segments`], with the end of the space that it may grow into.
#[derive(Clone, Copy, Debug, Default)]
struct List {
    start: u32,
    end: u32,
    room: u32,
}

impl List {
    fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// An argument for a parameter of a block with many predecessors.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Wide {
    group: u32,
    /// The first point of the argument: another value that lives there is in its way.
    at: u32,
    arg: u32,
    pair: u32,
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
            let group = if is_wide { param.as_u32() + 1 } else { 0 };
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
        let starts = live.range_starts().windows(2);
        self.lists.extend(starts.map(|pair| List { start: pair[0], end: pair[1], room: pair[1] }));
        self.roots.extend(0..problem.vregs.len() as u32);
        for pair in self.pairs.iter_mut().filter(|pair| pair.on_edge) {
            if hint(problem, live, pair.a).is_some_and(|reg| hint(problem, live, pair.b) == Some(reg)) {
                pair.freq *= 3;
            }
        }
        let mut steps = MERGE_STEPS * (self.segments.len() + 1);
        self.defer_obstacles(live, &mut steps);
        self.pairs.sort_by_key(|pair| (Reverse(pair.freq), pair.group));
        for i in 0..self.pairs.len() {
            let Pair { a, b, .. } = self.pairs[i];
            self.merge(problem, live, a, b, &mut steps);
        }
        self.family_of.clear();
        self.family_of.resize(problem.vregs.len(), NONE);
        for v in 0..self.lists.len() {
            let List { start, end, .. } = self.lists[v];
            if self.roots[v] == v as u32 && start < end {
                let family = self.families.len() as u32;
                self.families.push(Family { hint: None });
                self.family_of[v] = family;
                self.bundles.push(Bundle { start, end, family, cuts: 0, weight: 0, crosses: false, reg: None });
            }
        }
        for v in 0..self.lists.len() {
            if self.lists[v].len() > 0 || self.roots[v] != v as u32 {
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
        let (na, nb) = (la.len(), lb.len());
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
            return self.insert(big, small, steps);
        }
        *steps = steps.saturating_sub(na + nb);
        self.merged.clear();
        let (mut i, mut j) = (la.range(), lb.range());
        while !i.is_empty() || !j.is_empty() {
            let first = j.is_empty() || !i.is_empty() && self.segments[i.start].from < self.segments[j.start].from;
            let next = if first { i.next() } else { j.next() };
            let Some(next) = next.map(|at| self.segments[at]) else { break };
            if self.merged.last().is_some_and(|last| last.to > widened(next)) {
                return;
            }
            self.merged.push(next);
        }
        let (start, end) = (self.segments.len() as u32, (self.segments.len() + self.merged.len()) as u32);
        self.segments.extend_from_slice(&self.merged);
        self.lists[big as usize] = List { start, end, room: end };
        self.replace(small, big);
    }

    fn replace(&mut self, small: u32, big: u32) {
        self.lists[small as usize] = List::default();
        self.roots[small as usize] = big;
    }

    /// Is no segment of a short list in the way of one of a long list?
    fn fits(&self, big: u32, small: u32) -> bool {
        let [big, small] = [big, small].map(|v| {
            let list = self.lists[v as usize];
            &self.segments[list.range()]
        });
        small.iter().all(|&segment| {
            let next = big.partition_point(|other| other.from < segment.from);
            big[..next].last().is_none_or(|last| last.to <= widened(segment))
                && big.get(next).is_none_or(|&next| segment.to <= widened(next))
        })
    }

    /// Adds a short list to a long one, in place if that has room: it gets so much that moves of it all are few.
    fn insert(&mut self, big: u32, small: u32, steps: &mut usize) {
        let (List { mut start, mut end, mut room }, added) = (self.lists[big as usize], self.lists[small as usize]);
        if ((room - end) as usize) < added.len() {
            let len = end - start;
            *steps = steps.saturating_sub(len as usize);
            let moved = self.segments.len() as u32;
            self.segments.extend_from_within(start as usize..end as usize);
            (start, end) = (moved, moved + len);
            room = end + len + added.len() as u32;
            let blank = self.segments[start as usize];
            self.segments.resize(room as usize, blank);
        }
        for i in added.range() {
            let (segment, list) = (self.segments[i], start as usize..end as usize);
            let at = list.start + self.segments[list.clone()].partition_point(|other| other.from < segment.from);
            *steps = steps.saturating_sub((list.end - at) / MOVED_PER_STEP);
            self.segments.copy_within(at..list.end, at + 1);
            self.segments[at] = segment;
            end += 1;
        }
        self.lists[big as usize] = List { start, end, room };
        self.replace(small, big);
    }

    /// Puts arguments of wide parameters last that would keep others from them that are more frequent together.
    fn defer_obstacles(&mut self, live: &Liveness, steps: &mut usize) {
        self.wide.clear();
        for (i, pair) in self.pairs.iter().enumerate().filter(|(_, pair)| pair.group != 0) {
            let Some(first) = live.ranges(pair.a).first() else { continue };
            self.wide.push(Wide { group: pair.group, at: first.from, arg: pair.a.as_u32(), pair: i as u32 });
        }
        self.wide.sort_unstable();
        for group in self.wide.chunk_by(|x, y| x.group == y.group) {
            self.sums.clear();
            self.sums.push(0);
            let mut sum = 0u64;
            for wide in group {
                sum = sum.saturating_add(self.pairs[wide.pair as usize].freq);
                self.sums.push(sum);
            }
            let before = |point| self.sums[group.partition_point(|wide| wide.at < point)];
            for same in group.chunk_by(|x, y| x.arg == y.arg) {
                let own = same.iter().fold(0u64, |sum, wide| sum.saturating_add(self.pairs[wide.pair as usize].freq));
                let ranges = live.ranges(VReg::from_u32(same[0].arg));
                if ranges.len() > *steps {
                    continue;
                }
                *steps -= ranges.len();
                let covered: u64 = ranges.iter().map(|range| before(range.to) - before(range.from)).sum();
                if covered.saturating_sub(own) > own {
                    same.iter().for_each(|wide| self.pairs[wide.pair as usize].freq = 0);
                }
            }
        }
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
