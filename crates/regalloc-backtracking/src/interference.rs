//! Which bundle is in which register when: a tree of register masks over the points, which answers for all registers at once,
//! and a sorted list of assigned segments for each register, which names the bundles in the way.
//!
//! ```text
//! level 1   [r0 r1 ....           ]   any: taken somewhere below · own: taken by one segment over the whole node
//! level 0   [r0][r0 r1][r1][ ]...      one mask per point, 16 to a node
//! ```
//!
//! A segment marks the fewest nodes that make up its points, so a query or a mark costs a few words per level. What
//! instructions reserve is kept a second time by itself, since an operand's own value may be in its register.
//!
//! Cost: a query is logarithmic in its points; an update too, and in the segments of the register.

use crate::bundles::Bundle;
use kingpost_regalloc_common::point::{PointRange, ProgPoint};
use kingpost_regalloc_common::preference::Reg;
use std::ops::Range;

/// Children of a node, as a power of two.
const SHIFT: usize = 4;
const RADIX: usize = 1 << SHIFT;

/// Segments in one chunk of a list.
const CHUNK: usize = 64;

/// Points over which a register is assigned to a bundle.
#[derive(Clone, Copy, Debug)]
struct Assigned {
    points: PointRange,
    bundle: Bundle,
}

/// The registers of one class.
#[derive(Default)]
pub(crate) struct Interference {
    /// All levels, points first: what is taken somewhere below, by number in the order of allocation.
    any: Vec<u64>,
    /// The same for what instructions reserve for operands or destroy.
    reserved: Vec<u64>,
    /// From level 1 on: what one segment takes of the whole node.
    own: Vec<u64>,
    /// Where each level starts in `any`.
    starts: Vec<usize>,
    /// By register: its segments.
    registers: Vec<AssignedList>,
    spare: Vec<Vec<Assigned>>,
}

impl Interference {
    /// Empties it for so many points and registers; for no points if the class is not used.
    pub(crate) fn reset(&mut self, points: usize, registers: usize) {
        self.starts.clear();
        let (mut total, mut nodes) = (0, points);
        loop {
            self.starts.push(total);
            total += nodes;
            if nodes <= RADIX {
                break;
            }
            nodes = nodes.div_ceil(RADIX);
        }
        self.any.clear();
        self.any.resize(total, 0);
        self.reserved.clear();
        self.reserved.resize(total, 0);
        self.own.clear();
        self.own.resize(total - points, 0);
        self.registers.resize_with(registers, AssignedList::default);
        for list in &mut self.registers {
            list.pending.clear();
            self.spare.extend(list.chunks.drain(..).map(|mut chunk| {
                chunk.clear();
                chunk
            }));
        }
    }

    /// Has it no points?
    pub(crate) fn is_empty(&self) -> bool {
        self.any.is_empty()
    }

    /// Reserves registers at a point for an instruction; [`Interference::sum_up`] must follow.
    pub(crate) fn reserve(&mut self, point: ProgPoint, registers: u64) {
        if let Some(node) = self.reserved.get_mut(point.index()) {
            *node |= registers;
        }
    }

    /// Completes the upper levels after calls of [`Interference::reserve`].
    pub(crate) fn sum_up(&mut self) {
        for level in 1..self.starts.len() {
            let (below, above) = self.reserved.split_at_mut(self.starts[level]);
            for (node, children) in above.iter_mut().zip(below[self.starts[level - 1]..].chunks(RADIX)) {
                *node = union(children);
            }
        }
        self.any.copy_from_slice(&self.reserved);
    }

    /// Reserves a register over some points for an instruction when the search is under way.
    pub(crate) fn reserve_later(&mut self, points: PointRange, reg: Reg) {
        for point in indices(points) {
            for level in 0..self.starts.len() {
                let node = self.starts[level] + (point >> (SHIFT * level));
                self.any[node] |= reg.bit();
                self.reserved[node] |= reg.bit();
            }
        }
    }

