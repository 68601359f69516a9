//! Effects of edits on registers and slots.

use super::{Content, Fault, Machine, Wrong, constant_token, truncated};
use cranelift_entity::EntityRef;
use kingpost_regalloc::{Constraint, EditKind, Inst, InstFlags, PReg, RegClass, Slot};

impl Machine<'_> {
    pub(super) fn edits_before(&mut self, inst: Inst) -> Result<(), Wrong> {
        for edit in self.edits.get(&inst).map_or(&[][..], Vec::as_slice) {
            self.edit(edit.kind).map_err(|what| Wrong { inst, what })?;
        }
        Ok(())
    }

    fn edit(&mut self, kind: EditKind) -> Result<(), Fault> {
        if !has_width(kind) {
            return Err(Fault::NoSuchEdit);
        }
        match kind {
            EditKind::Move { from, to, width } => {
                let content = self.edit_reg(from)?;
                self.edit_reg(to)?;
                if from.class() != to.class() {
                    return Err(Fault::NoSuchEdit);
                }
                self.regs[to.index()] = truncated(content, width);
            }
            EditKind::Exchange { a, b, width } => {
                let (in_a, in_b) = (self.edit_reg(a)?, self.edit_reg(b)?);
                if a.class() != b.class() || !self.env.class(a.class()).exchange {
                    return Err(Fault::NoSuchEdit);
                }
                self.regs[a.index()] = truncated(in_b, width);
                self.regs[b.index()] = truncated(in_a, width);
            }
            EditKind::Spill { from, to, width } => {
                let content = self.edit_reg(from)?;
                *self.memory(to, width)? = truncated(content, width);
            }
            EditKind::Fill { from, to, width } => {
                self.edit_reg(to)?;
                self.regs[to.index()] = truncated(*self.memory(from, width)?, width);
            }
            EditKind::SlotMove { from, to, width } => {
                if !RegClass::ALL.iter().any(|&class| self.env.class(class).slot_move) {
                    return Err(Fault::NoSuchEdit);
                }
                let content = *self.memory(from, width)?;
                *self.memory(to, width)? = truncated(content, width);
            }
            EditKind::Remat { inst, to } => self.remat(inst, to)?,
        }
        Ok(())
    }

    fn edit_reg(&self, reg: PReg) -> Result<Content, Fault> {
        let scratch = self.env.class(reg.class()).scratch == Some(reg);
        if scratch || self.allowed.contains(reg) { Ok(self.regs[reg.index()]) } else { Err(Fault::NoSuchEdit) }
    }

    fn memory(&mut self, slot: Slot, width: u8) -> Result<&mut Content, Fault> {
        let data = self.answer.slots.get(slot).ok_or(Fault::OutOfSlot)?;
        if data.size < u32::from(width) || data.align < u32::from(width) {
            return Err(Fault::OutOfSlot);
        }
        Ok(&mut self.slots[slot.index()])
    }

    fn remat(&mut self, inst: Inst, to: PReg) -> Result<(), Fault> {
        let known = inst.index() < self.problem.num_insts();
        if !known || !self.problem.flags(inst).has(InstFlags::REMAT) {
            return Err(Fault::EffectChanged);
        }
        self.edit_reg(to)?;
        let def = self.problem.operands(inst)[0];
        let width = self.problem.width(def.vreg());
        let encodable = to.class() == self.problem.class(def.vreg())
            && match def.constraint() {
                Constraint::Fixed(reg) => reg == to,
                Constraint::Within(set) => self.problem.reg_set(set).contains(to),
                Constraint::Stack => false,
                _ => true,
            };
        if !encodable {
            return Err(Fault::NotEncodable);
        }
        self.regs[to.index()] = Content { token: constant_token(inst), bytes: width };
        Ok(())
    }
}

/// Returns `true` if there is an instruction that moves as many bytes.
fn has_width(kind: EditKind) -> bool {
    let (class, width) = match kind {
        EditKind::Move { from: reg, width, .. } | EditKind::Exchange { a: reg, width, .. } => (reg.class(), width),
        EditKind::Spill { from: reg, width, .. } | EditKind::Fill { to: reg, width, .. } => (reg.class(), width),
        EditKind::SlotMove { width, .. } => return width.is_power_of_two() && width <= 64,
        EditKind::Remat { .. } => return true,
    };
    class.has_width(width)
}
