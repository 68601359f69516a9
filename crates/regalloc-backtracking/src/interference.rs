//! The bundles assigned to each register at each point. A tree of register masks over the points answers queries
//! for all registers at once. A sorted list of assigned segments per register names the interfering bundles.
//!
//! ```text
//! level 1   [r0 r1 ....           ]   taken somewhere below · own: taken by one segment over the whole node
//! level 0   [r0][r0 r1][r1][ ]...      one node per point, 32 to a node above
//! ```
//!
//! A segment marks the fewest nodes that cover its points, so a query or a mark costs a few words per level. The
//! registers that instructions reserve are also kept separately, because an operand's own value may be in its
//! register.
//!
//! Cost: a query is logarithmic in its points; an update is too, and also logarithmic in the segments of the
//! register.

use crate::bundles::Bundle;
use kingpost_regalloc::meter::heap_bytes;
use kingpost_regalloc_common::point::{PointRange, ProgPoint};
use kingpost_regalloc_common::preference::Reg;
use kingpost_regalloc_common::release;
use std::ops::Range;

/// Binary logarithm of the number of children of a node.
const SHIFT: usize = 5;
const RADIX: usize = 1 << SHIFT;

/// Number of levels that suffices for all points that can be numbered.
const MAX_LEVELS: usize = 7;

/// Number of nodes beyond which the segments are not kept for the next problem.
const MAX_KEPT: usize = 1 << 18;

/// Number of segments in one chunk of a list.
const CHUNK: usize = 64;

/// Points over which a register is assigned to a bundle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Assigned {
    pub(crate) points: PointRange,
    pub(crate) bundle: Bundle,
}

/// Registers that are taken over a range, by number in the order of allocation.
#[derive(Clone, Copy, Default)]
pub(crate) struct Taken {
    /// All taken registers.
    pub(crate) any: u64,
    /// Taken registers that instructions reserve for operands or destroy.
    pub(crate) reserved: u64,
}

impl Taken {
    /// Returns the registers taken in either of two ranges.
    pub(crate) fn union(self, other: Taken) -> Taken {
        Taken { any: self.any | other.any, reserved: self.reserved | other.reserved }
    }
}

/// The interference of one register class. The registers taken at a node are a set, as in [`Taken`].
#[derive(Default)]
pub(crate) struct Interference {
    /// Registers taken at each node, for all levels, points first.
    nodes: Vec<u64>,
    /// The part of them that instructions reserve for operands or destroy. A separate table, because in most large
    /// problems most of it is never written.
    reserved: Vec<u64>,
    /// From level 1 on: the registers that one segment takes over the whole node.
    own: Vec<u64>,
    /// Start of each level in `nodes`.
    starts: [usize; MAX_LEVELS],
    levels: usize,
    /// The segments of each register.
    registers: Vec<AssignedList>,
    spare: Vec<Vec<Assigned>>,
}

heap_bytes!(Interference { nodes, reserved, own, registers, spare } without { starts, levels });

impl Interference {
    /// Clears the table for `points` points and `registers` registers. There are no points if the class is not
    /// used.
    pub(crate) fn reset(&mut self, points: usize, registers: usize) {
        self.levels = 0;
        let (mut total, mut nodes) = (0, points);
        loop {
            self.starts[self.levels] = total;
            self.levels += 1;
            total += nodes;
            if nodes <= RADIX {
                break;
            }
            nodes = nodes.div_ceil(RADIX);
        }
        for table in [&mut self.nodes, &mut self.reserved] {
            if total > MAX_KEPT {
                // Zeroed pages take no memory before they are written, which happens after coalescing.
                *table = vec![0; total];
            } else {
                table.clear();
                table.resize(total, 0);
            }
        }
        self.own.clear();
        self.own.resize(total - points, 0);
        self.registers.resize_with(registers, AssignedList::default);
        for list in &mut self.registers {
            list.pending.clear();
            list.firsts.clear();
            self.spare.extend(list.chunks.drain(..).map(|mut chunk| {
                chunk.clear();
                chunk
            }));
        }
    }

    /// Frees the memory of a large problem that records the bundles of registers.
    pub(crate) fn release(&mut self) {
        if self.nodes.len() > MAX_KEPT {
            self.registers.iter_mut().for_each(|list| release(&mut list.pending));
            self.registers.clear();
            self.spare.clear();
        }
    }

    /// Returns `true` if there are no points.
    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Reserves registers at a point for an instruction.
    pub(crate) fn reserve(&mut self, point: ProgPoint, registers: u64) {
        if self.is_empty() {
            return;
        }
        let mut at = point.index();
        for &start in &self.starts[..self.levels] {
            let node = &mut self.reserved[start + at];
            let with = *node | registers;
            if *node == with {
                break;
            }
            *node = with;
            self.nodes[start + at] |= registers;
            at >>= SHIFT;
        }
    }