    /// Calls `f` for the fewest nodes that make up the points, with their indices in `any`.
    fn decompose(&self, points: PointRange, mut f: impl FnMut(Range<usize>)) {
        let Range { start: mut a, end: mut b } = indices(points);
        for (level, &start) in self.starts.iter().enumerate() {
            let is_top = level + 1 == self.starts.len();
            if is_top || (a >> SHIFT == (b - 1) >> SHIFT && (a | b) % RADIX != 0) {
                f(start + a..start + b);
                return;
            }
            let (left, right) = (a.next_multiple_of(RADIX), b / RADIX * RADIX);
            if a < left {
                f(start + a..start + left);
            }
            if right < b {
                f(start + right..start + b);
            }
            (a, b) = (left >> SHIFT, right >> SHIFT);
            if a == b {
                return;
            }
        }
    }

    /// Returns the registers taken at any of the points.
    pub(crate) fn taken(&self, points: PointRange) -> u64 {
        let mut taken = self.own_above(points.from.index(), 1);
        if is_short(points) {
            return taken | union(&self.any[indices(points)]);
        }
        taken |= self.own_above(points.to.index() - 1, 1);
        self.decompose(points, |nodes| taken |= union(&self.any[nodes]));
        taken
    }

    /// Returns those of them that instructions have reserved.
    pub(crate) fn reserved(&self, points: PointRange) -> u64 {
        if is_short(points) {
            return union(&self.reserved[indices(points)]);
        }
        let mut taken = 0;
        self.decompose(points, |nodes| taken |= union(&self.reserved[nodes]));
        taken
    }

    /// Returns the registers taken at a point.
    pub(crate) fn taken_at(&self, point: ProgPoint) -> u64 {
        self.any[point.index()] | self.own_above(point.index(), 1)
    }

    /// What segments take of whole nodes over a point, from a level on.
    fn own_above(&self, point: usize, level: usize) -> u64 {
        let levels = level..self.starts.len();
        levels.fold(0, |mask, level| mask | self.own[self.starts[level] - self.starts[1] + (point >> (SHIFT * level))])
    }

    /// Removes from `candidates` what is taken at the points, as far as the point at which nothing is left, if there is one.
    pub(crate) fn remove_taken(&self, points: PointRange, candidates: &mut u64) -> Option<ProgPoint> {
        let Range { start: mut point, end: to } = indices(points);
        let mut level = 0;
        while point < to {
            while level + 1 < self.starts.len()
                && point.is_multiple_of(RADIX << (SHIFT * level))
                && point + (RADIX << (SHIFT * level)) <= to
            {
                level += 1;
            }
            loop {
                let node = self.any[self.starts[level] + (point >> (SHIFT * level))];
                let left = *candidates & !node & !self.own_above(point, level + 1);
                if left != 0 {
                    *candidates = left;
                    break;
                }
                if level == 0 {
                    *candidates = 0;
                    return Some(ProgPoint::from_index(point));
                }
                level -= 1;
            }
            point += 1 << (SHIFT * level);
            while level > 0 && point + (1 << (SHIFT * level)) > to {
                level -= 1;
            }
        }
        None
    }

    /// Assigns a register to a bundle over some points.
    pub(crate) fn insert(&mut self, reg: Reg, points: PointRange, bundle: Bundle) {
        self.registers[reg.number()].pending.push(Assigned { points, bundle });
        self.take(reg, points);
    }

    /// Takes a register over some points for good, for a value that is in no bundle there.
    pub(crate) fn take(&mut self, reg: Reg, points: PointRange) {
        let bit = reg.bit();
        if is_short(points) {
            self.any[indices(points)].iter_mut().for_each(|node| *node |= bit);
        } else {
            let first = self.starts.get(1).copied().unwrap_or(usize::MAX);
            let (mut any, mut own) = (std::mem::take(&mut self.any), std::mem::take(&mut self.own));
            self.decompose(points, |nodes| {
                if nodes.start >= first {
                    own[nodes.start - first..nodes.end - first].iter_mut().for_each(|node| *node |= bit);
                }
                any[nodes].iter_mut().for_each(|node| *node |= bit);
            });
            (self.any, self.own) = (any, own);
        }
        let (mut a, mut b) = (points.from.index(), points.to.index() - 1);
        for &start in self.starts.iter().skip(1) {
            (a, b) = (a >> SHIFT, b >> SHIFT);
            self.any[start + a] |= bit;
            if a != b {
                self.any[start + b] |= bit;
            }
        }
    }

