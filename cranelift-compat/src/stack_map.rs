//! Stack maps in Cranelift's form.
//!
//! Only Cranelift makes them; but it reads them as well, so that they are written for it to read.

use cranelift_codegen::bitset::CompoundBitSet;
use cranelift_codegen::ir::{Type, UserStackMap, types};
use kingpost_mach::StackMapEntry;

/// The stack map of one call. Offsets are from the stack pointer of the body.
pub(crate) fn user_stack_map(entries: &[StackMapEntry]) -> UserStackMap {
    let mut by_type: Vec<(Type, CompoundBitSet)> = Vec::new();
    for entry in entries {
        let ty = reference_type(entry.ty);
        let index = by_type.iter().position(|(known, _)| *known == ty).unwrap_or_else(|| {
            by_type.push((ty, CompoundBitSet::new()));
            by_type.len() - 1
        });
        by_type[index].1.insert(entry.offset as usize);
    }
    // The distance from the stack pointer to the slots is still to be added.
    let bytes = postcard::to_allocvec(&(by_type, None::<u32>)).expect("a vector takes everything");
    postcard::from_bytes(&bytes).expect("the form that Cranelift reads")
}

/// The type of a reference.
fn reference_type(ty: kingpost_ir::Type) -> Type {
    Type::int(ty.bits() as u16).unwrap_or(types::I64)
}
