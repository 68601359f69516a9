//! The uses of each value, their needs, and the points over which each value is live.
//!
//! ```text
//! i1: def v1, use v0 = r0        v0 before 1 copy     copied to r0 before i1, so v0 need live no longer
//!                                v1 late 1 reg
//! ```
//!
//! A use that is fixed to a register, or whose register a result takes over, is a copy made before the instruction:
//! the value itself need only live until then. A result in a fixed register is copied from it after the
//! instruction. Neither constrains the value's own register.
//!
//! Live ranges are exact. The ranges of values used in one block only follow from their uses, the other ranges are
//! found by data flow (`kingpost_regalloc_common::live_blocks`). Data flow may be quadratic in values and blocks,
//! so it has a budget. Values processed after it is exhausted are in memory except at single instructions, and
//! count as live everywhere. Cost: linear in uses and ranges, and in the budget at most.

use crate::code::Code;
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, SecondaryMap};
use kingpost_regalloc::meter::MeterRef;
use kingpost_regalloc::meter::{HeapBytes, heap_bytes};
use kingpost_regalloc::{AllocError, Constraint, Edge, Inst, InstFlags, Pos, Problem, RegSetId, VReg};
use kingpost_regalloc_common::congruence::Interval;
use kingpost_regalloc_common::live_blocks::{DefsAndUses, LiveBlocks, LiveUse};
use kingpost_regalloc_common::matching::tied_def;
use kingpost_regalloc_common::order::LinearOrder;
use kingpost_regalloc_common::point::{Phase, PointRange, ProgPoint};
use kingpost_regalloc_common::release;
use std::ops::Range;

/// Need of a use or def.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Need {
    /// A register.
    Reg,
    /// A register of a subset, see [`Use::set`].
    Within,
    /// No location, but a register is cheaper.
    Soft,
    /// A copy of the value, from or to any location.
    Copy,
    /// The value's slot.
    Slot,
}

/// No operand.
const NO_OPERAND: u32 = u32::MAX;

/// A use or the def of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Use {
    pub(crate) vreg: VReg,
    pub(crate) point: ProgPoint,
    pub(crate) need: Need,
    pub(crate) is_def: bool,
    set: u16,
    /// Index of the operand, or [`NO_OPERAND`].
    operand: u32,
    /// A value that should be in the same register.
    pub(crate) partner: PackedOption<VReg>,
}

impl Use {
    /// Returns the subset for [`Need::Within`].
    pub(crate) fn set(&self) -> RegSetId {
        RegSetId::from_u32(u32::from(self.set))
    }

    /// Returns the index of the operand, or `None` for arguments and parameters.
    pub(crate) fn operand(&self) -> Option<usize> {
        (self.operand != NO_OPERAND).then_some(self.operand as usize)
    }

    /// Returns the first point at which the register is needed.
    pub(crate) fn start(&self) -> ProgPoint {
        if self.is_def { self.point } else { self.point.floor() }
    }

    /// Returns the first point at which the register is no longer needed.
    pub(crate) fn end(&self) -> ProgPoint {
        if self.is_def { self.point.next_position() } else { self.point.next() }
    }
}

/// A range of points over which a value is live, and the uses in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Segment {
    pub(crate) from: ProgPoint,
    /// The first point after the segment.
    pub(crate) to: ProgPoint,
    pub(crate) vreg: VReg,
    /// Indices for [`Liveness::uses_at`], from the first use to one past the last.
    uses_start: u32,
    uses_end: u32,
}

impl Segment {
    /// Returns a segment of a value over the given points, without uses.
    pub(crate) fn without_uses(vreg: VReg, from: ProgPoint, to: ProgPoint) -> Segment {
        Segment { from, to, vreg, uses_start: 0, uses_end: 0 }
    }

    /// Returns the indices of the uses, for [`Liveness::uses_at`].
    pub(crate) fn uses(&self) -> Range<usize> {
        self.uses_start as usize..self.uses_end as usize
    }

    /// Returns its points.
    pub(crate) fn range(&self) -> PointRange {
        PointRange::new(self.from, self.to)
    }
}

