//! Places of labeled values, by bytes of the code.
//!
//! ```text
//!               v4 in rax before i7..i9       said by the allocator
//! 20  mov rcx, rbx        an edit before i7   from here: no edit before i7 writes rax
//! 23  add rbx, rcx        i7
//! 26  lea rcx, [rax + 8]  i8
//! 2a  mov rdx, rbx        i9
//! 2d  mov rax, rdx        i10                 up to here: this writes rax
//! ```
//! An allocation gives the place of a value for a range of instructions, up to its last use at most. The place is
//! also valid at the edits before these instructions, and after the range until the place is overwritten or the block
//! ends. Debuggers stop before edits, and show values that are still there.
//!
//! Cost: sorting the writes, then a search for each range.

use crate::code::Code;
use kingpost_meter::heap_bytes;
use kingpost_regalloc::sort::{sort, sort_by_key};
use kingpost_regalloc::{Allocation, Block, ClobberId, Edit, EditKind, Inst, LabelRange, LabelUse, Loc, Problem};
use std::ops::Range;

/// Range of bytes of an instruction.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Span {
    /// Offset of the first byte of the edits before the instruction.
    pub(crate) edits: u32,
    /// Offset of the first byte of the instruction.
    pub(crate) start: u32,
    /// Offset of the first byte after the instruction.
    pub(crate) end: u32,
}

/// Records about a function with labeled values, from which their places are reported. Cleared and reused.
#[derive(Default, Debug)]
pub(crate) struct ValueSites {
    /// Span of each instruction, or empty if no value is labeled.
    spans: Vec<Span>,
    /// Places that are written, and the first byte of the instruction or edit that writes them.
    writes: Vec<(Loc, u32)>,
}

heap_bytes!(ValueSites { spans, writes });

impl ValueSites {
    /// Starts a function.
    pub(crate) fn start(&mut self, code: &Code) {
        self.spans.clear();
        self.writes.clear();
        self.spans.resize(if code.problem.labels.is_empty() { 0 } else { code.insts.len() }, Span::default());
    }

    /// Returns `true` if any value is labeled.
    pub(crate) fn are_wanted(&self) -> bool {
        !self.spans.is_empty()
    }

    /// Records an edit whose first byte is `at`.
    pub(crate) fn edit(&mut self, edit: &Edit, at: u32) {
        match edit.kind {
            EditKind::Move { to, .. } | EditKind::Fill { to, .. } | EditKind::Remat { to, .. } => {
                self.writes.push((Loc::reg(to), at));
            }
            EditKind::Exchange { a, b, .. } => self.writes.extend([a, b].map(|reg| (Loc::reg(reg), at))),
            EditKind::Spill { to, .. } | EditKind::SlotMove { to, .. } => self.writes.push((Loc::slot(to), at)),
        }
    }

    /// Records an instruction.
    pub(crate) fn inst(&mut self, inst: Inst, span: Span, problem: &Problem, allocation: &Allocation) {
        self.spans[inst.as_u32() as usize] = span;
        if allocation.is_dropped(inst) {
            return;
        }
        let locs = problem.operands(inst).iter().zip(allocation.operand_locs(problem, inst));
        self.writes.extend(locs.filter(|(operand, _)| operand.is_def()).map(|(_, &loc)| (loc, span.start)));
        let clobbers = problem.clobber_id(inst);
        if clobbers != ClobberId::NONE {
            let lost = problem.all_clobbers()[clobbers].lost;
            self.writes.extend(lost.iter().map(|reg| (Loc::reg(reg), span.start)));
        }
    }

    /// Ends the records of the function.
    pub(crate) fn finish(&mut self) {
        sort(&mut self.writes);
    }

    /// Returns the places of values, label by label: the label, the place, and the range of bytes.
    pub(crate) fn places(&self, problem: &Problem, allocation: &Allocation) -> Vec<(u32, Loc, Range<u32>)> {
        let ranges: Vec<LabelRange> = allocation.labels.iter().flat_map(|range| by_block(problem, range)).collect();
        let mut places = Vec::with_capacity(ranges.len());
        // Requests begin where a label gets another value, or at the head of a block.
        let mut begins: Vec<(u32, Inst)> = problem.labels.iter().map(|request| (request.label, request.from)).collect();
        sort(&mut begins);
        let begins = |range: &LabelRange| begins.binary_search(&(range.label, range.from)).is_ok();
        for (index, range) in ranges.iter().enumerate() {
            let block = problem.block_of(range.from);
            let is_near = |other: &&LabelRange| other.label == range.label && problem.block_of(other.from) == block;
            let first = self.first_byte(range);
            let before = index.checked_sub(1).map(|before| &ranges[before]).filter(is_near);
            if begins(range) || before.is_none_or(|before| before.to < range.from) {
                places.extend(self.before_edits(range, allocation, first));
            }
            let first_of = |next| if begins(next) { self.span(next.from).edits } else { self.first_byte(next) };
            let next = ranges.get(index + 1).filter(is_near).map(first_of);
            let block_end = self.block_end(problem, block);
            let last = self.span(Inst::from_u32(range.to.as_u32() - 1));
            // A location stays valid until the first byte of the instruction that overwrites it.
            let written = self.next_write(range.loc, last.start).map(|at| at + 1);
            let end = [next, written].into_iter().flatten().fold(block_end, u32::min);
            places.push((range.label, range.loc, first..end));
        }
        places.extend(problem.labels.iter().filter_map(|request| self.defined(problem, allocation, &ranges, request)));
        sort_by_key(&mut places, |(label, _, bytes)| (*label, bytes.start));
        // Arguments are in their registers from the first byte of the function on, because no prologue writes to
        // these registers.
        let body = self.spans.first().map_or(0, |span| span.edits);
        for (_, _, bytes) in places.iter_mut().filter(|(_, loc, bytes)| loc.as_reg().is_some() && bytes.start == body) {
            bytes.start = 0;
        }
        places
    }

