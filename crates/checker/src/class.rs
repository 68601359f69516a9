//! Classes of values with equal contents.

use kingpost_regalloc::{RegClass, VRegData};

const REF: u32 = 1 << 31;

const FLOAT: u32 = 1 << 30;

/// Bound on the number of classes of values and sets.
pub(crate) const MAX_CLASSES: usize = FLOAT as usize;

/// A class of values with equal contents, or a set of classes: see
/// [`ValueNumbering`](crate::value_numbering::ValueNumbering).
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Class(u32);

impl Class {
    /// The class of an unknown content.
    pub(crate) const NONE: Class = Class(0);

    pub(crate) fn new(number: usize, data: &VRegData) -> Class {
        let float = if data.class == RegClass::Float { FLOAT } else { 0 };
        Class((number as u32 + 1) | float | if data.is_ref { REF } else { 0 })
    }

    /// Returns the class of set number `number` of values of this kind. `has_refs` is whether some are references.
    pub(crate) fn in_set(self, number: usize, has_refs: bool) -> Class {
        Class((number as u32 + 1) | self.0 & FLOAT | if has_refs { REF } else { 0 })
    }

    /// Returns the number of the class. [`Class::NONE`] has none.
    #[inline]
    pub(crate) fn number(self) -> usize {
        ((self.0 & !(REF | FLOAT)) as usize).wrapping_sub(1)
    }

    /// Returns `true` if the class is of references, or a set with references.
    #[inline]
    pub(crate) fn is_ref(self) -> bool {
        self.0 & REF != 0
    }

    pub(crate) fn reg_class(self) -> RegClass {
        if self.0 & FLOAT != 0 { RegClass::Float } else { RegClass::Int }
    }
}
