//! Memory that a function may access.

use kingpost_ir::{AliasRegion, StackSlot, Value};

/// Memory that a function may access.
#[derive(Clone, Copy)]
pub(super) struct Region {
    pub(super) base: Base,
    /// Size in bytes, a power of two.
    pub(super) size: u32,
    /// The name that accesses may use.
    pub(super) name: Option<AliasRegion>,
}

#[derive(Clone, Copy)]
pub(super) enum Base {
    Slot(StackSlot),
    Pointer(Value),
}
