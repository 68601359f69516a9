//! Numbers of the interface for types, opcodes, conditions and flags.

use crate::error::Failure;
use kingpost::ir::atomic_rmw_op::AtomicRmwOp;
use kingpost::ir::condcodes::{FloatCC, IntCC};
use kingpost::ir::memflags::Endianness;
use kingpost::ir::types::{F16, F32, F64, F128, I8, I16, I32, I64, I128};
use kingpost::ir::{MemFlags, Opcode, TrapCode, Type};

/// The types of one lane by number, from 1.
const LANES: [Type; 9] = [I8, I16, I32, I64, I128, F16, F32, F64, F128];

/// Returns the type with this number.
pub(crate) fn type_of(number: u32) -> Result<Type, Failure> {
    let lane = (number & 15).checked_sub(1).and_then(|lane| LANES.get(lane as usize));
    let vector = lane.and_then(|lane| lane.by(1 << (number >> 4 & 15)));
    let ty = if number >> 8 == 1 { vector.and_then(Type::vector_to_dynamic) } else { vector };
    let ty = ty.filter(|ty| u32::from(ty.code()) == number);
    ty.ok_or_else(|| Failure::argument(format!("{number} is no type")))
}

/// Returns the opcode with this number.
pub(crate) fn opcode(number: u32) -> Result<Opcode, Failure> {
    let opcode = Opcode::ALL.get(number as usize);
    opcode.copied().ok_or_else(|| Failure::argument(format!("{number} is no opcode")))
}

/// Returns the condition of integer comparisons with this number.
pub(crate) fn int_condition(number: u32) -> Result<IntCC, Failure> {
    let condition = IntCC::ALL.get(number as usize);
    condition.copied().ok_or_else(|| Failure::argument(format!("{number} is no condition of integers")))
}

/// Returns the condition of float comparisons with this number.
pub(crate) fn float_condition(number: u32) -> Result<FloatCC, Failure> {
    let condition = FloatCC::ALL.get(number as usize);
    condition.copied().ok_or_else(|| Failure::argument(format!("{number} is no condition of floats")))
}

/// Returns the operation of `atomic_rmw` with this number.
pub(crate) fn rmw_operation(number: u32) -> Result<AtomicRmwOp, Failure> {
    let operation = AtomicRmwOp::ALL.get(number as usize);
    operation.copied().ok_or_else(|| Failure::argument(format!("{number} is no operation of `atomic_rmw`")))
}

/// Returns the trap code with this number: 1 to 250 are codes of the front end, the others have names.
pub(crate) fn trap_code(number: u32) -> Result<TrapCode, Failure> {
    let code = u8::try_from(number).ok().and_then(TrapCode::from_byte);
    code.ok_or_else(|| Failure::argument(format!("{number} is no trap code")))
}

/// Bits of memory flags with their names and meanings, from bit 8 on. Lower bits are the trap code of an access that
/// may fault, or 0 for `heap_oob`.
pub const MEMORY_FLAGS: [(&str, &str); 6] = [
    ("NOTRAP", "The access cannot trap."),
    ("ALIGNED", "The address is aligned."),
    ("READONLY", "The memory does not change during the function."),
    ("CAN_MOVE", "The access may be moved as far as its data dependencies allow."),
    ("LITTLE", "The least significant byte comes first."),
    ("BIG", "The most significant byte comes first."),
];

/// Returns the flags of a memory access with these bits.
pub(crate) fn memory_flags(bits: u32) -> Result<MemFlags, Failure> {
    let has = |index: u32| bits >> (8 + index) & 1 != 0;
    if bits >> (8 + MEMORY_FLAGS.len()) != 0 || (has(4) && has(5)) || (has(0) && bits & 255 != 0) {
        return Err(Failure::argument(format!("{bits:#x} is no combination of memory flags")));
    }
    let mut flags = MemFlags::new();
    if bits & 255 != 0 {
        flags = flags.with_trap_code(Some(trap_code(bits & 255)?));
    }
    if has(0) {
        flags = flags.with_notrap();
    }
    if has(1) {
        flags = flags.with_aligned();
    }
    if has(2) {
        flags = flags.with_readonly();
    }
    if has(3) {
        flags = flags.with_can_move();
    }
    let order = [(4, Endianness::Little), (5, Endianness::Big)].into_iter().find(|&(index, _)| has(index));
    Ok(order.map_or(flags, |(_, order)| flags.with_endianness(order)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost::ir::types::{F32X4, I8X16};

    #[test]
    fn numbers_of_types_are_their_codes() {
        for ty in LANES.into_iter().chain([F32X4, I8X16, F32X4.vector_to_dynamic().unwrap()]) {
            assert_eq!(type_of(ty.code().into()).unwrap(), ty);
        }
        for number in [0, 10, 15, 16, 0x201, 0x190, u32::MAX] {
            assert!(type_of(number).is_err(), "{number}");
        }
    }

    #[test]
    fn flags_that_contradict_each_other_are_refused() {
        assert_eq!(memory_flags(0x300).unwrap(), MemFlags::trusted());
        assert_eq!(memory_flags(0).unwrap(), MemFlags::new());
        assert_eq!(memory_flags(7).unwrap().trap_code(), TrapCode::user(7));
        for bits in [0x3000, 0x101, 0x4000, 1 << 31] {
            assert!(memory_flags(bits).is_err(), "{bits:#x}");
        }
    }
}
