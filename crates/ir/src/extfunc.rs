//! Names of functions and symbols, and the declarations of external functions.

use std::fmt;

use crate::entities::{SigRef, UserNameRef};
use crate::libcall::{KnownSymbol, LibCall};
use std::sync::Arc;

/// The name of a defined function.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FuncName {
    /// `%word`, stored without the `%`.
    Named(String),
    /// `uN:M`.
    User(u32, u32),
}

/// The default is a valid name, `u0:0`, for functions that a module names later.
impl Default for FuncName {
    fn default() -> FuncName {
        FuncName::User(0, 0)
    }
}

impl fmt::Display for FuncName {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            FuncName::Named(name) => write!(f, "%{name}"),
            FuncName::User(namespace, index) => write!(f, "u{namespace}:{index}"),
        }
    }
}

/// The name of a referenced function or symbol.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ExternalName {
    /// `%word`, stored without the `%`.
    Named(Arc<str>),
    /// `uN:M` or `userextnameN`: an entry of the function's table of user names.
    User(UserNameRef),
    /// A library routine.
    LibCall(LibCall),
    /// A symbol that linkers know.
    KnownSymbol(KnownSymbol),
}

/// A declared external function.
///
/// ```
/// use kingpost_ir::Function;
/// use kingpost_ir::builder::{ControlBuilder, InstBuilder};
/// use kingpost_ir::extfunc::{ExtFuncData, ExternalName};
/// use kingpost_ir::frontend::{FrontendContext, FunctionBuilder};
///
/// let (mut func, mut scratch) = (Function::default(), FrontendContext::default());
/// let mut b = FunctionBuilder::new(&mut func, &mut scratch);
/// let signature = b.import_signature(b.func.signature.clone());
/// let name = ExternalName::Named("abort".into());
/// let abort = b.import_function(ExtFuncData { name, signature, colocated: false, patchable: false });
/// let entry = b.create_block();
/// b.switch_to_block(entry);
/// b.ins().call(abort, &[]);
/// b.ins().return_(&[]);
/// b.seal_all_blocks();
/// b.finalize().unwrap();
/// assert!(func.to_string().contains("fn0 = %abort sig0"));
/// ```
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ExtFuncData {
    /// Its name.
    pub name: ExternalName,
    /// Its signature.
    pub signature: SigRef,
    /// Whether the function is defined nearby, so that no GOT or PLT is needed.
    pub colocated: bool,
    /// Whether calls can be overwritten by no-ops and restored.
    pub patchable: bool,
}
