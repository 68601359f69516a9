//! Instructions with constraints beyond any register: fixed registers, subsets, clobbers, late uses, temporaries.
//!
//! ```text
//! call use v0 = r0, def v1 = r0, clobbers {r1}         v1 in r2 below, v2 in r1: behind the call move r2 <- r0,
//!                                                      and r1 is filled from the slot of v2; before it v0 is in r0
//! ```
//!
//! The operands choose registers one by one, and prefer the registers that their values have below. If one finds no
//! register, all operands are matched at once. Then a parallel move after the instruction establishes the state
//! that the code below expects. It moves results to their registers. It refills values from another register, if
//! one is free, or from their slots if an operand occupies their register or the instruction clobbers it. Before
//! the instruction, operands get copies of values that stay in other registers.

use crate::selected::{Locs, Selected, masks};
use crate::state::Value;
use crate::walk::Fused;
use kingpost_mach::LowerCtx;
use kingpost_regalloc::{
    AllocError, ClobberId, Clobbers, Constraint, Inst, InstFlags, Loc, Operand, PReg, PRegSet, Pos, RegClass, VReg,
};
use kingpost_regalloc_common::matching::{Points, Request, needs_register, tied_def};
use kingpost_regalloc_common::preference::{Clobbered, Masks, Reg, regs};
use smallvec::SmallVec;

/// Registers that an instruction touches, which values below may be in.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Touched {
    /// Registers of operands.
    pub(crate) taken: Masks,
    pub(crate) clobbered: Clobbered,
}

impl Touched {
    /// Returns the registers of a class in which a value of `width` bytes may be both before and after the
    /// instruction.
    pub(crate) fn spared(&self, class: usize, width: u8) -> u64 {
        !(self.clobbered.of(class, width) | self.taken[class])
    }

    /// Returns the registers of a class that some value may not keep.
    pub(crate) fn any(&self, class: usize) -> u64 {
        self.clobbered.any(class) | self.taken[class]
    }
}

/// The registers of an instruction's operands, [`Reg::NONE`] for other operands, and the registers that it touches.
#[derive(Default, Debug)]
pub(crate) struct Placement {
    pub(crate) regs: SmallVec<[Reg; 16]>,
    pub(crate) touched: Touched,
}

/// Registers that operands chose, by point of the instruction.
#[derive(Clone, Copy, Default)]
struct Taken([Masks; 2]);

impl Taken {
    /// Returns the registers left, in the value's class, for an operand that needs its register at these points.
    fn left(&self, points: Points, value: &Value, clobbered: &Clobbered) -> u64 {
        let class = value.class();
        let early = if points.early() { self.0[0][class] } else { 0 };
        let late = if points.late() { self.0[1][class] | clobbered.of(class, value.width) } else { 0 };
        !(early | late)
    }

    /// Returns the registers taken at either point.
    fn all(&self) -> Masks {
        [0, 1].map(|class| self.0[0][class] | self.0[1][class])
    }

    fn take(&mut self, points: Points, reg: Reg) {
        for (point, is_needed) in [points.early(), points.late()].into_iter().enumerate() {
            self.0[point][reg.class()] |= if is_needed { reg.bit() } else { 0 };
        }
    }
}

/// Returns `true` if the operand needs its value in a register. A value in memory stays there if the operand allows
/// it.
fn is_in_register(operand: Operand, tied: Option<Operand>, is_in_memory: bool) -> bool {
    needs_register(operand, tied) || operand.constraint() == Constraint::MemOk && !is_in_memory
}

