//! Errors in a `.ra` text.

use std::fmt;

/// Error in a text, with its place.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ParseError {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub col: u32,
    /// Error.
    pub kind: ParseErrorKind,
}

/// Error in a `.ra` text.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// Something else was expected.
    Unexpected {
        /// Beginning of the text found.
        found: String,
        /// Expected text.
        expected: &'static str,
    },
    /// A used entity has no declaration before it (for blocks and instructions: in the problem).
    Unknown {
        /// Its name.
        name: String,
    },
    /// An entity is declared twice, or a register listed twice.
    Duplicate {
        /// Its name.
        name: String,
    },
    /// A number is larger than its place allows.
    TooLarge {
        /// The number as written.
        number: String,
        /// The largest one allowed.
        limit: u64,
    },
    /// A problem has more entities of one kind than allowed.
    TooMany {
        /// Kind of the entities.
        what: &'static str,
        /// Limit.
        limit: u64,
    },
    /// An instruction or an edge list follows the edges that end a block.
    AfterEdges,
    /// An allocation has more or fewer locations for an instruction than the instruction has operands.
    LocationCount {
        /// Number of locations in the text.
        found: usize,
        /// Number of operands of the instruction.
        expected: usize,
    },
    /// An allocation without a problem before it.
    NoProblem,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: ", self.line, self.col)?;
        match &self.kind {
            ParseErrorKind::Unexpected { found, expected } => write!(f, "expected {expected}, found {found}"),
            ParseErrorKind::Unknown { name } => write!(f, "unknown {name}"),
            ParseErrorKind::Duplicate { name } => write!(f, "second {name}"),
            ParseErrorKind::TooLarge { number, limit } => write!(f, "{number} is more than {limit}"),
            ParseErrorKind::TooMany { what, limit } => write!(f, "more than {limit} {what}"),
            ParseErrorKind::AfterEdges => f.write_str("nothing follows the edges of a block but another block"),
            ParseErrorKind::LocationCount { found, expected } => {
                write!(f, "{found} locations for {expected} operands")
            }
            ParseErrorKind::NoProblem => f.write_str("an allocation follows its problem"),
        }
    }
}

impl std::error::Error for ParseError {}
