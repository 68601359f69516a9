//! Spills bundles only where they interfere with another one.
//!
//! ```text
//! bundle0: b0, loop b1, b2   -> r3        becomes        bundle2: b0, b2 -> r3        loaded on the edge b1 -> b2
//! bundle1: loop b1           -> split                    bundle1: loop b1 -> r3
//! ```
//!
//! The memory cost of a long bundle comes from all its uses, but few of them may be where another bundle needs its
//! register. So before a bundle is split, the search computes for each register the price of spilling the
//! interfering bundles: loads and stores of the uses there, loads at the exits of the region, and a store. If that
//! is less than the memory cost of the bundle, the interfering bundles keep their register outside, and their uses
//! inside become separate parts.
//!
//! This is interference region spilling (Bergner, Dahl, Engebretsen, O'Keefe, *Spill code minimization via
//! interference region spilling*, 1997). Cost: linear in the segments, uses, blocks and edges of the region, for
//! each register, and in a bounded number of segments of the spilled bundles.

use crate::bundles::{Bundle, BundleData, Weight};
use crate::liveness::Segment;
use crate::search::Search;
use crate::spill_weights::Requirements;
use kingpost_regalloc::{Freq, PReg};
use kingpost_regalloc_common::point::{PointRange, ProgPoint};
use kingpost_regalloc_common::preference::{Reg, regs};

/// Largest number of bundles that are spilled for another one.
const MAX_SPILLED: usize = 2;

/// Largest number of segments of a spilled bundle, which are visited for each region.
const MAX_SEGMENTS: usize = 1024;

/// Number of uses of a part beyond which its weight is not recomputed for each region.
const MANY_USES: usize = 256;

/// Least memory cost of a bundle for which the search pays.
const MIN_COST: u64 = 64 * Freq::ENTRY.0;

impl Search<'_, '_> {
    /// Frees a register by spilling its bundles where they interfere, if that costs less than the memory cost of
    /// the bundle. Returns the register. `reserved` are the registers that instructions reserve.
    pub(crate) fn spill_regions(&mut self, bundle: Bundle, r: &Requirements, reserved: u64) -> Option<Reg> {
        let data = self.bundles.bundles[bundle];
        // Parts, and bundles evicted from a register obtained in this way, could take it from each other
        // alternately.
        if r.is_minimal || data.splits > 0 || data.has_spilled() || self.is_exhausted() {
            return None;
        }
        let cost = self.cost(bundle);
        let mut least = if r.crosses_calls { cost.across_calls.min(cost.everywhere) } else { cost.everywhere };
        if least < MIN_COST {
            return None;
        }
        let class = r.class.index();
        let mut best = None;
        for reg in regs(class, r.allowed & !reserved & !self.unused[class]) {
            if let Some(price) = self.price_of_regions(bundle, reg, least) {
                (least, best) = (price, Some(reg));
                std::mem::swap(&mut self.s.interfering, &mut self.s.best);
            }
        }
        if best.is_some() {
            self.bundles.bundles[bundle].set_has_spilled();
            let mut spilled = std::mem::take(&mut self.s.best);
            spilled.drain(..).for_each(|other| self.spill_region(other, bundle));
            self.s.best = spilled;
        }
        best
    }

    /// Lists the interfering bundles of a register, and returns the price of spilling all of them if it is below
    /// `limit`.
    fn price_of_regions(&mut self, bundle: Bundle, reg: Reg, limit: u64) -> Option<u64> {
        self.interfering(bundle, reg, Weight::MINIMAL, MAX_SPILLED)?;
        let mut price = 0;
        for i in 0..self.s.interfering.len() {
            let other = self.s.interfering[i];
            if self.bundles.segments(other).len() > MAX_SEGMENTS {
                return None;
            }
            price += self.region_price(other, bundle, limit - price);
            if price >= limit {
                return None;
            }
        }
        Some(price)
    }

