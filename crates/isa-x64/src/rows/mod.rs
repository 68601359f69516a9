//! The instruction table: one line per instruction form.
//!
//! A line is `NAME = flags "text" [operands] encoding, .more();`. It makes the constant `NAME`, the row `name` and
//! its encoding. `NAME[8 16 32 64] = …` makes a row for each width, and `NAME.of(32)` is one of them: see
//! [`rows!`](kingpost_mach::rows). Two-address instructions define operand 0 in place of operand 1; the text names
//! operand 0 for both.
//!
//! Names: the mnemonic, then the places of operands, destination first: `R` register, `M` memory, `I` immediate, `C`
//! the count in `cl`. `ADD_RM` adds memory to a register, `ADD_MR` a register to memory. Names of rows have the
//! operand width in bits in between: `add32_rm`. In moves and conversions the destination's width comes first:
//! `MOVSX64_8_RM`. If a line has a twin, the named operand may be in a spill slot; the twin is then emitted. If it
//! has an upgrade, that is emitted on CPUs that have the features of the upgrade.

mod alu;
mod atomic;
mod bits;
mod control;
mod convert;
mod float;
mod lanes;
mod line;
mod mov;
mod muldiv;
mod shift;
mod vector;

pub use alu::*;
pub use atomic::*;
pub use bits::*;
pub use control::*;
pub use convert::*;
pub use float::*;
pub use lanes::*;
pub use mov::*;
pub use muldiv::*;
pub use shift::*;
pub use vector::*;

use crate::encoding::Encoding;
use kingpost_mach::operands::{b, bw, d, dq, q, qdq, sd, ss, w, w8, w16, w32, w64, wd};
use kingpost_mach::{Row, row_table};
use line::{Line, line};

const COUNT: usize = lanes::END as usize;

/// The lines of all files in the order of their numbers.
const FILES: [&[&[Line]]; 11] = [
    &alu::LINES,
    &atomic::LINES,
    &bits::LINES,
    &control::LINES,
    &convert::LINES,
    &float::LINES,
    &mov::LINES,
    &muldiv::LINES,
    &shift::LINES,
    vector::LINES,
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
        assert_eq!(ROWS[usize::from(ADD_RR.of(32).0)].name, "add32_rr");
        assert_eq!(ROWS[usize::from(RORX_RMI.of(64).0)].name, "rorx64_rmi");
    }
}