impl Fused {
    /// Allocates any instruction except a terminator with successors.
    #[inline(never)]
    pub(crate) fn constrained(&mut self, lower: &mut LowerCtx<'_>, at: usize) {
        let record = &lower.sequence()[at];
        if record.flags.has(InstFlags::REMAT) {
            let value = self.state.value(lower.operands()[record.operands.0 as usize].vreg());
            if value.reg.is_none() && !value.is_stored {
                return self.drop_inst(lower, at, Reg::NONE);
            }
        }
        let selected = Selected::new(lower, &lower.sequence()[at]);
        let mut placement = Placement::default();
        if self.find_registers(lower, &selected, &mut placement) {
            self.restore(lower, &selected, &placement);
            self.place(&selected, &placement);
        }
    }

    /// Finds registers for all operands that need one. Returns `false` if there are too few. Fills `placement`,
    /// which must be empty, in place.
    pub(crate) fn find_registers(
        &mut self,
        lower: &mut LowerCtx<'_>,
        selected: &Selected,
        placement: &mut Placement,
    ) -> bool {
        self.sync(lower);
        let operands = &selected.operands[..];
        let mut has_ties = false;
        for operand in operands {
            self.visit(lower, operand.vreg());
            has_ties |= operand.reused().is_some();
        }
        placement.regs = SmallVec::from_elem(Reg::NONE, operands.len());
        let regs = &mut placement.regs[..];
        let taken = match self.choose(selected, has_ties, regs) {
            Some(taken) => taken,
            None if self.find_match(lower, selected, regs).is_ok() => masks(regs),
            None => {
                self.refuse("an instruction whose operands find no registers");
                return false;
            }
        };
        if has_ties {
            for (k, operand) in operands.iter().enumerate() {
                if let Some(tied) = operand.reused() {
                    regs[k] = regs[usize::from(tied)];
                }
            }
        }
        placement.touched = Touched { taken, clobbered: *self.registers.clobbered(selected.clobbers) };
        self.touch_all(lower, &placement.touched, selected.clobbers);
        true
    }

    /// Records the registers that an instruction writes.
    pub(crate) fn touch_all(&mut self, lower: &LowerCtx<'_>, touched: &Touched, clobbers: ClobberId) {
        let Touched { taken, clobbered } = touched;
        for (class, &taken) in taken.iter().enumerate() {
            self.state.used[class] |= taken | clobbered.lost[class];
            self.state.recent[class] |= taken | clobbered.any(class);
        }
        if clobbers != ClobberId::NONE {
            // Registers that no value may be in must be saved as well.
            let lost = lower.code.problem.all_clobbers()[clobbers].lost;
            self.allocated.written = self.allocated.written.union(lost);
        }
    }

    /// Assigns each operand the best register left, fixed operands first. Returns all of these, or `None` if none
    /// is left for one operand.
    fn choose(&self, selected: &Selected, has_ties: bool, regs: &mut [Reg]) -> Option<Masks> {
        let operands = &selected.operands[..];
        let clobbered = self.registers.clobbered(selected.clobbers);
        let tied = |k: usize| if has_ties { tied_def(operands, k) } else { None };
        let mut taken = Taken::default();
        // A call with handlers may define several values in one register, each on another edge.
        let mut defined = Masks::default();
        let mut has_others = false;
        for (k, &operand) in operands.iter().enumerate() {
            let Some(preg) = operand.fixed_reg() else {
                has_others = true;
                continue;
            };
            let (value, reg) = (self.state.value(operand.vreg()), self.registers.reg(preg));
            let points = Points::of(operand, tied(k).is_some());
            let left = taken.left(points, value, clobbered) | if operand.is_def() { defined[value.class()] } else { 0 };
            if !reg.is_one_of(value.class(), left) {
                return None;
            }
            if operand.is_def() {
                defined[reg.class()] |= reg.bit();
            }
            taken.take(points, reg);
            regs[k] = reg;
        }
        if !has_others {
            return Some(taken.all());
        }
        for (k, &operand) in operands.iter().enumerate() {
            if operand.fixed_reg().is_some() || operand.reused().is_some() {
                continue;
            }
            let (value, tied) = (self.state.value(operand.vreg()), tied(k));
            if !is_in_register(operand, tied, value.reg.is_none() && value.is_stored) {
                continue;
            }
            let (class, points) = (value.class(), Points::of(operand, tied.is_some()));
            let left = self.registers.allowed(operand, class) & taken.left(points, value, clobbered);
            let below = tied.map_or(value.reg, |def| self.state.value(def.vreg()).reg);
            let free = left & !self.state.occupied[class];
            let is_left = |reg: &Reg, set: u64| !reg.is_none() && reg.is_one_of(class, set);
            let known = [below, value.reg].into_iter().find(|reg| is_left(reg, left));
            let reg = match known.or(Some(value.hint).filter(|hint| is_left(hint, free))) {
                Some(reg) => reg,
                None if free != 0 => Reg::new(class, free.trailing_zeros()),
                None => return None,
            };
            taken.take(points, reg);
            regs[k] = reg;
        }
        Some(taken.all())
    }

