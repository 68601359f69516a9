//! Errors in a text, with their positions.

use kingpost_ir::immediates::LiteralError;
use kingpost_ir::{Opcode, Type};
use std::fmt;

/// An error with its position in the text.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Error {
    /// The file's name, if the caller gave one with [`Error::in_file`].
    pub file: Option<Box<str>>,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// Offset in bytes from the start of the text.
    pub offset: usize,
    /// The error.
    pub kind: ErrorKind,
}

impl Error {
    /// Returns this error with the name of the file.
    #[must_use]
    pub fn in_file(self, file: &str) -> Error {
        Error { file: Some(file.into()), ..self }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{file}:")?;
        }
        write!(f, "{}:{}: {}", self.line, self.column, self.kind)
    }
}

impl std::error::Error for Error {}

/// Error in a text.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The text is not UTF-8.
    InvalidUtf8,
    /// Something else was expected.
    Expected {
        /// Name of the expected thing.
        what: &'static str,
        /// The text that was found; empty at the end of the file.
        found: Box<str>,
    },
    /// A limit of the implementation is exceeded.
    Limit {
        /// Quantity that exceeds its limit.
        what: &'static str,
        /// Limit.
        limit: u64,
    },
    /// No opcode has this name.
    UnknownOpcode(Box<str>),
    /// No type has this name.
    UnknownType(Box<str>),
    /// An entity is declared or defined twice.
    Duplicate {
        /// The entity's prefix, such as `v` or `block`.
        prefix: &'static str,
        /// Its number.
        number: u32,
    },
    /// An entity is used that the preamble does not declare.
    Undeclared {
        /// The entity's prefix.
        prefix: &'static str,
        /// Its number.
        number: u32,
    },
    /// A value is used that has no definition, or an alias precedes the definition of its value.
    UndefinedValue(u32),
    /// A value would be its own alias.
    AliasCycle(u32),
    /// An alias region is not numbered in order.
    RegionOrder {
        /// The next number.
        expected: u32,
    },
    /// The stack limit is declared twice.
    SecondStackLimit,
    /// An instruction precedes the first block.
    InstructionOutsideBlock,
    /// An opcode without a type suffix has one.
    SuffixNotAllowed(Opcode),
    /// The opcode requires a type suffix.
    SuffixRequired(Opcode),
    /// The type of the operand that determines the controlling type is not known yet.
    CannotInfer {
        /// The opcode.
        opcode: Opcode,
        /// The operand.
        value: u32,
    },
    /// The opcode does not accept the controlling type.
    BadControllingType {
        /// The opcode.
        opcode: Opcode,
        /// The type.
        ty: Type,
    },
    /// The number of names before `=` differs from the number of results.
    ResultCount {
        /// The opcode.
        opcode: Opcode,
        /// Number of results of the instruction.
        expected: usize,
        /// Number of names before it.
        found: usize,
    },
    /// A number is malformed or cannot be represented.
    Literal(LiteralError),
    /// A constant has too many or too few bytes or lanes.
    ConstantSize {
        /// `bytes` or `lanes`.
        unit: &'static str,
        /// Number of the type.
        expected: usize,
        /// Number in the text.
        found: usize,
    },
    /// A hexadecimal constant has half a byte.
    OddDigits,
    /// Memory flags contradict each other.
    FlagConflict(&'static str),
    /// The flags of a `load` global value lack `notrap` or `aligned`.
    GlobalValueFlags,
    /// A type is not allowed here.
    BadType {
        /// Kind of type that is expected.
        what: &'static str,
        /// The type.
        ty: Type,
    },
    /// An alignment is not a power of two.
    BadAlignment(u64),
    /// An instruction other than a call that returns has a stack map.
    StackMapNotAllowed,
    /// A directive and the signature of the function differ in the number of arguments or results.
    ValueCount {
        /// `arguments` or `results`.
        what: &'static str,
        /// Number of the signature.
        expected: usize,
        /// Number in the text.
        found: usize,
    },
    /// A `run` without an invocation is on a function with parameters, or with results other than one integer; or a
    /// bare `print` is on a function with parameters.
    BareDirective,
    /// Directives cannot express a value of this type.
    UnsupportedType(Type),
    /// A data object is defined twice.
    DuplicateData(Box<str>),
    /// A `set` line after the last `target` line has no effect.
    SettingAfterTargets,
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            ErrorKind::InvalidUtf8 => f.write_str("the text is not valid UTF-8"),
            ErrorKind::Expected { what, found } if found.is_empty() => {
                write!(f, "expected {what}, but the text ends here")
            }
            ErrorKind::Expected { what, found } => write!(f, "expected {what}, found `{found}`"),
            ErrorKind::Limit { what, limit } => write!(f, "too large: {what} is limited to {limit}"),
            ErrorKind::UnknownOpcode(name) => write!(f, "unknown opcode `{name}`"),
            ErrorKind::UnknownType(name) => write!(f, "unknown type `{name}`"),
            ErrorKind::Duplicate { prefix, number } => write!(f, "{prefix}{number} is defined twice"),
            ErrorKind::Undeclared { prefix, number } => write!(f, "{prefix}{number} is not declared"),
            ErrorKind::UndefinedValue(number) => write!(f, "v{number} is not defined"),
            ErrorKind::AliasCycle(number) => write!(f, "v{number} would be an alias of itself"),
            ErrorKind::RegionOrder { expected } => {
                write!(f, "alias regions are numbered in order; region{expected} is next")
            }
            ErrorKind::SecondStackLimit => f.write_str("a second stack limit"),
            ErrorKind::InstructionOutsideBlock => f.write_str("an instruction before the first block"),
            ErrorKind::SuffixNotAllowed(opcode) => write!(f, "{opcode} takes no type suffix"),
            ErrorKind::SuffixRequired(opcode) => write!(f, "{opcode} needs a type suffix, as in `{opcode}.i32`"),
            ErrorKind::CannotInfer { opcode, value } => {
                write!(f, "{opcode} needs a type suffix here, because v{value} is not defined above")
            }
            ErrorKind::BadControllingType { opcode, ty } => {
                write!(f, "{ty} is no controlling type of {opcode}, which takes {}", opcode.info().class.name())
            }
            ErrorKind::ResultCount { opcode, expected, found } => {
                write!(f, "{opcode} has {expected} results here, but {found} names stand before it")
            }
            ErrorKind::Literal(error) => error.fmt(f),
            ErrorKind::ConstantSize { unit, expected, found } => {
                write!(f, "the constant has {found} {unit}, its type has {expected}")
            }
            ErrorKind::OddDigits => f.write_str("a byte of the constant lacks a digit"),
            ErrorKind::FlagConflict(flag) => write!(f, "memory flag `{flag}` contradicts an earlier one"),
            ErrorKind::GlobalValueFlags => f.write_str("the load of a global value must be notrap and aligned"),
            ErrorKind::BadType { what, ty } => write!(f, "expected {what}, found type {ty}"),
            ErrorKind::BadAlignment(align) => write!(f, "alignment {align} is not a power of two up to 2^31"),
            ErrorKind::StackMapNotAllowed => f.write_str("only calls that return here have stack maps"),
            ErrorKind::ValueCount { what, expected, found } => {
                let what = if *expected == 1 { what.trim_end_matches('s') } else { what };
                write!(f, "the function has {expected} {what}, the directive {found}")
            }
            ErrorKind::BareDirective => f.write_str(
                "without an invocation the function must have no parameters, and for `run` one integer result",
            ),
            ErrorKind::UnsupportedType(ty) => write!(f, "directives cannot write values of type {ty}"),
            ErrorKind::DuplicateData(name) => write!(f, "data object {name} is defined twice"),
            ErrorKind::SettingAfterTargets => f.write_str("a `set` line after the last `target` line"),
        }
    }
}

