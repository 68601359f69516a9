//! Liveness: the blocks in which values are live, the distance to their next use, and the frequency of a reload for
//! it.
//!
//! ```text
//! b1 freq 10: ..            v0 is live at the head of b1; its next use is 3 instructions away on the way
//!             use v1            to b2, but behind the edge to b2, which runs once: a reload costs no more
//!             branch -> b1, b2
//! b2 freq 1:  use v0
//! ```
//!
//! The analysis walks from each use backwards to its def, block by block (Brandner, Boissinot, Darte, de Dinechin
//! and Rastello, *Computing liveness sets for SSA-form programs*, 2011), and propagates distances to next uses
//! through the blocks (Braun and Hack, *Register spilling and live-range splitting for SSA-form programs*, 2009).
//! There is one entry per block and value live at its head, and one answer per operand: the next use after it, or
//! [`DEAD`] if the value is not live after it.
//!
//! Four of ten blocks are bare jumps, which split critical edges and pass arguments. The walk treats such a block
//! as an edge, and it has no entries: the values live at its head follow from its only successor.
//!
//! There may be as many entries as blocks times values, so the walks share a budget. Values reached after the
//! budget is exhausted are *unlisted*: between blocks they are in memory, and their only entries are at their own
//! definition.
//!
//! 1. Each block except bare jumps has an entry for each value live at its head that is not unlisted. All other entries
//!    are of values defined at the head.
//!
//! Cost: linear in operands and entries. There are at most [`ENTRIES_PER_ITEM`] entries per instruction and block.

use crate::bare_jumps::{BareJumps, EdgeDistance, Source};
use crate::constraints::Constraints;
use crate::tables::{Span, check, reset};
use crate::uses::{Chain, DEAD, Def, FAR, LIVE_OUT, NONE, Next, Pass, Use, Uses};
use cranelift_entity::EntityRef;
use kingpost_regalloc::meter::MeterRef;
use kingpost_regalloc::meter::{HeapBytes, heap_bytes};
use kingpost_regalloc::{AllocError, Block, Problem, VReg};
use kingpost_regalloc_common::order::{BlockIndex, LinearOrder};
use kingpost_regalloc_common::point::{PointRange, ProgPoint};
use kingpost_regalloc_common::release;
use std::collections::BTreeSet;
use std::fmt::{self, Write};

/// Number of improvements of distances, per value and block in which it is live. Distances need not be exact.
const PATIENCE: usize = 8;
const ENTRIES_PER_ITEM: usize = 24;
/// Factor by which references may exceed the budget, because their liveness at safepoints must be exact.
const LAST_RESORT: usize = 64;

/// A value at the head of a block, where it is live or defined.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) vreg: VReg,
    pub(crate) next: Next,
    /// The end of the live range in the block, or [`LIVE_OUT`].
    pub(crate) end: ProgPoint,
}

/// Liveness of one problem.
#[derive(Default)]
pub(crate) struct Liveness {
    /// Per operand, the next use after it. Distances count from the head of the operand's block.
    pub(crate) after: Vec<Next>,
    /// Definitions per value.
    pub(crate) defs: Vec<Def>,
    /// Per value: whether it is live in blocks in which it has no entry.
    pub(crate) is_unlisted: Vec<bool>,
    /// The values of `is_unlisted`.
    pub(crate) unlisted_values: Vec<VReg>,
    pub(crate) steps: u64,
    pub(crate) uses: Uses,
    pub(crate) jumps: BareJumps,
    /// Entries by block, and by value in each. Entries after the last span are of an earlier problem.
    entries: Vec<Entry>,
    /// Per block in order, the span of its entries.
    spans: Vec<Span>,
    /// Entries by value: the blocks at whose heads the value has an entry.
    live_in: Vec<LiveIn>,
    /// Per value, the index of its first entry in `live_in`. One more index ends the list.
    live_in_starts: Vec<u32>,
    /// The edges into blocks, with bare jumps replaced by their predecessors.
    preds: Vec<Source>,
    /// Per block in order, its incoming edges; empty for a bare jump.
    pred_spans: Vec<Span>,
    // State of the walk from uses to defs.
    walk: Walk,
    /// Per value, its entries among the ranges of the walk. The first range belongs to no value.
    ranges_of: Vec<Span>,
    /// Per parameter or result of a branch, its next use.
    heads: Vec<Next>,
    /// Values passed back to the head of a loop.
    back: Vec<VReg>,
}

