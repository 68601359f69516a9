//! Values coalesced into bundles: block parameters with their arguments, copies, and results with the uses whose
//! register they take over. Pairs are tried in descending order of frequency, and merge if their live ranges do not
//! overlap.
//!
//! ```text
//! b1(v1): .. v2 = add v1, 1; branch -> b1(v2)      bundle0: v1 [4..6], v2 [6l..9]
//! ```
//!
//! Aggressive coalescing in congruence classes (`kingpost_regalloc_common::congruence`). A parameter of a block
//! with many predecessors cannot always have all its arguments. An argument is offered last if it is live at the
//! starts of other arguments whose total frequency is higher.
//!
//! Cost: n log n in pairs of values, and a bounded number of steps per segment.

use crate::liveness::{LiveRange, Liveness, Segment};
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{PrimaryMap, SecondaryMap, entity_impl};
use kingpost_regalloc::meter::{HeapBytes, heap_bytes};
use kingpost_regalloc::{AllocError, Diagnostics, EdgeData, Event, Freq, PReg, Problem, VReg};
use kingpost_regalloc_common::congruence::Congruence;
use kingpost_regalloc_common::point::ProgPoint;
use kingpost_regalloc_common::release;
use std::cmp::Reverse;
use std::num::NonZeroU32;
use std::ops::Range;

/// Budget of all merges, in segments examined per segment.
const MERGE_STEPS: usize = 64;

/// Number of edges into a block beyond which the arguments of each parameter are offered together.
const MANY_PREDS: usize = 16;

/// Least number of unused segments for which compaction pays.
const MIN_RETIRED: usize = 1 << 12;

/// Number of bundles up to which memory is kept for the next problem.
const MAX_KEPT: usize = 1 << 15;

/// Number of uses that are searched for a fixed register.
const MAX_HINTS: usize = 4;

/// A set of segments that share a register.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Bundle(u32);
entity_impl!(Bundle, "bundle");

/// The bundles that were one before any split. Their values share a spill slot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SpillSet(u32);
entity_impl!(SpillSet, "set");

/// Weight of a bundle against other bundles in its register: the cost of memory per point of its live ranges.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Weight(pub(crate) u64);

impl Weight {
    /// Memory costs nothing.
    pub(crate) const ZERO: Weight = Weight(0);
    /// The largest computed weight.
    pub(crate) const MAX: Weight = Weight(u64::MAX - 2);
    /// Not computed yet.
    pub(crate) const UNKNOWN: Weight = Weight(u64::MAX - 1);
    /// Weight of a bundle that must have a register and cannot be split.
    pub(crate) const MINIMAL: Weight = Weight(u64::MAX);
}

/// Facts of a bundle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BundleData {
    /// Start of its segments in [`Bundles::segments`].
    start: u32,
    end: u32,
    pub(crate) spill_set: SpillSet,
    /// Number of splits it comes from, saturating.
    pub(crate) splits: u8,
    flags: u8,
    pub(crate) weight: Weight,
    pub(crate) reg: Option<PReg>,
    /// One more than the index of its requirements, if these are kept.
    pub(crate) kept: Option<NonZeroU32>,
}

/// The bundle has been split into parts, so that its segments are not read again.
const SPLIT: u8 = 1;
const CROSSES_CALLS: u8 = 2;
const HAS_SPILLED: u8 = 4;

impl BundleData {
    fn is_split(&self) -> bool {
        self.flags & SPLIT != 0
    }

    /// Returns `true` if it is live across a call.
    pub(crate) fn crosses_calls(&self) -> bool {
        self.flags & CROSSES_CALLS != 0
    }

    pub(crate) fn set_crosses_calls(&mut self, crosses_calls: bool) {
        self.flags = self.flags & !CROSSES_CALLS | if crosses_calls { CROSSES_CALLS } else { 0 };
    }

    /// Returns `true` if other bundles were spilled for it where they interfere.
    pub(crate) fn has_spilled(&self) -> bool {
        self.flags & HAS_SPILLED != 0
    }

    pub(crate) fn set_has_spilled(&mut self) {
        self.flags |= HAS_SPILLED;
    }

