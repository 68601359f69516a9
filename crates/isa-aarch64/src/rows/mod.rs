//! The instruction table: one line per instruction form.
//!
//! A line is `NAME = flags "text" [operands] encoding, .more();`. It makes the constant `NAME`, the row `name` and its
//! encoding. Results come first. Instructions that change a register define operand 0 in the place of operand 1; the
//! text names operand 0 for both.
//!
//! Names: mnemonic, operand width in bits, then where operands are, destination first: `R` register, `F` float register,
//! `X` extended register, `M` memory, `I` immediate, `Z` the zero register. `ADD32_RRI` adds a number to a register,
//! `STR64_MR` stores a register. In conversions the destination's width comes first: `SCVTF64_32_FR`. Where a line has a
//! twin, the named operand may be in a spill slot; the twin is then emitted.

mod alu;
mod atomic;
mod bits;
mod control;
mod convert;
mod float;
mod mov;
mod muldiv;
mod shift;

pub use alu::*;
pub use atomic::*;
pub use bits::*;
pub use control::*;
pub use convert::*;
pub use float::*;
pub use mov::*;
pub use muldiv::*;
pub use shift::*;

use crate::encoding::Encoding;
use kingpost_mach::{FlagsEffect, OperandSpec, Place, Row, row_table};
use kingpost_regalloc::RegClass;

/// What one line of the table says.
type Line = kingpost_mach::Line<Encoding>;

/// The line for `encoding`. Writing a part of a register clears the rest.
const fn line(
    name: &'static str,
    asm: &'static str,
    flags: FlagsEffect,
    operands: &'static [OperandSpec],
    encoding: Encoding,
) -> Line {
    Line::new(name, asm, flags, operands, encoding.bytes, encoding)
}

const fn u(width: u8) -> OperandSpec {
    OperandSpec::uses(RegClass::Int, width)
}

const fn d(width: u8) -> OperandSpec {
    OperandSpec::defs(RegClass::Int, width)
}

const fn fu(width: u8) -> OperandSpec {
    OperandSpec::uses(RegClass::Float, width)
}

const fn fd(width: u8) -> OperandSpec {
    OperandSpec::defs(RegClass::Float, width)
}

// Operands by letter and width in bytes: U use, D def, T def tied to operand 1, M use in a register or memory.
// With an F in front: in a float register.
const U4: OperandSpec = u(4);
const U8: OperandSpec = u(8);
const M1: OperandSpec = u(1).at(Place::MemOk);
const M2: OperandSpec = u(2).at(Place::MemOk);
const M4: OperandSpec = U4.at(Place::MemOk);
const M8: OperandSpec = U8.at(Place::MemOk);
const D4: OperandSpec = d(4);
const D8: OperandSpec = d(8);
const T4: OperandSpec = D4.reuse(1);
const T8: OperandSpec = D8.reuse(1);
// Of exclusive loops: the old value, and temporaries. Both are written before operands were read for the last time.
const OLD4: OperandSpec = D4.early();
const OLD8: OperandSpec = D8.early();
const FU1: OperandSpec = fu(1);
const FU2: OperandSpec = fu(2);
const FU4: OperandSpec = fu(4);
const FU8: OperandSpec = fu(8);
const FU16: OperandSpec = fu(16);
const FM4: OperandSpec = FU4.at(Place::MemOk);
const FM8: OperandSpec = FU8.at(Place::MemOk);
const FD1: OperandSpec = fd(1);
const FD2: OperandSpec = fd(2);
const FD4: OperandSpec = fd(4);
const FD8: OperandSpec = fd(8);
const FD16: OperandSpec = fd(16);
const FT8: OperandSpec = FD8.reuse(1);
const FT16: OperandSpec = FD16.reuse(1);

/// The lines of one file of the table.
macro_rules! rows {
    ($($tokens:tt)*) => {
        kingpost_mach::rows! { crate::rows::line, crate::rows::Line; $($tokens)* }
    };
}
use rows;

const COUNT: usize = shift::END as usize;

/// All files' lines in the order of their numbers.
const FILES: [&[Line]; 9] = [
    &alu::LINES,
    &atomic::LINES,
    &bits::LINES,
    &control::LINES,
    &convert::LINES,
    &float::LINES,
    &mov::LINES,
    &muldiv::LINES,
    &shift::LINES,
];

/// The rows, indexed by [`RowId`](kingpost_mach::RowId).
pub static ROWS: [Row; COUNT] = row_table::rows(&FILES);

/// Their encodings.
pub static ENCODINGS: [Encoding; COUNT] = row_table::encodings(&FILES);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_as_tables_are() {
        assert_eq!(row_table::check(&ROWS), [""; 0]);
        assert_eq!(ROWS[usize::from(ADD32_RRI.0)].name, "add32_rri");
        assert_eq!(ROWS[usize::from(ROR64_RRI.0)].name, "ror64_rri");
    }
}
