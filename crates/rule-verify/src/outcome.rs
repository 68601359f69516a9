//! What computing a value comes to.

use kingpost_smt::{Term, Terms};

/// A value, and the conditions under which it is one. Both conditions include those of the operands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outcome {
    /// The bits.
    pub(crate) value: Term,
    /// Reaching and computing it is no undefined behavior.
    pub(crate) defined: Term,
    /// It is not poison.
    pub(crate) poison_free: Term,
}

impl Outcome {
    /// Returns a value under no condition.
    pub(crate) fn plain(terms: &mut Terms, value: Term) -> Outcome {
        let yes = terms.bool(true);
        Outcome { value, defined: yes, poison_free: yes }
    }

    /// Returns another value under the conditions of some operands.
    pub(crate) fn of(terms: &mut Terms, value: Term, operands: &[Outcome]) -> Outcome {
        let defined = terms.all(operands.iter().map(|operand| operand.defined));
        let poison_free = terms.all(operands.iter().map(|operand| operand.poison_free));
        Outcome { value, defined, poison_free }
    }
}
