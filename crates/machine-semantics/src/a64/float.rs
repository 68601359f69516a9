//! Scalar floating-point instructions (C4.1, "Data Processing -- Scalar Floating-Point and Advanced SIMD").
//!
//! Assumed: rounding to nearest, without flushing to zero and without default NaNs (`FPCR` is 0). A result of
//! arithmetic that is a NaN is any NaN, as in the terms of [`FloatOp`]: the processor returns the first signaling NaN or
//! else the first NaN among the operands, made quiet, or the positive canonical NaN if no operand is one.

use super::bits::is_negative;
use super::compare::{Relation, any_relation};
use super::compare::{infinity, is_nan, is_signaling, magnitude, negated, precedes, stored_digits};
use super::condition::Condition;
use super::flags::Source;
use super::machine::{Machine, width};
use super::word::{Reg, Word};
use crate::World;
use kingpost_smt::{FloatOp, Term, Terms};

/// An operation on one float.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unary {
    /// `fmov`.
    Move,
    /// `fabs`.
    Absolute,
    /// `fneg`.
    Negate,
    /// `fsqrt`, `frintn`, `frintp`, `frintm`, `frintz`, `frintx`, `frinti`.
    Operation(FloatOp),
    /// `frinta`: to the nearest integer; if two are equally near, the one further from zero.
    RoundAway,
}

/// An operation on two floats.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Binary {
    /// `fadd`, `fsub`, `fmul`, `fdiv`.
    Operation(FloatOp),
    /// `fnmul`.
    NegatedProduct,
    /// `fmax`, and `fmin` if not `greater`: NaN if an operand is one.
    Extreme { greater: bool },
    /// `fmaxnm`, and `fminnm` if not `greater`: the other operand if one is a quiet NaN.
    NumericExtreme { greater: bool },
}

/// A scalar floating-point instruction. Widths of floats are in bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Float {
    /// `fmov d, #imm`: the bits of a number.
    Constant {
        width: u8,
        d: u8,
        bits: u64,
    },
    Unary {
        width: u8,
        operation: Unary,
        d: u8,
        n: u8,
    },
    Binary {
        width: u8,
        operation: Binary,
        d: u8,
        n: u8,
        m: u8,
    },
    /// `fmadd`, `fmsub`, `fnmadd`, `fnmsub`: the product and the addend, each negated or not.
    MultiplyAdd {
        width: u8,
        negate_product: bool,
        negate_addend: bool,
        d: u8,
        n: u8,
        m: u8,
        a: u8,
    },
    /// `fcvt`.
    Convert {
        from: u8,
        to: u8,
        d: u8,
        n: u8,
    },
    /// `fcmp`, `fcmpe`: with a register, or with zero.
    Compare {
        width: u8,
        n: u8,
        m: Option<u8>,
    },
    /// `fccmp`, `fccmpe`: a comparison if the condition holds, else the four flags, N first.
    CompareIf {
        width: u8,
        n: u8,
        m: u8,
        condition: Condition,
        otherwise: u8,
    },
    /// `fcsel`.
    Select {
        width: u8,
        d: u8,
        n: u8,
        m: u8,
        condition: Condition,
    },
    /// `scvtf`, `ucvtf`.
    FromInteger {
        wide: bool,
        signed: bool,
        width: u8,
        d: u8,
        n: Reg,
    },
    /// `fcvtns`, `fcvtps`, `fcvtms`, `fcvtzs` and the unsigned ones: rounds, and saturates.
    ToInteger {
        wide: bool,
        signed: bool,
        round: FloatOp,
        width: u8,
        d: Reg,
        n: u8,
    },
    /// `fmov` from a vector register.
    ToGeneral {
        width: u8,
        d: Reg,
        n: u8,
    },
    /// `fmov` to a vector register.
    FromGeneral {
        width: u8,
        d: u8,
        n: Reg,
    },
    /// `fmov x, v.d[1]`.
    HighToGeneral {
        d: Reg,
        n: u8,
    },
    /// `fmov v.d[1], x`.
    HighFromGeneral {
        d: u8,
        n: Reg,
    },
}

/// Returns the width of the field `ptype`.
fn decode_width(word: Word) -> Option<u8> {
    match word.bits(23, 22) {
        0b00 => Some(32),
        0b01 => Some(64),
        0b11 => Some(16),
        _ => None,
    }
}

