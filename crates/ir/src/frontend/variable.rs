//! Variables of front ends, and errors in their use.

use cranelift_entity::entity_impl;
use std::fmt;

use crate::types::Type;

/// A variable of the front end.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Variable(u32);
entity_impl!(Variable, "var");

/// Error in the use of a variable.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum VariableError {
    /// The variable was not declared by this builder.
    Undeclared(Variable),
    /// A value of another type was assigned.
    Mismatch {
        /// The variable.
        variable: Variable,
        /// Its type.
        expected: Type,
        /// The type of the value.
        found: Type,
    },
}

impl fmt::Display for VariableError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            VariableError::Undeclared(variable) => write!(f, "{variable} is not declared"),
            VariableError::Mismatch { variable, expected, found } => {
                write!(f, "{variable} has type {expected} and cannot hold a value of type {found}")
            }
        }
    }
}

impl std::error::Error for VariableError {}
