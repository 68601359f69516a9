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
    /// Product of the first two operands plus the third, rounded once. Not available for binary16.
    Fma,
    /// Square root.
    Sqrt,
    /// The nearest integer that is not smaller.
    Ceil,
    /// The nearest integer that is not larger.
    Floor,
    /// The nearest integer that is not further from zero.
    Trunc,
    /// The nearest integer; if two are equally near, the even one.
    Nearest,
    /// The number in another format.
    Convert,
    /// A signed integer as a float.
    FromSigned,
    /// An unsigned integer as a float.
    FromUnsigned,
    /// The truncated value as a signed integer; arbitrary if it does not fit the width.
    ToSigned,
    /// The truncated value as an unsigned integer; arbitrary if it does not fit the width.
    ToUnsigned,
}
