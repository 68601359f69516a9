//! Instructions that ask for more than any register: fixed ones, subsets, slots, clobbers, late uses, temporaries.
//!
//! ```text
//! i3: call use v0 = r0, def v1 = r0, clobbers {r1}         v1 in r2 below, v2 in r1: behind the call move r2 <- r0,
//!                                                          and r1 is filled from the slot of v2; before it v0 is in r0
//! ```
//!
//! The operands are matched with registers, those that values have below preferred. Then what is below is made true behind the
//! instruction, by a parallel move: results go where they are expected, and values in registers that an operand occupies or the
//! instruction clobbers come from another one, if one is free, or from their slot. Before it, operands get copies of values
//! that keep other registers. Cost: the matching; registers.

use crate::allocator::Walk;
use kingpost_regalloc::{
    AllocError, ClobberId, Constraint, EditKind, Inst, InstFlags, Loc, Operand, PReg, PRegSet, Pos, Problem, VReg,
};
use kingpost_regalloc_common::matching::{Points, Request, needs_register, tied_def};
use kingpost_regalloc_common::preference::{Reg, regs};

/// The operand has no request.
const NO_REQUEST: u32 = u32::MAX;

/// What an instruction does to registers that values below may be in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touched {
    /// Taken by operands.
    pub(crate) taken: PRegSet,
    /// It may collect garbage: no register keeps a reference.
    pub(crate) is_safepoint: bool,
    clobbers: ClobberId,
    is_nothing: bool,
}

impl Touched {
    /// Nothing at all.
    pub(crate) const NOTHING: Touched =
        Touched { taken: PRegSet::EMPTY, is_safepoint: false, clobbers: ClobberId::NONE, is_nothing: true };

    /// May `vreg` be in `reg` behind the instruction, and before it?
    #[inline]
    pub(crate) fn spares(&self, problem: &Problem, reg: PReg, vreg: VReg) -> bool {
        if self.is_nothing {
            return true;
        }
        let data = &problem.vregs[vreg];
        let is_killed = problem.all_clobbers()[self.clobbers].kills(reg, data.width);
        !(is_killed || self.taken.contains(reg) || self.is_safepoint && data.is_ref)
    }
}

impl Walk<'_, '_> {
    /// Serves any instruction. Without an `after` it is a branch, and the successors' heads do what is left to do behind it.
    pub(crate) fn constrained(&mut self, inst: Inst, after: Option<Inst>) -> Result<(), AllocError> {
        let touched = self.match_operands(inst)?;
        if let Some(after) = after {
            self.restore(inst, after, &touched)?;
        }
        self.place(inst, after, &touched)
    }

    /// Finds registers for all operands that need one. What may be read, modified and written in memory is so only if there
    /// are too few registers.
    pub(crate) fn match_operands(&mut self, inst: Inst) -> Result<Touched, AllocError> {
        self.match_with(inst, false).or_else(|_| self.match_with(inst, true))
    }

    fn match_with(&mut self, inst: Inst, modifies_memory: bool) -> Result<Touched, AllocError> {
        let operands = self.problem.operands(inst);
        self.s.matching.clear();
        self.s.requests.clear();
        for (k, &operand) in operands.iter().enumerate() {
            let tied = tied_def(operands, k);
            let request = if needs_register(operand, tied) || tied.is_some() && !modifies_memory {
                self.request(inst, operand, tied)?
            } else {
                NO_REQUEST
            };
            self.s.requests.push(request);
        }
        let occupied: PRegSet = self.state.in_registers().map(|(reg, _)| self.registers.preg(reg)).collect();
        self.s.matching.solve(self.env, inst, |request, reg| match request.hint {
            Some(hint) if hint == reg => -4,
            _ if occupied.contains(reg) => 2,
            _ => 0,
        })?;
        let taken = self.s.matching.taken(Points::BOTH).union(self.s.matching.taken_on_edges());
        let clobbers = self.problem.clobber_id(inst);
        self.written = self.written.union(self.problem.all_clobbers()[clobbers].lost);
        let is_safepoint = self.problem.flags(inst).has(InstFlags::SAFEPOINT);
        Ok(Touched { taken, is_safepoint, clobbers, is_nothing: false })
    }

