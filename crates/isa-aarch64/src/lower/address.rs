//! Memory operands from address computations: sums, constants, extended and scaled indices, stack slots.
//!
//! Before: `v3 = uextend.i64 v1; v4 = ishl v3, 2; v5 = iadd v0, v4; v6 = load.i32 v5`. After: `ldr w6, [x0, w1, uxtw
//! #2]`.
//!
//! The CPU adds either a constant or an index, and scales an index only by the size of the access. All terms of an
//! address are 64-bit arithmetic modulo 2^64, so folding them never changes the address. A sum that already has a
//! register is used from there. The walk is bounded, so that long chains of sums cost each user a constant amount of
//! time.

use super::cx::{Alu, Cx};
use super::tiles;
use crate::immediates::{self, Extend, Shift, reaches};
use crate::rows;
use kingpost_ir::types::{I32, I64};
use kingpost_ir::{Inst, InstView, Opcode, Value};
use kingpost_mach::lower::slot_place;
use kingpost_mach::{Address, IndexExtend, LowerBackend, LowerError};
use kingpost_regalloc::VReg;

/// Largest number of definitions that an address looks through.
const MAX_STEPS: usize = 8;
/// Number of uses above which a sum probably has a use other than an access with an index.
const FEW_USES: u32 = 3;
/// Largest shift of an index.
const MAX_SHIFT: u64 = 4;

/// An index: a value, widened, then shifted left.
#[derive(Clone, Copy)]
struct Index {
    value: Value,
    extend: IndexExtend,
    shift: u8,
}

/// The terms of an address: `base + index + disp`.
struct AddressExpr {
    base: Value,
    index: Option<Index>,
    disp: i64,
}

impl Cx<'_, '_> {
    /// Returns the memory operand of `bytes` bytes at `addr + offset`, on behalf of `inst`.
    pub(super) fn address(&mut self, addr: Value, offset: i64, bytes: u8, inst: Inst) -> Result<Address, LowerError> {
        if self.ty(addr) != I64 {
            return Err(self.unsupported(inst));
        }
        let terms = self.address_expr(addr, offset, bytes, inst);
        if let (Some(address), None) = (self.fixed_address(&terms), terms.index) {
            self.count_tile(tiles::ADDRESS_FIXED);
            return Ok(address);
        }
        if terms.base != addr {
            self.count_tile(tiles::ADDRESS_SUM);
        }
        let base = self.use_reg(terms.base);
        match terms.index {
            Some(index) if terms.disp == 0 && index.is_scaled_for(bytes) => {
                let Index { value, extend, shift } = index;
                Ok(Address::Index { base, index: self.use_reg(value), shift, extend, disp: 0 })
            }
            Some(index) => {
                let Index { value, extend, shift } = index;
                let (sum, value) = (self.int_temp(64), self.use_reg(value));
                self.emit_sum(sum, [base, value], extend, shift);
                Ok(self.displaced(sum, terms.disp, bytes))
            }
            None => Ok(self.displaced(base, terms.disp, bytes)),
        }
    }

    /// Returns the address `addr + offset` in a register.
    pub(super) fn address_in_register(&mut self, addr: Value, offset: i64, inst: Inst) -> Result<VReg, LowerError> {
        let address = self.address(addr, offset, 1, inst)?;
        if let Address::Base { base, disp: 0 } = address {
            return Ok(base);
        }
        let base = self.int_temp(64);
        self.emit_lea(base, address);
        Ok(base)
    }

    /// Splits a sum into terms where the access saves instructions by it.
    fn address_expr(&self, addr: Value, offset: i64, bytes: u8, inst: Inst) -> AddressExpr {
        let mut terms = AddressExpr { base: addr, index: None, disp: offset };
        self.take_constants(&mut terms.base, &mut terms.disp);
        let Some(sum) = self.def_as(terms.base, Opcode::Iadd).filter(|_| !self.has_reg(terms.base)) else {
            return terms;
        };
        let [mut a, mut b] = self.args(sum);
        let mut disp = terms.disp;
        self.take_constants(&mut a, &mut disp);
        self.take_constants(&mut b, &mut disp);
        // With a displacement the sum needs an instruction of its own. Prefer the inner sum if other instructions use
        // it.
        if disp != 0 && (disp == terms.disp || !self.is_single_use(terms.base)) {
            return terms;
        }
        // The side that saves more instructions becomes the index.
        let (first, second) = (self.index(a), self.index(b));
        let (base, index) = if first.gain(bytes) > second.gain(bytes) { (b, first) } else { (a, second) };
        let is_kept = || !index.is_scaled_for(bytes) || self.is_sum_kept(terms.base, [base, index.value], sum, inst);
        if !self.is_single_use(terms.base) && is_kept() {
            return terms;
        }
        AddressExpr { base, index: Some(index), disp }
    }

