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
use kingpost_mach::operands::{D4, D8};
use kingpost_mach::{FlagsEffect, OperandSpec, Row, row_table};

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

// Of exclusive loops: the old value, and temporaries. Both are written before operands were read for the last time.
const OLD4: OperandSpec = D4.early();
const OLD8: OperandSpec = D8.early();

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