pub(super) fn decode(word: Word) -> Option<Float> {
    if word.bits(30, 29) != 0 || word.bits(28, 25) != 0b1111 {
        return None;
    }
    if word.bit(24) {
        return decode_multiply(word);
    }
    if !word.bit(21) {
        // Conversions with fixed-point numbers.
        return None;
    }
    if word.bits(15, 10) == 0 {
        return decode_integer(word);
    }
    if word.bit(31) {
        return None;
    }
    match word.bits(11, 10) {
        0b01 => decode_compare_if(word),
        0b10 => decode_binary(word),
        0b11 => decode_select(word),
        _ if word.bit(12) => decode_constant(word),
        _ if word.bit(13) => decode_compare(word),
        _ if word.bit(14) => decode_unary(word),
        _ => None,
    }
}

/// Decodes "Floating-point data-processing (3 source)".
fn decode_multiply(word: Word) -> Option<Float> {
    if word.bit(31) {
        return None;
    }
    let width = decode_width(word)?;
    let (d, n, m, a) = (word.number(0), word.number(5), word.number(16), word.number(10));
    // Both negated for `fnmadd`; the product for `fmsub`; the addend for `fnmsub`.
    let (negate_addend, negate_product) = (word.bit(21), word.bit(21) != word.bit(15));
    // The solvers have no fused product of halves.
    (width != 16).then_some(Float::MultiplyAdd { width, negate_product, negate_addend, d, n, m, a })
}

/// Decodes "Conversion between floating-point and integer".
fn decode_integer(word: Word) -> Option<Float> {
    let (wide, mode, operation) = (word.bit(31), word.bits(20, 19), word.bits(18, 16));
    let integer = if wide { 64 } else { 32 };
    if (word.bits(23, 22), mode, operation & 0b110, wide) == (0b10, 0b01, 0b110, true) {
        return Some(match operation & 1 {
            0 => Float::HighToGeneral { d: word.reg(0), n: word.number(5) },
            _ => Float::HighFromGeneral { d: word.number(0), n: word.reg(5) },
        });
    }
    let width = decode_width(word)?;
    let signed = operation & 1 == 0;
    match (operation, mode) {
        (0b000 | 0b001, _) => {
            let round = [FloatOp::Nearest, FloatOp::Ceil, FloatOp::Floor, FloatOp::Trunc][mode as usize];
            Some(Float::ToInteger { wide, signed, round, width, d: word.reg(0), n: word.number(5) })
        }
        (0b010 | 0b011, 0b00) => Some(Float::FromInteger { wide, signed, width, d: word.number(0), n: word.reg(5) }),
        (0b110, 0b00) if width == integer || width == 16 => {
            Some(Float::ToGeneral { width, d: word.reg(0), n: word.number(5) })
        }
        (0b111, 0b00) if width == integer || width == 16 => {
            Some(Float::FromGeneral { width, d: word.number(0), n: word.reg(5) })
        }
        _ => None,
    }
}

/// Decodes "Floating-point conditional compare".
fn decode_compare_if(word: Word) -> Option<Float> {
    let (condition, otherwise) = (Condition(word.bits(15, 12) as u8), word.bits(3, 0) as u8);
    let width = decode_width(word)?;
    Some(Float::CompareIf { width, n: word.number(5), m: word.number(16), condition, otherwise })
}

/// Decodes "Floating-point data-processing (2 source)".
fn decode_binary(word: Word) -> Option<Float> {
    let operation = match word.bits(15, 12) {
        0b0000 => Binary::Operation(FloatOp::Mul),
        0b0001 => Binary::Operation(FloatOp::Div),
        0b0010 => Binary::Operation(FloatOp::Add),
        0b0011 => Binary::Operation(FloatOp::Sub),
        0b0100 => Binary::Extreme { greater: true },
        0b0101 => Binary::Extreme { greater: false },
        0b0110 => Binary::NumericExtreme { greater: true },
        0b0111 => Binary::NumericExtreme { greater: false },
        0b1000 => Binary::NegatedProduct,
        _ => return None,
    };
    let (width, d, n, m) = (decode_width(word)?, word.number(0), word.number(5), word.number(16));
    Some(Float::Binary { width, operation, d, n, m })
}