/// A live range in the form that coalescing uses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LiveRange {
    from: ProgPoint,
    to: ProgPoint,
    /// Its index in [`Liveness::all_ranges`].
    pub(crate) index: u32,
}

impl LiveRange {
    pub(crate) fn new(index: u32, segment: &Segment) -> LiveRange {
        LiveRange { from: segment.from, to: segment.to, index }
    }
}

impl Interval for LiveRange {
    type Point = ProgPoint;

    fn start(&self) -> ProgPoint {
        self.from
    }

    fn end(&self) -> ProgPoint {
        self.to
    }

    fn reserved_from(&self) -> ProgPoint {
        reserved_from(self.from)
    }
}

/// Returns the first point at which a slot must be reserved for a value that begins at `start`. The instruction
/// itself may write the slot of a copied result.
pub(crate) fn reserved_from(start: ProgPoint) -> ProgPoint {
    match start.phase() {
        Phase::After => ProgPoint::early(start.position()),
        _ => start,
    }
}

/// Uses and live ranges of all values.
#[derive(Default)]
pub(crate) struct Liveness {
    uses: Vec<Use>,
    use_starts: Vec<u32>,
    ranges: Vec<Segment>,
    values: SecondaryMap<VReg, ValueFacts>,
    globals: Vec<Global>,
    blocks: LiveBlocks,
    /// Values of the current chunk, the ranges found, and the span of ranges of each value.
    chunk: Vec<VReg>,
    found: Vec<PointRange>,
    spans: Vec<Range<u32>>,
}

heap_bytes!(Liveness { uses, use_starts, ranges, values, globals, blocks, chunk, found, spans });

/// Facts of a value.
#[derive(Clone, Copy, Debug)]
struct ValueFacts {
    /// Point of its definition: a block head, or a def.
    def: ProgPoint,
    /// The rematerializable instruction that computes it.
    remat: PackedOption<Inst>,
    /// The edge on which it exists, as a result of a branch.
    edge: PackedOption<Edge>,
    /// Its part of the ranges, from the first to one past the last.
    ranges: [u32; 2],
    /// Whether some use has a need other than a register.
    is_special: bool,
    /// Whether it is kept in memory because its range is unknown.
    is_memory_only: bool,
}

impl Default for ValueFacts {
    fn default() -> ValueFacts {
        let (remat, edge) = (None.into(), None.into());
        ValueFacts { def: ProgPoint::OPEN, remat, edge, ranges: [0; 2], is_special: false, is_memory_only: false }
    }
}

/// Queries.
impl Liveness {
    /// Returns the uses of a value by point, including its def.
    pub(crate) fn uses(&self, vreg: VReg) -> &[Use] {
        &self.uses[self.use_range(vreg)]
    }

    fn use_range(&self, vreg: VReg) -> Range<usize> {
        self.use_starts[vreg.index()] as usize..self.use_starts[vreg.index() + 1] as usize
    }

    /// Returns uses by index.
    pub(crate) fn uses_at(&self, indices: Range<usize>) -> &[Use] {
        &self.uses[indices]
    }

    /// Returns the part of a segment in `from..to`, if there is one.
    pub(crate) fn clip(&self, segment: &Segment, from: ProgPoint, to: ProgPoint) -> Option<Segment> {
        let (from, to) = (segment.from.max(from), segment.to.min(to));
        if (from, to) == (segment.from, segment.to) {
            return Some(*segment);
        }
        let all = &self.uses[segment.uses()];
        let first = all.partition_point(|u| u.point < from);
        let end = first + all[first..].partition_point(|u| u.point < to);
        let (uses_start, uses_end) = (segment.uses_start + first as u32, segment.uses_start + end as u32);
        (from < to).then_some(Segment { from, to, vreg: segment.vreg, uses_start, uses_end })
    }

