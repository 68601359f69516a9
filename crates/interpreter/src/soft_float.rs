//! IEEE 754 arithmetic in any binary format, computed from exact integers and rounded to nearest even.
//!
//! A number is split into sign, significand and exponent. The operation is exact, or leaves a mark that bits far
//! below the last significant bit were dropped. One function rounds and assembles the result. Formats are named by
//! their width: 16, 32, 64 or 128 bits. The tests compare the results with the host's arithmetic of 32 and 64 bits.
//!
//! Operands are not NaN. An operation without a numerical result (IEEE 754, section 7.2) returns `None`.

use crate::value::mask;
use crate::wide::Wide;

/// Returns the number of stored bits of the significand.
pub(crate) fn significand_bits(bits: u32) -> u32 {
    match bits {
        16 => 10,
        32 => 23,
        64 => 52,
        _ => 112,
    }
}

/// Returns the bits of infinity without its sign: all exponent bits are set.
pub(crate) fn infinity(bits: u32) -> u128 {
    (mask(bits) >> 1) & !mask(significand_bits(bits))
}

/// Returns the exponent of the last bit of the smallest numbers.
fn least_exponent(bits: u32) -> i32 {
    let bias = (infinity(bits) >> significand_bits(bits)) as i32 / 2;
    1 - bias - significand_bits(bits) as i32
}

/// A number other than a NaN: `significand × 2^exponent`, negative or not.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Number {
    pub(crate) is_negative: bool,
    is_infinite: bool,
    significand: Wide,
    exponent: i32,
}

impl Number {
    /// Returns the number with these bits in the format of `bits` bits.
    pub(crate) fn decode(bits: u32, x: u128) -> Number {
        let stored = significand_bits(bits);
        let (magnitude, is_negative) = (x & mask(bits - 1), x >> (bits - 1) != 0);
        let exponent = (magnitude >> stored) as i32;
        let significand = magnitude & mask(stored) | if exponent > 0 { 1 << stored } else { 0 };
        Number {
            is_negative,
            is_infinite: magnitude == infinity(bits),
            significand: Wide::new(significand),
            exponent: least_exponent(bits) + (exponent - 1).max(0),
        }
    }

    /// Returns the number that is an integer.
    pub(crate) fn integer(is_negative: bool, magnitude: u128) -> Number {
        Number::finite(is_negative, Wide::new(magnitude), 0)
    }

    fn finite(is_negative: bool, significand: Wide, exponent: i32) -> Number {
        Number { is_negative, is_infinite: false, significand, exponent }
    }

    fn infinite(is_negative: bool) -> Number {
        Number { is_infinite: true, ..Number::finite(is_negative, Wide::ZERO, 0) }
    }

    fn is_zero(self) -> bool {
        !self.is_infinite && self.significand.is_zero()
    }

    /// Returns the exponent of the lowest bit above the number.
    fn end(self) -> i32 {
        self.exponent + self.significand.len() as i32
    }

    /// Returns the significand at another exponent. Dropped bits that are not zero set the lowest bit as a mark.
    fn at_exponent(self, exponent: i32) -> Wide {
        match u32::try_from(exponent - self.exponent) {
            Err(_) => self.significand.shl((self.exponent - exponent) as u32),
            Ok(cut) => self.significand.shr(cut).jam(self.significand.any_below(cut)),
        }
    }

    /// Returns the bits in a format, rounded to nearest, ties to even. Numbers that are too large become infinite.
    pub(crate) fn encode(self, bits: u32) -> u128 {
        let (stored, least) = (significand_bits(bits), least_exponent(bits));
        let sign = u128::from(self.is_negative) << (bits - 1);
        if self.is_infinite || self.significand.is_zero() {
            return sign | if self.is_infinite { infinity(bits) } else { 0 };
        }
        let exponent = least.max(self.end() - stored as i32 - 1);
        if exponent - least > (infinity(bits) >> stored) as i32 {
            return sign | infinity(bits);
        }
        // Two more bits: half of the last bit, and whether any bit below it is set.
        let exact = self.at_exponent(exponent - 2).to_u128().unwrap_or(u128::MAX);
        let rounds_up = exact & 0b10 != 0 && exact & 0b101 != 0;
        // The leading one of the significand, if there is one, increments the exponent; so does a carry.
        let magnitude = (((exponent - least) as u128) << stored) + (exact >> 2) + u128::from(rounds_up);
        sign | magnitude.min(infinity(bits))
    }

