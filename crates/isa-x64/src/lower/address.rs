//! Memory operands from address computations: sums, constants, small shifts, stack slots and symbols.
//!
//! Before: `v3 = iconst.i64 2; v4 = ishl v1, v3; v5 = iadd v0, v4; v6 = load.i32 v5+8`. After: `mov32_rm v6, [v0 + v1*4
//! + 8]`.
//!
//! All terms of an address are 64-bit arithmetic modulo 2^64, so folding them never changes the address. A sum that
//! already has a register is used from there. The walk is bounded, so that long chains of sums cost each user a
//! constant amount of time.

use super::cx::Cx;
use super::tiles;
use crate::rows;
use kingpost_ir::types::I64;
use kingpost_ir::{Inst, InstView, Opcode, Value};
use kingpost_mach::lower::{near_symbol, slot_place};
use kingpost_mach::{Address, IndexExtend, LowerBackend, LowerError};

/// Largest number of definitions that an address looks through.
const MAX_STEPS: usize = 8;
/// Largest shift of an index.
pub(super) const MAX_SHIFT: u64 = 3;

/// The terms of an address: `base + (index << shift) + disp`.
pub(super) struct AddressExpr {
    pub(super) base: Value,
    pub(super) index: Option<(Value, u8)>,
    pub(super) disp: i64,
}

impl Cx<'_, '_> {
    /// Returns the memory operand for the address `addr + offset`, on behalf of `inst`.
    pub(super) fn address(&mut self, addr: Value, offset: i64, inst: Inst) -> Result<Address, LowerError> {
        if self.ty(addr) != I64 {
            return Err(self.unsupported(inst));
        }
        let mut terms = self.address_expr(addr, offset);
        if let Some((index, 0)) = &mut terms.index
            && self.opcode_of(*index) == Some(Opcode::StackAddr)
        {
            std::mem::swap(index, &mut terms.base);
        }
        match (self.fixed_address(&terms), terms.index) {
            (Some(address), None) => {
                self.count_tile(tiles::ADDRESS_FIXED);
                return Ok(address);
            }
            (Some(Address::Slot(offset)), Some((index, shift))) => {
                self.count_tile(tiles::ADDRESS_SLOT);
                return Ok(Address::SlotIndex { offset, index: self.use_reg(index), shift });
            }
            _ => {}
        }
        if terms.base != addr {
            self.count_tile(tiles::ADDRESS_SUM);
        }
        Ok(self.register_address(&terms))
    }

    /// Splits a sum into terms. Removes constants from both sides.
    pub(super) fn address_expr(&self, addr: Value, offset: i64) -> AddressExpr {
        let mut terms = AddressExpr { base: addr, index: None, disp: offset };
        for _ in 0..MAX_STEPS {
            if self.take_constant(&mut terms.base, &mut terms.disp) {
                continue;
            }
            let Some(sum) = self.def_as(terms.base, Opcode::Iadd).filter(|_| terms.index.is_none()) else { break };
            if self.has_reg(terms.base) {
                break;
            }
            let [a, b] = self.args(sum);
            // The side that is a shift becomes the index.
            let (base, index) = if self.small_shift(a, MAX_SHIFT).is_some() { (b, a) } else { (a, b) };
            terms.base = base;
            terms.index = Some(self.small_shift(index, MAX_SHIFT).unwrap_or((index, 0)));
        }
        if let Some((index, shift)) = &mut terms.index {
            for _ in 0..MAX_STEPS {
                let (mut rest, mut constant) = (*index, 0);
                let is_sum = self.take_constant(&mut rest, &mut constant);
                let disp = terms.disp.wrapping_add(constant << *shift);
                if !is_sum || i32::try_from(disp).is_err() {
                    break;
                }
                (*index, terms.disp) = (rest, disp);
            }
        }
        terms
    }

    /// Returns the address of a stack slot or symbol, which needs no register.
    fn fixed_address(&mut self, terms: &AddressExpr) -> Option<Address> {
        if !matches!(self.opcode_of(terms.base), Some(Opcode::StackAddr | Opcode::SymbolValue)) {
            return None;
        }
        match self.func.dfg.view(self.def(terms.base)?) {
            InstView::StackAddr { slot, offset } => slot_place(self, slot, offset, terms.disp),
            InstView::UnaryGlobalValue { global } => near_symbol(self, global, terms.disp).map(Address::Symbol),
            _ => None,
        }
    }

    /// Returns the address of `terms` over registers.
    pub(super) fn register_address(&mut self, terms: &AddressExpr) -> Address {
        let mut base = self.use_reg(terms.base);
        let disp = match i32::try_from(terms.disp) {
            Ok(disp) => disp,
            Err(_) => {
                let far = self.constant_temp(terms.disp as u64, 64);
                let sum = self.int_temp(64);
                self.emit(rows::ADD_RR.of(64), &[sum, base, far]);
                base = sum;
                0
            }
        };
        match terms.index {
            None => Address::Base { base, disp },
            Some((index, shift)) => {
                let index = self.use_reg(index);
                Address::Index { base, index, shift, extend: IndexExtend::None, disp }
            }
        }
    }
}
