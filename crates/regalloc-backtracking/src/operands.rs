//! The location of every operand, the copies around instructions, and the stores of what is written to slots at once.
//!
//! Most operands are in the one register of a value that never moves; only the others are looked at closely.

use crate::emit::{Emit, Phase};
use crate::live::Use;
use crate::machine::ANYWHERE;
use crate::order::{EARLY, LATE, NONE, POST, PRE, Place};
use crate::places::Where;
use kingpost_regalloc::{Constraint, Inst, InstFlags, Loc, PReg, Pos, VReg};

impl Emit<'_> {
    /// Says where the operands of the instructions of a block are.
    pub(crate) fn operands(&mut self, place: &Place) {
        let mut at = place.start();
        for inst in self.problem.insts(place.block) {
            at += 4;
            for k in self.problem.operand_range(inst) {
                match self.places.home(self.problem.all_operands()[k].vreg()) {
                    Some(reg) if self.machine.binding[k] == ANYWHERE => self.out.locs[k] = Loc::reg(reg),
                    _ => self.operand(inst, at, k),
                }
            }
        }
    }

    fn operand(&mut self, inst: Inst, at: u32, k: usize) {
        let operand = self.problem.all_operands()[k];
        let place = match operand.is_def() {
            true => self.def(inst, at, k),
            false => self.use_(inst, at, k),
        };
        match place {
            Where::Reg(reg) => self.out.locs[k] = Loc::reg(reg),
            Where::Memory(vreg) if operand.is_def() && self.live.remat(vreg) == Some(inst) => self.out.drop_inst(inst),
            Where::Memory(vreg) => {
                self.places.needs_slot(vreg);
                self.s.in_slots.push((k as u32, vreg));
            }
        }
    }

    fn fixed(&self, k: usize) -> Option<Where> {
        self.machine.fixed(k).map(Where::Reg)
    }

    fn def(&mut self, inst: Inst, at: u32, k: usize) -> Where {
        let operand = self.problem.all_operands()[k];
        let vreg = operand.vreg();
        let on_edge = self.problem.flags(inst).has(InstFlags::BRANCH) && self.live.edge_of(vreg) != NONE;
        let place = match (self.fixed(k), operand.constraint()) {
            (Some(fixed), _) => fixed,
            (None, Constraint::Stack) => Where::Memory(vreg),
            _ if on_edge => Where::Memory(vreg),
            (None, Constraint::Reuse(_)) => self.places.at(vreg, at + EARLY),
            _ if operand.pos() == Pos::Early => self.places.at(vreg, at + EARLY),
            _ => self.places.at(vreg, at + LATE),
        };
        let is_dead = self.live.uses(vreg).len() < 2;
        if !on_edge && !is_dead {
            let own = self.places.at(vreg, at + POST);
            if own != place && own != Where::Memory(vreg) {
                self.add(at + 4, Phase::Results, place, own, vreg);
            }
        }
        place
    }

    fn use_(&mut self, inst: Inst, at: u32, k: usize) -> Where {
        let operand = self.problem.all_operands()[k];
        let vreg = operand.vreg();
        let source = self.places.at(vreg, at + PRE);
        if let Some(fixed) = self.fixed(k) {
            self.add(at, Phase::Operands, source, fixed, vreg);
            return fixed;
        }
        if self.machine.binding[k] != ANYWHERE
            && let Some(def) = self.heir(inst, k)
        {
            let place = self.places.at(def, at + EARLY);
            self.add(at, Phase::Operands, source, place, vreg);
            return place;
        }
        let point = at + if operand.pos() == Pos::Early { EARLY } else { LATE };
        let place = match operand.constraint() {
            Constraint::Stack => Where::Memory(vreg),
            _ => self.places.at(vreg, point),
        };
        if place == Where::Memory(vreg) && self.live.remat(vreg).is_some() {
            self.compute_in_slot(at, source, vreg);
        }
        place
    }

    /// The result that takes over the register of operand `k`.
    fn heir(&self, inst: Inst, k: usize) -> Option<VReg> {
        let operands = self.problem.operands(inst);
        let reuse = Constraint::Reuse((k - self.problem.operand_range(inst).start) as u8);
        operands.iter().find(|def| def.constraint() == reuse).map(|def| def.vreg())
    }

    /// The slot of a constant is written just before it is read.
    fn compute_in_slot(&mut self, at: u32, source: Where, vreg: VReg) {
        self.places.needs_slot(vreg);
        self.push(at, Phase::Operands, source, Where::Memory(vreg), vreg);
    }

    /// Stores values in their slots where they are defined, unless that is done elsewhere.
    pub(crate) fn store_defs(&mut self) {
        for i in 0..self.places.slotted.len() {
            let vreg = self.places.slotted[i];
            if self.places.is_sunk(vreg) || self.live.remat(vreg).is_some() || self.live.ranges(vreg).is_empty() {
                continue;
            }
            if let Some(&def) = self.live.uses(vreg).iter().find(|u| u.is_def)
                && let Some((point, phase, from)) = self.stored_from(&def)
            {
                self.push(point, phase, Where::Reg(from), Where::Memory(vreg), vreg);
            }
        }
    }

    /// Where a def is to be stored: the point, when there, and the register it was written to, if it was one.
    fn stored_from(&self, def: &Use) -> Option<(u32, Phase, PReg)> {
        if def.operand == NONE {
            return match self.places.at(def.vreg, def.point) {
                Where::Reg(reg) => Some((def.point, Phase::Params, reg)),
                Where::Memory(_) => None,
            };
        }
        if self.live.edge_of(def.vreg) != NONE {
            return self.machine.fixed(def.operand as usize).map(|reg| (def.point, Phase::Edge, reg));
        }
        let reg = self.out.locs[def.operand as usize].as_reg();
        reg.map(|reg| (def.point / 4 * 4 + 4, Phase::Results, reg))
    }
}