    /// Rounds the number toward zero, and returns sign and magnitude of the integer. `None` if it has more than 128
    /// bits.
    pub(crate) fn truncate(self) -> Option<(bool, u128)> {
        let magnitude = match (self.is_infinite || self.end() > 128, self.end() > 0) {
            (true, _) => return None,
            (false, true) => self.shifted_to_integer().to_u128()?,
            (false, false) => 0,
        };
        Some((self.is_negative, magnitude))
    }

    fn shifted_to_integer(self) -> Wide {
        match u32::try_from(self.exponent) {
            Ok(up) => self.significand.shl(up),
            Err(_) => self.significand.shr(self.exponent.unsigned_abs()),
        }
    }

    /// Rounds to the number itself or to an adjacent integer. `rounds_up` takes the sign, whether the integer below
    /// in magnitude is odd, and the comparison of the fraction with a half.
    fn to_integral(self, rounds_up: fn(bool, bool, std::cmp::Ordering) -> bool) -> Number {
        if self.is_infinite || self.exponent >= 0 || self.is_zero() {
            return self;
        }
        let cut = self.exponent.unsigned_abs();
        let whole = self.significand.shr(cut);
        let is_half_set = self.significand.bit(cut - 1);
        let fraction = match (is_half_set, self.significand.any_below(cut - 1)) {
            (true, below) => below.cmp(&false),
            (false, true) => std::cmp::Ordering::Less,
            (false, false) => return self,
        };
        let up = u128::from(rounds_up(self.is_negative, whole.bit(0), fraction));
        Number { significand: whole.add(Wide::new(up)), exponent: 0, ..self }
    }

    pub(crate) fn ceil(self) -> Number {
        self.to_integral(|is_negative, _, _| !is_negative)
    }

    pub(crate) fn floor(self) -> Number {
        self.to_integral(|is_negative, _, _| is_negative)
    }

    pub(crate) fn trunc(self) -> Number {
        self.to_integral(|_, _, _| false)
    }

    pub(crate) fn nearest(self) -> Number {
        self.to_integral(|_, is_odd, fraction| fraction.is_gt() || fraction.is_eq() && is_odd)
    }

    pub(crate) fn negated(self) -> Number {
        Number { is_negative: !self.is_negative, ..self }
    }

    pub(crate) fn add(self, other: Number) -> Option<Number> {
        match (self.is_infinite, other.is_infinite) {
            (true, true) if self.is_negative != other.is_negative => None,
            (true, _) => Some(self),
            (_, true) => Some(other),
            _ => Some(self.add_finite(other)),
        }
    }

    fn add_finite(self, other: Number) -> Number {
        if self.is_zero() && other.is_zero() {
            return Number { is_negative: self.is_negative && other.is_negative, ..self };
        }
        // If two numbers are this far apart, the smaller one only decides on which side of the larger one the sum
        // is.
        let farthest = self.end().max(other.end()) - 480;
        let exponent = match (self.is_zero(), other.is_zero()) {
            (true, _) => other.exponent,
            (_, true) => self.exponent,
            _ => self.exponent.min(other.exponent).max(farthest),
        };
        let [x, y] = [self, other].map(|number| number.at_exponent(exponent));
        if self.is_negative == other.is_negative {
            return Number::finite(self.is_negative, x.add(y), exponent);
        }
        match (x == y, x.at_least(y)) {
            (true, _) => Number::finite(false, Wide::ZERO, 0),
            (_, true) => Number::finite(self.is_negative, x.sub(y), exponent),
            _ => Number::finite(other.is_negative, y.sub(x), exponent),
        }
    }

