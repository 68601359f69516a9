//! Order of floats, on the bits of sign and magnitude.

use crate::bits::Bits;
use crate::term::{Term, Terms};

/// A relation of two floats. Exactly one holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Relation {
    /// At least one is a NaN.
    Unordered,
    /// Equal numbers.
    Equal,
    /// A smaller number and a larger one.
    Less,
    /// A larger number and a smaller one.
    Greater,
}

impl Relation {
    /// Returns the relation of the operands in the other order.
    fn mirrored(self) -> Relation {
        match self {
            Relation::Less => Relation::Greater,
            Relation::Greater => Relation::Less,
            Relation::Unordered | Relation::Equal => self,
        }
    }
}

/// Returns the number of stored significand bits of the format of `width` bits (IEEE 754, section 3.6).
pub(super) fn stored_digits(width: u32) -> u32 {
    match width {
        16 => 10,
        32 => 23,
        64 => 52,
        _ => 112,
    }
}

impl Terms {
    /// Returns a float with its sign bit cleared.
    pub fn magnitude(&mut self, x: Term) -> Term {
        let sign = self.constant(Bits::sign_bit(self.width(x)));
        let others = self.bit_not(sign);
        self.bit_and(x, others)
    }

    /// Returns the infinity of the format of `width` bits.
    pub fn infinity(&mut self, width: u32) -> Term {
        self.number(width, (1 << (width - 1)) - (1 << stored_digits(width)))
    }

    /// Returns a term that holds if a float is a NaN.
    pub fn is_nan(&mut self, x: Term) -> Term {
        if self.is_of_code()
            && let Some(normal) = self.source_of_nan(x)
        {
            return normal;
        }
        let (magnitude, infinity) = (self.magnitude(x), self.infinity(self.width(x)));
        self.ult(infinity, magnitude)
    }

    /// Returns a term that holds if the number `x` is less than the number `y`. Here -0.0 is less than 0.0.
    pub fn precedes(&mut self, x: Term, y: Term) -> Term {
        let [x_magnitude, y_magnitude] = [x, y].map(|operand| self.magnitude(operand));
        let zero = self.number(self.width(x), 0);
        let [x_negative, y_negative] = [x, y].map(|operand| self.slt(operand, zero));
        let (smaller, larger) = (self.ult(x_magnitude, y_magnitude), self.ult(y_magnitude, x_magnitude));
        let y_positive = self.not(y_negative);
        let if_negative = self.or(y_positive, larger);
        let if_positive = self.and(y_positive, smaller);
        self.ite(x_negative, if_negative, if_positive)
    }

    /// Returns a term that holds if two floats have one of some relations.
    pub fn any_relation(&mut self, [x, y]: [Term; 2], relations: &[Relation]) -> Term {
        if self.is_of_code() {
            if let Some(normal) = self.relation_of_operand(x, y, relations) {
                return normal;
            }
            let mirrored: Vec<Relation> = relations.iter().map(|relation| relation.mirrored()).collect();
            if let Some(normal) = self.relation_of_operand(y, x, &mirrored) {
                return normal;
            }
        }
        let [x_nan, y_nan] = [x, y].map(|operand| self.is_nan(operand));
        let unordered = self.or(x_nan, y_nan);
        let ordered = self.not(unordered);
        let either = self.bit_or(x, y);
        let (magnitudes, zero) = (self.magnitude(either), self.number(self.width(x), 0));
        let both_zero = self.eq(magnitudes, zero);
        let same = self.eq(x, y);
        let as_numbers = self.or(same, both_zero);
        let different = self.not(as_numbers);
        let apart = self.and(ordered, different);
        let mut any = self.bool(false);
        for relation in relations {
            let holds = match relation {
                Relation::Unordered => unordered,
                Relation::Equal => self.and(ordered, as_numbers),
                Relation::Less => {
                    let before = self.precedes(x, y);
                    self.and(apart, before)
                }
                Relation::Greater => {
                    let after = self.precedes(y, x);
                    self.and(apart, after)
                }
            };
            any = self.or(any, holds);
        }
        any
    }
}
