//! Opcodes of SSE and AVX (tables ). One table serves both: with a VEX prefix, the register V is the first
//! source; without, the destination is.

use super::super::instruction::{Instruction, Operand, Operation};
use super::super::vector::{Bitwise, FloatBinary, Floats, Vector};
use super::packed;
use super::parts::instruction;
use super::reader::{Mandatory, ModRm, Reader, Rm, unknown};
use super::row::{Form, Row};
use crate::world::Undecoded;

/// Decodes an instruction without VEX after its opcode.
pub(super) fn legacy(reader: &mut Reader, map: u8, opcode: u8) -> Result<Instruction, Undecoded> {
    if reader.is_66 && reader.repeat != Mandatory::None {
        return unknown();
    }
    let mandatory = if reader.is_66 { Mandatory::P66 } else { reader.repeat };
    decode(reader, map, mandatory, opcode)
}

/// Decodes an instruction after its opcode in one of the maps 0F, 0F 38, 0F 3A, numbered as in VEX.
pub(super) fn decode(reader: &mut Reader, map: u8, mandatory: Mandatory, opcode: u8) -> Result<Instruction, Undecoded> {
    if reader.is_256 {
        return unknown();
    }
    let general = if reader.w { 64 } else { 32 };
    let row = match map {
        1 => map_0f(mandatory, opcode, general).or_else(|| packed::map_0f(mandatory, opcode)),
        2 => fma(mandatory, opcode, reader.w).or_else(|| packed::map_38(mandatory, opcode)),
        3 => map_3a(mandatory, opcode).or_else(|| packed::map_3a(mandatory, opcode, general)),
        _ => None,
    };
    match row {
        Some(row) => operands(reader, row),
        None => unknown(),
    }
}

/// Returns the lanes that a prefix selects for opcodes of four variants: `ps`, `pd`, `ss`, `sd`.
fn floats(mandatory: Mandatory) -> Floats {
    match mandatory {
        Mandatory::None => Floats { width: 32, packed: true },
        Mandatory::P66 => Floats { width: 64, packed: true },
        Mandatory::F3 => Floats { width: 32, packed: false },
        Mandatory::F2 => Floats { width: 64, packed: false },
    }
}

/// Returns the size of the operands of lanes.
fn size(lanes: Floats) -> u8 {
    if lanes.packed { 128 } else { lanes.width }
}

/// Returns the row of an opcode of the map 0F. `general` is the size of general registers.
fn map_0f(mandatory: Mandatory, opcode: u8, general: u8) -> Option<Row> {
    use Mandatory::{F2, F3, None as P0, P66};
    let lanes = floats(mandatory);
    let binary = |op| Some((Vector::Float { op, lanes }, size(lanes), Form::Three));
    match (mandatory, opcode) {
        (F2 | F3, 0x10) => Some((Vector::MoveScalar, lanes.width, Form::Scalar)),
        (F2 | F3, 0x11) => Some((Vector::MoveScalar, lanes.width, Form::ScalarStore)),
        (P0 | P66, 0x10) => Some((Vector::Move { aligned: false }, 128, Form::Two)),
        (P0 | P66, 0x11) => Some((Vector::Move { aligned: false }, 128, Form::Store)),
        (P0 | P66, 0x28) => Some((Vector::Move { aligned: true }, 128, Form::Two)),
        (P0 | P66, 0x29) => Some((Vector::Move { aligned: true }, 128, Form::Store)),
        (P66 | F3, 0x6f) => Some((Vector::Move { aligned: mandatory == P66 }, 128, Form::Two)),
        (P66 | F3, 0x7f) => Some((Vector::Move { aligned: mandatory == P66 }, 128, Form::Store)),
        (P66, 0x6e) => Some((Vector::FromGeneral, general, Form::FromGeneral)),
        (P66, 0x7e) => Some((Vector::ToGeneral, general, Form::ToRm)),
        (F3, 0x7e) => Some((Vector::MoveQuad, 64, Form::Two)),
        (P66, 0xd6) => Some((Vector::MoveQuad, 64, Form::Store)),
        (F2 | F3, 0x2a) => Some((Vector::FromInteger(lanes.width), general, Form::ThreeGeneral)),
        (F2 | F3, 0x2c) => Some((Vector::ToInteger(lanes.width), general, Form::ToReg)),
        (F2 | F3, 0x5a) => Some((Vector::Convert(lanes.width), lanes.width, Form::Three)),
        // `comiss` differs in the exceptions that are masked.
        (P0 | P66, 0x2e | 0x2f) => Some((Vector::Ucomi(lanes.width), lanes.width, Form::Two)),
        (_, 0x51) if lanes.packed => Some((Vector::Sqrt(lanes), 128, Form::Two)),
        (_, 0x51) => Some((Vector::Sqrt(lanes), lanes.width, Form::Three)),
        (P0 | P66, 0x54) | (P66, 0xdb) => Some((Vector::Bitwise(Bitwise::And), 128, Form::Three)),
        (P0 | P66, 0x55) | (P66, 0xdf) => Some((Vector::Bitwise(Bitwise::AndNot), 128, Form::Three)),
        (P0 | P66, 0x56) | (P66, 0xeb) => Some((Vector::Bitwise(Bitwise::Or), 128, Form::Three)),
        (P0 | P66, 0x57) | (P66, 0xef) => Some((Vector::Bitwise(Bitwise::Xor), 128, Form::Three)),
        (_, 0x58) => binary(FloatBinary::Add),
        (_, 0x59) => binary(FloatBinary::Mul),
        (_, 0x5c) => binary(FloatBinary::Sub),
        (_, 0x5d) => binary(FloatBinary::Min),
        (_, 0x5e) => binary(FloatBinary::Div),
        (_, 0x5f) => binary(FloatBinary::Max),
        (_, 0xc2) => Some((Vector::CompareFloats(lanes), size(lanes), Form::ThreeImmediate)),
        _ => None,
    }
}

