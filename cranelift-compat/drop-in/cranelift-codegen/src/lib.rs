//! A replacement for Cranelift's package `cranelift-codegen` with our compiler.
//!
//! All items are the items of the published package, except for [`Context`], whose `compile` methods compile with our
//! compiler. Clients that compile through a `Context` need no other change: Cranelift's own modules and Wasmtime do.
//!
//! | environment variable | effect |
//! |---|---|
//! | `KINGPOST_LOG=1` | prints which compiler is used to standard error, once for each target and settings |
//! | `KINGPOST_REGALLOC=NAME` | selects an allocator |
//! | `KINGPOST_CHECKER=1` | turns the checker of allocations on |
//! | `KINGPOST_CRANELIFT=targets` | leaves targets that we do not support to Cranelift's compiler, instead of an error |
//! | `KINGPOST_CRANELIFT=always` | leaves everything to Cranelift's compiler, for comparisons |

mod context;
mod log;
mod select;

pub use context::Context;
pub use upstream::*;

/// The version of the package that this one replaces. The build of a copy in a repository adds the repository's commit.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Our compiler, and its selection.
pub mod kingpost {
    pub use crate::context::compiled_functions;
    pub use crate::select::with_cranelift;
    pub use cranelift_compat_core::{Compiler, Defaults, Routines, alignment, lib_call, routine, translate};
    /// Cranelift's context, whose `compile` methods compile with Cranelift's compiler.
    pub use upstream::Context as CraneliftContext;
}

/// Returns the version of Kingpost that compiles in the place of Cranelift.
pub fn kingpost_version() -> &'static str {
    cranelift_compat_core::VERSION
}
