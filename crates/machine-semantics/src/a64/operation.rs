//! Sums and bitwise operations, with flags.

use super::flags::{Integers, Source};
use super::machine::Machine;
use super::word::Reg;
use crate::World;
use kingpost_smt::{Term, Terms};

/// A bitwise operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BitOperation {
    /// And.
    And,
    /// Or.
    Or,
    /// Exclusive or.
    Xor,
}

impl BitOperation {
    pub(super) fn apply(self, terms: &mut Terms, x: Term, y: Term) -> Term {
        match self {
            BitOperation::And => terms.bit_and(x, y),
            BitOperation::Or => terms.bit_or(x, y),
            BitOperation::Xor => terms.bit_xor(x, y),
        }
    }
}

/// Writes the sum or difference of two operands to `d`.
pub(super) fn sum<W: World>(machine: &mut Machine<'_, W>, subtract: bool, flags: bool, d: Reg, [x, y]: [Term; 2]) {
    let terms = machine.terms();
    let result = if subtract { terms.sub(x, y) } else { terms.add(x, y) };
    if flags {
        let integers = if subtract { Integers::Difference(x, y) } else { Integers::Sum(x, y) };
        machine.set_flags(Source::Integers(integers));
    }
    machine.write(d, result);
}

/// Writes the result of a bitwise operation to `d`.
pub(super) fn bit_operation<W: World>(
    machine: &mut Machine<'_, W>,
    operation: BitOperation,
    flags: bool,
    d: Reg,
    [x, y]: [Term; 2],
) {
    let result = operation.apply(machine.terms(), x, y);
    if flags {
        machine.set_flags(Source::Integers(Integers::Result(result)));
    }
    machine.write(d, result);
}
