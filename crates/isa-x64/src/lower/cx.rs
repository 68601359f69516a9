//! What lowering functions work on, and how rows are found by operand width.

use crate::isa::X64;
use crate::rows;
use kingpost_ir::types::I32;
use kingpost_ir::{Inst, InstView, Opcode, TrapCode, Value};
use kingpost_mach::lower::is_little;
use kingpost_mach::{Address, Lower, LowerError, MInst, RowId};
use kingpost_regalloc::VReg;
use std::ops::{Deref, DerefMut};

/// A function being lowered for an instruction set with settings.
pub(crate) struct Cx<'a, 'f> {
    pub(crate) lower: &'a mut Lower<'f>,
    pub(crate) isa: &'a X64,
}

impl<'f> Deref for Cx<'_, 'f> {
    type Target = Lower<'f>;
    fn deref(&self) -> &Lower<'f> {
        self.lower
    }
}

impl<'f> DerefMut for Cx<'_, 'f> {
    fn deref_mut(&mut self) -> &mut Lower<'f> {
        self.lower
    }
}

/// The row for `bits` (8 to 64) in a family that lists `forms` rows for each width, 8 bits first.
pub(super) fn by_width(first: RowId, bits: u32, forms: u16, form: u16) -> RowId {
    debug_assert!(matches!(bits, 8 | 16 | 32 | 64), "no row of {bits} bits");
    RowId(first.0 + (bits.trailing_zeros() as u16 - 3) * forms + form)
}

/// A two-operand integer operation in all widths.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Alu(RowId);

impl Alu {
    pub(super) const ADD: Alu = Alu(rows::ADD8_RR);
    pub(super) const OR: Alu = Alu(rows::OR8_RR);
    pub(super) const ADC: Alu = Alu(rows::ADC8_RR);
    pub(super) const SBB: Alu = Alu(rows::SBB8_RR);
    pub(super) const AND: Alu = Alu(rows::AND8_RR);
    pub(super) const SUB: Alu = Alu(rows::SUB8_RR);
    pub(super) const XOR: Alu = Alu(rows::XOR8_RR);
    pub(super) const CMP: Alu = Alu(rows::CMP8_RR);

    pub(super) fn rr(self, bits: u32) -> RowId {
        by_width(self.0, bits, 5, 0)
    }

    pub(super) fn rm(self, bits: u32) -> RowId {
        by_width(self.0, bits, 5, 1)
    }

    pub(super) fn mr(self, bits: u32) -> RowId {
        by_width(self.0, bits, 5, 2)
    }

    pub(super) fn ri(self, bits: u32) -> RowId {
        by_width(self.0, bits, 5, 3)
    }

    pub(super) fn mi(self, bits: u32) -> RowId {
        by_width(self.0, bits, 5, 4)
    }

    pub(super) fn commutes(self) -> bool {
        self != Alu::SUB
    }
}

/// `test`.
pub(super) fn test_rr(bits: u32) -> RowId {
    by_width(rows::TEST8_RR, bits, 4, 0)
}

/// `test` with an immediate.
pub(super) fn test_ri(bits: u32) -> RowId {
    by_width(rows::TEST8_RR, bits, 4, 2)
}

/// `neg`.
pub(super) fn neg(bits: u32) -> RowId {
    by_width(rows::NEG8_R, bits, 2, 0)
}

/// `not`.
pub(super) fn not(bits: u32) -> RowId {
    by_width(rows::NOT8_R, bits, 2, 0)
}

/// A shift or rotation in all widths.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Shift(RowId);

impl Shift {
    pub(super) const ROL: Shift = Shift(rows::ROL8_RC);
    pub(super) const ROR: Shift = Shift(rows::ROR8_RC);
    pub(super) const SHL: Shift = Shift(rows::SHL8_RC);
    pub(super) const SHR: Shift = Shift(rows::SHR8_RC);
    pub(super) const SAR: Shift = Shift(rows::SAR8_RC);

