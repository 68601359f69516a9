//! All assignments of registers to the operands of one instruction, tried until one fits.
//!
//! The way out when serving operands one after the other fails: subsets of registers may leave exactly one answer. Who
//! lives in the registers does not matter here, since whoever is no operand can go to memory. Depth first, with the
//! operands in an order of growing freedom; the number of tries is bounded, far above what real instructions need.

use crate::instruction::NoneLeft;
use crate::machine::{Reg, regs};
use crate::plan::{BOTH, EARLY, LATE, UNTIED};
use crate::walk::Scan;
use kingpost_regalloc::{AllocError, Constraint, Inst, Operand, VReg};
use kingpost_regalloc_common::point::ProgPoint;

/// Registers tried for one instruction before it is given up.
const TRIES: u64 = 50_000;
/// Registers tried for all instructions, per operand: many instructions that each need a long search are too many.
const TRIES_PER_OPERAND: u64 = 64;

/// Registers that may be tried for a problem with so many operands.
pub(crate) fn budget(operands: usize) -> u64 {
    TRIES * 4 + TRIES_PER_OPERAND * operands as u64
}

/// An operand, or a tied pair, that needs a register.
#[derive(Clone, Copy)]
struct Demand {
    operand: usize,
    /// The tied def, or the operand itself.
    partner: usize,
    points: u8,
    class: usize,
    allowed: u64,
    /// Registers not tried yet, those that hold the value first.
    left: u64,
    /// The register tried now, and the points at which it was nobody's before.
    reg: Reg,
    newly: u8,
}

impl Scan<'_, '_> {
    /// Finds registers for all operands, or says which class is too small.
    ///
    /// # Errors
    /// If there is no assignment, or none was found within the bounds.
    pub(crate) fn choose_exactly(&mut self, inst: Inst, operands: &[Operand]) -> Result<(), AllocError> {
        self.claim_fixed(inst, operands)?;
        let mut demands = self.demands(operands);
        let mut deepest = 0;
        let found = self.search(operands, &mut demands, &mut deepest);
        let class = |d: usize| self.problem.class(operands[demands[d].operand].vreg());
        found.map_err(|NoneLeft| match self.s.tries {
            0 => AllocError::StepBudget { steps: self.out.stats.steps },
            _ => AllocError::TooFewRegisters { inst, class: class(deepest) },
        })
    }

    fn demands(&self, operands: &[Operand]) -> Vec<Demand> {
        let mut demands = Vec::new();
        for (k, &operand) in operands.iter().enumerate() {
            let is_tied_def = matches!(operand.constraint(), Constraint::Reuse(_));
            if !self.s.plan.regs[k].is_none() || self.is_soft(operands, k) || is_tied_def {
                continue;
            }
            let tied = self.s.plan.tied[k];
            let (partner, points) = match tied {
                UNTIED => (k, self.points(operand)),
                def => (def as usize, BOTH),
            };
            let class = self.class_of(operand);
            let mut allowed = self.machine.allowed(operand, class);
            if points & LATE != 0 {
                allowed &= !self.killed(operand.vreg()) & !self.killed(operands[partner].vreg());
            }
            let (reg, newly) = (Reg::NONE, 0);
            demands.push(Demand { operand: k, partner, points, class, allowed, left: 0, reg, newly });
        }
        demands.sort_by_key(|d| (d.points != BOTH, d.points == LATE, d.allowed.count_ones()));
        demands
    }

    fn search(&mut self, operands: &[Operand], demands: &mut [Demand], deepest: &mut usize) -> Result<(), NoneLeft> {
        let mut tries = TRIES.min(self.s.tries);
        self.s.tries -= tries;
        let mut depth = 0;
        let mut fresh = true;
        while depth < demands.len() {
            *deepest = depth.max(*deepest);
            if fresh {
                demands[depth].left = demands[depth].allowed;
            }
            let demand = &mut demands[depth];
            let vregs = (operands[demand.operand].vreg(), operands[demand.partner].vreg());
            tries = tries.checked_sub(1).ok_or(NoneLeft)?;
            self.out.stats.steps += 1;
            match self.next_fit(demand, vregs) {
                true => {
                    (depth, fresh) = (depth + 1, true);
                }
                false if depth == 0 => {
                    self.s.tries += tries;
                    return Err(NoneLeft);
                }
                false => {
                    (depth, fresh) = (depth - 1, false);
                    let Demand { reg, newly, .. } = demands[depth];
                    self.s.plan.unclaim(reg, newly);
                }
            }
        }
        self.s.tries += tries;
        for demand in demands.iter() {
            self.s.plan.regs[demand.operand] = demand.reg;
            self.s.plan.regs[demand.partner] = demand.reg;
            self.note_loaded(operands[demand.operand], demand.reg);
        }
        Ok(())
    }

    /// Claims the next register that fits the demand. Is there one?
    fn next_fit(&mut self, demand: &mut Demand, (vreg, partner): (VReg, VReg)) -> bool {
        let home = self.values.home(vreg);
        let first = if home.class() == demand.class && !home.is_none() { home.bit() } else { 0 };
        for mask in [demand.left & first, demand.left & !first] {
            for reg in regs(demand.class, mask) {
                demand.left &= !reg.bit();
                let plan = &mut self.s.plan;
                let early = demand.points & EARLY;
                let late = demand.points & LATE;
                let late_owner = if late == 0 { vreg } else { partner };
                if !plan.can_claim(reg, vreg, early) || !plan.can_claim(reg, late_owner, late) {
                    continue;
                }
                let newly = (1..=2).filter(|p| demand.points & p != 0 && plan.owner(reg, usize::from(p - 1)).is_none());
                demand.newly = newly.sum();
                demand.reg = reg;
                plan.claim(reg, vreg, early);
                plan.claim(reg, late_owner, late);
                return true;
            }
        }
        false
    }

    fn note_loaded(&mut self, operand: Operand, reg: Reg) {
        let vreg = operand.vreg();
        let late = ProgPoint::late(self.s.plan.slot);
        if operand.is_use() && self.values.home(vreg) != reg && self.values.is_live(vreg, late) {
            self.s.plan.loaded[reg.class()] |= reg.bit();
        }
    }
}
