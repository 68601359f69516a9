//! Decoder of the instructions of `vector.rs` (C4.1, "Data Processing -- Scalar Floating-Point and Advanced SIMD").

use super::float::{Binary, Unary};
use super::lanes::{FloatOrder, Narrow, Order, Three, Two};
use super::vector::{LaneShift, Long, Vector};
use super::word::Word;
use kingpost_smt::FloatOp;

pub(super) fn decode(word: Word) -> Option<Vector> {
    if word.bit(31) || word.bits(28, 25) != 0b0111 {
        return None;
    }
    if word.bit(24) {
        return if !word.bit(23) && word.bit(10) && word.bits(22, 19) != 0 { decode_shift(word) } else { None };
    }
    match (word.bit(21), word.bits(11, 10)) {
        (true, 0b01 | 0b11) => decode_three(word),
        (true, 0b00) => decode_different(word),
        (true, _) => match word.bits(20, 17) {
            0b0000 => decode_two(word),
            0b1000 => decode_across(word),
            0b1100 if word.bit(22) => decode_half_two(word),
            _ => None,
        },
        (false, 0b01 | 0b11) if word.bit(22) && word.bits(15, 14) == 0 => decode_half_three(word),
        (false, 0b01 | 0b11) if word.bit(15) => decode_dot(word),
        _ => None,
    }
}

/// Returns the fields Q, U and size.
fn fields(word: Word) -> (bool, bool, u32) {
    (word.bit(30), word.bit(29), word.bits(23, 22))
}

fn registers(word: Word) -> (u8, u8, u8) {
    (word.number(0), word.number(5), word.number(16))
}

/// Decodes "Advanced SIMD three same".
fn decode_three(word: Word) -> Option<Vector> {
    let ((full, u, size), (d, n, m)) = (fields(word), registers(word));
    let width: u8 = 8 << size;
    let opcode = word.bits(15, 11);
    let same = |operation| Some(Vector::Three { full, width, operation, d, n, m });
    let pairwise = |operation| Some(Vector::Pairwise { full, width, operation, d, n, m });
    // Lanes of 64 bits need a full vector, and some operations do not have them.
    if opcode == 0b00011 {
        return Some(Vector::Three { full, width: 64, operation: bitwise(u, size), d, n, m });
    }
    if opcode >= 0b11000 {
        let double = word.bit(22);
        let operation = float_three(u, word.bit(23), opcode & 7, if double { 64 } else { 32 })?;
        let width = if double { 64 } else { 32 };
        return (full || !double).then_some(Vector::Three { full, width, operation, d, n, m });
    }
    if width == 64 && !full {
        return None;
    }
    let narrow = width < 64;
    let signed = !u;
    match opcode {
        0b00000 if narrow => same(Three::HalfSum { signed, round: false }),
        0b00001 => same(Three::Saturate { signed, subtract: false }),
        0b00010 if narrow => same(Three::HalfSum { signed, round: true }),
        0b00101 => same(Three::Saturate { signed, subtract: true }),
        0b00110 => same(Three::Compare(if u { Order::UnsignedGreater } else { Order::SignedGreater })),
        0b00111 => same(Three::Compare(if u { Order::UnsignedGreaterOrEqual } else { Order::SignedGreaterOrEqual })),
        0b01000 => same(Three::Shift { signed }),
        0b01100 if narrow => same(Three::Extreme { signed, greater: true }),
        0b01101 if narrow => same(Three::Extreme { signed, greater: false }),
        0b10000 => same(if u { Three::Subtract } else { Three::Add }),
        0b10001 => same(Three::Compare(if u { Order::Equal } else { Order::Common })),
        0b10010 if narrow => same(Three::MultiplyAdd { subtract: u }),
        0b10011 if narrow && !u => same(Three::Multiply),
        0b10100 if narrow => pairwise(Three::Extreme { signed, greater: true }),
        0b10101 if narrow => pairwise(Three::Extreme { signed, greater: false }),
        0b10110 if width == 16 || width == 32 => same(Three::DoubledHigh { round: u }),
        0b10111 if !u => pairwise(Three::Add),
        _ => None,
    }
}

fn bitwise(u: bool, size: u32) -> Three {
    match (u, size) {
        (false, 0) => Three::And,
        (false, 1) => Three::AndNot,
        (false, 2) => Three::Or,
        (false, _) => Three::OrNot,
        (true, 0) => Three::Xor,
        (true, 1) => Three::SelectByOld,
        (true, 2) => Three::InsertIfOne,
        (true, _) => Three::InsertIfZero,
    }
}

