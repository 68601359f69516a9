//! Decoder and meanings of AArch64.
//!
//! Each file holds one group of the manual's encoding index ("Arm Architecture Reference Manual for A-profile
//! architecture", DDI 0487, section C4.1): its instructions, their decoder and their meanings. Comments name the
//! tables of that section. Encodings that a table reserves, and constrained unpredictable ones, are
//! [`Undecoded::Unknown`].
//!
//! | file | holds |
//! |---|---|
//! | `numbers.rs` | numbers of registers and flags |
//! | `word.rs` | fields of an instruction word |
//! | `machine.rs` | reads and writes of registers and flags |
//! | `flags.rs` | flags as the operation that sets them |
//! | `condition.rs` | conditions on the flags of a state |
//! | `immediate.rs` | data processing with an immediate |
//! | `register.rs` | data processing with registers |
//! | `operation.rs` | sums and bitwise operations, with flags |
//! | `bits.rs` | tests and extensions of numbers |
//! | `counts.rs` | counts and orders of bits |
//! | `branch.rs` | branches, exceptions, barriers, hints |
//! | `address.rs` | addressing modes |
//! | `memory.rs` | loads and stores of one and two registers |
//! | `float.rs` | scalar floating-point instructions |
//! | `compare.rs` | order of floats |
//! | `lanes.rs` | lanes of vectors, and operations on them |
//! | `vector.rs` | vector instructions that combine lanes |
//! | `vector_decode.rs` | their decoder |
//! | `permute.rs` | vector instructions that move lanes |
//! | `atomic.rs` | ordered and exclusive accesses, atomic updates |
//!
//! Assumed: exception level 0, little-endian accesses, and `sp` aligned wherever it is a base.

mod address;
mod atomic;
mod bits;
mod branch;
mod compare;
mod condition;
mod counts;
mod flags;
mod float;
mod immediate;
mod lanes;
mod machine;
mod memory;
mod numbers;
mod operation;
mod permute;
mod register;
mod vector;
mod vector_decode;
mod word;

use crate::{At, Flow, State, Undecoded, World};
use atomic::Atomic;
use branch::Branch;
use float::Float;
use immediate::Immediate;
use machine::Machine;
use memory::Memory;
use permute::Permute;
use register::Register;
use vector::Vector;
use word::{Reg, Word};

pub(crate) use flags::Nzcv;
pub use numbers::{C, N, SP, V, Z};

/// An instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Instruction(Group);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Group {
    /// Data processing with an immediate.
    Immediate(Immediate),
    /// Data processing with registers.
    Register(Register),
    /// Branches, exceptions, barriers, hints.
    Branch(Branch),
    /// Loads and stores of one and two registers.
    Memory(Memory),
    /// Ordered and exclusive accesses, atomic updates.
    Atomic(Atomic),
    /// Scalar floating-point instructions.
    Float(Float),
    /// Vector instructions that combine lanes.
    Vector(Vector),
    /// Vector instructions that move lanes.
    Permute(Permute),
}

impl Instruction {
    /// Returns the processor feature that the instruction needs beyond Armv8.0, by its name in assemblers.
    pub fn feature(&self) -> Option<&'static str> {
        match self.0 {
            Group::Atomic(atomic) => atomic.feature(),
            Group::Float(float) => float.feature(),
            Group::Vector(vector) => vector.feature(),
            Group::Permute(permute) => permute.feature(),
            _ => None,
        }
    }
}

/// Decodes the instruction at the beginning of `bytes`. Returns it and its length.
///
/// # Errors
/// If there are less than four bytes, or the word is no instruction with a known meaning.
pub fn decode(bytes: &[u8]) -> Result<(Instruction, usize), Undecoded> {
    let &[a, b, c, d, ..] = bytes else { return Err(Undecoded::Truncated) };
    let word = Word(u32::from_le_bytes([a, b, c, d]));
    decode_word(word).map(|group| (Instruction(group), 4)).ok_or(Undecoded::Unknown)
}

/// Decodes by bits 28 to 25 (C4.1, "A64 instruction set encoding").
fn decode_word(word: Word) -> Option<Group> {
    match word.bits(28, 25) {
        0b0000 => branch::decode_reserved(word).map(Group::Branch),
        0b1000 | 0b1001 => immediate::decode(word).map(Group::Immediate),
        0b1010 | 0b1011 => branch::decode(word).map(Group::Branch),
        0b0101 | 0b1101 => register::decode(word).map(Group::Register),
        0b0111 | 0b1111 => {
            let vector = || vector_decode::decode(word).map(Group::Vector);
            let permute = || permute::decode(word).map(Group::Permute);
            float::decode(word).map(Group::Float).or_else(vector).or_else(permute)
        }
        0b0100 | 0b0110 | 0b1100 | 0b1110 => memory::decode(word)
            .map(Group::Memory)
            .or_else(|| atomic::decode(word).map(Group::Atomic))
            .or_else(|| permute::decode_load(word).map(Group::Permute)),
        _ => None,
    }
}

/// Executes an instruction.
pub fn step(world: &mut impl World, instruction: &Instruction, at: At, state: &mut State) -> Flow {
    let mut machine = Machine { world, state, at };
    match instruction.0 {
        Group::Immediate(immediate) => immediate.step(&mut machine),
        Group::Register(register) => register.step(&mut machine),
        Group::Branch(branch) => return branch.step(&mut machine),
        Group::Memory(memory) => memory.step(&mut machine),
        Group::Atomic(atomic) => atomic.step(&mut machine),
        Group::Float(float) => float.step(&mut machine),
        Group::Vector(vector) => vector.step(&mut machine),
        Group::Permute(permute) => permute.step(&mut machine),
    }
    Flow::Next
}
