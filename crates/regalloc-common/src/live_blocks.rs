//! Live ranges of values that are used outside the blocks that define them.
//!
//! ```text
//! b0: def v0; branch b1, b2       v0 is live-in at b2 and live-out at b0: its ranges are
//! b1: ..; branch b3                   from its definition to the end of b0, and from the start of b2 to its use,
//! b2: use v0; branch b3               with a hole over b1, which lies between them in the order
//! ```
//!
//! The analysis is data flow backwards over the linear order, 64 values at once as the bits of a word, over the
//! range of blocks in which the values can be live (Aho, Lam, Sethi and Ullman, *Compilers*, 2006, section 9.2.5).
//! A sweep is repeated from the last edge back to a block whose live-in set grew, so that the result is exact for
//! irreducible loops too. Ranges are then found by comparing neighbors in the order, at a cost per change instead
//! of per block.
//!
//! Deep nests of loops take many sweeps, so all sweeps of a problem share a budget proportional to the input. After
//! the budget is exhausted, the caller may use [`LiveBlocks::hull_end`]: one range from the definition over all
//! uses and all loops around them that do not hold the definition. It is a superset of the exact live range.
//!
//! Cost: linear in uses, changes, and blocks swept, at most eight per position.

use crate::order::{BlockIndex, LinearOrder};
use crate::point::{PointRange, ProgPoint};
use crate::release;
use cranelift_entity::EntityRef;
use kingpost_regalloc::meter::MeterRef;
use kingpost_regalloc::meter::heap_bytes;
use kingpost_regalloc::{AllocError, Problem, VReg};
use std::ops::Range;

/// Budget of swept blocks, per position of the order.
const BLOCKS_PER_POSITION: usize = 8;

/// Marks a block with more than two successors.
const MORE: u32 = 1 << 31;

/// Factor by which the budget grows for values that need exact ranges.
const LAST_RESORT: usize = 64;

/// A use of a value.
#[derive(Clone, Copy, Debug)]
pub struct LiveUse {
    /// Point at which it is read.
    pub point: ProgPoint,
    /// End of its range if this is the last use.
    pub end: ProgPoint,
    /// The cursor of the next use.
    pub next: u32,
}

/// Definitions and uses of values, in the representation of an allocator.
pub trait DefsAndUses {
    /// Returns the definition of the value.
    fn def(&self, vreg: VReg) -> ProgPoint;
    /// Returns the last use of the value.
    fn last_use(&self, vreg: VReg) -> Option<ProgPoint>;
    /// Returns a cursor to the first use of the value.
    fn first_use(&self, vreg: VReg) -> u32;
    /// Returns the use at a cursor, or `None` after the last one. Uses ascend.
    fn use_at(&self, cursor: u32) -> Option<LiveUse>;
}

/// Facts of one block: one bit per value.
#[derive(Clone, Copy, Default)]
struct Words {
    /// Values used in the block and not defined in it.
    used: u64,
    /// Values defined in the block.
    defined: u64,
    live_in: u64,
    live_out: u64,
}

/// The analysis and its memory.
#[derive(Default)]
pub struct LiveBlocks {
    /// By [`BlockIndex`]. One more entry, at which no value is live, ends the list.
    words: Vec<Words>,
    /// By [`BlockIndex`], two successors. A missing successor is the entry at which no value is live. With more
    /// than two successors: [`MORE`] plus the start of the block's part of `more_succs`, and the end of that part.
    succs: Vec<[u32; 2]>,
    more_succs: Vec<u32>,
    /// Ranges in ascending order of their ends, each with the index of the value in its chunk.
    found: Vec<(u8, PointRange)>,
    visited: usize,
    /// Segment tree over the order: one more than the last source of an edge back to any block of a range, or 0.
    back_from: Vec<u32>,
}

heap_bytes!(LiveBlocks { words, succs, more_succs, found, back_from } without { visited });

impl LiveBlocks {
    /// Number of values analyzed at once.
    pub const CHUNK: usize = 64;

