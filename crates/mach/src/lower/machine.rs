//! Interface of a machine to the library of lowering functions in this folder: names of rows, facts, emitters.
//!
//! The walks over parameters, arguments, results, globals, memory and constants are written once, in this folder,
//! over a context that implements [`LowerBackend`]: the function being lowered together with the instruction set's own
//! settings. They are generic and not virtual, so each instruction set gets its own compiled copy.
//!
//! Unless stated otherwise a method may change the flags: a reader of the flags is emitted immediately after their
//! definition.

use super::rows::{CallRows, CommonRows};
use super::{Address, LowerCtx};
use crate::error::LowerError;
use crate::inst::MInst;
use crate::row::RowId;
use kingpost_ir::libcall::LibCall;
use kingpost_ir::{Inst, Value};
use kingpost_regalloc::{Block, Clobbers, PReg, PRegSet, RegClass, VReg};
use std::ops::DerefMut;

/// A function being lowered for a machine, and the parts of lowering that depend on the machine.
pub trait LowerBackend<'f>: DerefMut<Target = LowerCtx<'f>> + Sized {
    /// Rows of the machine by their common names.
    const ROWS: CommonRows;
    /// Registers of the payloads of an exception.
    const PAYLOADS: [PReg; 2];
    /// Registers clobbered by calls of library routines.
    const LIBCALL_CLOBBERS: Clobbers;
    /// Routine that computes the address of a thread-local symbol, if it has a name.
    const TLS_ROUTINE: Option<LibCall>;
    /// Registers clobbered by a TLS address computation, excluding its result.
    const TLS_CLOBBERS: PRegSet;
    /// Register of a payload that comes from another stack.
    const SWITCH_RESULT: PRegSet;
    /// Allocatable registers that probing the stack writes before a function's entry.
    const PROBE_CLOBBERS: PRegSet;
    /// Further ones that the call of a routine that probes writes.
    const PROBE_ROUTINE_CLOBBERS: PRegSet;
    /// Whether a scratch register exists at the entry even if callers rely on all allocatable registers.
    const HAS_ENTRY_SCRATCH: bool;
    /// Least number of bytes that a float register is loaded from or stored to.
    const LEAST_FLOAT_BYTES: u8;
    /// Whether a conditional move takes its first use if the condition holds; otherwise it takes the second one.
    const SELECTS_FIRST: bool;
    /// Whether an address may have an index and a displacement.
    const INDEXES_WITH_DISPLACEMENT: bool;

    /// Returns the rows of tail calls. The immediate is the number of bytes of stack arguments that the callee pops.
    fn tail_call_rows(&self) -> CallRows;

    /// Returns the memory operand of `bytes` bytes at `addr + offset`, on behalf of `inst`.
    ///
    /// # Errors
    /// If the type of the address is not `i64`.
    fn memory_operand(&mut self, addr: Value, offset: i64, bytes: u8, inst: Inst) -> Result<Address, LowerError>;

    /// Computes `address` into `def`.
    fn emit_lea(&mut self, def: VReg, address: Address);

    /// Sets `def` to `base + offset`.
    fn add_offset(&mut self, def: VReg, base: VReg, offset: i64);

    /// Sets `def` to `source` with the bits below `align`, a power of two up to 2^30, cleared.
    fn align_down(&mut self, def: VReg, source: VReg, align: u32);

    /// Returns the row that loads `bytes` bytes, a power of two, into a register. Narrow integers are zero-extended.
    fn load_row(class: RegClass, bytes: u8) -> RowId;

    /// Returns the row that stores the low `bytes` bytes of a register.
    fn store_row(class: RegClass, bytes: u8) -> RowId;

    /// Returns the row that loads an integer of `from` bits, at most 32, and widens it to `to` bits.
    fn widening_load_row(from: u32, to: u32, signed: bool) -> RowId;

    /// Puts the low `bits` bits of a constant into `def`, zero-extended. Preserves the flags.
    fn load_constant(&mut self, def: VReg, value: u64, bits: u32);

    /// Puts the float of 32 or 64 bits into `def`. Preserves the flags.
    fn load_float(&mut self, def: VReg, value: u64, bits: u32);

    /// Puts 128 bits into `def`. Preserves the flags.
    fn load_vector(&mut self, def: VReg, value: u128) {
        if value == 0 {
            self.emit(Self::ROWS.zero128, &[def]);
        } else {
            let literal = self.literal(&value.to_le_bytes());
            self.emit_mem(Self::ROWS.literal128, &[def], literal);
        }
    }

    /// Sets `def` to `source`, an integer of `bits` bits, with its bytes reversed.
    fn swap_bytes(&mut self, def: VReg, source: VReg, bits: u32);

    /// Sets `def` to the low `bits` bits of `source`, zero-extended to 64 bits.
    fn zero_extend(&mut self, def: VReg, source: VReg, bits: u32);

    /// Sets `def` to the low `from` bits of `source`, sign-extended to `to` bits.
    fn sign_extend(&mut self, def: VReg, source: VReg, from: u32, to: u32);

    /// Returns the row that copies `bits` bits, at most 128, between float registers.
    fn float_move_row(bits: u32) -> RowId;

