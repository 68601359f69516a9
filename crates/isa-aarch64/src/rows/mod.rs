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
use kingpost_mach::{FlagsEffect, OperandSpec, Place, Row, RowId, RowKind, Twin};
use kingpost_regalloc::{Pos, RegClass};

/// A row together with its encoding: what one line of the table says.
#[derive(Clone, Copy)]
struct Line {
    row: Row,
    encoding: Encoding,
}

impl Line {
    const fn new(
        name: &'static str,
        asm: &'static str,
        flags: FlagsEffect,
        operands: &'static [OperandSpec],
        encoding: Encoding,
    ) -> Line {
        let row = Row {
            name,
            asm,
            operands,
            kind: RowKind::Plain,
            flags,
            mem: encoding.bytes,
            addr_pos: Pos::Early,
            // Writing a part of a register clears the rest.
            zero_extends: true,
            twin: None,
        };
        Line { row, encoding }
    }

    /// Operand `operand` may be in memory: `row` is the form for that.
    const fn twin(mut self, operand: u8, row: RowId) -> Line {
        self.row.twin = Some(Twin { operand, row });
        self
    }

    const fn kind(mut self, kind: RowKind) -> Line {
        self.row.kind = kind;
        self
    }
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

/// `text` in lower case.
const fn lower<const N: usize>(text: &str) -> [u8; N] {
    let mut out = [0; N];
    let mut i = 0;
    while i < N {
        out[i] = text.as_bytes()[i].to_ascii_lowercase();
        i += 1;
    }
    out
}

/// Makes the constants and lines of one file of the table. Row numbers start at `$base` and end before `END`.
macro_rules! rows {
    ($base:expr; $( $name:ident = $flags:ident $asm:literal [$($spec:expr),*] $encoding:expr
        $(, .$method:ident($($arg:expr),*))* ; )*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[derive(Clone, Copy)]
        enum Index { $( $name, )* COUNT }

        $(
            #[doc = concat!("`", $asm, "`")]
            pub const $name: kingpost_mach::RowId = kingpost_mach::RowId($base + Index::$name as u16);
        )*

        /// The first row number behind this file's.
        pub(super) const END: u16 = $base + Index::COUNT as u16;

        /// This file's lines.
        pub(super) const LINES: [crate::rows::Line; Index::COUNT as usize] = [$(
            {
                const NAME: &str = stringify!($name);
                const LOWER: [u8; NAME.len()] = crate::rows::lower(NAME);
                const TEXT: &str = match str::from_utf8(&LOWER) {
                    Ok(text) => text,
                    Err(_) => NAME,
                };
                const OPERANDS: &[kingpost_mach::OperandSpec] = &[$($spec),*];
                crate::rows::Line::new(TEXT, $asm, kingpost_mach::FlagsEffect::$flags, OPERANDS, $encoding)
                    $(.$method($($arg),*))*
            },
        )*];
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

static LINES: [Line; COUNT] = {
    let mut all = [alu::LINES[0]; COUNT];
    let (mut n, mut file) = (0, 0);
    while file < FILES.len() {
        let mut i = 0;
        while i < FILES[file].len() {
            all[n] = FILES[file][i];
            n += 1;
            i += 1;
        }
        file += 1;
    }
    assert!(n == COUNT, "a file is missing");
    all
};

/// The rows, indexed by [`RowId`].
pub static ROWS: [Row; COUNT] = {
    let mut rows = [LINES[0].row; COUNT];
    let mut i = 0;
    while i < COUNT {
        rows[i] = LINES[i].row;
        i += 1;
    }
    rows
};

/// Their encodings.
pub static ENCODINGS: [Encoding; COUNT] = {
    let mut encodings = [LINES[0].encoding; COUNT];
    let mut i = 0;
    while i < COUNT {
        encodings[i] = LINES[i].encoding;
        i += 1;
    }
    encodings
};

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_regalloc::Kind;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique_and_in_lower_case() {
        let names: HashSet<&str> = ROWS.iter().map(|r| r.name).collect();
        assert_eq!(names.len(), ROWS.len());
        assert_eq!(ROWS[usize::from(ADD32_RRI.0)].name, "add32_rri");
        assert_eq!(ROWS[usize::from(ROR64_RRI.0)].name, "ror64_rri");
    }

    /// The operands a twin of `row` must have.
    fn without_memory_operand(row: &Row, operand: u8) -> Vec<OperandSpec> {
        let in_memory = |i: u8, o: &OperandSpec| i == operand || o.place == Place::Reuse(operand);
        (0..).zip(row.operands).filter(|(i, o)| !in_memory(*i, o)).map(|(_, o)| *o).collect()
    }

    #[test]
    fn twins_fit_their_rows() {
        for row in &ROWS {
            let in_memory = row.operands.iter().filter(|o| o.place == Place::MemOk).count();
            assert_eq!(in_memory, usize::from(row.twin.is_some()), "{row}");
            let Some(Twin { operand, row: twin }) = row.twin else { continue };
            let twin = &ROWS[usize::from(twin.0)];
            let spec = row.operands[usize::from(operand)];
            assert_eq!(spec.place, Place::MemOk, "{row}");
            assert_eq!((twin.mem, twin.flags), (spec.width, row.flags), "{row}");
            assert_eq!(twin.operands, without_memory_operand(row, operand), "{row}");
        }
    }

    #[test]
    fn kinds_are_what_they_promise() {
        for row in &ROWS {
            let defs = row.operands.iter().filter(|o| o.kind == Kind::Def).count();
            let free = row.operands.iter().all(|o| o.place == Place::Reg);
            match row.kind {
                RowKind::Move => assert!(free && (defs, row.operands.len()) == (1, 2), "{row}"),
                RowKind::Remat => assert!(free && (defs, row.operands.len()) == (1, 1), "{row}"),
                _ => continue,
            }
            assert_eq!(row.flags, FlagsEffect::None, "{row}");
        }
    }
}