impl ErrorKind {
    /// Returns `true` if the error is about the name that ends at its position. Such an error is found after the
    /// name has been read.
    fn is_behind(&self) -> bool {
        matches!(
            self,
            ErrorKind::Duplicate { .. }
                | ErrorKind::Undeclared { .. }
                | ErrorKind::UndefinedValue(_)
                | ErrorKind::AliasCycle(_)
        )
    }
}

/// Returns the start of the word that ends at `position`, or `position` if no word ends there.
fn start_of_word(text: &[u8], position: usize) -> usize {
    let before = &text[..position.min(text.len())];
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    position - before.iter().rev().take_while(|&byte| is_word(byte)).count()
}

/// Returns `true` if the expected text continues the text before it.
fn continues(what: &str) -> bool {
    ["`,`", "`:`", "`=`", "`)`", "`]`"].iter().any(|punctuation| what.starts_with(punctuation))
}

/// Returns the end of the text before `position` if a line begins with the token at `position`, because the missing
/// token belongs there. Returns `position` otherwise.
fn end_of_line_before(text: &[u8], position: usize) -> usize {
    let mut end = position.min(text.len());
    loop {
        let blanks = &text[..end];
        let start = blanks.iter().rposition(|&byte| byte == b'\n').map_or(0, |index| index + 1);
        let line = blanks[start..].split(|&byte| byte == b';').next().unwrap_or_default().trim_ascii_end();
        match (line.is_empty(), start.checked_sub(1)) {
            (false, _) if end == position => return position,
            (false, _) => return start + line.len(),
            (true, None) => return position,
            (true, Some(line_end)) => end = line_end,
        }
    }
}

