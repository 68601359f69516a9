//! Ranges of integers: the numbers that an integer of a loop may be, read with or without a sign.
//!
//! ```text
//! v2 = icmp slt v0, v1         on the edge taken if v2: v0 is at most one below the largest number
//! v3 = icmp ult v0, 10         v0 is from 0 to 9
//! ```
//!
//! Part of [`crate::induction`]. `crates/rule-verify/tests/induction.rs` proves the laws for all widths, and the test
//! below checks these functions for all numbers of eight bits.

use kingpost_ir::condcodes::IntCC;

/// Reading of the bits of an integer as a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sign {
    Signed,
    Unsigned,
}

impl Sign {
    /// Returns the number that `bits` are at a width; bits above it are ignored.
    pub(crate) fn read(self, bits: u64, width: u32) -> i128 {
        let shift = 64 - width;
        match self {
            Sign::Signed => (((bits << shift) as i64) >> shift).into(),
            Sign::Unsigned => ((bits << shift) >> shift).into(),
        }
    }
}

/// Numbers from `low` to `high`; none if `high` is less.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Range {
    pub(crate) low: i128,
    pub(crate) high: i128,
}

impl Range {
    /// Returns all numbers of a width.
    pub(crate) fn all(sign: Sign, width: u32) -> Range {
        match sign {
            Sign::Signed => Range { low: -(1 << (width - 1)), high: (1 << (width - 1)) - 1 },
            Sign::Unsigned => Range { low: 0, high: (1 << width) - 1 },
        }
    }

    /// Returns the numbers that are the same with and without a sign.
    pub(crate) fn of_both(width: u32) -> Range {
        Range { low: 0, high: (1 << (width - 1)) - 1 }
    }

    pub(crate) fn point(number: i128) -> Range {
        Range { low: number, high: number }
    }

    pub(crate) fn is_empty(self) -> bool {
        self.high < self.low
    }

    /// Returns the numbers of both ranges, or this range if there are none: code that no execution reaches may
    /// have any range.
    #[must_use]
    pub(crate) fn meet(self, other: Range) -> Range {
        let both = Range { low: self.low.max(other.low), high: self.high.min(other.high) };
        if both.is_empty() { self } else { both }
    }

