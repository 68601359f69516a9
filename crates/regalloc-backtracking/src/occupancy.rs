//! Who is in which register when: a tree of register masks over the points, which answers for all registers at once, and
//! a sorted list of tenants for each register, which says who is in the way.
//!
//! ```text
//! level 1   [r0 r1 ....           ]   any: taken somewhere below · own: taken by one tenant over the whole node
//! level 0   [r0][r0 r1][r1][ ]...      one mask per point, 16 to a node
//! ```
//!
//! A tenant marks the fewest nodes that make up its points, so a query or a mark costs a few words per level. What
//! instructions take for themselves is kept a second time by itself, since owners of operands may live there.

use crate::live::Segment;
use std::ops::Range;

/// Children of a node, as a power of two.
const SHIFT: usize = 4;
const RADIX: usize = 1 << SHIFT;

/// Tenants in one chunk of a list.
const CHUNK: usize = 64;

/// Who lives in a register over `from..to`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tenant {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) bundle: u32,
}

/// The registers of one class.
#[derive(Default)]
pub(crate) struct Occupancy {
    /// All levels, points first: what is taken somewhere below, by number in the order of allocation.
    any: Vec<u64>,
    /// The same for what instructions take for operands or destroy.
    fixed: Vec<u64>,
    /// From level 1 on: what one tenant takes of the whole node.
    own: Vec<u64>,
    /// Where each level starts in `any`.
    starts: Vec<usize>,
    lanes: Vec<Lane>,
    spare: Vec<Vec<Tenant>>,
}