    /// By the count in `cl`.
    pub(super) fn rc(self, bits: u32) -> RowId {
        by_width(self.0, bits, 4, 0)
    }

    /// By a constant.
    pub(super) fn ri(self, bits: u32) -> RowId {
        by_width(self.0, bits, 4, 2)
    }
}

/// A load that its user does itself.
#[derive(Clone, Copy)]
pub(super) struct Folded {
    pub(super) address: Address,
    pub(super) trap: Option<TrapCode>,
}

impl Cx<'_, '_> {
    /// The constant as an immediate of 32 bits that is sign-extended.
    pub(super) fn imm32(&self, value: Value) -> Option<i32> {
        if self.ty(value).bits() > 64 {
            return None;
        }
        i32::try_from(self.constant_signed(value)?).ok()
    }

    /// Does `user` do the load of `bits` bits that defines `value`, if there is one? Then this is its memory.
    ///
    /// `user` is the only user of the value, or lowers the only one along with itself.
    pub(super) fn fold_load(&mut self, value: Value, bits: u32, user: Inst) -> Result<Option<Folded>, LowerError> {
        let Some(load) = self.sinkable_load(value, user) else { return Ok(None) };
        let InstView::Load { flags, addr, offset } = self.func.dfg.view(load) else { return Ok(None) };
        let fits = self.func.dfg.opcode(load) == Opcode::Load && self.ty(value).bits() == bits;
        if !fits || !is_little(flags) {
            return Ok(None);
        }
        self.mark_sunk(load);
        let address = self.address(addr, i64::from(offset), load)?;
        Ok(Some(Folded { address, trap: flags.trap_code() }))
    }

    /// Emits `row` with a folded load as its memory operand.
    pub(super) fn emit_folded(&mut self, row: RowId, vregs: &[VReg], load: Folded) -> &mut MInst {
        let inst = self.lower.emit_mem(row, vregs, load.address);
        inst.set_trap(load.trap);
        inst
    }

    /// `value` masked by `mask`, in 32 bits.
    pub(super) fn masked(&mut self, value: VReg, mask: i32) -> VReg {
        let masked = self.int_temp(I32.bits());
        self.emit_imm(rows::AND32_RI, &[masked, value], mask);
        masked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_family_follow_each_other() {
        let name = |row: RowId| rows::ROWS[usize::from(row.0)].name;
        let families = [
            (Alu::ADD, "add"),
            (Alu::OR, "or"),
            (Alu::ADC, "adc"),
            (Alu::SBB, "sbb"),
            (Alu::AND, "and"),
            (Alu::SUB, "sub"),
            (Alu::XOR, "xor"),
            (Alu::CMP, "cmp"),
        ];
        for bits in [8, 16, 32, 64] {
            for (family, mnemonic) in families {
                assert_eq!(name(family.rr(bits)), format!("{mnemonic}{bits}_rr"));
                assert_eq!(name(family.rm(bits)), format!("{mnemonic}{bits}_rm"));
                assert_eq!(name(family.mr(bits)), format!("{mnemonic}{bits}_mr"));
                assert_eq!(name(family.ri(bits)), format!("{mnemonic}{bits}_ri"));
                assert_eq!(name(family.mi(bits)), format!("{mnemonic}{bits}_mi"));
            }
            for (family, mnemonic) in [
                (Shift::ROL, "rol"),
                (Shift::ROR, "ror"),
                (Shift::SHL, "shl"),
                (Shift::SHR, "shr"),
                (Shift::SAR, "sar"),
            ] {
                assert_eq!(name(family.rc(bits)), format!("{mnemonic}{bits}_rc"));
                assert_eq!(name(family.ri(bits)), format!("{mnemonic}{bits}_ri"));
            }
            assert_eq!(name(test_rr(bits)), format!("test{bits}_rr"));
            assert_eq!(name(test_ri(bits)), format!("test{bits}_ri"));
            assert_eq!(name(neg(bits)), format!("neg{bits}_r"));
            assert_eq!(name(not(bits)), format!("not{bits}_r"));
        }
    }
}
