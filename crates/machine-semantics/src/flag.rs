//! Flags, computed when they are read.
//!
//! Most instructions that set flags are followed by no instruction that reads them. A flag is therefore the operation
//! that sets it, until an instruction reads it.

use crate::a64::Nzcv;
use crate::world::World;
use kingpost_smt::{Relation, Sort, Term, Terms};

/// A flag of a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Flag {
    /// A boolean.
    Value(Term),
    /// The flag of this number after an operation of AArch64.
    A64(Nzcv, u8),
    /// A value that the manual leaves open.
    Unspecified,
    /// A property of an operation.
    Of(Source, Property),
}

/// An operation that sets flags. Operands have the size of the operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Source {
    /// The result of an operation whose carry and overflow are not derived from it.
    Result(Term),
    /// `a + b`.
    Sum(Term, Term),
    /// `a - b`. The carry is the borrow.
    Difference(Term, Term),
    /// `a + b + c`, where `c` is a boolean.
    SumWithCarry(Term, Term, Term),
    /// `a - b - c`, where `c` is a boolean. The carry is the borrow.
    DifferenceWithBorrow(Term, Term, Term),
    /// `a * b` of unsigned numbers. Carry and overflow are alike.
    Product(Term, Term),
    /// `a * b` of signed numbers. Carry and overflow are alike.
    SignedProduct(Term, Term),
    /// `a << b`, where `b` is not zero. The carry is the last bit that is shifted out. The overflow is defined for a
    /// shift by 1.
    ShiftLeft(Term, Term),
    /// `a >> b`, where `b` is not zero.
    ShiftRight(Term, Term),
    /// `a >> b` of a signed number, where `b` is not zero.
    SignedShiftRight(Term, Term),
    /// The result of a rotation left. The carry is the bit that was rotated last, the overflow is defined for a rotation by 1.
    RotationLeft(Term),
    /// The result of a rotation right.
    RotationRight(Term),
    /// A comparison of floats. The carry is set if `a < b`. All flags are set if an operand is a NaN.
    Floats(Term, Term),
}

/// A property of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Property {
    /// Whether the unsigned result does not fit.
    Carry,
    /// Whether the low byte of the result has an even number of set bits.
    Parity,
    /// Whether the result is zero.
    Zero,
    /// Whether the result is negative.
    Sign,
    /// Whether the signed result does not fit.
    Overflow,
}

impl Flag {
    /// Returns the value of the flag as a boolean.
    pub(crate) fn value(self, world: &mut impl World) -> Term {
        match self {
            Flag::Value(value) => value,
            Flag::A64(nzcv, number) => nzcv.flag(world.terms(), number.into()),
            Flag::Unspecified => world.unspecified(Sort::Bool),
            Flag::Of(source, property) => source.property(world.terms(), property),
        }
    }
}

impl Source {
    /// Returns a property of the operation as a boolean.
    pub(crate) fn property(self, terms: &mut Terms, property: Property) -> Term {
        if let Source::Floats(a, b) = self {
            return terms.any_relation([a, b], relations(property));
        }
        match property {
            Property::Carry => self.carry(terms),
            Property::Overflow => self.overflow(terms),
            Property::Zero => self.is_zero(terms),
            Property::Sign => {
                let result = self.result(terms);
                is_negative(terms, result)
            }
            Property::Parity => {
                let result = self.result(terms);
                is_even(terms, result)
            }
        }
    }

    /// Returns the result of the operation.
    pub(crate) fn result(self, terms: &mut Terms) -> Term {
        match self {
            Source::Result(result) | Source::RotationLeft(result) | Source::RotationRight(result) => result,
            Source::Sum(a, b) => terms.add(a, b),
            Source::Difference(a, b) => terms.sub(a, b),
            Source::SumWithCarry(a, b, c) => {
                let (sum, c) = (terms.add(a, b), number(terms, c, a));
                terms.add(sum, c)
            }
            Source::DifferenceWithBorrow(a, b, c) => {
                let (difference, c) = (terms.sub(a, b), number(terms, c, a));
                terms.sub(difference, c)
            }
            Source::Product(a, b) | Source::SignedProduct(a, b) => terms.mul(a, b),
            Source::ShiftLeft(a, b) => terms.shl(a, b),
            Source::ShiftRight(a, b) => terms.lshr(a, b),
            Source::SignedShiftRight(a, b) => terms.ashr(a, b),
            Source::Floats(..) => unreachable!("a comparison has no result"),
        }
    }

    fn is_zero(self, terms: &mut Terms) -> Term {
        if let Source::Difference(a, b) = self {
            return terms.eq(a, b);
        }
        let result = self.result(terms);
        let zero = terms.number(terms.width(result), 0);
        terms.eq(result, zero)
    }

