//! The operations of `atomic_rmw`.

use std::fmt;

/// Operation of an `atomic_rmw`. It computes the value to write from the old value and the operand.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum AtomicRmwOp {
    /// Wrapping sum.
    Add,
    /// Wrapping difference.
    Sub,
    /// Bitwise and.
    And,
    /// Complement of the bitwise and.
    Nand,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// The operand itself.
    Xchg,
    /// Unsigned minimum.
    Umin,
    /// Unsigned maximum.
    Umax,
    /// Signed minimum.
    Smin,
    /// Signed maximum.
    Smax,
}

const NAMES: [&str; 11] = ["add", "sub", "and", "nand", "or", "xor", "xchg", "umin", "umax", "smin", "smax"];

impl AtomicRmwOp {
    /// All operations, in the order of their numbers.
    pub const ALL: [AtomicRmwOp; 11] = [
        AtomicRmwOp::Add,
        AtomicRmwOp::Sub,
        AtomicRmwOp::And,
        AtomicRmwOp::Nand,
        AtomicRmwOp::Or,
        AtomicRmwOp::Xor,
        AtomicRmwOp::Xchg,
        AtomicRmwOp::Umin,
        AtomicRmwOp::Umax,
        AtomicRmwOp::Smin,
        AtomicRmwOp::Smax,
    ];

    /// Returns the operation with this name.
    pub fn from_name(name: &[u8]) -> Option<AtomicRmwOp> {
        let index = NAMES.iter().position(|text| text.as_bytes() == name)?;
        Some(AtomicRmwOp::ALL[index])
    }
}

impl fmt::Display for AtomicRmwOp {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(NAMES[*self as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for op in AtomicRmwOp::ALL {
            assert_eq!(AtomicRmwOp::from_name(op.to_string().as_bytes()), Some(op));
        }
    }
}
