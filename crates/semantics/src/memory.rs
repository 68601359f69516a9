//! Accesses to memory: their addresses, the bits that they move, and the relation of these bits to the value.
//!
//! Two accesses with equal flags are equal if they have equal addresses, and move equal bits in lanes of equal
//! size. They then trap alike, read equal values, or leave equal bytes in memory, in either order of the bytes of
//! each lane. Therefore neither memory nor the byte order appears in a term.

use kingpost_ir::{Opcode, Type};
use kingpost_smt::{Term, Terms};

use crate::outcome::Operand;

/// Returns the number of bits in memory that a load or store with an offset accesses; `None` for other opcodes. `ty` is
/// the type of the value.
pub fn access_bits(opcode: Opcode, ty: Type) -> Option<u32> {
    Some(match opcode {
        Opcode::Load | Opcode::Store => ty.bits(),
        Opcode::Uload8 | Opcode::Sload8 | Opcode::Istore8 => 8,
        Opcode::Uload16 | Opcode::Sload16 | Opcode::Istore16 => 16,
        Opcode::Uload32 | Opcode::Sload32 | Opcode::Istore32 => 32,
        _ => return None,
    })
}

/// Returns the width of the lanes in memory, in bits; big-endian accesses swap the bytes of each lane. `ty` is the type
/// of the value.
pub fn lane_bits(opcode: Opcode, ty: Type) -> Option<u32> {
    match opcode {
        Opcode::Load | Opcode::Store => Some(ty.lane_bits()),
        _ => access_bits(opcode, ty),
    }
}

/// Returns the address at an offset from a base.
pub fn address(terms: &mut Terms, base: Term, offset: Term) -> Term {
    terms.add(base, offset)
}

/// Returns the bits that a store leaves in memory.
pub fn stored(terms: &mut Terms, opcode: Opcode, value: Operand) -> Option<Term> {
    let bits = access_bits(opcode, value.ty)?;
    Some(terms.extract(value.bits, 0, bits))
}

/// Returns the result of a load, of type `ty`, if memory holds these bits.
pub fn loaded(terms: &mut Terms, opcode: Opcode, ty: Type, bits: Term) -> Option<Term> {
    Some(match opcode {
        Opcode::Load => bits,
        Opcode::Uload8 | Opcode::Uload16 | Opcode::Uload32 => terms.zero_extend(bits, ty.bits()),
        Opcode::Sload8 | Opcode::Sload16 | Opcode::Sload32 => terms.sign_extend(bits, ty.bits()),
        _ => return None,
    })
}
