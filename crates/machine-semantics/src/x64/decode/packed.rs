//! Opcodes of packed integers, shuffles and conversions (tables ).

use super::super::kinds::Shift;
use super::super::vector::{LaneConversion, LaneOp, Vector};
use super::reader::{Mandatory, unknown};
use super::row::{Form, Row};
use crate::world::Undecoded;
use Mandatory::{F2, F3, None as P0, P66};

/// Returns the row of an operation on lanes.
fn lanes(op: LaneOp, width: u8) -> Option<Row> {
    Some((Vector::Lanes { op, width }, 128, Form::Three))
}

/// Returns 8, 16, 32 or 64: the width of lanes of four opcodes in a row, by the distance from the first.
fn width(opcode: u8, first: u8) -> u8 {
    8 << (opcode - first)
}

/// Returns the row of an opcode of the map 0F.
pub(super) fn map_0f(mandatory: Mandatory, opcode: u8) -> Option<Row> {
    match (mandatory, opcode) {
        (P66, 0x60..=0x6d | 0x74..=0x76 | 0xd1..=0xd5 | 0xd8..=0xfe) => integers(opcode).or_else(|| special(opcode)),
        (P66, 0x71) => Some((Vector::ShiftLanes { shift: Shift::Shl, width: 16 }, 128, Form::Shift)),
        (P66, 0x72) => Some((Vector::ShiftLanes { shift: Shift::Shl, width: 32 }, 128, Form::Shift)),
        (P66, 0x73) => Some((Vector::ShiftLanes { shift: Shift::Shl, width: 64 }, 128, Form::Shift)),
        (P66, 0x70) => Some((Vector::Shuffle32, 128, Form::TwoImmediate)),
        (F2 | F3, 0x70) => Some((Vector::Shuffle16 { high: mandatory == F3 }, 128, Form::TwoImmediate)),
        (P0, 0xc6) => Some((Vector::ShuffleFloats(32), 128, Form::ThreeImmediate)),
        (P66, 0xc6) => Some((Vector::ShuffleFloats(64), 128, Form::ThreeImmediate)),
        (P66, 0xc4) => Some((Vector::Insert(16), 16, Form::ThreeGeneralImmediate)),
        (P66, 0xc5) => Some((Vector::Extract(16), 16, Form::ToRegImmediate)),
        (P66, 0xd7) => Some((Vector::Mask(8), 32, Form::MaskToReg)),
        (P0, 0x50) => Some((Vector::Mask(32), 32, Form::MaskToReg)),
        (P66, 0x50) => Some((Vector::Mask(64), 32, Form::MaskToReg)),
        (F2, 0x12) => Some((Vector::Broadcast(64), 64, Form::Two)),
        (P0 | P66, 0x13) => Some((Vector::StoreLow, 64, Form::StoreMemory)),
        (P0 | P66, 0x17) => Some((Vector::StoreHigh, 64, Form::StoreMemory)),
        (P0, 0x12) => Some((Vector::MoveHighToLow, 64, Form::Three)),
        (P0, 0x16) => Some((Vector::MoveToHigh, 64, Form::Three)),
        _ => convert(mandatory, opcode),
    }
}

fn convert(mandatory: Mandatory, opcode: u8) -> Option<Row> {
    let (conversion, size) = match (mandatory, opcode) {
        (P0, 0x5a) => (LaneConversion::SinglesToDoubles, 64),
        (P66, 0x5a) => (LaneConversion::DoublesToSingles, 128),
        (P0, 0x5b) => (LaneConversion::IntegersToSingles, 128),
        (F3, 0x5b) => (LaneConversion::SinglesToIntegers, 128),
        (F3, 0xe6) => (LaneConversion::IntegersToDoubles, 64),
        (P66, 0xe6) => (LaneConversion::DoublesToIntegers, 128),
        _ => return None,
    };
    Some((Vector::ConvertLanes(conversion), size, Form::Two))
}

/// Returns the row of an opcode with prefix 66 that operates on lanes.
fn integers(opcode: u8) -> Option<Row> {
    match opcode {
        0x64..=0x66 => lanes(LaneOp::Greater, width(opcode, 0x64)),
        0x74..=0x76 => lanes(LaneOp::Equal, width(opcode, 0x74)),
        0xd4 => lanes(LaneOp::Add, 64),
        0xd5 => lanes(LaneOp::MulLow, 16),
        0xd8 | 0xd9 => lanes(LaneOp::SubUnsigned, width(opcode, 0xd8)),
        0xda => lanes(LaneOp::MinUnsigned, 8),
        0xdc | 0xdd => lanes(LaneOp::AddUnsigned, width(opcode, 0xdc)),
        0xde => lanes(LaneOp::MaxUnsigned, 8),
        0xe0 => lanes(LaneOp::Average, 8),
        0xe3 => lanes(LaneOp::Average, 16),
        0xe4 => lanes(LaneOp::MulHighUnsigned, 16),
        0xe5 => lanes(LaneOp::MulHighSigned, 16),
        0xe8 | 0xe9 => lanes(LaneOp::SubSigned, width(opcode, 0xe8)),
        0xea => lanes(LaneOp::MinSigned, 16),
        0xec | 0xed => lanes(LaneOp::AddSigned, width(opcode, 0xec)),
        0xee => lanes(LaneOp::MaxSigned, 16),
        0xf4 => lanes(LaneOp::MulWideUnsigned, 64),
        0xf5 => lanes(LaneOp::MulAdd, 32),
        0xf6 => lanes(LaneOp::SumDifferences, 64),
        0xf8..=0xfb => lanes(LaneOp::Sub, width(opcode, 0xf8)),
        0xfc..=0xfe => lanes(LaneOp::Add, width(opcode, 0xfc)),
        _ => None,
    }
}

