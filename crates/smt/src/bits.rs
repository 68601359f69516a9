//! Sorts and constants. Arithmetic follows `FixedSizeBitVectors` of SMT-LIB and is total: division by zero has a value.

use std::fmt;

/// The widest bit-vector, in bits: the double width of a 64-bit product.
pub const MAX_WIDTH: u32 = 128;

/// The type of a term.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Sort {
    /// True or false.
    Bool,
    /// A bit-vector of this many bits, 1 to [`MAX_WIDTH`].
    Bits(u32),
}

/// A bit-vector constant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Bits {
    width: u32,
    value: u128,
}

/// A constant of any sort.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Value {
    /// Of sort [`Sort::Bool`].
    Bool(bool),
    /// Of sort [`Sort::Bits`].
    Bits(Bits),
}

impl Value {
    /// Returns the sort of the constant.
    pub fn sort(self) -> Sort {
        match self {
            Value::Bool(_) => Sort::Bool,
            Value::Bits(bits) => Sort::Bits(bits.width),
        }
    }

    /// Returns the zero or `false` of a sort.
    pub fn zero(sort: Sort) -> Value {
        match sort {
            Sort::Bool => Value::Bool(false),
            Sort::Bits(width) => Value::Bits(Bits::new(width, 0)),
        }
    }

    /// Returns `true` if the constant is `true`.
    pub fn is_true(self) -> bool {
        self == Value::Bool(true)
    }

    /// Returns the bit-vector, if it is one.
    pub fn bits(self) -> Option<Bits> {
        match self {
            Value::Bits(bits) => Some(bits),
            Value::Bool(_) => None,
        }
    }
}

impl Bits {
    /// Returns `value` modulo 2^`width`.
    ///
    /// # Panics
    /// If the width is 0 or more than [`MAX_WIDTH`].
    pub fn new(width: u32, value: u128) -> Bits {
        assert!((1..=MAX_WIDTH).contains(&width), "a bit-vector of {width} bits");
        Bits { width, value: value & mask(width) }
    }

    /// Returns `value` modulo 2^`width`, in two's complement.
    pub fn signed_new(width: u32, value: i128) -> Bits {
        Bits::new(width, value as u128)
    }

    /// Returns the bit-vector with all bits set.
    pub fn ones(width: u32) -> Bits {
        Bits::new(width, u128::MAX)
    }

    /// Returns the bit-vector with only the sign bit set.
    pub fn sign_bit(width: u32) -> Bits {
        Bits::new(width, 1 << (width - 1))
    }

    /// Returns the width in bits.
    pub fn width(self) -> u32 {
        self.width
    }

    /// Returns the value as an unsigned number.
    pub fn unsigned(self) -> u128 {
        self.value
    }

    /// Returns the value as a signed number.
    pub fn signed(self) -> i128 {
        let unused = MAX_WIDTH - self.width;
        ((self.value << unused) as i128) >> unused
    }

    /// Returns `true` if all bits are clear.
    pub fn is_zero(self) -> bool {
        self.value == 0
    }

    /// Returns `true` if all bits are set.
    pub fn is_ones(self) -> bool {
        self.value == mask(self.width)
    }

    /// Returns the logarithm to base 2, if exactly one bit is set.
    pub fn power_of_two(self) -> Option<u32> {
        self.value.is_power_of_two().then(|| self.value.trailing_zeros())
    }

    fn with(self, value: u128) -> Bits {
        Bits::new(self.width, value)
    }

    pub(crate) fn not(self) -> Bits {
        self.with(!self.value)
    }

    pub(crate) fn neg(self) -> Bits {
        self.with(self.value.wrapping_neg())
    }

    pub(crate) fn add(self, other: Bits) -> Bits {
        self.with(self.value.wrapping_add(other.value))
    }

    pub(crate) fn mul(self, other: Bits) -> Bits {
        self.with(self.value.wrapping_mul(other.value))
    }

    pub(crate) fn and(self, other: Bits) -> Bits {
        self.with(self.value & other.value)
    }

