//! Where a bundle is cut: around the walls it crosses, else before what is in its way, in the coldest block on the way
//! there. Where references and partly lost registers make walls of their own, it is cut at all walls in the order of blocks.
//!
//! A part begins and ends in the coldest places between its uses and its limits; the rest is in memory.

use crate::live::{Need, Segment, Use};
use crate::order::NONE;
use crate::search::Search;
use crate::wants::Wants;

/// A bundle that was cut this often is cut in the middle of its uses from then on.
const MAX_CUTS: u32 = 6;

/// One that was cut this often is cut to minimal ones.
const MAX_HALVES: u32 = 12;

/// Blocks looked at for a cold one.
const MAX_BLOCKS: u32 = 64;

/// The uses between two walls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    walls: (u32, u32),
    first: u32,
    last: u32,
    /// Of the last use.
    freq: u64,
    /// Are all uses arguments and parameters within the bundle?
    is_internal: bool,
}

impl Window {
    /// Adds a use behind the others. Arguments and parameters within the bundle count where they are no more frequent than
    /// the uses next to them.
    fn add(&mut self, from: u32, to: u32, freq: u64, is_internal: bool) {
        if is_internal && freq > self.freq {
            return;
        }
        if self.is_internal && self.freq > freq {
            self.first = from;
        }
        (self.last, self.freq) = (to.max(self.last), freq);
        self.is_internal &= is_internal;
    }
}

impl Search<'_, '_> {
    /// Cuts a bundle for which there is no register.
    pub(crate) fn split(&mut self, bundle: u32, w: &Wants) {
        let cuts = self.bundles.bundles[bundle as usize].cuts;
        if cuts >= MAX_HALVES || self.is_exhausted() {
            return self.shatter(bundle);
        }
        if w.crosses && cuts < MAX_CUTS {
            return match self.machine.is_plain() {
                true => self.split_by_regions(bundle),
                false => self.split_at_walls(bundle),
            };
        }
        let conflict = if cuts < MAX_CUTS { self.conflict(bundle, w) } else { self.middle(bundle) };
        match self.cut_point(bundle, conflict) {
            Some(at) => {
                self.tell_split(bundle, at);
                self.part_between(bundle, 0, at);
                self.part_between(bundle, at, u32::MAX);
            }
            None => self.shatter(bundle),
        }
    }

    /// The farthest point up to which some register is free.
    fn conflict(&mut self, bundle: u32, w: &Wants) -> u32 {
        let class = w.class.index();
        let mut wanted = w.allowed & !self.unused[class];
        let segments = self.bundles.segments(bundle);
        for segment in segments {
            self.stats.steps += 1;
            if let Some(point) = self.occupancy[class].strike(segment.from, segment.to, &mut wanted) {
                return point;
            }
        }
        segments[0].from
    }

    fn middle(&self, bundle: u32) -> u32 {
        let segments = self.bundles.segments(bundle);
        let (start, end) = (segments[0].from, segments[segments.len() - 1].to);
        let segment = &segments[segments.len() / 2];
        let uses = self.live.uses_at(segment.uses());
        match uses.get(uses.len() / 2) {
            Some(u) if segments.len() < uses.len() => u.point,
            _ if segments.len() > 1 => segment.from,
            _ => start + (end - start) / 2,
        }
    }

    /// Must the value have or be somewhere better than memory here?
    fn counts(&self, u: &Use) -> bool {
        u.need != Need::Slot && !(u.is_def && self.live.remat(u.vreg).is_some()) && !self.is_internal(u)
    }

    /// The end of the last use that ends by `point`.
    fn last_use(&self, bundle: u32, point: u32) -> Option<u32> {
        let segments = self.bundles.segments(bundle);
        let end = segments.partition_point(|segment| segment.from < point);
        let uses = segments[..end].iter().rev().flat_map(|segment| self.live.uses_at(segment.uses()).iter().rev());
        uses.filter(|u| self.counts(u)).map(Use::to).find(|&to| to <= point)
    }

    /// The start of the first use that starts at `point` or later.
    fn first_use(&self, bundle: u32, point: u32) -> Option<u32> {
        let segments = self.bundles.segments(bundle);
        let start = segments.partition_point(|segment| segment.to <= point);
        let uses = segments[start..].iter().flat_map(|segment| {
            let first = self.live.uses_at(segment.uses()).partition_point(|u| u.point < point);
            self.live.uses_at(segment.uses().start + first..segment.uses().end).iter()
        });
        uses.filter(|u| self.counts(u)).map(Use::from).find(|&from| from >= point)
    }