heap_bytes!(Liveness { after, defs, is_unlisted, unlisted_values, uses, jumps, entries, spans, live_in, live_in_starts, preds, pred_spans, walk, ranges_of, heads, back } without { steps });

/// A block at whose head a value is live or defined.
#[derive(Clone, Copy, Debug)]
struct LiveIn {
    block: BlockIndex,
    /// The end of the live range in the block, or [`LIVE_OUT`].
    end: ProgPoint,
}

/// A value in a block in which it is defined or live at the head.
#[derive(Clone, Copy, Debug)]
struct BlockRange {
    block: BlockIndex,
    /// Index of the last operand with the value, or [`NONE`].
    open: u32,
    /// Next use at the head of the block.
    next: Next,
    /// The end of the live range in the block, or [`LIVE_OUT`].
    end: ProgPoint,
}

/// The entries of a bare jump, recomputed for each one.
#[derive(Default)]
pub(crate) struct BareJumpEntries {
    entries: Vec<Entry>,
    /// Per value, the index of its entry at the current bare jump, or an index of another value's entry.
    found: Vec<u32>,
}

heap_bytes!(BareJumpEntries { entries, found });

impl BareJumpEntries {
    fn add(&mut self, entry: Entry) {
        self.found[entry.vreg.index()] = self.entries.len() as u32;
        self.entries.push(entry);
    }
}

/// Facts of a block during the walk.
#[derive(Clone, Copy, Default)]
struct Mark {
    /// The range of the current value, or a range of an earlier value.
    range: u32,
    /// The number of entries of the block so far.
    entries: u32,
}

/// The walk from the uses of a value up to its def, and the ranges of all earlier values.
#[derive(Default)]
struct Walk {
    /// The ranges of a value are in the order in which its blocks are found, beginning with the block of the def.
    /// The very first range belongs to no value.
    ranges: Vec<BlockRange>,
    /// Marks per block in order.
    marks: Vec<Mark>,
    /// Ranges before this index have been propagated to the predecessors of their blocks.
    passed: usize,
    /// Propagated ranges whose distance has decreased since.
    closer: Vec<u32>,
    /// Number of ranges that may still be added to `closer`.
    patience: usize,
}

heap_bytes!(Walk { ranges, marks, closer } without { passed, patience });

impl Walk {
    fn begin(&mut self, blocks: usize) {
        reset(&mut self.marks, blocks, Mark::default());
        self.ranges.clear();
        let next = Next::DEAD;
        self.ranges.push(BlockRange { block: BlockIndex::FIRST, open: NONE, next, end: ProgPoint::FIRST });
        self.patience = 0;
    }

    /// Adds a block of the current value.
    fn push(&mut self, range: BlockRange) {
        let mark = &mut self.marks[range.block.index()];
        *mark = Mark { range: self.ranges.len() as u32, entries: mark.entries + 1 };
        self.ranges.push(range);
    }

    /// Reverses the ranges from index `from` on.
    fn reverse(&mut self, from: usize) {
        self.ranges[from..].reverse();
        for (i, range) in (from..).zip(&self.ranges[from..]) {
            self.marks[range.block.index()].range = i as u32;
        }
    }

    /// Records that the value is live at the end of the block `from`, with the next use `ahead`. Its ranges begin
    /// at index `first`.
    #[inline(always)]
    fn approach(&mut self, after: &mut [Next], first: usize, from: BlockIndex, ahead: Next) {
        let mark = &mut self.marks[from.index()];
        let i = mark.range as usize;
        if i < first {
            *mark = Mark { range: self.ranges.len() as u32, entries: mark.entries + 1 };
            self.patience += PATIENCE;
            self.ranges.push(BlockRange { block: from, open: NONE, next: ahead, end: LIVE_OUT });
            return;
        }
        let range = &mut self.ranges[i];
        range.end = LIVE_OUT;
        if let Some(after) = after.get_mut(range.open as usize) {
            after.improve(ahead);
        } else if range.next.improve(ahead) && i < self.passed && i > first && self.patience > 0 {
            self.patience -= 1;
            self.closer.push(i as u32);
        }
    }

