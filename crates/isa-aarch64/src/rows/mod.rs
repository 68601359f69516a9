//! The instruction table: one line per instruction form.
//!
//! A line is `NAME = flags "text" [operands] encoding, .more();`. It makes the constant `NAME`, the row `name` and
//! its encoding. `NAME[32 64] = …` makes a row for each width, and `NAME.of(32)` is one of them: see
//! [`rows!`](kingpost_mach::rows). Results come first. An instruction that changes a register defines operand 0 in
//! place of operand 1; the text names operand 0 for both.
//!
//! Names: the mnemonic, then the places of operands, destination first: `R` register, `F` float register, `X`
//! extended register, `M` memory, `I` immediate, `Z` the zero register. `ADD_RRI` adds a number to a register,
//! `STR_MR` stores a register. Names of rows have the operand width in bits in between: `add32_rri`. In conversions
//! the destination's width comes first: `SCVTF64_32_FR`. If a line has a twin, the named operand may be in a spill
//! slot; the twin is then emitted. Operations on lanes have a form of line of their own, in [`lanes`].

mod alu;
mod atomic;
mod bits;
mod control;
mod convert;
mod float;
pub mod lanes;
mod line;
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
use kingpost_mach::operands::{v8b, v16b, w8r32 as w8, w16r32 as w16, w32, w64, w128};
use kingpost_mach::{Row, row_table};
use line::{Line, line};

const COUNT: usize = lanes::END as usize;

/// The lines of all files in the order of their numbers.
const FILES: [&[&[Line]]; 10] = [
    &alu::LINES,
    &atomic::LINES,
    &bits::LINES,
    &control::LINES,
    &convert::LINES,
    &float::LINES,
    &mov::LINES,
    &muldiv::LINES,
    &shift::LINES,
    &lanes::LINES,
];

/// Instruction rows, indexed by [`RowId`](kingpost_mach::RowId).
pub static ROWS: [Row; COUNT] = row_table::rows(&FILES);

/// Encodings of the rows.
pub static ENCODINGS: [Encoding; COUNT] = row_table::encodings(&FILES);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_table_is_well_formed() {
        assert_eq!(row_table::check(&ROWS), [""; 0]);
        assert_eq!(ROWS[usize::from(ADD_RRI.of(32).0)].name, "add32_rri");
        assert_eq!(ROWS[usize::from(ROR_RRI.of(64).0)].name, "ror64_rri");
    }
}
