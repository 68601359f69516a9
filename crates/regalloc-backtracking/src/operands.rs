//! The location of every operand, the copies around instructions, and the stores of values with slots at their
//! defs.
//!
//! ```text
//! i3: def v1 = r0, use v0 = r1         move r4 -> r1 before i3 and r0 -> r5 behind it, where v0 is in r4 and v1 in r5
//! ```
//!
//! Most operands are in the only register of a value that never moves; only the other ones are examined. Cost:
//! linear in operands.

use crate::emit::{Emit, Phase};
use crate::liveness::Use;
use crate::value_locations::ValueLoc;
use kingpost_regalloc::{Constraint, Inst, InstFlags, Loc, PReg, Pos};
use kingpost_regalloc_common::matching::tied_def;
use kingpost_regalloc_common::order::OrderedBlock;
use kingpost_regalloc_common::point::{Position, ProgPoint};

impl Emit<'_> {
    /// Sets the locations of the operands of a block's instructions.
    pub(crate) fn operands(&mut self, block: &OrderedBlock) {
        for (inst, at) in self.problem.insts(block.block).zip(block.positions()) {
            for k in self.problem.operand_range(inst) {
                match self.locations.only_reg(self.problem.all_operands()[k].vreg()) {
                    Some(reg) if self.reservations.is_with_value(k) => self.out.locs[k] = Loc::reg(reg),
                    _ => self.operand(inst, at, k),
                }
            }
        }
    }

    fn operand(&mut self, inst: Inst, at: Position, k: usize) {
        let operand = self.problem.all_operands()[k];
        let loc = match operand.is_def() {
            true => self.def_operand(inst, at, k),
            false => self.use_operand(inst, at, k),
        };
        match loc {
            ValueLoc::Reg(reg) => self.out.locs[k] = Loc::reg(reg),
            ValueLoc::Memory(vreg) if operand.is_def() && self.live.remat(vreg) == Some(inst) => {
                self.out.drop_inst(inst)
            }
            ValueLoc::Memory(vreg) => {
                self.locations.needs_slot(vreg);
                self.s.in_slots.push((k as u32, vreg));
            }
        }
    }

    fn def_operand(&mut self, inst: Inst, at: Position, k: usize) -> ValueLoc {
        let operand = self.problem.all_operands()[k];
        let vreg = operand.vreg();
        let on_edge = self.problem.flags(inst).has(InstFlags::BRANCH) && self.live.edge(vreg).is_some();
        let loc = match (self.reservations.fixed(k), operand.constraint()) {
            (Some(fixed), _) => ValueLoc::Reg(fixed),
            (None, Constraint::Stack) => ValueLoc::Memory(vreg),
            _ if on_edge => ValueLoc::Memory(vreg),
            (None, Constraint::Reuse(_)) => self.locations.at(vreg, ProgPoint::early(at)),
            _ if operand.pos() == Pos::Early => self.locations.at(vreg, ProgPoint::early(at)),
            _ => self.locations.at(vreg, ProgPoint::late(at)),
        };
        let is_dead = self.live.uses(vreg).len() < 2;
        if !on_edge && !is_dead {
            let own = self.locations.at(vreg, ProgPoint::after(at));
            if own != loc && own != ValueLoc::Memory(vreg) {
                self.add(at.next(), Phase::Results, loc, own, vreg);
            }
        }
        loc
    }

    fn use_operand(&mut self, inst: Inst, at: Position, k: usize) -> ValueLoc {
        let operand = self.problem.all_operands()[k];
        let vreg = operand.vreg();
        let source = self.locations.at(vreg, ProgPoint::before(at));
        if let Some(fixed) = self.reservations.fixed(k).map(ValueLoc::Reg) {
            self.add(at, Phase::Operands, source, fixed, vreg);
            return fixed;
        }
        if !self.reservations.is_with_value(k)
            && let Some(def) = tied_def(self.problem.operands(inst), k - self.problem.operand_range(inst).start)
        {
            let loc = self.locations.at(def.vreg(), ProgPoint::early(at));
            self.add(at, Phase::Operands, source, loc, vreg);
            return loc;
        }
        let point = if operand.pos() == Pos::Early { ProgPoint::early(at) } else { ProgPoint::late(at) };
        let loc = match operand.constraint() {
            Constraint::Stack => ValueLoc::Memory(vreg),
            _ => self.locations.at(vreg, point),
        };
        if loc == ValueLoc::Memory(vreg) && self.live.remat(vreg).is_some() {
            // The slot of a rematerialized value is written just before it is read.
            self.locations.needs_slot(vreg);
            self.push(at, Phase::Operands, source, loc, vreg);
        }
        loc
    }

    /// Adds stores of values with slots at their definitions, unless these are delayed.
    pub(crate) fn store_defs(&mut self) {
        for i in 0..self.locations.slotted.len() {
            let vreg = self.locations.slotted[i];
            if self.locations.is_delayed(vreg) || self.live.remat(vreg).is_some() || self.live.ranges(vreg).is_empty() {
                continue;
            }
            if let Some(&def) = self.live.uses(vreg).iter().find(|u| u.is_def)
                && let Some((at, phase, from)) = self.store_site(&def)
            {
                self.push(at, phase, ValueLoc::Reg(from), ValueLoc::Memory(vreg), vreg);
            }
        }
    }

    /// Returns the position and phase in which a def is stored, and the register that it was written to, if there
    /// is one.
    fn store_site(&self, def: &Use) -> Option<(Position, Phase, PReg)> {
        let at = def.point.position();
        let Some(k) = def.operand() else {
            return match self.locations.at(def.vreg, def.point) {
                ValueLoc::Reg(reg) => Some((at, Phase::Params, reg)),
                ValueLoc::Memory(_) => None,
            };
        };
        match self.live.edge(def.vreg) {
            Some(_) => self.reservations.fixed(k).map(|reg| (at, Phase::Edge, reg)),
            // The temporary of a terminator has no use, and no store can follow it.
            None if self.order.block_at(at).end == at.next() => None,
            None => self.out.locs[k].as_reg().map(|reg| (at.next(), Phase::Results, reg)),
        }
    }
}
