//! The uses of each value, what each needs, and the points over which each value is live.
//!
//! ```text
//! i1: def v1, use v0 = r0        v0 before 1 copy     copied to r0 before i1, so v0 need live no longer
//!                                v1 late 1 reg
//! ```
//!
//! A use that is fixed to a register, or whose register a result takes over, is a copy made before the instruction: the
//! value itself need only live until then. A result in a fixed register is copied from it after the instruction. So the
//! value's own register is bound by neither.
//!
//! Live ranges are exact, found by walks backwards from the uses (Appel and Palsberg, *Modern Compiler Implementation*, 2002,
//! section 19.6). As they may be quadratic in values and blocks, the walks share a budget; values looked at once it is used up
//! are in memory but for single instructions, and count as live everywhere. Cost: linear in the ranges, in the budget at most.

use crate::block_graph::BlockGraph;
use crate::collect::Code;
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, SecondaryMap};
use kingpost_regalloc::{AllocError, Constraint, Edge, Inst, InstFlags, Pos, Problem, RegSetId, VReg};
use kingpost_regalloc_common::congruence::Interval;
use kingpost_regalloc_common::matching::tied_def;
use kingpost_regalloc_common::order::{BlockIndex, LinearOrder};
use kingpost_regalloc_common::point::{Phase, PointRange, ProgPoint};
use std::ops::Range;

/// Blocks that walks may visit, per position of the order, before values are kept in memory instead.
const BLOCKS_PER_POSITION: usize = 16;

/// By how much walks may exceed that for references, since stack maps must be exact.
const LAST_RESORT: usize = 64;

/// What a use or def needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Need {
    /// A register.
    Reg,
    /// A register of a subset, see [`Use::set`].
    Within,
    /// Nothing, but a register is cheaper.
    Soft,
    /// The value is copied, from or to anywhere.
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
    /// A value that had better be in the same register.
    pub(crate) partner: PackedOption<VReg>,
}

impl Use {
    /// Returns the subset for [`Need::Within`].
    pub(crate) fn set(&self) -> RegSetId {
        RegSetId::from_u32(u32::from(self.set))
    }

    /// Returns the index of the operand; none for arguments and parameters.
    #[inline]
    pub(crate) fn operand(&self) -> Option<usize> {
        (self.operand != NO_OPERAND).then_some(self.operand as usize)
    }

    /// Returns the first point at which the register is needed.
    #[inline]
    pub(crate) fn start(&self) -> ProgPoint {
        if self.is_def { self.point } else { self.point.floor() }
    }

    /// Returns the first point at which it is no longer.
    #[inline]
    pub(crate) fn end(&self) -> ProgPoint {
        if self.is_def { self.point.next_position() } else { self.point.next() }
    }
}

/// Points over which a value is live, and the uses among them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Segment {
    pub(crate) from: ProgPoint,
    /// The first point after it.
    pub(crate) to: ProgPoint,
    pub(crate) vreg: VReg,
    /// Indices for [`Liveness::uses_at`], from the first use to one past the last.
    uses_start: u32,
    uses_end: u32,
}

impl Segment {
    /// The given points of a value, without uses.
    pub(crate) fn without_uses(vreg: VReg, from: ProgPoint, to: ProgPoint) -> Segment {
        Segment { from, to, vreg, uses_start: 0, uses_end: 0 }
    }

    /// Returns the indices of the uses, for [`Liveness::uses_at`].
    #[inline]
    pub(crate) fn uses(&self) -> Range<usize> {
        self.uses_start as usize..self.uses_end as usize
    }

    /// Returns its points.
    pub(crate) fn range(&self) -> PointRange {
        PointRange::new(self.from, self.to)
    }
}

impl Interval for Segment {
    type Point = ProgPoint;

    #[inline]
    fn start(&self) -> ProgPoint {
        self.from
    }

    #[inline]
    fn end(&self) -> ProgPoint {
        self.to
    }

    /// The slot of a result that is copied may be written by the instruction itself.
    #[inline]
    fn reserved_from(&self) -> ProgPoint {
        match self.from.phase() {
            Phase::After => ProgPoint::early(self.from.position()),
            _ => self.from,
        }
    }
}

/// Uses and live ranges of all values.
#[derive(Default)]
pub(crate) struct Liveness {
    uses: Vec<Use>,
    use_starts: Vec<u32>,
    ranges: Vec<Segment>,
    range_starts: Vec<u32>,
    values: SecondaryMap<VReg, ValueFacts>,
    /// One bit per block: is the value at hand live in it?
    is_member: Vec<u64>,
    /// By block: the last value that is live out, plus one; one past the last use of that value.
    live_out: Vec<u32>,
    last_use: Vec<ProgPoint>,
    /// Blocks in which the value at hand is live.
    members: Vec<BlockIndex>,
    work: Vec<BlockIndex>,
}

