//! Byte orders of accesses to memory, and the bits that atomic accesses write.

use kingpost_ir::Opcode;
use kingpost_ir::atomic_rmw_op::AtomicRmwOp;
use kingpost_ir::memflags::{Endianness, MemFlags};
use kingpost_semantics::{Immediate, Operand, Operation, outcome};
use kingpost_smt::{Term, Terms};

/// Returns bits in the byte order of an access. This is its own inverse.
pub(crate) fn in_order(terms: &mut Terms, flags: MemFlags, bits: Term) -> Term {
    let width = terms.width(bits);
    lanes_in_order(terms, flags, width, bits)
}

/// Returns lanes of `width` bits with each lane in the byte order of an access. This is its own inverse.
pub(crate) fn lanes_in_order(terms: &mut Terms, flags: MemFlags, width: u32, bits: Term) -> Term {
    if flags.endianness() != Some(Endianness::Big) {
        return bits;
    }
    let mut all = None;
    for lane in (0..terms.width(bits)).step_by(width as usize) {
        let mut reversed = terms.extract(bits, lane, 8);
        for at in (8..width).step_by(8) {
            let byte = terms.extract(bits, lane + at, 8);
            reversed = terms.concat(reversed, byte);
        }
        all = Some(all.map_or(reversed, |low| terms.concat(reversed, low)));
    }
    all.unwrap_or(bits)
}

/// Returns the bits that `atomic_rmw` writes over the old ones.
pub(crate) fn changed(
    terms: &mut Terms,
    flags: MemFlags,
    op: AtomicRmwOp,
    old: Operand,
    operand: Operand,
) -> Option<Term> {
    let (opcode, is_bitwise) = match op {
        AtomicRmwOp::Xchg => return Some(in_order(terms, flags, operand.bits)),
        AtomicRmwOp::And | AtomicRmwOp::Nand => (Opcode::Band, true),
        AtomicRmwOp::Or => (Opcode::Bor, true),
        AtomicRmwOp::Xor => (Opcode::Bxor, true),
        AtomicRmwOp::Add => (Opcode::Iadd, false),
        AtomicRmwOp::Sub => (Opcode::Isub, false),
        AtomicRmwOp::Umin => (Opcode::Umin, false),
        AtomicRmwOp::Umax => (Opcode::Umax, false),
        AtomicRmwOp::Smin => (Opcode::Smin, false),
        AtomicRmwOp::Smax => (Opcode::Smax, false),
    };
    let of = |terms: &mut Terms, operands: [Operand; 2]| {
        let operation = Operation { opcode, ty: old.ty, immediate: Immediate::None };
        let result = outcome(terms, &operation, &operands)?.results[0];
        Some(if op == AtomicRmwOp::Nand { terms.bit_not(result) } else { result })
    };
    // Operations on single bits are the same in each order of the bytes.
    let turned = if is_bitwise { operand } else { old };
    let turned = Operand { bits: in_order(terms, flags, turned.bits), ..turned };
    if is_bitwise {
        return of(terms, [old, turned]);
    }
    let value = of(terms, [turned, operand])?;
    Some(in_order(terms, flags, value))
}
