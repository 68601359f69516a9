//! Cranelift's package `cranelift-jit`, with our compiler: its public items are those of `cranelift-compat`.

pub use cranelift_compat::{
    ArenaMemoryProvider, BranchProtection, JITBuilder, JITMemoryKind, JITMemoryProvider, JITModule,
    SystemMemoryProvider,
};

/// The version of the package that this one stands for.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