    /// Returns `true` if a sum of another block should be computed there and kept in a register. Otherwise both of
    /// its terms are live into this block. No later instruction needs the index, so it would be kept for this access
    /// alone. A sum with many uses is probably needed anyway, and if no later instruction needs the base either, the
    /// sum takes one register instead of two.
    fn is_sum_kept(&self, value: Value, [base, index]: [Value; 2], sum: Inst, inst: Inst) -> bool {
        let [def, here] = [sum, inst].map(|inst| self.func.layout.inst_block(inst));
        def != here && !self.has_reg(index) && (self.uses(value) > FEW_USES || !self.has_reg(base))
    }

    /// Removes constants from a chain of sums and adds them to `disp`.
    fn take_constants(&self, value: &mut Value, disp: &mut i64) {
        for _ in 0..MAX_STEPS {
            if !self.take_constant(value, disp) {
                return;
            }
        }
    }

    /// Returns the value as an index. Looks through its extension and shift unless they have registers.
    fn index(&self, value: Value) -> Index {
        let (inner, shift) = self.small_shift(value, MAX_SHIFT).unwrap_or((value, 0));
        let (source, extend) = self.widened(inner).unwrap_or((inner, IndexExtend::None));
        Index { value: source, extend, shift }
    }

    /// Returns the value that an extension from 32 bits extends, and the kind of extension.
    fn widened(&self, value: Value) -> Option<(Value, IndexExtend)> {
        let extend = match self.opcode_of(value)? {
            Opcode::Uextend => IndexExtend::Zero32,
            Opcode::Sextend => IndexExtend::Sign32,
            _ => return None,
        };
        let [source] = self.args(self.def(value).filter(|_| !self.has_reg(value))?);
        (self.ty(source) == I32).then_some((source, extend))
    }

    /// Emits `def = base + (extended value << shift)`.
    pub(super) fn emit_sum(&mut self, def: VReg, [base, value]: [VReg; 2], extend: IndexExtend, shift: u8) {
        let (row, imm) = match extend {
            IndexExtend::None => (rows::ADD_RRR.of(64), immediates::shifted(Shift::Lsl, shift)),
            IndexExtend::Zero32 => (rows::ADD_RRX.of(64), immediates::extended(Extend::Uxtw, shift)),
            IndexExtend::Sign32 => (rows::ADD_RRX.of(64), immediates::extended(Extend::Sxtw, shift)),
        };
        self.emit_imm(row, &[def, base, value], imm);
    }

    /// Returns the address of `bytes` bytes at `base + disp`. A displacement out of reach is added by a separate
    /// instruction.
    fn displaced(&mut self, base: VReg, disp: i64, bytes: u8) -> Address {
        if reaches(disp, bytes) {
            return Address::Base { base, disp: disp as i32 };
        }
        let (low, high) = (disp & 0xfff, disp & !0xfff);
        if immediates::add_sub(high.unsigned_abs()).is_some() && reaches(low, bytes) && i16::try_from(disp).is_err() {
            let page = self.int_temp(64);
            self.add_constant(page, base, high, 64);
            return Address::Base { base: page, disp: low as i32 };
        }
        let index = self.constant_temp(disp as u64, 64);
        Address::Index { base, index, shift: 0, extend: IndexExtend::None, disp: 0 }
    }

    /// Returns the address of a stack slot, which needs no register.
    fn fixed_address(&mut self, terms: &AddressExpr) -> Option<Address> {
        let def = self.def_as(terms.base, Opcode::StackAddr)?;
        match self.func.dfg.view(def) {
            InstView::StackAddr { slot, offset } => slot_place(self, slot, offset, terms.disp),
            _ => None,
        }
    }

    /// Sets `def` to `x` plus a constant in `bits` bits. Preserves the flags.
    pub(super) fn add_constant(&mut self, def: VReg, x: VReg, constant: i64, bits: u32) {
        let magnitude = constant.unsigned_abs();
        let row = if constant < 0 { Alu::SUB } else { Alu::ADD }.ri.of(bits);
        if let Some(imm) = immediates::add_sub(magnitude) {
            self.emit_imm(row, &[def, x], imm);
        } else if (1 << 16..1 << 24).contains(&magnitude) {
            let page = self.int_temp(bits);
            self.emit_imm(row, &[page, x], (magnitude & !0xfff) as i32);
            self.emit_imm(row, &[def, page], (magnitude & 0xfff) as i32);
        } else {
            let constant = self.constant_temp(constant as u64, bits);
            self.emit(Alu::ADD.rr.of(bits), &[def, x, constant]);
        }
    }
}

impl Index {
    /// Returns `true` if an access of `bytes` bytes can shift its index by this amount.
    fn is_scaled_for(&self, bytes: u8) -> bool {
        self.shift == 0 || 1u8 << self.shift == bytes
    }

    /// Returns the number of instructions that an access of `bytes` bytes saves with this index.
    fn gain(&self, bytes: u8) -> u32 {
        let scaled = self.shift > 0 && self.is_scaled_for(bytes);
        u32::from(self.extend != IndexExtend::None) + 2 * u32::from(scaled) + u32::from(self.shift > 0)
    }
}
