//! Where values are live, how far away their next use is, and how often they would have to be loaded for it.
//!
//! ```text
//! b1 freq 10: ..            v0 is live at the head of b1; its next use is 3 instructions away on the way
//!             use v1            to b2, but behind the edge to b2, which runs once: a reload costs no more
//!             branch -> b1, b2
//! b2 freq 1:  use v0
//! ```
//!
//! From each use backwards to its def, block by block (Brandner, Boissinot, Darte, de Dinechin and Rastello, *Computing
//! liveness sets for SSA-form programs*, 2011), then distances to next uses through the blocks (Braun and Hack,
//! *Register spilling and live-range splitting for SSA-form programs*, 2009). There is one entry per block and value
//! live at its head, and one answer per operand: what comes after it. A value is live after an operand unless that is
//! [`DEAD`].
//!
//! Four of ten blocks are bare jumps, which split critical edges and pass arguments. The walk goes over such a block as
//! over an edge, and it has no entries: what is live at its head can be read off its only successor.
//!
//! As there may be as many entries as blocks times values, the walks share a budget. Values met after it is used up are
//! *far*: between blocks they are in memory, and have no entries but at their own definition.
//!
//! 1. Each block but bare jumps has an entry for each value live at its head that is not far, and no other but for
//!    those defined there.
//!
//! Cost: linear in operands and entries; of the entries there are at most [`ENTRIES_PER_ITEM`] per instruction and
//! block.

use crate::bare_jumps::{BareJumps, EdgeDistance, Source};
use crate::constraints::Constraints;
use crate::next_use::{Chain, NONE, Pass, Use, Uses};
use crate::tables::{Span, check, reset};
use cranelift_entity::EntityRef;
use kingpost_regalloc::{AllocError, Block, Problem, VReg};
use kingpost_regalloc_common::order::{BlockIndex, LinearOrder};
use kingpost_regalloc_common::point::{PointRange, ProgPoint};
use kingpost_regalloc_common::release;
use std::collections::BTreeSet;
use std::fmt::{self, Write};

/// There is no next use.
pub(crate) const DEAD: u32 = u32::MAX;
/// No distance that means something is larger.
pub(crate) const FAR: u32 = 1 << 30;
/// The end of the live range in a block of a value that is live-out.
pub(crate) const LIVE_OUT: ProgPoint = ProgPoint::OPEN;

/// Number of improvements of distances, per value and block where it is live. They need not be exact.
const PATIENCE: usize = 8;
/// So many ranges of a value are looked through faster than the entries of a block are searched.
const FEW: usize = 4;
const ENTRIES_PER_ITEM: usize = 24;
/// By how much references may exceed the budget: their liveness at safepoints must be exact.
const LAST_RESORT: usize = 64;

/// The next use of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Next {
    /// Instructions between the head of the block and the use, or [`DEAD`].
    pub(crate) distance: u32,
    /// Frequency with which the value would be loaded for it, were it in memory here: the least frequent place on the
    /// edge.
    pub(crate) freq: u32,
}

impl Next {
    pub(crate) const DEAD: Next = Next { distance: DEAD, freq: 0 };
    /// Unknown, but there may be one.
    const FAR: Next = Next { distance: FAR, freq: 1 };

    pub(crate) fn is_dead(self) -> bool {
        self.distance == DEAD
    }

    /// Returns the use as seen from the head of the block before.
    fn behind(self, edge: EdgeDistance) -> Next {
        let distance = self.distance.saturating_add(edge.distance).min(FAR);
        Next { distance, freq: self.freq.min(edge.freq) }
    }

    /// Returns the use as [`Next::behind`] does, for a parameter: it is passed even if it has no use.
    fn passed(self, edge: EdgeDistance) -> Next {
        Next { freq: self.freq.clamp(1, edge.freq), ..self.behind(edge) }
    }

    /// The nearest of two, as often as either. Returns whether it is less than half as far away as before, or more than
    /// twice as often: less changes few decisions, and to pass it on takes time.
    #[inline]
    fn improve(&mut self, other: Next) -> bool {
        let before = *self;
        *self = Next { distance: before.distance.min(other.distance), freq: before.freq.max(other.freq) };
        self.distance < before.distance / 2 || self.freq / 2 > before.freq
    }
}

/// A value at the head of a block: live there, or defined there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) vreg: VReg,
    pub(crate) next: Next,
    /// The end of the live range in the block, or [`LIVE_OUT`].
    pub(crate) end: ProgPoint,
}

