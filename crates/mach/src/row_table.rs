//! Notation of an instruction set's table of rows: one line per instruction form, with the form's encoding.
//!
//! The table is checked by [`check`]:
//! 1. Names are unique.
//! 2. An operand that may be in memory requires a twin, and a twin requires such an operand. The twin has a memory
//!    operand of the operand's width, the same effect on the flags, and all remaining operands in the same order,
//!    without a def that shares the operand's location.
//! 3. Moves have one def and one use, and rematerializable rows have one def, in any registers and without changing
//!    the flags. They neither write memory nor trap.
//! 4. Rows with an effect on memory have a memory operand. A twin reads it, and writes it if a def of the operand in
//!    memory is gone.
//! 5. The first two uses of a row that commutes have the same class and width.
//! 6. An upgrade needs a feature, and has equal operands except for ties to other operands.

use crate::cpu_flags::CpuFeatures;
use crate::row::{
    Effect, FlagsEffect, ListIndex, MAX_REGS, OperandSpec, PlainOperands, Row, RowConstraint, RowId, RowKind, Twin,
};
use kingpost_regalloc::{Kind, Pos};
use std::collections::HashSet;

/// One line of the table: a row together with its encoding.
#[derive(Clone, Copy, Debug)]
pub struct Line<E: Copy> {
    /// Row of the line.
    pub row: Row,
    /// Data of the instruction set's own type.
    pub encoding: E,
}

impl<E: Copy> Line<E> {
    /// Returns a plain row whose memory operand, if it has one, has `mem` bytes.
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
            effect: Effect { reads: mem != 0, ..Effect::NONE },
            commutes: false,
            needs: CpuFeatures::NONE,
            twin: None,
            upgrade: None,
            index: ListIndex::None,
            plain: None,
        };
        Line { row, encoding }
    }

    /// Sets the twin: `row` is the form with operand `operand` in memory.
    #[must_use]
    pub const fn twin(mut self, operand: u8, row: RowId) -> Line<E> {
        self.row.twin = Some(Twin { operand, row });
        self
    }

    /// Sets the upgrade: `row` has the same operands without ties between them, and is better on CPUs that have it.
    #[must_use]
    pub const fn upgrade(mut self, row: RowId) -> Line<E> {
        self.row.upgrade = Some(row);
        self
    }

    /// Sets the features that the CPU must have.
    #[must_use]
    pub const fn needs(mut self, features: CpuFeatures) -> Line<E> {
        self.row.needs = features;
        self
    }

    /// Marks its first two uses as exchangeable.
    #[must_use]
    pub const fn commutes(mut self) -> Line<E> {
        self.row.commutes = true;
        self
    }

    /// Marks the row as writing its memory operand without reading it.
    #[must_use]
    pub const fn stores(mut self) -> Line<E> {
        self.row.effect = Effect { reads: false, writes: true, ..self.row.effect };
        self
    }

    /// Marks the row as reading and writing its memory operand.
    #[must_use]
    pub const fn updates(mut self) -> Line<E> {
        self.row.effect = Effect { reads: true, writes: true, ..self.row.effect };
        self
    }

    /// Sets the list that its immediate indexes.
    #[must_use]
    pub const fn index(mut self, index: ListIndex) -> Line<E> {
        self.row.index = index;
        self
    }

    /// Marks the row as trapping under some condition of its own.
    #[must_use]
    pub const fn traps(mut self) -> Line<E> {
        self.row.effect.traps = true;
        self
    }

    /// Sets the kind of the row.
    #[must_use]
    pub const fn kind(mut self, kind: RowKind) -> Line<E> {
        self.row.kind = kind;
        self
    }

    /// Sets whether narrow defs leave zeros above them.
    #[must_use]
    pub const fn zero_extends(mut self, yes: bool) -> Line<E> {
        self.row.zero_extends = yes;
        self
    }

    /// Marks narrow defs as keeping the upper bits of their registers.
    #[must_use]
    pub const fn keeps_upper(self) -> Line<E> {
        self.zero_extends(false)
    }

    /// Marks narrow defs as clearing the upper bits of their registers.
    #[must_use]
    pub const fn clears_upper(self) -> Line<E> {
        self.zero_extends(true)
    }
}

