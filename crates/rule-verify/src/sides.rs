//! The two sides of a CLIF rule as terms.

use kingpost_ir::types::I8;
use kingpost_ir::{TrapCode, Type};
use kingpost_rules::clif::Condition;
use kingpost_semantics::NanChoice;
use kingpost_smt::{Term, Terms};
use std::collections::HashMap;

/// Type that represents a destination.
pub(crate) const EDGE: Type = I8;

/// The code of all traps that have one as an operand: no rule looks at it.
pub(crate) const TRAP_CODE: TrapCode = TrapCode::HEAP_OUT_OF_BOUNDS;

/// The conditions that names stand for.
pub(crate) type Conditions<'r> = HashMap<&'r str, Condition>;

/// Meaning of both sides of a rule.
pub(crate) struct Sides {
    /// Assumptions.
    pub(crate) assumed: Term,
    pub(crate) values: [Term; 2],
    /// Addresses of accesses to memory.
    pub(crate) addresses: Option<[Term; 2]>,
    /// The NaNs that operations choose, the source's first, and how many those are.
    pub(crate) open: Vec<OpenNan>,
    pub(crate) open_in_source: usize,
    pub(crate) traps: [Term; 2],
    /// The values and constants by name, in order of the text.
    pub(crate) inputs: Vec<(String, Type, Term)>,
    /// The constants of nodes, by number.
    pub(crate) constants: HashMap<u32, Term>,
}

/// A NaN that an operation may choose. Operations that are written alike choose alike.
pub(crate) struct OpenNan {
    pub(crate) variable: Term,
    pub(crate) nan: NanChoice,
    /// Whether the target has such an operation.
    pub(crate) is_in_target: bool,
}

impl OpenNan {
    /// Returns the term that says whether the variable is what the operation may choose, if it chooses.
    pub(crate) fn fits(&self, terms: &mut Terms) -> Term {
        let allowed = self.nan.allows(terms, self.variable);
        terms.implies(self.nan.open, allowed)
    }
}
