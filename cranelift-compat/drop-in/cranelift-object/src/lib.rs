//! Cranelift's package `cranelift-object`, with our compiler: its public items are those of `cranelift-compat`.

pub use cranelift_compat::{ObjectBuilder, ObjectModule, ObjectProduct};
pub use object;

/// The version of the package that this one stands for.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