    pub(crate) fn or(self, other: Bits) -> Bits {
        self.with(self.value | other.value)
    }

    pub(crate) fn xor(self, other: Bits) -> Bits {
        self.with(self.value ^ other.value)
    }

    pub(crate) fn udiv(self, other: Bits) -> Bits {
        self.with(self.value.checked_div(other.value).unwrap_or(u128::MAX))
    }

    pub(crate) fn urem(self, other: Bits) -> Bits {
        self.with(self.value.checked_rem(other.value).unwrap_or(self.value))
    }

    /// Returns the signed quotient, truncated. A division by zero is 1 for a negative dividend and -1 otherwise.
    pub(crate) fn sdiv(self, other: Bits) -> Bits {
        if other.is_zero() {
            return self.with(if self.signed() < 0 { 1 } else { u128::MAX });
        }
        self.with(self.signed().wrapping_div(other.signed()) as u128)
    }

    /// Returns the signed remainder, which has the sign of the dividend.
    pub(crate) fn srem(self, other: Bits) -> Bits {
        if other.is_zero() {
            return self;
        }
        self.with(self.signed().wrapping_rem(other.signed()) as u128)
    }

    /// Returns the shift amount, if it is below the width.
    fn amount(self, by: Bits) -> Option<u32> {
        (by.value < u128::from(self.width)).then_some(by.value as u32)
    }

    pub(crate) fn shl(self, by: Bits) -> Bits {
        self.with(self.amount(by).map_or(0, |by| self.value << by))
    }

    pub(crate) fn lshr(self, by: Bits) -> Bits {
        self.with(self.amount(by).map_or(0, |by| self.value >> by))
    }

    pub(crate) fn ashr(self, by: Bits) -> Bits {
        self.with((self.signed() >> self.amount(by).unwrap_or(self.width - 1)) as u128)
    }

    pub(crate) fn zero_extend(self, width: u32) -> Bits {
        Bits::new(width, self.value)
    }

    pub(crate) fn sign_extend(self, width: u32) -> Bits {
        Bits::new(width, self.signed() as u128)
    }

    pub(crate) fn extract(self, low: u32, width: u32) -> Bits {
        Bits::new(width, self.value >> low)
    }

    pub(crate) fn concat(self, low: Bits) -> Bits {
        Bits::new(self.width + low.width, self.value << low.width | low.value)
    }
}

impl fmt::Debug for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.value, self.width)
    }
}

fn mask(width: u32) -> u128 {
    u128::MAX >> (MAX_WIDTH - width)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(value: i128) -> Bits {
        Bits::signed_new(4, value)
    }

    #[test]
    fn division_is_total() {
        assert_eq!(bits(5).udiv(bits(0)), bits(-1));
        assert_eq!(bits(5).urem(bits(0)), bits(5));
        assert_eq!(bits(-5).sdiv(bits(0)), bits(1));
        assert_eq!(bits(5).sdiv(bits(0)), bits(-1));
        assert_eq!(bits(-8).sdiv(bits(-1)), bits(-8));
        assert_eq!(bits(-8).srem(bits(-1)), bits(0));
        assert_eq!(bits(-7).srem(bits(3)), bits(-1));
    }

    #[test]
    fn oversized_shifts_have_a_value() {
        assert_eq!(bits(-3).shl(bits(4)), bits(0));
        assert_eq!(bits(-3).lshr(bits(9)), bits(0));
        assert_eq!(bits(-3).ashr(bits(-1)), bits(-1));
        assert_eq!(Bits::ones(128).shl(Bits::new(128, 127)), Bits::sign_bit(128));
    }

    #[test]
    fn extensions() {
        assert_eq!(bits(-3).sign_extend(8), Bits::signed_new(8, -3));
        assert_eq!(bits(-3).zero_extend(8), Bits::new(8, 13));
        assert_eq!(bits(6).concat(bits(1)).extract(3, 3), Bits::new(3, 4));
        assert_eq!(Bits::signed_new(128, -1).signed(), -1);
    }
}
