//! The common instruction: its uses are in registers already, nothing is fixed or lost, and a register is left for its
//! result. What `instruction.rs` would do comes out, in a fraction of the time. Instructions that need a copy or two for
//! that, into registers that are left, are served in `copies.rs`.

use crate::values::fact;
use crate::walk::Scan;
use kingpost_regalloc::{Constraint, Inst, Loc, Operand, Pos};
use kingpost_regalloc_common::point::{Position, ProgPoint};
use kingpost_regalloc_common::preference::{Masks, Reg, regs};
use std::ops::Range;

/// What a common instruction needs.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    /// Registers whose values are read here for the last time.
    pub(crate) dying: Masks,
    /// The index of the only def, or [`NO_DEF`].
    pub(crate) def: usize,
    /// One bit for each use that must be in a register and is not.
    pub(crate) missing: u32,
}

pub(crate) const NO_DEF: usize = usize::MAX;

impl Scan<'_, '_> {
    /// Serves the instruction, which clobbers nothing and is no safepoint, if it is a common one. Nothing is decided if
    /// it is not.
    pub(crate) fn serve_simply(
        &mut self,
        inst: Inst,
        slot: Position,
        range: Range<usize>,
        operands: &[Operand],
    ) -> bool {
        match self.try_simply(inst, slot, range.start, operands) {
            Some(()) => true,
            None => {
                self.out.locs[range].fill(Loc::NONE);
                false
            }
        }
    }

    fn try_simply(&mut self, inst: Inst, slot: Position, base: usize, operands: &[Operand]) -> Option<()> {
        let shape = self.place_common_uses(inst, slot, base, operands)?;
        if shape.missing != 0 {
            return self.serve_with_copies(inst, slot, base, operands, &shape);
        }
        let Some(&def) = operands.get(shape.def) else {
            self.end_dying(slot, &shape.dying);
            return Some(());
        };
        let reg = if let Constraint::Reuse(source) = def.constraint() {
            self.values.home(operands[usize::from(source)].vreg())
        } else {
            // A copy had best stay where its source is.
            let prefer = match operands {
                [a, b] => self.values.home(if shape.def == 0 { b.vreg() } else { a.vreg() }),
                _ => Reg::NONE,
            };
            match self.result_register(slot, def, &shape.dying, &[0; 2], prefer) {
                Some(reg) => reg,
                None => return self.serve_with_copies(inst, slot, base, operands, &shape),
            }
        };
        if matches!(def.constraint(), Constraint::Reuse(_)) && !reg.is_in(&shape.dying) {
            return self.serve_with_copies(inst, slot, base, operands, &shape);
        }
        self.out.locs[base + shape.def] = self.loc(reg);
        self.end_dying(slot, &shape.dying);
        self.begin_result(inst, def, reg);
        Some(())
    }

    /// Values that are read for the last time leave their registers.
    #[inline]
    pub(crate) fn end_dying(&mut self, slot: Position, dying: &Masks) {
        for (class, &dying) in dying.iter().enumerate() {
            for reg in regs(class, dying) {
                self.close(reg, ProgPoint::late(slot));
            }
        }
    }

    /// Writes down where the uses are read that need nothing, if the instruction may be a common one.
    #[inline(always)]
    fn place_common_uses(&mut self, inst: Inst, slot: Position, base: usize, operands: &[Operand]) -> Option<Shape> {
        let late = ProgPoint::late(slot);
        let (mut dying, mut def, mut missing) = ((0, 0), NO_DEF, 0);
        for (k, (&operand, loc)) in operands.iter().zip(&mut self.out.locs[base..]).enumerate() {
            let vreg = operand.vreg();
            if operand.is_def() {
                let plain = matches!(operand.constraint(), Constraint::Reg | Constraint::Reuse(_));
                if !plain || operand.pos() == Pos::Early || def != NO_DEF || self.values.is_edge_def(vreg) {
                    return None;
                }
                def = k;
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
            let lives_on = self.values.is_live(vreg, late);
            let value = &mut self.values[vreg];
            let home = value.home;
            if home.is_none() {
                if may_be_in_memory && !value.is_remat() {
                    value.facts |= fact::MEM_READ | fact::IN_OPERAND;
                    self.found.note_in_memory(inst);
                } else if !may_be_in_memory && k < 32 {
                    missing |= 1 << k;
                } else {
                    return None;
                }
                continue;
            }
            if !lives_on {
                // No array: the processor waits where it writes one half and reads the whole.
                let (bit, is_first) = (home.bit(), home.class() == 0);
                dying.0 |= if is_first { bit } else { 0 };
                dying.1 |= if is_first { 0 } else { bit };
            }
            if value.has(fact::SINCE_DEF) {
                value.facts |= fact::KEEP_DEF;
            }
            *loc = Loc::reg(self.registers.preg(home));
        }
        Some(Shape { dying: [dying.0, dying.1], def, missing })
    }

    /// A register for the result, which nobody lives in and which is not in `loaded`.
    #[inline]
    pub(crate) fn result_register(
        &mut self,
        slot: Position,
        def: Operand,
        dying: &Masks,
        loaded: &Masks,
        prefer: Reg,
    ) -> Option<Reg> {
        let vreg = def.vreg();
        let value = &self.values[vreg];
        let class = value.class();
        let residence = &self.found.residence;
        let (dying, loaded) = if class == 0 { (dying[0], loaded[0]) } else { (dying[1], loaded[1]) };
        let mut free = self.registers.allocatable[class] & !loaded & !(residence.held[class] & !dying);
        if value.is_remat() {
            if !value.is_used() {
                return None;
            }
            free &= !self.registers.callee_saved[class] | residence.used[class];
        }
        if free == 0 || self.parameters_register(vreg, slot).is_some() {
            return None;
        }
        Some(self.choose(vreg, free, ProgPoint::late(slot), prefer))
    }

    /// The result of `inst` begins to live in `reg`.
    #[inline(always)]
    pub(crate) fn begin_result(&mut self, inst: Inst, def: Operand, reg: Reg) {
        let vreg = def.vreg();
        let value = &self.values[vreg];
        self.found.note_written(value, reg);
        if !value.is_used() {
            self.found.residence.used[reg.class()] |= reg.bit();
            return;
        }
        let def = value.def;
        self.found.residence.open(self.values, vreg, reg, def, true);
        self.offer(vreg, reg);
        self.tell_assignment(vreg, reg, inst);
    }
}
