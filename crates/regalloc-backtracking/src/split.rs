//! Splitting of bundles: around the calls that a bundle crosses, or otherwise before the point at which no register
//! is free any more, in the coldest block before it.
//!
//! ```text
//! uses:       i1   i2  |             i9        the part with i1 and i2 ends behind i2; the part with i9 begins in the
//! coldest register:   r1   r1  conflict                block between the conflict and i9; between the parts the value
//! is in memory
//! ```
//!
//! A bundle of references, or of vectors wider than what a call preserves, has call points of its own; it is split at all
//! call points in the order of blocks. A part begins and ends in the coldest places between its uses and its limits. The
//! remaining points are in memory. A bundle split many times is halved, and finally split into minimal bundles, so
//! that the search ends.
//!
//! Cost: linear in the segments and uses, and a bounded number of blocks, per split.

use crate::bundles::Bundle;
use crate::liveness::{Need, Segment, Use};
use crate::search::Search;
use crate::spill_weights::Requirements;
use kingpost_regalloc::Freq;
use kingpost_regalloc_common::order::BlockIndex;
use kingpost_regalloc_common::point::{PointRange, Position, ProgPoint};

/// Number of splits after which a bundle is split in the middle of its uses.
const MAX_SPLITS: u8 = 6;

/// Number of splits after which a bundle is split into minimal ones.
const MAX_HALVINGS: u8 = 12;

/// Number of blocks that are searched for a cold one.
const MAX_BLOCKS: usize = 64;

/// Choice between several places of one frequency.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Prefer {
    First,
    Last,
}

/// The uses between two call points.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// Points from after one call point to the next.
    limits: PointRange,
    uses: PointRange,
    /// Frequency of the last use.
    freq: Freq,
    /// Whether all uses are arguments and parameters within the bundle.
    is_internal: bool,
}

impl Window {
    /// Adds a use after the other uses. Arguments and parameters within the bundle count only if they are no more
    /// frequent than the adjacent uses.
    fn add(&mut self, points: PointRange, freq: Freq, is_internal: bool) {
        if is_internal && freq > self.freq {
            return;
        }
        if self.is_internal && self.freq > freq {
            self.uses.from = points.from;
        }
        (self.uses.to, self.freq) = (points.to.max(self.uses.to), freq);
        self.is_internal &= is_internal;
    }
}

impl Search<'_, '_> {
    /// Splits a bundle without a register.
    pub(crate) fn split(&mut self, bundle: Bundle, r: &Requirements) {
        let splits = self.bundles.bundles[bundle].splits;
        if splits >= MAX_HALVINGS {
            return self.split_to_minimal(bundle);
        }
        if self.is_exhausted() {
            return self.split_at_conflicts(bundle, r);
        }
        if r.loses_registers && splits < MAX_SPLITS {
            return self.split_at_calls(bundle);
        }
        if r.crosses_calls && splits < MAX_SPLITS {
            return self.split_by_regions(bundle);
        }
        let conflict = if splits < MAX_SPLITS { self.conflict(bundle, r) } else { self.middle(bundle) };
        match self.split_point(bundle, conflict) {
            Some(at) => {
                self.trace_split(bundle, at);
                self.part_between(bundle, PointRange::new(ProgPoint::FIRST, at));
                self.part_between(bundle, PointRange::new(at, ProgPoint::OPEN));
            }
            None => self.split_to_minimal(bundle),
        }
    }

    /// Returns the farthest point up to which some register is free.
    fn conflict(&mut self, bundle: Bundle, r: &Requirements) -> ProgPoint {
        let start = self.bundles.hull(bundle).0;
        self.free_until(bundle, r, start).map_or(start, |(_, conflict)| conflict.unwrap_or(start))
    }