/// Decodes "Floating-point conditional select".
fn decode_select(word: Word) -> Option<Float> {
    let (width, condition) = (decode_width(word)?, Condition(word.bits(15, 12) as u8));
    Some(Float::Select { width, d: word.number(0), n: word.number(5), m: word.number(16), condition })
}

/// Decodes "Floating-point immediate".
fn decode_constant(word: Word) -> Option<Float> {
    let width = decode_width(word)?;
    (word.number(5) == 0).then(|| Float::Constant {
        width,
        d: word.number(0),
        bits: expanded(word.bits(20, 13), width),
    })
}

/// Returns the bits of the number that eight bits denote (J1.2.3, `VFPExpandImm`): sign, three bits of the exponent,
/// four bits of the significand.
pub(super) fn expanded(eight: u32, width: u8) -> u64 {
    let digits = stored_digits(width.into());
    let exponent_bits = u32::from(width) - digits - 1;
    let (sign, high, low) = (eight >> 7, eight >> 6 & 1, eight >> 4 & 3);
    // The inverted highest bit, copies of that bit, and two bits.
    let copies = if high == 1 { (1 << (exponent_bits - 3)) - 1 } else { 0 };
    let exponent = u64::from(high ^ 1) << (exponent_bits - 1) | copies << 2 | u64::from(low);
    u64::from(sign) << (width - 1) | exponent << digits | u64::from(eight & 15) << (digits - 4)
}

/// Decodes "Floating-point compare".
fn decode_compare(word: Word) -> Option<Float> {
    let with_zero = word.bit(3);
    if word.bits(15, 14) != 0 || word.bits(2, 0) != 0 || with_zero && word.number(16) != 0 {
        return None;
    }
    let width = decode_width(word)?;
    Some(Float::Compare { width, n: word.number(5), m: (!with_zero).then_some(word.number(16)) })
}

/// Decodes "Floating-point data-processing (1 source)".
fn decode_unary(word: Word) -> Option<Float> {
    let (width, d, n) = (decode_width(word)?, word.number(0), word.number(5));
    let operation = match word.bits(20, 15) {
        0b000000 => Unary::Move,
        0b000001 => Unary::Absolute,
        0b000010 => Unary::Negate,
        0b000011 => Unary::Operation(FloatOp::Sqrt),
        to @ (0b000100 | 0b000101 | 0b000111) => {
            let to = [32, 64, 0, 16][to as usize & 3];
            return (to != width).then_some(Float::Convert { from: width, to, d, n });
        }
        0b001000 => Unary::Operation(FloatOp::Nearest),
        0b001001 => Unary::Operation(FloatOp::Ceil),
        0b001010 => Unary::Operation(FloatOp::Floor),
        0b001011 => Unary::Operation(FloatOp::Trunc),
        0b001100 => Unary::RoundAway,
        // In the current mode, which is to nearest.
        0b001110 | 0b001111 => Unary::Operation(FloatOp::Nearest),
        _ => return None,
    };
    Some(Float::Unary { width, operation, d, n })
}