    /// Frees the memory of an unusually large problem, after its ranges have been found.
    pub fn release(&mut self) {
        release(&mut self.words);
        release(&mut self.succs);
        release(&mut self.more_succs);
        release(&mut self.found);
        release(&mut self.back_from);
    }

    /// Prepares for a problem.
    pub fn begin(&mut self, problem: &Problem, order: &LinearOrder) {
        let none = order.num_blocks() as u32;
        let target = |edge| order.index(problem.edge(edge).to).as_u32();
        self.succs.clear();
        self.more_succs.clear();
        for block in order.blocks().values() {
            self.succs.push(match *problem.succs(block.block) {
                [] => [none; 2],
                [edge] => [target(edge), none],
                [a, b] => [target(a), target(b)],
                ref edges => {
                    let start = self.more_succs.len() as u32;
                    self.more_succs.extend(edges.iter().map(|&edge| target(edge)));
                    [MORE | start, self.more_succs.len() as u32]
                }
            });
        }
        self.words.clear();
        self.words.resize(order.num_blocks() + 1, Words::default());
        self.back_from.clear();
        self.visited = 0;
    }

    /// Finds the live ranges of up to [`LiveBlocks::CHUNK`] values. Returns `false` if the budget is exhausted.
    /// With `needs_truth` the budget is larger: the ranges of references must be exact, because stack maps are.
    ///
    /// # Errors
    /// If the larger budget is exhausted as well, or the meter refuses.
    pub fn find(
        &mut self,
        order: &LinearOrder,
        values: &impl DefsAndUses,
        chunk: &[VReg],
        needs_truth: bool,
        meter: MeterRef<'_>,
    ) -> Result<bool, AllocError> {
        let times = if needs_truth { LAST_RESORT } else { 1 };
        let budget = times * (BLOCKS_PER_POSITION * order.num_positions() + 64);
        if self.visited <= budget {
            let (low, high) = self.window(order, values, chunk);
            self.note_blocks(order, values, chunk);
            let is_found = self.sweep(order, low, high, budget, meter)?;
            if is_found {
                self.read_ranges(order, values, chunk, low, high);
            }
            // No value is live outside of the range, and the next chunk relies on that.
            self.words[low..=high].fill(Words::default());
            if is_found {
                return Ok(true);
            }
        }
        match needs_truth {
            true => Err(AllocError::StepBudget { steps: self.visited as u64 }),
            false => Ok(false),
        }
    }

    /// Appends the ranges found, value by value and ascending, with no two adjacent. Calls `set` with the index of
    /// each value in the chunk and the indices of its ranges.
    pub fn append_to(&self, ranges: &mut Vec<PointRange>, values: usize, mut set: impl FnMut(usize, Range<u32>)) {
        let mut ends = [0u32; LiveBlocks::CHUNK];
        for &(k, _) in &self.found {
            ends[usize::from(k)] += 1;
        }
        let first = ranges.len() as u32;
        let mut start = first;
        for end in ends.iter_mut() {
            start += std::mem::replace(end, start);
        }
        ranges.resize(start as usize, PointRange::EMPTY);
        for &(k, range) in &self.found {
            let end = &mut ends[usize::from(k)];
            ranges[*end as usize] = range;
            *end += 1;
        }
        let mut start = first;
        for (k, &end) in ends[..values].iter().enumerate() {
            set(k, start..end);
            start = end;
        }
    }

    /// Returns the first and the last block of the range outside which none of the values is live.
    fn window(&mut self, order: &LinearOrder, values: &impl DefsAndUses, chunk: &[VReg]) -> (usize, usize) {
        if !order.is_forward() {
            return (0, order.num_blocks() - 1);
        }
        let first = chunk.iter().map(|&vreg| values.def(vreg)).min();
        // The block of the definition counts even if the value has no use.
        let last = chunk.iter().map(|&vreg| values.last_use(vreg).max(Some(values.def(vreg)))).max().flatten();
        let low = first.map_or(BlockIndex::FIRST, |point| order.index_at(point.position()));
        let high = last.map_or(low, |point| order.index_at(point.position())).max(low);
        (low.index(), self.last_reached(order, low.next(), high).index())
    }

