//! Lines of the instruction table: their type, and the CPU features that they may need.

use crate::encoding::Encoding;
use crate::flags::A64Flags;
use kingpost_mach::{CpuFeatures, FlagsEffect, OperandSpec};

pub(super) const LSE: CpuFeatures = A64Flags::feature("has_lse");
pub(super) const FP16: CpuFeatures = A64Flags::feature("has_fp16");
pub(super) const DOTPROD: CpuFeatures = A64Flags::feature("has_dotprod");
pub(super) const I8MM: CpuFeatures = A64Flags::feature("has_i8mm");

/// One line of the table.
pub(super) type Line = kingpost_mach::Line<Encoding>;

/// Returns the line for `encoding`. Writing a part of a register clears the bits above it.
pub(super) const fn line(
    name: &'static str,
    asm: &'static str,
    flags: FlagsEffect,
    operands: &'static [OperandSpec],
    encoding: Encoding,
) -> Line {
    let line = Line::new(name, asm, flags, operands, encoding.bytes, encoding);
    if encoding.is_half { line.needs(FP16) } else { line }
}