impl Float {
    /// Returns the feature of operations on halves, except conversions.
    pub(super) fn feature(self) -> Option<&'static str> {
        let (Float::Constant { width, .. }
        | Float::Unary { width, .. }
        | Float::Binary { width, .. }
        | Float::MultiplyAdd { width, .. }
        | Float::Compare { width, .. }
        | Float::CompareIf { width, .. }
        | Float::Select { width, .. }
        | Float::FromInteger { width, .. }
        | Float::ToInteger { width, .. }
        | Float::ToGeneral { width, .. }
        | Float::FromGeneral { width, .. }) = self
        else {
            return None;
        };
        (width == 16).then_some("fp16")
    }

    pub(super) fn step<W: World>(self, machine: &mut Machine<'_, W>) {
        match self {
            Float::Constant { width, d, bits } => {
                let value = machine.number(width.into(), bits);
                machine.write_vector(d, value);
            }
            Float::Unary { width, operation, d, n } => {
                let x = machine.read_vector(n, width.into());
                let result = operation.apply(machine.terms(), x);
                machine.write_vector(d, result);
            }
            Float::Binary { width, operation, d, n, m } => {
                let [x, y] = [n, m].map(|number| machine.read_vector(number, width.into()));
                let result = operation.apply(machine.terms(), x, y);
                machine.write_vector(d, result);
            }
            Float::MultiplyAdd { width, negate_product, negate_addend, d, n, m, a } => {
                let [x, y, z] = [n, m, a].map(|number| machine.read_vector(number, width.into()));
                let result = multiply_add(machine.terms(), negate_product, negate_addend, [x, y, z]);
                machine.write_vector(d, result);
            }
            Float::Convert { from, to, d, n } => {
                let x = machine.read_vector(n, from.into());
                let result = machine.terms().float(FloatOp::Convert, &[x], to.into());
                machine.write_vector(d, result);
            }
            Float::Compare { width, n, m } => {
                let operands = machine.comparands(width, n, m);
                machine.set_flags(Source::Floats(operands));
            }
            Float::CompareIf { width, n, m, condition, otherwise } => {
                let operands = machine.comparands(width, n, Some(m));
                machine.set_flags_if(condition, Source::Floats(operands), otherwise);
            }
            Float::Select { width, d, n, m, condition } => {
                let holds = machine.holds(condition);
                let [x, y] = [n, m].map(|number| machine.read_vector(number, width.into()));
                let result = machine.terms().ite(holds, x, y);
                machine.write_vector(d, result);
            }
            Float::FromInteger { wide, signed, width: to, d, n } => {
                let x = machine.read(n, width(wide));
                let operation = if signed { FloatOp::FromSigned } else { FloatOp::FromUnsigned };
                let result = machine.terms().float(operation, &[x], to.into());
                machine.write_vector(d, result);
            }
            Float::ToInteger { wide, signed, round, width: from, d, n } => {
                let x = machine.read_vector(n, from.into());
                let result = to_integer(machine.terms(), x, round, width(wide), signed);
                machine.write(d, result);
            }
            Float::ToGeneral { width, d, n } => {
                let x = machine.read_vector(n, width.into());
                machine.write(d, x);
            }
            Float::FromGeneral { width, d, n } => {
                let x = machine.read(n, width.into());
                machine.write_vector(d, x);
            }
            Float::HighToGeneral { d, n } => {
                let [_, high] = machine.state.vector[usize::from(n)];
                machine.write(d, high);
            }
            Float::HighFromGeneral { d, n } => machine.state.vector[usize::from(d)][1] = machine.read(n, 64),
        }
    }
}

impl<W: World> Machine<'_, W> {
    fn comparands(&mut self, width: u8, n: u8, m: Option<u8>) -> [Term; 2] {
        let x = self.read_vector(n, width.into());
        let y = match m {
            Some(m) => self.read_vector(m, width.into()),
            None => self.number(width.into(), 0),
        };
        [x, y]
    }
}

impl Unary {
    pub(super) fn apply(self, terms: &mut Terms, x: Term) -> Term {
        match self {
            Unary::Move => x,
            Unary::Absolute => magnitude(terms, x),
            Unary::Negate => negated(terms, x),
            Unary::Operation(operation) => terms.float(operation, &[x], terms.width(x)),
            Unary::RoundAway => rounded_away(terms, x),
        }
    }
}

/// Truncates, and adds 1 with the sign of `x` if at least one half is cut off. The cut part is exact, and it is zero if
/// 1 could not be added exactly.
fn rounded_away(terms: &mut Terms, x: Term) -> Term {
    let width = terms.width(x);
    let [half, one] =
        [expanded(0x60, width as u8), expanded(0x70, width as u8)].map(|bits| terms.number(width, bits.into()));
    let truncated = terms.float(FloatOp::Trunc, &[x], width);
    let cut = terms.float(FloatOp::Sub, &[x, truncated], width);
    let cut = magnitude(terms, cut);
    let is_more = any_relation(terms, [cut, half], &[Relation::Greater, Relation::Equal]);
    let minus_one = negated(terms, one);
    let is_negative = is_negative(terms, x);
    let step = terms.ite(is_negative, minus_one, one);
    let further = terms.float(FloatOp::Add, &[truncated, step], width);
    let rounded = terms.ite(is_more, further, truncated);
    let is_nan = is_nan(terms, x);
    terms.ite(is_nan, truncated, rounded)
}

