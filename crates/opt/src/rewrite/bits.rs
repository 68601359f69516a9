//! Constants of rules: integers of a width, with the arithmetic of bit-vectors. Both operands of an operator have
//! one width.

use std::ops::{Add, BitAnd, BitOr, BitXor, Mul, Neg, Not, Sub};

/// A constant of 1 to 128 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bits {
    width: u32,
    /// Bits of the constant; zero above the width.
    value: u128,
}

impl Bits {
    /// Returns `value` modulo 2^`width`.
    pub fn new(width: u32, value: i128) -> Bits {
        Bits { width, value: value as u128 & u128::MAX >> (128 - width) }
    }

    /// Returns a constant of bits that are zero above the width.
    pub(crate) fn zero_extended(width: u32, value: u64) -> Bits {
        Bits { width, value: value.into() }
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
        let unused = 128 - self.width;
        ((self.value << unused) as i128) >> unused
    }

    /// Returns `true` if this is `value` modulo 2^`width`.
    pub fn is(self, value: i128) -> bool {
        // The compiler of the caller knows `value`, which is mostly zero.
        if value == 0 { self.value == 0 } else { self == Bits::new(self.width, value) }
    }

    /// Returns `true` if exactly one bit is set.
    pub fn is_power_of_two(self) -> bool {
        self.value.is_power_of_two()
    }

    /// Returns `true` if only the sign bit is set.
    pub fn is_sign_bit(self) -> bool {
        self.value == 1 << (self.width - 1)
    }

    fn with(self, value: u128) -> Bits {
        Bits::new(self.width, value as i128)
    }

    /// Returns the value zero-extended or truncated to `width` bits.
    pub fn resize(self, width: u32) -> Bits {
        Bits::new(width, self.value as i128)
    }

    /// Returns the value sign-extended to `width` bits.
    pub fn sign_extend(self, width: u32) -> Bits {
        Bits::new(width, self.signed())
    }

    /// Returns the value shifted left; zero if `by` is not below the width.
    pub fn shift_left(self, by: Bits) -> Bits {
        if by.value < u128::from(self.width) { self.with(self.value << by.value) } else { self.with(0) }
    }

    /// Returns the value shifted right with zeros.
    pub fn shift_right(self, by: Bits) -> Bits {
        if by.value < u128::from(self.width) { self.with(self.value >> by.value) } else { self.with(0) }
    }

    /// Returns the value shifted right with copies of the sign.
    pub fn shift_right_signed(self, by: Bits) -> Bits {
        Bits::new(self.width, self.signed() >> by.value.min(u128::from(self.width - 1)))
    }

    /// Returns the index of the highest set bit, or 0 if there is none, as a constant of `width` bits.
    pub fn log2(self, width: u32) -> Bits {
        Bits::new(width, self.value.checked_ilog2().unwrap_or(0).into())
    }

    /// Returns the number of clear bits below the lowest set bit, as a constant of `width` bits. All bits count if
    /// none is set.
    pub fn trailing_zeros(self, width: u32) -> Bits {
        Bits::new(width, self.value.trailing_zeros().min(self.width).into())
    }

    /// Returns the larger of two constants as unsigned numbers.
    pub fn umax(self, other: Bits) -> Bits {
        self.with(self.value.max(other.value))
    }
}

impl Add for Bits {
    type Output = Bits;

    fn add(self, other: Bits) -> Bits {
        self.with(self.value.wrapping_add(other.value))
    }
}

impl Sub for Bits {
    type Output = Bits;

    fn sub(self, other: Bits) -> Bits {
        self.with(self.value.wrapping_sub(other.value))
    }
}

impl Mul for Bits {
    type Output = Bits;

    fn mul(self, other: Bits) -> Bits {
        self.with(self.value.wrapping_mul(other.value))
    }
}

impl BitAnd for Bits {
    type Output = Bits;

    fn bitand(self, other: Bits) -> Bits {
        self.with(self.value & other.value)
    }
}

impl BitOr for Bits {
    type Output = Bits;

    fn bitor(self, other: Bits) -> Bits {
        self.with(self.value | other.value)
    }
}

impl BitXor for Bits {
    type Output = Bits;

    fn bitxor(self, other: Bits) -> Bits {
        self.with(self.value ^ other.value)
    }
}

impl Neg for Bits {
    type Output = Bits;

    fn neg(self) -> Bits {
        self.with(self.value.wrapping_neg())
    }
}

impl Not for Bits {
    type Output = Bits;

    fn not(self) -> Bits {
        self.with(!self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_stays_in_the_width() {
        let bits = |value| Bits::new(8, value);
        assert_eq!(bits(200) + bits(100), bits(44));
        assert_eq!(bits(1) - bits(2), bits(-1));
        assert_eq!(-bits(-128), bits(128));
        assert_eq!((bits(-1).unsigned(), bits(255).signed()), (255, -1));
        assert_eq!(
            (bits(-1).shift_left(bits(8)), bits(-1).shift_right(bits(7)), bits(-128).shift_right_signed(bits(9))),
            (bits(0), bits(1), bits(-1))
        );
        assert_eq!((bits(-1).resize(16), bits(-1).sign_extend(16)), (Bits::new(16, 255), Bits::new(16, -1)));
        assert_eq!((bits(0).log2(8), bits(64).log2(8), bits(0).trailing_zeros(8)), (bits(0), bits(6), bits(8)));
        assert!(Bits::new(128, -1).is(-1) && !bits(1).is(257 + 256 + 1));
    }
}
