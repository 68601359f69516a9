//! The instruction table: one line per instruction form.
//!
//! A line is `NAME = flags "text" [operands] encoding, .more();`. It makes the constant `NAME`, the row `name` and its
//! encoding. Two-address instructions define operand 0 in the place of operand 1; the text names operand 0 for both.
//!
//! Names: mnemonic, operand width in bits, then where operands are: `R` register, `M` memory, `I` immediate, `C` the
//! count in `cl`, destination first. `ADD32_RM` adds memory to a register, `ADD32_MR` a register to memory. In moves
//! and conversions the destination's width comes first: `MOVSX64_8_RM`. Where a line has a twin, the named operand may be
//! in a spill slot; the twin is then emitted.

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
use crate::regs::RAX;
use kingpost_mach::operands::{D1, D2, D4, D8};
use kingpost_mach::{FlagsEffect, OperandSpec, Row, row_table};
use kingpost_regalloc::{Kind, RegClass};

/// What one line of the table says.
type Line = kingpost_mach::Line<Encoding>;

/// The line for `encoding`.
const fn line(
    name: &'static str,
    asm: &'static str,
    flags: FlagsEffect,
    operands: &'static [OperandSpec],
    encoding: Encoding,
) -> Line {
    Line::new(name, asm, flags, operands, encoding.mem, encoding).zero_extends(zero_extends(operands))
}

/// Writing 32 bits of a general-purpose register clears the other half; narrower writes and float writes keep the rest.
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

// Of compare-exchange loops: the old value, and a temporary. Both are written before operands were read for the last time.
const OLD1: OperandSpec = D1.fixed(RAX).early();
const OLD2: OperandSpec = D2.fixed(RAX).early();
const OLD4: OperandSpec = D4.fixed(RAX).early();
const OLD8: OperandSpec = D8.fixed(RAX).early();
const TMP1: OperandSpec = D1.early();
const TMP2: OperandSpec = D2.early();
const TMP4: OperandSpec = D4.early();
const TMP8: OperandSpec = D8.early();

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
        assert_eq!(ROWS[usize::from(ADD32_RR.0)].name, "add32_rr");
        assert_eq!(ROWS[usize::from(RORX64_RMI.0)].name, "rorx64_rmi");
    }
}
