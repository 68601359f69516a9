//! Names of floating-point operations.

/// An operation with floats as operands or result.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum FloatOp {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// Quotient.
    Div,
    /// Product of the first two and sum with the third, rounded once. Not of binary16.
    Fma,
    /// Square root.
    Sqrt,
    /// The nearest integer that is not smaller.
    Ceil,
    /// The nearest integer that is not larger.
    Floor,
    /// The nearest integer that is no further from zero.
    Trunc,
    /// The nearest integer, the even one of two.
    Nearest,
    /// The number in another format.
    Convert,
    /// A signed integer as a float.
    FromSigned,
    /// An unsigned integer as a float.
    FromUnsigned,
    /// The signed integer that truncation makes; any where there is none of the width.
    ToSigned,
    /// The unsigned integer that truncation makes; any where there is none of the width.
    ToUnsigned,
}
