//! The types of values.
//!
//! A type is a lane type and a number of lanes, packed into sixteen bits: bits 0–3 the lane code
//! (0 is the invalid type, 1–5 `i8`…`i128`, 6–9 `f16`…`f128`), bits 4–7 the binary logarithm of
//! the number of lanes, bit 8 set for dynamic vectors.

use std::fmt;

/// The type of a value.
///
/// ```
/// use kingpost_ir::types::{F32X4, I8, I64};
///
/// assert_eq!((I64.bits(), I64.bytes()), (64, 8));
/// assert!(I8.is_int() && F32X4.is_vector());
/// assert_eq!(F32X4.to_string(), "f32x4");
/// ```
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Type(u16);

/// The absence of a type: for undefined values and for instructions that are not polymorphic.
pub const INVALID: Type = Type(0);
/// 8-bit integer.
pub const I8: Type = Type(1);
/// 16-bit integer.
pub const I16: Type = Type(2);
/// 32-bit integer.
pub const I32: Type = Type(3);
/// 64-bit integer.
pub const I64: Type = Type(4);
/// 128-bit integer.
pub const I128: Type = Type(5);
/// 16-bit float.
pub const F16: Type = Type(6);
/// 32-bit float.
pub const F32: Type = Type(7);
/// 64-bit float.
pub const F64: Type = Type(8);
/// 128-bit float.
pub const F128: Type = Type(9);
/// Sixteen 8-bit integers.
pub const I8X16: Type = I8.vector(4);
/// Eight 8-bit integers.
pub const I8X8: Type = I8.vector(3);
/// Eight 16-bit integers.
pub const I16X8: Type = I16.vector(3);
/// Four 16-bit integers.
pub const I16X4: Type = I16.vector(2);
/// Four 32-bit integers.
pub const I32X4: Type = I32.vector(2);
/// Two 32-bit integers.
pub const I32X2: Type = I32.vector(1);
/// Two 64-bit integers.
pub const I64X2: Type = I64.vector(1);
/// Four 32-bit floats.
pub const F32X4: Type = F32.vector(2);
/// Two 64-bit floats.
pub const F64X2: Type = F64.vector(1);

const SCALAR_NAMES: [&str; 10] = ["INVALID", "i8", "i16", "i32", "i64", "i128", "f16", "f32", "f64", "f128"];
// As many entries as there are codes, so that no index is out of bounds.
const LANE_BITS: [u32; 16] = [0, 8, 16, 32, 64, 128, 16, 32, 64, 128, 0, 0, 0, 0, 0, 0];
const DYNAMIC: u16 = 1 << 8;
/// Binary logarithm of the largest number of lanes, 256.
const MAX_LOG2_LANES: u32 = 8;

impl Type {
    const fn vector(self, log2_lanes: u16) -> Type {
        Type(self.0 | log2_lanes << 4)
    }

    /// Returns the integer type with this many bits: 8, 16, 32, 64 or 128.
    pub const fn int(bits: u32) -> Option<Type> {
        match bits {
            8 => Some(I8),
            16 => Some(I16),
            32 => Some(I32),
            64 => Some(I64),
            128 => Some(I128),
            _ => None,
        }
    }

    /// Returns the float type with this many bits: 16, 32, 64 or 128.
    pub const fn float(bits: u32) -> Option<Type> {
        match bits {
            16 => Some(F16),
            32 => Some(F32),
            64 => Some(F64),
            128 => Some(F128),
            _ => None,
        }
    }

    /// Returns the packed form; see the module documentation.
    pub const fn code(self) -> u16 {
        self.0
    }

    /// Returns the type with this [packed form](Type::code), if there is one.
    pub const fn try_from_code(code: u16) -> Option<Type> {
        // Bits 0 to 8 are in use.
        if code < 1 << 9 && code & 15 < 10 { Some(Type(code)) } else { None }
    }

    /// Returns the type with this packed form.
    pub(crate) const fn from_code(code: u16) -> Type {
        Type(code)
    }

    /// Returns the lane code: 0 invalid, 1–5 integers, 6–9 floats by width.
    pub(crate) const fn lane_code(self) -> u16 {
        self.0 & 15
    }

