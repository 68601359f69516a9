//! The two templates of a rule, and the sizes of their types.

use kingpost_rules::types::Type;

/// Template of a rule.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Template {
    Source,
    Target,
}

impl Template {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Template::Source => "source",
            Template::Target => "target",
        }
    }
}

/// Returns the size of a type, in bits. The size of an array is the size of its elements in memory.
pub(crate) fn bits(ty: &Type, pointer_bits: u32) -> u64 {
    match ty {
        Type::Int(width) => u64::from(*width),
        Type::Pointer(_) => u64::from(pointer_bits),
        Type::Array(length, element) => u64::from(*length).saturating_mul(8 * bytes(element, pointer_bits)),
    }
}

/// Returns the size of a type in memory, in bytes.
pub(crate) fn bytes(ty: &Type, pointer_bits: u32) -> u64 {
    bits(ty, pointer_bits).div_ceil(8)
}