    /// Calls `f` for the fewest nodes that cover the points, with their indices in `nodes`.
    #[inline(always)]
    fn decompose(&self, points: PointRange, mut f: impl FnMut(Range<usize>)) {
        let Range { start: mut a, end: mut b } = indices(points);
        for (level, &start) in self.starts[..self.levels].iter().enumerate() {
            let is_top = level + 1 == self.levels;
            if is_top || (a >> SHIFT == (b - 1) >> SHIFT && !(a | b).is_multiple_of(RADIX)) {
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
        let taken = self.own_above(points.from.index(), 1);
        if is_short(points) {
            return taken | union(&self.nodes[indices(points)]);
        }
        taken | self.own_above(points.to.index() - 1, 1) | self.union_of(&self.nodes, points)
    }

    /// Returns the registers taken at any of the points, and which of them are reserved.
    pub(crate) fn taken_and_reserved(&self, points: PointRange) -> Taken {
        let mut taken = Taken { any: self.own_above(points.from.index(), 1), reserved: 0 };
        if is_short(points) {
            return taken.union(self.union_of_both(indices(points)));
        }
        taken.any |= self.own_above(points.to.index() - 1, 1);
        self.decompose(points, |nodes| taken = taken.union(self.union_of_both(nodes)));
        taken
    }

    #[inline]
    fn union_of_both(&self, nodes: Range<usize>) -> Taken {
        let (fours, rest) = self.nodes[nodes.clone()].as_chunks::<4>();
        let (reserved_fours, reserved_rest) = self.reserved[nodes].as_chunks::<4>();
        let (mut any, mut reserved) = (0, 0);
        for ([a, b, c, d], [e, f, g, h]) in fours.iter().zip(reserved_fours) {
            (any, reserved) = (any | a | b | c | d, reserved | e | f | g | h);
        }
        for (node, of_it) in rest.iter().zip(reserved_rest) {
            (any, reserved) = (any | node, reserved | of_it);
        }
        Taken { any, reserved }
    }

    /// Returns the registers that instructions reserve for operands or destroy at any of the points.
    pub(crate) fn reserved(&self, points: PointRange) -> u64 {
        if is_short(points) {
            return union(&self.reserved[indices(points)]);
        }
        self.union_of(&self.reserved, points)
    }

    /// Returns the union of a table's entries over the nodes of the points.
    fn union_of(&self, table: &[u64], points: PointRange) -> u64 {
        let mut all = 0;
        self.decompose(points, |nodes| all |= union(&table[nodes]));
        all
    }

    /// Returns the registers taken at a point.
    pub(crate) fn taken_at(&self, point: ProgPoint) -> u64 {
        self.nodes[point.index()] | self.own_above(point.index(), 1)
    }

    /// Returns the index of a node in `own`, from level 1 on.
    fn own_index(&self, level: usize, node: usize) -> usize {
        self.starts[level] - self.starts[1] + node
    }

    /// Returns the registers that segments take over whole nodes above a point, from a level on.
    fn own_above(&self, point: usize, level: usize) -> u64 {
        let levels = level..self.levels;
        levels.fold(0, |mask, level| mask | self.own[self.own_index(level, point >> (SHIFT * level))])
    }

    /// Removes from `candidates` the registers taken at the points. Stops at the point at which no candidate is
    /// left, and returns it.
    pub(crate) fn remove_taken(&self, points: PointRange, candidates: &mut u64) -> Option<ProgPoint> {
        let left = *candidates & !self.taken(points);
        if left != 0 {
            *candidates = left;
            return None;
        }
        let Range { start: mut point, end: mut to } = indices(points);
        let mut highest = self.levels - 1;
        while point < to {
            let mut level = 0;
            while level < highest && point.is_multiple_of(size(level + 1)) && point + size(level + 1) <= to {
                level += 1;
            }
            let free = *candidates & !self.own_above(point, level + 1);
            let first = point >> (SHIFT * level);
            let end = (to >> (SHIFT * level)).min((first + 1).next_multiple_of(RADIX));
            let nodes = &self.nodes[self.starts[level] + first..self.starts[level] + end];
            let mut left = free;
            let full = nodes.iter().position(|node| {
                let rest = left & !node;
                left = if rest == 0 { left } else { rest };
                rest == 0
            });
            match full {
                None => point = end << (SHIFT * level),
                Some(node) if level == 0 || free == 0 => {
                    *candidates = 0;
                    return Some(ProgPoint::from_index(point + node));
                }
                Some(node) => {
                    point = (first + node) << (SHIFT * level);
                    (to, highest) = (point + size(level), level - 1);
                }
            }
            *candidates = left;
        }
        None
    }

    /// Assigns a register to a bundle over some points.
    pub(crate) fn insert(&mut self, reg: Reg, points: PointRange, bundle: Bundle) {
        self.registers[reg.number()].pending.push(Assigned { points, bundle });
        self.take(reg, points);
    }

    /// Takes a register over some points permanently, for a value that is in no bundle there.
    pub(crate) fn take(&mut self, reg: Reg, points: PointRange) {
        let bit = reg.bit();
        if is_short(points) {
            self.nodes[indices(points)].iter_mut().for_each(|node| *node |= bit);
        } else {
            let first = self.starts[1];
            let (mut nodes, mut own) = (std::mem::take(&mut self.nodes), std::mem::take(&mut self.own));
            self.decompose(points, |range| {
                if range.start >= first {
                    own[range.start - first..range.end - first].iter_mut().for_each(|node| *node |= bit);
                }
                nodes[range].iter_mut().for_each(|node| *node |= bit);
            });
            (self.nodes, self.own) = (nodes, own);
        }
        let (mut a, mut b) = (points.from.index(), points.to.index() - 1);
        for &start in &self.starts[1..self.levels] {
            (a, b) = (a >> SHIFT, b >> SHIFT);
            if a == b && self.nodes[start + a] & bit != 0 {
                // The register is then taken on all levels above.
                break;
            }
            self.nodes[start + a] |= bit;
            self.nodes[start + b] |= bit;
        }
    }

    /// Undoes [`Interference::insert`].
    pub(crate) fn remove(&mut self, reg: Reg, points: PointRange) {
        self.sort(reg);
        self.registers[reg.number()].remove(points.from);
        let bit = reg.bit();
        if is_short(points) {
            clear(&mut self.nodes[indices(points)], &self.reserved[indices(points)], bit);
        } else {
            let first = self.starts[1];
            let (mut nodes, mut own) = (std::mem::take(&mut self.nodes), std::mem::take(&mut self.own));
            self.decompose(points, |range| {
                if range.start >= first {
                    own[range.start - first..range.end - first].iter_mut().for_each(|node| *node &= !bit);
                }
                clear(&mut nodes[range.clone()], &self.reserved[range], bit);
            });
            (self.nodes, self.own) = (nodes, own);
        }
        let (mut a, mut b) = (points.from.index(), points.to.index() - 1);
        let (mut is_left_gone, mut is_right_gone) = (true, true);
        for level in 1..self.levels {
            (a, b) = (a >> SHIFT, b >> SHIFT);
            is_left_gone = is_left_gone && self.clear_if_free(level, a, bit);
            is_right_gone = is_right_gone && if a == b { is_left_gone } else { self.clear_if_free(level, b, bit) };
            if !is_left_gone && !is_right_gone {
                // The register was then taken before, here and on all levels above.
                break;
            }
        }
    }

    /// Clears a node's mark if the register is free everywhere below it. Returns `true` if it is.
    fn clear_if_free(&mut self, level: usize, node: usize, bit: u64) -> bool {
        let (start, end) = (self.starts[level - 1], self.starts[level]);
        let children = start + (node << SHIFT)..(start + ((node + 1) << SHIFT)).min(end);
        let is_free = (self.own[self.own_index(level, node)] | union(&self.nodes[children])) & bit == 0;
        if is_free {
            // A register reserved below the node is taken there.
            self.nodes[end + node] &= !bit;
        }
        is_free
    }

    /// Sorts the segments of a register, as [`Interference::assigned_in`] requires.
    pub(crate) fn sort(&mut self, reg: Reg) {
        let list = &mut self.registers[reg.number()];
        if !list.pending.is_empty() {
            list.sort(&mut self.spare);
        }
    }

    /// Returns the segments that have a register at some of the points, in order. Requires [`Interference::sort`]
    /// before.
    #[inline]
    pub(crate) fn assigned_in(&self, reg: Reg, points: PointRange) -> AssignedIn<'_> {
        let list = &self.registers[reg.number()];
        debug_assert!(list.pending.is_empty(), "the segments of {reg:?} are not sorted");
        let is_before = |assigned: &Assigned| assigned.points.to <= points.from;
        let Some((chunk, rest)) = list.chunks.get(list.chunk_of(points.from)..).and_then(<[_]>::split_first) else {
            return AssignedIn { next: [].iter(), rest: &[], to: points.to };
        };
        AssignedIn { next: chunk[chunk.partition_point(is_before)..].iter(), rest, to: points.to }
    }
}

/// See [`Interference::assigned_in`].
pub(crate) struct AssignedIn<'a> {
    next: std::slice::Iter<'a, Assigned>,
    /// Remaining chunks.
    rest: &'a [Vec<Assigned>],
    to: ProgPoint,
}

