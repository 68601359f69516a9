//! The conditions of comparisons.

use kingpost_ir::condcodes::{FloatCC, IntCC};
use kingpost_ir::{Format, Opcode};
use std::fmt;

/// The condition of `icmp` or of `fcmp`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Condition {
    /// Of integers.
    Int(IntCC),
    /// Of floats.
    Float(FloatCC),
}

impl Condition {
    /// Returns all conditions of a comparison, or no conditions for another opcode.
    pub fn all_of(opcode: Opcode) -> Vec<Condition> {
        match opcode.format() {
            Format::IntCompare => IntCC::ALL.map(Condition::Int).to_vec(),
            Format::FloatCompare => FloatCC::ALL.map(Condition::Float).to_vec(),
            _ => Vec::new(),
        }
    }

    /// Returns the condition of this name that a comparison may have.
    pub fn named(opcode: Opcode, name: &str) -> Option<Condition> {
        Condition::all_of(opcode).into_iter().find(|condition| condition.to_string() == name)
    }

    /// Returns the condition that holds exactly if this one does not.
    #[must_use]
    pub fn inverse(self) -> Condition {
        match self {
            Condition::Int(condition) => Condition::Int(condition.inverse()),
            Condition::Float(condition) => Condition::Float(condition.inverse()),
        }
    }

    /// Returns the condition that holds with exchanged operands.
    #[must_use]
    pub fn swap_args(self) -> Condition {
        match self {
            Condition::Int(condition) => Condition::Int(condition.swap_args()),
            Condition::Float(condition) => Condition::Float(condition.swap_args()),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Condition::Int(condition) => condition.fmt(f),
            Condition::Float(condition) => condition.fmt(f),
        }
    }
}
