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
    /// A register of a subset.
    Within(RegSetId),
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
    /// Index of the operand, or [`NONE`] if it is none.
    pub(crate) operand: u32,
    /// A value that would better be in the same register, or [`NONE`].
    pub(crate) partner: u32,
}

impl Use {
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

    pub(crate) fn is_live(&self, vreg: VReg, point: u32) -> bool {
        let ranges = self.ranges(vreg);
        let next = ranges.partition_point(|range| range.to <= point);
        ranges.get(next).is_some_and(|range| range.from <= point)
    }

    pub(crate) fn remat(&self, vreg: VReg) -> Option<Inst> {
        self.remat[vreg.index()]
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

    pub(crate) fn build(&mut self, problem: &Problem, order: &Order) -> Result<(), AllocError> {
        let values = problem.vregs.len();
        self.count_uses(problem);
        self.defs.clear();
        self.defs.resize(values, NONE);
        self.remat.clear();
        self.remat.resize(values, None);
        self.edge_of.clear();
        self.edge_of.resize(values, NONE);
        for edge in problem.edges() {
            for def in problem.edge_defs(edge) {
                self.edge_of[def.index()] = edge.as_u32();
            }
        }
        for place in &order.places {
            let edges = problem.preds(place.block);
            let likely = edges.iter().max_by_key(|&&edge| problem.edge(edge).freq);
            for (i, &param) in problem.params(place.block).iter().enumerate() {
                let partner = likely.map_or(NONE, |&edge| problem.edge_args(edge)[i].as_u32());
                self.note(param, place.start(), Need::Copy, true, NONE, partner);
            }
            for (i, inst) in problem.insts(place.block).enumerate() {
                self.operands(problem, order, inst, (place.head + 1 + i as u32) * 4);
            }
            for &edge in problem.succs(place.block) {
                for (&arg, &param) in problem.edge_args(edge).iter().zip(problem.params(problem.edge(edge).to)) {
                    self.note(arg, place.stop() - 4 + PRE, Need::Copy, false, NONE, param.as_u32());
                }
            }
        }
        self.sort_uses(values);
        self.find_ranges(problem, order)
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
        let none =
            Use { vreg: VReg::from_u32(0), point: 0, need: Need::Slot, is_def: false, operand: NONE, partner: NONE };
        self.uses.clear();
        self.uses.resize(total, none);
    }

    /// Sorts the uses of each value by point: they nearly are.
    fn sort_uses(&mut self, values: usize) {
        let key = |u: &Use| (u.point, !u.is_def, u.operand);
        for v in 0..values {
            let uses = &mut self.uses[self.use_starts[v] as usize..self.use_starts[v + 1] as usize];
            if !uses.is_sorted_by_key(key) {
                uses.sort_unstable_by_key(key);
            }
        }
    }

    fn note(&mut self, vreg: VReg, point: u32, need: Need, is_def: bool, operand: u32, partner: u32) {
        if is_def {
            self.defs[vreg.index()] = point;
        }
        let next = &mut self.use_starts[vreg.index() + 1];
        self.uses[*next as usize] = Use { vreg, point, need, is_def, operand, partner };
        *next += 1;
    }

    fn operands(&mut self, problem: &Problem, order: &Order, inst: Inst, at: u32) {
        let operands = problem.operands(inst);
        let flags = problem.flags(inst);
        let has_tied = operands.iter().any(|def| matches!(def.constraint(), Constraint::Reuse(_)));
        for (k, operand) in problem.operand_range(inst).zip(operands) {
            let (vreg, is_def, k) = (operand.vreg(), operand.is_def(), k as u32);
            let first = problem.operand_range(inst).start as u32;
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
            let reuse = Constraint::Reuse((k - first) as u8);
            let tied = operands.iter().find(|def| has_tied && def.constraint() == reuse);
            let partner = if let &[a, b] = operands
                && flags.has(InstFlags::MOVE)
            {
                if is_def { a.vreg().as_u32() } else { b.vreg().as_u32() }
            } else {
                tied.map_or(NONE, |def| def.vreg().as_u32())
            };
            match (operand.constraint(), is_def) {
                (Constraint::Fixed(_), true) => self.note(vreg, at + POST, Need::Copy, true, k, partner),
                (Constraint::Fixed(_), false) => self.note(vreg, at + PRE, Need::Copy, false, k, partner),
                (Constraint::Stack, true) => self.note(vreg, at + POST, Need::Slot, true, k, NONE),
                (Constraint::Stack, false) => self.note(vreg, point, Need::Slot, false, k, NONE),
                (Constraint::Reuse(u), _) => {
                    let source = operands[usize::from(u)];
                    let partner = source.vreg().as_u32();
                    match source.constraint() {
                        Constraint::Fixed(_) => self.note(vreg, at + POST, Need::Copy, true, k, partner),
                        Constraint::Within(set) => self.note(vreg, at + EARLY, Need::Within(set), true, k, partner),
                        _ if operand.is_rmw() => self.note(vreg, at + EARLY, Need::Soft, true, k, partner),
                        _ => self.note(vreg, at + EARLY, Need::Reg, true, k, partner),
                    }
                }
                _ if tied.is_some() => self.note(vreg, at + PRE, Need::Copy, false, k, partner),
                (Constraint::Reg, _) => self.note(vreg, point, Need::Reg, is_def, k, partner),
                (Constraint::Within(set), _) => self.note(vreg, point, Need::Within(set), is_def, k, partner),
                (Constraint::MemOk | Constraint::Any, _) => self.note(vreg, point, Need::Soft, is_def, k, partner),
            }
        }
    }

    fn find_ranges(&mut self, problem: &Problem, order: &Order) -> Result<(), AllocError> {
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
            let uses = self.use_starts[vreg.index()] as usize..self.use_starts[vreg.index() + 1] as usize;
            let def = self.uses[uses.clone()].iter().find(|u| u.is_def);
            let Some(def) = def.copied() else { continue };
            if uses.len() == 1 {
                if def.need != Need::Copy && def.need != Need::Slot {
                    let (first, end) = (uses.start as u32, uses.end as u32);
                    self.ranges.push(Segment { from: def.point, to: def.to(), vreg, uses: first, uses_end: end });
                }
                continue;
            }
            let is_ref = problem.vregs[vreg].is_ref;
            if visited > budget && !is_ref && !self.is_local(order, def, uses.clone()) {
                self.in_memory[vreg.index()] = true;
                let (first, end) = (uses.start as u32, uses.end as u32);
                let to = order.num_slots() as u32 * 4;
                self.ranges.push(Segment { from: 0, to, vreg, uses: first, uses_end: end });
                continue;
            }
            if let Some(segment) = self.local_range(order, def, uses.clone()) {
                self.ranges.push(segment);
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

    /// Is the value used only in the block that defines it?
    fn is_local(&self, order: &Order, def: Use, uses: Range<usize>) -> bool {
        let home = order.index_at(def.point);
        self.uses[uses].iter().all(|u| order.index_at(u.point) == home)
    }

    /// The range of a value that lives in one block, as most do.
    fn local_range(&self, order: &Order, def: Use, uses: Range<usize>) -> Option<Segment> {
        let (first, last) = (self.uses[uses.start], self.uses[uses.end - 1]);
        let is_local = first.is_def && last.point < order.place_at(def.point).stop();
        let to = def.to().max(last.point + 1);
        is_local.then_some(Segment {
            from: def.point,
            to,
            vreg: def.vreg,
            uses: uses.start as u32,
            uses_end: uses.end as u32,
        })
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
            for &pred in order.preds(at) {
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