    /// Returns the place of a value after the instruction that defines it, if the allocator names none: the value is
    /// only the argument of an edge.
    fn defined(
        &self,
        problem: &Problem,
        allocation: &Allocation,
        ranges: &[LabelRange],
        request: &LabelUse,
    ) -> Option<(u32, Loc, Range<u32>)> {
        let next = ranges.partition_point(|range| (range.label, range.to) <= (request.label, request.from));
        if ranges.get(next).is_some_and(|range| range.label == request.label && range.from < request.to) {
            return None;
        }
        let inst = Inst::from_u32(request.from.as_u32().checked_sub(1)?);
        let mut locs = problem.operands(inst).iter().zip(allocation.operand_locs(problem, inst));
        let (_, &loc) = locs.find(|(operand, _)| operand.is_def() && operand.vreg() == request.vreg)?;
        let start = self.span(inst).end;
        let block_end = self.block_end(problem, problem.block_of(inst));
        let end = self.next_write(loc, start).map_or(block_end, |at| block_end.min(at + 1));
        Some((request.label, loc, start..end))
    }

    /// Returns the place of a value between its definition, which is the instruction before a range or the edge to its
    /// block, and the edits that move it to the place that the range names.
    fn before_edits(&self, range: &LabelRange, allocation: &Allocation, first: u32) -> Option<(u32, Loc, Range<u32>)> {
        let start = self.span(range.from).edits;
        let edits = &allocation.edits[allocation.edits.partition_point(|edit| edit.at < range.from)..];
        let edits = &edits[..edits.partition_point(|edit| edit.at == range.from)];
        let mut loc = range.loc;
        for edit in edits.iter().rev() {
            loc = match edit.kind {
                EditKind::Move { from, to, .. } if loc == Loc::reg(to) => Loc::reg(from),
                EditKind::Spill { from, to, .. } if loc == Loc::slot(to) => Loc::reg(from),
                EditKind::Fill { from, to, .. } if loc == Loc::reg(to) => Loc::slot(from),
                EditKind::SlotMove { from, to, .. } if loc == Loc::slot(to) => Loc::slot(from),
                EditKind::Exchange { a, b, .. } if loc == Loc::reg(a) => Loc::reg(b),
                EditKind::Exchange { a, b, .. } if loc == Loc::reg(b) => Loc::reg(a),
                EditKind::Remat { to, .. } if loc == Loc::reg(to) => return None,
                _ => loc,
            };
        }
        let end = self.next_write(loc, start).map_or(first, |at| first.min(at + 1));
        (loc != range.loc || end < first).then_some((range.label, loc, start..end))
    }

    /// Returns the first byte of a block at which all places become invalid.
    fn block_end(&self, problem: &Problem, block: Block) -> u32 {
        let terminator = self.span(problem.terminator(block));
        // The epilogue of an exit undoes the frame.
        if problem.succs(block).is_empty() { terminator.start + 1 } else { terminator.end }
    }

    fn span(&self, inst: Inst) -> Span {
        self.spans[inst.as_u32() as usize]
    }

    /// Returns the first byte at which the place of a range is valid.
    fn first_byte(&self, range: &LabelRange) -> u32 {
        let Span { edits, start, .. } = self.span(range.from);
        let is_written = self.next_write(range.loc, edits).is_some_and(|at| at < start);
        if is_written { start } else { edits }
    }

    /// Returns the first byte, at or after `from`, of an instruction or edit that writes to a place.
    fn next_write(&self, loc: Loc, from: u32) -> Option<u32> {
        let index = self.writes.partition_point(|&write| write < (loc, from));
        self.writes.get(index).filter(|&&(place, _)| place == loc).map(|&(_, at)| at)
    }
}

/// Returns the parts of a range, block by block, because blocks need not be emitted in the order of their
/// instructions.
fn by_block<'a>(problem: &'a Problem, range: &'a LabelRange) -> impl Iterator<Item = LabelRange> + 'a {
    let part = move |from: Inst| {
        let end = problem.terminator(problem.block_of(from)).as_u32() + 1;
        LabelRange { from, to: range.to.min(Inst::from_u32(end)), ..*range }
    };
    let first = (range.from < range.to).then(|| part(range.from));
    std::iter::successors(first, move |last| (last.to < range.to).then(|| part(last.to)))
}
