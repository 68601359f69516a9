//! Constants that fit into fields of instructions, and their encodings.
//!
//! A function that can fail returns the immediate of a row ([`MInst::imm`](kingpost_mach::MInst)) or `None`. Source:
//! Arm Architecture Reference Manual, `DecodeBitMasks` and `VFPExpandImm` in its pseudocode library.

use kingpost_mach::IndexExtend;
use smallvec::SmallVec;

/// Shift of a register operand. The discriminant is its encoding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shift {
    /// To the left.
    Lsl = 0,
    /// To the right, filled with zeros.
    Lsr = 1,
    /// To the right, filled with copies of the sign.
    Asr = 2,
    /// Rotated to the right. Bitwise operations only.
    Ror = 3,
}

/// Extension of a register operand. The discriminant is its encoding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extend {
    /// The low 8 bits, zero-extended.
    Uxtb = 0,
    /// The low 16 bits, zero-extended.
    Uxth = 1,
    /// The low 32 bits, zero-extended.
    Uxtw = 2,
    /// All 64 bits.
    Uxtx = 3,
    /// The low 8 bits, sign-extended.
    Sxtb = 4,
    /// The low 16 bits, sign-extended.
    Sxth = 5,
    /// The low 32 bits, sign-extended.
    Sxtw = 6,
    /// All 64 bits.
    Sxtx = 7,
}

/// Returns the extension of an index as instructions encode it.
pub(crate) fn extension(extend: IndexExtend) -> Extend {
    match extend {
        IndexExtend::None => Extend::Uxtx,
        IndexExtend::Zero32 => Extend::Uxtw,
        IndexExtend::Sign32 => Extend::Sxtw,
    }
}

/// Returns the immediate of a shifted register. `amount` is less than the width of the operation.
pub const fn shifted(shift: Shift, amount: u8) -> i32 {
    (shift as i32) << 12 | amount as i32
}

/// Returns the immediate of an extended register that is shifted left by `amount`, 0 to 4, after the extension.
pub const fn extended(extend: Extend, amount: u8) -> i32 {
    (extend as i32) << 3 | amount as i32
}

/// Returns the immediate of an addition or subtraction: 12 bits, or 12 bits shifted left by 12.
pub const fn add_sub(value: u64) -> Option<i32> {
    if value <= 0xfff || (value <= 0xff_ffff && value & 0xfff == 0) { Some(value as i32) } else { None }
}

/// Returns the immediate of a conditional comparison: the condition, the flags (N, Z, C, V from bit 3 down) if it
/// does not hold, and for `RI` the number from 0 to 31.
pub const fn compare(condition: i32, flags: i32, number: i32) -> i32 {
    number << 16 | condition << 12 | flags
}

/// Returns the immediate of `sbfm`, `bfm` and `ubfm`: rotation and highest bit, as the manual names them.
pub const fn bitfield(immr: u8, imms: u8) -> i32 {
    (immr as i32) << 6 | imms as i32
}

/// Returns the immediate of a bit field instruction that moves `width` bits from bit `lsb` of the source to bit 0
/// (`sbfx`, `bfxil`, `ubfx`).
pub const fn bitfield_extract(lsb: u8, width: u8) -> i32 {
    bitfield(lsb, lsb + width - 1)
}

/// Returns the immediate of a bit field instruction on `bits` bits that moves the low `width` bits of the source to
/// bit `lsb` (`sbfiz`, `bfi`, `ubfiz`).
pub const fn bitfield_insert(lsb: u8, width: u8, bits: u8) -> i32 {
    bitfield((bits - lsb) % bits, width - 1)
}