/// What is known of a value.
#[derive(Clone, Copy, Debug)]
struct ValueFacts {
    /// Where it begins: at a head, or at its def.
    def: ProgPoint,
    /// The rematerializable instruction that makes it.
    remat: PackedOption<Inst>,
    /// The edge on which it exists, as a result of a branch.
    edge: PackedOption<Edge>,
    /// Does some use need something other than just a register?
    is_special: bool,
    /// Is it kept in memory, its range unknown?
    is_memory_only: bool,
}

impl Default for ValueFacts {
    fn default() -> ValueFacts {
        let (remat, edge) = (None.into(), None.into());
        ValueFacts { def: ProgPoint::OPEN, remat, edge, is_special: false, is_memory_only: false }
    }
}

/// Reading.
impl Liveness {
    /// Returns the uses of a value by point, its def among them.
    #[inline]
    pub(crate) fn uses(&self, vreg: VReg) -> &[Use] {
        &self.uses[self.use_starts[vreg.index()] as usize..self.use_starts[vreg.index() + 1] as usize]
    }

    /// Returns uses by index.
    #[inline]
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

    /// Returns the live ranges of a value, in order.
    #[inline]
    pub(crate) fn ranges(&self, vreg: VReg) -> &[Segment] {
        &self.ranges[self.range_starts[vreg.index()] as usize..self.range_starts[vreg.index() + 1] as usize]
    }

    /// Returns the ranges of all values, by value.
    pub(crate) fn all_ranges(&self) -> &[Segment] {
        &self.ranges
    }

    /// Returns where the ranges of each value start in [`Liveness::all_ranges`].
    pub(crate) fn range_starts(&self) -> &[u32] {
        &self.range_starts
    }

    /// Returns the range that ends first after a point; it may begin after the point.
    fn range_after(&self, vreg: VReg, point: ProgPoint) -> Option<&Segment> {
        let ranges = self.ranges(vreg);
        ranges.get(ranges.partition_point(|range| range.to <= point))
    }

    /// Is the value live at a point?
    pub(crate) fn is_live(&self, vreg: VReg, point: ProgPoint) -> bool {
        self.range_after(vreg, point).is_some_and(|range| range.from <= point)
    }

    /// Is the value live at all points from `from` up to, not including, `to`?
    pub(crate) fn is_live_throughout(&self, vreg: VReg, from: ProgPoint, to: ProgPoint) -> bool {
        self.range_after(vreg, from).is_some_and(|range| range.from <= from && range.to >= to)
    }

    /// Returns the rematerializable instruction that makes the value.
    #[inline]
    pub(crate) fn remat(&self, vreg: VReg) -> Option<Inst> {
        self.values[vreg].remat.expand()
    }

    /// Does some use of the value need something other than just a register?
    #[inline]
    pub(crate) fn is_special(&self, vreg: VReg) -> bool {
        self.values[vreg].is_special
    }

    /// Is the value in memory but for single instructions, since its range is unknown?
    #[inline]
    pub(crate) fn is_memory_only(&self, vreg: VReg) -> bool {
        self.values[vreg].is_memory_only
    }

    /// Returns where the value begins.
    #[inline]
    pub(crate) fn def(&self, vreg: VReg) -> ProgPoint {
        self.values[vreg].def
    }

    /// Returns the edge on which the value, a result of a branch, exists.
    #[inline]
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

/// Collecting uses.
impl Liveness {
    /// Empties it for a walk over a problem.
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

    /// Makes room for the uses of each value: there is one per operand, parameter and argument.
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

    /// Notes that a block begins with a parameter; `partner` is the most frequent argument.
    pub(crate) fn param(&mut self, vreg: VReg, point: ProgPoint, partner: Option<VReg>) {
        let partner = partner.into();
        self.push(Use { vreg, point, need: Need::Copy, is_def: true, set: 0, operand: NO_OPERAND, partner });
    }

    /// Notes that a value is passed to a parameter.
    pub(crate) fn argument(&mut self, vreg: VReg, point: ProgPoint, param: VReg) {
        let partner = param.into();
        self.push(Use { vreg, point, need: Need::Copy, is_def: false, set: 0, operand: NO_OPERAND, partner });
    }

    fn push(&mut self, u: Use) {
        self.values[u.vreg].is_special |= u.need != Need::Reg || u.partner.is_some();
        self.push_plain(u);
    }

    #[inline]
    fn push_plain(&mut self, u: Use) {
        if u.is_def {
            self.values[u.vreg].def = u.point;
        }
        let next = &mut self.use_starts[u.vreg.index() + 1];
        self.uses[*next as usize] = u;
        *next += 1;
    }

    /// Notes operands that may be in any register, of an instruction without flags.
    pub(crate) fn plain_operands(&mut self, code: &Code<'_>) {
        let (early, late) = (ProgPoint::early(code.at), ProgPoint::late(code.at));
        for (operand, k) in code.operands.iter().zip(code.first as u32..) {
            let point = if operand.pos() == Pos::Early { early } else { late };
            let (vreg, is_def) = (operand.vreg(), operand.is_def());
            self.push_plain(Use { vreg, point, need: Need::Reg, is_def, set: 0, operand: k, partner: None.into() });
        }
    }