    /// Returns the indices of its segments.
    pub(crate) fn range(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// Two values that should share a register.
#[derive(Clone, Copy, Debug)]
struct Affinity {
    freq: Freq,
    /// Key that groups pairs of equal frequency: one more than the parameter's number if it has many arguments,
    /// else 0.
    group: u32,
    a: VReg,
    b: VReg,
    on_edge: bool,
}

/// An argument of a parameter with many arguments.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Argument {
    group: u32,
    /// Start of the argument. Another value that is live there is in its way.
    at: ProgPoint,
    arg: VReg,
    affinity: u32,
}

/// All bundles.
#[derive(Default)]
pub(crate) struct Bundles {
    /// Segments by bundle.
    pub(crate) segments: Vec<Segment>,
    /// Number of segments that belong to split bundles.
    retired: usize,
    pub(crate) bundles: PrimaryMap<Bundle, BundleData>,
    /// By spill set: the register that one of its bundles had last.
    pub(crate) hints: PrimaryMap<SpillSet, Option<PReg>>,
    spill_sets: SecondaryMap<VReg, PackedOption<SpillSet>>,
    affinities: Vec<Affinity>,
    classes: Congruence<LiveRange>,
    arguments: Vec<Argument>,
    /// For each index in `arguments`, the sum of the frequencies before it.
    sums: Vec<u64>,
}

heap_bytes!(Bundles { segments, bundles, hints, spill_sets, affinities, classes, arguments, sums } without { retired });

impl Bundles {
    /// Returns the segments of a bundle, in order.
    pub(crate) fn segments(&self, bundle: Bundle) -> &[Segment] {
        &self.segments[self.bundles[bundle].range()]
    }

    /// Returns the first point of a bundle and the end of its last segment, which is exclusive.
    pub(crate) fn hull(&self, bundle: Bundle) -> (ProgPoint, ProgPoint) {
        let segments = self.segments(bundle);
        (segments[0].from, segments[segments.len() - 1].to)
    }

    /// Returns the spill set of a value, or `None` if it is never live.
    pub(crate) fn spill_set(&self, vreg: VReg) -> Option<SpillSet> {
        self.spill_sets[vreg].expand()
    }

    /// Adds a bundle with the given segments as a part of `parent`.
    pub(crate) fn add_part(&mut self, parent: Bundle, segments: &[Segment]) -> Bundle {
        let BundleData { spill_set, splits, .. } = self.bundles[parent];
        let start = self.segments.len() as u32;
        self.segments.extend_from_slice(segments);
        self.push(start..self.segments.len() as u32, spill_set, splits.saturating_add(1))
    }

    fn push(&mut self, segments: Range<u32>, spill_set: SpillSet, splits: u8) -> Bundle {
        let (start, end, weight) = (segments.start, segments.end, Weight::UNKNOWN);
        self.bundles.push(BundleData { start, end, spill_set, splits, flags: 0, weight, reg: None, kept: None })
    }

    /// Marks a bundle as split. Removes the segments of all split bundles once they take much of the memory.
    pub(crate) fn retire(&mut self, bundle: Bundle) {
        let data = &mut self.bundles[bundle];
        data.flags |= SPLIT;
        self.retired += data.range().len();
        if self.retired < MIN_RETIRED || self.retired < self.segments.len() / 5 * 2 {
            return;
        }
        self.retired = 0;
        let mut next = 0;
        for data in self.bundles.values_mut() {
            let range = if data.is_split() { 0..0 } else { data.range() };
            let end = next + range.len();
            self.segments.copy_within(range, next);
            (data.start, data.end) = (next as u32, end as u32);
            next = end;
        }
        self.segments.truncate(next);
    }

    /// Clears all pairs of values.
    pub(crate) fn begin(&mut self) {
        self.affinities.clear();
    }

    /// Records that the arguments of an edge should share locations with the parameters.
    pub(crate) fn add_edge(&mut self, problem: &Problem, edge: &EdgeData, args: &[VReg], params: &[VReg]) {
        let has_many = problem.preds(edge.to).len() > MANY_PREDS;
        for (&arg, &param) in args.iter().zip(params) {
            // Pairs of one such parameter are merged one after another, so that its list stays at the end of the
            // pool.
            let group = if has_many { param.as_u32() + 1 } else { 0 };
            self.affinities.push(Affinity { freq: edge.freq, group, a: arg, b: param, on_edge: true });
        }
    }

