//! Instructions that ask for more than any register: fixed ones, subsets, clobbers, late uses, temporaries.
//!
//! ```text
//! call use v0 = r0, def v1 = r0, clobbers {r1}         v1 in r2 below, v2 in r1: behind the call move r2 <- r0,
//!                                                      and r1 is filled from the slot of v2; before it v0 is in r0
//! ```
//!
//! The operands are matched with registers, those that values have below preferred. Then what is below is made true behind the
//! instruction, by a parallel move: results go where they are expected, and values whose register the instruction takes
//! or destroys come from another one, if one is free, or from their slot. Before it, operands get copies of values that keep
//! other registers.

use crate::walk::{Fused, Locs, Selected};
use kingpost_mach::Lower;
use kingpost_regalloc::{
    AllocError, Clobbers, Constraint, EditKind, Inst, Loc, Operand, PReg, PRegSet, Pos, RegClass, VReg,
};
use kingpost_regalloc_common::matching::{Points, Request, needs_register, tied_def};
use kingpost_regalloc_common::preference::{Reg, regs};
use smallvec::SmallVec;

/// What an instruction does to registers that values below may be in.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Touched {
    /// Taken by operands.
    pub(crate) taken: PRegSet,
    pub(crate) clobbers: Clobbers,
}

impl Touched {
    /// May a value of `width` bytes be in `reg` behind the instruction, and before it?
    #[inline]
    pub(crate) fn spares(&self, reg: PReg, width: u8) -> bool {
        !self.clobbers.kills(reg, width) && !self.taken.contains(reg)
    }
}

/// By operand: its request, if it has one.
pub(crate) type Requests = SmallVec<[Option<u32>; 16]>;

impl Fused {
    /// Serves any instruction but a terminator with successors.
    pub(crate) fn constrained(&mut self, lower: &mut Lower<'_>, selected: &Selected<'_>) {
        let Some((requests, touched)) = self.match_operands(lower, selected) else { return };
        self.restore(lower, selected, &requests, &touched);
        self.place(lower, selected, &requests, &touched);
    }

    /// Finds registers for all operands that need one.
    pub(crate) fn match_operands(
        &mut self,
        lower: &mut Lower<'_>,
        selected: &Selected<'_>,
    ) -> Option<(Requests, Touched)> {
        let clobbers = lower.code.problem.all_clobbers()[selected.clobbers];
        let matched = self.find_match(lower, selected, &clobbers);
        let Ok(requests) = matched else {
            self.refuse("an instruction whose operands find no registers");
            return None;
        };
        let taken = self.matching.taken(Points::BOTH);
        for reg in taken.iter().map(|preg| self.registers.reg(preg)).filter(|reg| !reg.is_none()) {
            self.state.touch(reg);
        }
        let clobbered = *self.registers.clobbered(selected.clobbers);
        for class in 0..2 {
            self.state.used[class] |= clobbered.lost[class];
            self.state.recent[class] |= clobbered.any(class);
        }
        Some((requests, Touched { taken, clobbers }))
    }

    fn find_match(
        &mut self,
        lower: &mut Lower<'_>,
        selected: &Selected<'_>,
        clobbers: &Clobbers,
    ) -> Result<Requests, AllocError> {
        let operands = selected.operands;
        self.matching.clear();
        let mut requests = Requests::new();
        let inst = Inst::from_u32(0);
        for (k, &operand) in operands.iter().enumerate() {
            self.meet(lower, operand.vreg());
            let tied = tied_def(operands, k);
            let value = self.state.value(operand.vreg());
            let is_in_memory = value.reg.is_none() && value.is_stored;
            let is_any = operand.constraint() == Constraint::MemOk && !is_in_memory;
            let request = match needs_register(operand, tied) || is_any {
                true => Some(self.matching.add(inst, self.request(lower, operand, tied, clobbers))?),
                false => None,
            };
            requests.push(request);
        }
        let occupied: PRegSet = self.state.in_registers().map(|(reg, _)| self.registers.preg(reg)).collect();
        self.matching.solve(lower.env(), inst, |request, reg| match request.hint {
            Some(hint) if hint == reg => -4,
            _ if occupied.contains(reg) => 2,
            _ => 0,
        })?;
        Ok(requests)
    }

    fn request(
        &self,
        lower: &Lower<'_>,
        operand: Operand,
        tied: Option<Operand>,
        clobbers: &Clobbers,
    ) -> Request<Option<PReg>> {
        let vreg = operand.vreg();
        let value = self.state.value(vreg);
        let class = RegClass::ALL[value.class()];
        let all = PRegSet::from_mask(class, u64::MAX).intersection(self.allocatable);
        let choice = match operand.constraint() {
            Constraint::Fixed(reg) => all.intersection(PRegSet::EMPTY.with(reg)),
            Constraint::Within(set) => all.intersection(lower.code.problem.reg_set(set)),
            _ => all,
        };
        let points = Points::of(operand, tied.is_some());
        let killed = if points.late() { clobbers.killed(value.width) } else { PRegSet::EMPTY };
        let below = tied.map_or(value.reg, |def| self.state.value(def.vreg()).reg);
        let hint = [below, value.reg, value.hint].into_iter().find(|reg| !reg.is_none());
        Request {
            vreg,
            class,
            allowed: choice.difference(killed),
            points,
            is_use: operand.is_use(),
            is_written: operand.is_def() || tied.is_some(),
            edge: None,
            hint: hint.map(|reg| self.registers.preg(reg)),
            reg: None,
        }
    }

