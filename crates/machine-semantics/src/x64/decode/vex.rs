//! Opcodes with a VEX prefix (2.3).

use super::super::instruction::{Instruction, Operand, Operation};
use super::super::kinds::Shift;
use super::parts::instruction;
use super::reader::{Mandatory, Reader, unknown};
use super::vector;
use crate::world::Undecoded;

type Decoded = Result<Instruction, Undecoded>;

/// Decodes the instruction after the first byte of the prefix, C4 or C5.
pub(super) fn decode(reader: &mut Reader, is_long: bool) -> Decoded {
    let (map, mandatory) = reader.vex_prefix(is_long)?;
    let opcode = reader.byte()?;
    match map {
        2 => map_38(reader, mandatory, opcode),
        3 => map_3a(reader, mandatory, opcode),
        1 => vector::decode(reader, map, mandatory, opcode),
        _ => unknown(),
    }
}

/// Order of the operands of an instruction on general registers, destination first.
#[derive(Clone, Copy)]
enum Order {
    /// reg, V, r/m.
    RegVRm,
    /// reg, r/m, V.
    RegRmV,
    /// V, r/m. The reg field extends the opcode.
    VRm,
}

/// Decodes opcodes that begin with 0F 38 (table A-4).
fn map_38(reader: &mut Reader, mandatory: Mandatory, opcode: u8) -> Decoded {
    match (opcode, mandatory) {
        (0xf2, Mandatory::None) => general(reader, Operation::Andn, Order::RegVRm),
        (0xf3, Mandatory::None) => general(reader, Operation::Blsi, Order::VRm),
        (0xf5, Mandatory::None) => general(reader, Operation::Bzhi, Order::RegRmV),
        (0xf6, Mandatory::F2) => general(reader, Operation::Mulx, Order::RegVRm),
        (0xf7, Mandatory::None) => general(reader, Operation::Bextr, Order::RegRmV),
        (0xf7, Mandatory::P66) => general(reader, Operation::Shiftx(Shift::Shl), Order::RegRmV),
        (0xf7, Mandatory::F3) => general(reader, Operation::Shiftx(Shift::Sar), Order::RegRmV),
        (0xf7, Mandatory::F2) => general(reader, Operation::Shiftx(Shift::Shr), Order::RegRmV),
        _ => vector::decode(reader, 2, mandatory, opcode),
    }
}

/// Decodes opcodes that begin with 0F 3A (table A-5).
fn map_3a(reader: &mut Reader, mandatory: Mandatory, opcode: u8) -> Decoded {
    match (opcode, mandatory) {
        (0xf0, Mandatory::F2) if reader.v == 0 && !reader.is_256 => {
            let (size, modrm) = (vex_size(reader), reader.modrm()?);
            let operands = [Operand::Register(modrm.reg), reader.rm_general(modrm.rm, size), reader.imm8()?];
            Ok(instruction(Operation::Shiftx(Shift::Ror), size, operands))
        }
        _ => vector::decode(reader, 3, mandatory, opcode),
    }
}

fn vex_size(reader: &Reader) -> u8 {
    if reader.w { 64 } else { 32 }
}

/// Decodes an instruction on general registers (BMI1, BMI2).
fn general(reader: &mut Reader, operation: Operation, order: Order) -> Decoded {
    if reader.is_256 {
        return unknown();
    }
    let (size, modrm) = (vex_size(reader), reader.modrm()?);
    let (reg, v, rm) = (Operand::Register(modrm.reg), Operand::Register(reader.v), reader.rm_general(modrm.rm, size));
    match order {
        Order::RegVRm => Ok(instruction(operation, size, [reg, v, rm])),
        Order::RegRmV => Ok(instruction(operation, size, [reg, rm, v])),
        Order::VRm => {
            let operation = match modrm.digit {
                1 => Operation::Blsr,
                2 => Operation::Blsmsk,
                3 => Operation::Blsi,
                _ => return unknown(),
            };
            Ok(instruction(operation, size, [v, rm]))
        }
    }
}