    /// The place where values change places, after the last use before the conflict or before the first one after it.
    fn cut_point(&mut self, bundle: u32, conflict: u32) -> Option<u32> {
        let segments = self.bundles.segments(bundle);
        let (start, end) = (segments[0].from, segments[segments.len() - 1].to);
        let here = conflict / 4 * 4;
        let before = if here > start { self.last_use(bundle, here) } else { None };
        let (low, high) = match before {
            Some(before) => (before.next_multiple_of(4), here),
            // Nothing can be done before the conflict: what follows it may have better luck.
            None => {
                let low = (here + 4).max(start / 4 * 4 + 4);
                (low, self.first_use(bundle, low).unwrap_or(end) / 4 * 4)
            }
        };
        let at = self.coldest(low.min(high), high, true);
        (at > start && at < end).then_some(at)
    }

    /// The coldest place in `low..=high` where values may change places: the last one of several, or the first.
    fn coldest(&self, low: u32, high: u32, prefer_last: bool) -> u32 {
        let last = self.order.num_slots() as u32 * 4 - 4;
        let (low, high) = (low.min(last), high.min(last));
        let (first_block, last_block) = (self.order.index_at(low), self.order.index_at(high));
        let (mut best, mut freq) = (high, self.order.freq_at(high));
        if !prefer_last {
            (best, freq) = (low, self.order.freq_at(low));
        }
        for i in 0..(last_block - first_block).min(MAX_BLOCKS) {
            let at = if prefer_last { last_block - i } else { first_block + 1 + i };
            let place = &self.order.places[at as usize];
            if place.freq < freq && self.is_outside(at, if prefer_last { last_block } else { first_block }) {
                (best, freq) = (place.start(), place.freq);
            }
        }
        if prefer_last && self.order.freq_at(low) < freq { low } else { best }
    }

    /// Is a block in no loop without the other one, unless the loop begins with it? Loads amid such a loop would be needed
    /// on its other paths as well.
    fn is_outside(&self, at: u32, other: u32) -> bool {
        let mut l = self.order.places[at as usize].innermost;
        if l != NONE && self.order.loops[l as usize].first == at {
            l = self.order.loops[l as usize].parent;
        }
        l == NONE || (self.order.loops[l as usize].first..=self.order.loops[l as usize].last).contains(&other)
    }

    /// Makes a bundle of the part in `low..high` around the uses there.
    fn part_between(&mut self, bundle: u32, low: u32, high: u32) {
        let segments = self.bundles.segments(bundle);
        let (start, end) = (segments[0].from.max(low), segments[segments.len() - 1].to.min(high));
        let first = self.first_use(bundle, low).filter(|&first| first < end);
        let last = self.last_use(bundle, high).filter(|&last| last > start);
        if let (Some(first), Some(last)) = (first, last) {
            self.part(bundle, (low, high), (first.max(start), last.min(end)));
        }
    }

    /// Makes a bundle that has the uses `first..last` and lies in `start..end`. Gives its end.
    fn part(&mut self, bundle: u32, (start, end): (u32, u32), (first, last): (u32, u32)) -> u32 {
        let (low, high) = self.around_loops(start, end, first, last);
        let segments = self.bundles.segments(bundle);
        let from = segments[0].from.max(start).next_multiple_of(4);
        let to = segments[segments.len() - 1].to.min(end) / 4 * 4;
        let low = if from < low { self.coldest(from, low, true).min(low) } else { low };
        let stop = high.next_multiple_of(4);
        let high = if stop < to { self.coldest(stop, to, false).max(high) } else { high };
        // The coldest place after the last use may be where it ends.
        let high = if high == last.next_multiple_of(4) { last } else { high };
        self.cut_out(bundle, low, high);
        high
    }

