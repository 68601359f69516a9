//! Errors of writing an object.

use kingpost_mach::{DataFault, RelocKind};
use std::fmt;

/// An error of writing an object.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ObjectError {
    /// Two definitions have one name in the object.
    Duplicate(String),
    /// The names `%u_N_M` and `uN:M` with these numbers both occur, but they are one symbol of the object.
    Alike(u32, u32),
    /// A function or data object that is declared to be defined here and referred to, but not defined.
    Undefined(String),
    /// A name that objects cannot have: it is empty or contains a zero byte.
    Name(String),
    /// A data object whose fields contradict each other.
    Data(String, DataFault),
    /// A section that already has data of another kind: read-only, writable or thread-local.
    Section(String),
    /// A target without a supported object format.
    Target(String),
    /// A relocation that the target's objects do not support.
    Relocation(RelocKind),
    /// Something that the target's objects do not support.
    Unsupported {
        /// The construct.
        what: String,
        /// The target's triple.
        target: String,
    },
    /// More or larger than an object can have.
    TooLarge {
        /// The quantity: a number or size of something.
        what: String,
        /// The limit, in bytes or in number.
        limit: u64,
    },
    /// An error of the library that writes objects.
    Format(String),
}

impl ObjectError {
    /// Creates the error of a library that writes objects.
    pub(crate) fn format(error: impl fmt::Display) -> ObjectError {
        ObjectError::Format(error.to_string())
    }
}

impl fmt::Display for ObjectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ObjectError::Duplicate(name) => write!(f, "symbol `{name}` is defined twice"),
            ObjectError::Alike(n, m) => {
                write!(f, "`%u_{n}_{m}` and `u{n}:{m}` would be one symbol, `u_{n}_{m}`: rename one")
            }
            ObjectError::Undefined(name) => write!(f, "`{name}` is declared to be defined here, but is not"),
            ObjectError::Name(name) => write!(f, "invalid symbol, section or file name {name:?}"),
            ObjectError::Data(name, fault) => write!(f, "{name}: {fault}"),
            ObjectError::Section(name) => write!(f, "section `{name}` already has data of another kind"),
            ObjectError::Target(triple) => write!(f, "no object format for target `{triple}`"),
            ObjectError::Relocation(kind) => write!(f, "the target's objects have no relocation {kind:?}"),
            ObjectError::Unsupported { what, target } => write!(f, "{what} is not supported in objects for `{target}`"),
            ObjectError::TooLarge { what, limit } => write!(f, "the {what} exceeds the limit of objects, {limit}"),
            ObjectError::Format(message) => write!(f, "cannot write the object: {message}"),
        }
    }
}

impl std::error::Error for ObjectError {}
