//! How an instruction set writes its table of rows: one line per instruction form, with the form's encoding.
//!
//! The table is checked by [`check`]:
//! 1. Names are unique.
//! 2. An operand that may be in memory and a twin come together. The twin has a memory operand of the operand's width,
//!    the same effect on the flags, and the other operands in the same order, without a def in the place of that one.
//! 3. Moves have one def and one use, rows that may run again one def, in any registers and without touching the flags.

use crate::row::{FlagsEffect, MAX_REGS, OperandSpec, Place, Row, RowId, RowKind, Twin};
use kingpost_regalloc::{Kind, Pos};
use std::collections::HashSet;

/// A row together with its encoding: what one line of the table says.
#[derive(Clone, Copy, Debug)]
pub struct Line<E: Copy> {
    /// The row.
    pub row: Row,
    /// Data of the instruction set's own type.
    pub encoding: E,
}

impl<E: Copy> Line<E> {
    /// A plain row whose memory operand, if it has one, has `mem` bytes.
    pub const fn new(
        name: &'static str,
        asm: &'static str,
        flags: FlagsEffect,
        operands: &'static [OperandSpec],
        mem: u8,
        encoding: E,
    ) -> Line<E> {
        assert!(operands.len() + 2 <= MAX_REGS, "an operand, an address base and an index each need a register");
        let row = Row {
            name,
            asm,
            operands,
            kind: RowKind::Plain,
            flags,
            mem,
            addr_pos: Pos::Early,
            zero_extends: true,
            twin: None,
        };
        Line { row, encoding }
    }

    /// Operand `operand` may be in memory: `row` is the form for that.
    #[must_use]
    pub const fn twin(mut self, operand: u8, row: RowId) -> Line<E> {
        self.row.twin = Some(Twin { operand, row });
        self
    }

    /// The same line for a row of another kind.
    #[must_use]
    pub const fn kind(mut self, kind: RowKind) -> Line<E> {
        self.row.kind = kind;
        self
    }

    /// Do narrow defs leave zeros above them?
    #[must_use]
    pub const fn zero_extends(mut self, yes: bool) -> Line<E> {
        self.row.zero_extends = yes;
        self
    }

    /// A narrow def does not clear the rest of its register.
    #[must_use]
    pub const fn keeps_upper(self) -> Line<E> {
        self.zero_extends(false)
    }

    /// A narrow def clears the rest of its register.
    #[must_use]
    pub const fn clears_upper(self) -> Line<E> {
        self.zero_extends(true)
    }
}

/// `text` in lower case.
pub const fn lower<const N: usize>(text: &str) -> [u8; N] {
    let mut out = [0; N];
    let mut i = 0;
    while i < N {
        out[i] = text.as_bytes()[i].to_ascii_lowercase();
        i += 1;
    }
    out
}

/// The rows of all files of a table, in the order of their numbers.
pub const fn rows<E: Copy, const N: usize>(files: &[&[Line<E>]]) -> [Row; N] {
    let mut rows = [files[0][0].row; N];
    let (mut n, mut file) = (0, 0);
    while file < files.len() {
        let mut i = 0;
        while i < files[file].len() {
            rows[n] = files[file][i].row;
            n += 1;
            i += 1;
        }
        file += 1;
    }
    assert!(n == N, "a file is missing");
    rows
}

/// Their encodings.
pub const fn encodings<E: Copy, const N: usize>(files: &[&[Line<E>]]) -> [E; N] {
    let mut encodings = [files[0][0].encoding; N];
    let (mut n, mut file) = (0, 0);
    while file < files.len() {
        let mut i = 0;
        while i < files[file].len() {
            encodings[n] = files[file][i].encoding;
            n += 1;
            i += 1;
        }
        file += 1;
    }
    encodings
}