/// Returns the row of an opcode with prefix 66 that moves lanes.
fn special(opcode: u8) -> Option<Row> {
    let vector = match opcode {
        0x60..=0x62 => Vector::Unpack { width: width(opcode, 0x60), high: false },
        0x68..=0x6a => Vector::Unpack { width: width(opcode, 0x68), high: true },
        0x6c | 0x6d => Vector::Unpack { width: 64, high: opcode == 0x6d },
        0x63 => Vector::Pack { width: 16, signed: true },
        0x67 => Vector::Pack { width: 16, signed: false },
        0x6b => Vector::Pack { width: 32, signed: true },
        0xd1..=0xd3 => Vector::ShiftLanes { shift: Shift::Shr, width: width(opcode, 0xd0) },
        0xe1 | 0xe2 => Vector::ShiftLanes { shift: Shift::Sar, width: width(opcode, 0xe0) },
        0xf1..=0xf3 => Vector::ShiftLanes { shift: Shift::Shl, width: width(opcode, 0xf0) },
        0xe6 => return convert(P66, opcode),
        _ => return None,
    };
    Some((vector, 128, Form::Three))
}

/// Returns the shift of an immediate by the digit of its opcode (table A-6, groups 12 to 14).
pub(super) fn shift(vector: Vector, digit: u8) -> Result<Vector, Undecoded> {
    let Vector::ShiftLanes { width, .. } = vector else { return unknown() };
    let shift = match digit {
        2 => Shift::Shr,
        4 if width < 64 => Shift::Sar,
        6 => Shift::Shl,
        3 | 7 if width == 64 => return Ok(Vector::ShiftBytes { left: digit == 7 }),
        _ => return unknown(),
    };
    Ok(Vector::ShiftLanes { shift, width })
}

/// Returns the row of an opcode of the map 0F 38.
pub(super) fn map_38(mandatory: Mandatory, opcode: u8) -> Option<Row> {
    if mandatory != P66 {
        return None;
    }
    let extend = |first, signed| Some((Vector::Extend { width: width(opcode, first), signed }, 64, Form::Two));
    match opcode {
        0x00 => Some((Vector::ShuffleBytes, 128, Form::Three)),
        0x04 => lanes(LaneOp::MulAddBytes, 16),
        0x0b => lanes(LaneOp::MulRounded, 16),
        0x17 => Some((Vector::Test, 128, Form::Two)),
        0x18 => Some((Vector::Broadcast(32), 32, Form::TwoVex)),
        0x1c..=0x1e => Some((Vector::Abs(width(opcode, 0x1c)), 128, Form::Two)),
        0x20 => extend(0x20, true),
        0x23 => extend(0x22, true),
        0x25 => extend(0x23, true),
        0x30 => extend(0x30, false),
        0x33 => extend(0x32, false),
        0x35 => extend(0x33, false),
        0x28 => lanes(LaneOp::MulWideSigned, 64),
        0x29 => lanes(LaneOp::Equal, 64),
        0x2b => Some((Vector::Pack { width: 32, signed: false }, 128, Form::Three)),
        0x37 => lanes(LaneOp::Greater, 64),
        0x38 => lanes(LaneOp::MinSigned, 8),
        0x39 => lanes(LaneOp::MinSigned, 32),
        0x3a => lanes(LaneOp::MinUnsigned, 16),
        0x3b => lanes(LaneOp::MinUnsigned, 32),
        0x3c => lanes(LaneOp::MaxSigned, 8),
        0x3d => lanes(LaneOp::MaxSigned, 32),
        0x3e => lanes(LaneOp::MaxUnsigned, 16),
        0x3f => lanes(LaneOp::MaxUnsigned, 32),
        0x40 => lanes(LaneOp::MulLow, 32),
        0x78 => Some((Vector::Broadcast(8), 8, Form::TwoVex)),
        0x79 => Some((Vector::Broadcast(16), 16, Form::TwoVex)),
        _ => None,
    }
}

/// Returns the row of an opcode of the map 0F 3A. `general` is the size of general registers.
pub(super) fn map_3a(mandatory: Mandatory, opcode: u8, general: u8) -> Option<Row> {
    if mandatory != P66 {
        return None;
    }
    match opcode {
        0x0e => Some((Vector::Blend16, 128, Form::ThreeImmediate)),
        0x0f => Some((Vector::Align, 128, Form::ThreeImmediate)),
        0x14 => Some((Vector::Extract(8), 8, Form::ToRmImmediate)),
        0x15 => Some((Vector::Extract(16), 16, Form::ToRmImmediate)),
        0x16 => Some((Vector::Extract(general), general, Form::ToRmImmediate)),
        0x20 => Some((Vector::Insert(8), 8, Form::ThreeGeneralImmediate)),
        0x21 => Some((Vector::InsertFloat, 32, Form::ThreeImmediate)),
        0x22 => Some((Vector::Insert(general), general, Form::ThreeGeneralImmediate)),
        _ => None,
    }
}
