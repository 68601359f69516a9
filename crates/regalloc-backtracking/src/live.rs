//! What instructions want from each value, and over which points each value is live.
//!
//! A use that is fixed to a register, or whose register a result takes over, is a copy made before the instruction: the
//! value itself need only live until then. A result in a fixed register is copied from it after the instruction. So the
//! value's own place is bound by neither.
//!
//! Live ranges are exact, found by walks backwards from the uses. As they may be quadratic in values and blocks, the
//! walks share a budget; values looked at once it is used up are in memory but for single instructions, and live
//! everywhere as far as slots are concerned.

use crate::order::{EARLY, LATE, NONE, Order, POST, PRE};
use crate::scan::Code;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{AllocError, Constraint, Inst, InstFlags, Pos, Problem, RegSetId, VReg};
use std::ops::Range;

/// Blocks that walks may visit, per slot of the order, before values are kept in memory instead.
const BLOCKS_PER_SLOT: usize = 16;

/// By how much walks may exceed that for references, since stack maps must be exact.
const LAST_RESORT: usize = 64;

/// What a use or def wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Need {
    /// A register.
    Reg,
    /// A register of a subset, see [`Use::set`].
    Within,
    /// Better a register.
    Soft,
    /// The value is copied, from or to anywhere.
    Copy,
    /// The value's slot.
    Slot,
}

/// A use or the def of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Use {
    pub(crate) vreg: VReg,
    pub(crate) point: u32,
    pub(crate) need: Need,
    pub(crate) is_def: bool,
    set: u16,
    /// Index of the operand, or [`NONE`] if it is none.
    pub(crate) operand: u32,
    /// A value that would better be in the same register, or [`NONE`].
    pub(crate) partner: u32,
}

impl Use {
    /// The subset for [`Need::Within`].
    pub(crate) fn set(&self) -> RegSetId {
        RegSetId::from_u32(u32::from(self.set))
    }

    /// First point at which the register is needed.
    pub(crate) fn from(&self) -> u32 {
        if self.is_def { self.point } else { self.point / 4 * 4 }
    }

    /// First point at which it is no longer.
    pub(crate) fn to(&self) -> u32 {
        if self.is_def { (self.point / 4 + 1) * 4 } else { self.point + 1 }
    }
}

/// Points over which a value is live, the end excluded, and the uses among them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Segment {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) vreg: VReg,
    /// Indices for [`Liveness::uses_at`], from the first use to one past the last.
    pub(crate) uses: u32,
    pub(crate) uses_end: u32,
}

impl Segment {
    /// Indices of the uses, for [`Liveness::uses_at`].
    pub(crate) fn uses(&self) -> Range<usize> {
        self.uses as usize..self.uses_end as usize
    }
}

/// Uses and live ranges of all values.
#[derive(Default)]
pub(crate) struct Liveness {
    uses: Vec<Use>,
    use_starts: Vec<u32>,
    ranges: Vec<Segment>,
    range_starts: Vec<u32>,
    /// The rematerialisable instruction that makes the value.
    remat: Vec<Option<Inst>>,
    /// Does some use want something other than just a register?
    is_special: Vec<bool>,
    /// Is the value kept in memory, its range unknown?
    in_memory: Vec<bool>,
    /// Where the value begins: at a head, or at its def.
    defs: Vec<u32>,
    /// The edge on which the value, a result of a branch, exists.
    edge_of: Vec<u32>,
    live_in: Vec<u32>,
    live_out: Vec<u32>,
    last_use: Vec<u32>,
    members: Vec<u32>,
    work: Vec<u32>,
}

impl Liveness {
    pub(crate) fn uses(&self, vreg: VReg) -> &[Use] {
        &self.uses[self.use_starts[vreg.index()] as usize..self.use_starts[vreg.index() + 1] as usize]
    }