impl Binary {
    pub(super) fn apply(self, terms: &mut Terms, x: Term, y: Term) -> Term {
        match self {
            Binary::Operation(operation) => terms.performed(operation, &[x, y], terms.width(x)),
            Binary::NegatedProduct => {
                let product = terms.performed(FloatOp::Mul, &[x, y], terms.width(x));
                negated(terms, product)
            }
            Binary::Extreme { greater } => {
                let number = extreme(terms, greater, x, y);
                let nans = [x, y].map(|operand| is_nan(terms, operand));
                let any = terms.or(nans[0], nans[1]);
                let nan = processed_nan(terms, [x, y]);
                terms.ite(any, nan, number)
            }
            Binary::NumericExtreme { greater } => numeric_extreme(terms, greater, x, y),
        }
    }
}

/// Returns the NaN that two operands yield if one is a NaN (J1.2.3, `FPProcessNaNs`): their sum.
fn processed_nan(terms: &mut Terms, operands: [Term; 2]) -> Term {
    terms.performed(FloatOp::Add, &operands, terms.width(operands[0]))
}

/// Returns the larger or the smaller of two numbers.
fn extreme(terms: &mut Terms, greater: bool, x: Term, y: Term) -> Term {
    let is_second = if greater { precedes(terms, x, y) } else { precedes(terms, y, x) };
    terms.ite(is_second, y, x)
}

/// Returns the larger or the smaller operand, without quiet NaNs.
fn numeric_extreme(terms: &mut Terms, greater: bool, x: Term, y: Term) -> Term {
    let number = extreme(terms, greater, x, y);
    let [x_nan, y_nan] = [x, y].map(|operand| is_nan(terms, operand));
    let [x_signaling, y_signaling] = [x, y].map(|operand| is_signaling(terms, operand));
    let nan = processed_nan(terms, [x, y]);
    let (both, signaling) = (terms.and(x_nan, y_nan), terms.or(x_signaling, y_signaling));
    let is_nan = terms.or(both, signaling);
    let without_y = terms.ite(y_nan, x, number);
    let without_x = terms.ite(x_nan, y, without_y);
    terms.ite(is_nan, nan, without_x)
}

pub(super) fn multiply_add(terms: &mut Terms, negate_product: bool, negate_addend: bool, [x, y, z]: [Term; 3]) -> Term {
    let x = if negate_product { negated(terms, x) } else { x };
    let z = if negate_addend { negated(terms, z) } else { z };
    terms.performed(FloatOp::Fma, &[x, y, z], terms.width(x))
}

/// Returns the rounded number as an integer of `to` bits: the nearest one, if there is none; and zero for a NaN.
pub(super) fn to_integer(terms: &mut Terms, x: Term, round: FloatOp, to: u32, signed: bool) -> Term {
    let format = terms.width(x);
    let rounded = terms.float(round, &[x], format);
    let limit = power_of_two(terms, format, if signed { to - 1 } else { to });
    let zero = terms.number(format, 0);
    let least = if signed { negated(terms, limit) } else { zero };
    let above = any_relation(terms, [rounded, limit], &[Relation::Greater, Relation::Equal]);
    // A limit that the format does not reach is infinity, which is out of range.
    let is_reached = limit != terms.number(format, infinity(format));
    let out_of_range: &[Relation] = if is_reached { &[Relation::Less] } else { &[Relation::Less, Relation::Equal] };
    let below = any_relation(terms, [rounded, least], if signed { out_of_range } else { &[Relation::Less] });
    let (most, fewest) = if signed {
        (terms.number(to, (1 << (to - 1)) - 1), terms.number(to, 1 << (to - 1)))
    } else {
        (terms.number(to, (1 << to) - 1), terms.number(to, 0))
    };
    let operation = if signed { FloatOp::ToSigned } else { FloatOp::ToUnsigned };
    let of = if round == FloatOp::Trunc { x } else { rounded };
    let integer = terms.float(operation, &[of], to);
    let at_least = terms.ite(below, fewest, integer);
    let within = terms.ite(above, most, at_least);
    let (nan, none) = (is_nan(terms, x), terms.number(to, 0));
    terms.ite(nan, none, within)
}

/// Returns 2^exponent as a float; infinity if the power is too large.
fn power_of_two(terms: &mut Terms, format: u32, exponent: u32) -> Term {
    let digits = stored_digits(format);
    let bias = (1 << (format - digits - 2)) - 1;
    let biased = u128::from(exponent + bias) << digits;
    terms.number(format, biased.min(infinity(format)))
}
