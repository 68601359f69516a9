//! Errors in a rule that are found before any proof.

use crate::ast::Position;
use std::fmt;

/// The class of an error, as reports name it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The text is not a rule.
    Syntax,
    /// A name is used where it is not defined, or defined twice.
    Scope,
    /// A register is not used.
    UnusedTemporary,
    /// A flag that the instruction does not have.
    Flag,
    /// A function or predicate that does not exist, or with the wrong arguments.
    Function,
    /// No assignment of types satisfies the rule.
    Type,
    /// Rewriting by the rule may not terminate, or the rule is never applied.
    Order,
    /// The language has a feature that is not supported here.
    Unsupported,
}

impl ErrorKind {
    /// Returns the name in reports.
    pub fn name(self) -> &'static str {
        match self {
            ErrorKind::Syntax => "syntax",
            ErrorKind::Scope => "scope",
            ErrorKind::UnusedTemporary => "lint-unused-temporary",
            ErrorKind::Flag => "flag",
            ErrorKind::Function => "function",
            ErrorKind::Type => "type",
            ErrorKind::Order => "order",
            ErrorKind::Unsupported => "unsupported",
        }
    }
}

/// An error in a rule.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct RuleError {
    /// Its class.
    pub kind: ErrorKind,
    /// Position in the file.
    pub at: Position,
    /// Message.
    pub message: String,
}

impl RuleError {
    /// Returns an error at a place.
    pub fn new(kind: ErrorKind, at: Position, message: impl Into<String>) -> RuleError {
        RuleError { kind, at, message: message.into() }
    }
}

impl fmt::Display for RuleError {
    /// Writes `line:column: message`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.at.line, self.at.column, self.message)
    }
}

impl std::error::Error for RuleError {}
