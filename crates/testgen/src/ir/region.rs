//! Memory that a function may touch.

use kingpost_ir::{AliasRegion, StackSlot, Value};

/// Memory that a function may touch.
#[derive(Clone, Copy)]
pub(super) struct Region {
    pub(super) base: Base,
    /// Bytes, a power of two.
    pub(super) size: u32,
    /// The name under which accesses may be made.
    pub(super) name: Option<AliasRegion>,
}

#[derive(Clone, Copy)]
pub(super) enum Base {
    Slot(StackSlot),
    Pointer(Value),
}