    /// Records the blocks that define and use values. Takes one step for each use: the uses of a value are in a list by
    /// ascending points.
    fn note_blocks(&mut self, order: &LinearOrder, values: &impl DefsAndUses, chunk: &[VReg]) {
        for (k, &vreg) in chunk.iter().enumerate() {
            let bit = 1 << k;
            let def_block = order.index_at(values.def(vreg).position());
            self.words[def_block.index()].defined |= bit;
            let mut stop = ProgPoint::FIRST;
            let mut cursor = values.first_use(vreg);
            while let Some(next) = values.use_at(cursor) {
                cursor = next.next;
                if next.point < stop {
                    continue;
                }
                let index = order.index_at(next.point.position());
                stop = order.block(index).stop();
                if index != def_block {
                    self.words[index.index()].used |= bit;
                }
            }
        }
    }

    /// Repeats sweeps until there is no change. Returns `false` if the budget is exhausted.
    fn sweep(
        &mut self,
        order: &LinearOrder,
        low: usize,
        high: usize,
        budget: usize,
        meter: MeterRef<'_>,
    ) -> Result<bool, AllocError> {
        let mut next = Some(high);
        while let Some(from) = next.take() {
            self.visited += from + 1 - low;
            if self.visited > budget {
                return Ok(false);
            }
            meter.reserve((from + 1 - low) as u64)?;
            for at in (low..=from).rev() {
                let [a, b] = self.succs[at];
                let live_in = |to: u32| self.words[to as usize].live_in;
                let live_out = match a & MORE {
                    0 => live_in(a) | live_in(b),
                    _ => self.more_succs[(a & !MORE) as usize..b as usize].iter().fold(0, |all, &to| all | live_in(to)),
                };
                let words = &mut self.words[at];
                words.live_out = live_out;
                let live_in = words.used | (live_out & !words.defined);
                let changed = std::mem::replace(&mut words.live_in, live_in) != live_in;
                if changed && let Some(back) = order.last_back_edge(BlockIndex::new(at)) {
                    let back = back.index().min(high);
                    next = Some(next.map_or(back, |next: usize| next.max(back)));
                }
            }
        }
        Ok(true)
    }

    /// Finds the ranges by comparing each block with the block before it.
    fn read_ranges(&mut self, order: &LinearOrder, values: &impl DefsAndUses, chunk: &[VReg], low: usize, high: usize) {
        self.found.clear();
        let mut from = [ProgPoint::FIRST; LiveBlocks::CHUNK];
        let mut open = 0;
        let mut uses = [u32::MAX; LiveBlocks::CHUNK];
        for (first, &vreg) in uses.iter_mut().zip(chunk) {
            *first = values.first_use(vreg);
        }
        for (at, words) in (low..).zip(&self.words[low..=high]) {
            if words.defined == 0 && words.live_in == open && words.live_out == open {
                continue;
            }
            let block = order.block(BlockIndex::new(at));
            for k in bits(open & !words.live_in) {
                self.found.push((k as u8, PointRange::new(from[k], block.start())));
            }
            for k in bits(words.live_in & !open) {
                from[k] = block.start();
            }
            for k in bits(words.defined) {
                from[k] = values.def(chunk[k]);
            }
            for k in bits((words.live_in | words.defined) & !words.live_out) {
                let mut to = from[k];
                while let Some(next) = values.use_at(uses[k]).filter(|next| next.point < block.stop()) {
                    to = to.max(next.end);
                    uses[k] = next.next;
                }
                if words.defined >> k & 1 != 0 {
                    to = to.max(values.def(chunk[k]).next_position());
                }
                self.found.push((k as u8, PointRange::new(from[k], to)));
            }
            open = words.live_out & (words.live_in | words.defined);
        }
        for k in bits(open) {
            let stop = order.block(BlockIndex::new(high)).stop();
            self.found.push((k as u8, PointRange::new(from[k], stop)));
        }
    }

