//! Where a bundle is cut: before what is in its way, in the coldest block on the way there, out of loops.
//!
//! A part begins with its first use and ends with its last, or with the loops around those that it lives through; the
//! rest is in memory.

use crate::live::{Need, Segment};
use crate::order::NONE;
use crate::search::Search;

/// A bundle that was cut this often is cut to minimal ones.
const MAX_CUTS: u32 = 10;

/// Blocks looked at for a cold one.
const MAX_BLOCKS: u32 = 64;

impl Search<'_> {
    /// Cuts a bundle that some register could hold up to point `conflict`.
    pub(crate) fn split(&mut self, bundle: u32, conflict: u32) {
        let cuts = self.bundles.bundles[bundle as usize].cuts;
        let at = if cuts >= MAX_CUTS || self.is_exhausted() { None } else { self.cut_point(bundle, conflict) };
        match at {
            Some(at) => {
                self.part(bundle, 0, at);
                self.part(bundle, at, u32::MAX);
            }
            None => self.shatter(bundle),
        }
    }

    /// The place where values change places, after the last use before the conflict or before the first one after it.
    fn cut_point(&mut self, bundle: u32, conflict: u32) -> Option<u32> {
        let segments = self.bundles.segments(bundle);
        let (start, end) = (segments[0].from, segments[segments.len() - 1].to);
        let (mut before, mut after) = (start, end);
        let mut steps = 0;
        for &segment in segments {
            for i in self.live.uses_in(segment) {
                steps += 1;
                let u = self.live.use_at(i);
                if u.need == Need::Slot {
                    continue;
                }
                if u.to() <= conflict || u.from() < conflict / 4 * 4 {
                    before = before.max(u.to());
                } else {
                    after = after.min(u.from().max(start));
                }
            }
        }
        self.stats.steps += steps;
        let conflict = conflict / 4 * 4;
        let (low, high) = match before > start && conflict > start {
            true => (before.next_multiple_of(4), conflict),
            // Nothing can be done before the conflict: what follows it may have better luck.
            false => ((conflict + 4).max(start / 4 * 4 + 4), after.max(conflict + 4) / 4 * 4),
        };
        let at = self.coldest(low.min(high), high);
        (at > start && at < end).then_some(at)
    }

    /// The coldest place in `low..=high`, a later one if there are several.
    fn coldest(&self, low: u32, high: u32) -> u32 {
        let last = self.order.num_slots() as u32 * 4 - 4;
        let (low, high) = (low.min(last), high.min(last));
        let (first_block, last_block) = (self.order.index_at(low), self.order.index_at(high));
        let mut best = high;
        let mut freq = self.order.freq_at(high);
        for i in ((first_block + 1)..=last_block).rev().take(MAX_BLOCKS as usize) {
            let place = &self.order.places[i as usize];
            if place.freq < freq {
                (best, freq) = (place.start(), place.freq);
            }
        }
        if self.order.freq_at(low) < freq { low } else { best }
    }

    /// Makes a bundle of what is in `from..to`, less the ends where nothing happens.
    fn part(&mut self, bundle: u32, from: u32, to: u32) {
        let (mut first, mut last) = (u32::MAX, 0);
        for i in 0..self.bundles.segments(bundle).len() {
            let segment = self.bundles.segments(bundle)[i];
            let inside = Segment { from: segment.from.max(from), to: segment.to.min(to), ..segment };
            for i in self.live.uses_in(inside) {
                let u = self.live.use_at(i);
                let is_anywhere = u.is_def && self.live.remat(u.vreg).is_some();
                if u.need != Need::Slot && !is_anywhere {
                    first = first.min(u.from());
                    last = last.max(u.to());
                }
            }
        }
        if first == u32::MAX {
            return;
        }
        let segments = self.bundles.segments(bundle);
        let start = segments[0].from.max(from);
        let end = segments[segments.len() - 1].to.min(to);
        let (first, last) = self.around_loops(start, end, first.max(start), last.min(end));
        self.cut_out(bundle, first, last);
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

    fn cut_out(&mut self, bundle: u32, from: u32, to: u32) {
        self.s.pieces.clear();
        let b = self.bundles.bundles[bundle as usize];
        for &segment in &self.bundles.segments[b.start as usize..b.end as usize] {
            let piece = Segment { from: segment.from.max(from), to: segment.to.min(to), ..segment };
            if piece.from < piece.to {
                self.s.pieces.push(piece);
            }
        }
        if !self.s.pieces.is_empty() {
            self.add_part(bundle);
        }
    }

    /// Cuts to minimal bundles, one for each instruction that needs a register.
    pub(crate) fn shatter(&mut self, bundle: u32) {
        let mut cuts = std::mem::take(&mut self.s.cuts);
        cuts.clear();
        for i in 0..self.bundles.segments(bundle).len() {
            let segment = self.bundles.segments(bundle)[i];
            for i in self.live.uses_in(segment) {
                let u = self.live.use_at(i);
                if !matches!(self.need(&u), Need::Reg | Need::Within(_)) {
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
