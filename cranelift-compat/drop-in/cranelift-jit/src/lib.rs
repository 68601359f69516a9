//! A replacement for Cranelift's package `cranelift-jit` with our compiler. `cranelift-compat` defines its public
//! items.

pub use cranelift_compat::{
    ArenaMemoryProvider, BranchProtection, JITBuilder, JITMemoryKind, JITMemoryProvider, JITModule,
    SystemMemoryProvider,
};

/// The version of the package that this one replaces.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
