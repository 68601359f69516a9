//! The common instruction: its uses are in registers already, nothing is fixed or lost, and a register is left for its
//! result. What `instruction.rs` would do comes out, in a fraction of the time.

use crate::machine::{Masks, Reg, regs};
use crate::point::Point;
use crate::values::fact;
use crate::walk::Scan;
use kingpost_regalloc::{Constraint, Inst, Loc, Operand, Pos};
use std::ops::Range;

impl Scan<'_, '_> {
    /// Serves the instruction, which clobbers nothing and is no safepoint, if it is a common one. Nothing is decided if
    /// it is not.
    pub(crate) fn serve_simply(&mut self, inst: Inst, slot: u32, range: Range<usize>, operands: &[Operand]) -> bool {
        match self.try_simply(inst, slot, range.start, operands) {
            Some(()) => true,
            None => {
                self.out.locs[range].fill(Loc::NONE);
                false
            }
        }
    }

    fn try_simply(&mut self, inst: Inst, slot: u32, base: usize, operands: &[Operand]) -> Option<()> {
        let late = Point::late(slot);
        let mut dying = [0; 2];
        let mut def = None;
        for (k, (&operand, loc)) in operands.iter().zip(&mut self.out.locs[base..]).enumerate() {
            let vreg = operand.vreg();
            if operand.is_def() {
                let plain = matches!(operand.constraint(), Constraint::Reg | Constraint::Reuse(_));
                if !plain || operand.pos() == Pos::Early || def.is_some() {
                    return None;
                }
                def = Some((k, operand));
                continue;
            }
            let may_be_in_memory = match operand.constraint() {
                Constraint::Reg => false,
                Constraint::MemOk => true,
                _ => return None,
            };
            if operand.pos() == Pos::Late {
                return None;
            }
            if !self.values.is_live(vreg, late) {
                let home = self.values.home(vreg);
                if !home.is_none() {
                    dying[home.class()] |= home.bit();
                }
            }
            let value = &mut self.values[vreg];
            if value.home.is_none() {
                if !may_be_in_memory || value.is_remat() {
                    return None;
                }
                value.facts |= fact::MEM_READ | fact::IN_OPERAND;
                self.found.note_in_memory(inst);
                continue;
            }
            if value.has(fact::SINCE_DEF) {
                value.facts |= fact::KEEP_DEF;
            }
            *loc = Loc::reg(self.machine.preg(value.home));
        }
        let reg = match def {
            Some((k, def)) => self.result_register(slot, operands, k, def, &dying)?,
            None => Reg::NONE,
        };
        for (class, dying) in dying.into_iter().enumerate() {
            for reg in regs(class, dying) {
                self.close(reg, late);
            }
        }
        if let Some((k, def)) = def {
            self.out.locs[base + k] = self.loc(reg);
            self.begin_result(inst, def, reg);
        }
        Some(())
    }

    /// A register for the result that nobody lives in.
    fn result_register(
        &mut self,
        slot: u32,
        operands: &[Operand],
        k: usize,
        def: Operand,
        dying: &Masks,
    ) -> Option<Reg> {
        let vreg = def.vreg();
        let value = &self.values[vreg];
        if value.has(fact::EDGE_DEF) {
            return None;
        }
        if let Constraint::Reuse(source) = def.constraint() {
            let home = self.values.home(operands[usize::from(source)].vreg());
            return home.is_in(dying).then_some(home);
        }
        let class = value.class();
        let residence = &self.found.residence;
        let mut free = self.machine.allocatable[class] & !(residence.held[class] & !dying[class]);
        if value.is_remat() {
            if !value.is_used() {
                return None;
            }
            free &= !self.machine.callee_saved[class] | residence.used[class];
        }
        if free == 0 || self.parameters_register(vreg, slot).is_some() {
            return None;
        }
        // A copy had best stay where its source is.
        let prefer = match operands {
            [a, b] => self.values.home(if k == 0 { b.vreg() } else { a.vreg() }),
            _ => Reg::NONE,
        };
        Some(self.choose(vreg, free, Point::late(slot), prefer))
    }

    /// The result of `inst` begins to live in `reg`.
    pub(crate) fn begin_result(&mut self, inst: Inst, def: Operand, reg: Reg) {
        let vreg = def.vreg();
        let value = &self.values[vreg];
        self.found.note_written(value, reg);
        if !value.is_used() {
            self.found.residence.used[reg.class()] |= reg.bit();
            return;
        }
        let def = value.def;
        self.open(vreg, reg, def, true);
        self.offer(vreg, reg);
        self.tell_assignment(vreg, reg, inst);
    }
}