    fn find_match(&mut self, lower: &LowerCtx<'_>, selected: &Selected, regs: &mut [Reg]) -> Result<(), AllocError> {
        let operands = &selected.operands;
        let clobbers = lower.code.problem.all_clobbers()[selected.clobbers];
        match std::mem::replace(&mut self.has_matched, true) {
            true => self.matching.clear(),
            false => self.matching.begin(&self.widths),
        }
        let mut requests = SmallVec::<[Option<u32>; 16]>::new();
        let inst = Inst::from_u32(0);
        for (k, &operand) in operands.iter().enumerate() {
            let tied = tied_def(operands, k);
            let value = self.state.value(operand.vreg());
            let request = match is_in_register(operand, tied, value.reg.is_none() && value.is_stored) {
                true => Some(self.matching.add(inst, self.request(lower, operand, tied, &clobbers))?),
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
        for (reg, request) in regs.iter_mut().zip(requests) {
            let found = request.and_then(|request| self.matching.reg(request));
            *reg = found.map_or(Reg::NONE, |preg| self.registers.reg(preg));
        }
        Ok(())
    }

    fn request(
        &self,
        lower: &LowerCtx<'_>,
        operand: Operand,
        tied: Option<Operand>,
        clobbers: &Clobbers,
    ) -> Request<Option<PReg>> {
        let vreg = operand.vreg();
        let value = self.state.value(vreg);
        let class = RegClass::ALL[value.class()];
        let all = PRegSet::from_mask(class, u64::MAX).intersection(lower.env().allocatable());
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

    /// Adds the moves after the instruction that establish the state expected below.
    fn restore(&mut self, lower: &mut LowerCtx<'_>, selected: &Selected, placement: &Placement) {
        let needed = self.state.occupied;
        for (k, operand) in selected.operands.iter().enumerate().filter(|(_, operand)| operand.is_def()) {
            let reg = placement.regs[k];
            if reg.is_none() {
                return self.refuse("a result in memory");
            }
            self.define(operand.vreg(), reg);
        }
        let kept = self.kept(selected, placement);
        self.relocate_all(lower, &placement.touched, &kept);
        self.resolve(lower, &needed);
    }

    /// Adds the moves of a value from the register in which it is defined to its locations below.
    pub(crate) fn define(&mut self, vreg: VReg, reg: Reg) {
        let from = self.loc(reg);
        let value = self.state.value(vreg);
        let (below, class, width, is_stored) = (value.reg, RegClass::ALL[value.class()], value.width, value.is_stored);
        if !below.is_none() {
            self.state.release(below);
            self.moves.add(from, self.loc(below), class, width);
        }
        if is_stored {
            let to = Loc::slot(self.slot(vreg));
            self.moves.add(from, to, class, width);
        }
    }

    /// Returns the registers of uses that no other operand has and that hold the value expected in them below.
    fn kept(&self, selected: &Selected, placement: &Placement) -> Masks {
        let (mut kept, mut others) = (Masks::default(), Masks::default());
        for (operand, &reg) in selected.operands.iter().zip(&placement.regs).filter(|(_, reg)| !reg.is_none()) {
            let is_kept = operand.is_use() && self.state.value(operand.vreg()).reg == reg;
            let set = if is_kept { &mut kept } else { &mut others };
            set[reg.class()] |= reg.bit();
        }
        [0, 1].map(|class| kept[class] & !others[class])
    }

    /// Adds the moves of values from before the instruction for registers that it occupies or clobbers.
    pub(crate) fn relocate_all(&mut self, lower: &mut LowerCtx<'_>, touched: &Touched, kept: &Masks) {
        for class in 0..2 {
            for reg in regs(class, self.state.occupied[class] & touched.any(class)) {
                self.relocate(lower, reg, touched, kept);
            }
        }
    }

    /// Adds the move of a value whose register an operand occupies or the instruction clobbers. Before the
    /// instruction the value is in another register or in its slot.
    fn relocate(&mut self, lower: &mut LowerCtx<'_>, reg: Reg, touched: &Touched, kept: &Masks) {
        let Some(vreg) = self.state.owner(reg) else { return };
        let value = self.state.value(vreg);
        let (class, width, is_resident) = (value.class(), value.width, !value.resident.is_none());
        let spared = touched.spared(class, width);
        if (spared | kept[class] & !touched.clobbered.of(class, width)) & reg.bit() != 0 {
            return;
        }
        self.state.release(reg);
        let to = self.loc(reg);
        let is_remat = self.is_remat(lower, vreg);
        if !is_remat && !is_resident {
            let free = self.registers.allocatable[class] & !self.state.occupied[class] & spared;
            let saved = free & !self.registers.unsaved(class, &self.state.used);
            if free != 0 {
                let best = if saved == 0 { free } else { saved };
                let other = Reg::new(class, best.trailing_zeros());
                self.put(other, vreg);
                self.moves.add(self.loc(other), to, RegClass::ALL[class], width);
                return;
            }
        }
        self.add_move(lower, Reg::NONE, vreg, to);
    }

    /// Adds the instruction with the locations of its operands, and before it the copies of uses.
    pub(crate) fn place(&mut self, selected: &Selected, placement: &Placement) {
        let (mut locs, mut copies) = (Locs::new(), SmallVec::<[(Reg, Reg, u8); 8]>::new());
        let encoded = selected.row.operands.len() + selected.inst.mode.regs();
        for (k, (&operand, &reg)) in selected.operands.iter().zip(&placement.regs).enumerate() {
            if operand.is_use()
                && !reg.is_none()
                && let Some((from, width)) = self.move_into(operand.vreg(), reg)
            {
                copies.push((from, reg, width));
            }
            let loc = if reg.is_none() { self.any_location(operand, &placement.touched) } else { self.loc(reg) };
            if k < encoded {
                locs.push(loc);
            }
        }
        self.push_selected(selected, &locs);
        for &(from, to, width) in &copies {
            self.push_copy(from, to, width);
        }
    }

    /// Puts a value into a register before the instruction. If the value already has another register, returns that
    /// register, to be copied from, and the width.
    #[inline]
    pub(crate) fn move_into(&mut self, vreg: VReg, reg: Reg) -> Option<(Reg, u8)> {
        let value = self.state.value(vreg);
        if value.reg.is_none() {
            self.put(reg, vreg);
            return None;
        }
        (value.reg != reg).then_some((value.reg, value.width))
    }

    /// Returns the location of a use that accepts any location.
    fn any_location(&mut self, operand: Operand, touched: &Touched) -> Loc {
        let reg = self.state.value(operand.vreg()).reg;
        let is_kept = operand.pos() == Pos::Early || !reg.is_in(&touched.taken);
        if operand.constraint() != Constraint::Stack && !reg.is_none() && is_kept {
            return self.loc(reg);
        }
        Loc::slot(self.slot(operand.vreg()))
    }
}