    /// Returns the registers that are free for the longest time for a bundle from one of its points on, and the
    /// point at which they are taken, if there is one. Returns `None` if no register is free at the first point.
    fn free_until(&mut self, bundle: Bundle, r: &Requirements, from: ProgPoint) -> Option<(u64, Option<ProgPoint>)> {
        let class = r.class.index();
        let mut candidates = r.allowed & !self.unused[class];
        let segments = self.bundles.segments(bundle);
        let first = segments.partition_point(|segment| segment.to <= from);
        for segment in &segments[first..] {
            self.stats.steps += 1;
            let points = PointRange::new(segment.from.max(from), segment.to);
            let before = candidates;
            if let Some(point) = self.interference[class].remove_taken(points, &mut candidates) {
                let free = before & !self.taken_before(class, points, point);
                return (free != 0).then_some((free, Some(point)));
            }
        }
        (candidates != 0).then_some((candidates, None))
    }

    /// Returns the registers taken at the points in `points` that are before `point`.
    fn taken_before(&self, class: usize, points: PointRange, point: ProgPoint) -> u64 {
        match points.from < point {
            true => self.interference[class].taken(PointRange::new(points.from, point)),
            false => 0,
        }
    }

    /// Splits a bundle where no register is free any more, as linear scan does. From a use to the last use for
    /// which some register is free, the bundle is in that register. Up to the next use it is in memory. Takes
    /// at most one step for each use, because each step starts at a later one.
    fn split_at_conflicts(&mut self, bundle: Bundle, r: &Requirements) {
        let hull = self.bundles.hull(bundle);
        let mut from = hull.0;
        while let Some(first) = self.first_use_start(bundle, from).filter(|&first| first < hull.1) {
            let (free, conflict) = self.free_until(bundle, r, first).unwrap_or((0, Some(first)));
            // No instruction has some of its uses in a part and some outside.
            let limit = conflict.map_or(hull.1, ProgPoint::floor);
            let end = self.last_use_end(bundle, limit).filter(|&end| end > first);
            self.trace_split(bundle, first);
            match end.zip(r.hints.best(free)) {
                Some((end, reg)) => {
                    self.s.part.clear();
                    self.clip_part(bundle, PointRange::new(first, end.min(hull.1)));
                    self.assign_part(bundle, reg);
                    from = end;
                }
                None => {
                    from = first.next_position();
                    self.split_to_minimal_within(bundle, PointRange::new(first, from));
                }
            }
        }
    }

    fn middle(&self, bundle: Bundle) -> ProgPoint {
        let segments = self.bundles.segments(bundle);
        let (start, end) = self.bundles.hull(bundle);
        let segment = &segments[segments.len() / 2];
        let uses = self.live.uses_at(segment.uses());
        match uses.get(uses.len() / 2) {
            Some(u) if segments.len() < uses.len() => u.point,
            _ if segments.len() > 1 => segment.from,
            _ => ProgPoint::from_index(start.index() + (end.index() - start.index()) / 2),
        }
    }

    /// Returns `true` if the use has a cost in memory.
    pub(crate) fn counts(&self, u: &Use) -> bool {
        u.need != Need::Slot && !(u.is_def && self.live.remat(u.vreg).is_some()) && !self.is_internal(u)
    }

    /// Returns the end of the last use that ends by `point`.
    fn last_use_end(&self, bundle: Bundle, point: ProgPoint) -> Option<ProgPoint> {
        let segments = self.bundles.segments(bundle);
        let end = segments.partition_point(|segment| segment.from < point);
        let uses = segments[..end].iter().rev().flat_map(|segment| self.live.uses_at(segment.uses()).iter().rev());
        uses.filter(|u| self.counts(u)).map(Use::end).find(|&end| end <= point)
    }

    /// Returns the start of the first use that starts at `point` or later.
    fn first_use_start(&self, bundle: Bundle, point: ProgPoint) -> Option<ProgPoint> {
        let segments = self.bundles.segments(bundle);
        let start = segments.partition_point(|segment| segment.to <= point);
        let uses = segments[start..].iter().flat_map(|segment| {
            let first = self.live.uses_at(segment.uses()).partition_point(|u| u.point < point);
            self.live.uses_at(segment.uses().start + first..segment.uses().end).iter()
        });
        uses.filter(|u| self.counts(u)).map(Use::start).find(|&start| start >= point)
    }

