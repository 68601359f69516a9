//! Parts of instructions that several opcode maps share.

use super::super::instruction::{Instruction, Operand, Operation};
use super::super::kinds::{Alu, Condition, Shift};
use super::reader::{Reader, unknown};
use crate::world::Undecoded;

/// Returns an instruction of these operands.
pub(super) fn instruction<const N: usize>(operation: Operation, size: u8, operands: [Operand; N]) -> Instruction {
    let mut all = [Operand::None; 4];
    all[..N].copy_from_slice(&operands);
    Instruction { operation, size, operands: all, lock: false, vex: false }
}

pub(super) fn alu(digit: u8) -> Operation {
    let all = [Alu::Add, Alu::Or, Alu::Adc, Alu::Sbb, Alu::And, Alu::Sub, Alu::Xor, Alu::Cmp];
    Operation::Alu(all[usize::from(digit & 7)])
}

/// Returns the shift of a digit of group 2 (table A-6). Rotations through the carry flag, and the undocumented digit 6,
/// are unknown.
pub(super) fn shift(digit: u8) -> Result<Operation, Undecoded> {
    Ok(Operation::Shift(match digit {
        0 => Shift::Rol,
        1 => Shift::Ror,
        4 => Shift::Shl,
        5 => Shift::Shr,
        7 => Shift::Sar,
        _ => return unknown(),
    }))
}

pub(super) fn condition(opcode: u8) -> Condition {
    use Condition::{A, Ae, B, Be, E, G, Ge, L, Le, Ne, No, Np, Ns, O, P, S};
    [O, No, B, Ae, E, Ne, Be, A, S, Ns, P, Np, L, Ge, Le, G][usize::from(opcode & 15)]
}

/// Decodes a destination in the r/m field and a source in the reg field.
pub(super) fn rm_reg(reader: &mut Reader, operation: Operation, is_byte: bool) -> Result<Instruction, Undecoded> {
    let (size, modrm) = (reader.size(is_byte), reader.modrm()?);
    Ok(instruction(operation, size, [reader.rm_general(modrm.rm, size), reader.general(modrm.reg, size)]))
}

/// Decodes a destination in the reg field and a source in the r/m field.
pub(super) fn reg_rm(reader: &mut Reader, operation: Operation, is_byte: bool) -> Result<Instruction, Undecoded> {
    let (size, modrm) = (reader.size(is_byte), reader.modrm()?);
    Ok(instruction(operation, size, [reader.general(modrm.reg, size), reader.rm_general(modrm.rm, size)]))
}