    /// Widens `first..last` to the loops in `start..end` that hold its ends.
    fn around_loops(&self, start: u32, end: u32, first: u32, last: u32) -> (u32, u32) {
        let (mut low, mut high) = (first, last);
        for (point, is_first) in [(first, true), (last - 1, false)] {
            let mut l = self.order.place_at(point).innermost;
            while l != NONE {
                let data = self.order.loops[l as usize];
                let head = self.order.places[data.first as usize].start();
                let stop = self.order.places[data.last as usize].stop();
                if head < start || stop > end {
                    break;
                }
                (low, high) = if is_first { (low.min(head), high) } else { (low, high.max(stop)) };
                l = data.parent;
            }
        }
        (low, high)
    }

    /// Makes a part of what lies in `from..to`.
    pub(crate) fn cut_out(&mut self, bundle: u32, from: u32, to: u32) {
        self.s.pieces.clear();
        self.clip_pieces(bundle, from, to);
        self.finish_part(bundle);
    }

    /// Adds what lies in `from..to` to the pieces of a part.
    pub(crate) fn clip_pieces(&mut self, bundle: u32, from: u32, to: u32) {
        let segments = self.bundles.segments(bundle);
        let first = segments.partition_point(|segment| segment.to <= from);
        for segment in segments[first..].iter().take_while(|segment| segment.from < to) {
            self.s.pieces.extend(self.live.clip(segment, from, to));
        }
    }

    /// Makes a part of the pieces, if there are any.
    pub(crate) fn finish_part(&mut self, bundle: u32) {
        self.stats.steps += 1 + self.s.pieces.len() as u64;
        if !self.s.pieces.is_empty() {
            self.add_part(bundle);
        }
    }

    /// Makes a part of the uses between each two walls.
    fn split_at_walls(&mut self, bundle: u32) {
        let mut windows = std::mem::take(&mut self.s.windows);
        windows.clear();
        for segment in self.bundles.segments(bundle) {
            for u in self.live.uses_at(segment.uses()) {
                self.stats.steps += 1;
                if u.need == Need::Slot || u.is_def && self.live.remat(u.vreg).is_some() {
                    continue;
                }
                let (from, to) = (u.from().max(segment.from), u.to().min(segment.to));
                let walls = self.between_walls(*segment, if u.is_def { to - 1 } else { from });
                let freq = self.order.freq_at(from);
                let is_internal = self.is_internal(u);
                match windows.last_mut() {
                    Some(w) if w.walls == walls => w.add(from, to, freq, is_internal),
                    _ => windows.push(Window { walls, first: from, last: to, freq, is_internal }),
                }
            }
        }
        // Values of one bundle have walls of their own where only some are references: parts must not overlap all the same.
        let mut done = 0;
        for (i, w) in windows.iter().enumerate().filter(|(_, w)| !w.is_internal) {
            let next = windows.get(i + 1).map_or(u32::MAX, |next| next.first);
            self.tell_split(bundle, w.first);
            let start = w.walls.0.max(done).min(w.first);
            done = self.part(bundle, (start, w.walls.1.min(next).max(w.last)), (w.first, w.last));
        }
        self.s.windows = windows;
    }

    /// The first place after the wall before a point, and the wall after it.
    fn between_walls(&self, segment: Segment, point: u32) -> (u32, u32) {
        let next = self.machine.walls_before(point);
        let low = if next == 0 { 0 } else { self.machine.wall(next - 1) / 4 * 4 + 4 };
        let (mut low, mut high) = (low, self.machine.wall(next));
        if self.problem.vregs[segment.vreg].is_ref {
            let (before, after) = self.machine.between_safepoints(point);
            (low, high) = (low.max(before), high.min(after));
        }
        (low, high)
    }

    /// Cuts to minimal bundles, one for each instruction that needs a register.
    pub(crate) fn shatter(&mut self, bundle: u32) {
        let mut cuts = std::mem::take(&mut self.s.cuts);
        cuts.clear();
        for segment in self.bundles.segments(bundle) {
            for u in self.live.uses_at(segment.uses()) {
                if !matches!(self.need(u), Need::Reg | Need::Within) {
                    continue;
                }
                let (from, to) = (u.from().max(segment.from), u.to().min(segment.to));
                match cuts.last_mut() {
                    Some(last) if last.1 > from => last.1 = last.1.max(to),
                    _ => cuts.push((from, to)),
                }
            }
        }
        for &(from, to) in &cuts {
            self.cut_out(bundle, from, to);
        }
        self.s.cuts = cuts;
    }
}
