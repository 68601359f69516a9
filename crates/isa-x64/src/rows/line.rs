//! Lines of the instruction table: their type, and the CPU features that they may need.

use crate::encoding::Encoding;
use crate::flags::X64Flags;
use kingpost_mach::{CpuFeatures, FlagsEffect, OperandSpec};
use kingpost_regalloc::{Kind, RegClass};

pub(super) const AVX: CpuFeatures = X64Flags::feature("has_avx");
pub(super) const AVX2: CpuFeatures = X64Flags::feature("has_avx2");
pub(super) const BMI1: CpuFeatures = X64Flags::feature("has_bmi1");
pub(super) const BMI2: CpuFeatures = X64Flags::feature("has_bmi2");
pub(super) const CMPXCHG16B: CpuFeatures = X64Flags::feature("has_cmpxchg16b");
pub(super) const FMA: CpuFeatures = X64Flags::feature("has_fma");
pub(super) const LZCNT: CpuFeatures = X64Flags::feature("has_lzcnt");
pub(super) const POPCNT: CpuFeatures = X64Flags::feature("has_popcnt");
/// Features that every CPU has.
pub(super) const SSE2: CpuFeatures = CpuFeatures::NONE;
pub(super) const SSE3: CpuFeatures = X64Flags::feature("has_sse3");
pub(super) const SSE41: CpuFeatures = X64Flags::feature("has_sse41");
pub(super) const SSE42: CpuFeatures = X64Flags::feature("has_sse42");
pub(super) const SSSE3: CpuFeatures = X64Flags::feature("has_ssse3");

/// One line of the table.
pub(super) type Line = kingpost_mach::Line<Encoding>;

/// Returns the line for `encoding`.
pub(super) const fn line(
    name: &'static str,
    asm: &'static str,
    flags: FlagsEffect,
    operands: &'static [OperandSpec],
    encoding: Encoding,
) -> Line {
    Line::new(name, asm, flags, operands, encoding.mem, encoding).zero_extends(zero_extends(operands))
}

/// Returns `true` if an instruction with these operands clears the upper bits of each register that it writes.
/// Writing 32 bits of a general-purpose register clears the upper half; narrower writes and writes of float registers
/// keep the upper bits.
const fn zero_extends(operands: &[OperandSpec]) -> bool {
    let mut i = 0;
    while i < operands.len() {
        let o = operands[i];
        let narrow = match o.class {
            RegClass::Int => o.width < 4,
            RegClass::Float => o.width < 16,
        };
        if matches!(o.kind, Kind::Def) && narrow {
            return false;
        }
        i += 1;
    }
    true
}