    /// Returns the price of spilling a bundle where another is live, or a value of at least `limit` if it is no
    /// less.
    fn region_price(&mut self, bundle: Bundle, other: Bundle, limit: u64) -> u64 {
        let (segments, regions) = (self.bundles.segments(bundle), self.bundles.segments(other));
        let is_whole = self.bundles.bundles[bundle].splits == 0;
        let (mut price, mut stored, mut steps) = (0u64, None, 0);
        'regions: for region in regions {
            for inside in self.live.clip_all(segments, region.range()) {
                steps += 2 + inside.uses().len() as u64;
                for u in self.live.uses_at(inside.uses()) {
                    price = price.saturating_add(self.use_cost(u) * self.order.freq_at(u.point.position()).0);
                }
                if is_whole
                    && stored.replace(inside.vreg) != Some(inside.vreg)
                    && self.live.remat(inside.vreg).is_none()
                {
                    price = price.saturating_add(2 * self.order.freq_at(self.live.def(inside.vreg).position()).0);
                }
                if price < limit {
                    price = price.saturating_add(self.exit_price(&inside, segments, regions));
                }
                if price >= limit {
                    break 'regions;
                }
            }
        }
        self.stats.steps += steps;
        price
    }

    /// Returns the price of the loads at the exits from a segment in a region.
    fn exit_price(&self, inside: &Segment, segments: &[Segment], regions: &[Segment]) -> u64 {
        let is_loaded = |point| is_live(segments, point) && !is_live(regions, point);
        let first = self.order.index_at(inside.from.position());
        let last = self.order.index_at(inside.to.prev().position());
        let mut freq = 0u64;
        for index in first.up_to(last.next()) {
            let block = self.order.block(index);
            if inside.to < block.stop() {
                freq += if is_loaded(inside.to.ceil()) { block.freq.0 } else { 0 };
                continue;
            }
            for succ in self.graph.succs(index) {
                freq += if is_loaded(self.order.block(succ.block).start()) { succ.freq.0 } else { 0 };
            }
        }
        self.load_cost(inside.vreg) * freq
    }

    /// Spills a bundle where another is live. Elsewhere it stays in its register.
    fn spill_region(&mut self, bundle: Bundle, other: Bundle) {
        let Some(preg) = self.bundles.bundles[bundle].reg else { return };
        self.unassign(bundle);
        self.trace_split(bundle, self.bundles.hull(other).0);
        self.cut_region(bundle, other);
        // Two parts, so that the next region is cut out of a smaller one.
        let kept = std::mem::take(&mut self.s.part);
        let start = self.bundles.hull(other).0;
        let (before, behind) = kept.split_at(kept.partition_point(|segment| segment.to <= start));
        self.keep_part(bundle, before, preg);
        self.keep_part(bundle, behind, preg);
        self.s.part = kept;
        let cuts = std::mem::take(&mut self.s.cuts);
        cuts.iter().for_each(|&points| self.cut_out(bundle, points));
        self.s.cuts = cuts;
        self.bundles.retire(bundle);
    }

    /// Adds a part of a bundle that stays in its register, if there are segments.
    fn keep_part(&mut self, bundle: Bundle, segments: &[Segment], preg: PReg) {
        if segments.is_empty() {
            return;
        }
        let BundleData { splits, weight, .. } = self.bundles.bundles[bundle];
        let part = self.bundles.add_part(bundle, segments);
        let crosses_calls = self.priority(part).crosses_calls();
        let data = &mut self.bundles.bundles[part];
        // Independent of the number of such spills, the search may split it as often as before.
        data.splits = splits.max(1);
        data.set_crosses_calls(crosses_calls);
        if segments.iter().map(|segment| segment.uses().len()).sum::<usize>() > MANY_USES {
            data.weight = weight;
        }
        self.stats.splits += 1;
        self.assign(part, self.reservations.registers.reg(preg));
    }

    /// Collects in the next part the segments outside the points at which another bundle is live, and lists the
    /// uses inside, joined per block.
    fn cut_region(&mut self, bundle: Bundle, other: Bundle) {
        let mut cuts = std::mem::take(&mut self.s.cuts);
        let regions = self.bundles.segments(other);
        self.s.part.clear();
        cuts.clear();
        for segment in self.bundles.segments(bundle) {
            let mut from = segment.from;
            let first = regions.partition_point(|region| region.to <= segment.from);
            for region in regions[first..].iter().take_while(|region| region.from < segment.to) {
                // A register that is written early is taken until the end of the instruction.
                let start = if region.from.position() <= from.position() { from } else { region.from };
                let stop = region.to.ceil().min(segment.to);
                let Some(inside) = self.live.clip(segment, start, stop) else { continue };
                let (mut end, mut last) = (start, None);
                for u in self.live.uses_at(inside.uses()).iter().filter(|u| self.counts(u)) {
                    let points = PointRange::new(u.start(), u.end()).intersection(segment.range());
                    // An operand may be read late at the start of the other bundle.
                    end = end.min(points.from);
                    let block = self.order.index_at(points.from.position());
                    match cuts.last_mut() {
                        Some(cut) if last == Some(block) || cut.to > points.from => cut.to = points.to.max(cut.to),
                        _ => cuts.push(points),
                    }
                    last = Some(block);
                }
                self.s.part.extend(self.live.clip(segment, from, end));
                from = stop;
            }
            self.s.part.extend(self.live.clip(segment, from, segment.to));
        }
        self.stats.steps += 1 + self.s.part.len() as u64;
        self.s.cuts = cuts;
    }
}

/// Returns `true` if one of the segments, which are in order, is live at a point.
fn is_live(segments: &[Segment], point: ProgPoint) -> bool {
    segments.get(segments.partition_point(|segment| segment.to <= point)).is_some_and(|segment| segment.from <= point)
}