/// Definition of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Def {
    /// The block that defines it, if one does.
    pub(crate) block: BlockIndex,
    /// Open if it is defined in no block of the order.
    pub(crate) point: ProgPoint,
    /// The end of the live range in the block that defines it, or [`LIVE_OUT`].
    pub(crate) end: ProgPoint,
    /// Frequency of the definition.
    pub(crate) freq: u32,
}

impl Def {
    /// In no block of the order.
    pub(crate) const NONE: Def =
        Def { block: BlockIndex::FIRST, point: ProgPoint::OPEN, end: ProgPoint::FIRST, freq: 0 };
}

/// Liveness of one problem after another.
#[derive(Default)]
pub(crate) struct Liveness {
    /// Per operand, what comes after it. Distances count from the head of the operand's block.
    pub(crate) after: Vec<Next>,
    /// Per value.
    pub(crate) defs: Vec<Def>,
    /// Per value: whether it is live in blocks where it has no entry.
    pub(crate) far: Vec<bool>,
    /// Those that are.
    pub(crate) far_values: Vec<VReg>,
    pub(crate) steps: u64,
    pub(crate) uses: Uses,
    pub(crate) jumps: BareJumps,
    /// Block by block, and by value in each. What follows is of an earlier problem.
    entries: Vec<Entry>,
    /// Per block in order, its entries.
    spans: Vec<Span>,
    /// Entries by value: the blocks at whose heads the value has an entry.
    live_in: Vec<LiveIn>,
    /// Per value, the first of those; one more at the end.
    live_in_starts: Vec<u32>,
    /// The edges into blocks, seen over bare jumps.
    preds: Vec<Source>,
    /// Per block in order, its edges in; none of a bare jump.
    pred_spans: Vec<Span>,
    // What the walk from uses to defs needs.
    walk: Walk,
    /// Per value, its entries among the ranges of the walk; first of them comes one of no value.
    ranges_of: Vec<Span>,
    /// Per parameter or result of a branch, its next use.
    heads: Vec<Next>,
    /// Values passed back to the head of a loop.
    back: Vec<VReg>,
}

/// A block at whose head a value is live, or begins.
#[derive(Clone, Copy, Debug)]
struct LiveIn {
    block: BlockIndex,
    /// The end of the live range in the block, or [`LIVE_OUT`].
    end: ProgPoint,
}

/// A value in a block where it is defined, or live at the head.
#[derive(Clone, Copy, Debug)]
struct BlockRange {
    block: BlockIndex,
    /// The last operand with the value, or [`NONE`].
    open: u32,
    /// At the head.
    next: Next,
    /// The end of the live range in the block, or [`LIVE_OUT`].
    end: ProgPoint,
}

/// The entries of one bare jump after another.
#[derive(Default)]
pub(crate) struct BareJumpEntries {
    entries: Vec<Entry>,
    /// Per value, its entry at the bare jump at hand, or one of another value.
    found: Vec<u32>,
}

impl BareJumpEntries {
    fn add(&mut self, entry: Entry) {
        self.found[entry.vreg.index()] = self.entries.len() as u32;
        self.entries.push(entry);
    }
}

/// Facts of a block during the walk.
#[derive(Clone, Copy, Default)]
struct Mark {
    /// The range of the value at hand, or one of a value before it.
    range: u32,
    /// The number of its entries so far.
    entries: u32,
}

/// The walk from the uses of one value up to its def, and the ranges found for those before it.
#[derive(Default)]
struct Walk {
    /// The ranges of a value are in the order in which its blocks are found, that with the def first. The very first
    /// one is of no value.
    ranges: Vec<BlockRange>,
    /// Per block in order.
    marks: Vec<Mark>,
    /// Ranges before this one have been passed on to the blocks before theirs.
    passed: usize,
    /// Those of them that came closer to a use since.
    closer: Vec<u32>,
    /// So many more may come closer.
    patience: usize,
}

impl Walk {
    fn begin(&mut self, blocks: usize) {
        reset(&mut self.marks, blocks, Mark::default());
        self.ranges.clear();
        let next = Next::DEAD;
        self.ranges.push(BlockRange { block: BlockIndex::FIRST, open: NONE, next, end: ProgPoint::FIRST });
        self.patience = 0;
    }

    /// Adds a block of the value at hand.
    #[inline]
    fn push(&mut self, range: BlockRange) {
        let mark = &mut self.marks[range.block.index()];
        *mark = Mark { range: self.ranges.len() as u32, entries: mark.entries + 1 };
        self.ranges.push(range);
    }

