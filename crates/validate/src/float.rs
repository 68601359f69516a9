//! NaNs that are results of arithmetic.
//!
//! A function may return any NaN of a set where a result is a NaN, and the processor returns one of this set. So each
//! operation is a function of its operands that is known except for its NaNs, and both sides apply the same one. Where a
//! minimum or a maximum is a NaN, it is the one of the sum, as on AArch64.

use crate::error::Feature;
use crate::input::{Code, Machine};
use kingpost_ir::Opcode;
use kingpost_semantics::{Operand, Operation};
use kingpost_smt::{FloatOp, Term, Terms};

/// Returns the result of an operation with the NaN that the processor chooses where it is one. `result` is the result
/// elsewhere.
///
/// # Errors
/// If the code for the operation chooses in another way.
pub(crate) fn chosen(
    terms: &mut Terms,
    code: &Code<'_>,
    operation: &Operation,
    operands: &[Operand],
    result: Term,
) -> Result<Term, Feature> {
    let is_known = |operand: &Operand| operand.ty.is_scalar() && matches!(operand.ty.bits(), 32 | 64);
    if !operation.ty.is_scalar() || !operands.iter().all(is_known) || !matches!(operation.ty.bits(), 32 | 64) {
        return Err(Feature::Opcode(operation.opcode));
    }
    if code.canonical_nans {
        return Err(Feature::Setting("NaN canonicalization"));
    }
    // Without an instruction, the code calls a function.
    let needed = match operation.opcode {
        Opcode::Ceil | Opcode::Floor | Opcode::Trunc | Opcode::Nearest => Some("sse41"),
        Opcode::Fma => Some("fma"),
        _ => None,
    };
    let is_there = |feature| code.machine == Machine::Aarch64 || code.features.contains(&feature);
    if !needed.is_none_or(is_there) {
        return Err(Feature::Opcode(operation.opcode));
    }
    match (operation.opcode, operands) {
        (Opcode::Fmin | Opcode::Fmax, &[x, y]) if code.machine == Machine::Aarch64 => {
            let [x_nan, y_nan] = [x, y].map(|operand| terms.is_nan(operand.bits));
            let any = terms.or(x_nan, y_nan);
            let nan = terms.float(FloatOp::Add, &[x.bits, y.bits], terms.width(x.bits));
            Ok(terms.ite(any, nan, result))
        }
        (Opcode::Fmin | Opcode::Fmax, _) => Err(Feature::Opcode(operation.opcode)),
        _ => Ok(result),
    }
}

/// Returns `true` unless code for an operation is a call, or neither terms nor a solver decide it: divisions of `i128`, the
/// upper halves of its products, its conversions to and from floats, and on x86-64 the conversion of a double to an
/// unsigned integer of 64 bits.
pub(crate) fn has_instruction(machine: Machine, operation: &Operation, operands: &[Operand]) -> bool {
    let bits = operands.first().map_or(0, |operand| operand.ty.bits());
    let is_pair = operation.ty.bits() == 128 || bits == 128;
    match operation.opcode {
        Opcode::Udiv | Opcode::Sdiv | Opcode::Urem | Opcode::Srem | Opcode::Umulhi | Opcode::Smulhi => !is_pair,
        Opcode::FcvtToSint | Opcode::FcvtFromSint | Opcode::FcvtFromUint => !is_pair,
        Opcode::FcvtToUint => !is_pair && (machine == Machine::Aarch64 || bits != 64 || operation.ty.bits() != 64),
        _ => true,
    }
}
