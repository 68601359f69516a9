//! Errors of compiling a function for a target.

use kingpost_ir::{AnyEntity, Opcode, Type};
use kingpost_meter::{BYTES, Exceeded, WORK};
use std::fmt;

/// Error of lowering or emission.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LowerError {
    /// The target has no code for this opcode at this type.
    Opcode {
        /// Opcode that is not supported.
        opcode: Opcode,
        /// Controlling type of the opcode, else the type of its first result or operand, if it has one.
        ty: Option<Type>,
        /// Name of the target.
        target: &'static str,
    },
    /// The calling convention cannot pass this, or a feature of the function is not supported.
    Feature {
        /// Unsupported feature.
        what: &'static str,
        /// Name of the target.
        target: &'static str,
    },
    /// The opcode needs a setting that is off.
    Setting {
        /// Opcode that needs the setting.
        opcode: Opcode,
        /// Key of the setting.
        key: &'static str,
    },
    /// A resource limit is exceeded.
    TooLarge {
        /// Quantity that exceeds its limit.
        what: &'static str,
        /// Limit of the quantity.
        limit: u64,
    },
    /// Another thread cancels.
    Cancelled,
}

impl From<Exceeded> for LowerError {
    fn from(exceeded: Exceeded) -> LowerError {
        match exceeded {
            Exceeded::Work { limit } => LowerError::TooLarge { what: WORK, limit },
            Exceeded::Bytes { limit } => LowerError::TooLarge { what: BYTES, limit },
            _ => LowerError::Cancelled,
        }
    }
}

impl fmt::Display for LowerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LowerError::Opcode { opcode, ty: Some(ty), target } => {
                write!(f, "`{opcode}` on {ty} is not supported for {target}")
            }
            LowerError::Opcode { opcode, ty: None, target } => write!(f, "`{opcode}` is not supported for {target}"),
            LowerError::Feature { what, target } => write!(f, "{what} is not supported for {target}"),
            LowerError::Setting { opcode, key } => write!(f, "`{opcode}` needs the setting `{key}`"),
            LowerError::TooLarge { what, limit } => write!(f, "more than {limit} {what}"),
            LowerError::Cancelled => f.write_str("cancelled"),
        }
    }
}

impl std::error::Error for LowerError {}

/// Error of lowering, and its location.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The instruction that could not be lowered, or else the function.
    pub location: AnyEntity,
    /// Error at this location.
    pub error: LowerError,
}

impl Refusal {
    /// Returns a function that ties an error to an entity.
    pub fn of(location: impl Into<AnyEntity>) -> impl FnOnce(LowerError) -> Refusal {
        let location = location.into();
        move |error| Refusal { location, error }
    }
}

impl From<LowerError> for Refusal {
    fn from(error: LowerError) -> Refusal {
        Refusal { location: AnyEntity::Function, error }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl std::error::Error for Refusal {}
#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_ir::types::I8X16;

    #[test]
    fn a_reason_names_a_type_only_if_there_is_one() {
        let text = |ty| LowerError::Opcode { opcode: Opcode::Swizzle, ty, target: "x86_64" }.to_string();
        assert_eq!(text(None), "`swizzle` is not supported for x86_64");
        assert_eq!(text(Some(I8X16)), "`swizzle` on i8x16 is not supported for x86_64");
    }
}
