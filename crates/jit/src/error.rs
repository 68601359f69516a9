//! Errors of loading a module.

use kingpost_codegen::module::FuncId;
use kingpost_mach::{DataFault, RelocKind, SymbolName};
use std::fmt;

/// An error of loading. All memory has been unmapped.
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
    /// A thread-local symbol, which the JIT does not support.
    ThreadLocal(SymbolName),
    /// Code for another machine.
    Target(String),
    /// A name of a source file or folder that debug information cannot have: it is empty or contains a zero byte.
    SourceName(String),
    /// An error of the library that writes debug information.
    DebugInfo(String),
    /// A function with a construct that unwind information of this system does not describe.
    Unwind(SymbolName, &'static str),
    /// The system refused memory.
    Memory {
        /// Requested size in bytes.
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
            LoadError::ThreadLocal(name) => write!(f, "thread-local symbol {name} is not supported by the JIT"),
            LoadError::Target(triple) => write!(f, "code for `{triple}` cannot run here"),
            LoadError::SourceName(name) => write!(f, "invalid name of a source file or folder {name:?}"),
            LoadError::DebugInfo(message) => write!(f, "cannot write debug information: {message}"),
            LoadError::Unwind(name, construct) => write!(f, "{name}: {construct} with unwind information"),
            LoadError::Memory { bytes } => write!(f, "the system refuses {bytes} bytes of memory"),
        }
    }
}

impl std::error::Error for LoadError {}

/// Reason why a module has no function to call.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum MissingFunction {
    /// The function was not declared by this module.
    Undeclared(FuncId),
    /// The function is imported.
    Imported(SymbolName),
    /// The function is declared, and not defined.
    NotDefined(SymbolName),
    /// The function is defined, and not loaded.
    NotFinalized(SymbolName),
}

impl fmt::Display for MissingFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MissingFunction::Undeclared(id) => write!(f, "{id} is not declared by this module"),
            MissingFunction::Imported(name) => {
                write!(f, "{name} is imported: the module has only functions that it defines")
            }
            MissingFunction::NotDefined(name) => write!(f, "{name} is not defined: `define_function` is missing"),
            MissingFunction::NotFinalized(name) => {
                write!(f, "{name} is not loaded: `finalize_definitions` after its definition is missing")
            }
        }
    }
}

impl std::error::Error for MissingFunction {}
