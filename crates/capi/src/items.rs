//! Parts of objects that C programs refer to by number: functions of a module, values of a function.
//!
//! A handle of a part has the number of its owner in the upper 32 bits and its index in the lower ones. Numbers of
//! owners are used once, so that a part of another owner, or of one that was freed, is an error.

use crate::error::{Failure, Status};
use crate::handles::Handle;
use std::sync::atomic::{AtomicU32, Ordering};

/// A kind of part.
pub(crate) trait Item {
    /// Name of the kind in messages.
    const NAME: &'static str;
    /// Name of the kind of owner.
    const OWNER: &'static str;
}

macro_rules! items {
    ($($(#[doc = $doc:literal])* $name:ident $text:literal of $owner:literal;)*) => {
        $(
            $(#[doc = $doc])*
            #[derive(Debug)]
            pub enum $name {}

            impl Item for $name {
                const NAME: &'static str = $text;
                const OWNER: &'static str = $owner;
            }
        )*
    };
}

items! {
    /// A function of a module.
    FunctionItem "function" of "module";
    /// A data object of a module.
    DataItem "data object" of "module";
    /// A value of a function that is built.
    ValueItem "value" of "builder";
    /// A block of a function that is built.
    BlockItem "block" of "builder";
    /// A variable of a function that is built.
    VariableItem "variable" of "builder";
    /// A stack slot of a function that is built.
    SlotItem "stack slot" of "builder";
    /// A function that a function that is built can call.
    CalleeItem "callee" of "builder";
    /// A signature for indirect calls in a function that is built.
    SignatureItem "signature" of "builder";
}

/// Returns the number of a new owner.
pub(crate) fn new_tag() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    // After 2^32 owners numbers repeat. Handles of owners that are so old may then be taken for others.
    NEXT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |tag| Some(tag.checked_add(1).unwrap_or(1))).unwrap_or(1)
}

/// Returns the handle of a part.
pub(crate) fn handle<T>(tag: u32, index: usize) -> Handle<T> {
    Handle::from_bits(u64::from(tag) << 32 | index as u64 & 0xffff_ffff)
}

/// Returns the index of a part of the owner with this number.
pub(crate) fn index<T: Item>(handle: Handle<T>, tag: u32) -> Result<usize, Failure> {
    let (owner, index) = ((handle.bits() >> 32) as u32, handle.bits() as u32);
    match handle.bits() {
        0 => Err(Failure::new(Status::Handle, format!("the handle of a {} is null", T::NAME))),
        _ if owner == tag => Ok(index as usize),
        _ => Err(foreign::<T>()),
    }
}

/// Returns the failure for a part that the owner does not have.
pub(crate) fn foreign<T: Item>() -> Failure {
    Failure::new(Status::Handle, format!("the handle of a {} does not belong to this {}", T::NAME, T::OWNER))
}