/// Returns the position of the infix in a row's name, and whether an underscore precedes it.
const fn infix_position(name: &str) -> (usize, bool) {
    let name = name.as_bytes();
    let mut at = name.len() - 1;
    while at > 0 && name[at] != b'_' {
        at -= 1;
    }
    (at, at > 0 && name[at - 1].is_ascii_digit())
}

/// Returns the number of bytes of [`row_name`]'s result.
pub const fn row_name_len(name: &str, infix: &str) -> usize {
    let separated = !infix.is_empty() && infix_position(name).1;
    name.len() + infix.len() + separated as usize
}

/// Returns `name` in lower case with `infix`, if there is one, before its last underscore. Two numbers are separated
/// by another underscore.
pub const fn row_name<const N: usize>(name: &str, infix: &str) -> [u8; N] {
    let (at, _) = infix_position(name);
    let tail = N + at - name.len();
    let mut out = [b'_'; N];
    let mut i = 0;
    while i < name.len() {
        out[if i < at { i } else { tail + i - at }] = name.as_bytes()[i].to_ascii_lowercase();
        i += 1;
    }
    let mut i = 0;
    while i < infix.len() {
        out[tail - infix.len() + i] = infix.as_bytes()[i];
        i += 1;
    }
    out
}

/// Returns the number of bytes of [`row_text`]'s result.
pub const fn row_text_len(text: &str, infix: &str) -> usize {
    let (mut i, mut len) = (0, 0);
    while i < text.len() {
        len += if text.as_bytes()[i] == b'*' { infix.len() } else { 1 };
        i += 1;
    }
    len
}

/// Returns `text` with each `*` replaced by `infix`.
pub const fn row_text<const N: usize>(text: &str, infix: &str) -> [u8; N] {
    let mut out = [0; N];
    let (mut i, mut n) = (0, 0);
    while i < text.len() {
        if text.as_bytes()[i] == b'*' {
            let mut k = 0;
            while k < infix.len() {
                out[n + k] = infix.as_bytes()[k];
                k += 1;
            }
            n += infix.len();
        } else {
            out[n] = text.as_bytes()[i];
            n += 1;
        }
        i += 1;
    }
    out
}

/// Returns bytes of a table line as text.
///
/// # Panics
/// If the bytes are not UTF-8.
pub const fn utf8(bytes: &[u8]) -> &str {
    match str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => panic!("tables are written in UTF-8"),
    }
}

/// Returns the number of the first row of line `index` in a file whose rows begin at `base`, with each line's widths.
pub const fn start(base: u16, widths: &[&[&str]], index: usize) -> u16 {
    let (mut n, mut i) = (base, 0);
    while i < index {
        n += if widths[i].is_empty() { 1 } else { widths[i].len() as u16 };
        i += 1;
    }
    n
}

/// Returns the lines of all files of a table, in the order of their numbers.
const fn flatten<E: Copy, const N: usize>(files: &[&[&[Line<E>]]]) -> [Line<E>; N] {
    let mut lines = [files[0][0][0]; N];
    let (mut n, mut file) = (0, 0);
    while file < files.len() {
        let mut line = 0;
        while line < files[file].len() {
            let mut i = 0;
            while i < files[file][line].len() {
                lines[n] = files[file][line][i];
                n += 1;
                i += 1;
            }
            line += 1;
        }
        file += 1;
    }
    assert!(n == N, "a file is missing");
    lines
}

/// Returns the rows of all files of a table, in the order of their numbers.
pub const fn rows<E: Copy, const N: usize>(files: &[&[&[Line<E>]]]) -> [Row; N] {
    let lines: [Line<E>; N] = flatten(files);
    let mut rows = [lines[0].row; N];
    let mut i = 0;
    while i < N {
        rows[i] = lines[i].row;
        rows[i].plain = PlainOperands::of(&rows[i]);
        i += 1;
    }
    rows
}