/// Returns the operation on floats with the low three bits of an opcode.
fn float_three(u: bool, a: bool, opcode: u32, width: u8) -> Option<Three> {
    Some(match (u, a, opcode) {
        (false, _, 0b000) => Three::Float(Binary::NumericExtreme { greater: !a }),
        // The solvers have no fused product of halves.
        (false, _, 0b001) if width != 16 => Three::FloatMultiplyAdd { subtract: a },
        (false, _, 0b010) => Three::Float(Binary::Operation(if a { FloatOp::Sub } else { FloatOp::Add })),
        (false, false, 0b100) => Three::FloatCompare(FloatOrder::Equal),
        (false, _, 0b110) => Three::Float(Binary::Extreme { greater: !a }),
        (true, false, 0b011) => Three::Float(Binary::Operation(FloatOp::Mul)),
        (true, _, 0b100) => Three::FloatCompare(if a { FloatOrder::Greater } else { FloatOrder::GreaterOrEqual }),
        (true, false, 0b111) => Three::Float(Binary::Operation(FloatOp::Div)),
        _ => return None,
    })
}

/// Decodes "Advanced SIMD three same (FP16)".
fn decode_half_three(word: Word) -> Option<Vector> {
    let ((full, u, _), (d, n, m)) = (fields(word), registers(word));
    let operation = float_three(u, word.bit(23), word.bits(13, 11), 16)?;
    Some(Vector::Three { full, width: 16, operation, d, n, m })
}

/// Decodes "Advanced SIMD two-register miscellaneous".
fn decode_two(word: Word) -> Option<Vector> {
    let ((full, u, size), (d, n, _)) = (fields(word), registers(word));
    let width: u8 = 8 << size;
    let opcode = word.bits(16, 12);
    let two = |operation| Some(Vector::Two { full, width, operation, d, n });
    let narrow = |narrow| Some(Vector::Narrow { upper: full, width, narrow, amount: 0, round: false, d, n });
    // `rev64`, `rev32`, `rev16`: lanes in groups that are wider.
    let reverse =
        |group: u8| (width < group).then_some(Vector::Two { full, width: group, operation: Two::Reverse(width), d, n });
    match (u, opcode) {
        (false, 0b00000) => return reverse(64),
        (true, 0b00000) => return reverse(32),
        (false, 0b00001) => return reverse(16),
        (_, 0b00010 | 0b00110) if width < 64 => {
            let accumulate = opcode == 0b00110;
            return Some(Vector::PairLong { full, width, signed: !u, accumulate, d, n });
        }
        (false, 0b00100) if width < 64 => return two(Two::LeadingSigns),
        (true, 0b00100) if width < 64 => return two(Two::LeadingZeros),
        (false, 0b00101) if size == 0 => return two(Two::CountOnes),
        (true, 0b00101) if size == 0 => return Some(Vector::Two { full, width: 64, operation: Two::Not, d, n }),
        (true, 0b00101) if size == 1 => return Some(Vector::Two { full, width: 8, operation: Two::ReverseBits, d, n }),
        (false, 0b10010) if width < 64 => return narrow(Narrow::Truncate),
        (true, 0b10010) if width < 64 => return narrow(Narrow::SignedToUnsigned),
        (false, 0b10100) if width < 64 => return narrow(Narrow::SignedToSigned),
        (true, 0b10100) if width < 64 => return narrow(Narrow::UnsignedToUnsigned),
        // From or to halves, or singles, by the low bit of the size.
        (false, 0b10110) if size < 2 => return Some(Vector::FloatNarrow { upper: full, width: 16 << size, d, n }),
        (false, 0b10111) if size < 2 => return Some(Vector::FloatLong { upper: full, width: 16 << size, d, n }),
        _ => {}
    }
    if opcode >= 0b11000 || opcode & 0b11100 == 0b01100 {
        let (double, operation) = (word.bit(22), float_two(u, word.bit(23), opcode)?);
        let width = if double { 64 } else { 32 };
        return (full || !double).then_some(Vector::Two { full, width, operation, d, n });
    }
    if width == 64 && !full {
        return None;
    }
    match (u, opcode) {
        (false, 0b01000) => two(Two::CompareWithZero(Order::SignedGreater)),
        (true, 0b01000) => two(Two::CompareWithZero(Order::SignedGreaterOrEqual)),
        (false, 0b01001) => two(Two::CompareWithZero(Order::Equal)),
        (true, 0b01001) => two(Two::CompareWithZero(Order::SignedLessOrEqual)),
        (false, 0b01010) => two(Two::CompareWithZero(Order::SignedLess)),
        (false, 0b01011) => two(Two::Absolute),
        (true, 0b01011) => two(Two::Negate),
        _ => None,
    }
}