    /// Undoes [`Interference::insert`].
    pub(crate) fn remove(&mut self, reg: Reg, points: PointRange) {
        self.sort(reg);
        self.registers[reg.number()].remove(points.from);
        let (bit, first) = (reg.bit(), self.starts.get(1).copied().unwrap_or(usize::MAX));
        let (mut any, mut own) = (std::mem::take(&mut self.any), std::mem::take(&mut self.own));
        let mut clear = |nodes: Range<usize>| {
            for i in nodes {
                any[i] = any[i] & !bit | self.reserved[i] & bit;
                if i >= first {
                    own[i - first] &= !bit;
                }
            }
        };
        match is_short(points) {
            true => clear(indices(points)),
            false => self.decompose(points, clear),
        }
        (self.any, self.own) = (any, own);
        for point in [points.from.index(), points.to.index() - 1] {
            for level in 1..self.starts.len() {
                let node = point >> (SHIFT * level);
                let i = self.starts[level] + node;
                let (start, end) = (self.starts[level - 1], self.starts[level]);
                let children = start + (node << SHIFT)..(start + ((node + 1) << SHIFT)).min(end);
                if (self.own[i - first] | union(&self.any[children])) & bit != 0 {
                    // So it was before, here and on all levels above.
                    break;
                }
                self.any[i] &= !bit;
            }
        }
    }

    /// Sorts the segments of a register, as [`Interference::bundles_in`] needs.
    pub(crate) fn sort(&mut self, reg: Reg) {
        let Interference { registers, spare, .. } = self;
        registers[reg.number()].sort(spare);
    }

    /// Returns the bundles that have a register at some of the points, in order; [`Interference::sort`] must come first.
    pub(crate) fn bundles_in(&self, reg: Reg, points: PointRange) -> impl Iterator<Item = Bundle> + '_ {
        let list = &self.registers[reg.number()];
        debug_assert!(list.pending.is_empty(), "the segments of {reg:?} are not sorted");
        let is_before = |assigned: &Assigned| assigned.points.to <= points.from;
        let chunk = list.chunks.partition_point(|chunk| chunk.last().is_none_or(is_before));
        let start = list.chunks.get(chunk).map_or(0, |chunk| chunk.partition_point(is_before));
        let first = list.chunks.get(chunk).map_or(&[][..], |chunk| &chunk[start..]);
        let (mut rest, mut next) = (list.chunks.get(chunk + 1..).unwrap_or(&[]).iter(), first.iter());
        std::iter::from_fn(move || {
            let assigned = loop {
                match next.next() {
                    Some(assigned) => break assigned,
                    None => next = rest.next()?.iter(),
                }
            };
            (assigned.points.from < points.to).then_some(assigned.bundle)
        })
    }
}

fn indices(points: PointRange) -> Range<usize> {
    points.from.index()..points.to.index()
}

fn union(masks: &[u64]) -> u64 {
    masks.iter().fold(0, |union, mask| union | mask)
}

/// Are these points below one node of level 1?
fn is_short(points: PointRange) -> bool {
    points.from.index() >> SHIFT == (points.to.index() - 1) >> SHIFT
}

/// The segments of one register in order, in chunks that are never empty.
#[derive(Default)]
struct AssignedList {
    chunks: Vec<Vec<Assigned>>,
    /// Those added since the last [`AssignedList::sort`]: most registers of most functions are never sorted.
    pending: Vec<Assigned>,
}