/// Returns the encodings of all files of a table, in the order of their numbers.
pub const fn encodings<E: Copy, const N: usize>(files: &[&[&[Line<E>]]]) -> [E; N] {
    let lines: [Line<E>; N] = flatten(files);
    let mut encodings = [lines[0].encoding; N];
    let mut i = 0;
    while i < N {
        encodings[i] = lines[i].encoding;
        i += 1;
    }
    encodings
}

/// Defines the constants and lines of one file of the table. Row numbers start at `$base` and end before `END`.
///
/// `NAME = flags "text" [operands] encoding, .more();` makes the row `NAME`. `NAME[8 16] = …` makes the
/// [`Family`](crate::Family) `NAME`, a row for each width. Its operands and encoding use the names that the module of
/// the width in [`operands`](crate::operands) defines. The row's name has the width before its last underscore
/// (`name8_r` is of `NAME_R`), and its text has it for each `*`. Its twin is the row of the same width in the family
/// that `.twin` names.
///
/// The parent module of the file's has the type `Line`, the function `line` that makes a line from name, text, effect
/// on the flags, operands and encoding, and the modules of the widths.
#[macro_export]
macro_rules! rows {
    ($base:expr; $( $name:ident $([$($width:tt)+])? = $flags:ident $asm:tt $specs:tt $encoding:expr
        $(, .$method:ident $args:tt)* ; )*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, reason = "the variants are the names of rows")]
        #[derive(Clone, Copy)]
        enum Index { $( $name, )* COUNT }

        const WIDTHS: [&[&str]; Index::COUNT as usize] = [$( &[$($(stringify!($width)),+)?] ),*];

        $( $crate::row_const! {
            $name $asm $crate::row_table::start($base, &WIDTHS, Index::$name as usize); $($($width)+)?
        } )*

        /// Number of the first row after the rows of this file.
        pub(super) const END: u16 = $crate::row_table::start($base, &WIDTHS, Index::COUNT as usize);

        /// Rows of each of this file's lines.
        pub(super) const LINES: [&[super::Line]; Index::COUNT as usize] = [$(
            $crate::row_lines!([$($($width)+)?] ($(.$method $args)*) $name $flags $asm $specs ($encoding))
        ),*];
    };
}

/// Constant of a line: a row, or with widths a family.
#[doc(hidden)]
#[macro_export]
macro_rules! row_const {
    ($name:ident $asm:tt $start:expr;) => {
        #[doc = concat!("`", $crate::row_asm!($asm), "`")]
        pub const $name: $crate::RowId = $crate::RowId($start);
    };
    ($name:ident $asm:tt $start:expr; $($width:tt)+) => {
        #[doc = concat!("`", $crate::row_asm!($asm), "`, for", $(" ", stringify!($width)),+, ".")]
        pub const $name: $crate::Family = $crate::Family::new(
            $crate::RowId($start),
            &[$({ $crate::row_scope!($width); BITS }),+],
        );
    };
}

/// Rows of a line.
#[doc(hidden)]
#[macro_export]
macro_rules! row_lines {
    ([] ($(.$method:ident $args:tt)*) $name:tt $flags:ident $asm:tt $specs:tt ($encoding:expr)) => {
        &[$crate::row_line!($name "" $flags $asm $specs ($encoding)) $(.$method $args)*]
    };
    ([$($width:tt)+] $more:tt $name:tt $flags:ident $asm:tt $specs:tt ($encoding:expr)) => {
        &[$({
            $crate::row_scope!($width);
            $crate::row_with!($more $crate::row_line!($name INFIX $flags $asm $specs ($encoding)))
        }),+]
    };
}