/// Returns the immediate of a bitwise operation on `bits` bits, 32 or 64: N, immr and imms. The low `bits` of `value`
/// must be a repetition of an element of 2, 4, ..., 64 bits that is a rotated run of ones.
pub fn logical(value: u64, bits: u32) -> Option<i32> {
    let value = if bits == 32 { value << 32 | value & 0xffff_ffff } else { value };
    if value == 0 || value == u64::MAX {
        return None;
    }
    // Rotate so that a run of ones begins at bit 0, and bit 63 is zero.
    let rotation = (value & (value + 1)).trailing_zeros() & 63;
    let normal = value.rotate_right(rotation);
    let zeros = normal.leading_zeros();
    let ones = (!normal).trailing_zeros();
    // If the element consists of `zeros` zeros and `ones` ones, a rotation by its size changes nothing.
    let size = zeros + ones;
    if value.rotate_right(size & 63) != value {
        return None;
    }
    let n = size >> 6;
    let immr = rotation.wrapping_neg() & (size - 1);
    let imms = (size.wrapping_neg() << 1 | (ones - 1)) & 0x3f;
    Some((n << 12 | immr << 6 | imms) as i32)
}

/// Returns the bit pattern of an immediate that [`logical`] made. The result for any other number is unspecified.
pub fn logical_value(field: i32, bits: u32) -> u64 {
    let (n, immr, imms) = (field as u32 >> 12 & 1, field as u32 >> 6 & 63, field as u32 & 63);
    // The highest zero of imms, with the inverted N as its bit 6, gives the size of the element.
    let size = 1 << (31 - (n << 6 | !imms & 63 | 1).leading_zeros());
    let ones = (imms & (size - 1)) + 1;
    let element = if ones == 64 { u64::MAX } else { (1 << ones) - 1 };
    let mut value = rotate_right(element, immr & (size - 1), size);
    let mut width = size;
    while width < 64 {
        value |= value << width;
        width *= 2;
    }
    if bits == 32 { value & 0xffff_ffff } else { value }
}

/// Returns `value` rotated within its low `size` bits. The bits above them must be zero.
fn rotate_right(value: u64, by: u32, size: u32) -> u64 {
    if by == 0 {
        return value;
    }
    let mask = u64::MAX >> (64 - size);
    (value >> by | value << (size - by)) & mask
}

/// Returns the immediate of `movz`, `movn` and `movk`: 16 bits, shifted left by 16 times `chunk`.
pub const fn mov_wide(value: u16, chunk: u8) -> i32 {
    (chunk as i32) << 16 | value as i32
}

/// One instruction of a sequence that makes a constant, with its immediate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConstantInst {
    /// `movz`.
    Zero(i32),
    /// `movn`.
    Ones(i32),
    /// `movk`.
    Keep(i32),
    /// `orr` with the zero register.
    Pattern(i32),
}

/// Returns the immediate of the `movz` that makes the constant of `bits` bits, 32 or 64, if the constant has at most
/// 16 bits, which is the usual case. [`constant`] finds this instruction too.
pub fn least_constant(value: u64, bits: u32) -> Option<i32> {
    let value = if bits == 32 { value & 0xffff_ffff } else { value };
    (value <= 0xffff).then_some(value as i32)
}

/// Returns the shortest sequence that makes the constant of `bits` bits, 32 or 64: a bit pattern, or one move and
/// further ones that each replace 16 bits. On 32 bits the upper half of `value` does not matter.
pub fn constant(value: u64, bits: u32) -> SmallVec<[ConstantInst; 4]> {
    let value = if bits == 32 { value & 0xffff_ffff } else { value };
    let chunks = (bits / 16) as u8;
    let chunk = |k: u8| (value >> (16 * k)) as u16;
    let count = |of: u16| (0..chunks).filter(|&k| chunk(k) == of).count();
    let (zeros, ones) = (count(0), count(0xffff));
    let mut insts = SmallVec::new();
    if zeros.max(ones) + 1 < usize::from(chunks)
        && let Some(field) = logical(value, bits)
    {
        insts.push(ConstantInst::Pattern(field));
        return insts;
    }
    let invert = ones > zeros;
    let rest = if invert { 0xffff } else { 0 };
    for k in (0..chunks).filter(|&k| chunk(k) != rest) {
        insts.push(match (insts.is_empty(), invert) {
            (true, false) => ConstantInst::Zero(mov_wide(chunk(k), k)),
            (true, true) => ConstantInst::Ones(mov_wide(!chunk(k), k)),
            (false, _) => ConstantInst::Keep(mov_wide(chunk(k), k)),
        });
    }
    if insts.is_empty() {
        insts.push(if invert { ConstantInst::Ones(0) } else { ConstantInst::Zero(0) });
    }
    insts
}