    fn carry(self, terms: &mut Terms) -> Term {
        match self {
            Source::Result(_) | Source::Floats(..) => unreachable!("{self:?} has no carry"),
            Source::Sum(a, b) => {
                let sum = terms.add(a, b);
                terms.ult(sum, a.min(b))
            }
            Source::Difference(a, b) => terms.ult(a, b),
            Source::SumWithCarry(a, b, _) => {
                let (first, result) = (terms.add(a, b), self.result(terms));
                let (carry, again) = (terms.ult(first, a.min(b)), terms.ult(result, first));
                terms.or(carry, again)
            }
            Source::DifferenceWithBorrow(a, b, c) => {
                let (first, c) = (terms.sub(a, b), number(terms, c, a));
                let (borrow, again) = (terms.ult(a, b), terms.ult(first, c));
                terms.or(borrow, again)
            }
            Source::Product(..) => {
                let high = self.high_half(terms);
                let zero = terms.number(terms.width(high), 0);
                terms.ne(high, zero)
            }
            Source::SignedProduct(..) => {
                let (low, high) = (self.result(terms), self.high_half(terms));
                let by = terms.number(terms.width(low), u128::from(terms.width(low) - 1));
                let signs = terms.ashr(low, by);
                terms.ne(high, signs)
            }
            Source::ShiftLeft(a, b) => {
                let before = one_less(terms, b);
                let shifted = terms.shl(a, before);
                bit(terms, shifted, terms.width(a) - 1)
            }
            Source::ShiftRight(a, b) => {
                let before = one_less(terms, b);
                let shifted = terms.lshr(a, before);
                bit(terms, shifted, 0)
            }
            Source::SignedShiftRight(a, b) => {
                let before = one_less(terms, b);
                let shifted = terms.ashr(a, before);
                bit(terms, shifted, 0)
            }
            Source::RotationLeft(result) => bit(terms, result, 0),
            Source::RotationRight(result) => bit(terms, result, terms.width(result) - 1),
        }
    }

    /// Returns a term that holds if the signed result does not fit. A sum does not fit if both operands have one sign and
    /// the result has the other; a difference does not fit if the operands have different signs and the result has the
    /// sign of the subtrahend. The overflow of shifts and rotations is a change of the sign.
    fn overflow(self, terms: &mut Terms) -> Term {
        let result = match self {
            Source::Product(..) | Source::SignedProduct(..) => return self.carry(terms),
            _ => self.result(terms),
        };
        let top = terms.width(result) - 1;
        match self {
            Source::Sum(a, b) | Source::SumWithCarry(a, b, _) => {
                let (left, right) = (terms.bit_xor(result, a), terms.bit_xor(result, b));
                let both = terms.bit_and(left, right);
                is_negative(terms, both)
            }
            Source::Difference(a, b) | Source::DifferenceWithBorrow(a, b, _) => {
                let (operands, left) = (terms.bit_xor(a, b), terms.bit_xor(result, a));
                let both = terms.bit_and(operands, left);
                is_negative(terms, both)
            }
            Source::ShiftLeft(a, _) | Source::ShiftRight(a, _) | Source::SignedShiftRight(a, _) => {
                differ(terms, (result, top), (a, top))
            }
            Source::RotationLeft(_) => differ(terms, (result, top), (result, 0)),
            Source::RotationRight(_) => differ(terms, (result, top), (result, top - 1)),
            Source::Result(_) | Source::Product(..) | Source::SignedProduct(..) | Source::Floats(..) => {
                unreachable!("{self:?} has no overflow")
            }
        }
    }

    /// Returns the high half of a product.
    pub(crate) fn high_half(self, terms: &mut Terms) -> Term {
        let (a, b, extend): (_, _, fn(&mut Terms, Term, u32) -> Term) = match self {
            Source::Product(a, b) => (a, b, Terms::zero_extend),
            Source::SignedProduct(a, b) => (a, b, Terms::sign_extend),
            other => unreachable!("{other:?} is no product"),
        };
        let width = terms.width(a);
        let (a, b) = (extend(terms, a, 2 * width), extend(terms, b, 2 * width));
        let product = terms.mul(a, b);
        terms.extract(product, width, width)
    }
}

/// Returns the relations of floats that set a flag (volume 2, "UCOMISD").
fn relations(property: Property) -> &'static [Relation] {
    match property {
        Property::Carry => &[Relation::Unordered, Relation::Less],
        Property::Zero => &[Relation::Unordered, Relation::Equal],
        Property::Parity => &[Relation::Unordered],
        Property::Sign | Property::Overflow => &[],
    }
}

/// Returns a boolean as a number of the width of `like`.
fn number(terms: &mut Terms, condition: Term, like: Term) -> Term {
    let width = terms.width(like);
    let (one, zero) = (terms.number(width, 1), terms.number(width, 0));
    terms.ite(condition, one, zero)
}

fn one_less(terms: &mut Terms, value: Term) -> Term {
    let one = terms.number(terms.width(value), 1);
    terms.sub(value, one)
}

/// Returns a bit of a term as a boolean.
pub(crate) fn bit(terms: &mut Terms, value: Term, number: u32) -> Term {
    let bit = terms.extract(value, number, 1);
    let one = terms.number(1, 1);
    terms.eq(bit, one)
}

/// Returns a term that holds if two bits differ.
pub(crate) fn differ(terms: &mut Terms, (a, first): (Term, u32), (b, second): (Term, u32)) -> Term {
    let (a, b) = (terms.extract(a, first, 1), terms.extract(b, second, 1));
    terms.ne(a, b)
}

fn is_negative(terms: &mut Terms, value: Term) -> Term {
    let zero = terms.number(terms.width(value), 0);
    terms.slt(value, zero)
}

/// Returns a term that holds if the low byte has an even number of set bits.
fn is_even(terms: &mut Terms, value: Term) -> Term {
    let mut bits = terms.extract(value, 0, 8);
    for half in [4, 2, 1] {
        let (low, high) = (terms.extract(bits, 0, half), terms.extract(bits, half, half));
        bits = terms.bit_xor(low, high);
    }
    let zero = terms.number(1, 0);
    terms.eq(bits, zero)
}
