//! Second operands: immediates, and registers that the instruction shifts, extends or complements.
//!
//! Before: `v2 = ishl v1, 3; v3 = iadd v0, v2`. After: `add x0, x0, x1, lsl #3`.
//!
//! Only a definition without another use is folded. Folding then costs nothing, and the live range of its operand
//! does not grow.

use super::cx::{Alu, Cx, Immediates};
use super::tiles;
use crate::immediates::{self, Extend, Shift};
use kingpost_ir::{Inst, Opcode, Value};
use kingpost_mach::RowId;
use kingpost_regalloc::VReg;

/// Largest left shift of an extended operand.
const MAX_EXTENDED_SHIFT: u64 = 4;

/// Returns the extension of an operand from `bits` bits.
pub(super) fn extension(bits: u32, signed: bool) -> Extend {
    match (bits, signed) {
        (8, false) => Extend::Uxtb,
        (16, false) => Extend::Uxth,
        (_, false) => Extend::Uxtw,
        (8, true) => Extend::Sxtb,
        (16, true) => Extend::Sxth,
        (_, true) => Extend::Sxtw,
    }
}

/// A second operand as an instruction takes it: the row, and the value or immediate.
#[derive(Clone, Copy)]
pub(super) enum Operand2 {
    /// A row with an immediate.
    Immediate(RowId, i32),
    /// A row with a register and the immediate that shifts or extends it.
    Changed(RowId, Value, i32),
    /// A row with a plain register.
    Plain(RowId, Value),
}

impl Cx<'_, '_> {
    /// Returns the form in which `alu` in `bits` bits takes `value` as its second operand.
    pub(super) fn operand2(&self, alu: Alu, bits: u32, value: Value) -> Operand2 {
        self.cheap_operand2(alu, bits, value).unwrap_or(Operand2::Plain(alu.rr.of(bits), value))
    }

    /// Returns the second operand if it is more than a plain register.
    fn cheap_operand2(&self, alu: Alu, bits: u32, value: Value) -> Option<Operand2> {
        if self.constant(value).is_some() {
            return self.immediate(alu, bits, value);
        }
        if !self.is_foldable(value) || !self.is_single_use(value) && !self.is_repeated_shift(value) {
            return None;
        }
        let def = self.def(value)?;
        match alu.immediates {
            Immediates::Number { rx, .. } => {
                if let Some((source, imm)) = self.extended(value, def) {
                    return Some(Operand2::Changed(rx.of(bits), source, imm));
                }
            }
            Immediates::Pattern(Some(complement)) if self.func.dfg.opcode(def) == Opcode::Bnot => {
                let [source] = self.args(def);
                let (source, imm) = self.shifted_operand(source, alu);
                return Some(Operand2::Changed(complement.of(bits), source, imm));
            }
            Immediates::Pattern(_) => {}
        }
        let (source, imm) = self.shifted(value, alu)?;
        Some(Operand2::Changed(alu.rr.of(bits), source, imm))
    }

    /// Returns `true` if a second operand can fold definitions of this opcode.
    pub(super) fn is_foldable(&self, value: Value) -> bool {
        matches!(
            self.opcode_of(value),
            Some(
                Opcode::Uextend
                    | Opcode::Sextend
                    | Opcode::Band
                    | Opcode::Bnot
                    | Opcode::Ishl
                    | Opcode::Ushr
                    | Opcode::Sshr
                    | Opcode::Rotl
                    | Opcode::Rotr
            )
        )
    }

    /// Returns a constant as the row's immediate.
    fn immediate(&self, alu: Alu, bits: u32, value: Value) -> Option<Operand2> {
        let Immediates::Number { negated, .. } = alu.immediates else {
            return self.mask_immediate(value, bits).map(|imm| Operand2::Immediate(alu.ri.of(bits), imm));
        };
        let constant = self.constant_signed(value)?;
        let row = if constant < 0 { negated } else { alu.ri };
        immediates::add_sub(constant.unsigned_abs()).map(|imm| Operand2::Immediate(row.of(bits), imm))
    }

    /// Returns a constant as an immediate of bitwise operations. The bits above a narrow value may be anything.
    pub(super) fn mask_immediate(&self, value: Value, bits: u32) -> Option<i32> {
        let (constant, own) = (self.constant(value)?, self.ty(value).bits());
        let signed = self.constant_signed(value)? as u64;
        let repeated = if own < 32 { constant * (u64::MAX / ((1 << own) - 1)) } else { constant };
        [constant, signed, repeated].into_iter().find_map(|image| immediates::logical(image, bits))
    }