    /// Notes the operands of any instruction.
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

/// Returns the point at which operand `i` of an instruction reads or writes its value, what it needs there, and the value
/// that had better be in the same register.
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

/// Finding ranges.
impl Liveness {
    /// Finds where each value is live.
    ///
    /// # Errors
    /// If that takes too many steps.
    pub(crate) fn find_ranges(
        &mut self,
        problem: &Problem,
        order: &LinearOrder,
        graph: &BlockGraph,
    ) -> Result<(), AllocError> {
        self.is_member.clear();
        self.is_member.resize(order.num_blocks().div_ceil(64), 0);
        self.live_out.clear();
        self.live_out.resize(order.num_blocks(), 0);
        self.last_use.clear();
        self.last_use.resize(order.num_blocks(), ProgPoint::FIRST);
        self.ranges.clear();
        self.range_starts.clear();
        let budget = BLOCKS_PER_POSITION * order.num_positions();
        let mut visited = 0;
        for vreg in problem.vregs.keys() {
            self.range_starts.push(self.ranges.len() as u32);
            let uses = self.sorted_uses(vreg);
            if let Some(range) = self.local_range(order, uses.clone()) {
                self.ranges.push(range);
                continue;
            }
            let Some(&def) = self.uses[uses.clone()].iter().find(|u| u.is_def) else { continue };
            if uses.len() == 1 {
                continue;
            }
            if visited > budget && !problem.vregs[vreg].is_ref {
                self.values[vreg].is_memory_only = true;
                let (uses_start, uses_end) = (uses.start as u32, uses.end as u32);
                self.ranges.push(Segment { from: ProgPoint::FIRST, to: order.stop(), vreg, uses_start, uses_end });
                continue;
            }
            self.walk(order, graph, def, uses);
            visited += self.members.len();
            if visited > LAST_RESORT * budget {
                return Err(AllocError::StepBudget { steps: visited as u64 });
            }
        }
        self.range_starts.push(self.ranges.len() as u32);
        Ok(())
    }

    /// Sorts the uses of a value by point, as they nearly are, and returns their indices.
    fn sorted_uses(&mut self, vreg: VReg) -> Range<usize> {
        let range = self.use_starts[vreg.index()] as usize..self.use_starts[vreg.index() + 1] as usize;
        let uses = &mut self.uses[range.clone()];
        if !uses.is_sorted_by(|a, b| a.point <= b.point) {
            uses.sort_by_key(|u| u.point);
        }
        range
    }

    /// Returns the range of a value that lives in one block, as most do; none for one that is only written to a fixed place.
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

    fn walk(&mut self, order: &LinearOrder, graph: &BlockGraph, def: Use, uses: Range<usize>) {
        let stamp = def.vreg.as_u32() + 1;
        let def_block = order.index_at(def.point.position());
        let mut def_block_end = def.end();
        self.members.clear();
        self.enter(def_block);
        self.work.clear();
        for i in uses.clone() {
            let u = self.uses[i];
            let at = order.index_at(u.point.position());
            if u.is_def {
                continue;
            } else if at == def_block {
                def_block_end = def_block_end.max(u.point.next());
            } else {
                self.last_use[at.index()] = u.point.next();
                self.enter(at);
            }
        }
        while let Some(at) = self.work.pop() {
            for pred in graph.preds(at) {
                self.live_out[pred.block.index()] = stamp;
                self.enter(pred.block);
            }
        }
        self.sort_members();
        let first = self.ranges.len();
        for &at in &self.members {
            let block = order.block(at);
            let from = if at == def_block { def.point } else { block.start() };
            let to = match self.live_out[at.index()] == stamp {
                true => block.stop(),
                false if at == def_block => def_block_end,
                false => self.last_use[at.index()],
            };
            match self.ranges[first..].last_mut() {
                Some(last) if last.to == from && at != def_block => last.to = to,
                _ => self.ranges.push(Segment::without_uses(def.vreg, from, to)),
            }
        }
        self.share_out(first, uses);
    }

    /// Gives the ranges from `first` on the uses among their points.
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

    #[inline]
    fn enter(&mut self, at: BlockIndex) {
        let (word, bit) = (&mut self.is_member[at.index() / 64], 1 << (at.index() % 64));
        if *word & bit == 0 {
            *word |= bit;
            self.members.push(at);
            self.work.push(at);
        }
    }

    /// Brings the members in order, by their bits unless they lie far apart, and clears these.
    fn sort_members(&mut self) {
        let words = self.members.iter().map(|at| at.index() / 64);
        let (low, high) = words.fold((usize::MAX, 0), |(low, high), word| (low.min(word), high.max(word)));
        if high - low > self.members.len() {
            self.members.sort_unstable();
            self.members.iter().for_each(|at| self.is_member[at.index() / 64] = 0);
            return;
        }
        self.members.clear();
        for word in low..=high {
            let mut bits = std::mem::take(&mut self.is_member[word]);
            while bits != 0 {
                self.members.push(BlockIndex::new(64 * word + bits.trailing_zeros() as usize));
                bits &= bits - 1;
            }
        }
    }
}
