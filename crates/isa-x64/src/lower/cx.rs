//! Context of lowering functions, and rows by operand width.

use super::tiles;
use crate::rows;
pub(super) use crate::rows::{Alu, Shift};
use crate::x64::X64;
use kingpost_ir::types::I32;
use kingpost_ir::{Inst, InstView, MemFlags, Opcode, TrapCode, Value};
use kingpost_mach::lower::is_little;
use kingpost_mach::{Address, LowerCtx, LowerError, MInst, RowId};
use kingpost_regalloc::VReg;
use std::ops::{Deref, DerefMut};

/// A function being lowered for an instruction set with settings.
pub(crate) struct Cx<'a, 'f> {
    pub(crate) lower: &'a mut LowerCtx<'f>,
    pub(crate) isa: &'a X64,
}

impl<'f> Deref for Cx<'_, 'f> {
    type Target = LowerCtx<'f>;
    fn deref(&self) -> &LowerCtx<'f> {
        self.lower
    }
}

impl<'f> DerefMut for Cx<'_, 'f> {
    fn deref_mut(&mut self) -> &mut LowerCtx<'f> {
        self.lower
    }
}

/// A load that its user performs as a memory operand.
#[derive(Clone, Copy)]
pub(super) struct Folded {
    pub(super) address: Address,
    pub(super) trap: Option<TrapCode>,
}

impl Cx<'_, '_> {
    /// Returns the constant as an immediate of 32 bits that is sign-extended.
    pub(super) fn imm32(&self, value: Value) -> Option<i32> {
        i32::try_from(self.constant_signed(value)?).ok()
    }

    /// Returns `true` if an instruction may have memory of `bits` bits as an operand. 16 bytes must be aligned unless
    /// the CPU has AVX.
    pub(super) fn is_operand(&self, flags: MemFlags, bits: u32) -> bool {
        bits < 128 || flags.aligned() || self.isa.flags.has_avx
    }

    /// Returns the memory operand of the load of `bits` bits that defines `value`, if `user` may perform it.
    ///
    /// `user` must be the only user of the value, or must lower the only user together with itself.
    #[inline(always)]
    pub(super) fn fold_load(&mut self, value: Value, bits: u32, user: Inst) -> Result<Option<Folded>, LowerError> {
        match self.sinkable_load(value, user) {
            Some(load) => self.fold_access(load, value, bits),
            None => Ok(None),
        }
    }

    #[inline(never)]
    fn fold_access(&mut self, load: Inst, value: Value, bits: u32) -> Result<Option<Folded>, LowerError> {
        let InstView::Load { flags, addr, offset } = self.func.dfg.view(load) else { return Ok(None) };
        let fits = self.func.dfg.opcode(load) == Opcode::Load && self.ty(value).bits() == bits;
        if !fits || !self.is_operand(flags, bits) || !is_little(flags) {
            return Ok(None);
        }
        self.mark_sunk(load);
        self.count_tile(tiles::FOLDED_LOAD);
        let address = self.address(addr, i64::from(offset), load)?;
        Ok(Some(Folded { address, trap: flags.trap_code() }))
    }

    /// Emits `row` with a folded load as its memory operand.
    pub(super) fn emit_folded(&mut self, row: RowId, vregs: &[VReg], load: Folded) -> &mut MInst {
        let inst = self.lower.emit_mem(row, vregs, load.address);
        inst.set_trap(load.trap);
        inst
    }

    /// Returns `value` masked by `mask`, in 32 bits.
    pub(super) fn masked(&mut self, value: VReg, mask: i32) -> VReg {
        let masked = self.int_temp(I32.bits());
        self.emit_imm(rows::AND_RI.of(32), &[masked, value], mask);
        masked
    }
}