    /// Returns the exact product.
    pub(crate) fn mul(self, other: Number) -> Option<Number> {
        let is_negative = self.is_negative != other.is_negative;
        if self.is_infinite || other.is_infinite {
            return (!self.is_zero() && !other.is_zero()).then(|| Number::infinite(is_negative));
        }
        let [x, y] = [self, other].map(|number| number.significand.to_u128());
        Some(Number::finite(is_negative, Wide::product(x?, y?), self.exponent + other.exponent))
    }

    /// Returns the quotient, with more bits than any format has, and with a mark for dropped bits.
    pub(crate) fn div(self, other: Number) -> Option<Number> {
        let is_negative = self.is_negative != other.is_negative;
        match (self.is_infinite, other.is_infinite) {
            (true, true) => return None,
            (true, false) => return Some(Number::infinite(is_negative)),
            (false, true) => return Some(Number::finite(is_negative, Wide::ZERO, 0)),
            (false, false) if other.is_zero() => return (!self.is_zero()).then(|| Number::infinite(is_negative)),
            (false, false) => {}
        }
        let (quotient, inexact) = self.significand.shl(DIGITS).divide(other.significand);
        let exponent = self.exponent - other.exponent - DIGITS as i32;
        Some(Number::finite(is_negative, quotient.shl(1).jam(inexact), exponent - 1))
    }

    /// Returns the square root, with the precision of [`Number::div`].
    pub(crate) fn sqrt(self) -> Option<Number> {
        if self.is_zero() || self.is_infinite && !self.is_negative {
            return Some(self);
        }
        if self.is_negative {
            return None;
        }
        let shift = DIGITS + (self.exponent - DIGITS as i32).unsigned_abs() % 2;
        let (root, inexact) = self.significand.shl(shift).sqrt();
        Some(Number::finite(false, root.shl(1).jam(inexact), (self.exponent - shift as i32) / 2 - 1))
    }
}

/// Number of bits by which a dividend or radicand is shifted left. The result then has two bits more than the
/// widest format, even if the operands are subnormal: 2 × (113 + 2).
const DIGITS: u32 = 230;

#[cfg(test)]
mod tests {
    use super::*;

    /// Generator of numbers of all kinds: a linear congruential generator.
    struct Samples(u64);

    impl Samples {
        fn next(&mut self) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            self.0 >> 11 ^ self.0 << 40
        }

        /// Returns a random number that is not a NaN. In half of the cases, exponents are close to each other.
        fn single(&mut self) -> f32 {
            let bits = self.next();
            let exponent = if bits & 1 == 0 { bits >> 40 & 0xff } else { 120 + (bits >> 40 & 15) };
            let low = if bits & 2 == 0 { bits >> 4 } else { bits >> 4 & 7 };
            let x = f32::from_bits(((bits >> 2 & 1) << 31 | exponent << 23 | low & 0x7f_ffff) as u32);
            if x.is_nan() { 0.0 } else { x }
        }