    /// The register of operand `k`.
    pub(crate) fn matched(&self, requests: &Requests, operands: &[Operand], k: usize) -> Option<PReg> {
        self.matching.reg(requests[operands[k].reused().map_or(k, usize::from)]?)
    }

    /// Makes true behind the instruction what is expected below.
    fn restore(&mut self, lower: &mut Lower<'_>, selected: &Selected<'_>, requests: &Requests, touched: &Touched) {
        let needed = self.state.occupied;
        for (k, operand) in selected.operands.iter().enumerate().filter(|(_, operand)| operand.is_def()) {
            let Some(from) = self.matched(requests, selected.operands, k).map(Loc::reg) else {
                return self.refuse("a result in memory");
            };
            let vreg = operand.vreg();
            let value = self.state.value(vreg);
            let (below, class, width) = (value.reg, RegClass::ALL[value.class()], value.width);
            if !below.is_none() {
                self.state.release(below);
                self.moves.add(from, self.loc(below), class, width);
            }
            if self.state.value(vreg).is_stored {
                let to = Loc::slot(self.slot(vreg));
                self.moves.add(from, to, class, width);
            }
        }
        for class in 0..2 {
            for reg in regs(class, self.state.occupied[class]) {
                self.relocate(lower, reg, touched);
            }
        }
        self.resolve(lower, &needed);
    }

    /// A value whose register the instruction does not spare is in another one before it, or in its slot.
    fn relocate(&mut self, lower: &mut Lower<'_>, reg: Reg, touched: &Touched) {
        let Some(vreg) = self.state.owner(reg) else { return };
        let (preg, value) = (self.registers.preg(reg), self.state.value(vreg));
        if touched.spares(preg, value.width) || self.is_only_read(preg, vreg, touched) {
            return;
        }
        let (class, width, is_resident) = (value.class(), value.width, !value.resident.is_none());
        self.state.release(reg);
        let is_remat = self.is_remat(lower, vreg);
        if !is_remat && !is_resident {
            let free = self.registers.allocatable[class] & !self.state.occupied[class];
            let unsaved = self.registers.unsaved(class, &self.state.used);
            let spared = |reg: &Reg| touched.spares(self.registers.preg(*reg), width);
            let other = regs(class, free & !unsaved).find(spared).or_else(|| regs(class, free & unsaved).find(spared));
            if let Some(other) = other {
                self.put(other, vreg);
                self.moves.add(self.loc(other), Loc::reg(preg), RegClass::ALL[class], width);
                return;
            }
        }
        self.add_move(lower, Reg::NONE, vreg, Loc::reg(preg));
    }

    /// Is the register taken by uses of this very value, which leave it as it is?
    fn is_only_read(&self, reg: PReg, vreg: VReg, touched: &Touched) -> bool {
        let mut requests = self.matching.requests().iter().filter(|request| request.reg == Some(reg)).peekable();
        requests.peek().is_some()
            && requests.all(|request| request.vreg == vreg && request.is_use && !request.is_written)
            && !touched.clobbers.kills(reg, self.state.value(vreg).width)
    }

    /// Adds the instruction with the locations of its operands, and brings uses where they are expected.
    pub(crate) fn place(
        &mut self,
        lower: &mut Lower<'_>,
        selected: &Selected<'_>,
        requests: &Requests,
        touched: &Touched,
    ) {
        let operands = selected.operands;
        let (mut locs, mut copies) = (Locs::new(), SmallVec::<[EditKind; 8]>::new());
        for (k, &operand) in operands.iter().enumerate() {
            let vreg = operand.vreg();
            locs.push(match self.matched(requests, operands, k) {
                Some(preg) => {
                    if operand.is_use() {
                        copies.extend(self.bring(vreg, preg));
                    }
                    Loc::reg(preg)
                }
                None => self.anywhere(operand, touched),
            });
        }
        self.push_inst(lower, selected, &locs);
        copies.into_iter().for_each(|copy| self.push_edit(copy));
    }

    /// Has a value in a register before the instruction.
    fn bring(&mut self, vreg: VReg, to: PReg) -> Option<EditKind> {
        let value = self.state.value(vreg);
        let reg = self.registers.reg(to);
        if value.reg.is_none() {
            self.put(reg, vreg);
        } else if value.reg != reg {
            return Some(EditKind::Move { from: self.registers.preg(value.reg), to, width: value.width });
        }
        None
    }

    /// Where a use is that any location will do for.
    fn anywhere(&mut self, operand: Operand, touched: &Touched) -> Loc {
        let reg = self.state.value(operand.vreg()).reg;
        let is_kept = |preg| operand.pos() == Pos::Early || !touched.taken.contains(preg);
        if operand.constraint() != Constraint::Stack && !reg.is_none() && is_kept(self.registers.preg(reg)) {
            return self.loc(reg);
        }
        Loc::slot(self.slot(operand.vreg()))
    }
}
