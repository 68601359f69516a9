//! Names of functions and symbols, and the declarations of external functions.

use std::fmt;

use crate::entities::{SigRef, UserNameRef};
use crate::libcall::{KnownSymbol, LibCall};
use std::sync::Arc;

/// The name of a function that is defined here.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum FuncName {
    /// `%word`, without the sign.
    Named(String),
    /// `uN:M`.
    User(u32, u32),
}

/// A name for functions that modules name: `u0:0`.
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

/// The name of a function or symbol that is defined somewhere.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ExternalName {
    /// `%word`, without the sign.
    Named(Arc<str>),
    /// `uN:M` or `userextnameN`: an entry of the function's table of user names.
    User(UserNameRef),
    /// A library routine.
    LibCall(LibCall),
    /// A symbol that linkers know.
    KnownSymbol(KnownSymbol),
}

/// A declared external function.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ExtFuncData {
    /// Its name.
    pub name: ExternalName,
    /// Its signature.
    pub signature: SigRef,
    /// Whether it is defined nearby, so that no GOT or PLT is needed.
    pub colocated: bool,
    /// Whether calls can be overwritten by no-ops and back.
    pub patchable: bool,
}
