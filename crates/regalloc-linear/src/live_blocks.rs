//! In which blocks the values are live that are used outside the blocks that define them.
//!
//! Data flow backwards over the linear order, 64 values at once as the bits of a word, and only over the stretch of blocks
//! that the values can be live in (Aho, Lam, Sethi and Ullman, *Compilers*, 2006, section 9.2.5). A sweep is repeated from
//! the last edge back to a block into which something new turned out to be live, so that the result is exact for
//! irreducible loops too. Ranges are then read off by comparing neighbours in the order, at a cost per change rather than
//! per block.
//!
//! As deep nests of loops take many sweeps, all sweeps of a problem share a budget proportional to the input. Once that is
//! used up a value gets one range that covers its definition, its uses and all loops around them that do not hold the
//! definition: a superset of the truth.
//!
//! Cost: linear in global uses, changes, and blocks swept, at most [`BLOCKS_PER_SLOT`] per slot.

use crate::order::{NONE, Order};
use crate::point::Point;
use crate::values::{LiveRange, Value, Values};
use cranelift_entity::EntityRef;
use kingpost_regalloc::{AllocError, Problem, VReg};

/// Blocks that sweeps may visit, per slot of the order.
const BLOCKS_PER_SLOT: usize = 8;

/// By how much sweeps may exceed their budget where nothing simpler will do: for references, since stack maps must be
/// exact, and in orders in which a definition may come after its uses.
const LAST_RESORT: usize = 64;

/// What is known of one block: one bit per value.
#[derive(Clone, Copy, Default)]
struct Words {
    /// Used in the block, and not defined there.
    used: u64,
    /// Defined in the block.
    defined: u64,
    live_in: u64,
    live_out: u64,
}

/// Scratch memory of the search.
#[derive(Default)]
pub(crate) struct LiveBlocks {
    /// By index in the order.
    words: Vec<Words>,
    /// The successors of all blocks, as indices in the order.
    succs: Vec<u32>,
    /// By index in the order: where its successors end, and those of the next block begin.
    succs_end: Vec<u32>,
    /// Ranges in the order of their ends, with the number of the value in its chunk.
    found: Vec<(u8, LiveRange)>,
    visited: usize,
    /// Segment tree over the order: the last source of an edge back to any block of a stretch.
    back_from: Vec<u32>,
}

impl LiveBlocks {
    /// So many values are served at once.
    pub(crate) const CHUNK: usize = 64;

    pub(crate) fn begin(&mut self, problem: &Problem, order: &Order) {
        self.succs.clear();
        self.succs_end.clear();
        for place in &order.places {
            self.succs.extend(problem.succs(place.block).iter().map(|&edge| order.at(problem.edge(edge).to)));
            self.succs_end.push(self.succs.len() as u32);
        }
        self.words.clear();
        self.words.resize(order.places.len(), Words::default());
        self.back_from.clear();
        self.visited = 0;
    }

    /// Finds the live ranges of up to 64 values. Did the budget allow for it?
    ///
    /// # Errors
    /// If it did not although nothing but the truth will do.
    pub(crate) fn find(
        &mut self,
        order: &Order,
        values: &Values,
        chunk: &[VReg],
        needs_truth: bool,
    ) -> Result<bool, AllocError> {
        let times = if needs_truth { LAST_RESORT } else { 1 };
        let budget = times * (BLOCKS_PER_SLOT * order.num_slots() + 64);
        if self.visited <= budget {
            let (low, high) = self.window(order, values, chunk);
            self.words[low..=high].fill(Words::default());
            self.note_blocks(order, values, chunk);
            if self.sweep(order, low, high, budget) {
                self.read_ranges(order, values, chunk, low, high);
                return Ok(true);
            }
        }
        match needs_truth {
            true => Err(AllocError::StepBudget { steps: self.visited as u64 }),
            false => Ok(false),
        }
    }

    /// Gives the values what was found.
    pub(crate) fn append_ranges(&self, values: &mut Values, chunk: &[VReg]) {
        let Values { list, ranges, .. } = values;
        let mut ends = [0u32; LiveBlocks::CHUNK];
        for &(k, _) in &self.found {
            ends[usize::from(k)] += 1;
        }
        let first = ranges.len() as u32;
        let mut start = first;
        for end in ends.iter_mut() {
            start += std::mem::replace(end, start);
        }
        ranges.resize(start as usize, LiveRange { from: Point::FIRST, to: Point::FIRST });
        for &(k, range) in &self.found {
            let end = &mut ends[usize::from(k)];
            ranges[*end as usize] = range;
            *end += 1;
        }
        let mut start = first;
        for (&vreg, &end) in chunk.iter().zip(&ends) {
            list[vreg.index()].set_ranges([start, end], ranges);
            start = end;
        }
    }

    /// The stretch of blocks outside which none of the values is live.
    fn window(&mut self, order: &Order, values: &Values, chunk: &[VReg]) -> (usize, usize) {
        if !order.is_forward {
            return (0, order.places.len() - 1);
        }
        let first = chunk.iter().map(|&vreg| values.def(vreg)).min();
        let last = chunk.iter().map(|&vreg| values[vreg]).filter(Value::is_used).map(|value| value.last).max();
        let low = first.map_or(0, |point| order.at_slot(point.slot()));
        let high = last.map_or(low, |point| order.at_slot(point.slot())).max(low);
        (low as usize, self.stretch_end(order, low + 1, high) as usize)
    }