    /// Propagates next uses to predecessors until all blocks of the value have theirs. Takes one step for each
    /// block, and `patience` bounds the repeated steps.
    fn leave_all(&mut self, (preds, pred_spans): (&[Source], &[Span]), after: &mut [Next], first: usize) {
        loop {
            let i = if self.passed < self.ranges.len() {
                self.passed += 1;
                self.passed - 1
            } else if let Some(i) = self.closer.pop() {
                i as usize
            } else {
                return;
            };
            let BlockRange { block, next, .. } = self.ranges[i];
            for &Source { from, edge } in &preds[pred_spans[block.index()].range()] {
                self.approach(after, first, from, next.before_edge(edge));
            }
        }
    }
}

impl Liveness {
    pub(crate) fn compute(
        &mut self,
        problem: &Problem,
        order: &LinearOrder,
        constraints: &mut Constraints,
        meter: MeterRef<'_>,
    ) -> Result<(), AllocError> {
        self.steps = 0;
        self.jumps.find(problem, order);
        meter.reserve(problem.size())?;
        self.find_uses(problem, order, constraints);
        self.walk_up(problem, order, meter)?;
        self.uses.release();
        meter.reserve(2 * self.walk.ranges.len() as u64)?;
        self.sort_entries(problem);
        self.steps += (problem.num_insts() + self.walk.ranges.len()) as u64;
        Ok(())
    }

    /// Frees memory of a large problem that later phases do not need.
    pub(crate) fn release(&mut self) {
        release(&mut self.walk.ranges);
        release(&mut self.walk.marks);
        release(&mut self.ranges_of);
        release(&mut self.heads);
        release(&mut self.preds);
        release(&mut self.pred_spans);
    }

    /// Frees memory of a large problem that the answer does not need.
    pub(crate) fn close(&mut self) {
        release(&mut self.after);
        release(&mut self.entries);
        release(&mut self.spans);
    }

    /// Returns the values live at the head of a block other than a bare jump, by value. Parameters and results of
    /// the preceding branch are included even if they are dead.
    pub(crate) fn entries(&self, block: BlockIndex) -> &[Entry] {
        &self.entries[self.spans[block.index()].range()]
    }

