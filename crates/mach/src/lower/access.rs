//! Rows and byte order of accesses to one register.

use super::machine::LowerBackend;
use super::types::is_float_reg;
use crate::row::RowId;
use kingpost_ir::memflags::Endianness;
use kingpost_ir::{MemFlags, Type};
use kingpost_regalloc::RegClass;

/// Returns `true` if the access is in the machine's byte order. All supported machines are little-endian.
pub fn is_little(flags: MemFlags) -> bool {
    flags.endianness() != Some(Endianness::Big)
}

/// Returns the class and the number of bytes of an access to a value of this type in one register, or `None` if there
/// is no code for it.
fn access<'f, M: LowerBackend<'f>>(ty: Type) -> Option<(RegClass, u8)> {
    let bytes = ty.bytes() as u8;
    let class = match ty.bits() {
        8..=64 if ty.is_int() => RegClass::Int,
        _ if is_float_reg(ty) && bytes >= M::LEAST_FLOAT_BYTES => RegClass::Float,
        _ => return None,
    };
    Some((class, bytes))
}

/// Returns the class and the number of bytes of an access to a stack argument of this type. If float registers are
/// not stored with less than 32 bits, each place has at least 8 bytes.
fn place_access<'f, M: LowerBackend<'f>>(ty: Type) -> Option<(RegClass, u8)> {
    let narrow = is_float_reg(ty) && ty.bytes() < u32::from(M::LEAST_FLOAT_BYTES);
    if narrow { Some((RegClass::Float, M::LEAST_FLOAT_BYTES)) } else { access::<M>(ty) }
}

/// Returns the row that loads a value of this type into one register.
pub(super) fn load_row<'f, M: LowerBackend<'f>>(ty: Type) -> Option<RowId> {
    access::<M>(ty).map(|(class, bytes)| M::load_row(class, bytes))
}

/// Returns the row that stores one register of this type.
pub(super) fn store_row<'f, M: LowerBackend<'f>>(ty: Type) -> Option<RowId> {
    access::<M>(ty).map(|(class, bytes)| M::store_row(class, bytes))
}

/// Returns the row that loads an argument of this type from its place on the stack.
pub(super) fn load_place_row<'f, M: LowerBackend<'f>>(ty: Type) -> Option<RowId> {
    place_access::<M>(ty).map(|(class, bytes)| M::load_row(class, bytes))
}

/// Returns the row that stores an argument of this type to its place on the stack.
pub(super) fn store_place_row<'f, M: LowerBackend<'f>>(ty: Type) -> Option<RowId> {
    place_access::<M>(ty).map(|(class, bytes)| M::store_row(class, bytes))
}