    fn note_blocks(&mut self, order: &Order, values: &Values, chunk: &[VReg]) {
        for (k, &vreg) in chunk.iter().enumerate() {
            let bit = 1 << k;
            let home = order.at_slot(values.def(vreg).slot());
            self.words[home as usize].defined |= bit;
            let mut stop = Point::FIRST;
            for point in values.uses_from(values[vreg].next) {
                if point < stop {
                    continue;
                }
                let at = order.at_slot(point.slot());
                stop = order.places[at as usize].stop();
                if at != home {
                    self.words[at as usize].used |= bit;
                }
            }
        }
    }

    /// Repeats sweeps until nothing changes. Did the budget allow for it?
    fn sweep(&mut self, order: &Order, low: usize, high: usize, budget: usize) -> bool {
        let mut next = Some(high);
        while let Some(from) = next.take() {
            self.visited += from + 1 - low;
            if self.visited > budget {
                return false;
            }
            let mut succs = &self.succs[..self.succs_end[from] as usize];
            for at in (low..=from).rev() {
                let mut live_out = 0;
                let own = succs.split_off(at.checked_sub(1).map_or(0, |before| self.succs_end[before]) as usize..);
                for &to in own.unwrap_or(&[]) {
                    if (low..=high).contains(&(to as usize)) {
                        live_out |= self.words[to as usize].live_in;
                    }
                }
                let words = &mut self.words[at];
                words.live_out = live_out;
                let live_in = words.used | (live_out & !words.defined);
                let changed = std::mem::replace(&mut words.live_in, live_in) != live_in;
                let back = order.back_from[at];
                if changed && back != NONE {
                    let back = (back as usize).min(high);
                    next = Some(next.map_or(back, |next: usize| next.max(back)));
                }
            }
        }
        true
    }

    /// Compares each block with the one before it.
    fn read_ranges(&mut self, order: &Order, values: &Values, chunk: &[VReg], low: usize, high: usize) {
        self.found.clear();
        let mut from = [Point::FIRST; LiveBlocks::CHUNK];
        let mut open = 0;
        let mut uses = [NONE; LiveBlocks::CHUNK];
        for (first, &vreg) in uses.iter_mut().zip(chunk) {
            *first = values[vreg].next;
        }
        for at in low..=high {
            let words = self.words[at];
            let place = &order.places[at];
            for k in bits(open & !words.live_in) {
                self.found.push((k as u8, LiveRange { from: from[k], to: place.start() }));
            }
            for k in bits(words.live_in & !open) {
                from[k] = place.start();
            }
            for k in bits(words.defined) {
                from[k] = values.def(chunk[k]);
            }
            for k in bits((words.live_in | words.defined) & !words.live_out) {
                let mut used = from[k];
                while let Some(next) = values.use_at(uses[k]).filter(|next| next.point < place.stop()) {
                    used = used.max(next.point.next());
                    uses[k] = next.next;
                }
                let to = match words.defined >> k & 1 {
                    1 => Point::early(values.def(chunk[k]).slot() + 1).max(used),
                    _ => used,
                };
                self.found.push((k as u8, LiveRange { from: from[k], to }));
            }
            open = words.live_out & (words.live_in | words.defined);
        }
        for k in bits(open) {
            self.found.push((k as u8, LiveRange { from: from[k], to: order.places[high].stop() }));
        }
    }

    /// The end of the last block of the smallest stretch of blocks that holds the definition and the last use, and from
    /// which no edge leads back into it from behind.
    pub(crate) fn hull_end(&mut self, order: &Order, def: Point, last_use: Point) -> Point {
        let home = order.at_slot(def.slot());
        let last = order.at_slot(last_use.slot());
        let end = self.stretch_end(order, home + 1, last);
        if end == last && self.live_in_is_unneeded(order, last, home) {
            return last_use.next();
        }
        order.places[end as usize].stop()
    }

    /// The last block of the smallest stretch of blocks that begins with `from..=end` and holds the source of all edges
    /// back into it but for those to blocks before `from`.
    fn stretch_end(&mut self, order: &Order, mut from: u32, mut end: u32) -> u32 {
        if self.back_from.is_empty() {
            self.build_tree(order);
        }
        while from <= end {
            let back = self.last_back(from, end);
            (from, end) = (end + 1, back.max(end));
        }
        end
    }

    /// A use in a loop that does not hold the definition keeps the value to the loop's end, which the stretch shows; in
    /// any other block the value ends at its use.
    fn live_in_is_unneeded(&self, order: &Order, last: u32, home: u32) -> bool {
        let innermost = order.places[last as usize].innermost;
        innermost == NONE || order.loops[innermost as usize].head <= home
    }

    fn build_tree(&mut self, order: &Order) {
        let n = order.places.len();
        self.back_from.resize(n, 0);
        self.back_from.extend(order.back_from.iter().map(|&from| if from == NONE { 0 } else { from }));
        for i in (1..n).rev() {
            self.back_from[i] = self.back_from[2 * i].max(self.back_from[2 * i + 1]);
        }
    }

    /// The last source of an edge back to any of the blocks `from..=to`.
    fn last_back(&self, from: u32, to: u32) -> u32 {
        let n = self.back_from.len() / 2;
        let (mut low, mut high, mut best) = (from as usize + n, to as usize + n + 1, 0);
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

/// The numbers of the set bits, ascending.
fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (word != 0).then(|| {
            let bit = word.trailing_zeros() as usize;
            word &= word - 1;
            bit
        })
    })
}