    /// The part of a segment in `from..to`, if there is one.
    pub(crate) fn clip(&self, segment: &Segment, from: u32, to: u32) -> Option<Segment> {
        let (from, to) = (segment.from.max(from), segment.to.min(to));
        if (from, to) == (segment.from, segment.to) {
            return Some(*segment);
        }
        let all = &self.uses[segment.uses()];
        let first = all.partition_point(|u| u.point < from);
        let end = first + all[first..].partition_point(|u| u.point < to);
        let (uses, uses_end) = (segment.uses + first as u32, segment.uses + end as u32);
        (from < to).then_some(Segment { from, to, vreg: segment.vreg, uses, uses_end })
    }

    pub(crate) fn uses_at(&self, indices: Range<usize>) -> &[Use] {
        &self.uses[indices]
    }

    pub(crate) fn ranges(&self, vreg: VReg) -> &[Segment] {
        &self.ranges[self.range_starts[vreg.index()] as usize..self.range_starts[vreg.index() + 1] as usize]
    }

    /// The ranges of all values, and where those of each start.
    pub(crate) fn all_ranges(&self) -> &[Segment] {
        &self.ranges
    }

    pub(crate) fn range_starts(&self) -> &[u32] {
        &self.range_starts
    }

    pub(crate) fn is_live(&self, vreg: VReg, point: u32) -> bool {
        let ranges = self.ranges(vreg);
        let next = ranges.partition_point(|range| range.to <= point);
        ranges.get(next).is_some_and(|range| range.from <= point)
    }

    pub(crate) fn remat(&self, vreg: VReg) -> Option<Inst> {
        self.remat[vreg.index()]
    }

    /// Does some use of the value want something other than just a register?
    pub(crate) fn is_special(&self, vreg: VReg) -> bool {
        self.is_special[vreg.index()]
    }

    /// Is the value in memory but for single instructions, since its range is unknown?
    pub(crate) fn is_in_memory(&self, vreg: VReg) -> bool {
        self.in_memory[vreg.index()]
    }

    /// Where the value begins.
    pub(crate) fn def(&self, vreg: VReg) -> u32 {
        self.defs[vreg.index()]
    }

    pub(crate) fn edge_of(&self, vreg: VReg) -> u32 {
        self.edge_of[vreg.index()]
    }

