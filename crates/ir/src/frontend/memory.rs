//! Copies, fills and comparisons of constant size. Small ones are loads and stores, larger ones call a routine.
//!
//! 13 bytes: before `memcpy(to, from, 13)`, after two loads of 8 bytes at 0 and 5 and two stores.

use super::FunctionBuilder;
use crate::builder::{ImmediateBuilder, InstBuilder};
use crate::condcodes::IntCC;
use crate::entities::Value;
use crate::memflags::MemFlags;
use crate::signature::CallConv;
use crate::types::{I8, I32, I64, Type};
use smallvec::SmallVec;

/// Maximum number of accesses without a call.
const MAX_ACCESSES: usize = 4;

/// Whether two areas of memory may have bytes in common.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum Overlap {
    /// The areas are apart, or one is the other.
    Never,
    /// The areas may have some bytes in common.
    Possible,
}

impl FunctionBuilder<'_> {
    /// Inserts a copy of `bytes` bytes. The trap code and the alias region of `flags` hold for all accesses of a small
    /// copy; `aligned` means that both addresses are multiples of 8. `conv` is the C calling convention of the target.
    pub fn copy_memory(
        &mut self,
        conv: CallConv,
        to: Value,
        from: Value,
        bytes: u64,
        overlap: Overlap,
        flags: MemFlags,
    ) {
        let Some(accesses) = accesses(bytes) else {
            let bytes = self.ins().iconst(I64, bytes as i64);
            return match overlap {
                Overlap::Never => self.call_memcpy(conv, to, from, bytes),
                Overlap::Possible => self.call_memmove(conv, to, from, bytes),
            };
        };
        // All loads come before all stores, so that overlap does not matter.
        let mut load = |&(offset, ty): &(i32, Type)| self.ins().load(ty, at(flags, offset, ty), from, offset);
        let values: SmallVec<[Value; MAX_ACCESSES]> = accesses.iter().map(&mut load).collect();
        for (value, (offset, ty)) in values.into_iter().zip(accesses) {
            self.ins().store(at(flags, offset, ty), value, to, offset);
        }
    }

    /// Inserts stores of `byte` to `bytes` bytes of memory, or a call for large areas.
    pub fn fill_memory(&mut self, conv: CallConv, to: Value, byte: u8, bytes: u64, flags: MemFlags) {
        let Some(accesses) = accesses(bytes) else {
            let value = self.ins().iconst(I32, byte.into());
            let bytes = self.ins().iconst(I64, bytes as i64);
            return self.call_memset(conv, to, value, bytes);
        };
        for (offset, ty) in accesses {
            let bits = (u64::from(byte) * 0x0101_0101_0101_0101) & (u64::MAX >> (64 - ty.bits()));
            let value = self.ins().iconst(ty, bits as i64);
            self.ins().store(at(flags, offset, ty), value, to, offset);
        }
    }

    /// Inserts a comparison of two areas of `bytes` bytes, and returns an i8 that is 1 if the condition holds. Bytes
    /// are compared in order and without sign. Equality of few bytes, and the order of 1, 2, 4 or 8 bytes, need no
    /// call.
    ///
    /// # Panics
    /// If the condition is signed.
    pub fn compare_memory(
        &mut self,
        conv: CallConv,
        condition: IntCC,
        left: Value,
        right: Value,
        bytes: u64,
        flags: MemFlags,
    ) -> Value {
        assert!(
            !condition.is_signed(),
            "`{condition}` compares with sign, but bytes have no sign: use an unsigned condition"
        );
        let is_equality = matches!(condition, IntCC::Equal | IntCC::NotEqual);
        let accesses = accesses(bytes).filter(|accesses| is_equality || accesses.len() <= 1);
        let Some(accesses) = accesses else {
            let bytes = self.ins().iconst(I64, bytes as i64);
            let order = self.call_memcmp(conv, left, right, bytes);
            return self.ins().icmp_imm(of_order(condition), order, 0);
        };
        let mut difference = None;
        for &(offset, ty) in &accesses {
            let [left, right] = [left, right].map(|side| self.ins().load(ty, at(flags, offset, ty), side, offset));
            if let [_] = accesses[..] {
                let [left, right] =
                    if is_equality { [left, right] } else { [left, right].map(|side| self.first_byte_highest(side)) };
                return self.ins().icmp(condition, left, right);
            }
            let bits = self.ins().bxor(left, right);
            let bits = if ty == I64 { bits } else { self.ins().uextend(I64, bits) };
            difference = Some(difference.map_or(bits, |other| self.ins().bor(other, bits)));
        }
        match difference {
            Some(difference) => self.ins().icmp_imm(condition, difference, 0),
            // No bytes are equal to no bytes.
            None => {
                let zero = self.ins().iconst(I8, 0);
                self.ins().icmp(condition, zero, zero)
            }
        }
    }

    /// Returns a number that has the bytes of a loaded value from the highest to the lowest.
    fn first_byte_highest(&mut self, value: Value) -> Value {
        if self.func.dfg.value_type(value) == I8 { value } else { self.ins().bswap(value) }
    }
}

/// Returns the offsets and types of accesses that cover the bytes; `None` if there would be too many. The last access
/// may overlap with the one before.
fn accesses(bytes: u64) -> Option<SmallVec<[(i32, Type); MAX_ACCESSES]>> {
    if bytes > 8 * MAX_ACCESSES as u64 {
        return None;
    }
    let mut accesses = SmallVec::new();
    let Some(log2) = bytes.checked_ilog2() else { return Some(accesses) };
    let width = 1 << log2.min(3);
    let ty = Type::int(8 * width as u32)?;
    let mut offset = 0;
    while offset + width <= bytes {
        accesses.push((offset as i32, ty));
        offset += width;
    }
    if offset < bytes {
        let rest = (bytes - offset).next_power_of_two();
        accesses.push(((bytes - rest) as i32, Type::int(8 * rest as u32)?));
    }
    Some(accesses)
}

/// Returns the condition of the result of `memcmp` and zero.
fn of_order(condition: IntCC) -> IntCC {
    match condition {
        IntCC::UnsignedLessThan => IntCC::SignedLessThan,
        IntCC::UnsignedLessThanOrEqual => IntCC::SignedLessThanOrEqual,
        IntCC::UnsignedGreaterThan => IntCC::SignedGreaterThan,
        IntCC::UnsignedGreaterThanOrEqual => IntCC::SignedGreaterThanOrEqual,
        condition => condition,
    }
}

/// Returns the flags of an access at an offset: the trap code and the region, and `aligned` where it holds.
fn at(flags: MemFlags, offset: i32, ty: Type) -> MemFlags {
    let plain = MemFlags::new().with_trap_code(flags.trap_code());
    let plain = plain.with_alias_region(flags.alias_region()).unwrap_or(plain);
    if flags.aligned() && offset % ty.bytes() as i32 == 0 { plain.with_aligned() } else { plain }
}
