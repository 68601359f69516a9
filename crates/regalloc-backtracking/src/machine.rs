//! What instructions take from each register, whoever lives there: fixed operands, clobbers, collections.

use crate::live::Segment;
use crate::matching::Matching;
use crate::order::{EARLY, LATE, NONE, Order, POST};
use cranelift_entity::EntityRef;
use kingpost_regalloc::{
    AllocError, ClobberId, Constraint, Inst, InstFlags, MachineEnv, PReg, PRegSet, Pos, Problem, VReg,
};

/// Over `from..to` a register holds the operand of an instruction; only `owner` may live there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Reservation {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) owner: VReg,
}

/// An event that takes registers away.
#[derive(Clone, Copy, Debug)]
struct Loss {
    point: u32,
    kind: LossKind,
}

#[derive(Clone, Copy, Debug)]
enum LossKind {
    Clobber(ClobberId),
    /// References that live on must be in memory.
    Safepoint,
    /// Nothing may be in a register here.
    Barrier,
}

/// Reservations and clobbers.
#[derive(Default)]
pub(crate) struct Machine {
    reserved: Vec<Vec<Reservation>>,
    losses: Vec<Loss>,
    /// By operand: its register once that is fixed, or [`NONE`].
    pub(crate) fixed: Vec<u32>,
    forced: Vec<bool>,
    matching: Matching,
}

impl Machine {
    pub(crate) fn build(
        &mut self,
        problem: &Problem,
        env: &MachineEnv,
        order: &Order,
        edge_of: impl Fn(VReg) -> u32,
    ) -> Result<(), AllocError> {
        self.reserved.resize_with(PReg::COUNT, Vec::new);
        self.reserved.iter_mut().for_each(Vec::clear);
        self.losses.clear();
        self.fixed.clear();
        self.fixed.resize(problem.num_operands(), NONE);
        self.forced.clear();
        self.forced.resize(problem.num_insts(), false);
        for place in &order.places {
            if needs_barrier(problem, place.block) {
                self.losses.push(Loss { point: place.start(), kind: LossKind::Barrier });
            }
            for inst in problem.insts(place.block) {
                let at = order.point(problem, place, inst);
                let clobber = problem.clobber_id(inst);
                if clobber != ClobberId::NONE {
                    self.losses.push(Loss { point: at + LATE, kind: LossKind::Clobber(clobber) });
                }
                if problem.flags(inst).has(InstFlags::SAFEPOINT) {
                    self.losses.push(Loss { point: at + LATE, kind: LossKind::Safepoint });
                }
                for (k, operand) in problem.operand_range(inst).zip(problem.operands(inst)) {
                    if let Constraint::Fixed(reg) = operand.constraint() {
                        self.fix(problem, inst, at, k, reg, |_| {});
                    }
                }
            }
            let term = problem.terminator(place.block);
            if problem.operands(term).iter().any(|o| o.is_def() && edge_of(o.vreg()) != NONE) {
                let at = place.stop() - 4;
                self.force(problem, env, term, at, &edge_of, |_, _| {})?;
            }
        }
        for list in &mut self.reserved {
            list.sort_unstable();
        }
        Ok(())
    }

    /// Reserves the register of an operand, and for a use of the def that takes it over too.
    fn fix(
        &mut self,
        problem: &Problem,
        inst: Inst,
        at: u32,
        k: usize,
        reg: PReg,
        mut report: impl FnMut(Reservation),
    ) {
        let operand = problem.all_operands()[k];
        if matches!(operand.constraint(), Constraint::Reuse(_)) {
            return;
        }
        self.fixed[k] = reg.index() as u32;
        let from = at + if operand.is_use() || operand.pos() == Pos::Early { EARLY } else { LATE };
        let to = at + if operand.is_def() || operand.pos() == Pos::Late { POST } else { LATE };
        let mut add = |reservation| {
            self.reserved[reg.index()].push(reservation);
            report(reservation);
        };
        add(Reservation { from, to, owner: operand.vreg() });
        let range = problem.operand_range(inst);
        let tied = |d: &usize| problem.all_operands()[*d].constraint() == Constraint::Reuse((k - range.start) as u8);
        if let Some(d) = range.clone().find(tied) {
            add(Reservation { from: at + LATE, to: at + POST, owner: problem.all_operands()[d].vreg() });
            self.fixed[d] = reg.index() as u32;
        }
    }