    /// Frees the memory of a large problem after all registers have been read. Only the spill sets are kept.
    pub(crate) fn release(&mut self) {
        release(&mut self.segments);
        if self.bundles.len() > MAX_KEPT {
            self.bundles = PrimaryMap::new();
        }
    }

    /// Records that two values should share a register.
    pub(crate) fn add_pair(&mut self, freq: Freq, a: VReg, b: VReg) {
        self.affinities.push(Affinity { freq, group: 0, a, b, on_edge: false });
    }

    /// Builds the bundles, beginning with the most frequent pair. `others` is the memory of the other phases in bytes.
    ///
    /// # Errors
    /// If the meter refuses.
    pub(crate) fn build(
        &mut self,
        problem: &Problem,
        live: &Liveness,
        others: impl Fn() -> u64,
        diagnostics: &mut Diagnostics<'_>,
    ) -> Result<(), AllocError> {
        diagnostics.meter.reserve(2 * (live.all_ranges().len() + self.affinities.len()) as u64)?;
        let ranges = (0..).zip(live.all_ranges()).map(|(index, range)| LiveRange::new(index, range));
        self.classes.begin_with(ranges, live.spans());
        self.classes.budget = MERGE_STEPS * (self.classes.pool.len() + 1);
        for pair in self.affinities.iter_mut().filter(|pair| pair.on_edge) {
            if fixed_hint(problem, live, pair.a).is_some_and(|reg| fixed_hint(problem, live, pair.b) == Some(reg)) {
                pair.freq.0 *= 3;
            }
        }
        self.defer_obstacles(live);
        self.affinities.sort_by_key(|pair| (Reverse(pair.freq), pair.group));
        self.merge_all(problem, live, diagnostics)?;
        // The classes grow while they are merged, and are released when they are numbered.
        diagnostics.meter.grow(|| others() + self.heap_bytes())?;
        release(&mut self.affinities);
        release(&mut self.arguments);
        release(&mut self.sums);
        self.number(problem, live);
        diagnostics.meter.grow(|| others() + self.heap_bytes())?;
        self.classes.release();
        Ok(())
    }

    fn merge_all(
        &mut self,
        problem: &Problem,
        live: &Liveness,
        diagnostics: &mut Diagnostics<'_>,
    ) -> Result<(), AllocError> {
        let (meter, budget, mut paid) = (diagnostics.meter, self.classes.budget, 0);
        for i in 0..self.affinities.len() {
            meter.spend_batch((budget - self.classes.budget) as u64, &mut paid)?;
            let Affinity { a, b, .. } = self.affinities[i];
            if live.is_memory_only(a) || live.is_memory_only(b) || problem.class(a) != problem.class(b) {
                continue;
            }
            let (root_a, root_b) = (self.classes.find(a.as_u32()), self.classes.find(b.as_u32()));
            if root_a != root_b && self.classes.merge(root_a, root_b) {
                diagnostics.event(Event::Coalesce { a, b });
            }
        }
        self.classes.merge_gathered();
        Ok(meter.spend_rest((budget - self.classes.budget) as u64, &mut paid)?)
    }

    /// Creates a bundle and a spill set for each class of values that are live anywhere.
    fn number(&mut self, problem: &Problem, live: &Liveness) {
        self.bundles.clear();
        self.hints.clear();
        self.spill_sets.clear();
        self.spill_sets.resize(problem.vregs.len());
        self.segments.clear();
        self.retired = 0;
        for v in 0..problem.vregs.len() as u32 {
            if self.classes.is_representative(v) && self.classes.len(v) > 0 {
                let spill_set = self.hints.push(None);
                self.spill_sets[VReg::from_u32(v)] = spill_set.into();
                let start = self.segments.len() as u32;
                let ranges = self.classes.intervals(v).iter();
                self.segments.extend(ranges.map(|range| live.all_ranges()[range.index as usize]));
                self.push(start..self.segments.len() as u32, spill_set, 0);
            }
        }
        for v in 0..problem.vregs.len() as u32 {
            if !self.classes.is_representative(v) {
                let root = self.classes.find(v);
                self.spill_sets[VReg::from_u32(v)] = self.spill_sets[VReg::from_u32(root)];
            }
        }
    }

