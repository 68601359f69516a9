//! NaNs that are results of arithmetic.
//!
//! A function may return any NaN of a set where a result is a NaN, and the processor returns one of this set. So each
//! operation is a function of its operands that is known except for its NaNs, and both sides apply the same one. Where a
//! minimum or a maximum is a NaN, it is the one of the sum on AArch64, and a canonical one on x86-64. With the setting
//! `enable_nan_canonicalization`, each NaN is the canonical one.

use crate::error::Feature;
use crate::input::{Code, Machine};
use kingpost_ir::Opcode;
use kingpost_ir::types::{F16, F128, I128, Type};
use kingpost_semantics::{Operand, Operation, canonical_nan};
use kingpost_smt::{Bits, FloatOp, Relation, Term, Terms};

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
    let is_extreme = matches!(operation.opcode, Opcode::Fmin | Opcode::Fmax);
    let (is_nan, nan) = match (operands, is_extreme) {
        (&[x, y], true) => {
            let [x_nan, y_nan] = [x, y].map(|operand| terms.is_nan(operand.bits));
            (terms.or(x_nan, y_nan), nan_of_extreme(terms, code, operation.opcode, [x.bits, y.bits]))
        }
        _ if code.canonical_nans => (terms.is_nan(result), canonical_nan(terms, terms.width(result))),
        _ => return Ok(result),
    };
    Ok(terms.ite(is_nan, nan, result))
}

/// Returns the minimum or maximum where an operand is a NaN.
fn nan_of_extreme(terms: &mut Terms, code: &Code<'_>, opcode: Opcode, [x, y]: [Term; 2]) -> Term {
    let width = terms.width(x);
    match (code.machine, opcode) {
        _ if code.canonical_nans => canonical_nan(terms, width),
        (Machine::Aarch64, _) => terms.float(FloatOp::Add, &[x, y], width),
        (Machine::X64, Opcode::Fmin) => negative_nan(terms, width),
        (Machine::X64, _) => signed_nan(terms, x, y),
    }
}

/// Returns the canonical NaN with its sign set, which is the minimum on x86-64 where an operand is a NaN.
fn negative_nan(terms: &mut Terms, width: u32) -> Term {
    let (nan, sign) = (canonical_nan(terms, width), terms.constant(Bits::sign_bit(width)));
    terms.bit_or(nan, sign)
}

/// Returns the NaN that is the maximum on x86-64 where an operand is one: a canonical NaN with the sign of a difference,
/// which the processor chooses. Its operands are the disjunction and the exclusive disjunction of both maxima, in the two
/// orders of the operands. One of these is a NaN, and so is the difference.
fn signed_nan(terms: &mut Terms, x: Term, y: Term) -> Term {
    let [first, second] = [(x, y), (y, x)].map(|(a, b)| {
        let is_greater = terms.any_relation([a, b], &[Relation::Greater]);
        terms.ite(is_greater, a, b)
    });
    let different = terms.bit_xor(second, first);
    let either = terms.bit_or(first, different);
    let difference = terms.float(FloatOp::Sub, &[either, different], terms.width(x));
    let kept = negative_nan(terms, terms.width(x));
    terms.bit_and(difference, kept)
}

/// Returns `true` if an opcode computes from floats or makes one, and does not only move bits.
fn computes_floats(opcode: Opcode) -> bool {
    use Opcode::*;
    let is_arithmetic = matches!(opcode, Fadd | Fsub | Fmul | Fdiv | Fma | Sqrt | Ceil | Floor | Trunc | Nearest);
    let compares = matches!(opcode, Fmin | Fmax | Fcmp);
    let is_to_integer = matches!(opcode, FcvtToSint | FcvtToUint | FcvtToSintSat | FcvtToUintSat);
    let makes_float = matches!(opcode, Fpromote | Fdemote | FcvtFromSint | FcvtFromUint);
    is_arithmetic || compares || is_to_integer || makes_float
}

/// Returns `true` unless code for an operation is a call, or neither terms nor a solver decide it: arithmetic and
/// conversions of floats of 16 and 128 bits on x86-64, divisions of `i128`, the upper halves of its products, its conversions to and
/// from floats, and products of vectors with lanes of 64 bits.
pub(crate) fn has_instruction(machine: Machine, operation: &Operation, operands: &[Operand]) -> bool {
    let any = |is: fn(Type) -> bool| is(operation.ty) || operands.first().is_some_and(|operand| is(operand.ty));
    let is_pair = any(|ty| ty == I128);
    // Routines compute floats of 16 and 128 bits there.
    let is_by_routine =
        machine == Machine::X64 && computes_floats(operation.opcode) && any(|ty| matches!(ty.lane_type(), F16 | F128));
    match operation.opcode {
        _ if is_by_routine => false,
        Opcode::Imul => !operation.ty.is_vector() || operation.ty.lane_bits() < 64,
        Opcode::Udiv | Opcode::Sdiv | Opcode::Urem | Opcode::Srem | Opcode::Umulhi | Opcode::Smulhi => !is_pair,
        Opcode::FcvtToSint | Opcode::FcvtToUint | Opcode::FcvtToSintSat | Opcode::FcvtToUintSat => !is_pair,
        Opcode::FcvtFromSint | Opcode::FcvtFromUint => !is_pair,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_ir::types::{F32, F64};
    use kingpost_semantics::{Immediate, outcome};
    use kingpost_smt::{Answer, Sort, search};

    /// Checks that the function may return the NaNs of x86-64, and that the difference is a NaN.
    #[test]
    fn nans_of_minima_and_maxima_are_allowed() {
        for (ty, opcode) in [F32, F64].into_iter().flat_map(|ty| [(ty, Opcode::Fmin), (ty, Opcode::Fmax)]) {
            let mut terms = Terms::for_code();
            let operands = ["x", "y"].map(|name| Operand { ty, bits: terms.var(name, Sort::Bits(ty.bits())) });
            let [x, y] = operands.map(|operand| operand.bits);
            let operation = Operation { opcode, ty, immediate: Immediate::None };
            let allowed = outcome(&mut terms, &operation, &operands).unwrap().nan.unwrap();
            let nan = match opcode {
                Opcode::Fmin => negative_nan(&mut terms, ty.bits()),
                _ => signed_nan(&mut terms, x, y),
            };
            // The processor returns quiet NaNs.
            let quiet = canonical_nan(&mut terms, ty.bits());
            let kept = terms.bit_and(nan, quiet);
            let is_quiet = terms.eq(kept, quiet);
            let is_allowed = allowed.allows(&mut terms, nan);
            let fails = terms.not(is_allowed);
            let fails = terms.all([allowed.open, is_quiet, fails]);
            assert!(matches!(search(&terms, fails, 1000), Answer::Unsat), "{opcode} {ty}");
            let either = terms.bit_or(x, y);
            let is_nan = terms.is_nan(either);
            let fails = terms.not(is_nan);
            let fails = terms.and(allowed.open, fails);
            assert!(matches!(search(&terms, fails, 1000), Answer::Unsat), "{opcode} {ty}");
        }
    }
}
