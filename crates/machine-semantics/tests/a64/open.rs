//! Proves results that must not depend on values that terms leave open. Evaluation chooses one value for them, so that
//! the comparison with the emulator does not see the others.

use super::emulated::is_missing;
use super::meaning::Recorder;
use kingpost_machine_semantics::a64;
use kingpost_machine_semantics::{At, State};
use kingpost_smt::{Answer, Backend, Query, Solver, Term, Terms};
use std::time::Duration;

/// Conversions of `s1` and `d1` to `x0` and `w0`: toward zero, signed and unsigned.
const CONVERSIONS: [(u32, u32); 8] = [
    (0x1e38_0020, 32),
    (0x9e38_0020, 32),
    (0x1e39_0020, 32),
    (0x9e39_0020, 32),
    (0x1e78_0020, 64),
    (0x9e78_0020, 64),
    (0x1e79_0020, 64),
    (0x9e79_0020, 64),
];

#[test]
fn conversions_of_nans_are_zero() {
    if is_missing("conversions_of_nans_are_zero", &[Backend::Z3.program()]) {
        return;
    }
    let mut solver = Solver::new(Backend::Z3);
    for (word, format) in CONVERSIONS {
        let mut world = Recorder::new();
        let mut state = State::variables(&mut world.terms, "");
        let before = state.clone();
        let (instruction, _) = a64::decode(&word.to_le_bytes()).unwrap();
        let base = world.terms.number(64, 0);
        a64::step(&mut world, &instruction, At { base, offset: 0, symbol: None }, &mut state);
        let terms = &mut world.terms;
        let operand = terms.extract(before.vector[1][0], 0, format);
        let (nan, zero) = (is_nan(terms, operand), terms.number(64, 0));
        let is_wrong = terms.ne(state.general[0], zero);
        let query = terms.and(nan, is_wrong);
        let answer = solver.check(terms, &Query::new(query), Duration::from_secs(10)).unwrap();
        assert!(matches!(answer, Answer::Unsat), "{word:08x}: {answer:?}");
    }
}

/// Returns a term that holds if the exponent has only ones and the significand is not zero.
fn is_nan(terms: &mut Terms, x: Term) -> Term {
    let (digits, exponent) = if terms.width(x) == 32 { (23, 8) } else { (52, 11) };
    let (high, low) = (terms.extract(x, digits, exponent), terms.extract(x, 0, digits));
    let (ones, zero) = (terms.number(exponent, (1 << exponent) - 1), terms.number(digits, 0));
    let (is_special, is_not_infinite) = (terms.eq(high, ones), terms.ne(low, zero));
    terms.and(is_special, is_not_infinite)
}