/// Line of a family with its further properties. Its twin and upgrade are in families, too.
#[doc(hidden)]
#[macro_export]
macro_rules! row_with {
    (() $line:expr) => {
        $line
    };
    ((.twin($operand:expr, $family:expr) $($more:tt)*) $line:expr) => {
        $crate::row_with!(($($more)*) $line.twin($operand, $family.of(BITS)))
    };
    ((.upgrade($family:expr) $($more:tt)*) $line:expr) => {
        $crate::row_with!(($($more)*) $line.upgrade($family.of(BITS)))
    };
    ((.$method:ident $args:tt $($more:tt)*) $line:expr) => {
        $crate::row_with!(($($more)*) $line.$method $args)
    };
}

/// One row.
#[doc(hidden)]
#[macro_export]
macro_rules! row_line {
    ($name:tt $infix:tt $flags:ident $asm:tt [$($spec:expr),*] ($encoding:expr)) => {{
        use $crate::row_table::{row_name, row_name_len, row_text, row_text_len, utf8};
        const LINE: &str = $crate::row_label!($name);
        const NAME: [u8; row_name_len(LINE, $infix)] = row_name(LINE, $infix);
        const TEMPLATE: &str = $crate::row_asm!($asm);
        const TEXT: [u8; row_text_len(TEMPLATE, $infix)] = row_text(TEMPLATE, $infix);
        const OPERANDS: &[$crate::OperandSpec] = &[$($spec),*];
        super::line(utf8(&NAME), utf8(&TEXT), $crate::FlagsEffect::$flags, OPERANDS, $encoding)
    }};
}

/// Name of a row: the name of its line, or with text around it.
#[doc(hidden)]
#[macro_export]
macro_rules! row_label {
    (($before:literal $name:ident $after:literal)) => {
        concat!($before, stringify!($name), $after)
    };
    ($name:ident) => {
        stringify!($name)
    };
}

/// Text of a line: a literal, or several in parentheses, which are concatenated.
#[doc(hidden)]
#[macro_export]
macro_rules! row_asm {
    (($($part:literal)+)) => { concat!($($part),+) };
    ($text:literal) => { $text };
}

/// Brings the definitions of a width's module into scope.
#[doc(hidden)]
#[macro_export]
macro_rules! row_scope {
    (8) => {
        use super::w8::*;
    };
    (16) => {
        use super::w16::*;
    };
    (32) => {
        use super::w32::*;
    };
    (64) => {
        use super::w64::*;
    };
    (128) => {
        use super::w128::*;
    };
    (8b) => {
        use super::v8b::*;
    };
    (16b) => {
        use super::v16b::*;
    };
    ($scope:ident) => {
        use super::$scope::*;
    };
}

/// Checks a table and returns all violations, each with the number of the rule.
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
        rule(4, effect_fits(row, rows));
        rule(5, !row.commutes || uses_alike(row));
        rule(6, upgrade_fits(row, rows));
    }
    errors
}

fn twin_fits(row: &Row, rows: &[Row]) -> bool {
    let in_memory = row.operands.iter().filter(|o| o.constraint == RowConstraint::MemOk).count();
    let Some(Twin { operand, row: twin }) = row.twin else { return in_memory == 0 };
    let twin = &rows[usize::from(twin.0)];
    let spec = row.operands[usize::from(operand)];
    let rest = (0..).zip(row.operands).filter(|(i, o)| *i != operand && o.constraint != RowConstraint::Reuse(operand));
    in_memory == 1
        && spec.constraint == RowConstraint::MemOk
        && (twin.mem, twin.flags) == (spec.width, row.flags)
        && twin.operands.iter().eq(rest.map(|(_, o)| o))
}

fn kind_fits(row: &Row) -> bool {
    let operands = match row.kind {
        RowKind::Move => 2,
        RowKind::Remat => 1,
        RowKind::Plain
        | RowKind::Call
        | RowKind::SequencePoint
        | RowKind::TryCall
        | RowKind::Branch
        | RowKind::Exit => return true,
    };
    let defs = row.operands.iter().filter(|o| o.kind == Kind::Def).count();
    let free = row.operands.iter().all(|o| o.constraint == RowConstraint::Reg);
    let harmless = row.flags == FlagsEffect::None && !row.effect.writes && !row.effect.traps;
    free && (defs, row.operands.len()) == (1, operands) && harmless
}