    /// Empties it for a walk over a problem.
    pub(crate) fn begin(&mut self, problem: &Problem) {
        let values = problem.vregs.len();
        self.count_uses(problem);
        self.defs.clear();
        self.defs.resize(values, NONE);
        self.remat.clear();
        self.remat.resize(values, None);
        self.is_special.clear();
        self.is_special.resize(values, false);
        self.edge_of.clear();
        self.edge_of.resize(values, NONE);
        for edge in problem.edges() {
            for def in problem.edge_defs(edge) {
                self.edge_of[def.index()] = edge.as_u32();
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
        let (vreg, need, is_def) = (VReg::from_u32(0), Need::Slot, false);
        let none = Use { vreg, point: 0, need, is_def, set: 0, operand: NONE, partner: NONE };
        self.uses.clear();
        self.uses.resize(total, none);
    }

    /// Notes a use that needs no subset.
    pub(crate) fn note(&mut self, vreg: VReg, point: u32, need: Need, is_def: bool, operand: u32, partner: u32) {
        self.push(Use { vreg, point, need, is_def, set: 0, operand, partner });
    }

    fn push(&mut self, u: Use) {
        self.is_special[u.vreg.index()] |= u.need != Need::Reg || u.partner != NONE;
        self.push_plain(u);
    }

    fn push_plain(&mut self, u: Use) {
        let vreg = u.vreg.index();
        if u.is_def {
            self.defs[vreg] = u.point;
        }
        let next = &mut self.use_starts[vreg + 1];
        self.uses[*next as usize] = u;
        *next += 1;
    }

    /// Notes operands that may be in any register, of an instruction without flags.
    pub(crate) fn plain_operands(&mut self, code: &Code<'_>) {
        for (k, operand) in (code.first as u32..).zip(code.operands) {
            let point = code.at + if operand.pos() == Pos::Early { EARLY } else { LATE };
            let (vreg, is_def) = (operand.vreg(), operand.is_def());
            self.push_plain(Use { vreg, point, need: Need::Reg, is_def, set: 0, operand: k, partner: NONE });
        }
    }

    /// Notes the operands of an instruction.
    pub(crate) fn operands(&mut self, problem: &Problem, order: &Order, code: &Code<'_>) {
        let Code { inst, at, first, operands, flags } = *code;
        let has_tied = operands.iter().any(|def| matches!(def.constraint(), Constraint::Reuse(_)));
        for (i, operand) in operands.iter().enumerate() {
            let (vreg, is_def, k) = (operand.vreg(), operand.is_def(), (first + i) as u32);
            let point = at + if operand.pos() == Pos::Early { EARLY } else { LATE };
            if is_def && flags.has(InstFlags::BRANCH) && self.edge_of[vreg.index()] != NONE {
                let edge = kingpost_regalloc::Edge::from_u32(self.edge_of[vreg.index()]);
                let start = order.place(problem.edge(edge).to).start();
                self.note(vreg, start, Need::Copy, true, k, NONE);
                continue;
            }
            if is_def && flags.has(InstFlags::REMAT) && !problem.vregs[vreg].is_ref {
                self.remat[vreg.index()] = Some(inst);
                self.note(vreg, point, Need::Soft, true, k, NONE);
                continue;
            }
            let reuse = Constraint::Reuse(i as u8);
            let tied = if has_tied { operands.iter().find(|def| def.constraint() == reuse) } else { None };
            let partner = match operands {
                &[a, b] if flags.has(InstFlags::MOVE) => if is_def { a } else { b }.vreg().as_u32(),
                _ => tied.map_or(NONE, |def| def.vreg().as_u32()),
            };
            let (point, need, set) = match (operand.constraint(), is_def) {
                (Constraint::Fixed(_), true) => (at + POST, Need::Copy, 0),
                (Constraint::Fixed(_), false) => (at + PRE, Need::Copy, 0),
                (Constraint::Stack, true) => (at + POST, Need::Slot, 0),
                (Constraint::Stack, false) => (point, Need::Slot, 0),
                (Constraint::Reuse(u), _) => {
                    let source = operands[usize::from(u)];
                    let partner = source.vreg().as_u32();
                    let (point, need, set) = match source.constraint() {
                        Constraint::Fixed(_) => (at + POST, Need::Copy, 0),
                        Constraint::Within(set) => (at + EARLY, Need::Within, set.as_u32() as u16),
                        _ if operand.is_rmw() => (at + EARLY, Need::Soft, 0),
                        _ => (at + EARLY, Need::Reg, 0),
                    };
                    self.push(Use { vreg, point, need, is_def, set, operand: k, partner });
                    continue;
                }
                _ if tied.is_some() => (at + PRE, Need::Copy, 0),
                (Constraint::Reg, _) => (point, Need::Reg, 0),
                (Constraint::Within(set), _) => (point, Need::Within, set.as_u32() as u16),
                (Constraint::MemOk | Constraint::Any, _) => (point, Need::Soft, 0),
            };
            let partner = if need == Need::Slot { NONE } else { partner };
            self.push(Use { vreg, point, need, is_def, set, operand: k, partner });
        }
    }

    /// Finds where each value is live.
    ///
    /// # Errors
    /// If that takes too many steps.
    pub(crate) fn find_ranges(&mut self, problem: &Problem, order: &Order) -> Result<(), AllocError> {
        let blocks = order.places.len();
        for stamps in [&mut self.live_in, &mut self.live_out, &mut self.last_use] {
            stamps.clear();
            stamps.resize(blocks, 0);
        }
        self.ranges.clear();
        self.range_starts.clear();
        self.in_memory.clear();
        self.in_memory.resize(problem.vregs.len(), false);
        let budget = BLOCKS_PER_SLOT * order.num_slots();
        let mut visited = 0;
        for vreg in problem.vregs.keys() {
            self.range_starts.push(self.ranges.len() as u32);
            let uses = self.sorted_uses(vreg);
            if let Some(segment) = self.local_range(order, uses.clone()) {
                self.ranges.push(segment);
                continue;
            }
            let Some(&def) = self.uses[uses.clone()].iter().find(|u| u.is_def) else { continue };
            if uses.len() == 1 {
                continue;
            }
            if visited > budget && !problem.vregs[vreg].is_ref {
                self.in_memory[vreg.index()] = true;
                let (first, end) = (uses.start as u32, uses.end as u32);
                let to = order.num_slots() as u32 * 4;
                self.ranges.push(Segment { from: 0, to, vreg, uses: first, uses_end: end });
                continue;
            }
            self.walk(order, def, uses);
            visited += self.members.len();
            if visited > LAST_RESORT * budget {
                return Err(AllocError::StepBudget { steps: visited as u64 });
            }
        }
        self.range_starts.push(self.ranges.len() as u32);
        Ok(())
    }

    /// Sorts the uses of a value by point, as they nearly are, and gives their indices.
    fn sorted_uses(&mut self, vreg: VReg) -> Range<usize> {
        let range = self.use_starts[vreg.index()] as usize..self.use_starts[vreg.index() + 1] as usize;
        let uses = &mut self.uses[range.clone()];
        if !uses.is_sorted_by(|a, b| a.point <= b.point) {
            uses.sort_by_key(|u| u.point);
        }
        range
    }

    /// The range of a value that lives in one block, as most do; none for one that is written but to a fixed place.
    fn local_range(&self, order: &Order, range: Range<usize>) -> Option<Segment> {
        let uses = &self.uses[range.clone()];
        let (def, last) = (uses.first()?, uses.last()?);
        let is_gone = uses.len() == 1 && (def.need == Need::Copy || def.need == Need::Slot);
        if !def.is_def || is_gone || last.point >= order.place_at(def.point).stop() {
            return None;
        }
        let to = def.to().max(last.point + 1);
        let (uses, uses_end) = (range.start as u32, range.end as u32);
        Some(Segment { from: def.point, to, vreg: def.vreg, uses, uses_end })
    }

    fn walk(&mut self, order: &Order, def: Use, uses: Range<usize>) {
        let stamp = def.vreg.as_u32() + 1;
        let home = order.index_at(def.point);
        let mut home_end = def.to();
        let (first_use, last_use) = (uses.start as u32, uses.end as u32);
        self.members.clear();
        self.members.push(home);
        for i in uses {
            let u = self.uses[i];
            let at = order.index_at(u.point);
            if u.is_def {
                continue;
            } else if at == home {
                home_end = home_end.max(u.point + 1);
            } else {
                self.last_use[at as usize] = u.point + 1;
                self.enter(at, stamp);
            }
        }
        while let Some(at) = self.work.pop() {
            for &(pred, _) in order.preds(at) {
                self.live_out[pred as usize] = stamp;
                if pred != home {
                    self.enter(pred, stamp);
                }
            }
        }
        self.members.sort_unstable();
        let first = self.ranges.len();
        for &at in &self.members {
            let place = &order.places[at as usize];
            let from = if at == home { def.point } else { place.start() };
            let to = match self.live_out[at as usize] == stamp {
                true => place.stop(),
                false if at == home => home_end,
                false => self.last_use[at as usize],
            };
            match self.ranges[first..].last_mut() {
                Some(last) if last.to == from && at != home => last.to = to,
                _ => self.ranges.push(Segment { from, to, vreg: def.vreg, uses: 0, uses_end: 0 }),
            }
        }
        let (mut next, end) = (first_use, last_use);
        for segment in &mut self.ranges[first..] {
            segment.uses = next;
            while next < end && self.uses[next as usize].point < segment.to {
                next += 1;
            }
            segment.uses_end = next;
        }
    }

    fn enter(&mut self, at: u32, stamp: u32) {
        if std::mem::replace(&mut self.live_in[at as usize], stamp) != stamp {
            self.members.push(at);
            self.work.push(at);
        }
    }
}