    /// Returns the split point: after the last use before the conflict, or before the first use after it.
    fn split_point(&mut self, bundle: Bundle, conflict: ProgPoint) -> Option<ProgPoint> {
        let (start, end) = self.bundles.hull(bundle);
        let here = conflict.floor();
        let before = if here > start { self.last_use_end(bundle, here) } else { None };
        let (low, high) = match before {
            Some(before) => (before.ceil(), here),
            // There is no use before the conflict: the code after it may find a register.
            None => {
                let low = conflict.next_position().max(start.next_position());
                (low, self.first_use_start(bundle, low).unwrap_or(end).floor())
            }
        };
        let at = self.coldest(low.min(high), high, Prefer::Last);
        (at > start && at < end).then_some(at)
    }

    /// Returns the coldest point from `low` to `high`, both included, at which values may change locations.
    fn coldest(&self, low: ProgPoint, high: ProgPoint, prefer: Prefer) -> ProgPoint {
        let last = ProgPoint::before(Position::new(self.order.num_positions() as u32 - 1));
        let (low, high) = (low.min(last), high.min(last));
        let freq_at = |point: ProgPoint| self.order.freq_at(point.position());
        let (first, last) = (self.order.index_at(low.position()), self.order.index_at(high.position()));
        let (mut best, mut freq) = match prefer {
            Prefer::First => (low, freq_at(low)),
            Prefer::Last => (high, freq_at(high)),
        };
        let mut look = |at: BlockIndex, from: BlockIndex| {
            let block = self.order.block(at);
            if block.freq < freq && self.is_outside(at, from) {
                (best, freq) = (block.start(), block.freq);
            }
        };
        match prefer {
            Prefer::First => first.next().up_to(last.next()).take(MAX_BLOCKS).for_each(|at| look(at, first)),
            Prefer::Last => first.next().up_to(last.next()).rev().take(MAX_BLOCKS).for_each(|at| look(at, last)),
        }
        if prefer == Prefer::Last && freq_at(low) < freq { low } else { best }
    }

    /// Returns `true` if each loop around block `at` contains `other` or begins with `at`. Loads inside another
    /// loop would be needed on its other paths as well.
    fn is_outside(&self, at: BlockIndex, other: BlockIndex) -> bool {
        let innermost = self.order.loops_around(at).find(|l| l.header != at);
        innermost.is_none_or(|l| (l.header..l.end).contains(&other))
    }

    /// Creates a bundle of the part within limits around the uses there.
    fn part_between(&mut self, bundle: Bundle, limits: PointRange) {
        let (start, end) = self.bundles.hull(bundle);
        let inside = PointRange::new(start, end).intersection(limits);
        let first = self.first_use_start(bundle, limits.from).filter(|&first| first < inside.to);
        let last = self.last_use_end(bundle, limits.to).filter(|&last| last > inside.from);
        if let (Some(first), Some(last)) = (first, last) {
            self.part(bundle, limits, PointRange::new(first, last).intersection(inside));
        }
    }

    /// Creates a bundle that has the given uses and lies within limits. Returns its end.
    fn part(&mut self, bundle: Bundle, limits: PointRange, uses: PointRange) -> ProgPoint {
        let around = self.around_loops(limits, uses);
        let (start, end) = self.bundles.hull(bundle);
        let (from, to) = (start.max(limits.from).ceil(), end.min(limits.to).floor());
        let low = match from < around.from {
            true => self.coldest(from, around.from, Prefer::Last).min(around.from),
            false => around.from,
        };
        let stop = around.to.ceil();
        let high = if stop < to { self.coldest(stop, to, Prefer::First).max(around.to) } else { around.to };
        // The coldest place after the last use may be the end of that use.
        let high = if high == uses.to.ceil() { uses.to } else { high };
        self.cut_out(bundle, PointRange::new(low, high));
        high
    }

    /// Returns the points of the uses, widened to the loops within limits that hold the first or the last of them.
    fn around_loops(&self, limits: PointRange, uses: PointRange) -> PointRange {
        let mut around = uses;
        for (point, is_first) in [(uses.from, true), (uses.to.prev(), false)] {
            for l in self.order.loops_around(self.order.index_at(point.position())) {
                let points = self.order.loop_points(l);
                if points.from < limits.from || points.to > limits.to {
                    break;
                }
                match is_first {
                    true => around.from = around.from.min(points.from),
                    false => around.to = around.to.max(points.to),
                }
            }
        }
        around
    }

