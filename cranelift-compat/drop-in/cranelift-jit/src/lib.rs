//! A replacement for Cranelift's package `cranelift-jit` with our compiler. `cranelift-compat` defines its public
//! items.

pub use cranelift_compat::{
    ArenaMemoryProvider, BranchProtection, JITBuilder, JITMemoryKind, JITMemoryProvider, JITModule,
    SystemMemoryProvider, kingpost_version,
};

#[cfg(feature = "wasmtime-unwinder")]
compile_error!(
    "Kingpost's package `cranelift-jit` does not support the feature `wasmtime-unwinder`. Remove the feature, or \
     replace only `cranelift-codegen` by Kingpost's package and keep Cranelift's `cranelift-jit`."
);

/// The version of the package that this one replaces.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