    /// Returns `true` if this is the invalid type.
    pub const fn is_invalid(self) -> bool {
        self.0 == 0
    }

    /// Returns the type of one lane. A scalar is its own lane.
    pub const fn lane_type(self) -> Type {
        Type(self.0 & 15)
    }

    /// Returns the binary logarithm of the number of lanes (of the minimum number for dynamic vectors).
    pub const fn log2_lane_count(self) -> u32 {
        ((self.0 >> 4) & 15) as u32
    }

    /// Returns the number of lanes: 1 for scalars, the minimum for dynamic vectors.
    pub const fn lane_count(self) -> u32 {
        1 << self.log2_lane_count()
    }

    /// Returns the number of bits of one lane.
    pub const fn lane_bits(self) -> u32 {
        LANE_BITS[self.lane_code() as usize]
    }

    /// Returns the number of bits of the whole type (the minimum for dynamic vectors).
    pub const fn bits(self) -> u32 {
        self.lane_bits() << self.log2_lane_count()
    }

    /// Returns the number of bytes in memory (the minimum for dynamic vectors).
    pub const fn bytes(self) -> u32 {
        self.bits() / 8
    }

    /// Returns `true` if this is a scalar integer.
    pub const fn is_int(self) -> bool {
        matches!(self.0, 1..=5)
    }

    /// Returns `true` if this is a scalar float.
    pub const fn is_float(self) -> bool {
        matches!(self.0, 6..=9)
    }

    /// Returns `true` if this is a scalar.
    pub const fn is_scalar(self) -> bool {
        matches!(self.0, 1..=9)
    }

    /// Returns `true` if this is a vector with a fixed number of lanes.
    pub const fn is_vector(self) -> bool {
        self.log2_lane_count() > 0 && !self.is_dynamic_vector()
    }

    /// Returns `true` if this is a dynamic vector.
    pub const fn is_dynamic_vector(self) -> bool {
        self.0 & DYNAMIC != 0
    }

    /// Returns the vector with `count` times as many lanes, if it exists.
    pub const fn by(self, count: u32) -> Option<Type> {
        if self.is_invalid() || !count.is_power_of_two() {
            return None;
        }
        let log2 = self.log2_lane_count() + count.trailing_zeros();
        if log2 > MAX_LOG2_LANES {
            return None;
        }
        Some(Type((self.0 & !(15 << 4)) | (log2 as u16) << 4))
    }

    const fn with_lane(self, lane: Type) -> Type {
        Type((self.0 & !15) | lane.0)
    }

    /// Returns the type with lanes half as wide, and an equal number of lanes.
    pub const fn half_width(self) -> Option<Type> {
        match self.lane_code() {
            code @ (2..=5 | 7..=9) => Some(self.with_lane(Type(code - 1))),
            _ => None,
        }
    }

    /// Returns the type with lanes twice as wide, and an equal number of lanes.
    pub const fn double_width(self) -> Option<Type> {
        match self.lane_code() {
            code @ (1..=4 | 6..=8) => Some(self.with_lane(Type(code + 1))),
            _ => None,
        }
    }

    /// Returns the type with twice as many lanes of half the width. Its size is equal.
    pub const fn split_lanes(self) -> Option<Type> {
        match self.half_width() {
            Some(half) => half.by(2),
            None => None,
        }
    }

    /// Returns the type with half as many lanes of twice the width. Its size is equal.
    pub const fn merge_lanes(self) -> Option<Type> {
        if self.log2_lane_count() == 0 {
            return None;
        }
        match self.double_width() {
            Some(wide) => Some(Type(wide.0 - (1 << 4))),
            None => None,
        }
    }

    /// Returns the integer type of this shape: float lanes become integer lanes of equal width.
    pub const fn as_int(self) -> Type {
        match self.lane_code() {
            code @ 6..=9 => self.with_lane(Type(code - 4)),
            _ => self,
        }
    }

    /// Returns the result type of a comparison: i8 for scalars, the integer vector of this shape for vectors.
    pub const fn as_truthy(self) -> Type {
        if self.log2_lane_count() == 0 { I8 } else { self.as_int() }
    }

