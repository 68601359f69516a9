//! Description of an instruction set: the facts that every stage of the compiler may ask for.
//!
//! [`LowerIsa`](crate::LowerIsa) adds what selects instructions, and [`EmitIsa`](crate::EmitIsa) what emits them.

use crate::abi::AbiSignature;
use crate::cpu_flags::CpuFeatures;
use crate::error::LowerError;
use crate::row::Row;
use crate::tiles::TileInfo;
use kingpost_ir::signature::Signature;
use kingpost_regalloc::{MachineEnv, PReg, PRegSet};

/// What an instruction set does itself with floats of 16 bits. The rest is done in single precision.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum HalfPrecision {
    /// Nothing: routines convert them.
    None,
    /// Conversions from and to floats of 32 and 64 bits.
    Conversions,
    /// Those, arithmetic, signs and comparisons.
    Arithmetic,
}

/// An instruction set with its settings: one object per compiler.
pub trait Isa: Send + Sync {
    /// Returns the name messages use.
    fn name(&self) -> &'static str;

    /// Returns the instruction table.
    fn rows(&self) -> &'static [Row];

    /// What the CPU can do that rows may need.
    fn features(&self) -> CpuFeatures;

    /// What it does itself with floats of 16 bits.
    fn half_precision(&self) -> HalfPrecision;

    /// Returns the registers to allocate.
    fn env(&self) -> &MachineEnv;

    /// Returns the registers to allocate if `regalloc_registers` left out none: what code of other functions may
    /// destroy.
    fn registers(&self) -> PRegSet;

    /// Returns a register's name when `width` bytes of it are used.
    fn reg_name(&self, reg: PReg, width: u8) -> String;

    /// Places of all arguments and results of `signature`.
    ///
    /// # Errors
    /// What the convention cannot pass.
    fn abi(&self, signature: &Signature) -> Result<AbiSignature, LowerError>;

    /// For each opcode the least width in bits, up to 32, at which the register of its first result, an integer, has
    /// zeros above the value, or 0. [`verify`](crate::verify) checks it of machine code.
    fn zeros_from(&self) -> &'static [u8];

    /// Returns the local patterns that lowering looks for.
    fn tiles(&self) -> &'static [TileInfo];

    /// Returns bytes by which frames, and the stack at calls, are aligned.
    fn stack_align(&self) -> u32;
}
