//! Store-to-load forwarding: computes the result of a load from the value that a store has written to its address,
//! if the load reads no more bytes than the store wrote.
//!
//! ```text
//! store little v0, v1          v0: i64
//! v2 = sload8.i32 little v1    v3 = ireduce.i8 v0
//!                              v2 = sextend.i32 v3
//! ```
//!
//! Part of `memory.rs`. `tests/store_to_load_forwarding.rs` proves it for all accesses.

use kingpost_ir::{Opcode, Type};

/// Steps that compute the result of a load from the stored value. Each step is optional.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Conversions {
    /// The type to which the value is reduced.
    pub reduced: Option<Type>,
    /// Extension of the reduced value, and the type of the result.
    pub extended: Option<(Opcode, Type)>,
}

impl Conversions {
    /// Returns the steps from a value of type `stored` to the result of type `loaded`, both in little-endian byte
    /// order. `None` if the load reads bytes that the store has not written, or if one of the accesses is not of
    /// integers.
    pub fn between(store: Opcode, stored: Type, load: Opcode, loaded: Type) -> Option<Conversions> {
        let (written, read) = (in_memory(store, stored)?, in_memory(load, loaded)?);
        if read.bits() > written.bits() {
            return None;
        }
        let extension = match load {
            Opcode::Uload8 | Opcode::Uload16 | Opcode::Uload32 => Some(Opcode::Uextend),
            Opcode::Sload8 | Opcode::Sload16 | Opcode::Sload32 => Some(Opcode::Sextend),
            _ => None,
        };
        Some(Conversions {
            reduced: (read != stored).then_some(read),
            extended: extension.map(|extension| (extension, loaded)),
        })
    }
}

/// Returns the type of the integer that an access reads from or writes to memory.
fn in_memory(opcode: Opcode, ty: Type) -> Option<Type> {
    let bits = match opcode {
        Opcode::Load | Opcode::Store => ty.bits(),
        Opcode::Uload8 | Opcode::Sload8 | Opcode::Istore8 => 8,
        Opcode::Uload16 | Opcode::Sload16 | Opcode::Istore16 => 16,
        Opcode::Uload32 | Opcode::Sload32 | Opcode::Istore32 => 32,
        _ => return None,
    };
    if ty.is_int() { Type::int(bits) } else { None }
}