impl AssignedList {
    fn sort(&mut self, spare: &mut Vec<Vec<Assigned>>) {
        if self.pending.is_empty() {
            return;
        }
        let mut pending = std::mem::take(&mut self.pending);
        pending.sort_unstable_by_key(|assigned| assigned.points.from);
        pending.drain(..).for_each(|assigned| self.insert(assigned, spare));
        self.pending = pending;
    }

    fn insert(&mut self, assigned: Assigned, spare: &mut Vec<Vec<Assigned>>) {
        let from = assigned.points.from;
        let chunk = self.chunks.partition_point(|chunk| chunk[0].points.from < from).saturating_sub(1);
        if self.chunks.is_empty() {
            self.chunks.push(spare.pop().unwrap_or_else(|| Vec::with_capacity(CHUNK)));
        }
        let list = &mut self.chunks[chunk];
        let at = list.partition_point(|other| other.points.from < from);
        list.insert(at, assigned);
        if list.len() >= CHUNK {
            // What comes in order leaves full chunks behind.
            let keep = if at + 1 == list.len() { at } else { CHUNK / 2 };
            let mut upper = spare.pop().unwrap_or_else(|| Vec::with_capacity(CHUNK));
            upper.extend(list.drain(keep..));
            self.chunks.insert(chunk + 1, upper);
        }
    }

    fn remove(&mut self, from: ProgPoint) {
        let chunk = self.chunks.partition_point(|chunk| chunk[0].points.from <= from).saturating_sub(1);
        let Some(list) = self.chunks.get_mut(chunk) else { return };
        let at = list.partition_point(|assigned| assigned.points.from < from);
        debug_assert!(list.get(at).is_some_and(|assigned| assigned.points.from == from), "no segment begins at {from}");
        list.remove(at);
        if list.is_empty() {
            self.chunks.remove(chunk);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every answer is compared with a plain table of points.
    #[test]
    fn masks_agree_with_a_table() {
        const POINTS: usize = 5000;
        let mut seed = 1u64;
        let mut random = move |below: usize| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) as usize % below
        };
        let mut interference = Interference::default();
        interference.reset(POINTS, 3);
        let mut table = vec![[None; 3]; POINTS];
        let mut lists = vec![];
        for bundle in (0..4000).map(Bundle::from_u32) {
            let length = 1 + [3, 40, 700][random(3)].min(random(700));
            let (from, register) = (random(POINTS - length), random(3));
            let reg = Reg::new(0, register as u32);
            let indices = from..from + length;
            let points = PointRange::new(ProgPoint::from_index(from), ProgPoint::from_index(from + length));
            let is_taken = |p: &usize, r: usize| table[*p][r].is_some();
            let taken = (0..3).filter(|&r| indices.clone().any(|p| is_taken(&p, r))).fold(0, |mask, r| mask | 1 << r);
            assert_eq!(interference.taken(points), taken);
            let (mut candidates, mut left) = (7, 7u64);
            let gone = indices.clone().find(|p| {
                left &= !(0..3).filter(|&r| is_taken(p, r)).fold(0, |mask, r| mask | 1 << r);
                left == 0
            });
            let end = interference.remove_taken(points, &mut candidates);
            assert_eq!((end.map(ProgPoint::index), candidates), (gone, left));
            let mut expected: Vec<Bundle> = indices.clone().filter_map(|p| table[p][register]).collect();
            expected.dedup();
            interference.sort(reg);
            assert_eq!(interference.bundles_in(reg, points).collect::<Vec<_>>(), expected);
            if taken >> register & 1 == 0 {
                interference.insert(reg, points, bundle);
                indices.for_each(|p| table[p][register] = Some(bundle));
                lists.push((points, register));
            } else if !lists.is_empty() && random(3) > 0 {
                let (points, register) = lists.swap_remove(random(lists.len()));
                interference.remove(Reg::new(0, register as u32), points);
                super::indices(points).for_each(|p| table[p][register] = None);
            }
        }
    }
}
