//! Compilation of functions of Cranelift by our compiler, for the package `cranelift-codegen` in `../drop-in`, whose
//! `Context` compiles with it.
//!
//! This crate depends on the copy of Cranelift's code generator in `../.upstream`, and on nothing that depends on the
//! package `cranelift-codegen`.
//!
//! | file | holds |
//! |---|---|
//! | `translate/` | a function of Cranelift as one of ours |
//! | `settings.rs` | Cranelift's settings and CPU flags as ours |
//! | `compiler.rs` | compilation of a function of Cranelift by our compiler |
//! | `pool.rs` | parts of compilers, kept for later compilers |
//! | `compiled_code.rs` | compiled code in Cranelift's form |
//! | `stencil.rs` | that form as an entry of Cranelift's cache, in which versions differ |
//! | `library.rs` | library routines that Cranelift does not have |
//! | `literals.rs` | constants after the code that loads them |

mod compiled_code;
mod compiler;
mod library;
mod literals;
mod pool;
mod settings;
mod stencil;
mod translate;

pub use compiler::{Compiler, Routines};
pub use library::routine;
pub use settings::Defaults;
pub use stencil::alignment;
pub use translate::{lib_call, translate};

/// The version of our compiler.
pub const VERSION: &str = kingpost_codegen::VERSION;