    /// Returns the least range with both ranges, which are not empty.
    #[must_use]
    pub(crate) fn hull(self, other: Range) -> Range {
        Range { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    #[must_use]
    pub(crate) fn plus(self, number: i128) -> Range {
        Range { low: self.low + number, high: self.high + number }
    }

    /// Returns the range of the sums of a number of each range.
    #[must_use]
    pub(crate) fn sum(self, other: Range) -> Range {
        Range { low: self.low + other.low, high: self.high + other.high }
    }

    #[must_use]
    pub(crate) fn negated(self) -> Range {
        Range { low: -self.high, high: -self.low }
    }

    /// Returns the range of the products of a number of each range. The numbers have at most 63 bits.
    #[must_use]
    pub(crate) fn product(self, other: Range) -> Range {
        let products = [self.low, self.high].map(|x| [x * other.low, x * other.high]);
        let [[a, b], [c, d]] = products;
        Range { low: a.min(b).min(c.min(d)), high: a.max(b).max(c.max(d)) }
    }

    pub(crate) fn contains(self, other: Range) -> bool {
        self.low <= other.low && other.high <= self.high
    }
}

/// Returns a range, read by `sign`, of the numbers `x` for which `icmp cc (x, y)` holds. `y` is the constant with these
/// bits, or unknown.
pub(crate) fn satisfying(cc: IntCC, y: Option<u64>, width: u32, sign: Sign) -> Range {
    let all = Range::all(sign, width);
    let order = match cc {
        IntCC::Equal | IntCC::NotEqual => sign,
        _ if cc.is_signed() => Sign::Signed,
        _ => Sign::Unsigned,
    };
    let y = y.map_or(Range::all(order, width), |bits| Range::point(order.read(bits, width)));
    let allowed = compared(cc, y, Range::all(order, width));
    let is_alike = order == sign || Range::of_both(width).contains(allowed);
    if is_alike && !allowed.is_empty() { allowed } else { all }
}

/// Returns a range of the numbers `x` for which `icmp cc (ext(x), y)` holds. The constant `y` and the extension of `x`,
/// which is done by `sign`, have `wide` bits.
pub(crate) fn satisfying_extended(cc: IntCC, y: u64, wide: u32, width: u32, sign: Sign) -> Range {
    let all = Range::all(sign, width);
    let order = if cc.is_signed() || sign == Sign::Signed { Sign::Signed } else { Sign::Unsigned };
    // Numbers below zero, extended, are large without a sign.
    if sign == Sign::Signed && !cc.is_signed() && !matches!(cc, IntCC::Equal | IntCC::NotEqual) {
        return all;
    }
    let allowed = compared(cc, Range::point(order.read(y, wide)), all);
    if allowed.is_empty() { all } else { allowed }
}

/// Returns the numbers of `all` that may compare so with some number of `y`. Both are read as the comparison reads them.
fn compared(cc: IntCC, y: Range, all: Range) -> Range {
    use IntCC::{
        Equal, NotEqual, SignedGreaterThan, SignedGreaterThanOrEqual, SignedLessThan, SignedLessThanOrEqual,
        UnsignedGreaterThan, UnsignedGreaterThanOrEqual, UnsignedLessThan, UnsignedLessThanOrEqual,
    };
    let (low, high) = match cc {
        Equal => (y.low, y.high),
        NotEqual if y == Range::point(all.low) => (all.low + 1, all.high),
        NotEqual if y == Range::point(all.high) => (all.low, all.high - 1),
        NotEqual => (all.low, all.high),
        SignedLessThan | UnsignedLessThan => (all.low, y.high - 1),
        SignedLessThanOrEqual | UnsignedLessThanOrEqual => (all.low, y.high),
        SignedGreaterThan | UnsignedGreaterThan => (y.low + 1, all.high),
        SignedGreaterThanOrEqual | UnsignedGreaterThanOrEqual => (y.low, all.high),
    };
    Range { low: low.max(all.low), high: high.min(all.high) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONDITIONS: [IntCC; 10] = [
        IntCC::Equal,
        IntCC::NotEqual,
        IntCC::SignedLessThan,
        IntCC::SignedLessThanOrEqual,
        IntCC::SignedGreaterThan,
        IntCC::SignedGreaterThanOrEqual,
        IntCC::UnsignedLessThan,
        IntCC::UnsignedLessThanOrEqual,
        IntCC::UnsignedGreaterThan,
        IntCC::UnsignedGreaterThanOrEqual,
    ];

    /// Returns `true` if the numbers of a width compare so.
    fn holds(cc: IntCC, x: u64, y: u64, width: u32) -> bool {
        let read = |bits| if cc.is_signed() { Sign::Signed } else { Sign::Unsigned }.read(bits, width);
        match cc {
            IntCC::Equal => read(x) == read(y),
            IntCC::NotEqual => read(x) != read(y),
            IntCC::SignedLessThan | IntCC::UnsignedLessThan => read(x) < read(y),
            IntCC::SignedLessThanOrEqual | IntCC::UnsignedLessThanOrEqual => read(x) <= read(y),
            IntCC::SignedGreaterThan | IntCC::UnsignedGreaterThan => read(x) > read(y),
            IntCC::SignedGreaterThanOrEqual | IntCC::UnsignedGreaterThanOrEqual => read(x) >= read(y),
        }
    }

    #[test]
    fn ranges_have_all_numbers_that_satisfy_a_comparison() {
        for sign in [Sign::Signed, Sign::Unsigned] {
            for cc in CONDITIONS {
                for (x, y) in (0..256).flat_map(|x| (0..256).map(move |y| (x, y))) {
                    let number = Range::point(sign.read(x, 8));
                    if holds(cc, x, y, 8) {
                        assert!(satisfying(cc, Some(y), 8, sign).contains(number), "{sign:?} {cc} {x} {y}");
                        assert!(satisfying(cc, None, 8, sign).contains(number), "{sign:?} {cc} {x}");
                    }
                    // All numbers of ten bits that are near the ends of eight.
                    for y in [y, y + 256, y + 512, y + 768] {
                        if holds(cc, number.low as u64, y, 10) {
                            let range = satisfying_extended(cc, y, 10, 8, sign);
                            assert!(range.contains(number), "{sign:?} {cc} {x} {y}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn ranges_of_sums_and_products_are_exact() {
        let ends = [-4, -1, 0, 1, 3];
        let ranges = || {
            ends.into_iter()
                .flat_map(|low| ends.into_iter().filter(move |&high| low <= high).map(move |high| (low, high)))
        };
        for ((a, b), (c, d)) in ranges().flat_map(|x| ranges().map(move |y| (x, y))) {
            let numbers = |of: fn(i128, i128) -> i128| (a..=b).flat_map(move |x| (c..=d).map(move |y| of(x, y)));
            let range = |of| Range { low: numbers(of).min().unwrap(), high: numbers(of).max().unwrap() };
            let [x, y] = [Range { low: a, high: b }, Range { low: c, high: d }];
            assert_eq!(x.sum(y), range(|x, y| x + y));
            assert_eq!(x.sum(y.negated()), range(|x, y| x - y));
            assert_eq!(x.product(y), range(|x, y| x * y));
        }
    }

    #[test]
    fn ranges_are_not_wider_than_needed() {
        let range = |low, high| Range { low, high };
        assert_eq!(satisfying(IntCC::SignedLessThan, None, 8, Sign::Signed), range(-128, 126));
        assert_eq!(satisfying(IntCC::UnsignedLessThan, Some(10), 8, Sign::Signed), range(0, 9));
        assert_eq!(satisfying(IntCC::UnsignedLessThan, Some(200), 8, Sign::Signed), range(-128, 127));
        assert_eq!(satisfying(IntCC::NotEqual, Some(0), 8, Sign::Unsigned), range(1, 255));
        assert_eq!(satisfying_extended(IntCC::SignedLessThan, 8, 32, 8, Sign::Unsigned), range(0, 7));
        assert_eq!(satisfying_extended(IntCC::UnsignedLessThan, 8, 32, 8, Sign::Signed), range(-128, 127));
    }
}