    /// Lowers an argument to the least frequency if it would exclude other arguments of its parameter whose total
    /// frequency is higher.
    fn defer_obstacles(&mut self, live: &Liveness) {
        self.arguments.clear();
        for (i, pair) in self.affinities.iter().enumerate().filter(|(_, pair)| pair.group != 0) {
            let Some(first) = live.ranges(pair.a).first() else { continue };
            self.arguments.push(Argument { group: pair.group, at: first.from, arg: pair.a, affinity: i as u32 });
        }
        self.arguments.sort_unstable();
        let Bundles { affinities, arguments, sums, classes, .. } = self;
        for group in arguments.chunk_by(|x, y| x.group == y.group) {
            sums.clear();
            sums.push(0);
            let mut sum = 0u64;
            for argument in group {
                sum = sum.saturating_add(affinities[argument.affinity as usize].freq.0);
                sums.push(sum);
            }
            let before = |point| sums[group.partition_point(|argument| argument.at < point)];
            for same in group.chunk_by(|x, y| x.arg == y.arg) {
                let freqs = same.iter().map(|argument| affinities[argument.affinity as usize].freq.0);
                let own = freqs.fold(0, u64::saturating_add);
                let ranges = live.ranges(same[0].arg);
                if ranges.len() > classes.budget {
                    continue;
                }
                classes.budget -= ranges.len();
                let covered: u64 = ranges.iter().map(|range| before(range.to) - before(range.from)).sum();
                if covered.saturating_sub(own) > own {
                    same.iter().for_each(|argument| affinities[argument.affinity as usize].freq = Freq(0));
                }
            }
        }
    }

    /// Writes a line per bundle: its segments by value, its spill set if it is a part, and its register.
    pub(crate) fn dump(&self, out: &mut String) -> std::fmt::Result {
        use std::fmt::Write;
        for (bundle, data) in &self.bundles {
            write!(out, "{bundle}")?;
            if data.splits > 0 {
                write!(out, " of {}", data.spill_set)?;
            }
            for segment in self.segments(bundle) {
                write!(out, " {} {}", segment.vreg, segment.range())?;
            }
            match data.reg {
                Some(reg) => writeln!(out, " = {reg}")?,
                None => writeln!(out)?,
            }
        }
        Ok(())
    }
}

/// Returns the register that an operand of the value is fixed to, or an operand of the result that takes its
/// register over.
fn fixed_hint(problem: &Problem, live: &Liveness, vreg: VReg) -> Option<PReg> {
    let fixed = |vreg| {
        let operands = live.uses(vreg).iter().filter_map(|u| u.operand());
        operands.take(MAX_HINTS).find_map(|k| problem.all_operands()[k].fixed_reg())
    };
    let first = live.uses(vreg).iter().take(MAX_HINTS).filter(|u| u.operand().is_some());
    fixed(vreg).or_else(|| first.filter_map(|u| u.partner.expand()).find_map(fixed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_regalloc_common::point::Position;

    #[test]
    fn segments_of_split_bundles_go_once_they_are_many() {
        const COUNT: u32 = MIN_RETIRED as u32;
        let mut bundles = Bundles::default();
        let spill_set = bundles.hints.push(None);
        let all: Vec<Bundle> = (0..3)
            .map(|b| {
                let positions = (b * COUNT..(b + 1) * COUNT).map(Position::new);
                let segments = positions.map(|at| (ProgPoint::before(at), ProgPoint::after(at)));
                bundles.segments.extend(segments.map(|(from, to)| Segment::without_uses(VReg::from_u32(b), from, to)));
                bundles.push(b * COUNT..(b + 1) * COUNT, spill_set, 0)
            })
            .collect();
        let last = bundles.segments(all[2]).to_vec();
        bundles.retire(all[0]);
        assert_eq!(bundles.segments.len(), 3 * MIN_RETIRED);
        bundles.retire(all[1]);
        assert_eq!(bundles.segments.len(), MIN_RETIRED);
        assert_eq!(bundles.segments(all[2]), last);
    }
}
