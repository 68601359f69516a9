//! A replacement for Cranelift's package `cranelift-object` with our compiler. `cranelift-compat` defines its public
//! items.

pub use cranelift_compat::{ObjectBuilder, ObjectModule, ObjectProduct, kingpost_version};
pub use object;

/// The version of the package that this one replaces.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
