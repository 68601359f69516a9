//! The common instruction: its uses are in registers already, nothing is fixed or lost, and a register is left for its
//! result. What `instruction.rs` would do comes out, in a fraction of the time.

use crate::machine::{Masks, Reg, regs};
use crate::point::Point;
use crate::walk::Scan;
use kingpost_regalloc::{ClobberId, Constraint, Inst, InstFlags, Operand, Pos};

impl Scan<'_, '_> {
    /// Serves the instruction if it is a common one. Nothing is changed if it is not.
    pub(crate) fn serve_simply(&mut self, inst: Inst, slot: u32, operands: &[Operand]) -> bool {
        let flags = self.problem.flags(inst);
        if self.problem.clobber_id(inst) != ClobberId::NONE || flags.has(InstFlags::SAFEPOINT) {
            return false;
        }
        let Some((dying, def)) = self.common_shape(slot, operands) else { return false };
        let reg = match def.map(|k| self.result_register(slot, operands, k, dying)) {
            None => Reg::NONE,
            Some(Some(reg)) => reg,
            Some(None) => return false,
        };
        self.place_simple_uses(inst, slot, operands, dying);
        if let Some(k) = def {
            self.place_result(inst, operands, k, reg);
        }
        true
    }

    /// If all uses are in place: the registers whose values die here, and the index of the only def.
    fn common_shape(&mut self, slot: u32, operands: &[Operand]) -> Option<(Masks, Option<usize>)> {
        let mut dying = [0; 2];
        let mut def = None;
        for (k, &operand) in operands.iter().enumerate() {
            let vreg = operand.vreg();
            if operand.is_def() {
                let plain = matches!(operand.constraint(), Constraint::Reg | Constraint::Reuse(_));
                if !plain || operand.pos() == Pos::Early || def.is_some() || self.live.is_edge_def(vreg) {
                    return None;
                }
                def = Some(k);
                continue;
            }
            let may_be_in_memory = match operand.constraint() {
                Constraint::Reg => false,
                Constraint::MemOk => !self.hints.is_remat(vreg),
                _ => return None,
            };
            let home = self.found.residence.home(vreg);
            if operand.pos() == Pos::Late || (home.is_none() && !may_be_in_memory) {
                return None;
            }
            if !home.is_none() && !self.is_live(vreg, Point::late(slot)) {
                dying[home.class()] |= home.bit();
            }
        }
        Some((dying, def))
    }

    /// A register for the result that nobody lives in.
    fn result_register(&mut self, slot: u32, operands: &[Operand], k: usize, dying: Masks) -> Option<Reg> {
        let vreg = operands[k].vreg();
        if let Constraint::Reuse(source) = operands[k].constraint() {
            let home = self.found.residence.home(operands[usize::from(source)].vreg());
            return home.is_in(&dying).then_some(home);
        }
        let class = self.problem.class(vreg).index();
        let residence = &self.found.residence;
        let mut free = self.machine.allocatable[class] & !(residence.held[class] & !dying[class]);
        if self.hints.is_remat(vreg) {
            if !self.live.is_used(vreg) {
                return None;
            }
            free &= !self.machine.callee_saved[class] | residence.used[class];
        }
        if self.parameters_register(vreg, slot).is_some() {
            return None;
        }
        // A copy had best stay where its source is.
        let residence = &self.found.residence;
        let prefer = match operands.len() {
            2 => residence.home(operands[1 - k].vreg()),
            _ => Reg::NONE,
        };
        (free != 0).then(|| self.choose(vreg, free, Point::late(slot), prefer))
    }

    fn place_simple_uses(&mut self, inst: Inst, slot: u32, operands: &[Operand], dying: Masks) {
        let base = self.problem.operand_range(inst).start;
        for (k, operand) in operands.iter().enumerate().filter(|(_, operand)| operand.is_use()) {
            let vreg = operand.vreg();
            let Some(id) = self.found.residence.open_stay(vreg) else {
                let facts = self.found.residence.facts(vreg);
                facts.mem_read = true;
                facts.in_operand = true;
                self.note_in_memory(inst);
                continue;
            };
            let stay = self.found.residence.stay(id);
            let (reg, since_def) = (stay.reg, stay.since_def);
            if since_def {
                self.found.residence.facts(vreg).keep_def = true;
            }
            self.out.locs[base + k] = self.loc(reg);
        }
        for (class, dying) in dying.into_iter().enumerate() {
            for reg in regs(class, dying) {
                self.found.residence.close(reg, Point::late(slot));
            }
        }
    }

    fn place_result(&mut self, inst: Inst, operands: &[Operand], k: usize, reg: Reg) {
        let vreg = operands[k].vreg();
        let base = self.problem.operand_range(inst).start;
        self.out.locs[base + k] = self.loc(reg);
        if !self.live.is_used(vreg) {
            self.found.residence.used[reg.class()] |= reg.bit();
        } else {
            self.found.residence.open(vreg, reg, self.live.def(vreg), true);
            self.offer(vreg, reg);
            self.tell_assignment(vreg, reg, inst);
        }
    }
}
