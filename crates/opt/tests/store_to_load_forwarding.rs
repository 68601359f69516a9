//! Proofs of store-to-load forwarding, for all accesses to memory and all values, by the meanings of opcodes.

use kingpost_ir::types::{I8, I16, I32, I64, I128};
use kingpost_ir::{Opcode, Type};
use kingpost_opt::store_to_load_forwarding::Conversions;
use kingpost_semantics::{Immediate, Operand, Operation, access_bits, loaded, outcome, stored};
use kingpost_smt::{Answer, Backend, Query, Solver, Sort, Term, Terms};
use std::time::Duration;

const INTS: [Type; 5] = [I8, I16, I32, I64, I128];
const STORES: [Opcode; 4] = [Opcode::Store, Opcode::Istore8, Opcode::Istore16, Opcode::Istore32];
const LOADS: [Opcode; 7] =
    [Opcode::Load, Opcode::Uload8, Opcode::Sload8, Opcode::Uload16, Opcode::Sload16, Opcode::Uload32, Opcode::Sload32];

/// Time limit of a proof. Most take less than a second; the machine may do other things as well.
const LIMIT: Duration = Duration::from_secs(900);

/// Returns the result of an operation of one operand.
fn unary(terms: &mut Terms, opcode: Opcode, ty: Type, operand: Operand) -> Operand {
    let operation = Operation { opcode, ty, immediate: Immediate::None };
    Operand { ty, bits: outcome(terms, &operation, &[operand]).expect("a meaning").results[0] }
}

/// Returns the result of applying the steps to a value.
fn apply(terms: &mut Terms, conversions: Conversions, value: Operand) -> Term {
    let mut made = value;
    if let Some(ty) = conversions.reduced {
        made = unary(terms, Opcode::Ireduce, ty, made);
    }
    if let Some((opcode, ty)) = conversions.extended {
        made = unary(terms, opcode, ty, made);
    }
    made.bits
}

/// Returns `true` if a solver proves that a load after a store to its address returns the result of the steps, in
/// little-endian byte order.
fn is_proved(
    solver: &mut Solver,
    conversions: Conversions,
    (store, written): (Opcode, Type),
    (load, read): (Opcode, Type),
) -> bool {
    let mut terms = Terms::new();
    let value = Operand { ty: written, bits: terms.var("x", Sort::Bits(written.bits())) };
    let memory = stored(&mut terms, store, value).expect("a store");
    let bits = terms.extract(memory, 0, access_bits(load, read).expect("a load"));
    let expected = loaded(&mut terms, load, read, bits).expect("a load");
    let made = apply(&mut terms, conversions, value);
    let equal = terms.eq(made, expected);
    let differs = terms.not(equal);
    solver.check(&terms, &Query::new(differs), LIMIT).expect("the solver answers") == Answer::Unsat
}

fn solver() -> Option<Solver> {
    if Backend::Z3.is_installed() {
        return Some(Solver::new(Backend::Z3));
    }
    assert!(std::env::var_os("CI").is_none(), "z3 is missing");
    eprintln!("SKIPPED: z3 is not installed");
    None
}

/// Returns the accesses that exist. An access to part of a value has fewer bits than the value, and at most 64.
fn accesses(opcodes: &[Opcode]) -> Vec<(Opcode, Type)> {
    let whole = |opcode| matches!(opcode, Opcode::Load | Opcode::Store);
    let all = opcodes.iter().flat_map(|&opcode| INTS.map(|ty| (opcode, ty)));
    let exists = |&(opcode, ty): &(Opcode, Type)| {
        whole(opcode) || ty != I128 && access_bits(opcode, ty).is_some_and(|bits| bits < ty.bits())
    };
    all.filter(exists).collect()
}

#[test]
fn steps_are_proved() {
    let Some(mut solver) = solver() else { return };
    let mut proved = 0;
    for written in accesses(&STORES) {
        for read in accesses(&LOADS) {
            let bits = |(opcode, ty)| access_bits(opcode, ty);
            let Some(conversions) = Conversions::between(written.0, written.1, read.0, read.1) else {
                assert!(bits(read) > bits(written), "nothing is read back of {written:?} by {read:?}");
                continue;
            };
            assert!(is_proved(&mut solver, conversions, written, read), "{conversions:?} of {written:?} by {read:?}");
            proved += 1;
        }
    }
    assert!(proved > 100, "{proved}");
}

#[test]
fn a_wrong_step_is_refuted() {
    let Some(mut solver) = solver() else { return };
    let conversions = Conversions { reduced: Some(I8), extended: Some((Opcode::Uextend, I32)) };
    assert!(is_proved(&mut solver, conversions, (Opcode::Store, I64), (Opcode::Uload8, I32)));
    assert!(!is_proved(&mut solver, conversions, (Opcode::Store, I64), (Opcode::Sload8, I32)));
    let conversions = Conversions { reduced: Some(I16), ..conversions };
    assert!(!is_proved(&mut solver, conversions, (Opcode::Store, I64), (Opcode::Uload8, I32)));
}