    /// Returns the entries of any block. The values live at the head of a bare jump are the values live at the head
    /// of its successor, and the arguments that it passes.
    #[inline]
    pub(crate) fn all_entries<'a>(
        &'a self,
        problem: &Problem,
        order: &LinearOrder,
        index: BlockIndex,
        found: &'a mut BareJumpEntries,
    ) -> &'a [Entry] {
        if self.jumps.are[index.index()] {
            self.find_entries(problem, order, index, found);
            return &found.entries;
        }
        self.entries(index)
    }

    #[cold]
    fn find_entries(&self, problem: &Problem, order: &LinearOrder, index: BlockIndex, found: &mut BareJumpEntries) {
        let edge = problem.succs(order.block(index).block)[0];
        let to = order.index(problem.edge(edge).to);
        let distance = EdgeDistance::new(problem, edge);
        found.entries.clear();
        found.found.resize(self.defs.len().max(found.found.len()), 0);
        for &Entry { vreg, next, .. } in
            self.entries(to).iter().filter(|entry| !self.is_defined_at_head(entry.vreg, to))
        {
            found.add(Entry { vreg, next: next.before_edge(distance), end: LIVE_OUT });
        }
        for (&param, &arg) in problem.params(problem.edge(edge).to).iter().zip(problem.edge_args(edge)) {
            let next = self.entry(to, param).map_or(Next::DEAD, |entry| entry.next).passed(distance);
            let known = found.entries.get_mut(found.found[arg.index()] as usize);
            if let Some(entry) = known.filter(|entry| entry.vreg == arg) {
                entry.next.improve(next);
            } else if !self.is_unlisted[arg.index()] {
                found.add(Entry { vreg: arg, next, end: LIVE_OUT });
            }
        }
    }

    /// Returns the entry of a value at a block other than a bare jump.
    pub(crate) fn entry(&self, block: BlockIndex, vreg: VReg) -> Option<&Entry> {
        let entries = self.entries(block);
        entries.binary_search_by_key(&vreg, |entry| entry.vreg).ok().map(|i| &entries[i])
    }

    fn live_in(&self, vreg: VReg) -> &[LiveIn] {
        let starts = &self.live_in_starts[vreg.index()..vreg.index() + 2];
        &self.live_in[starts[0] as usize..starts[1] as usize]
    }

    /// Returns the end of the live range of a value in a block other than a bare jump, if it has an entry there.
    pub(crate) fn end_in(&self, block: BlockIndex, vreg: VReg) -> Option<ProgPoint> {
        self.entry(block, vreg).map(|entry| entry.end)
    }

    /// Returns `true` if the value is live at the head of a block other than a bare jump.
    pub(crate) fn is_live_in(&self, block: BlockIndex, vreg: VReg) -> bool {
        self.entry(block, vreg).is_some_and(|entry| !entry.next.is_dead())
    }

    /// Returns `true` if the value is live at the head of the block, which may be a bare jump.
    pub(crate) fn is_live_at(&self, problem: &Problem, order: &LinearOrder, index: BlockIndex, vreg: VReg) -> bool {
        if !self.jumps.are[index.index()] {
            return self.is_live_in(index, vreg);
        }
        let edge = problem.succs(order.block(index).block)[0];
        let to = order.index(problem.edge(edge).to);
        let is_passed = problem.edge_args(edge).contains(&vreg) && !self.is_unlisted[vreg.index()];
        is_passed || self.is_live_in(to, vreg) && !self.is_defined_at_head(vreg, to)
    }

    /// Returns `true` if two values that have entries are live at one point. Then one of them is live at the
    /// definition of the other, which is later in the order.
    pub(crate) fn interfere(&self, a: VReg, b: VReg) -> bool {
        let [x, y] = [a, b].map(|vreg| &self.defs[vreg.index()]);
        let (vreg, first, second) = if x.point <= y.point { (a, x, y) } else { (b, y, x) };
        match first.block == second.block {
            true => second.point < first.end,
            false => self.end_in(second.block, vreg).is_some_and(|end| second.point < end),
        }
    }

    /// Returns `true` if a block of the order defines the value.
    pub(crate) fn is_defined(&self, vreg: VReg) -> bool {
        self.defs[vreg.index()].point != ProgPoint::OPEN
    }

    /// Returns the live ranges of a value that has entries, unsorted, one per block. A range that reaches the end of
    /// a block includes the bare jumps that follow the block in the order. No value is defined in these, so that
    /// two values that are both live in one of them are also live at the end of its predecessor.
    pub(crate) fn ranges(&self, order: &LinearOrder, vreg: VReg) -> impl Iterator<Item = (BlockIndex, PointRange)> {
        let Def { block, point, end, .. } = self.defs[vreg.index()];
        let stop = |block: BlockIndex| self.jumps.stops[block.index()];
        let own = Some((block, PointRange::new(point, end.min(stop(block)))));
        let ranges = self.live_in(vreg).iter();
        let ranges = ranges.map(move |range| {
            let points = PointRange::new(order.block(range.block).start(), range.end.min(stop(range.block)));
            (range.block, points)
        });
        // A value defined at a head has an entry there.
        own.filter(|_| !point.is_before()).into_iter().chain(ranges)
    }

    /// Returns the hull of the live ranges of a value that has entries. It begins with the definition, which
    /// precedes all uses.
    pub(crate) fn hull(&self, vreg: VReg) -> PointRange {
        let Def { block, point, end, .. } = self.defs[vreg.index()];
        let ranges = self.live_in(vreg).iter();
        let (block, end) = ranges.fold((block, end), |last, range| last.max((range.block, range.end)));
        PointRange::new(point, end.min(self.jumps.stops[block.index()]).max(point))
    }

    /// Returns `true` if the value, which has an entry at the block, is a parameter or a result of the preceding
    /// branch.
    pub(crate) fn is_defined_at_head(&self, vreg: VReg, block: BlockIndex) -> bool {
        let def = &self.defs[vreg.index()];
        def.block == block && def.point.is_before()
    }

    /// Walks from uses up to defs, value by value. Parameters come before their arguments, except for arguments
    /// passed back to the head of a loop: their next use is assumed to be far until all values have been visited.
    fn walk_up(&mut self, problem: &Problem, order: &LinearOrder, meter: MeterRef<'_>) -> Result<(), AllocError> {
        let values = problem.vregs.len();
        self.walk.begin(order.num_blocks());
        self.find_preds(problem, order);
        reset(&mut self.is_unlisted, values, false);
        self.unlisted_values.clear();
        reset(&mut self.ranges_of, values, Span::default());
        // No value begins at the head of a single block.
        reset(&mut self.heads, if order.num_blocks() > 1 { values } else { 0 }, Next::DEAD);
        self.back.clear();
        let budget = 4096 + ENTRIES_PER_ITEM * (problem.num_insts() + order.num_blocks());
        meter.reserve(self.uses.defs.len() as u64)?;
        let mut paid = 0;
        for i in 0..self.uses.defs.len() {
            let vreg = self.uses.defs[i];
            let first = self.walk.ranges.len();
            let later = self.begin_value(vreg);
            if later != NONE {
                meter.spend_growing(self.steps + first as u64, &mut paid, || self.walk.heap_bytes())?;
            }
            if later != NONE && first > budget && !problem.vregs[vreg].is_ref {
                self.leave_open(vreg, later);
            } else if first > LAST_RESORT * budget {
                return Err(AllocError::StepBudget { steps: first as u64 });
            } else {
                self.spread(vreg, first, later);
            }
            self.end_value(vreg, first);
        }
        for i in 0..self.back.len() {
            meter.spend_batch(self.steps + self.walk.ranges.len() as u64, &mut paid)?;
            self.pass_back(self.back[i]);
        }
        meter.spend_rest(self.steps + self.walk.ranges.len() as u64, &mut paid)?;
        Ok(())
    }

    fn find_preds(&mut self, problem: &Problem, order: &LinearOrder) {
        self.preds.clear();
        self.pred_spans.clear();
        for (index, block) in order.blocks() {
            let start = self.preds.len() as u32;
            if !self.jumps.are[index.index()] {
                self.preds
                    .extend(problem.preds(block.block).iter().map(|&edge| self.jumps.source(problem, order, edge)));
            }
            self.pred_spans.push(Span { start, end: self.preds.len() as u32 });
        }
    }

    /// Records the range in which the value is defined. Returns its first use in another block.
    fn begin_value(&mut self, vreg: VReg) -> u32 {
        let v = vreg.index();
        let Def { block, point, end, .. } = self.defs[v];
        let Chain { first, open, .. } = self.uses.chains[v];
        let mut range = BlockRange { block, open, next: Next::DEAD, end };
        let mut later = first;
        if point.is_before() {
            range = BlockRange { open: NONE, end: point, ..range };
            if let Some(own) = self.uses.all.get(first as usize).filter(|own| own.block == block) {
                range = BlockRange { block, open: own.open, next: own.next, end: own.end };
                later = own.later;
            }
        }
        self.walk.push(range);
        self.walk.passed = self.walk.ranges.len();
        later
    }

    /// Records that the value may be used at an unknown distance after each block that uses it. Takes one step
    /// for each of these blocks.
    fn leave_open(&mut self, vreg: VReg, later: u32) {
        self.is_unlisted[vreg.index()] = true;
        self.unlisted_values.push(vreg);
        let mut next = later;
        while let Some(&Use { open, later, .. }) = self.uses.all.get(next as usize) {
            if let Some(after) = self.after.get_mut(open as usize) {
                *after = Next::FAR;
            }
            next = later;
        }
        if let Some(def) = self.walk.ranges.last_mut() {
            def.end = LIVE_OUT;
            match self.after.get_mut(def.open as usize) {
                Some(after) => *after = Next::FAR,
                None => def.next = Next::FAR,
            }
        }
    }

    /// Propagates the value to the heads of all blocks between its definition and the blocks that use it. Takes
    /// one step for each use, and the steps of [`Walk::leave_all`].
    fn spread(&mut self, vreg: VReg, first: usize, later: u32) {
        let mut next = later;
        while let Some(&Use { block, end, next: distance, open, later }) = self.uses.all.get(next as usize) {
            self.walk.push(BlockRange { block, open, next: distance, end });
            next = later;
        }
        self.walk.reverse(first + 1);
        if self.pass(vreg, first) {
            self.back.push(vreg);
        }
        self.walk.leave_all((&self.preds, &self.pred_spans), &mut self.after, first);
    }

    fn end_value(&mut self, vreg: VReg, first: usize) {
        let v = vreg.index();
        let def = &mut self.walk.ranges[first];
        let is_at_head = self.defs[v].point.is_before();
        if is_at_head {
            def.end = if def.next.is_dead() { self.defs[v].point.next() } else { def.end };
            self.heads[v] = def.next;
        }
        self.defs[v].end = def.end;
        // A value defined at a head has an entry there.
        self.walk.marks[def.block.index()].entries -= u32::from(!is_at_head);
        let start = first as u32 + u32::from(!is_at_head);
        self.ranges_of[v] = Span { start, end: self.walk.ranges.len() as u32 };
    }

    /// Propagates the next use of an argument that is passed back, after the head of the loop was visited.
    fn pass_back(&mut self, vreg: VReg) {
        let v = vreg.index();
        let Span { start, end } = self.ranges_of[v];
        let first = start - u32::from(!self.defs[v].point.is_before());
        for i in first..end {
            self.walk.marks[self.walk.ranges[i as usize].block.index()].range = i;
        }
        self.steps += u64::from(end - first);
        self.walk.passed = self.walk.ranges.len();
        self.pass(vreg, first as usize);
        self.walk.leave_all((&self.preds, &self.pred_spans), &mut self.after, first as usize);
        if self.defs[v].point.is_before() {
            self.heads[v] = self.walk.ranges[first as usize].next;
        }
    }

    /// Propagates the uses of the value by edges. Returns `true` if one of them leads back. Takes one step for
    /// each edge.
    fn pass(&mut self, vreg: VReg, first: usize) -> bool {
        let mut leads_back = false;
        let mut next = self.uses.chains[vreg.index()].pass;
        while let Some(&Pass { param, from, source, other }) = self.uses.passes.get(next as usize) {
            leads_back |= self.defs[param.index()].block <= from;
            let ahead = self.heads[param.index()].passed(source.edge);
            self.walk.approach(&mut self.after, first, source.from, ahead);
            self.steps += 1;
            next = other;
        }
        leads_back
    }

    /// Sorts entries by block and within one by value, and builds the lists by value.
    fn sort_entries(&mut self, problem: &Problem) {
        let ranges = &self.walk.ranges[..];
        self.spans.clear();
        let mut len = 0;
        for mark in &self.walk.marks {
            self.spans.push(Span { start: len, end: len });
            len += mark.entries;
        }
        // The list never shrinks, so that it is not written twice.
        let blank = Entry { vreg: VReg::from_u32(0), next: Next::DEAD, end: ProgPoint::FIRST };
        self.entries.resize(self.entries.len().max(len as usize), blank);
        let blank = LiveIn { block: BlockIndex::FIRST, end: ProgPoint::FIRST };
        self.live_in.resize(self.live_in.len().max(len as usize), blank);
        let (entries, spans) = (&mut self.entries[..], &mut self.spans[..]);
        let mut live_in = self.live_in.iter_mut();
        for (vreg, span) in problem.vregs.keys().zip(&self.ranges_of) {
            for (range, live_in) in ranges[span.range()].iter().zip(&mut live_in) {
                *live_in = LiveIn { block: range.block, end: range.end };
                let at = &mut spans[range.block.index()].end;
                entries[*at as usize] = Entry { vreg, next: range.next, end: range.end };
                *at += 1;
            }
        }
        let mut start = 0;
        self.live_in_starts.clear();
        self.live_in_starts.extend(self.ranges_of.iter().map(|span| {
            let end = start + span.end - span.start;
            std::mem::replace(&mut start, end)
        }));
        self.live_in_starts.push(start);
    }

    /// Plants a fault: marks the value as dead at the head of a block.
    #[cfg(test)]
    pub(crate) fn forget(&mut self, block: BlockIndex, vreg: VReg) {
        let entry = self.entries[self.spans[block.index()].range()].iter_mut().find(|entry| entry.vreg == vreg);
        entry.expect("a live value").next = Next::DEAD;
    }

    /// Compares the values live at the heads of blocks with the result of a data-flow analysis on sets.
    ///
    /// # Errors
    /// The first block that differs.
    pub(crate) fn verify(&self, problem: &Problem, order: &LinearOrder) -> Result<(), String> {
        let mut live: Vec<BTreeSet<VReg>> = vec![BTreeSet::new(); problem.num_blocks()];
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for block in order.blocks().values().rev().map(|block| block.block) {
                let head = live_at_head(problem, block, &live);
                changed |= head != live[block.index()];
                live[block.index()] = head;
            }
        }
        let mut found = BareJumpEntries::default();
        for (index, block) in order.blocks() {
            let block = block.block;
            let entries =
                self.all_entries(problem, order, index, &mut found).iter().filter(|entry| !entry.next.is_dead());
            let known: BTreeSet<VReg> =
                entries.map(|entry| entry.vreg).filter(|v| !self.is_unlisted[v.index()]).collect();
            let params =
                problem.params(block).iter().chain(problem.preds(block).iter().flat_map(|&e| problem.edge_defs(e)));
            let expected = params.filter(|vreg| known.contains(vreg)).chain(&live[block.index()]);
            let expected: BTreeSet<VReg> = expected.copied().filter(|vreg| !self.is_unlisted[vreg.index()]).collect();
            check(known == expected, || format!("rule 1: {block} has {known:?} live, not {expected:?}"))?;
        }
        Ok(())
    }

    /// Writes one line per block: the values live at its head and the distances to their next uses.
    pub(crate) fn dump(&self, problem: &Problem, order: &LinearOrder, out: &mut String) -> fmt::Result {
        let mut found = BareJumpEntries::default();
        for (index, block) in order.blocks() {
            write!(out, "{}:", block.block)?;
            for entry in self.all_entries(problem, order, index, &mut found) {
                match entry.next.distance {
                    DEAD => write!(out, " {} dead", entry.vreg)?,
                    FAR.. => write!(out, " {} far", entry.vreg)?,
                    distance => write!(out, " {} in {distance}", entry.vreg)?,
                }
                out.push(',');
            }
            if out.ends_with(',') {
                out.pop();
            }
            writeln!(out)?;
        }
        Ok(())
    }
}

/// Returns the values live at the head of a block, except values defined there.
fn live_at_head(problem: &Problem, block: Block, live: &[BTreeSet<VReg>]) -> BTreeSet<VReg> {
    let mut here = BTreeSet::new();
    for &edge in problem.succs(block) {
        here.extend(&live[problem.edge(edge).to.index()]);
        here.extend(problem.edge_args(edge));
    }
    let mut defined: BTreeSet<VReg> = problem.params(block).iter().copied().collect();
    defined.extend(problem.preds(block).iter().flat_map(|&edge| problem.edge_defs(edge)));
    for operand in problem.insts(block).flat_map(|inst| problem.operands(inst)) {
        if operand.is_def() {
            defined.insert(operand.vreg());
        } else if !defined.contains(&operand.vreg()) {
            here.insert(operand.vreg());
        }
    }
    here.retain(|vreg| !defined.contains(vreg));
    here
}