    /// Joins two integer registers into a float register of 128 bits.
    fn join_halves(&mut self, def: VReg, low: VReg, high: VReg);

    /// Returns the registers of the arguments of `memcpy`: target, source, number of bytes. Returns also how many bytes
    /// of its caller's stack arguments it may write.
    fn memcpy_args(&self) -> ([PReg; 3], u32);

    /// Sets `def` to the low `bits` bits, at most 64, of a float register.
    fn float_bits(&mut self, def: VReg, source: VReg, bits: u32);

    /// Splits a float register of 128 bits into two integer registers.
    fn split_halves(&mut self, low: VReg, high: VReg, source: VReg);

    /// Branches to `then` if `index`, an integer of 32 bits, is below `limit`, else to `other`.
    fn branch_if_below(&mut self, index: VReg, limit: u32, then: Block, other: Block);

    /// Jumps to entry `index` of a table of `len` entries, followed by a default. Jumps to the default if `index` is
    /// not below `len`.
    ///
    /// The index is limited without a branch, so that the CPU cannot speculate past the table.
    fn jump_by_table(&mut self, index: VReg, table: u32, len: u32);

    /// Returns the memory operand of an atomic access to 16 bytes.
    ///
    /// # Errors
    /// If there are no instructions for the access, or the type of the address is not `i64`.
    fn pair_address(&mut self, addr: Value, inst: Inst) -> Result<Address, LowerError>;

    /// Emits an atomic load of 16 bytes.
    fn load_pair(&mut self, defs: [VReg; 2], address: Address) -> &mut MInst;

    /// Emits an atomic compare and exchange of 16 bytes.
    fn compare_exchange_pair(
        &mut self,
        old: [VReg; 2],
        expected: [VReg; 2],
        new: [VReg; 2],
        address: Address,
    ) -> &mut MInst;

    /// Sets `defs` to the negation of `source`, an integer of 128 bits.
    fn negate_pair(&mut self, defs: [VReg; 2], source: [VReg; 2]);

    /// Sets `low` and `high` to the unsigned product of two integers of 64 bits. The low half is computed only if it
    /// has a register.
    fn wide_product(&mut self, low: Option<VReg>, high: VReg, x: VReg, y: VReg);

    /// Traps if the stack pointer, after the frame is made, is below `limit`.
    fn check_stack(&mut self, limit: VReg);

    /// Moves the stack pointer down by the bytes that a callee popped.
    fn readjust_sp_after_pop(&mut self, bytes: u32);

    /// Returns a narrow integer sign-extended to 32 bits.
    fn use_sign_extended(&mut self, value: Value) -> VReg {
        use_widened(self, value, true)
    }

    /// Returns a narrow integer zero-extended to 32 bits.
    fn use_zero_extended(&mut self, value: Value) -> VReg {
        use_widened(self, value, false)
    }

    /// Returns a narrow integer extended to 32 bits, sign-extended if `signed`.
    fn use_extended(&mut self, value: Value, signed: bool) -> VReg {
        if signed { self.use_sign_extended(value) } else { self.use_zero_extended(value) }
    }

    /// Returns a constant in a new register. Preserves the flags.
    fn constant_temp(&mut self, value: u64, bits: u32) -> VReg {
        let temp = self.int_temp(bits);
        self.load_constant(temp, value, bits);
        temp
    }

    /// Returns an integer of `bits` bits with its bytes reversed, in a new register.
    fn bytes_reversed(&mut self, source: VReg, bits: u32) -> VReg {
        let reversed = self.int_temp(bits);
        self.swap_bytes(reversed, source, bits);
        reversed
    }

    /// Returns the address plus `bytes`.
    fn offset_address(&mut self, address: Address, bytes: i32) -> Address {
        match address {
            Address::Base { base, disp } if disp.checked_add(bytes).is_some() => {
                Address::Base { base, disp: disp + bytes }
            }
            Address::Index { base, index, shift, extend, disp }
                if Self::INDEXES_WITH_DISPLACEMENT && disp.checked_add(bytes).is_some() =>
            {
                Address::Index { base, index, shift, extend, disp: disp + bytes }
            }
            Address::Slot(offset) => Address::Slot(offset + bytes as u32),
            Address::SlotIndex { offset, index, shift } => {
                Address::SlotIndex { offset: offset + bytes as u32, index, shift }
            }
            Address::Incoming(offset) => Address::Incoming(offset + bytes),
            Address::Outgoing(offset) => Address::Outgoing(offset + bytes as u32),
            Address::Base { .. } | Address::Index { .. } | Address::Symbol(_) | Address::Table(_) => {
                let base = self.int_temp(64);
                self.emit_lea(base, address);
                Address::Base { base, disp: bytes }
            }
        }
    }
}

/// Returns the register of `value`, extended to 32 bits if it has fewer.
pub fn use_widened<'f>(cx: &mut impl LowerBackend<'f>, value: Value, signed: bool) -> VReg {
    let (source, bits) = (cx.use_reg(value), cx.ty(value).bits());
    if bits >= 32 {
        return source;
    }
    let wide = cx.int_temp(32);
    if signed {
        cx.sign_extend(wide, source, bits, 32);
    } else {
        cx.zero_extend(wide, source, bits);
    }
    wide
}