fn effect_fits(row: &Row, rows: &[Row]) -> bool {
    let on_memory = !(row.effect.reads || row.effect.writes) || row.mem != 0;
    let twin_fits = row.twin.is_none_or(|Twin { operand, row: twin }| {
        let updates = row.operands.iter().any(|o| o.constraint == RowConstraint::Reuse(operand));
        let effect = rows[usize::from(twin.0)].effect;
        effect.reads && effect.writes == updates
    });
    on_memory && twin_fits
}

fn uses_alike(row: &Row) -> bool {
    let mut uses = row.operands.iter().filter(|o| o.kind == Kind::Use).map(|o| (o.class, o.width));
    let first = uses.next();
    first.is_some() && first == uses.next()
}

fn upgrade_fits(row: &Row, rows: &[Row]) -> bool {
    let Some(upgrade) = row.upgrade else { return true };
    let upgrade = &rows[usize::from(upgrade.0)];
    let untied = |o: &OperandSpec| match o.constraint {
        RowConstraint::Reuse(_) => o.at(RowConstraint::Reg),
        _ => *o,
    };
    let operands = row.operands.iter().map(untied).eq(upgrade.operands.iter().copied());
    let rest = |row: &Row| (row.kind, row.flags, row.mem, row.effect, row.commutes, row.twin.is_some());
    operands && rest(row) == rest(upgrade) && upgrade.needs != CpuFeatures::NONE
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_regalloc::RegClass;

    const U8: OperandSpec = OperandSpec::uses(RegClass::Int, 8);
    const D8: OperandSpec = OperandSpec::defs(RegClass::Int, 8);
    const FU8: OperandSpec = OperandSpec::uses(RegClass::Float, 8);
    const SUM: &[OperandSpec] = &[D8, U8, U8];
    const TIED: &[OperandSpec] = &[D8.reuse(1), U8, U8];
    const MIXED: &[OperandSpec] = &[D8, U8, FU8];
    const FROM_MEMORY: &[OperandSpec] = &[D8, U8.at(RowConstraint::MemOk)];
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
        check_lines(&[line("const", &[D8], 0).traps().kind(RowKind::Remat)], &["const: rule 3 of row tables"]);
        check_lines(&[line("store", &[U8], 0).stores()], &["store: rule 4 of row tables"]);
        check_lines(&[load.updates(), copy], &["copy: rule 4 of row tables"]);
        check_lines(&[line("sum", TIED, 0).commutes()], &[]);
        check_lines(&[line("sum", MIXED, 0).commutes()], &["sum: rule 5 of row tables"]);
        let better = line("better", SUM, 0).needs(CpuFeatures::of("new", &[("new", "")]));
        let tied = line("tied", TIED, 0);
        check_lines(&[better, tied.upgrade(RowId(0))], &[]);
        check_lines(&[better.needs(CpuFeatures::NONE), tied.upgrade(RowId(0))], &["tied: rule 6 of row tables"]);
        check_lines(&[better, tied.commutes().upgrade(RowId(0))], &["tied: rule 6 of row tables"]);
    }

    #[test]
    fn rows_of_families_are_named_and_written_by_width() {
        assert_eq!((row_name_len("NOP", ""), &row_name("NOP", "")), (3, b"nop"));
        assert_eq!((row_name_len("ADD_RR", "16"), &row_name("ADD_RR", "16")), (8, b"add16_rr"));
        assert_eq!((row_name_len("REV16_RR", "32"), &row_name("REV16_RR", "32")), (11, b"rev16_32_rr"));
        assert_eq!((row_text_len("and*, {l*}", "32"), &row_text("and*, {l*}", "32")), (12, b"and32, {l32}"));
    }
}