/// Returns the immediate of `fmov` for the float of `bits` bits, 32 or 64, given by its representation. It must
/// consist of a sign, 3 bits of exponent and 4 bits of fraction.
pub fn float(value: u64, bits: u32) -> Option<i32> {
    // The sign, then exponent bits: one bit, several copies of its inverse, two further bits.
    let (fraction, repeated) = if bits == 32 { (23, 5) } else { (52, 8) };
    let sign = value >> (bits - 1) & 1;
    let low = value >> (fraction - 4) & 0x3f;
    let run = value >> (fraction + 2) & ((1 << repeated) - 1);
    let top = value >> (bits - 2) & 1;
    let rest = value & ((1 << (fraction - 4)) - 1);
    let expected = if top == 1 { 0 } else { (1 << repeated) - 1 };
    if rest != 0 || run != expected {
        return None;
    }
    Some((sign << 7 | (run & 1) << 6 | low) as i32)
}

/// Returns the float that an immediate made by [`float`] encodes.
pub fn float_value(field: i32) -> f64 {
    let field = field as u64;
    let exponent = if field & 0x40 == 0 { 0x400 } else { 0x3fc } | field >> 4 & 3;
    f64::from_bits((field >> 7 & 1) << 63 | exponent << 52 | (field & 15) << 48)
}

/// Returns `true` if an access to `bytes` bytes can encode `offset` from its base: 12 bits in units of `bytes`, or 9
/// bits signed.
pub const fn reaches(offset: i64, bytes: u8) -> bool {
    scaled(offset, bytes).is_some() || unscaled(offset).is_some()
}

/// Returns the field of a scaled offset: 12 bits in units of `bytes`.
pub(crate) const fn scaled(offset: i64, bytes: u8) -> Option<u32> {
    let log = bytes.trailing_zeros();
    let units = offset >> log;
    if 0 <= units && units <= 0xfff && units << log == offset { Some(units as u32) } else { None }
}

/// Returns the field of an unscaled offset: 9 bits signed.
pub(crate) const fn unscaled(offset: i64) -> Option<u32> {
    if offset >= -256 && offset <= 255 { Some(offset as u32 & 0x1ff) } else { None }
}

