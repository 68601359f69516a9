//! Expansion of `bitcast` in big-endian byte order: the value is stored in memory in that order and read as another
//! type.
//!
//! Before: `v1 = bitcast.i64x2 big v0`, with `v0` an i8x16.
//! After: `v2 = bitcast.i128 v0`, `v3, v4 = isplit v2`, `v5 = bswap v3`, `v6 = bswap v4`, `v7 = iconcat v5, v6`,
//! `v8 = bitcast.i64x2 v7`; `v1` is an alias of `v8`.
//!
//! In registers, byte *i* of lanes of *n* bytes each is byte *i* xor (*n* - 1) of such memory. A cast from lanes of
//! *m* bytes to lanes of *n* bytes therefore moves byte *i* to byte *i* xor (*m* - 1) xor (*n* - 1). Each set bit of
//! that mask swaps neighbors of its size.

use super::wide::Expander;
use kingpost_ir::builder::InstBuilder;
use kingpost_ir::memflags::Endianness;
use kingpost_ir::types::{I64, I128};
use kingpost_ir::{InstData, MemFlags, Opcode, Type, Value};

impl Expander<'_> {
    /// Returns `x` as a value of type `to`, if there are integers of that size.
    pub(super) fn bitcast_big(&mut self, x: Value, to: Type) -> Option<Value> {
        let from = self.ty(x);
        let int = Type::int(to.bits()).filter(|_| !from.is_dynamic_vector() && !to.is_dynamic_vector())?;
        let mask = |ty: Type| ty.lane_type().bytes() - 1;
        let bits = self.reinterpreted(x, int);
        let bits = self.swapped(bits, mask(from) ^ mask(to));
        Some(self.reinterpreted(bits, to))
    }

    /// Returns the contents of the register as a value of another type.
    fn reinterpreted(&mut self, x: Value, to: Type) -> Value {
        if self.ty(x) == to {
            return x;
        }
        let flags = MemFlags::new().with_endianness(Endianness::Little);
        self.ins().insert_with_result(InstData::load_no_offset(Opcode::Bitcast, to, flags, x), to)
    }

    /// Returns the integer `x` with each byte *i* moved to byte *i* xor `mask`.
    fn swapped(&mut self, x: Value, mask: u32) -> Value {
        let ty = self.ty(x);
        if ty == I128 {
            let (low, high) = self.ins().isplit(x);
            let (low, high) = (self.swapped(low, mask & 7), self.swapped(high, mask & 7));
            return if mask & 8 == 0 { self.ins().iconcat(low, high) } else { self.ins().iconcat(high, low) };
        }
        let all = ty.bytes() - 1;
        let by_one = |mask: u32| [4, 2, 1].into_iter().filter(move |size| mask & size != 0);
        if by_one(mask ^ all).count() < by_one(mask).count() {
            let reversed = self.ins().bswap(x);
            return self.swapped(reversed, mask ^ all);
        }
        by_one(mask).fold(x, |x, size| self.neighbours_swapped(x, size))
    }

    /// Returns the integer `x` with each two adjacent groups of `size` bytes swapped.
    fn neighbours_swapped(&mut self, x: Value, size: u32) -> Value {
        let (ty, bits) = (self.ty(x), 8 * size);
        let amount = self.int(I64, bits.into());
        if 2 * bits == ty.bits() {
            return self.ins().rotl(x, amount);
        }
        // Ones in the lower of two neighbors.
        let lower = ty.lane_mask() / ((1 << bits) + 1);
        let lower = self.int(ty, lower);
        let (up, down) = (self.ins().band(x, lower), self.ins().ushr(x, amount));
        let (up, down) = (self.ins().ishl(up, amount), self.ins().band(down, lower));
        self.ins().bor(up, down)
    }
}