    /// Returns the end of one range from the definition that covers the last use, which ends at `end_of_use`, and
    /// all blocks of loops into which the value is live.
    pub fn hull_end(
        &mut self,
        order: &LinearOrder,
        def: ProgPoint,
        last_use: ProgPoint,
        end_of_use: ProgPoint,
    ) -> ProgPoint {
        let def_block = order.index_at(def.position());
        let last = order.index_at(last_use.position());
        let reached = self.last_reached(order, def_block.next(), last);
        // In a loop that does not hold the definition the value is live to the end; in any other block to its use.
        let is_in_loop = order.loops_around(last).next().is_some_and(|l| l.header > def_block);
        if reached == last && !is_in_loop { end_of_use } else { order.block(reached).stop() }
    }

    /// Returns the last block of the smallest range of blocks that begins with `from..=end` and holds the sources
    /// of all edges back into it, except of edges to blocks before `from`.
    fn last_reached(&mut self, order: &LinearOrder, from: BlockIndex, end: BlockIndex) -> BlockIndex {
        if self.back_from.is_empty() {
            self.build_tree(order);
        }
        let (mut from, mut end) = (from.index(), end.index());
        while from <= end {
            let reached = self.last_back(from, end + 1) as usize;
            (from, end) = (end + 1, end.max(reached.saturating_sub(1)));
        }
        BlockIndex::new(end)
    }

    fn build_tree(&mut self, order: &LinearOrder) {
        let n = order.num_blocks();
        self.back_from.resize(n, 0);
        let sources = order.indices().map(|index| order.last_back_edge(index));
        self.back_from.extend(sources.map(|last| last.map_or(0, |last| last.as_u32() + 1)));
        for i in (1..n).rev() {
            self.back_from[i] = self.back_from[2 * i].max(self.back_from[2 * i + 1]);
        }
    }

    /// Returns one more than the last source of an edge back to any of the blocks `from..end`, or 0.
    fn last_back(&self, from: usize, end: usize) -> u32 {
        let n = self.back_from.len() / 2;
        let (mut low, mut high, mut best) = (from + n, end + n, 0);
        while low < high {
            if low % 2 == 1 {
                best = best.max(self.back_from[low]);
                low += 1;
            }
            if high % 2 == 1 {
                high -= 1;
                best = best.max(self.back_from[high]);
            }
            low /= 2;
            high /= 2;
        }
        best
    }
}