    /// Returns the parts of segments, which are in order, within some points.
    pub(crate) fn clip_all<'a>(
        &'a self,
        segments: &'a [Segment],
        points: PointRange,
    ) -> impl Iterator<Item = Segment> + 'a {
        let first = segments.partition_point(|segment| segment.to <= points.from);
        let segments = segments[first..].iter().take_while(move |segment| segment.from < points.to);
        segments.filter_map(move |segment| self.clip(segment, points.from, points.to))
    }

    /// Returns the live ranges of a value, in order.
    pub(crate) fn ranges(&self, vreg: VReg) -> &[Segment] {
        let [start, end] = self.values[vreg].ranges;
        &self.ranges[start as usize..end as usize]
    }

    /// Returns the ranges of all values.
    pub(crate) fn all_ranges(&self) -> &[Segment] {
        &self.ranges
    }

    /// Returns, per value, the span of its ranges in [`Liveness::all_ranges`].
    pub(crate) fn spans(&self) -> impl Iterator<Item = Range<u32>> {
        self.values.values().map(|value| value.ranges[0]..value.ranges[1])
    }

    /// Returns the first range that ends after a point. It may begin after the point.
    fn range_after(&self, vreg: VReg, point: ProgPoint) -> Option<&Segment> {
        let ranges = self.ranges(vreg);
        ranges.get(ranges.partition_point(|range| range.to <= point))
    }

    /// Returns `true` if the value is live at a point.
    pub(crate) fn is_live(&self, vreg: VReg, point: ProgPoint) -> bool {
        self.range_after(vreg, point).is_some_and(|range| range.from <= point)
    }

    /// Returns `true` if the value is live at all points from `from` up to and excluding `to`.
    pub(crate) fn is_live_throughout(&self, vreg: VReg, from: ProgPoint, to: ProgPoint) -> bool {
        self.range_after(vreg, from).is_some_and(|range| range.from <= from && range.to >= to)
    }

    /// Returns the rematerializable instruction that computes the value.
    pub(crate) fn remat(&self, vreg: VReg) -> Option<Inst> {
        self.values[vreg].remat.expand()
    }

    /// Returns `true` if some use of the value has a need other than a register.
    pub(crate) fn is_special(&self, vreg: VReg) -> bool {
        self.values[vreg].is_special
    }

    /// Returns `true` if the value is in memory except at single instructions, because its range is unknown.
    pub(crate) fn is_memory_only(&self, vreg: VReg) -> bool {
        self.values[vreg].is_memory_only
    }

    /// Returns the point of the value's definition.
    pub(crate) fn def(&self, vreg: VReg) -> ProgPoint {
        self.values[vreg].def
    }

    /// Returns the edge on which the value, a result of a branch, exists.
    pub(crate) fn edge(&self, vreg: VReg) -> Option<Edge> {
        self.values[vreg].edge.expand()
    }

    /// Writes a line per value that is live: its ranges and uses.
    pub(crate) fn dump(&self, problem: &Problem, out: &mut String) -> std::fmt::Result {
        use std::fmt::Write;
        for vreg in problem.vregs.keys() {
            write!(out, "{vreg}")?;
            for segment in self.ranges(vreg) {
                write!(out, " {}", segment.range())?;
            }
            write!(out, ":")?;
            for u in self.uses(vreg) {
                let need = format!("{:?}", u.need).to_lowercase();
                write!(out, " {}{} {need}", if u.is_def { "def " } else { "" }, u.point)?;
            }
            writeln!(out)?;
        }
        Ok(())
    }
}

/// Collection of uses.
impl Liveness {
    /// Clears the state for a walk over a problem.
    pub(crate) fn begin(&mut self, problem: &Problem) {
        self.count_uses(problem);
        self.values.clear();
        self.values.resize(problem.vregs.len());
        for edge in problem.edges() {
            for &def in problem.edge_defs(edge) {
                self.values[def].edge = edge.into();
            }
        }
    }