    /// Returns the dynamic vector whose minimum is this fixed vector.
    pub const fn vector_to_dynamic(self) -> Option<Type> {
        if self.is_vector() { Some(Type(self.0 | DYNAMIC)) } else { None }
    }

    /// Returns the fixed vector that is the minimum of this dynamic vector.
    pub const fn dynamic_to_vector(self) -> Option<Type> {
        if self.is_dynamic_vector() { Some(Type(self.0 & !DYNAMIC)) } else { None }
    }

    /// Returns a mask of all bits of one lane.
    pub const fn lane_mask(self) -> u128 {
        match self.lane_bits() {
            0 => 0,
            bits => u128::MAX >> (128 - bits),
        }
    }

    /// Returns the type with this name, such as `i32`, `f64x2` or, for a dynamic vector, `i32x4xN`.
    pub fn from_name(name: &[u8]) -> Option<Type> {
        match name {
            b"i32" => Some(I32),
            b"i64" => Some(I64),
            _ => Type::from_any_name(name),
        }
    }

    fn from_any_name(name: &[u8]) -> Option<Type> {
        match name.strip_suffix(b"xN") {
            Some(minimum) => Type::from_static_name(minimum)?.vector_to_dynamic(),
            None => Type::from_static_name(name),
        }
    }

    fn from_static_name(name: &[u8]) -> Option<Type> {
        let (kind, rest) = name.split_first()?;
        let (bits, rest) = leading_number(rest)?;
        let lane = match kind {
            b'i' => Type::int(bits)?,
            b'f' => Type::float(bits)?,
            _ => return None,
        };
        match rest.split_first() {
            None => Some(lane),
            Some((b'x', rest)) => match leading_number(rest)? {
                (count, []) if count > 1 => lane.by(count),
                _ => None,
            },
            Some(_) => None,
        }
    }
}

/// Parses a decimal number of at most three digits, without leading zeros, at the start of the text. Returns it with
/// the remaining text.
fn leading_number(text: &[u8]) -> Option<(u32, &[u8])> {
    let len = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if !(1..=3).contains(&len) || text[0] == b'0' {
        return None;
    }
    let (digits, rest) = text.split_at(len);
    Some((digits.iter().fold(0, |number, digit| number * 10 + u32::from(digit - b'0')), rest))
}

impl Default for Type {
    fn default() -> Self {
        INVALID
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(SCALAR_NAMES[usize::from(self.lane_code())])?;
        if self.log2_lane_count() > 0 {
            write!(f, "x{}", self.lane_count())?;
        }
        if self.is_dynamic_vector() {
            f.write_str("xN")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Type {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for text in ["i8", "i128", "f16", "f128", "i8x16", "i16x4", "f64x2", "i8x256", "i32x4xN"] {
            assert_eq!(Type::from_name(text.as_bytes()).unwrap().to_string(), text);
        }
        for text in ["", "i", "i7", "i32x", "i32x1", "i32x3", "i32x512", "x4", "f8", "i032", "i32xN"] {
            assert_eq!(Type::from_name(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn shapes() {
        assert_eq!((I32X4.lane_type(), I32X4.lane_count(), I32X4.bytes()), (I32, 4, 16));
        assert_eq!((I32.half_width(), I8.half_width(), F16.half_width()), (Some(I16), None, None));
        assert_eq!((I64.double_width(), I128.double_width()), (Some(I128), None));
        assert_eq!((I16X8.split_lanes(), I16X8.merge_lanes()), (Some(I8X16), Some(I32X4)));
        assert_eq!((F64.as_truthy(), F64X2.as_truthy()), (I8, I64X2));
        let dynamic = I32X4.vector_to_dynamic().unwrap();
        assert_eq!((dynamic.to_string().as_str(), dynamic.is_vector()), ("i32x4xN", false));
        assert_eq!(dynamic.dynamic_to_vector(), Some(I32X4));
        assert_eq!((I8.lane_mask(), I128.lane_mask()), (0xff, u128::MAX));
    }
}
