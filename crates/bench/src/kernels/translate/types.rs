//! Types of the front end's language, and the types that C computes with.

use anyhow::{Result, ensure};
use kingpost_ir::Type;
use kingpost_ir::types::{F64, I8, I16, I32, I64};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Scalar {
    Void,
    /// Result of a comparison, before it is extended.
    Truth,
    Integer {
        bits: u8,
        is_signed: bool,
    },
    Float,
    /// Pointer to a function, with the index of its `typedef`.
    Function(u8),
}

/// A type: a scalar, or pointers to one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CType {
    pub(super) scalar: Scalar,
    pub(super) pointers: u8,
}

pub(super) const fn integer(bits: u8, is_signed: bool) -> CType {
    CType { scalar: Scalar::Integer { bits, is_signed }, pointers: 0 }
}

pub(super) const INT: CType = integer(32, true);
pub(super) const FLOAT: CType = CType { scalar: Scalar::Float, pointers: 0 };
pub(super) const TRUTH: CType = CType { scalar: Scalar::Truth, pointers: 0 };
/// The type of the name of a function, which is converted to each type of pointers.
pub(super) const ADDRESS: CType = integer(64, false);
pub(super) const VOID: CType = CType { scalar: Scalar::Void, pointers: 0 };

impl CType {
    pub(super) fn named(name: &str) -> Option<CType> {
        Some(match name {
            "void" => VOID,
            "u8" => integer(8, false),
            "u16" => integer(16, false),
            "u32" => integer(32, false),
            "u64" => integer(64, false),
            "i32" => INT,
            "i64" => integer(64, true),
            "f64" => FLOAT,
            _ => return None,
        })
    }

    /// Returns the type of the pointers to functions that a `typedef` names.
    pub(super) fn function(index: u8) -> CType {
        CType { scalar: Scalar::Function(index), pointers: 0 }
    }

    pub(super) fn clif(self) -> Type {
        match self.scalar {
            Scalar::Function(_) => I64,
            _ if self.pointers > 0 => I64,
            Scalar::Integer { bits: 16, .. } => I16,
            Scalar::Integer { bits: 32, .. } => I32,
            Scalar::Integer { bits: 64, .. } => I64,
            Scalar::Integer { .. } | Scalar::Truth | Scalar::Void => I8,
            Scalar::Float => F64,
        }
    }

    pub(super) fn is_float(self) -> bool {
        self == FLOAT
    }

    pub(super) fn is_signed(self) -> bool {
        self.pointers == 0 && matches!(self.scalar, Scalar::Integer { is_signed: true, .. })
    }

    pub(super) fn to_pointer(self) -> CType {
        CType { pointers: self.pointers + 1, ..self }
    }

    pub(super) fn pointee(self) -> Result<CType> {
        ensure!(self.pointers > 0, "no pointer");
        Ok(CType { pointers: self.pointers - 1, ..self })
    }
}

/// Returns the type that C computes with for two promoted operands.
pub(super) fn common(left: CType, right: CType) -> CType {
    if left.pointers > 0 || right.pointers > 0 {
        return integer(64, false);
    }
    if left.is_float() || right.is_float() {
        return FLOAT;
    }
    let bits = left.clif().bits().max(right.clif().bits()) as u8;
    // Of two types of equal size, the unsigned one is used. Of two sizes, the larger one.
    let is_unsigned = |ty: CType| ty.clif().bits() as u8 == bits && !ty.is_signed();
    integer(bits, !is_unsigned(left) && !is_unsigned(right))
}
