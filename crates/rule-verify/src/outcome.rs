//! Outcome of the computation of a value.

use kingpost_smt::{Term, Terms};

/// A value, and the conditions under which it is valid. Both conditions include the conditions of the operands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    /// The bits.
    pub(crate) value: Term,
    /// Condition under which computing the value is no undefined behavior.
    pub(crate) defined: Term,
    /// Condition under which the value is not poison.
    pub(crate) poison_free: Term,
}

impl Outcome {
    /// Returns a value without conditions.
    pub(crate) fn plain(terms: &mut Terms, value: Term) -> Outcome {
        let yes = terms.bool(true);
        Outcome { value, defined: yes, poison_free: yes }
    }

    /// Returns a value under the conditions of its operands.
    pub(crate) fn of(terms: &mut Terms, value: Term, operands: &[Outcome]) -> Outcome {
        let defined = terms.all(operands.iter().map(|operand| operand.defined));
        let poison_free = terms.all(operands.iter().map(|operand| operand.poison_free));
        Outcome { value, defined, poison_free }
    }
}