    /// Adds the request of an operand.
    fn request(&mut self, inst: Inst, operand: Operand, tied: Option<Operand>) -> Result<u32, AllocError> {
        let mut request = Request::new(self.problem, self.allocatable, inst, operand, tied)?;
        let value = self.state.value(operand.vreg());
        if operand.is_def() {
            request.edge = value.edge.expand();
        }
        let below = tied.map_or(value.reg, |def| self.state.value(def.vreg()).reg);
        let hint = [below, value.reg, value.hint].into_iter().find(|reg| !reg.is_none());
        request.hint = hint.map(|reg| self.registers.preg(reg));
        self.s.matching.add(inst, request)
    }

    /// The register of operand `k`.
    pub(crate) fn matched(&self, operands: &[Operand], k: usize) -> Option<PReg> {
        let k = operands[k].reused().map_or(k, usize::from);
        match self.s.requests[k] {
            NO_REQUEST => None,
            request => self.s.matching.reg(request),
        }
    }

    /// Makes true behind the instruction what is expected below.
    fn restore(&mut self, inst: Inst, after: Inst, touched: &Touched) -> Result<(), AllocError> {
        let operands = self.problem.operands(inst);
        let needed = self.state.occupied;
        for k in (0..operands.len()).filter(|&k| operands[k].is_def()) {
            let reg = self.matched(operands, k);
            self.leave(operands[k], reg);
        }
        for class in 0..2 {
            for reg in regs(class, self.state.occupied[class]) {
                self.relocate(reg, touched);
            }
        }
        self.resolve(after, &needed)
    }

    /// A def goes from where the instruction leaves it, a register or its slot, to its register below and to its slot.
    fn leave(&mut self, operand: Operand, reg: Option<PReg>) {
        let vreg = operand.vreg();
        let from = match reg {
            Some(reg) => Loc::reg(reg),
            None => self.slot_loc(vreg),
        };
        let value = self.state.value(vreg);
        let class = self.problem.class(vreg);
        let (below, width) = (value.reg, value.width);
        if !below.is_none() {
            self.state.release(below);
            self.s.moves.add(from, self.loc(below), class, width);
        }
        if reg.is_some() && self.state.value(vreg).is_stored {
            let to = self.slot_loc(vreg);
            self.s.moves.add(from, to, class, width);
        }
    }

    /// A value in a register that an operand occupies or the instruction clobbers is in another one before it, or in its slot.
    fn relocate(&mut self, reg: Reg, touched: &Touched) {
        let Some(vreg) = self.state.owner(reg) else { return };
        let preg = self.registers.preg(reg);
        if touched.spares(self.problem, preg, vreg) || self.is_only_read(preg, vreg, touched) {
            return;
        }
        self.state.release(reg);
        let (class, width) = (self.problem.class(vreg), self.state.value(vreg).width);
        let to = Loc::reg(preg);
        if let Some(other) = self.spared_register(vreg, touched) {
            self.state.put(other, vreg);
            self.s.moves.add(self.loc(other), to, class, width);
            return;
        }
        self.out.stats.evictions += 1;
        match self.state.value(vreg).remat.expand() {
            Some(inst) => self.s.moves.add_remat(inst, to, class, width),
            None => {
                let from = self.slot_loc(vreg);
                self.s.moves.add(from, to, class, width);
            }
        }
    }

