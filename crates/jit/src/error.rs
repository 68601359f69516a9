//! Why a module could not be loaded.

use kingpost_mach::{DataFault, RelocKind, SymbolName};
use std::fmt;

/// An error of loading. Nothing stays mapped.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LoadError {
    /// An undefined symbol.
    Undefined(SymbolName),
    /// A symbol that is defined twice.
    Duplicate(SymbolName),
    /// A relocation whose target is out of its reach.
    OutOfReach(SymbolName, RelocKind),
    /// A relocation of another architecture.
    Relocation(RelocKind),
    /// A data object whose fields contradict each other.
    Data(SymbolName, DataFault),
    /// An alignment that is not a power of two.
    Alignment(usize),
    /// A thread-local symbol: code in memory has none.
    ThreadLocal(SymbolName),
    /// Code for another machine than this.
    Target(String),
    /// The system refuses memory.
    Memory {
        /// Bytes asked for.
        bytes: usize,
    },
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::Undefined(name) => write!(f, "undefined symbol {name}"),
            LoadError::Duplicate(name) => write!(f, "{name} is defined twice"),
            LoadError::OutOfReach(name, kind) => write!(f, "{name} is too far away for {kind:?}"),
            LoadError::Relocation(kind) => write!(f, "relocation {kind:?} is not of this machine"),
            LoadError::Data(name, fault) => write!(f, "{name}: {fault}"),
            LoadError::Alignment(align) => write!(f, "alignment {align} is not a power of two"),
            LoadError::ThreadLocal(name) => write!(f, "{name} is thread-local, which code in memory has no place for"),
            LoadError::Target(triple) => write!(f, "code for `{triple}` cannot run here"),
            LoadError::Memory { bytes } => write!(f, "the system refuses {bytes} bytes of memory"),
        }
    }
}

impl std::error::Error for LoadError {}