/// Makes the constants and lines of one file of the table. `$line` makes a line of type `$ty` from name, text, effect on
/// the flags, operands and encoding. Row numbers start at `$base` and end before `END`.
#[macro_export]
macro_rules! rows {
    ($line:path, $ty:ty; $base:expr; $( $name:ident = $flags:ident $asm:literal [$($spec:expr),*] $encoding:expr
        $(, .$method:ident($($arg:expr),*))* ; )*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        #[derive(Clone, Copy)]
        enum Index { $( $name, )* COUNT }

        $(
            #[doc = concat!("`", $asm, "`")]
            pub const $name: $crate::RowId = $crate::RowId($base + Index::$name as u16);
        )*

        /// The first row number behind this file's.
        pub(super) const END: u16 = $base + Index::COUNT as u16;

        /// This file's lines.
        pub(super) const LINES: [$ty; Index::COUNT as usize] = [$(
            {
                const NAME: &str = stringify!($name);
                const LOWER: [u8; NAME.len()] = $crate::row_table::lower(NAME);
                const TEXT: &str = match str::from_utf8(&LOWER) {
                    Ok(text) => text,
                    Err(_) => NAME,
                };
                const OPERANDS: &[$crate::OperandSpec] = &[$($spec),*];
                $line(TEXT, $asm, $crate::FlagsEffect::$flags, OPERANDS, $encoding) $(.$method($($arg),*))*
            },
        )*];
    };
}

/// Checks a table and gives everything that is wrong, each with the number of the rule.
pub fn check(rows: &[Row]) -> Vec<String> {
    let mut errors = Vec::new();
    let mut names = HashSet::new();
    for row in rows {
        let mut rule = |number: u8, holds: bool| {
            if !holds {
                errors.push(format!("{row}: rule {number} of row tables"));
            }
        };
        rule(1, names.insert(row.name));
        rule(2, twin_fits(row, rows));
        rule(3, kind_fits(row));
    }
    errors
}

fn twin_fits(row: &Row, rows: &[Row]) -> bool {
    let in_memory = row.operands.iter().filter(|o| o.place == Place::MemOk).count();
    let Some(Twin { operand, row: twin }) = row.twin else { return in_memory == 0 };
    let twin = &rows[usize::from(twin.0)];
    let spec = row.operands[usize::from(operand)];
    let rest = (0..).zip(row.operands).filter(|(i, o)| *i != operand && o.place != Place::Reuse(operand));
    in_memory == 1
        && spec.place == Place::MemOk
        && (twin.mem, twin.flags) == (spec.width, row.flags)
        && twin.operands.iter().eq(rest.map(|(_, o)| o))
}

fn kind_fits(row: &Row) -> bool {
    let operands = match row.kind {
        RowKind::Move => 2,
        RowKind::Remat => 1,
        RowKind::Plain | RowKind::Call | RowKind::Branch | RowKind::Exit => return true,
    };
    let defs = row.operands.iter().filter(|o| o.kind == Kind::Def).count();
    let free = row.operands.iter().all(|o| o.place == Place::Reg);
    free && (defs, row.operands.len()) == (1, operands) && row.flags == FlagsEffect::None
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_regalloc::RegClass;

    const U8: OperandSpec = OperandSpec::uses(RegClass::Int, 8);
    const D8: OperandSpec = OperandSpec::defs(RegClass::Int, 8);
    const FROM_MEMORY: &[OperandSpec] = &[D8, U8.at(Place::MemOk)];
    const IN_PLACE: &[OperandSpec] = &[D8.reuse(0)];

    fn line(name: &'static str, operands: &'static [OperandSpec], mem: u8) -> Line<()> {
        Line::new(name, "", FlagsEffect::None, operands, mem, ())
    }

    fn check_lines(lines: &[Line<()>], expected: &[&str]) {
        let rows: Vec<Row> = lines.iter().map(|line| line.row).collect();
        assert_eq!(check(&rows), expected);
    }

    #[test]
    fn a_table_is_checked() {
        let load = line("load", &[D8], 8);
        let copy = line("copy", FROM_MEMORY, 0).twin(1, RowId(0));
        check_lines(&[load, copy], &[]);
        check_lines(&[load, load], &["load: rule 1 of row tables"]);
        check_lines(&[line("load", &[D8], 4), copy], &["copy: rule 2 of row tables"]);
        check_lines(&[line("copy", FROM_MEMORY, 0)], &["copy: rule 2 of row tables"]);
        check_lines(&[line("move", &[D8, U8], 0).kind(RowKind::Move)], &[]);
        check_lines(&[load.kind(RowKind::Move)], &["load: rule 3 of row tables"]);
        check_lines(&[line("const", IN_PLACE, 0).kind(RowKind::Remat)], &["const: rule 3 of row tables"]);
    }
}
