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
use kingpost_mach::{FlagsEffect, OperandSpec, Place, Row, row_table};
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
const U1: OperandSpec = u(1);
const U2: OperandSpec = u(2);
const U4: OperandSpec = u(4);
const U8: OperandSpec = u(8);
const M1: OperandSpec = U1.at(Place::MemOk);
const M2: OperandSpec = U2.at(Place::MemOk);
const M4: OperandSpec = U4.at(Place::MemOk);
const M8: OperandSpec = U8.at(Place::MemOk);
const D1: OperandSpec = d(1);
const D2: OperandSpec = d(2);
const D4: OperandSpec = d(4);
const D8: OperandSpec = d(8);
const T1: OperandSpec = D1.reuse(1);
const T2: OperandSpec = D2.reuse(1);
const T4: OperandSpec = D4.reuse(1);
const T8: OperandSpec = D8.reuse(1);
// Of compare-exchange loops: the old value, and a temporary. Both are written before operands were read for the last time.
const OLD1: OperandSpec = D1.fixed(RAX).early();
const OLD2: OperandSpec = D2.fixed(RAX).early();
const OLD4: OperandSpec = D4.fixed(RAX).early();
const OLD8: OperandSpec = D8.fixed(RAX).early();
const TMP1: OperandSpec = D1.early();
const TMP2: OperandSpec = D2.early();
const TMP4: OperandSpec = D4.early();
const TMP8: OperandSpec = D8.early();
const FU4: OperandSpec = fu(4);
const FU8: OperandSpec = fu(8);
const FU16: OperandSpec = fu(16);
const FM4: OperandSpec = FU4.at(Place::MemOk);
const FM8: OperandSpec = FU8.at(Place::MemOk);
const FD4: OperandSpec = fd(4);
const FD8: OperandSpec = fd(8);
const FD16: OperandSpec = fd(16);
const FT4: OperandSpec = FD4.reuse(1);
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
        assert_eq!(ROWS[usize::from(ADD32_RR.0)].name, "add32_rr");
        assert_eq!(ROWS[usize::from(RORX64_RMI.0)].name, "rorx64_rmi");
    }
}