    /// Reserves space for the uses of each value: one per operand, parameter and argument.
    fn count_uses(&mut self, problem: &Problem) {
        self.use_starts.clear();
        self.use_starts.resize(problem.vregs.len() + 2, 0);
        let mut count = |vreg: VReg| self.use_starts[vreg.index() + 2] += 1;
        problem.all_operands().iter().for_each(|operand| count(operand.vreg()));
        problem.blocks().for_each(|block| problem.params(block).iter().for_each(|&vreg| count(vreg)));
        problem.edges().for_each(|edge| problem.edge_args(edge).iter().for_each(|&vreg| count(vreg)));
        for v in 2..self.use_starts.len() {
            self.use_starts[v] += self.use_starts[v - 1];
        }
        let total = self.use_starts.last().map_or(0, |&total| total as usize);
        let (vreg, point, need, is_def) = (VReg::from_u32(0), ProgPoint::FIRST, Need::Slot, false);
        let filler = Use { vreg, point, need, is_def, set: 0, operand: NO_OPERAND, partner: None.into() };
        self.uses.clear();
        self.uses.resize(total, filler);
    }

    /// Records that a block begins with a parameter; `partner` is its most frequent argument.
    pub(crate) fn param(&mut self, vreg: VReg, point: ProgPoint, partner: Option<VReg>) {
        let partner = partner.into();
        self.push(Use { vreg, point, need: Need::Copy, is_def: true, set: 0, operand: NO_OPERAND, partner });
    }

    /// Records that a value is passed to a parameter.
    pub(crate) fn argument(&mut self, vreg: VReg, point: ProgPoint, param: VReg) {
        let partner = param.into();
        self.push(Use { vreg, point, need: Need::Copy, is_def: false, set: 0, operand: NO_OPERAND, partner });
    }

    fn push(&mut self, u: Use) {
        self.values[u.vreg].is_special |= u.need != Need::Reg || u.partner.is_some();
        self.push_plain(u);
    }

    fn push_plain(&mut self, u: Use) {
        if u.is_def {
            self.values[u.vreg].def = u.point;
        }
        let next = &mut self.use_starts[u.vreg.index() + 1];
        self.uses[*next as usize] = u;
        *next += 1;
    }

    /// Records the operands of an instruction without flags, which may be in any registers.
    pub(crate) fn plain_operands(&mut self, code: &Code<'_>) {
        let (early, late) = (ProgPoint::early(code.at), ProgPoint::late(code.at));
        for (operand, k) in code.operands.iter().zip(code.first as u32..) {
            let point = if operand.pos() == Pos::Early { early } else { late };
            let (vreg, is_def) = (operand.vreg(), operand.is_def());
            self.push_plain(Use { vreg, point, need: Need::Reg, is_def, set: 0, operand: k, partner: None.into() });
        }
    }

    /// Records the operands of any instruction.
    pub(crate) fn operands(&mut self, problem: &Problem, order: &LinearOrder, code: &Code<'_>) {
        let flags = code.flags;
        for (i, operand) in code.operands.iter().enumerate() {
            let (vreg, is_def) = (operand.vreg(), operand.is_def());
            let edge = if is_def && flags.has(InstFlags::BRANCH) { self.edge(vreg) } else { None };
            let (point, need, set, partner) = match edge {
                Some(edge) => {
                    let start = order.block(order.index(problem.edge(edge).to)).start();
                    (start, Need::Copy, 0, None)
                }
                None if is_def && flags.has(InstFlags::REMAT) && !problem.vregs[vreg].is_ref => {
                    self.values[vreg].remat = code.inst.into();
                    (code.point(operand.pos()), Need::Soft, 0, None)
                }
                None => need_of(code, i),
            };
            let operand = (code.first + i) as u32;
            self.push(Use { vreg, point, need, is_def, set, operand, partner: partner.into() });
        }
    }
}

