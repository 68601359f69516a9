//! Description of an instruction set: facts for all stages of the compiler.
//!
//! [`LowerIsa`](crate::LowerIsa) adds the selection of instructions, and [`EmitIsa`](crate::EmitIsa) their emission.

use crate::abi::AbiSignature;
use crate::cpu_flags::CpuFeatures;
use crate::error::LowerError;
use crate::row::Row;
use crate::tiles::TileInfo;
use kingpost_ir::signature::Signature;
use kingpost_regalloc::{MachineEnv, PReg, PRegSet};

/// Operations on floats of 16 bits that an instruction set has. All others are done in single precision.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum HalfPrecision {
    /// No operation: library routines convert them.
    None,
    /// Conversions from and to floats of 32 and 64 bits.
    Conversions,
    /// Conversions, arithmetic, signs and comparisons.
    Arithmetic,
}

/// An instruction set with its settings: one object per compiler.
pub trait Isa: Send + Sync {
    /// Returns the name of the instruction set in messages.
    fn name(&self) -> &'static str;

    /// Returns the instruction table.
    fn rows(&self) -> &'static [Row];

    /// Returns the CPU features that rows may need.
    fn features(&self) -> CpuFeatures;

    /// Returns the operations on floats of 16 bits that the instruction set has.
    fn half_precision(&self) -> HalfPrecision;

    /// Returns the registers to allocate.
    fn env(&self) -> &MachineEnv;

    /// Returns the registers to allocate without the restriction of `regalloc_registers`. Code of other functions may
    /// destroy them.
    fn registers(&self) -> PRegSet;

    /// Returns the name of a register when `width` bytes of it are used.
    fn reg_name(&self, reg: PReg, width: u8) -> String;

    /// Returns the places of all arguments and results of `signature`.
    ///
    /// # Errors
    /// If the convention cannot pass the signature.
    fn abi(&self, signature: &Signature) -> Result<AbiSignature, LowerError>;

    /// Returns for each opcode the least width in bits, up to 32, at which the register of its first result, an
    /// integer, has zeros above the value. 0 means that there is no such width. [`verify`](crate::verify) checks
    /// machine code for it.
    fn zeros_from(&self) -> &'static [u8];

    /// Returns the local patterns that lowering matches.
    fn tiles(&self) -> &'static [TileInfo];

    /// Returns the alignment in bytes of frames, and of the stack at calls.
    fn stack_align(&self) -> u32;
}
