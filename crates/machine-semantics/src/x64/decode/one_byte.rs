//! Opcodes of one byte (table A-2).

use super::super::instruction::{Instruction, Operand, Operation};
use super::parts::{alu, condition, instruction, reg_rm, rm_reg, shift};
use super::reader::{Mandatory, Reader, Rm, unknown};
use super::{two_byte, vex};
use crate::world::Undecoded;

type Decoded = Result<Instruction, Undecoded>;

/// Number of the accumulator `rax`.
const ACCUMULATOR: u8 = 0;
const CL: Operand = Operand::Register(1);

/// Decodes the instruction after the prefixes.
pub(super) fn decode(reader: &mut Reader) -> Decoded {
    let opcode = reader.byte()?;
    match opcode {
        0x0f => return two_byte::decode(reader),
        0x90 if reader.repeat == Mandatory::F3 && reader.plus(opcode) == ACCUMULATOR => return Ok(nop()),
        0xc4 | 0xc5 => return vex::decode(reader, opcode == 0xc4),
        _ => reader.no_repeat()?,
    }
    let is_byte = opcode & 1 == 0;
    match opcode {
        0x00..=0x3f => arithmetic(reader, opcode),
        0x50..=0x5f => {
            let operation = if opcode < 0x58 { Operation::Push } else { Operation::Pop };
            Ok(instruction(operation, reader.size_64()?, [Operand::Register(reader.plus(opcode))]))
        }
        0x63 => {
            let (size, modrm) = (reader.size(false), reader.modrm()?);
            let from = reader.rm_general(modrm.rm, 32);
            if size == 16 {
                unknown()
            } else {
                Ok(instruction(Operation::Movsx(32), size, [reader.general(modrm.reg, size), from]))
            }
        }
        0x68 => push_immediate(reader, false),
        0x6a => push_immediate(reader, true),
        0x69 | 0x6b => {
            let (size, modrm) = (reader.size(false), reader.modrm()?);
            let factor = reader.rm_general(modrm.rm, size);
            let immediate = if opcode == 0x6b { reader.imm8()? } else { reader.imm(size)? };
            Ok(instruction(Operation::Imul, size, [reader.general(modrm.reg, size), factor, immediate]))
        }
        0x70..=0x7f => Ok(instruction(Operation::Jcc(condition(opcode)), 64, [reader.relative(true)?])),
        0x80 | 0x81 | 0x83 => {
            let (size, modrm) = (reader.size(is_byte), reader.modrm()?);
            let place = reader.rm_general(modrm.rm, size);
            let immediate = if opcode == 0x83 { reader.imm8()? } else { reader.imm(size)? };
            Ok(instruction(alu(modrm.digit), size, [place, immediate]))
        }
        0x84 | 0x85 => rm_reg(reader, Operation::Test, is_byte),
        0x86 | 0x87 => rm_reg(reader, Operation::Xchg, is_byte),
        0x88 | 0x89 => rm_reg(reader, Operation::Mov, is_byte),
        0x8a | 0x8b => reg_rm(reader, Operation::Mov, is_byte),
        0x8d => lea(reader),
        0x8f => {
            let (size, modrm) = (reader.size_64()?, reader.modrm()?);
            if modrm.digit == 0 {
                Ok(instruction(Operation::Pop, size, [reader.rm_general(modrm.rm, 64)]))
            } else {
                unknown()
            }
        }
        0x90..=0x97 => {
            let size = reader.size(false);
            match reader.plus(opcode) {
                ACCUMULATOR => Ok(nop()),
                other => {
                    Ok(instruction(Operation::Xchg, size, [Operand::Register(ACCUMULATOR), Operand::Register(other)]))
                }
            }
        }
        0x98 => Ok(instruction(Operation::Cbw, reader.size(false), [])),
        0x99 => Ok(instruction(Operation::Cwd, reader.size(false), [])),
        0xa8 | 0xa9 => {
            let size = reader.size(is_byte);
            Ok(instruction(Operation::Test, size, [Operand::Register(ACCUMULATOR), reader.imm(size)?]))
        }
        0xb0..=0xb7 => Ok(instruction(Operation::Mov, 8, [reader.general(reader.plus(opcode), 8), reader.imm8()?])),
        0xb8..=0xbf => {
            let size = reader.size(false);
            let immediate = if size == 64 { reader.imm64()? } else { reader.imm(size)? };
            Ok(instruction(Operation::Mov, size, [Operand::Register(reader.plus(opcode)), immediate]))
        }
        0xc0 | 0xc1 => {
            let (size, operation, place) = shifted(reader, is_byte)?;
            Ok(instruction(operation, size, [place, reader.imm8()?]))
        }
        0xc2 => Ok(instruction(Operation::Ret, reader.size_64()?, [unsigned(reader.imm(16)?)])),
        0xc3 => Ok(instruction(Operation::Ret, reader.size_64()?, [])),
        0xc6 | 0xc7 => {
            let (size, modrm) = (reader.size(is_byte), reader.modrm()?);
            let place = reader.rm_general(modrm.rm, size);
            if modrm.digit == 0 { Ok(instruction(Operation::Mov, size, [place, reader.imm(size)?])) } else { unknown() }
        }
        0xc9 => Ok(instruction(Operation::Leave, reader.size_64()?, [])),
        0xcc => Ok(instruction(Operation::Trap, 64, [])),
        0xd0 | 0xd1 => {
            let (size, operation, place) = shifted(reader, is_byte)?;
            Ok(instruction(operation, size, [place, Operand::Immediate(1)]))
        }
        0xd2 | 0xd3 => {
            let (size, operation, place) = shifted(reader, is_byte)?;
            Ok(instruction(operation, size, [place, CL]))
        }
        0xe8 => Ok(instruction(Operation::Call, 64, [reader.relative(false)?])),
        0xe9 | 0xeb => Ok(instruction(Operation::Jmp, 64, [reader.relative(opcode == 0xeb)?])),
        0xf5 => Ok(instruction(Operation::Cmc, 64, [])),
        0xf6 | 0xf7 => group3(reader, is_byte),
        0xf8 => Ok(instruction(Operation::Clc, 64, [])),
        0xf9 => Ok(instruction(Operation::Stc, 64, [])),
        0xfe => step_by_one(reader),
        0xff => group5(reader),
        _ => unknown(),
    }
}