/// Returns the point at which operand `i` of an instruction reads or writes its value, its need and register subset
/// there, and the value that should be in the same register.
fn need_of(code: &Code<'_>, i: usize) -> (ProgPoint, Need, u16, Option<VReg>) {
    let operand = code.operands[i];
    let (early, point) = (ProgPoint::early(code.at), code.point(operand.pos()));
    let tied = if code.has_tied { tied_def(code.operands, i) } else { None };
    let partner = match code.operands {
        &[a, b] if code.flags.has(InstFlags::MOVE) => Some(if operand.is_def() { a } else { b }.vreg()),
        _ => tied.map(|def| def.vreg()),
    };
    match (operand.constraint(), operand.is_def()) {
        (Constraint::Fixed(_), true) => (ProgPoint::after(code.at), Need::Copy, 0, partner),
        (Constraint::Fixed(_), false) => (ProgPoint::before(code.at), Need::Copy, 0, partner),
        (Constraint::Stack, true) => (ProgPoint::after(code.at), Need::Slot, 0, None),
        (Constraint::Stack, false) => (point, Need::Slot, 0, None),
        (Constraint::Reuse(source), _) => {
            let source = code.operands[usize::from(source)];
            let partner = Some(source.vreg());
            match source.constraint() {
                Constraint::Fixed(_) => (ProgPoint::after(code.at), Need::Copy, 0, partner),
                Constraint::Within(set) => (early, Need::Within, set.as_u32() as u16, partner),
                _ if operand.is_rmw() => (early, Need::Soft, 0, partner),
                _ => (early, Need::Reg, 0, partner),
            }
        }
        _ if tied.is_some() => (ProgPoint::before(code.at), Need::Copy, 0, partner),
        (Constraint::Reg, _) => (point, Need::Reg, 0, partner),
        (Constraint::Within(set), _) => (point, Need::Within, set.as_u32() as u16, partner),
        (Constraint::MemOk | Constraint::Any, _) => (point, Need::Soft, 0, partner),
    }
}

/// Computation of ranges.
impl Liveness {
    /// Computes the live ranges of all values.
    ///
    /// # Errors
    /// If that takes too many steps.
    pub(crate) fn find_ranges(
        &mut self,
        problem: &Problem,
        order: &LinearOrder,
        meter: MeterRef<'_>,
    ) -> Result<(), AllocError> {
        self.ranges.clear();
        self.globals.clear();
        for vreg in problem.vregs.keys() {
            let uses = self.sorted_uses(vreg);
            if let Some(range) = self.local_range(order, uses.clone()) {
                self.values[vreg].ranges = [self.ranges.len() as u32, self.ranges.len() as u32 + 1];
                self.ranges.push(range);
            } else if uses.len() > 1 && self.values[vreg].def != ProgPoint::OPEN {
                self.globals.push(Global::new(order, self.values[vreg].def, &self.uses[uses.end - 1]));
            }
        }
        if self.globals.is_empty() {
            return Ok(());
        }
        self.globals.sort_unstable();
        let globals = std::mem::take(&mut self.globals);
        self.blocks.begin(problem, order);
        let mut chunks = globals.chunks(LiveBlocks::CHUNK);
        let result = chunks.try_for_each(|chunk| self.find_global(problem, order, chunk, meter));
        self.globals = globals;
        self.release();
        result
    }

    /// Frees memory of a large problem that only the computation of ranges needs.
    fn release(&mut self) {
        release(&mut self.globals);
        release(&mut self.found);
        release(&mut self.spans);
        self.blocks.release();
    }

    /// Computes the live ranges of values that are used in several blocks.
    fn find_global(
        &mut self,
        problem: &Problem,
        order: &LinearOrder,
        chunk: &[Global],
        meter: MeterRef<'_>,
    ) -> Result<(), AllocError> {
        let Liveness { uses, use_starts, values, blocks, chunk: vregs, .. } = self;
        vregs.clear();
        vregs.extend(chunk.iter().map(|global| global.vreg));
        let needs_truth = vregs.iter().any(|&vreg| problem.vregs[vreg].is_ref);
        let is_found = blocks.find(order, &SortedUses { uses, use_starts, values }, vregs, needs_truth, meter)?;
        self.found.clear();
        self.spans.clear();
        if is_found {
            self.blocks.append_to(&mut self.found, chunk.len(), |_, span| self.spans.push(span));
            meter.spend(self.found.len() as u64)?;
            meter.grow(|| self.ranges.heap_bytes())?;
        }
        for (k, &Global { vreg, .. }) in chunk.iter().enumerate() {
            let (first, uses) = (self.ranges.len(), self.use_range(vreg));
            match self.spans.get(k) {
                Some(span) => {
                    let found = &self.found[span.start as usize..span.end as usize];
                    self.ranges.extend(found.iter().map(|found| Segment::without_uses(vreg, found.from, found.to)));
                    self.share_out(first, uses);
                }
                None => {
                    self.values[vreg].is_memory_only = true;
                    let (uses_start, uses_end) = (uses.start as u32, uses.end as u32);
                    self.ranges.push(Segment { from: ProgPoint::FIRST, to: order.stop(), vreg, uses_start, uses_end });
                }
            }
            self.values[vreg].ranges = [first as u32, self.ranges.len() as u32];
        }
        Ok(())
    }

