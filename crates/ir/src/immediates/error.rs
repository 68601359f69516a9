//! Errors in the text of numbers.

use std::fmt;

/// Error in the text of a number.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LiteralError {
    /// Not a number of this kind.
    Syntax,
    /// The value does not fit the width.
    OutOfRange,
    /// The value cannot be represented without rounding.
    Inexact,
    /// The text has more digits than any value needs.
    TooManyDigits,
}

impl fmt::Display for LiteralError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            LiteralError::Syntax => "invalid number",
            LiteralError::OutOfRange => "number out of range",
            LiteralError::Inexact => "number cannot be represented exactly",
            LiteralError::TooManyDigits => "too many digits",
        })
    }
}

impl std::error::Error for LiteralError {}