        fn double(&mut self) -> f64 {
            let bits = self.next();
            let exponent = if bits & 1 == 0 { bits >> 50 & 0x7ff } else { 1000 + (bits >> 50 & 63) };
            let x = f64::from_bits((bits >> 2 & 1) << 63 | exponent << 52 | self.next() & ((1 << 52) - 1));
            if x.is_nan() { 0.0 } else { x }
        }
    }

    fn single(x: f32) -> Number {
        Number::decode(32, x.to_bits().into())
    }

    fn double(x: f64) -> Number {
        Number::decode(64, x.to_bits().into())
    }

    fn check32(name: &str, ours: Option<Number>, host: f32) {
        let ours = ours.map(|number| number.encode(32));
        assert_eq!(ours, (!host.is_nan()).then(|| host.to_bits().into()), "{name}: {host:e}");
    }

    fn check64(name: &str, ours: Option<Number>, host: f64) {
        let ours = ours.map(|number| number.encode(64));
        assert_eq!(ours, (!host.is_nan()).then(|| host.to_bits().into()), "{name}: {host:e}");
    }

    #[test]
    fn agrees_with_the_host_on_singles() {
        let mut samples = Samples(1);
        for _ in 0..1_000 {
            let (x, y, z) = (samples.single(), samples.single(), samples.single());
            let [a, b, c] = [x, y, z].map(single);
            check32("add", a.add(b), x + y);
            check32("sub", a.add(b.negated()), x - y);
            check32("mul", a.mul(b), x * y);
            check32("div", a.div(b), x / y);
            check32("sqrt", a.sqrt(), x.sqrt());
            check32("fma", a.mul(b).and_then(|product| product.add(c)), x.mul_add(y, z));
            check32("ceil", Some(a.ceil()), x.ceil());
            check32("floor", Some(a.floor()), x.floor());
            check32("trunc", Some(a.trunc()), x.trunc());
            check32("nearest", Some(a.nearest()), x.round_ties_even());
            check64("promote", Some(a), x.into());
        }
    }

    #[test]
    fn agrees_with_the_host_on_doubles() {
        let mut samples = Samples(2);
        for _ in 0..500 {
            let (x, y, z) = (samples.double(), samples.double(), samples.double());
            let [a, b, c] = [x, y, z].map(double);
            check64("add", a.add(b), x + y);
            check64("mul", a.mul(b), x * y);
            check64("div", a.div(b), x / y);
            check64("sqrt", a.sqrt(), x.sqrt());
            check64("fma", a.mul(b).and_then(|product| product.add(c)), x.mul_add(y, z));
            check64("nearest", Some(a.nearest()), x.round_ties_even());
            check32("demote", Some(a), x as f32);
            let int = samples.next();
            check64("from u64", Some(Number::integer(false, int.into())), int as f64);
            check32("from u64", Some(Number::integer(false, int.into())), int as f32);
            let truncated = a.truncate().map(|(is_negative, x)| if is_negative { -(x as f64) } else { x as f64 });
            assert_eq!(truncated, (x.abs() < 2_f64.powi(128)).then(|| x.trunc()), "{x:e}");
        }
    }

    #[test]
    fn every_half_survives_wider_formats() {
        for bits in (0..=u16::MAX).filter(|bits| bits & 0x7c00 != 0x7c00 || bits & 0x3ff == 0) {
            let half = Number::decode(16, bits.into());
            for format in [32, 64, 128] {
                assert_eq!(Number::decode(format, half.encode(format)).encode(16), bits.into());
            }
        }
    }

    #[test]
    fn halves_round_once() {
        // 2049 is half-way between 2048 and 2050. A slightly larger number rounds up.
        assert_eq!(Number::integer(false, 2049).encode(16), 0x6800);
        assert_eq!(single(2_049.000_2).encode(16), 0x6801);
        assert_eq!(double(65_519.999).encode(16), 0x7bff);
        assert_eq!(Number::integer(true, 65_520).encode(16), 0xfc00);
        assert_eq!(double(2_f64.powi(-25)).encode(16), 0);
        assert_eq!(double(2_f64.powi(-25) * 1.000_001).encode(16), 1);
    }

    #[test]
    fn quads() {
        let three = Number::integer(false, 3);
        let third = Number::integer(false, 1).div(three).map(|third| third.encode(128));
        assert_eq!(third, Some(0x3ffd_5555_5555_5555_5555_5555_5555_5555));
        assert_eq!(three.sqrt().map(|root| root.encode(128)), Some(0x3fff_bb67_ae85_84ca_a73b_2574_2d70_78b8));
        let smallest = Number::decode(128, 1);
        assert_eq!(smallest.mul(smallest).map(|product| product.encode(128)), Some(0));
        assert_eq!(Number::integer(false, 1).add(smallest).map(|sum| sum.encode(128)), Some(0x3fff << 112));
    }
}