    /// Sorts the uses of a value by point, and returns their indices. They are nearly sorted before.
    fn sorted_uses(&mut self, vreg: VReg) -> Range<usize> {
        let range = self.use_range(vreg);
        let uses = &mut self.uses[range.clone()];
        if !uses.is_sorted_by(|a, b| a.point <= b.point) {
            uses.sort_by_key(|u| u.point);
        }
        range
    }

    /// Returns the range of a value that lives in one block, as most do. Returns `None` for a value that is only
    /// written to a fixed location.
    fn local_range(&self, order: &LinearOrder, range: Range<usize>) -> Option<Segment> {
        let uses = &self.uses[range.clone()];
        let (def, last) = (uses.first()?, uses.last()?);
        let is_gone = uses.len() == 1 && (def.need == Need::Copy || def.need == Need::Slot);
        if !def.is_def || is_gone || last.point >= order.block_at(def.point.position()).stop() {
            return None;
        }
        let to = def.end().max(last.point.next());
        let (uses_start, uses_end) = (range.start as u32, range.end as u32);
        Some(Segment { from: def.point, to, vreg: def.vreg, uses_start, uses_end })
    }

    /// Assigns uses to the ranges from `first` on that contain their points.
    fn share_out(&mut self, first: usize, uses: Range<usize>) {
        let mut next = uses.start;
        for segment in &mut self.ranges[first..] {
            segment.uses_start = next as u32;
            while next < uses.end && self.uses[next].point < segment.to {
                next += 1;
            }
            segment.uses_end = next as u32;
        }
    }
}

/// A value that is used in several blocks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Global {
    /// Size class of its range. Long ranges are processed separately, so that chunks of short ones cover few
    /// blocks.
    size: u8,
    def: ProgPoint,
    vreg: VReg,
}

impl Global {
    fn new(order: &LinearOrder, def: ProgPoint, last: &Use) -> Global {
        let blocks = order.index_at(last.point.position()).index().abs_diff(order.index_at(def.position()).index());
        Global { size: (blocks / LiveBlocks::CHUNK + 1).ilog2() as u8, def, vreg: last.vreg }
    }
}

/// Uses in the order of values and points, as [`LiveBlocks`] reads them.
struct SortedUses<'a> {
    uses: &'a [Use],
    use_starts: &'a [u32],
    values: &'a SecondaryMap<VReg, ValueFacts>,
}

impl SortedUses<'_> {
    /// Returns the index of the first use of a value, from `index` on, that is no def.
    fn first_from(&self, vreg: VReg, index: u32) -> u32 {
        match self.uses.get(index as usize) {
            Some(u) if u.vreg == vreg && u.is_def => self.first_from(vreg, index + 1),
            Some(u) if u.vreg == vreg => index,
            _ => u32::MAX,
        }
    }
}

impl DefsAndUses for SortedUses<'_> {
    fn def(&self, vreg: VReg) -> ProgPoint {
        self.values[vreg].def
    }

    fn last_use(&self, vreg: VReg) -> Option<ProgPoint> {
        let all = self.use_starts[vreg.index()] as usize..self.use_starts[vreg.index() + 1] as usize;
        self.uses[all].iter().rfind(|u| !u.is_def).map(|u| u.point)
    }

    fn first_use(&self, vreg: VReg) -> u32 {
        self.first_from(vreg, self.use_starts[vreg.index()])
    }

    fn use_at(&self, cursor: u32) -> Option<LiveUse> {
        let u = self.uses.get(cursor as usize)?;
        Some(LiveUse { point: u.point, end: u.end(), next: self.first_from(u.vreg, cursor + 1) })
    }
}
