//! Unsigned integers of 512 bits, for exact intermediate results of [`crate::soft_float`].
//!
//! It has only the operations that are needed there, in their simplest form, because an oracle may be slow but must
//! be plain.

const WORDS: usize = 8;

/// An unsigned integer, least significant word first.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) struct Wide([u64; WORDS]);

impl Wide {
    pub(crate) const ZERO: Wide = Wide([0; WORDS]);

    pub(crate) fn new(x: u128) -> Wide {
        let mut words = [0; WORDS];
        words[0] = x as u64;
        words[1] = (x >> 64) as u64;
        Wide(words)
    }

    /// Returns the number, if it has at most 128 bits.
    pub(crate) fn to_u128(self) -> Option<u128> {
        (self.len() <= 128).then(|| u128::from(self.0[0]) | u128::from(self.0[1]) << 64)
    }

    /// Returns the number of bits up to the highest bit that is set.
    pub(crate) fn len(self) -> u32 {
        let top = self.0.iter().rposition(|&word| word != 0);
        top.map_or(0, |top| 64 * (top as u32 + 1) - self.0[top].leading_zeros())
    }

    pub(crate) fn is_zero(self) -> bool {
        self == Wide::ZERO
    }

    pub(crate) fn bit(self, index: u32) -> bool {
        index < 64 * WORDS as u32 && self.0[index as usize / 64] >> (index % 64) & 1 != 0
    }

    /// Sets the lowest bit if `inexact`, as a mark that the dropped bits below are not zero.
    pub(crate) fn jam(mut self, inexact: bool) -> Wide {
        self.0[0] |= u64::from(inexact);
        self
    }

    /// Shifts left. The bits that are shifted out must be zero.
    pub(crate) fn shl(self, amount: u32) -> Wide {
        debug_assert!(self.is_zero() || self.len() + amount <= 64 * WORDS as u32, "a significand leaves 512 bits");
        let mut result = Wide::ZERO;
        for index in (0..(64 * WORDS as u32).saturating_sub(amount)).filter(|&index| self.bit(index)) {
            let to = index + amount;
            result.0[to as usize / 64] |= 1 << (to % 64);
        }
        result
    }

    /// Returns the quotient by a power of two, rounded down.
    pub(crate) fn shr(self, amount: u32) -> Wide {
        let mut result = Wide::ZERO;
        for index in (amount..64 * WORDS as u32).filter(|&index| self.bit(index)) {
            let to = index - amount;
            result.0[to as usize / 64] |= 1 << (to % 64);
        }
        result
    }

    /// Returns `true` if any of the lowest `count` bits is set.
    pub(crate) fn any_below(self, count: u32) -> bool {
        (0..count.min(64 * WORDS as u32)).any(|index| self.bit(index))
    }

    pub(crate) fn add(self, other: Wide) -> Wide {
        let mut carry = false;
        Wide(std::array::from_fn(|k| {
            let (sum, first) = self.0[k].overflowing_add(other.0[k]);
            let (sum, second) = sum.overflowing_add(carry.into());
            carry = first || second;
            sum
        }))
    }

    /// Returns the difference. `other` must not be larger.
    pub(crate) fn sub(self, other: Wide) -> Wide {
        let mut borrow = false;
        Wide(std::array::from_fn(|k| {
            let (difference, first) = self.0[k].overflowing_sub(other.0[k]);
            let (difference, second) = difference.overflowing_sub(borrow.into());
            borrow = first || second;
            difference
        }))
    }

    pub(crate) fn at_least(self, other: Wide) -> bool {
        self.0.iter().rev().ge(other.0.iter().rev())
    }

    /// Returns the product of two numbers of at most 128 bits.
    pub(crate) fn product(x: u128, y: u128) -> Wide {
        (0..128).filter(|&k| y >> k & 1 != 0).fold(Wide::ZERO, |sum, k| sum.add(Wide::new(x).shl(k)))
    }

    /// Returns the quotient by a nonzero divisor, and whether there is a remainder.
    pub(crate) fn divide(self, divisor: Wide) -> (Wide, bool) {
        let (mut quotient, mut rest) = (Wide::ZERO, Wide::ZERO);
        for index in (0..self.len()).rev() {
            rest = rest.shl(1).jam(self.bit(index));
            quotient = quotient.shl(1);
            if rest.at_least(divisor) {
                rest = rest.sub(divisor);
                quotient = quotient.jam(true);
            }
        }
        (quotient, !rest.is_zero())
    }

    /// Returns the square root rounded down, and whether it is inexact.
    pub(crate) fn sqrt(self) -> (Wide, bool) {
        let (mut root, mut rest) = (Wide::ZERO, self);
        for bit in (0..self.len().div_ceil(2)).rev() {
            // (root + b)^2 = root^2 + (2 root + b) b, with b = 2^bit. `rest` is the difference to root^2.
            let step = root.shl(1).add(Wide::new(1).shl(bit)).shl(bit);
            if rest.at_least(step) {
                rest = rest.sub(step);
                root = root.add(Wide::new(1).shl(bit));
            }
        }
        (root, !rest.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic() {
        let (x, y) = (0xfedc_ba98_7654_3210_0123_4567_89ab_cdef_u128, u128::MAX - 12);
        let product = Wide::product(x, y);
        assert_eq!(product.divide(Wide::new(y)), (Wide::new(x), false));
        assert_eq!(product.jam(true).divide(Wide::new(x)).0, Wide::new(y));
        assert_eq!(Wide::product(x, x).sqrt(), (Wide::new(x), false));
        assert_eq!(Wide::product(x, x).add(Wide::new(1)).sqrt(), (Wide::new(x), true));
        assert_eq!(product.shl(200).shr(200), product);
        assert_eq!((product.len(), Wide::ZERO.len(), Wide::new(1).shl(511).len()), (256, 0, 512));
        assert_eq!(Wide::new(5).sub(Wide::new(3)).to_u128(), Some(2));
        assert_eq!(Wide::ZERO.shl(1000), Wide::ZERO);
        assert_eq!((Wide::new(4).any_below(2), Wide::new(4).any_below(3)), (false, true));
    }
}
