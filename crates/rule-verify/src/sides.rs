//! The two sides of a CLIF rule as terms.

use kingpost_ir::types::I8;
use kingpost_ir::{TrapCode, Type};
use kingpost_rules::clif::Condition;
use kingpost_semantics::NanChoice;
use kingpost_smt::{Term, Terms};
use std::collections::HashMap;

/// Type that represents a destination.
pub(crate) const EDGE: Type = I8;

/// Trap code of all instructions that have one as an operand. No rule depends on it.
pub(crate) const TRAP_CODE: TrapCode = TrapCode::HEAP_OUT_OF_BOUNDS;

/// Conditions by name.
pub(crate) type Conditions<'r> = HashMap<&'r str, Condition>;

/// Meaning of both sides of a rule.
pub(crate) struct Sides {
    /// Assumptions.
    pub(crate) assumed: Term,
    pub(crate) values: [Term; 2],
    /// Addresses of accesses to memory.
    pub(crate) addresses: Option<[Term; 2]>,
    /// NaNs that operations may choose, the source's first. The next field is the number of the source's NaNs.
    pub(crate) open: Vec<OpenNan>,
    pub(crate) open_in_source: usize,
    pub(crate) traps: [Term; 2],
    /// Values and constants by name, in order of the text.
    pub(crate) inputs: Vec<(String, Type, Term)>,
    /// Constants of nodes, by number.
    pub(crate) constants: HashMap<u32, Term>,
}

/// A NaN that an operation may choose. Operations with equal texts make equal choices.
pub(crate) struct OpenNan {
    pub(crate) variable: Term,
    pub(crate) nan: NanChoice,
    /// Whether the target has such an operation.
    pub(crate) is_in_target: bool,
}

impl OpenNan {
    /// Returns a term that holds if the operation may choose the value of the variable, or has no choice.
    pub(crate) fn fits(&self, terms: &mut Terms) -> Term {
        let allowed = self.nan.allows(terms, self.variable);
        terms.implies(self.nan.open, allowed)
    }
}