/// Returns the row of an opcode of the map 0F 3A.
fn map_3a(mandatory: Mandatory, opcode: u8) -> Option<Row> {
    let lanes = Floats { width: if opcode & 1 == 0 { 32 } else { 64 }, packed: opcode < 0x0a };
    match (mandatory, opcode) {
        (Mandatory::P66, 0x08 | 0x09) => Some((Vector::Round(lanes), 128, Form::TwoImmediate)),
        (Mandatory::P66, 0x0a | 0x0b) => Some((Vector::Round(lanes), lanes.width, Form::ThreeImmediate)),
        _ => None,
    }
}

/// Returns the row of a product and sum (volume 2, "VFMADD132SD" and its relatives): the low digit of the opcode is the
/// operation, the high digit the order.
fn fma(mandatory: Mandatory, opcode: u8, is_double: bool) -> Option<Row> {
    let order = match opcode >> 4 {
        0x9 => 132,
        0xa => 213,
        0xb => 231,
        _ => return None,
    };
    if mandatory != Mandatory::P66 || opcode & 15 < 8 {
        return None;
    }
    let lanes = Floats { width: if is_double { 64 } else { 32 }, packed: opcode & 1 == 0 };
    let (negates_product, negates_addend) = (opcode & 4 != 0, opcode & 2 != 0);
    let operation = Vector::Fma { order, negates_product, negates_addend, lanes };
    Some((operation, size(lanes), Form::Three))
}

fn vector(rm: Rm) -> Operand {
    match rm {
        Rm::Register(number) => Operand::Vector(number),
        Rm::Memory(memory) => Operand::Memory(memory),
    }
}

/// Reads the operands of a row.
fn operands(reader: &mut Reader, (mut vector_operation, size, form): Row) -> Result<Instruction, Undecoded> {
    let ModRm { reg, rm, digit } = reader.modrm()?;
    let (is_register, has_three) = (matches!(rm, Rm::Register(_)), form.has_three(rm));
    // Register V has to be 0 where it is no operand.
    if reader.vex && !has_three && reader.v != 0 || !form.allows(is_register, reader.vex, vector_operation) {
        return unknown();
    }
    // Two instructions share an opcode.
    if vector_operation == Vector::MoveHighToLow && !is_register {
        vector_operation = Vector::MoveToLow;
    }
    let first = Operand::Vector(if reader.vex { reader.v } else { reg });
    let (reg_general, rm_general) = (Operand::Register(reg), reader.rm_general(rm, size.max(16)));
    let (reg, rm_vector) = (Operand::Vector(reg), vector(rm));
    let none = Operand::None;
    let mut operands = match form {
        Form::Three | Form::ThreeImmediate => [reg, first, rm_vector, none],
        Form::ThreeGeneral | Form::ThreeGeneralImmediate => [reg, first, rm_general, none],
        Form::Two | Form::TwoImmediate | Form::TwoVex => [reg, rm_vector, none, none],
        Form::Store | Form::StoreMemory => [rm_vector, reg, none, none],
        Form::FromGeneral => [reg, rm_general, none, none],
        Form::ToRm | Form::ToRmImmediate => [rm_general, reg, none, none],
        Form::ToReg | Form::ToRegImmediate | Form::MaskToReg => [reg_general, rm_vector, none, none],
        Form::Scalar if has_three => [reg, first, rm_vector, none],
        Form::Scalar => [reg, rm_vector, none, none],
        Form::ScalarStore if has_three => [rm_vector, if reader.vex { first } else { rm_vector }, reg, none],
        Form::ScalarStore => [rm_vector, reg, none, none],
        Form::Shift => {
            vector_operation = packed::shift(vector_operation, digit)?;
            [if reader.vex { first } else { rm_vector }, rm_vector, none, none]
        }
    };
    if form.has_immediate() {
        let immediate = reader.imm8()?;
        if !is_allowed(vector_operation, immediate, reader.vex) {
            return unknown();
        }
        let end = operands.iter().position(|&operand| operand == none).unwrap_or(3);
        operands[end] = immediate;
    }
    Ok(instruction(Operation::Vector(vector_operation), size, operands))
}

/// Returns `true` if an immediate is defined: predicates of comparisons below 8, with VEX below 32; and rounding in a
/// mode of its own.
fn is_allowed(operation: Vector, immediate: Operand, vex: bool) -> bool {
    let Operand::Immediate(immediate) = immediate else { return true };
    match operation {
        Vector::CompareFloats(_) => (0..if vex { 32 } else { 8 }).contains(&immediate),
        Vector::Round(_) => (0..16).contains(&immediate) && immediate & 4 == 0,
        _ => true,
    }
}