    /// Reverses the blocks from a range on.
    fn reverse(&mut self, from: usize) {
        self.ranges[from..].reverse();
        for (i, range) in (from..).zip(&self.ranges[from..]) {
            self.marks[range.block.index()].range = i as u32;
        }
    }

    /// Records that the value is live at the end of the block `from`, and its next use is `ahead`. Its ranges begin
    /// with `first`.
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

    /// Passes next uses on to predecessors until all blocks of the value know them.
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
                self.approach(after, first, from, next.behind(edge));
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
    ) -> Result<(), AllocError> {
        self.steps = 0;
        self.jumps.find(problem, order);
        self.find_uses(problem, order, constraints);
        self.walk_up(problem, order)?;
        self.uses.release();
        self.sort_entries(problem);
        self.steps += (problem.num_insts() + self.walk.ranges.len()) as u64;
        Ok(())
    }

    /// Frees memory that only a large problem needs, and later phases do not.
    pub(crate) fn release(&mut self) {
        release(&mut self.walk.ranges);
        release(&mut self.walk.marks);
        release(&mut self.ranges_of);
        release(&mut self.heads);
        release(&mut self.preds);
        release(&mut self.pred_spans);
    }

    /// Frees memory that only a large problem needs, and the answer does not.
    pub(crate) fn close(&mut self) {
        release(&mut self.after);
        release(&mut self.entries);
        release(&mut self.spans);
    }

    /// What is live at the head of a block that is no bare jump, by value; parameters and results of the branch before
    /// it as well, even those that are dead.
    pub(crate) fn entries(&self, block: BlockIndex) -> &[Entry] {
        &self.entries[self.spans[block.index()].range()]
    }

    /// As [`Liveness::entries`], of a bare jump as well: what is live at its head is what is at that of its successor,
    /// and what it passes.
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
            found.add(Entry { vreg, next: next.behind(distance), end: LIVE_OUT });
        }
        for (&param, &arg) in problem.params(problem.edge(edge).to).iter().zip(problem.edge_args(edge)) {
            let next = self.entry(to, param).map_or(Next::DEAD, |entry| entry.next).passed(distance);
            let known = found.entries.get_mut(found.found[arg.index()] as usize);
            if let Some(entry) = known.filter(|entry| entry.vreg == arg) {
                entry.next.improve(next);
            } else if !self.far[arg.index()] {
                found.add(Entry { vreg: arg, next, end: LIVE_OUT });
            }
        }
    }

    /// Returns the entry of one value at a block that is no bare jump.
    pub(crate) fn entry(&self, block: BlockIndex, vreg: VReg) -> Option<&Entry> {
        let entries = self.entries(block);
        entries.binary_search_by_key(&vreg, |entry| entry.vreg).ok().map(|i| &entries[i])
    }

    fn live_in(&self, vreg: VReg) -> &[LiveIn] {
        let starts = &self.live_in_starts[vreg.index()..vreg.index() + 2];
        &self.live_in[starts[0] as usize..starts[1] as usize]
    }

    /// Returns the end of the live range of a value in a block that is no bare jump, if it has an entry there.
    pub(crate) fn end_in(&self, block: BlockIndex, vreg: VReg) -> Option<ProgPoint> {
        let ranges = self.live_in(vreg);
        if ranges.len() <= FEW {
            return ranges.iter().find(|range| range.block == block).map(|range| range.end);
        }
        self.entry(block, vreg).map(|entry| entry.end)
    }

    /// Returns `true` if the value is live at the head of a block that is no bare jump.
    pub(crate) fn is_live_in(&self, block: BlockIndex, vreg: VReg) -> bool {
        let ranges = self.live_in(vreg);
        if ranges.len() <= FEW && !self.is_defined_at_head(vreg, block) {
            return ranges.iter().any(|range| range.block == block);
        }
        self.entry(block, vreg).is_some_and(|entry| !entry.next.is_dead())
    }

    /// Returns `true` if the value is live at the head of any block.
    pub(crate) fn is_live_at(&self, problem: &Problem, order: &LinearOrder, index: BlockIndex, vreg: VReg) -> bool {
        if !self.jumps.are[index.index()] {
            return self.is_live_in(index, vreg);
        }
        let edge = problem.succs(order.block(index).block)[0];
        let to = order.index(problem.edge(edge).to);
        let is_passed = problem.edge_args(edge).contains(&vreg) && !self.far[vreg.index()];
        is_passed || self.is_live_in(to, vreg) && !self.is_defined_at_head(vreg, to)
    }

    /// Returns `true` if two values that are not far are live at one point. Then one of them is live where the other is
    /// defined, which is
    /// later in the order.
    #[inline]
    pub(crate) fn interfere(&self, a: VReg, b: VReg) -> bool {
        let [x, y] = [a, b].map(|vreg| &self.defs[vreg.index()]);
        let (vreg, first, second) = if x.point <= y.point { (a, x, y) } else { (b, y, x) };
        match first.block == second.block {
            true => second.point < first.end,
            false => self.end_in(second.block, vreg).is_some_and(|end| second.point < end),
        }
    }

    /// Returns `true` if the value is defined in the order.
    pub(crate) fn is_defined(&self, vreg: VReg) -> bool {
        self.defs[vreg.index()].point != ProgPoint::OPEN
    }

    /// Returns the live ranges of a value that is not far, in no order: one per block, with that. What is live where a
    /// block ends is so in the bare jumps that follow it in the order, in which no value is defined: values that are
    /// both live in one of those are so where its predecessor ends.
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

    /// Returns the hull of the live ranges of a value that is not far. It begins with the definition, which comes
    /// before all uses.
    pub(crate) fn hull(&self, vreg: VReg) -> PointRange {
        let Def { block, point, end, .. } = self.defs[vreg.index()];
        let ranges = self.live_in(vreg).iter();
        let (block, end) = ranges.fold((block, end), |last, range| last.max((range.block, range.end)));
        PointRange::new(point, end.min(self.jumps.stops[block.index()]).max(point))
    }

    /// Returns `true` if the value, which has an entry at the block, is a parameter or a result of the branch before.
    pub(crate) fn is_defined_at_head(&self, vreg: VReg, block: BlockIndex) -> bool {
        let def = &self.defs[vreg.index()];
        def.block == block && def.point.is_before()
    }

    /// Walks from uses up to defs, for one value after another: parameters come before what is passed to them, but for
    /// what is passed back to the head of a loop, which is not known to be used soon until all have been visited.
    fn walk_up(&mut self, problem: &Problem, order: &LinearOrder) -> Result<(), AllocError> {
        let values = problem.vregs.len();
        self.walk.begin(order.num_blocks());
        self.find_preds(problem, order);
        reset(&mut self.far, values, false);
        self.far_values.clear();
        reset(&mut self.ranges_of, values, Span::default());
        // Nothing begins at the head of a single block.
        reset(&mut self.heads, if order.num_blocks() > 1 { values } else { 0 }, Next::DEAD);
        self.back.clear();
        let budget = 4096 + ENTRIES_PER_ITEM * (problem.num_insts() + order.num_blocks());
        for i in 0..self.uses.defs.len() {
            let vreg = self.uses.defs[i];
            let first = self.walk.ranges.len();
            let later = self.begin_value(vreg);
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
            self.pass_back(self.back[i]);
        }
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

    /// Records the range where the value is defined. Returns its first use in another block.
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

    /// Records that the value may be used anywhere after the blocks that use it.
    fn leave_open(&mut self, vreg: VReg, later: u32) {
        self.far[vreg.index()] = true;
        self.far_values.push(vreg);
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

    /// Spreads the value to the heads of blocks that use it, unless it is defined there, and of all in between.
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

    /// What an argument that is passed back finds at the head of the loop is known now.
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

    /// Edges read the value. Does one of them lead back?
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

    /// Sorts entries by block and, within one, by value; and by value.
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

    /// Plants a fault: the value is not live at the head of a block.
    #[cfg(test)]
    pub(crate) fn forget(&mut self, block: BlockIndex, vreg: VReg) {
        let entry = self.entries[self.spans[block.index()].range()].iter_mut().find(|entry| entry.vreg == vreg);
        entry.expect("a live value").next = Next::DEAD;
    }

    /// Compares the values live at the heads of blocks with those of a data-flow analysis on sets.
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
            let known: BTreeSet<VReg> = entries.map(|entry| entry.vreg).filter(|v| !self.far[v.index()]).collect();
            let params =
                problem.params(block).iter().chain(problem.preds(block).iter().flat_map(|&e| problem.edge_defs(e)));
            let expected = params.filter(|vreg| known.contains(vreg)).chain(&live[block.index()]);
            let expected: BTreeSet<VReg> = expected.copied().filter(|vreg| !self.far[vreg.index()]).collect();
            check(known == expected, || format!("rule 1: {block} has {known:?} live, not {expected:?}"))?;
        }
        Ok(())
    }

    /// Writes one line per block: what is live at its head and how far away it is used.
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

/// Returns the values live at the head of a block, but for those defined there.
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
