//! Condition codes of integer and float comparisons.

use std::fmt;

/// Condition of an integer comparison.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum IntCC {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// Signed `<`
    SignedLessThan,
    /// Signed `>=`
    SignedGreaterThanOrEqual,
    /// Signed `>`
    SignedGreaterThan,
    /// Signed `<=`
    SignedLessThanOrEqual,
    /// Unsigned `<`
    UnsignedLessThan,
    /// Unsigned `>=`
    UnsignedGreaterThanOrEqual,
    /// Unsigned `>`
    UnsignedGreaterThan,
    /// Unsigned `<=`
    UnsignedLessThanOrEqual,
}

use IntCC::{
    Equal, NotEqual, SignedGreaterThan, SignedGreaterThanOrEqual, SignedLessThan, SignedLessThanOrEqual,
    UnsignedGreaterThan, UnsignedGreaterThanOrEqual, UnsignedLessThan, UnsignedLessThanOrEqual,
};

const INT_NAMES: [&str; 10] = ["eq", "ne", "slt", "sge", "sgt", "sle", "ult", "uge", "ugt", "ule"];

impl IntCC {
    /// All codes, in the order of their numbers.
    pub const ALL: [IntCC; 10] = [
        Equal,
        NotEqual,
        SignedLessThan,
        SignedGreaterThanOrEqual,
        SignedGreaterThan,
        SignedLessThanOrEqual,
        UnsignedLessThan,
        UnsignedGreaterThanOrEqual,
        UnsignedGreaterThan,
        UnsignedLessThanOrEqual,
    ];

    /// Returns the condition that is true where this one is false. A condition and its inverse have adjacent numbers.
    pub const fn inverse(self) -> IntCC {
        IntCC::ALL[self as usize ^ 1]
    }

    /// Returns the equivalent condition for exchanged operands.
    pub const fn swap_args(self) -> IntCC {
        match self {
            Equal | NotEqual => self,
            SignedLessThan => SignedGreaterThan,
            SignedGreaterThanOrEqual => SignedLessThanOrEqual,
            SignedGreaterThan => SignedLessThan,
            SignedLessThanOrEqual => SignedGreaterThanOrEqual,
            UnsignedLessThan => UnsignedGreaterThan,
            UnsignedGreaterThanOrEqual => UnsignedLessThanOrEqual,
            UnsignedGreaterThan => UnsignedLessThan,
            UnsignedLessThanOrEqual => UnsignedGreaterThanOrEqual,
        }
    }

    /// Returns `true` if the comparison treats its operands as signed.
    pub const fn is_signed(self) -> bool {
        matches!(self, SignedLessThan | SignedGreaterThanOrEqual | SignedGreaterThan | SignedLessThanOrEqual)
    }

    /// Returns the code with this name.
    pub fn from_name(name: &[u8]) -> Option<IntCC> {
        let index = INT_NAMES.iter().position(|text| text.as_bytes() == name)?;
        Some(IntCC::ALL[index])
    }
}

impl fmt::Display for IntCC {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(INT_NAMES[*self as usize])
    }
}

/// Condition of a float comparison.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum FloatCC {
    /// Equal, less or greater: neither is a NaN.
    Ordered,
    /// Some operand is a NaN.
    Unordered,
    /// Equal.
    Equal,
    /// Unordered, less or greater.
    NotEqual,
    /// Less or greater.
    OrderedNotEqual,
    /// Unordered or equal.
    UnorderedOrEqual,
    /// Less.
    LessThan,
    /// Unordered, greater or equal.
    UnorderedOrGreaterThanOrEqual,
    /// Less or equal.
    LessThanOrEqual,
    /// Unordered or greater.
    UnorderedOrGreaterThan,
    /// Greater.
    GreaterThan,
    /// Unordered, less or equal.
    UnorderedOrLessThanOrEqual,
    /// Greater or equal.
    GreaterThanOrEqual,
    /// Unordered or less.
    UnorderedOrLessThan,
}

const FLOAT_NAMES: [&str; 14] =
    ["ord", "uno", "eq", "ne", "one", "ueq", "lt", "uge", "le", "ugt", "gt", "ule", "ge", "ult"];

impl FloatCC {
    /// All codes, in the order of their numbers.
    pub const ALL: [FloatCC; 14] = [
        FloatCC::Ordered,
        FloatCC::Unordered,
        FloatCC::Equal,
        FloatCC::NotEqual,
        FloatCC::OrderedNotEqual,
        FloatCC::UnorderedOrEqual,
        FloatCC::LessThan,
        FloatCC::UnorderedOrGreaterThanOrEqual,
        FloatCC::LessThanOrEqual,
        FloatCC::UnorderedOrGreaterThan,
        FloatCC::GreaterThan,
        FloatCC::UnorderedOrLessThanOrEqual,
        FloatCC::GreaterThanOrEqual,
        FloatCC::UnorderedOrLessThan,
    ];

    /// Returns the condition that is true where this one is false. A condition and its inverse have adjacent numbers.
    pub const fn inverse(self) -> FloatCC {
        FloatCC::ALL[self as usize ^ 1]
    }

    /// Returns the equivalent condition for exchanged operands.
    pub const fn swap_args(self) -> FloatCC {
        match self {
            FloatCC::LessThan => FloatCC::GreaterThan,
            FloatCC::GreaterThan => FloatCC::LessThan,
            FloatCC::LessThanOrEqual => FloatCC::GreaterThanOrEqual,
            FloatCC::GreaterThanOrEqual => FloatCC::LessThanOrEqual,
            FloatCC::UnorderedOrLessThan => FloatCC::UnorderedOrGreaterThan,
            FloatCC::UnorderedOrGreaterThan => FloatCC::UnorderedOrLessThan,
            FloatCC::UnorderedOrLessThanOrEqual => FloatCC::UnorderedOrGreaterThanOrEqual,
            FloatCC::UnorderedOrGreaterThanOrEqual => FloatCC::UnorderedOrLessThanOrEqual,
            FloatCC::Ordered
            | FloatCC::Unordered
            | FloatCC::Equal
            | FloatCC::NotEqual
            | FloatCC::OrderedNotEqual
            | FloatCC::UnorderedOrEqual => self,
        }
    }

    /// Returns the code with this name.
    pub fn from_name(name: &[u8]) -> Option<FloatCC> {
        let index = FLOAT_NAMES.iter().position(|text| text.as_bytes() == name)?;
        Some(FloatCC::ALL[index])
    }
}

impl fmt::Display for FloatCC {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(FLOAT_NAMES[*self as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn int_codes() {
        for cc in IntCC::ALL {
            assert_eq!(IntCC::from_name(cc.to_string().as_bytes()), Some(cc));
            assert_eq!(cc.inverse().inverse(), cc);
            assert_eq!(cc.swap_args().swap_args(), cc);
            assert_eq!(cc.is_signed(), cc.inverse().is_signed());
        }
        assert_eq!(SignedLessThan.inverse(), SignedGreaterThanOrEqual);
        assert_eq!(UnsignedLessThan.swap_args(), UnsignedGreaterThan);
    }

    #[test]
    fn float_codes() {
        for cc in FloatCC::ALL {
            assert_eq!(FloatCC::from_name(cc.to_string().as_bytes()), Some(cc));
            assert_eq!(cc.inverse().inverse(), cc);
            assert_eq!(cc.swap_args().swap_args(), cc);
        }
        assert_eq!(FloatCC::LessThan.inverse(), FloatCC::UnorderedOrGreaterThanOrEqual);
        assert_eq!(FloatCC::GreaterThanOrEqual.inverse(), FloatCC::UnorderedOrLessThan);
    }
}
