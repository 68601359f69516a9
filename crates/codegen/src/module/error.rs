//! Errors of declarations and definitions.

use crate::error::CompileError;
use kingpost_ir::Function;
use kingpost_ir::signature::Signature;
use kingpost_mach::SymbolName;
use std::fmt;

/// An error of a module. Earlier declarations and definitions are unaffected.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ModuleError {
    /// The name is declared already, as something else.
    IncompatibleDeclaration(String),
    /// The function is declared with another signature.
    IncompatibleSignature {
        /// The function.
        name: SymbolName,
        /// The signature of its declaration.
        declared: Box<Signature>,
        /// The other signature.
        given: Box<Signature>,
    },
    /// A second definition of one name.
    DuplicateDefinition(SymbolName),
    /// A definition of an imported name.
    InvalidImportDefinition(SymbolName),
    /// A definition mentions a `uN:M` that is not declared, or it defines one.
    Undeclared(SymbolName),
    /// The function does not compile.
    Compilation {
        /// The function.
        name: SymbolName,
        /// Cause.
        error: Box<CompileError>,
    },
    /// The alignment is not a power of two, or above the limit.
    Alignment {
        /// Symbol to be aligned.
        name: SymbolName,
        /// The alignment, bytes.
        align: u64,
    },
    /// A relocation or pointer is not within the definition, or two pointers overlap.
    OutOfBounds {
        /// Symbol that is defined.
        name: SymbolName,
        /// Offset of the relocation from the start of the symbol, in bytes.
        offset: u64,
    },
    /// The object exceeds the maximum size.
    TooLarge {
        /// The object.
        name: SymbolName,
        /// The maximum size in bytes.
        limit: u64,
    },
    /// The target of an alias is not defined.
    UndefinedTarget {
        /// The alias.
        name: SymbolName,
        /// The function or data object.
        target: SymbolName,
    },
    /// Not supported.
    Unsupported {
        /// The function or object.
        name: SymbolName,
        /// Unsupported property.
        what: &'static str,
    },
}

impl ModuleError {
    /// Returns the function or data object that the error is about; `None` if a name could not be declared.
    pub fn symbol(&self) -> Option<&SymbolName> {
        match self {
            ModuleError::IncompatibleDeclaration(_) => None,
            ModuleError::DuplicateDefinition(name)
            | ModuleError::InvalidImportDefinition(name)
            | ModuleError::Undeclared(name)
            | ModuleError::IncompatibleSignature { name, .. }
            | ModuleError::Compilation { name, .. }
            | ModuleError::Alignment { name, .. }
            | ModuleError::OutOfBounds { name, .. }
            | ModuleError::TooLarge { name, .. }
            | ModuleError::UndefinedTarget { name, .. }
            | ModuleError::Unsupported { name, .. } => Some(name),
        }
    }

    /// Returns the error with block and instruction, one line for each finding. `func` is the function in its state
    /// after the failed definition. It appears under the name of its declaration.
    ///
    /// ```
    /// use kingpost_codegen::module::{Definitions, Linkage, Module};
    ///
    /// # fn example(module: &mut impl Module) {
    /// let text = "function u0:0(i32) -> i64 { block0(v0: i32): return v0 }";
    /// let mut func = kingpost_reader::parse_functions(text).unwrap().remove(0);
    /// let id = module.declare_function("wrong", Linkage::Export, &func.signature).unwrap();
    /// let error = module.define_function(id, &mut func).unwrap_err();
    /// assert!(error.pretty(&func).to_string().starts_with("%wrong: block0: `return v0`: "));
    /// # }
    /// # struct Plain(Definitions);
    /// # impl Module for Plain {
    /// #     fn definitions(&self) -> &Definitions { &self.0 }
    /// #     fn definitions_mut(&mut self) -> &mut Definitions { &mut self.0 }
    /// # }
    /// # example(&mut Plain(Definitions::new(kingpost_codegen::Compiler::host(Default::default()).unwrap())));
    /// ```
    pub fn pretty<'a>(&'a self, func: &'a Function) -> impl fmt::Display + 'a {
        fmt::from_fn(move |f| match self {
            ModuleError::Compilation { name, error } => {
                error.findings().iter().try_for_each(|finding| writeln!(f, "{}", finding.pretty_as(name, func)))
            }
            _ => writeln!(f, "{self}"),
        })
    }
}

impl fmt::Display for ModuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ModuleError::IncompatibleDeclaration(name) => write!(f, "`{name}` is declared already, as something else"),
            ModuleError::IncompatibleSignature { name, declared, given } => {
                write!(f, "{name} is declared as {declared}, not as {given}")
            }
            ModuleError::DuplicateDefinition(name) => write!(f, "{name} is defined twice"),
            ModuleError::InvalidImportDefinition(name) => write!(f, "{name} is imported, so it cannot be defined"),
            ModuleError::Undeclared(name) => write!(f, "{name} is not declared"),
            ModuleError::Compilation { name, error } => write!(f, "{name}: {error}"),
            ModuleError::Alignment { name, align } => write!(f, "{name} cannot be aligned to {align} bytes"),
            ModuleError::OutOfBounds { name, offset } => {
                write!(f, "{name}: a relocation at byte {offset} is out of place")
            }
            ModuleError::TooLarge { name, limit } => write!(f, "{name} has more than {limit} bytes"),
            ModuleError::UndefinedTarget { name, target } => {
                write!(f, "{name} cannot be an alias of {target}, which is not defined yet")
            }
            ModuleError::Unsupported { name, what } => write!(f, "{name}: {what} is not supported"),
        }
    }
}

impl std::error::Error for ModuleError {}