impl<'a> Iterator for AssignedIn<'a> {
    type Item = &'a Assigned;

    fn next(&mut self) -> Option<&'a Assigned> {
        let assigned = match self.next.next() {
            Some(assigned) => assigned,
            None => {
                let (chunk, rest) = self.rest.split_first()?;
                (self.next, self.rest) = (chunk.iter(), rest);
                self.next.next()?
            }
        };
        (assigned.points.from < self.to).then_some(assigned)
    }
}

fn indices(points: PointRange) -> Range<usize> {
    points.from.index()..points.to.index()
}

fn union(nodes: &[u64]) -> u64 {
    let (fours, rest) = nodes.as_chunks::<4>();
    let union = fours.iter().fold(0, |union, [a, b, c, d]| union | a | b | c | d);
    rest.iter().fold(union, |union, node| union | node)
}

/// Clears a register's bit in the nodes that do not reserve it.
fn clear(nodes: &mut [u64], reserved: &[u64], bit: u64) {
    nodes.iter_mut().zip(reserved).for_each(|(node, reserved)| *node &= !bit | reserved);
}

/// Returns the number of points below a node.
fn size(level: usize) -> usize {
    1 << (SHIFT * level)
}

/// Returns `true` if the points are below one node of level 1.
fn is_short(points: PointRange) -> bool {
    points.from.index() >> SHIFT == (points.to.index() - 1) >> SHIFT
}