    /// Is the register taken by uses of this very value, which leave it as it is?
    fn is_only_read(&self, reg: PReg, vreg: VReg, touched: &Touched) -> bool {
        let mut requests = self.s.matching.requests().iter().filter(|request| request.reg == Some(reg)).peekable();
        requests.peek().is_some()
            && requests.all(|request| request.vreg == vreg && request.is_use && !request.is_written)
            && Touched { taken: PRegSet::EMPTY, ..*touched }.spares(self.problem, reg, vreg)
    }

    /// A register that keeps a value over the instruction and costs less than a reload.
    fn spared_register(&self, vreg: VReg, touched: &Touched) -> Option<Reg> {
        let value = self.state.value(vreg);
        if value.remat.is_some() || touched.is_safepoint && value.is_ref {
            return None;
        }
        let class = value.class();
        let free = self.registers.allocatable[class] & !self.state.occupied[class];
        let unsaved = self.registers.unsaved(class, &self.state.used);
        let spared = |reg: &Reg| touched.spares(self.problem, self.registers.preg(*reg), vreg);
        regs(class, free & !unsaved).find(spared).or_else(|| regs(class, free & unsaved).find(spared))
    }

    /// Fills in the operands' locations, and brings uses where they are expected.
    pub(crate) fn place(&mut self, inst: Inst, after: Option<Inst>, touched: &Touched) -> Result<(), AllocError> {
        if touched.clobbers != ClobberId::NONE {
            self.calls -= 1;
        }
        let operands = self.problem.operands(inst);
        let base = self.problem.operand_range(inst).start;
        for (k, &operand) in operands.iter().enumerate() {
            let matched = self.matched(operands, k);
            let vreg = operand.vreg();
            self.state.value_mut(vreg).next_met = self.survey.met_before[base + k];
            let loc = match matched {
                Some(preg) if operand.is_def() => {
                    self.written.insert(preg);
                    let reg = self.registers.reg(preg);
                    self.state.used[reg.class()] |= reg.bit();
                    Loc::reg(preg)
                }
                Some(preg) => {
                    self.bring(inst, vreg, preg);
                    Loc::reg(preg)
                }
                None if operand.is_def() => self.slot_loc(vreg),
                None => match tied_def(operands, k) {
                    Some(def) => self.modify_in_memory(vreg, def.vreg()),
                    None => self.anywhere(operand, touched),
                },
            };
            self.out.locs[base + k] = loc;
            if operand.is_def() && after.is_none() {
                self.state.value_mut(vreg).edge_loc = loc;
            }
        }
        let mut needed = self.state.occupied;
        for (mask, taken) in needed.iter_mut().zip(self.registers.masks(touched.taken)) {
            *mask |= taken;
        }
        self.resolve(inst, &needed)
    }

    /// The slot of the def that an instruction writes after reading `vreg` there.
    fn modify_in_memory(&mut self, vreg: VReg, def: VReg) -> Loc {
        let from = self.register_loc(self.state.value(vreg).reg);
        let to = self.slot_loc(def);
        self.add_move(from, vreg, to);
        to
    }

    /// Has a value in a register before the instruction.
    fn bring(&mut self, inst: Inst, vreg: VReg, to: PReg) {
        let value = self.state.value(vreg);
        let reg = self.registers.reg(to);
        if value.reg.is_none() {
            self.state.put(reg, vreg);
        } else if value.reg != reg {
            let (from, width) = (self.registers.preg(value.reg), value.width);
            self.s.edits.push(inst, EditKind::Move { from, to, width });
        }
    }

    /// Where a use is that any location will do for.
    fn anywhere(&mut self, operand: Operand, touched: &Touched) -> Loc {
        let reg = self.state.value(operand.vreg()).reg;
        let is_kept = |preg| operand.pos() == Pos::Early || !touched.taken.contains(preg);
        match operand.constraint() {
            Constraint::Stack => self.slot_loc(operand.vreg()),
            _ if !reg.is_none() && is_kept(self.registers.preg(reg)) => self.loc(reg),
            _ => self.slot_loc(operand.vreg()),
        }
    }
}