/// Returns the field of a pair's offset: 7 bits signed, in units of `bytes`, the size of one register.
pub(crate) const fn paired(offset: i64, bytes: u8) -> Option<u32> {
    let bytes = bytes as i64;
    if offset & (bytes - 1) == 0 && offset >= -64 * bytes && offset <= 63 * bytes {
        Some((offset / bytes) as u32 & 0x7f)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Returns all patterns by their definition, of both widths: element size, number of ones, rotation.
    fn patterns(bits: u32) -> HashSet<u64> {
        let mut all = HashSet::new();
        let mut size = 2;
        while size <= bits {
            for ones in 1..size {
                for rotation in 0..size {
                    let run = (1u64 << ones) - 1;
                    let element = rotate_right(run, rotation, size);
                    all.insert((0..bits / size).fold(0, |value, k| value | element << (k * size)));
                }
            }
            size *= 2;
        }
        all
    }

    #[test]
    fn every_bit_pattern_is_found_and_only_those() {
        for (bits, number) in [(64, 5334), (32, 1302)] {
            let all = patterns(bits);
            assert_eq!(all.len(), number);
            let fields: HashSet<i32> = all
                .iter()
                .map(|&value| {
                    let field = logical(value, bits).unwrap_or_else(|| panic!("{value:#x} of {bits} bits"));
                    assert_eq!(logical_value(field, bits), value, "{field:#x}");
                    field
                })
                .collect();
            assert_eq!(fields.len(), number, "one field each");
            // Neighbors of patterns, and random numbers.
            let near = all.iter().flat_map(|&v| (0..bits).map(move |bit| v ^ 1 << bit));
            let mut seed = 1u64;
            let random = (0..100_000).map(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                seed >> (64 - bits) ^ seed >> 40
            });
            let mask = u64::MAX >> (64 - bits);
            for value in near.chain(random).map(|v| v & mask).chain([0, mask]) {
                assert_eq!(logical(value, bits).is_some(), all.contains(&value), "{value:#x} of {bits} bits");
            }
        }
    }

    /// Returns the value that the steps make.
    fn run(insts: &[ConstantInst], bits: u32) -> u64 {
        let place = |field: i32| ((field as u64 & 0xffff) << (16 * (field >> 16)), 0xffff << (16 * (field >> 16)));
        let value = insts.iter().fold(0, |value: u64, step| match *step {
            ConstantInst::Zero(field) => place(field).0,
            ConstantInst::Ones(field) => !place(field).0,
            ConstantInst::Keep(field) => value & !place(field).1 | place(field).0,
            ConstantInst::Pattern(field) => logical_value(field, bits),
        });
        if bits == 32 { value & 0xffff_ffff } else { value }
    }

    #[test]
    fn constants_take_the_shortest_way() {
        let cases: [(u64, u32, usize); 14] = [
            (0, 64, 1),
            (u64::MAX, 64, 1),
            (u64::MAX, 32, 1),
            (0x1234, 64, 1),
            (0x1234_0000_0000, 64, 1),
            (!0x1234_0000, 64, 1),
            (!0x1234, 32, 1),
            (0x5555_5555_5555_5555, 64, 1),
            (0x00ff_00ff, 32, 1),
            (0x1234_5678, 32, 2),
            (0x1234_5678, 64, 2),
            (0xffff_ffff_1234_5678, 64, 2),
            (0x1234_5678_0000_ffff, 64, 3),
            (0x1234_5678_9abc_def0, 64, 4),
        ];
        for (value, bits, insts) in cases {
            let found = constant(value, bits);
            assert_eq!(found.len(), insts, "{value:#x}: {found:?}");
            assert_eq!(run(&found, bits), if bits == 32 { value & 0xffff_ffff } else { value });
        }
        for value in (0..64).flat_map(|bit| [1u64 << bit, !(1 << bit), (1 << bit) - 1, 0x8001 << bit]) {
            assert_eq!(run(&constant(value, 64), 64), value);
            assert_eq!(run(&constant(value, 32), 32), value & 0xffff_ffff);
            for bits in [32, 64] {
                let least = least_constant(value, bits).map(ConstantInst::Zero);
                assert!(least.is_none() || constant(value, bits)[..] == [least.unwrap()], "{value:#x}");
            }
        }
    }

    #[test]
    fn floats_of_eight_bits_are_found() {
        let fields: Vec<i32> = (0..256).map(|f| float(float_value(f).to_bits(), 64).unwrap()).collect();
        assert_eq!(fields, (0..256).collect::<Vec<i32>>());
        for f in 0..256 {
            assert_eq!(float(u64::from((float_value(f) as f32).to_bits()), 32), Some(f));
        }
        assert_eq!((float_value(0x70), float_value(0x80)), (1.0, -2.0));
        for value in [0.0, -0.0, 0.1, 33.0, 32.0, 0.0625, f64::INFINITY, f64::NAN] {
            assert_eq!(float(value.to_bits(), 64), None, "{value}");
            assert_eq!(float(u64::from((value as f32).to_bits()), 32), None, "{value}");
        }
    }

    #[test]
    fn offsets_have_limits() {
        assert!(reaches(4095, 1) && !reaches(4096, 1) && reaches(32760, 8) && !reaches(32768, 8));
        assert!(reaches(255, 8) && !reaches(257, 8) && reaches(-256, 8) && !reaches(-257, 8));
        assert_eq!((paired(-512, 8), paired(504, 8)), (Some(0x40), Some(63)));
        assert_eq!((paired(-520, 8), paired(512, 8), paired(4, 8)), (None, None, None));
        assert_eq!((add_sub(0xfff), add_sub(0x1000), add_sub(0x1001)), (Some(0xfff), Some(0x1000), None));
        assert_eq!((add_sub(0xfff000), add_sub(0x1000000)), (Some(0xfff000), None));
    }
}
