//! Instructions in the terms of the manual.

use super::kinds::{Alu, BitTest, Condition, Shift};
use super::vector::Vector;

/// A decoded instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Instruction {
    /// Operation, named by its mnemonic.
    pub operation: Operation,
    /// Size of the operands in bits: 8, 16, 32, 64 or 128. Operations with operands of different sizes name the other
    /// size themselves.
    pub size: u8,
    /// Operands in the order of the manual, the destination first. [`Operand::None`] follows the last one. An
    /// instruction of SSE that reads its destination has the destination twice, as in its VEX form.
    pub operands: [Operand; 4],
    /// Whether a `lock` prefix makes the access to memory atomic.
    pub lock: bool,
    /// Whether the encoding has a VEX prefix.
    pub vex: bool,
}

/// An operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operand {
    /// No operand.
    None,
    /// A general register, by its number.
    Register(u8),
    /// Bits 8 to 15 of a general register: `ah`, `ch`, `dh`, `bh` with the numbers 0 to 3.
    HighByte(u8),
    /// A vector register, by its number.
    Vector(u8),
    /// Memory.
    Memory(Memory),
    /// An immediate, sign-extended.
    Immediate(i64),
    /// A distance from the end of the instruction in bytes.
    Relative(i32),
}

/// An address: `base + (index << scale) + displacement`. Segments are flat.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Memory {
    /// The base.
    pub base: Base,
    /// General register that is scaled and added.
    pub index: Option<u8>,
    /// Logarithm to base 2 of the factor of the index.
    pub scale: u8,
    /// Displacement in bytes.
    pub displacement: i32,
}

/// Base of an address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Base {
    /// No base.
    None,
    /// A general register.
    Register(u8),
    /// The address of the next instruction.
    NextInstruction,
}

/// An operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operation {
    /// `add` and its relatives.
    Alu(Alu),
    /// `test`.
    Test,
    /// `inc`.
    Inc,
    /// `dec`.
    Dec,
    /// `neg`.
    Neg,
    /// `not`.
    Not,
    /// `mov`.
    Mov,
    /// `movzx` from this number of bits.
    Movzx(u8),
    /// `movsx` and `movsxd` from this number of bits.
    Movsx(u8),
    /// `lea`.
    Lea,
    /// `push`.
    Push,
    /// `pop`.
    Pop,
    /// `leave`.
    Leave,
    /// `xchg`.
    Xchg,
    /// `xadd`.
    Xadd,
    /// `cmpxchg`.
    Cmpxchg,
    /// `cmpxchg8b` and `cmpxchg16b`. The size is half the size of the memory operand.
    CmpxchgPair,
    /// `mul`: the product of double width.
    Mul,
    /// `imul` with one operand: the signed product of double width.
    ImulWide,
    /// `imul` with two or three operands. The destination is followed by both factors.
    Imul,
    /// `mulx`.
    Mulx,
    /// `div`.
    Div,
    /// `idiv`.
    Idiv,
    /// `cbw`, `cwde`, `cdqe`: the accumulator sign-extended from half the size.
    Cbw,
    /// `cwd`, `cdq`, `cqo`: the sign of the accumulator in `rdx`.
    Cwd,
    /// A shift or rotation.
    Shift(Shift),
    /// `rorx`, `sarx`, `shlx`, `shrx`: a shift or rotation that leaves the flags alone.
    Shiftx(Shift),
    /// `shld`.
    Shld,
    /// `shrd`.
    Shrd,
    /// `bt` and its relatives.
    Bt(BitTest),
    /// `bsf`.
    Bsf,
    /// `bsr`.
    Bsr,
    /// `tzcnt`.
    Tzcnt,
    /// `lzcnt`.
    Lzcnt,
    /// `popcnt`.
    Popcnt,
    /// `bswap`.
    Bswap,
    /// `andn`.
    Andn,
    /// `bextr`.
    Bextr,
    /// `blsi`.
    Blsi,
    /// `blsmsk`.
    Blsmsk,
    /// `blsr`.
    Blsr,
    /// `bzhi`.
    Bzhi,
    /// `setcc`.
    Set(Condition),
    /// `cmovcc`.
    Cmov(Condition),
    /// `clc`.
    Clc,
    /// `cmc`.
    Cmc,
    /// `stc`.
    Stc,
    /// `jmp`.
    Jmp,
    /// `jcc`.
    Jcc(Condition),
    /// `call`.
    Call,
    /// `ret`. An immediate is the number of bytes that are popped after the return address.
    Ret,
    /// `ud2` and `int3`.
    Trap,
    /// `nop`, `endbr64` and `pause`.
    Nop,
    /// `mfence`.
    Mfence,
    /// An operation on vector registers.
    Vector(Vector),
}

impl Instruction {
    /// Returns the CPU feature beyond SSE2 that the instruction needs, by its name in lower case.
    pub fn feature(&self) -> Option<&'static str> {
        match self.operation {
            Operation::CmpxchgPair if self.size == 64 => Some("cmpxchg16b"),
            Operation::Popcnt => Some("popcnt"),
            Operation::Lzcnt => Some("lzcnt"),
            Operation::Tzcnt
            | Operation::Andn
            | Operation::Bextr
            | Operation::Blsi
            | Operation::Blsmsk
            | Operation::Blsr => Some("bmi1"),
            Operation::Bzhi | Operation::Mulx | Operation::Shiftx(_) => Some("bmi2"),
            Operation::Vector(Vector::Extract(16)) if matches!(self.operands[0], Operand::Memory(_)) && !self.vex => {
                Some("sse4.1")
            }
            Operation::Vector(Vector::Broadcast(32)) if !matches!(self.operands[1], Operand::Memory(_)) => Some("avx2"),
            Operation::Vector(vector) => vector.feature(self.vex),
            _ => None,
        }
    }
}