fn nop() -> Instruction {
    instruction(Operation::Nop, 64, [])
}

/// Returns an immediate of 16 bits as an unsigned number.
fn unsigned(immediate: Operand) -> Operand {
    match immediate {
        Operand::Immediate(value) => Operand::Immediate(value & 0xffff),
        other => other,
    }
}

/// Decodes the first 64 opcodes: eight operations in six forms.
fn arithmetic(reader: &mut Reader, opcode: u8) -> Decoded {
    let (operation, is_byte) = (alu(opcode >> 3), opcode & 1 == 0);
    match opcode & 7 {
        0 | 1 => rm_reg(reader, operation, is_byte),
        2 | 3 => reg_rm(reader, operation, is_byte),
        4 | 5 => {
            let size = reader.size(is_byte);
            Ok(instruction(operation, size, [Operand::Register(ACCUMULATOR), reader.imm(size)?]))
        }
        _ => unknown(),
    }
}

fn push_immediate(reader: &mut Reader, is_byte: bool) -> Decoded {
    let size = reader.size_64()?;
    let immediate = if is_byte { reader.imm8()? } else { reader.imm(size)? };
    Ok(instruction(Operation::Push, size, [immediate]))
}

fn lea(reader: &mut Reader) -> Decoded {
    let (size, modrm) = (reader.size(false), reader.modrm()?);
    match modrm.rm {
        Rm::Memory(memory) => {
            Ok(instruction(Operation::Lea, size, [reader.general(modrm.reg, size), Operand::Memory(memory)]))
        }
        Rm::Register(_) => unknown(),
    }
}

/// Reads size, operation and place of a shift.
fn shifted(reader: &mut Reader, is_byte: bool) -> Result<(u8, Operation, Operand), Undecoded> {
    let (size, modrm) = (reader.size(is_byte), reader.modrm()?);
    Ok((size, shift(modrm.digit)?, reader.rm_general(modrm.rm, size)))
}

fn group3(reader: &mut Reader, is_byte: bool) -> Decoded {
    let (size, modrm) = (reader.size(is_byte), reader.modrm()?);
    let place = reader.rm_general(modrm.rm, size);
    let operation = match modrm.digit {
        0 => return Ok(instruction(Operation::Test, size, [place, reader.imm(size)?])),
        2 => Operation::Not,
        3 => Operation::Neg,
        4 => Operation::Mul,
        5 => Operation::ImulWide,
        6 => Operation::Div,
        7 => Operation::Idiv,
        _ => return unknown(),
    };
    Ok(instruction(operation, size, [place]))
}

/// Decodes `inc` and `dec` of a byte.
fn step_by_one(reader: &mut Reader) -> Decoded {
    let modrm = reader.modrm()?;
    let operation = match modrm.digit {
        0 => Operation::Inc,
        1 => Operation::Dec,
        _ => return unknown(),
    };
    Ok(instruction(operation, 8, [reader.rm_general(modrm.rm, 8)]))
}

fn group5(reader: &mut Reader) -> Decoded {
    let (size, modrm) = (reader.size(false), reader.modrm()?);
    let (operation, size) = match modrm.digit {
        0 => (Operation::Inc, size),
        1 => (Operation::Dec, size),
        2 => (Operation::Call, reader.size_64()?),
        4 => (Operation::Jmp, reader.size_64()?),
        6 => (Operation::Push, reader.size_64()?),
        _ => return unknown(),
    };
    Ok(instruction(operation, size, [reader.rm_general(modrm.rm, size)]))
}
