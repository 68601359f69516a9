//! x86-64: decoder and meanings, from "Intel 64 and IA-32 Architectures Software Developer's Manual", volume 2.
//!
//! | file | holds |
//! |---|---|
//! | `instruction.rs` | [`Instruction`] |
//! | `kinds.rs` | [`Alu`], [`Shift`], [`Condition`] and other kinds of operations |
//! | `vector.rs` | [`Vector`]: operations on vector registers |
//! | `decode/` | [`decode`]: bytes to instruction |
//! | `step/` | [`step`]: the meaning of an instruction |
//!
//! The flag AF is not modeled, and no instruction that is decoded reads it. Vector registers have 128 bits.

mod decode;
mod instruction;
mod kinds;
mod step;
mod vector;

pub use decode::decode;
pub use instruction::{Base, Instruction, Memory, Operand, Operation};
pub use kinds::{Alu, BitTest, Condition, Shift};
pub use step::step;
pub use vector::{Bitwise, FloatBinary, Floats, LaneConversion, LaneOp, Vector};

/// Number of the carry flag among the flags of a state.
pub const CF: usize = 0;
/// Number of the parity flag.
pub const PF: usize = 1;
/// Number of the zero flag.
pub const ZF: usize = 2;
/// Number of the sign flag.
pub const SF: usize = 3;
/// Number of the overflow flag.
pub const OF: usize = 4;

/// Number of `rax`.
pub const RAX: usize = 0;
/// Number of `rcx`.
pub const RCX: usize = 1;
/// Number of `rdx`.
pub const RDX: usize = 2;
/// Number of `rbx`.
pub const RBX: usize = 3;
/// Number of the stack pointer `rsp`.
pub const RSP: usize = 4;
/// Number of the frame pointer `rbp`.
pub const RBP: usize = 5;