impl Occupancy {
    /// Empties it for so many points and registers. No points may be given if nothing will be asked.
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
        self.fixed.clear();
        self.fixed.resize(total, 0);
        self.own.clear();
        self.own.resize(total - points, 0);
        self.lanes.resize_with(registers, Lane::default);
        for lane in &mut self.lanes {
            lane.pending.clear();
            self.spare.extend(lane.chunks.drain(..).map(|mut chunk| {
                chunk.clear();
                chunk
            }));
        }
    }

    /// Has it no points?
    pub(crate) fn is_empty(&self) -> bool {
        self.any.is_empty()
    }

    /// Takes registers at a point for an instruction; [`Occupancy::sum_up`] must follow.
    pub(crate) fn fix(&mut self, point: u32, registers: u64) {
        if let Some(node) = self.fixed.get_mut(point as usize) {
            *node |= registers;
        }
    }

    /// Completes the upper levels after calls of [`Occupancy::fix`].
    pub(crate) fn sum_up(&mut self) {
        for level in 1..self.starts.len() {
            let (below, above) = self.fixed.split_at_mut(self.starts[level]);
            for (node, children) in above.iter_mut().zip(below[self.starts[level - 1]..].chunks(RADIX)) {
                *node = union(children);
            }
        }
        self.any.copy_from_slice(&self.fixed);
    }

    /// Takes a register over some points for an instruction when the search is under way.
    pub(crate) fn fix_later(&mut self, from: u32, to: u32, register: usize) {
        for point in from as usize..to as usize {
            for level in 0..self.starts.len() {
                let node = self.starts[level] + (point >> (SHIFT * level));
                self.any[node] |= 1 << register;
                self.fixed[node] |= 1 << register;
            }
        }
    }

    /// Calls `f` for the fewest nodes that make up the points `from..to`: their level and places in `any`.
    fn decompose(&self, from: u32, to: u32, mut f: impl FnMut(Range<usize>)) {
        let (mut a, mut b) = (from as usize, to as usize);
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

    /// Which registers are taken anywhere in `from..to`?
    pub(crate) fn taken(&self, from: u32, to: u32) -> u64 {
        let mut taken = self.own_above(from, 1);
        if is_short(from, to) {
            return taken | union(&self.any[from as usize..to as usize]);
        }
        taken |= self.own_above(to - 1, 1);
        self.decompose(from, to, |nodes| taken |= union(&self.any[nodes]));
        taken
    }

    /// Which of them do instructions take?
    pub(crate) fn fixed(&self, from: u32, to: u32) -> u64 {
        if is_short(from, to) {
            return union(&self.fixed[from as usize..to as usize]);
        }
        let mut taken = 0;
        self.decompose(from, to, |nodes| taken |= union(&self.fixed[nodes]));
        taken
    }

    pub(crate) fn taken_at(&self, point: u32) -> u64 {
        self.any[point as usize] | self.own_above(point, 1)
    }

    /// What tenants of whole nodes take at a point, from a level on.
    fn own_above(&self, point: u32, level: usize) -> u64 {
        let levels = level..self.starts.len();
        levels.fold(0, |mask, level| {
            mask | self.own[self.starts[level] - self.starts[1] + (point as usize >> (SHIFT * level))]
        })
    }

    /// Strikes from `wanted` what is taken in `from..to`, as far as the point at which nothing is left, if there is one.
    pub(crate) fn strike(&self, from: u32, to: u32, wanted: &mut u64) -> Option<u32> {
        let (mut point, to) = (from as usize, to as usize);
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
                let left = *wanted & !node & !self.own_above(point as u32, level + 1);
                if left != 0 {
                    *wanted = left;
                    break;
                }
                if level == 0 {
                    *wanted = 0;
                    return Some(point as u32);
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

    /// Gives a register to a bundle over a segment.
    pub(crate) fn insert(&mut self, register: usize, segment: &Segment, bundle: u32) {
        let (from, to) = (segment.from, segment.to);
        self.lanes[register].pending.push(Tenant { from, to, bundle });
        let bit = 1u64 << register;
        if is_short(from, to) {
            self.any[from as usize..to as usize].iter_mut().for_each(|node| *node |= bit);
        } else {
            let first = self.starts.get(1).copied().unwrap_or(usize::MAX);
            let (mut any, mut own) = (std::mem::take(&mut self.any), std::mem::take(&mut self.own));
            self.decompose(from, to, |nodes| {
                if nodes.start >= first {
                    own[nodes.start - first..nodes.end - first].iter_mut().for_each(|node| *node |= bit);
                }
                any[nodes].iter_mut().for_each(|node| *node |= bit);
            });
            (self.any, self.own) = (any, own);
        }
        let (mut a, mut b) = (from as usize, to as usize - 1);
        for &start in self.starts.iter().skip(1) {
            (a, b) = (a >> SHIFT, b >> SHIFT);
            self.any[start + a] |= bit;
            if a != b {
                self.any[start + b] |= bit;
            }
        }
    }

    /// Takes it back.
    pub(crate) fn remove(&mut self, register: usize, segment: &Segment) {
        let (from, to) = (segment.from, segment.to);
        self.settle(register);
        self.lanes[register].remove(from);
        let (bit, first) = (1u64 << register, self.starts.get(1).copied().unwrap_or(usize::MAX));
        let (mut any, mut own) = (std::mem::take(&mut self.any), std::mem::take(&mut self.own));
        let mut clear = |nodes: Range<usize>| {
            for i in nodes {
                any[i] = any[i] & !bit | self.fixed[i] & bit;
                if i >= first {
                    own[i - first] &= !bit;
                }
            }
        };
        match is_short(from, to) {
            true => clear(from as usize..to as usize),
            false => self.decompose(from, to, clear),
        }
        (self.any, self.own) = (any, own);
        for point in [from as usize, to as usize - 1] {
            for level in 1..self.starts.len() {
                let node = point >> (SHIFT * level);
                let i = self.starts[level] + node;
                let (start, end) = (self.starts[level - 1], self.starts[level]);
                let children = start + (node << SHIFT)..(start + ((node + 1) << SHIFT)).min(end);
                let is_taken = (self.own[i - first] | union(&self.any[children])) & bit != 0;
                self.any[i] = if is_taken { self.any[i] | bit } else { self.any[i] & !bit };
            }
        }
    }

    /// Sorts the tenants of a register, as [`Occupancy::tenants`] needs.
    pub(crate) fn settle(&mut self, register: usize) {
        let Occupancy { lanes, spare, .. } = self;
        lanes[register].settle(spare);
    }

    /// Tenants of a register in `from..to`, in order; [`Occupancy::settle`] must come first.
    pub(crate) fn tenants(&self, register: usize, from: u32, to: u32) -> impl Iterator<Item = Tenant> + '_ {
        let lane = &self.lanes[register];
        debug_assert!(lane.pending.is_empty(), "register {register} is not settled");
        let chunk = lane.chunks.partition_point(|chunk| chunk.last().is_none_or(|last| last.to <= from));
        let start = lane.chunks.get(chunk).map_or(0, |chunk| chunk.partition_point(|tenant| tenant.to <= from));
        let first = lane.chunks.get(chunk).map_or(&[][..], |chunk| &chunk[start..]);
        let rest = lane.chunks.get(chunk + 1..).unwrap_or(&[]).iter().flatten();
        first.iter().chain(rest).take_while(move |tenant| tenant.from < to).copied()
    }
}

fn union(masks: &[u64]) -> u64 {
    masks.iter().fold(0, |union, mask| union | mask)
}

/// Are these points below one node of level 1?
fn is_short(from: u32, to: u32) -> bool {
    from as usize >> SHIFT == (to as usize - 1) >> SHIFT
}

/// The tenants of one register in order, in chunks that are never empty.
#[derive(Default)]
struct Lane {
    chunks: Vec<Vec<Tenant>>,
    /// Those that came since somebody asked last: for most registers of most code nobody ever asks.
    pending: Vec<Tenant>,
}

impl Lane {
    fn settle(&mut self, spare: &mut Vec<Vec<Tenant>>) {
        let mut pending = std::mem::take(&mut self.pending);
        pending.sort_unstable_by_key(|tenant| tenant.from);
        pending.drain(..).for_each(|tenant| self.insert(tenant, spare));
        self.pending = pending;
    }

    fn insert(&mut self, tenant: Tenant, spare: &mut Vec<Vec<Tenant>>) {
        let chunk = self.chunks.partition_point(|chunk| chunk[0].from < tenant.from).saturating_sub(1);
        if self.chunks.is_empty() {
            self.chunks.push(spare.pop().unwrap_or_else(|| Vec::with_capacity(CHUNK)));
        }
        let list = &mut self.chunks[chunk];
        let at = list.partition_point(|other| other.from < tenant.from);
        list.insert(at, tenant);
        if list.len() >= CHUNK {
            // What comes in order leaves full chunks behind.
            let keep = if at + 1 == list.len() { at } else { CHUNK / 2 };
            let mut upper = spare.pop().unwrap_or_else(|| Vec::with_capacity(CHUNK));
            upper.extend(list.drain(keep..));
            self.chunks.insert(chunk + 1, upper);
        }
    }

    fn remove(&mut self, from: u32) {
        let chunk = self.chunks.partition_point(|chunk| chunk[0].from <= from).saturating_sub(1);
        let Some(list) = self.chunks.get_mut(chunk) else { return };
        let at = list.partition_point(|tenant| tenant.from < from);
        debug_assert!(list.get(at).is_some_and(|tenant| tenant.from == from), "no tenant begins at {from}");
        list.remove(at);
        if list.is_empty() {
            self.chunks.remove(chunk);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order::NONE;
    use kingpost_regalloc::VReg;

    fn segment(from: u32, to: u32) -> Segment {
        Segment { from, to, vreg: VReg::from_u32(0), uses: 0, uses_end: 0 }
    }

    /// Every answer is compared with a plain table of points.
    #[test]
    fn masks_agree_with_a_table() {
        const POINTS: u32 = 5000;
        let mut seed = 1u64;
        let mut random = move |below: u32| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) as u32 % below
        };
        let mut occupancy = Occupancy::default();
        occupancy.reset(POINTS as usize, 3);
        let mut table = vec![[NONE; 3]; POINTS as usize];
        let mut lists = vec![];
        for bundle in 0..4000 {
            let length = 1 + [3, 40, 700][random(3) as usize].min(random(700));
            let (from, register) = (random(POINTS - length), random(3) as usize);
            let (s, points) = (segment(from, from + length), from as usize..(from + length) as usize);
            let taken =
                (0..3).filter(|&r| table[points.clone()].iter().any(|p| p[r] != NONE)).fold(0, |m, r| m | 1 << r);
            assert_eq!(occupancy.taken(s.from, s.to), taken);
            let mut wanted = 7;
            let mut left = 7u64;
            let gone = points.clone().find(|&p| {
                left &= !(0..3).filter(|&r| table[p][r] != NONE).fold(0, |m, r| m | 1 << r);
                left == 0
            });
            assert_eq!((occupancy.strike(s.from, s.to, &mut wanted), wanted), (gone.map(|p| p as u32), left));
            let mut who: Vec<u32> = table[points.clone()].iter().map(|p| p[register]).filter(|&b| b != NONE).collect();
            who.dedup();
            occupancy.settle(register);
            assert_eq!(occupancy.tenants(register, s.from, s.to).map(|t| t.bundle).collect::<Vec<_>>(), who);
            if taken >> register & 1 == 0 {
                occupancy.insert(register, &s, bundle);
                points.for_each(|p| table[p][register] = bundle);
                lists.push((s, register));
            } else if !lists.is_empty() && random(3) > 0 {
                let (s, register) = lists.swap_remove(random(lists.len() as u32) as usize);
                occupancy.remove(register, &s);
                (s.from..s.to).for_each(|p| table[p as usize][register] = NONE);
            }
        }
    }
}
