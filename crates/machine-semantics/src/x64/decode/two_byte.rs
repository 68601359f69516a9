//! Opcodes of two bytes, the first 0F (table A-3).

use super::super::instruction::{Instruction, Operand, Operation};
use super::super::kinds::BitTest;
use super::parts::{condition, instruction, reg_rm, rm_reg};
use super::reader::{Mandatory, Reader, Rm, unknown};
use super::vector;
use crate::world::Undecoded;

type Decoded = Result<Instruction, Undecoded>;

/// Decodes the instruction after the byte 0F.
pub(super) fn decode(reader: &mut Reader) -> Decoded {
    let opcode = reader.byte()?;
    match opcode {
        0x10..=0x17 | 0x28..=0x2f | 0x50..=0x7f | 0xc2 | 0xc4..=0xc6 | 0xd0..=0xff => {
            return vector::legacy(reader, 1, opcode);
        }
        0x38 | 0x3a => {
            let map = if opcode == 0x38 { 2 } else { 3 };
            let opcode = reader.byte()?;
            return vector::legacy(reader, map, opcode);
        }
        _ => {}
    }
    match (reader.repeat, opcode) {
        (Mandatory::F3, 0x1e) => return endbr64(reader),
        (Mandatory::F3, 0xb8) => return reg_rm(reader, Operation::Popcnt, false),
        (Mandatory::F3, 0xbc) => return reg_rm(reader, Operation::Tzcnt, false),
        (Mandatory::F3, 0xbd) => return reg_rm(reader, Operation::Lzcnt, false),
        _ => reader.no_repeat()?,
    }
    let is_byte = opcode & 1 == 0;
    match opcode {
        0x0b => Ok(instruction(Operation::Trap, 64, [])),
        0x1f => match reader.modrm()?.digit {
            0 => Ok(instruction(Operation::Nop, 64, [])),
            _ => unknown(),
        },
        0x40..=0x4f => reg_rm(reader, Operation::Cmov(condition(opcode)), false),
        0x80..=0x8f => Ok(instruction(Operation::Jcc(condition(opcode)), 64, [reader.relative(false)?])),
        0x90..=0x9f => {
            let modrm = reader.modrm()?;
            Ok(instruction(Operation::Set(condition(opcode)), 8, [reader.rm_general(modrm.rm, 8)]))
        }
        0xa3 => bit_in_register(reader, BitTest::Test),
        0xab => bit_in_register(reader, BitTest::Set),
        0xb3 => bit_in_register(reader, BitTest::Reset),
        0xbb => bit_in_register(reader, BitTest::Complement),
        0xba => bit_in_immediate(reader),
        0xa4 | 0xa5 => double_shift(reader, Operation::Shld, opcode == 0xa4),
        0xac | 0xad => double_shift(reader, Operation::Shrd, opcode == 0xac),
        0xae => match reader.byte()? {
            0xf0 if !reader.is_66 => Ok(instruction(Operation::Mfence, 64, [])),
            _ => unknown(),
        },
        0xaf => {
            let (size, modrm) = (reader.size(false), reader.modrm()?);
            let place = reader.general(modrm.reg, size);
            Ok(instruction(Operation::Imul, size, [place, place, reader.rm_general(modrm.rm, size)]))
        }
        0xb0 | 0xb1 => compare_and_exchange(reader, is_byte),
        0xb6 | 0xb7 => extension(reader, Operation::Movzx, is_byte),
        0xbe | 0xbf => extension(reader, Operation::Movsx, is_byte),
        0xbc => reg_rm(reader, Operation::Bsf, false),
        0xbd => reg_rm(reader, Operation::Bsr, false),
        0xc0 | 0xc1 => rm_reg(reader, Operation::Xadd, is_byte),
        0xc7 => compare_pair(reader),
        // A byte swap of 16 bits is undefined.
        0xc8..=0xcf => match reader.size(false) {
            16 => unknown(),
            size => Ok(instruction(Operation::Bswap, size, [Operand::Register(reader.plus(opcode))])),
        },
        _ => unknown(),
    }
}

fn endbr64(reader: &mut Reader) -> Decoded {
    match reader.byte()? {
        0xfa => Ok(instruction(Operation::Nop, 64, [])),
        _ => unknown(),
    }
}

/// Decodes an operation on the bit of a register that another register names. In memory, the bit could lie at another
/// address.
fn bit_in_register(reader: &mut Reader, test: BitTest) -> Decoded {
    let (size, modrm) = (reader.size(false), reader.modrm()?);
    match modrm.rm {
        Rm::Register(number) => {
            let operands = [Operand::Register(number), Operand::Register(modrm.reg)];
            Ok(instruction(Operation::Bt(test), size, operands))
        }
        Rm::Memory(_) => unknown(),
    }
}

fn bit_in_immediate(reader: &mut Reader) -> Decoded {
    let (size, modrm) = (reader.size(false), reader.modrm()?);
    let test = match modrm.digit {
        4 => BitTest::Test,
        5 => BitTest::Set,
        6 => BitTest::Reset,
        7 => BitTest::Complement,
        _ => return unknown(),
    };
    Ok(instruction(Operation::Bt(test), size, [reader.rm_general(modrm.rm, size), reader.imm8()?]))
}

/// Decodes `shld` and `shrd`. Shifts of 16 bits are undefined for counts above 16.
fn double_shift(reader: &mut Reader, operation: Operation, is_immediate: bool) -> Decoded {
    let (size, modrm) = (reader.size(false), reader.modrm()?);
    let (place, filler) = (reader.rm_general(modrm.rm, size), reader.general(modrm.reg, size));
    let count = if is_immediate { reader.imm8()? } else { Operand::Register(1) };
    if size == 16 { unknown() } else { Ok(instruction(operation, size, [place, filler, count])) }
}

fn extension(reader: &mut Reader, operation: fn(u8) -> Operation, is_byte: bool) -> Decoded {
    let (size, modrm) = (reader.size(false), reader.modrm()?);
    let from = if is_byte { 8 } else { 16 };
    Ok(instruction(operation(from), size, [reader.general(modrm.reg, size), reader.rm_general(modrm.rm, from)]))
}

/// Decodes `cmpxchg`. The manual writes a register of 32 bits if the comparison fails, which processors do not.
fn compare_and_exchange(reader: &mut Reader, is_byte: bool) -> Decoded {
    let instruction = rm_reg(reader, Operation::Cmpxchg, is_byte)?;
    match instruction.operands[0] {
        Operand::Register(_) if instruction.size == 32 => unknown(),
        _ => Ok(instruction),
    }
}

fn compare_pair(reader: &mut Reader) -> Decoded {
    let modrm = reader.modrm()?;
    match modrm.rm {
        Rm::Memory(memory) if modrm.digit == 1 => {
            let half = if reader.w { 64 } else { 32 };
            Ok(instruction(Operation::CmpxchgPair, half, [Operand::Memory(memory)]))
        }
        _ => unknown(),
    }
}
