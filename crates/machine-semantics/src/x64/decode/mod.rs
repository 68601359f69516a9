//! Decoder of 64-bit mode, from the opcode maps of "Intel SDM", volume 2, appendix A, and the pages of chapters 3 to 5.
//!
//! Encodings that fault, that processors treat differently, or that depend on a segment base are unknown.

mod one_byte;
mod packed;
mod reader;
mod two_byte;
mod vector;
mod vex;

use super::instruction::{Alu, Condition, Instruction, Operand, Operation, Shift};
use crate::world::Undecoded;
use reader::{Reader, unknown};

/// Decodes the instruction at the beginning of some bytes. Returns the instruction and its length in bytes.
///
/// # Errors
/// If the bytes end within an instruction, or the instruction has no meaning here.
pub fn decode(bytes: &[u8]) -> Result<(Instruction, usize), Undecoded> {
    let mut reader = Reader::new(bytes)?;
    let mut instruction = one_byte::decode(&mut reader)?;
    if reader.lock && !can_lock(&instruction) {
        return unknown();
    }
    (instruction.lock, instruction.vex) = (reader.lock, reader.vex);
    Ok((instruction, reader.length()))
}

/// Returns `true` if the instruction may have a `lock` prefix: it changes memory, and is in the list of volume 2,
/// "LOCK".
fn can_lock(instruction: &Instruction) -> bool {
    let is_listed = match instruction.operation {
        Operation::Alu(alu) => alu != Alu::Cmp,
        Operation::Bt(test) => test != super::instruction::BitTest::Test,
        Operation::Inc
        | Operation::Dec
        | Operation::Neg
        | Operation::Not
        | Operation::Xchg
        | Operation::Xadd
        | Operation::Cmpxchg
        | Operation::CmpxchgPair => true,
        _ => false,
    };
    is_listed && matches!(instruction.operands[0], Operand::Memory(_))
}

/// Returns an instruction of these operands.
fn instruction<const N: usize>(operation: Operation, size: u8, operands: [Operand; N]) -> Instruction {
    let mut all = [Operand::None; 4];
    all[..N].copy_from_slice(&operands);
    Instruction { operation, size, operands: all, lock: false, vex: false }
}

fn alu(digit: u8) -> Operation {
    let all = [Alu::Add, Alu::Or, Alu::Adc, Alu::Sbb, Alu::And, Alu::Sub, Alu::Xor, Alu::Cmp];
    Operation::Alu(all[usize::from(digit & 7)])
}

/// Returns the shift of a digit of group 2 (table A-6). Rotations through the carry flag, and the undocumented digit 6,
/// are unknown.
fn shift(digit: u8) -> Result<Operation, Undecoded> {
    Ok(Operation::Shift(match digit {
        0 => Shift::Rol,
        1 => Shift::Ror,
        4 => Shift::Shl,
        5 => Shift::Shr,
        7 => Shift::Sar,
        _ => return unknown(),
    }))
}

fn condition(opcode: u8) -> Condition {
    use Condition::{A, Ae, B, Be, E, G, Ge, L, Le, Ne, No, Np, Ns, O, P, S};
    [O, No, B, Ae, E, Ne, Be, A, S, Ns, P, Np, L, Ge, Le, G][usize::from(opcode & 15)]
}
