//! Common instructions that need copies: a use that is in memory, or a result in the place of a value that lives on.
//!
//! ```text
//! s = add v0, v1; s reuse 0; v0 lives on      move r2 <- r0; add r2, r1
//! ```
//!
//! Where no register is left for a use or a result, the value that can best do without goes to memory. Nobody has to move
//! aside otherwise. The choices are those of `instruction.rs`.

use crate::plan::Copy;
use crate::simple::{NO_DEF, Shape};
use crate::values::NONE;
use crate::walk::Scan;
use kingpost_regalloc::{Constraint, Event, Inst, Operand, VReg};
use kingpost_regalloc_common::point::{Position, ProgPoint};
use kingpost_regalloc_common::preference::{Masks, Reg, regs};

impl Scan<'_, '_> {
    /// Serves a common instruction with copies if registers are left for them. Nothing is decided if not.
    #[inline(never)]
    pub(crate) fn serve_with_copies(
        &mut self,
        inst: Inst,
        slot: Position,
        base: usize,
        operands: &[Operand],
        shape: &Shape,
    ) -> Option<()> {
        self.s.plan.copies.clear();
        let def = operands.get(shape.def).copied();
        // The register for the result and that of the loads; then those of them in which values live on.
        let (mut taken, mut loaded) = ([0; 2], [0; 2]);
        let mut result = Reg::NONE;
        let tied = match def.map(Operand::constraint) {
            Some(Constraint::Reuse(k)) => usize::from(k),
            _ => NO_DEF,
        };
        if let (Some(def), Some(source)) = (def, operands.get(tied)) {
            result = self.values.home(source.vreg());
            if !result.is_in(&shape.dying) {
                result = self.choose_left(def, &mut taken, ProgPoint::late(slot))?;
                self.plan_copy(source.vreg(), result, false);
                self.out.locs[base + tied] = self.loc(result);
            }
        }
        let mut losers = [0; 2];
        for (k, operand) in operands.iter().enumerate().filter(|&(k, _)| shape.missing >> k & 1 != 0 && k != tied) {
            let vreg = operand.vreg();
            if self.s.plan.copies.iter().any(|copy| copy.vreg == vreg) {
                return None;
            }
            let lives_on = self.values.is_live(vreg, ProgPoint::late(slot));
            let reg = match self.choose_left(*operand, &mut taken, ProgPoint::before(slot)) {
                Some(reg) => reg,
                None => self.choose_loser(operands, *operand, &taken, &mut losers, slot)?,
            };
            taken[reg.class()] |= reg.bit();
            loaded[reg.class()] |= if lives_on { reg.bit() } else { 0 };
            self.plan_copy(vreg, reg, lives_on);
            self.out.locs[base + k] = self.loc(reg);
        }
        if let (Some(def), true) = (def, result.is_none()) {
            let prefer = match operands.len() {
                2 => self.out.locs[base + 1 - shape.def].as_reg().map_or(Reg::NONE, |preg| self.registers.reg(preg)),
                _ => Reg::NONE,
            };
            result = match self.result_register(slot, def, &shape.dying, &loaded, prefer) {
                Some(reg) => reg,
                None => self.choose_result(operands, def, &loaded, &mut losers, slot)?,
            };
        }
        for (class, losers) in losers.into_iter().enumerate() {
            for reg in regs(class, losers) {
                self.evict(reg, ProgPoint::before(slot));
            }
        }
        self.s.plan.slot = slot;
        self.s.plan.taken[0] = taken;
        self.settle_copies(inst);
        self.end_dying(slot, &shape.dying);
        if let Some(def) = def {
            self.out.locs[base + shape.def] = self.loc(result);
            self.begin_result(inst, def, result);
        }
        Some(())
    }

    fn plan_copy(&mut self, vreg: VReg, to: Reg, moves_home: bool) {
        let from = self.values.open_stay(vreg).unwrap_or(NONE);
        self.s.plan.copies.push(Copy { vreg, from, to, into: vreg, moves_home });
    }

    /// The best register that nobody lives in, apart from those in `taken`, to which it is added.
    fn choose_left(&mut self, operand: Operand, taken: &mut Masks, point: ProgPoint) -> Option<Reg> {
        let class = self.values[operand.vreg()].class();
        let free = self.registers.allocatable[class] & !self.found.residence.held[class] & !taken[class];
        if free == 0 {
            return None;
        }
        let reg = self.choose(operand.vreg(), free, point, Reg::NONE);
        taken[class] |= reg.bit();
        Some(reg)
    }

    /// A register for a use whose value can best do without it.
    fn choose_loser(
        &mut self,
        operands: &[Operand],
        operand: Operand,
        taken: &Masks,
        losers: &mut Masks,
        slot: Position,
    ) -> Option<Reg> {
        let class = self.values[operand.vreg()].class();
        let mut candidates = self.found.residence.held[class] & !taken[class];
        for operand in operands {
            let home = self.values.home(operand.vreg());
            if !home.is_none() && home.class() == class {
                candidates &= !home.bit();
            }
        }
        self.lose(class, candidates, operand, losers, slot)
    }

    /// A register for a result whose value can best do without it, unless the instruction uses that. Should it have been
    /// lost to a use before, that is loaded for this instruction only.
    fn choose_result(
        &mut self,
        operands: &[Operand],
        def: Operand,
        loaded: &Masks,
        losers: &mut Masks,
        slot: Position,
    ) -> Option<Reg> {
        let value = &self.values[def.vreg()];
        let class = value.class();
        let held = self.found.residence.held[class];
        let is_left = self.registers.allocatable[class] & !(held | loaded[class]) != 0;
        if is_left || value.is_remat() || self.parameters_register(def.vreg(), slot).is_some() {
            return None;
        }
        let reg = self.lose(class, held, def, losers, slot)?;
        if let Some(copy) = self.s.plan.copies.iter_mut().find(|copy| copy.to == reg) {
            copy.moves_home = false;
        }
        let loser = self.found.residence.holder_vreg(reg);
        operands.iter().all(|operand| operand.vreg() != loser).then_some(reg)
    }

    fn lose(
        &mut self,
        class: usize,
        candidates: u64,
        operand: Operand,
        losers: &mut Masks,
        slot: Position,
    ) -> Option<Reg> {
        self.out.stats.steps += u64::from(candidates.count_ones());
        let (reg, _) = self.farthest(class, candidates, ProgPoint::before(slot))?;
        losers[class] |= reg.bit();
        self.out.stats.evictions += 1;
        let (vreg, winner) = (self.found.residence.holder_vreg(reg), operand.vreg());
        self.event(Event::Evict { vreg, winner, at: self.inst_at(ProgPoint::before(slot)) });
        Some(reg)
    }
}