/// Returns the numbers of the set bits, ascending.
fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (word != 0).then(|| {
            let bit = word.trailing_zeros() as usize;
            word &= word - 1;
            bit
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::point::Position;
    use kingpost_regalloc::{Block, ClobberId, Freq, InstFlags};

    /// Definitions and uses of values, each by block. A block has a body and a branch.
    struct Values {
        defs: Vec<ProgPoint>,
        uses: Vec<Vec<ProgPoint>>,
    }

    impl DefsAndUses for Values {
        fn def(&self, vreg: VReg) -> ProgPoint {
            self.defs[vreg.index()]
        }

        fn last_use(&self, vreg: VReg) -> Option<ProgPoint> {
            self.uses[vreg.index()].last().copied()
        }

        fn first_use(&self, vreg: VReg) -> u32 {
            vreg.as_u32() * 16
        }

        fn use_at(&self, cursor: u32) -> Option<LiveUse> {
            let &point = self.uses[cursor as usize / 16].get(cursor as usize % 16)?;
            Some(LiveUse { point, end: point.end_of_use(), next: cursor + 1 })
        }
    }

    struct Case {
        problem: Problem,
        order: LinearOrder,
        values: Values,
    }

    impl Case {
        /// Returns a problem with `blocks` blocks and the given edges. `values` has, per value, the block that
        /// defines it and the blocks that use it.
        fn new(blocks: u32, edges: &[(u32, u32)], values: &[(u32, &[u32])]) -> Case {
            let mut problem = Problem::default();
            for _ in 0..blocks {
                problem.begin_block(Freq::ENTRY, &[]);
                problem.push_inst(InstFlags::NONE, ClobberId::NONE);
                problem.push_inst(InstFlags::BRANCH, ClobberId::NONE);
            }
            for &(from, to) in edges {
                problem.add_edge(Block::from_u32(from), Block::from_u32(to), Freq::ENTRY, &[], &[]);
            }
            problem.finish();
            let mut order = LinearOrder::default();
            order.build(&problem).expect("few blocks");
            let body = |block: &u32| Position::new(block * 3 + 1);
            let values = Values {
                defs: values.iter().map(|(def, _)| ProgPoint::late(body(def))).collect(),
                uses: values.iter().map(|(_, uses)| uses.iter().map(body).map(ProgPoint::early).collect()).collect(),
            };
            Case { problem, order, values }
        }

        fn vregs(&self) -> Vec<VReg> {
            (0..self.values.defs.len()).map(VReg::new).collect()
        }

        fn ranges(&self) -> Vec<String> {
            let mut live = LiveBlocks::default();
            live.begin(&self.problem, &self.order);
            assert!(
                live.find(&self.order, &self.values, &self.vregs(), false, MeterRef::default())
                    .expect("a superset would do")
            );
            let (mut ranges, mut spans) = (Vec::new(), Vec::new());
            live.append_to(&mut ranges, self.values.defs.len(), |_, span| spans.push(span));
            let text = |span: Range<u32>| {
                let own = &ranges[span.start as usize..span.end as usize];
                own.iter().map(PointRange::to_string).collect::<Vec<_>>().join(" ")
            };
            spans.into_iter().map(text).collect()
        }

        fn hull(&self, vreg: u32) -> String {
            let vreg = VReg::from_u32(vreg);
            let last = self.values.last_use(vreg).expect("a use");
            let mut live = LiveBlocks::default();
            live.hull_end(&self.order, self.values.def(vreg), last, last.end_of_use()).to_string()
        }
    }

    #[test]
    fn a_value_used_on_one_side_has_a_hole() {
        let case = Case::new(4, &[(0, 1), (0, 2), (1, 3), (2, 3)], &[(0, &[2])]);
        assert_eq!(case.ranges(), ["1l..3 6..7l"]);
        assert_eq!(case.hull(0), "7l");
    }

    #[test]
    fn a_use_in_a_loop_keeps_the_value_to_its_end() {
        let case = Case::new(4, &[(0, 1), (1, 2), (2, 1), (1, 3)], &[(0, &[1]), (0, &[3]), (2, &[])]);
        assert_eq!(case.ranges(), ["1l..9", "1l..10l", "7l..8"]);
        assert_eq!(case.hull(0), "9");
        assert_eq!(case.hull(1), "10l");
    }

    #[test]
    fn irreducible_loops_are_exact() {
        // Both b1 and b2 are entered from b0 and branch to each other; the value is used in b1 only.
        let case = Case::new(4, &[(0, 1), (0, 2), (1, 2), (2, 1), (2, 3)], &[(0, &[1])]);
        assert_eq!(case.ranges(), ["1l..9"]);
    }

    #[test]
    fn a_value_defined_and_used_in_a_loop_is_not_live_around_it() {
        let case = Case::new(3, &[(0, 1), (1, 2), (2, 1)], &[(1, &[2])]);
        assert_eq!(case.ranges(), ["4l..7l"]);
        assert_eq!(case.hull(0), "7l");
    }

    #[test]
    fn budgets_end_the_search() {
        let case = Case::new(4, &[(0, 1), (1, 2), (2, 1), (1, 3)], &[(0, &[3])]);
        let mut live = LiveBlocks::default();
        live.begin(&case.problem, &case.order);
        live.visited = usize::MAX / 2;
        let vregs = case.vregs();
        assert_eq!(live.find(&case.order, &case.values, &vregs, false, MeterRef::default()), Ok(false));
        assert!(live.find(&case.order, &case.values, &vregs, true, MeterRef::default()).is_err());
    }
}