    /// Returns the extended value, and the immediate with the extension and the left shift after it.
    fn extended(&self, value: Value, def: Inst) -> Option<(Value, i32)> {
        if self.func.dfg.opcode(def) != Opcode::Ishl {
            let (source, extend) = self.extension_of(def)?;
            return Some((source, immediates::extended(extend, 0)));
        }
        let [x, amount] = self.args(def);
        let amount = self.constant(amount)? & u64::from(self.ty(value).bits() - 1);
        if amount > MAX_EXTENDED_SHIFT || !self.is_single_use(x) || self.ty(value).bits() < 32 {
            return None;
        }
        let (source, extend) = self.extension_of(self.def(x)?)?;
        Some((source, immediates::extended(extend, amount as u8)))
    }

    /// Returns the value that an instruction extends, and the extension. A value that is already zero-extended needs
    /// no instruction.
    fn extension_of(&self, def: Inst) -> Option<(Value, Extend)> {
        let opcode = self.func.dfg.opcode(def);
        if opcode == Opcode::Band {
            let [x, mask] = self.args(def);
            let bits = match self.constant(mask)? {
                0xff => 8,
                0xffff => 16,
                0xffff_ffff => 32,
                _ => return None,
            };
            return (self.ty(x).bits() > bits).then(|| (x, extension(bits, false)));
        }
        if !matches!(opcode, Opcode::Uextend | Opcode::Sextend) {
            return None;
        }
        let [x] = self.args(def);
        let signed = opcode == Opcode::Sextend;
        (signed || !self.has_zeros(x)).then(|| (x, extension(self.ty(x).bits(), signed)))
    }

    /// Returns `true` if each use of a shift may do it again: that takes no instruction, and the operand is needed later anyway.
    fn is_repeated_shift(&self, value: Value) -> bool {
        self.small_shift(value, MAX_EXTENDED_SHIFT).is_some_and(|(source, _)| self.uses(source) > 1)
    }

    /// Returns the value that is shifted by a constant, and the immediate with the shift. Right shifts and rotations
    /// are excluded for narrow values, because they would move in undefined bits. Arithmetic has no rotations.
    fn shifted(&self, value: Value, alu: Alu) -> Option<(Value, i32)> {
        let def = self.def(value)?;
        let bits = self.ty(value).bits();
        let full = matches!(bits, 32 | 64);
        let (shift, left) = match self.func.dfg.opcode(def) {
            Opcode::Ishl => (Shift::Lsl, false),
            Opcode::Ushr if full => (Shift::Lsr, false),
            Opcode::Sshr if full => (Shift::Asr, false),
            Opcode::Rotr if full && alu.is_bitwise() => (Shift::Ror, false),
            Opcode::Rotl if full && alu.is_bitwise() => (Shift::Ror, true),
            _ => return None,
        };
        let [x, amount] = self.args(def);
        let amount = self.constant(amount)? as u32 & (bits - 1);
        let amount = if left { (bits - amount) & (bits - 1) } else { amount };
        Some((x, immediates::shifted(shift, amount as u8)))
    }

    /// Returns the only operand of an instruction that can shift it: the value and the immediate.
    pub(super) fn shifted_operand(&self, value: Value, alu: Alu) -> (Value, i32) {
        let shifted = if self.is_single_use(value) { self.shifted(value, alu) } else { None };
        shifted.unwrap_or((value, 0))
    }

    /// Emits an instruction with the operands `def`, if it has one, `x` and `second`.
    pub(super) fn emit_operand2(&mut self, def: Option<VReg>, x: VReg, second: Operand2) {
        let (row, value, imm) = match second {
            Operand2::Immediate(row, imm) => {
                match def {
                    Some(def) => self.emit_imm(row, &[def, x], imm),
                    None => self.emit_imm(row, &[x], imm),
                };
                return;
            }
            Operand2::Changed(row, value, imm) => {
                self.count_tile(tiles::CHANGED_OPERAND);
                (row, value, imm)
            }
            Operand2::Plain(row, value) => (row, value, 0),
        };
        let y = self.use_reg(value);
        match def {
            Some(def) => self.emit_imm(row, &[def, x, y], imm),
            None => self.emit_imm(row, &[x, y], imm),
        };
    }

    /// Emits `x op y` in `bits` bits into `def`, if there is one. The operand that saves more becomes the second one.
    pub(super) fn operate(&mut self, alu: Alu, bits: u32, def: Option<VReg>, [x, y]: [Value; 2]) {
        let swapped = || self.cheap_operand2(alu, bits, x).filter(|_| alu.commutes());
        let (x, second) = match self.cheap_operand2(alu, bits, y) {
            Some(second) => (x, second),
            None => match swapped() {
                Some(second) => (y, second),
                None => (x, Operand2::Plain(alu.rr.of(bits), y)),
            },
        };
        let x = self.use_reg(x);
        self.emit_operand2(def, x, second);
    }
}