/// An error at a byte offset. Line and column are computed only when the error leaves the crate.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) position: usize,
    pub(crate) kind: ErrorKind,
}

pub(crate) type Result<T> = std::result::Result<T, Box<Fault>>;

/// Returns an error at a byte offset.
#[cold]
pub(crate) fn fault<T>(position: usize, kind: ErrorKind) -> Result<T> {
    Err(Box::new(Fault { position, kind }))
}

impl Fault {
    /// Returns the error with its line and column.
    pub(crate) fn locate(self, text: &[u8]) -> Error {
        self.locate_after(text, &mut Lines::default())
    }

    /// Returns the error with its line and column. `lines` records the last position in this text, so that the cost
    /// of many errors is linear in the text.
    pub(crate) fn locate_after(self, text: &[u8], lines: &mut Lines) -> Error {
        let offset = match &self.kind {
            kind if kind.is_behind() => start_of_word(text, self.position),
            ErrorKind::Expected { what, .. } if continues(what) => end_of_line_before(text, self.position),
            _ => self.position,
        };
        let Position { line, column } = lines.position(text, offset);
        Error { file: None, line, column, offset, kind: self.kind }
    }
}

/// Position in a text.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

impl Position {
    /// Returns the position of a byte in `text`. Cost: linear in the text before it.
    pub fn of(text: &[u8], offset: usize) -> Position {
        Lines::default().position(text, offset)
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Converter of offsets in one text to lines and columns, which continues at the last one. The total cost of
/// offsets that do not decrease is linear, except for the columns.
#[derive(Clone, Debug)]
pub struct Lines {
    position: usize,
    line: u32,
    line_start: usize,
}

impl Default for Lines {
    fn default() -> Self {
        Lines { position: 0, line: 1, line_start: 0 }
    }
}

impl Lines {
    /// Returns the position of a byte of the text, which must be one text in all calls. An offset beyond the end
    /// counts as the end.
    pub fn position(&mut self, text: &[u8], offset: usize) -> Position {
        let position = offset.min(text.len());
        if position < self.position {
            *self = Lines::default();
        }
        let passed = &text[self.position..position];
        self.line += passed.iter().filter(|&&byte| byte == b'\n').count() as u32;
        if let Some(index) = passed.iter().rposition(|&byte| byte == b'\n') {
            self.line_start = self.position + index + 1;
        }
        self.position = position;
        // Continuation bytes of UTF-8 are not characters of their own.
        let columns = text[self.line_start..position].iter().filter(|&&byte| byte & 0xc0 != 0x80).count();
        Position { line: self.line, column: columns as u32 + 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions() {
        let at = |text: &str, position| {
            let error = Fault { position, kind: ErrorKind::OddDigits }.locate(text.as_bytes());
            (error.line, error.column)
        };
        assert_eq!(at("abc", 0), (1, 1));
        assert_eq!(at("a\nbc\n", 3), (2, 2));
        assert_eq!(at("a\nbc\n", 99), (3, 1));
        assert_eq!(at("ä;x", 3), (1, 3));
        let mut lines = Lines::default();
        let places = [1, 4, 4, 5, 0].map(|offset| lines.position(b"ab\nc\n", offset).to_string());
        assert_eq!(places, ["1:2", "2:2", "2:2", "3:1", "1:1"]);
        let error = Fault { position: 3, kind: ErrorKind::UndefinedValue(7) }.locate(b" v7").in_file("a.clif");
        assert_eq!(error.to_string(), "a.clif:1:2: v7 is not defined");
    }
}
