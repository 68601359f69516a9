//! Flags as the operation that sets them.
//!
//! A condition on the flags of a comparison is a relation of its operands. The relation is built from the operands, not
//! from the flags, because it is hard to recognize in a formula of N, Z, C and V.

use super::bits::{is_negative, is_zero, number_of};
use super::compare::{Relation, any_relation};
use super::numbers::{C, N, V, Z};
use kingpost_smt::{Bits, Term, Terms};

/// An operation that sets the flags.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Source {
    /// An operation on integers.
    Integers(Integers),
    /// The comparison of two floats.
    Floats([Term; 2]),
}

/// An operation on integers that sets the flags.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Integers {
    /// A result that is compared with zero.
    Result(Term),
    /// The sum of two operands.
    Sum(Term, Term),
    /// The difference of two operands.
    Difference(Term, Term),
    /// The sum of two operands and the carry, a boolean.
    SumWithCarry(Term, Term, Term),
    /// The difference of two operands and the inverted carry, a boolean.
    DifferenceWithCarry(Term, Term, Term),
}

/// The flags after an operation, or after a conditional one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Nzcv {
    pub(super) source: Source,
    /// The condition under which the operation sets the flags, and the flags if it fails, N first.
    pub(super) unless: Option<(Term, u8)>,
}

/// The conditions with an even number (C1.2.4, "Condition code"). Each odd number is the inverted condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Positive {
    /// `eq`: Z.
    Equal,
    /// `hs`: C.
    Carry,
    /// `mi`: N.
    Negative,
    /// `vs`: V.
    Overflow,
    /// `hi`: C, and not Z.
    Higher,
    /// `ge`: N = V.
    GreaterOrEqual,
    /// `gt`: N = V, and not Z.
    Greater,
    /// `al`.
    Always,
}

impl Positive {
    /// Returns `true` if the condition holds for the flags, N first.
    fn holds(self, [n, z, c, v]: [bool; 4]) -> bool {
        match self {
            Positive::Equal => z,
            Positive::Carry => c,
            Positive::Negative => n,
            Positive::Overflow => v,
            Positive::Higher => c && !z,
            Positive::GreaterOrEqual => n == v,
            Positive::Greater => n == v && !z,
            Positive::Always => true,
        }
    }

    /// Returns the condition as a formula of the flags, N first.
    pub(super) fn formula(self, terms: &mut Terms, [n, z, c, v]: [Term; 4]) -> Term {
        let is_different = terms.not(z);
        match self {
            Positive::Equal => z,
            Positive::Carry => c,
            Positive::Negative => n,
            Positive::Overflow => v,
            Positive::Higher => terms.and(c, is_different),
            Positive::GreaterOrEqual => terms.eq(n, v),
            Positive::Greater => {
                let is_at_least = terms.eq(n, v);
                terms.and(is_at_least, is_different)
            }
            Positive::Always => terms.bool(true),
        }
    }
}

impl Nzcv {
    /// Returns a flag.
    pub(crate) fn flag(self, terms: &mut Terms, number: usize) -> Term {
        let value = self.source.flag(terms, number);
        self.or_else(terms, value, |[n, z, c, v]| match number {
            N => n,
            Z => z,
            C => c,
            _ => v,
        })
    }

    /// Returns a term that holds if the condition does, or the inverted condition.
    pub(super) fn holds(self, terms: &mut Terms, condition: Positive, inverted: bool) -> Term {
        let value = match self.source {
            Source::Floats(operands) => after_comparison(terms, operands, condition, inverted),
            Source::Integers(integers) => {
                let holds = integers.holds(terms, condition);
                if inverted { terms.not(holds) } else { holds }
            }
        };
        self.or_else(terms, value, |flags| condition.holds(flags) != inverted)
    }

    fn or_else(self, terms: &mut Terms, value: Term, of: impl Fn([bool; 4]) -> bool) -> Term {
        match self.unless {
            Some((condition, flags)) => {
                let other = terms.bool(of([3, 2, 1, 0].map(|bit| flags >> bit & 1 == 1)));
                choice(terms, condition, value, other)
            }
            None => value,
        }
    }
}

/// Returns `if condition then value else other`, where `other` is constant.
fn choice(terms: &mut Terms, condition: Term, value: Term, other: Term) -> Term {
    if other == terms.bool(false) { terms.and(condition, value) } else { terms.implies(condition, value) }
}

impl Source {
    fn flag(self, terms: &mut Terms, number: usize) -> Term {
        let condition = match number {
            N => Positive::Negative,
            Z => Positive::Equal,
            C => Positive::Carry,
            _ => Positive::Overflow,
        };
        match self {
            Source::Floats(operands) => after_comparison(terms, operands, condition, false),
            Source::Integers(integers) => integers.flag(terms, number),
        }
    }
}

impl Integers {
    fn flag(self, terms: &mut Terms, number: usize) -> Term {
        match number {
            N => {
                let result = self.result(terms);
                is_negative(terms, result)
            }
            Z => self.is_zero(terms),
            C => self.carry(terms),
            _ => self.overflow(terms),
        }
    }

    fn result(self, terms: &mut Terms) -> Term {
        match self {
            Integers::Result(result) => result,
            Integers::Sum(x, y) => terms.add(x, y),
            Integers::Difference(x, y) => terms.sub(x, y),
            Integers::SumWithCarry(x, y, carry) => sum_with_carry(terms, x, y, carry)[1],
            Integers::DifferenceWithCarry(x, y, carry) => difference_with_carry(terms, x, y, carry)[1],
        }
    }

