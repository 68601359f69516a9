//! Flags, computed when they are read.
//!
//! Most instructions that set flags are followed by no instruction that reads them. A flag is therefore the operation
//! that sets it, until an instruction reads it.

use crate::a64::Nzcv;
use crate::world::World;
use kingpost_smt::{Sort, Term};

/// A flag of a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Flag {
    /// A boolean.
    Value(Term),
    /// The flag of this number after an operation of AArch64.
    A64(Nzcv, u8),
    /// A value that the manual leaves open.
    Unspecified,
}

impl Flag {
    /// Returns the value of the flag as a boolean.
    pub(crate) fn value(self, world: &mut impl World) -> Term {
        match self {
            Flag::Value(value) => value,
            Flag::A64(nzcv, number) => nzcv.flag(world.terms(), number.into()),
            Flag::Unspecified => world.unspecified(Sort::Bool),
        }
    }
}