    pub(crate) fn is_forced(&self, inst: Inst) -> bool {
        self.forced[inst.index()]
    }

    /// Fixes all operands of an instruction that need registers; `report` hears of the new reservations.
    pub(crate) fn force(
        &mut self,
        problem: &Problem,
        env: &MachineEnv,
        inst: Inst,
        at: u32,
        edge_of: impl Fn(VReg) -> u32,
        mut report: impl FnMut(PReg, Reservation),
    ) -> Result<(), AllocError> {
        self.forced[inst.index()] = true;
        let mut matching = std::mem::take(&mut self.matching);
        let result = matching.solve(problem, env, inst, edge_of);
        if result.is_ok() {
            let range = problem.operand_range(inst);
            for k in range.clone() {
                if let (NONE, Some(reg)) = (self.fixed[k], matching.reg(k - range.start)) {
                    self.fix(problem, inst, at, k, reg, |reservation| report(reg, reservation));
                    self.reserved[reg.index()].sort_unstable();
                }
            }
        }
        self.matching = matching;
        result
    }

    /// The first reservation in the segment's way.
    pub(crate) fn reservation(&self, reg: PReg, segment: Segment) -> Option<Reservation> {
        let list = &self.reserved[reg.index()];
        let start = list.partition_point(|r| r.to <= segment.from);
        let inside = list[start..].iter().take_while(|r| r.from < segment.to);
        inside.copied().find(|r| r.owner != segment.vreg)
    }

    /// Is a register reserved at a point?
    pub(crate) fn is_reserved(&self, reg: PReg, point: u32) -> bool {
        let list = &self.reserved[reg.index()];
        let start = list.partition_point(|r| r.to <= point);
        list.get(start).is_some_and(|r| r.from <= point)
    }

    /// Calls `found` for each event that takes registers from the segment: the point and the registers, until that
    /// says stop.
    pub(crate) fn losses(&self, problem: &Problem, segment: Segment, mut found: impl FnMut(u32, PRegSet) -> bool) {
        let start = self.losses.partition_point(|loss| loss.point < segment.from);
        for loss in self.losses[start..].iter().take_while(|loss| loss.point < segment.to) {
            let all = PRegSet::from_mask(problem.class(segment.vreg), u64::MAX);
            let lost = match loss.kind {
                LossKind::Clobber(id) => problem.all_clobbers()[id].killed(problem.width(segment.vreg)),
                LossKind::Barrier => all,
                LossKind::Safepoint => {
                    let across = segment.from < loss.point && segment.to > loss.point + 1;
                    if across && problem.vregs[segment.vreg].is_ref { all } else { PRegSet::EMPTY }
                }
            };
            if !lost.is_empty() && found(loss.point, lost) {
                return;
            }
        }
    }

    /// Safepoints in the segment, by point.
    pub(crate) fn safepoints(&self, segment: Segment) -> impl Iterator<Item = u32> + '_ {
        let start = self.losses.partition_point(|loss| loss.point <= segment.from);
        let inside = self.losses[start..].iter().take_while(move |loss| loss.point + 1 < segment.to);
        inside.filter(|loss| matches!(loss.kind, LossKind::Safepoint)).map(|loss| loss.point)
    }
}

/// May no edit be made on some edge into the block? The edge's place is then before a branch that has operands of its
/// own. What is in memory at the head needs none.
fn needs_barrier(problem: &Problem, block: kingpost_regalloc::Block) -> bool {
    problem.preds(block).len() > 1
        && problem.preds(block).iter().any(|&edge| {
            let term = problem.terminator(problem.edge(edge).from);
            !problem.operands(term).is_empty()
                || problem.clobber_id(term) != ClobberId::NONE
                || problem.flags(term).has(InstFlags::SAFEPOINT)
        })
}