    fn is_zero(self, terms: &mut Terms) -> Term {
        match self {
            Integers::Difference(x, y) => terms.eq(x, y),
            _ => {
                let result = self.result(terms);
                is_zero(terms, result)
            }
        }
    }

    fn carry(self, terms: &mut Terms) -> Term {
        match self {
            Integers::Result(_) => terms.bool(false),
            Integers::Sum(x, y) => {
                let sum = terms.add(x, y);
                terms.ult(sum, x.min(y))
            }
            Integers::Difference(x, y) => terms.ule(y, x),
            Integers::SumWithCarry(x, y, carry) => {
                let [first, result] = sum_with_carry(terms, x, y, carry);
                let (wraps, wraps_again) = (terms.ult(first, x), terms.ult(result, first));
                terms.or(wraps, wraps_again)
            }
            Integers::DifferenceWithCarry(x, y, carry) => {
                let [first, _] = difference_with_carry(terms, x, y, carry);
                let borrow = borrow(terms, carry, terms.width(x));
                let (wraps, wraps_again) = (terms.ult(x, y), terms.ult(first, borrow));
                let borrows = terms.or(wraps, wraps_again);
                terms.not(borrows)
            }
        }
    }

    fn overflow(self, terms: &mut Terms) -> Term {
        let result = self.result(terms);
        let (one, other) = match self {
            Integers::Result(_) => return terms.bool(false),
            // The operands have one sign and the result has the other.
            Integers::Sum(x, y) | Integers::SumWithCarry(x, y, _) => {
                (terms.bit_xor(result, x), terms.bit_xor(result, y))
            }
            // The operands have different signs and the result has the sign of the subtrahend.
            Integers::Difference(x, y) | Integers::DifferenceWithCarry(x, y, _) => {
                (terms.bit_xor(x, y), terms.bit_xor(result, x))
            }
        };
        let both = terms.bit_and(one, other);
        is_negative(terms, both)
    }

    fn holds(self, terms: &mut Terms, condition: Positive) -> Term {
        match self {
            Integers::Difference(x, y) => match condition {
                Positive::Higher => return terms.ult(y, x),
                Positive::GreaterOrEqual => return terms.sle(y, x),
                Positive::Greater => return terms.slt(y, x),
                _ => {}
            },
            // A sum with a number is a comparison with the negated number, which exists for all but the least one.
            // Of zero, the carry is different.
            Integers::Sum(x, y) if terms.bits(y).is_some_and(|y| y != Bits::sign_bit(y.width()) && !y.is_zero()) => {
                let y = terms.neg(y);
                match condition {
                    Positive::Higher | Positive::GreaterOrEqual | Positive::Greater => {
                        return Integers::Difference(x, y).holds(terms, condition);
                    }
                    _ => {}
                }
            }
            Integers::Result(result) if condition == Positive::Greater => {
                let zero = terms.number(terms.width(result), 0);
                return terms.slt(zero, result);
            }
            _ => {}
        }
        let flags = [N, Z, C, V].map(|number| self.flag(terms, number));
        condition.formula(terms, flags)
    }
}

fn borrow(terms: &mut Terms, carry: Term, width: u32) -> Term {
    let borrow = terms.not(carry);
    number_of(terms, borrow, width)
}

/// Returns the sum without and with the carry.
pub(super) fn sum_with_carry(terms: &mut Terms, x: Term, y: Term, carry: Term) -> [Term; 2] {
    let carry = number_of(terms, carry, terms.width(x));
    let first = terms.add(x, y);
    [first, terms.add(first, carry)]
}

/// Returns the difference without and with the borrow.
pub(super) fn difference_with_carry(terms: &mut Terms, x: Term, y: Term, carry: Term) -> [Term; 2] {
    let borrow = borrow(terms, carry, terms.width(x));
    let first = terms.sub(x, y);
    [first, terms.sub(first, borrow)]
}

/// Returns the relations under which a condition holds after a comparison, which sets N if less, Z and C if equal, C if
/// greater, C and V if unordered; and the relations under which it fails.
fn relations(condition: Positive) -> [&'static [Relation]; 2] {
    use Relation::{Equal, Greater, Less, Unordered};
    match condition {
        Positive::Equal => [&[Equal], &[Unordered, Less, Greater]],
        Positive::Carry => [&[Unordered, Greater, Equal], &[Less]],
        Positive::Negative => [&[Less], &[Unordered, Greater, Equal]],
        Positive::Overflow => [&[Unordered], &[Less, Greater, Equal]],
        Positive::Higher => [&[Unordered, Greater], &[Less, Equal]],
        Positive::GreaterOrEqual => [&[Greater, Equal], &[Unordered, Less]],
        Positive::Greater => [&[Greater], &[Unordered, Less, Equal]],
        Positive::Always => [&[Unordered, Less, Greater, Equal], &[]],
    }
}

/// Returns a term that holds if a condition does after a comparison, or if the inverted condition does.
fn after_comparison(terms: &mut Terms, operands: [Term; 2], condition: Positive, inverted: bool) -> Term {
    match condition {
        Positive::Always => terms.bool(!inverted),
        _ => any_relation(terms, operands, relations(condition)[usize::from(inverted)]),
    }
}