/// Returns the operation on floats. Rounding with `frintx` and `frinti` is to nearest.
fn float_two(u: bool, a: bool, opcode: u32) -> Option<Two> {
    let round = |operation| Some(Two::Float(Unary::Operation(operation)));
    let convert = |round| Some(Two::ToInteger { signed: !u, round });
    let compare = |order| Some(Two::FloatCompareWithZero(order));
    match (u, a, opcode) {
        (false, true, 0b01100) => compare(FloatOrder::Greater),
        (true, true, 0b01100) => compare(FloatOrder::GreaterOrEqual),
        (false, true, 0b01101) => compare(FloatOrder::Equal),
        (true, true, 0b01101) => compare(FloatOrder::LessOrEqual),
        (false, true, 0b01110) => compare(FloatOrder::Less),
        (false, true, 0b01111) => Some(Two::Float(Unary::Absolute)),
        (true, true, 0b01111) => Some(Two::Float(Unary::Negate)),
        (false, false, 0b11000) => round(FloatOp::Nearest),
        (false, true, 0b11000) => round(FloatOp::Ceil),
        (true, false, 0b11000) => Some(Two::Float(Unary::RoundAway)),
        (false, false, 0b11001) => round(FloatOp::Floor),
        (false, true, 0b11001) => round(FloatOp::Trunc),
        (true, _, 0b11001) => round(FloatOp::Nearest),
        (_, false, 0b11010) => convert(FloatOp::Nearest),
        (_, true, 0b11010) => convert(FloatOp::Ceil),
        (_, false, 0b11011) => convert(FloatOp::Floor),
        (_, true, 0b11011) => convert(FloatOp::Trunc),
        (_, false, 0b11101) => Some(Two::FromInteger { signed: !u }),
        (true, true, 0b11111) => round(FloatOp::Sqrt),
        _ => None,
    }
}

/// Decodes "Advanced SIMD two-register miscellaneous (FP16)".
fn decode_half_two(word: Word) -> Option<Vector> {
    let ((full, u, _), (d, n, _)) = (fields(word), registers(word));
    let opcode = word.bits(16, 12);
    let is_float = opcode >= 0b11000 || opcode & 0b11100 == 0b01100;
    let operation = float_two(u, word.bit(23), opcode).filter(|_| is_float)?;
    Some(Vector::Two { full, width: 16, operation, d, n })
}

/// Decodes "Advanced SIMD across lanes".
fn decode_across(word: Word) -> Option<Vector> {
    let ((full, u, size), (d, n, _)) = (fields(word), registers(word));
    let operation = match word.bits(16, 12) {
        0b11011 if !u => Three::Add,
        0b01010 => Three::Extreme { signed: !u, greater: true },
        0b11010 => Three::Extreme { signed: !u, greater: false },
        _ => return None,
    };
    // Neither two nor fewer lanes.
    (size < 2 || size == 2 && full).then_some(Vector::Across { full, width: 8 << size, operation, d, n })
}

/// Decodes "Advanced SIMD three different".
fn decode_different(word: Word) -> Option<Vector> {
    let ((upper, u, size), (d, n, m)) = (fields(word), registers(word));
    if size == 3 {
        return None;
    }
    let (width, signed) = (8 << size, !u);
    let operation = match word.bits(15, 12) {
        0b0000 => Long::Add,
        0b0010 => Long::Subtract,
        0b1100 => Long::Multiply,
        0b1000 => Long::MultiplyAdd { subtract: false },
        0b1010 => Long::MultiplyAdd { subtract: true },
        0b0001 => return Some(Vector::Wide { upper, width, signed, subtract: false, d, n, m }),
        0b0011 => return Some(Vector::Wide { upper, width, signed, subtract: true, d, n, m }),
        _ => return None,
    };
    Some(Vector::Long { upper, width, signed, operation, d, n, m })
}

/// Decodes "Advanced SIMD shift by immediate".
fn decode_shift(word: Word) -> Option<Vector> {
    let ((full, u, _), (d, n, _)) = (fields(word), registers(word));
    // The highest bit of the field is the width, and the bits below it are the amount or its complement.
    let field = word.bits(22, 16) as u8;
    let width = 8 << word.bits(22, 19).ilog2();
    let (left, right) = (field - width, (2 * u32::from(width) - u32::from(field)) as u8);
    let shift = |shift, amount| (full || width < 64).then_some(Vector::Shift { full, width, shift, amount, d, n });
    let narrow = |round| Vector::Narrow { upper: full, width, narrow: Narrow::Truncate, amount: right, round, d, n };
    match word.bits(15, 11) {
        0b00000 => shift(LaneShift::Right { signed: !u, accumulate: false }, right),
        0b00010 => shift(LaneShift::Right { signed: !u, accumulate: true }, right),
        0b01000 if u => shift(LaneShift::RightInsert, right),
        0b01010 => shift(if u { LaneShift::LeftInsert } else { LaneShift::Left }, left),
        0b10000 if !u && width < 64 => Some(narrow(false)),
        0b10001 if !u && width < 64 => Some(narrow(true)),
        0b10100 if width < 64 => Some(Vector::ShiftLong { upper: full, width, signed: !u, amount: left, d, n }),
        _ => None,
    }
}

/// Decodes the dot products of "Advanced SIMD three same extra".
fn decode_dot(word: Word) -> Option<Vector> {
    let ((full, u, size), (d, n, m)) = (fields(word), registers(word));
    let signed = match (word.bits(14, 11), u, size) {
        (0b0010, _, 0b10) => [!u, !u],
        (0b0011, false, 0b10) => [false, true],
        _ => return None,
    };
    word.bit(10).then_some(Vector::Dot { full, signed, d, n, m })
}