    /// Creates a part of the given points.
    pub(crate) fn cut_out(&mut self, bundle: Bundle, points: PointRange) {
        self.s.part.clear();
        self.clip_part(bundle, points);
        self.finish_part(bundle);
    }

    /// Adds the given points of a bundle to the segments of a part.
    pub(crate) fn clip_part(&mut self, bundle: Bundle, points: PointRange) {
        self.s.part.extend(self.live.clip_all(self.bundles.segments(bundle), points));
    }

    /// Creates a bundle of the segments of a part, if there are any.
    pub(crate) fn finish_part(&mut self, bundle: Bundle) {
        self.stats.steps += 1 + self.s.part.len() as u64;
        if !self.s.part.is_empty() {
            self.add_part(bundle);
        }
    }

    /// Creates a part of the uses between each two call points.
    fn split_at_calls(&mut self, bundle: Bundle) {
        let mut windows = std::mem::take(&mut self.s.windows);
        windows.clear();
        for segment in self.bundles.segments(bundle) {
            for u in self.live.uses_at(segment.uses()) {
                self.stats.steps += 1;
                if u.need == Need::Slot || u.is_def && self.live.remat(u.vreg).is_some() {
                    continue;
                }
                let uses = PointRange::new(u.start(), u.end()).intersection(segment.range());
                let limits = self.between_calls(segment, if u.is_def { uses.to.prev() } else { uses.from });
                let freq = self.order.freq_at(uses.from.position());
                let is_internal = self.is_internal(u);
                match windows.last_mut() {
                    Some(window) if window.limits == limits => window.add(uses, freq, is_internal),
                    _ => windows.push(Window { limits, uses, freq, is_internal }),
                }
            }
        }
        // If only some values of a bundle are references, their limits differ, but parts must not overlap.
        let mut done = ProgPoint::FIRST;
        for (i, window) in windows.iter().enumerate().filter(|(_, window)| !window.is_internal) {
            let next = windows.get(i + 1).map_or(ProgPoint::OPEN, |next| next.uses.from);
            self.trace_split(bundle, window.uses.from);
            let start = window.limits.from.max(done).min(window.uses.from);
            let end = window.limits.to.min(next).max(window.uses.to);
            done = self.part(bundle, PointRange::new(start, end), window.uses);
        }
        self.s.windows = windows;
    }

    /// Returns the points from the position after the preceding call to the following call.
    fn between_calls(&self, segment: &Segment, point: ProgPoint) -> PointRange {
        let next = self.reservations.calls_before(point);
        let from = match next {
            0 => ProgPoint::FIRST,
            _ => self.reservations.call_point(next - 1).next_position(),
        };
        let points = PointRange::new(from, self.reservations.call_point(next));
        match self.problem.vregs[segment.vreg].is_ref {
            true => points.intersection(self.reservations.between_safepoints(point)),
            false => points,
        }
    }

    /// Splits into minimal bundles, one for each instruction that needs a register.
    pub(crate) fn split_to_minimal(&mut self, bundle: Bundle) {
        let (from, to) = self.bundles.hull(bundle);
        self.split_to_minimal_within(bundle, PointRange::new(from, to));
    }

    /// Splits the uses at some points into minimal bundles.
    fn split_to_minimal_within(&mut self, bundle: Bundle, points: PointRange) {
        let mut cuts = std::mem::take(&mut self.s.cuts);
        cuts.clear();
        for segment in self.live.clip_all(self.bundles.segments(bundle), points) {
            for u in self.live.uses_at(segment.uses()) {
                if !matches!(self.need(u), Need::Reg | Need::Within) {
                    continue;
                }
                let points = PointRange::new(u.start(), u.end()).intersection(segment.range());
                match cuts.last_mut() {
                    Some(PointRange { to, .. }) if *to > points.from => *to = points.to.max(*to),
                    _ => cuts.push(points),
                }
            }
        }
        for &points in &cuts {
            self.cut_out(bundle, points);
        }
        self.s.cuts = cuts;
    }
}