/// The segments of one register in order, in non-empty chunks.
#[derive(Default)]
struct AssignedList {
    chunks: Vec<Vec<Assigned>>,
    /// First point of each chunk, so that a search among many chunks touches few cache lines.
    firsts: Vec<ProgPoint>,
    /// Segments added since the last [`AssignedList::sort`]. Most registers of most functions are never sorted.
    pending: Vec<Assigned>,
}

impl AssignedList {
    #[inline(never)]
    fn sort(&mut self, spare: &mut Vec<Vec<Assigned>>) {
        let mut pending = std::mem::take(&mut self.pending);
        pending.sort_unstable_by_key(|assigned| assigned.points.from);
        if let ([], [first, ..]) = (self.chunks.as_slice(), pending.as_slice()) {
            self.add_chunk(0, first.points.from, spare);
        }
        for &assigned in &pending {
            self.insert(assigned, spare);
        }
        pending.clear();
        self.pending = pending;
    }

    /// Returns the chunk of the last segment that begins at or before a point, or the first chunk.
    fn chunk_of(&self, point: ProgPoint) -> usize {
        match self.firsts.as_slice() {
            [] | [_] => 0,
            firsts => firsts.partition_point(|&first| first <= point).saturating_sub(1),
        }
    }

    fn add_chunk(&mut self, number: usize, first: ProgPoint, spare: &mut Vec<Vec<Assigned>>) {
        self.chunks.insert(number, spare.pop().unwrap_or_else(|| Vec::with_capacity(CHUNK)));
        self.firsts.insert(number, first);
    }

    fn insert(&mut self, assigned: Assigned, spare: &mut Vec<Vec<Assigned>>) {
        let from = assigned.points.from;
        let chunk = self.chunk_of(from);
        let list = &mut self.chunks[chunk];
        let at = list.partition_point(|other| other.points.from < from);
        list.insert(at, assigned);
        if at == 0 {
            self.firsts[chunk] = from;
        }
        if list.len() >= CHUNK {
            // Insertion in order leaves full chunks.
            let keep = if at + 1 == list.len() { at } else { CHUNK / 2 };
            let first = list[keep].points.from;
            self.add_chunk(chunk + 1, first, spare);
            let [list, upper] = &mut self.chunks[chunk..][..2] else { return };
            upper.extend(list.drain(keep..));
        }
    }

    fn remove(&mut self, from: ProgPoint) {
        let chunk = self.chunk_of(from);
        let Some(list) = self.chunks.get_mut(chunk) else { return };
        let at = list.partition_point(|assigned| assigned.points.from < from);
        debug_assert!(list.get(at).is_some_and(|assigned| assigned.points.from == from), "no segment begins at {from}");
        list.remove(at);
        match list.first() {
            Some(first) if at == 0 => self.firsts[chunk] = first.points.from,
            Some(_) => (),
            None => {
                self.chunks.remove(chunk);
                self.firsts.remove(chunk);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares every answer with a plain table of points.
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
            assert_eq!(
                interference.assigned_in(reg, points).map(|assigned| assigned.bundle).collect::<Vec<_>>(),
                expected
            );
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
