//! Decoder of 64-bit mode, from the opcode maps of "Intel SDM", volume 2, appendix A, and the pages of chapters 3 to 5.
//!
//! Encodings that fault, that processors treat differently, or that depend on a segment base are unknown.

mod one_byte;
mod packed;
mod parts;
mod reader;
mod row;
mod two_byte;
mod vector;
mod vex;

use super::instruction::{Instruction, Operand, Operation};
use super::kinds::{Alu, BitTest};
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
        Operation::Bt(test) => test != BitTest::Test,
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
