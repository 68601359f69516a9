//! One table row per machine instruction form: operands, constraints, effect on the flags, memory twin, text.
//!
//! An instruction set is an array of rows. The encoding of a row is data of the instruction set's own type, in a
//! table parallel to this one. The encoder, the printer, and the comparison with the system assembler are derived
//! from the two.

use crate::cpu_flags::CpuFeatures;
use kingpost_regalloc::{InstFlags, Kind, OperandForm, PReg, PRegSet, Pos, RegClass};
use std::fmt;

/// Number of a row in its instruction set's table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct RowId(pub u16);

impl RowId {
    /// Returns the row of form number `k` in a line that has several.
    #[must_use]
    pub const fn form(self, k: u16) -> RowId {
        RowId(self.0 + k)
    }
}

/// Rows of one operation that differ only in their width: of operands, of a precision, or of a lane.
///
/// Each row is twice as wide as the preceding one, and they are consecutive in the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Family {
    first: RowId,
    /// Binary logarithms of the least and greatest width in bits.
    least: u8,
    most: u8,
}

impl Family {
    /// Returns the family whose rows begin with `first` and have these widths in bits.
    ///
    /// # Panics
    /// If the widths are not powers of two, or one does not double the preceding one.
    pub const fn new(first: RowId, widths: &[u32]) -> Family {
        let mut i = 0;
        while i < widths.len() {
            assert!(
                widths[i] == widths[0] << i && widths[i].is_power_of_two(),
                "each width is twice the one before it"
            );
            i += 1;
        }
        let least = widths[0].trailing_zeros() as u8;
        Family { first, least, most: least + widths.len() as u8 - 1 }
    }

    /// Returns the narrowest row that holds `bits` bits. `bits` must be a power of two and at most the width of the
    /// widest row.
    #[inline]
    pub const fn of(self, bits: u32) -> RowId {
        let log = bits.trailing_zeros() as u8;
        debug_assert!(bits.is_power_of_two() && log <= self.most, "no row is as wide");
        RowId(self.first.0 + log.saturating_sub(self.least) as u16)
    }

    /// Returns the row of exactly `bits` bits, if there is one.
    pub const fn get(self, bits: u32) -> Option<RowId> {
        let log = bits.trailing_zeros() as u8;
        if log < self.least || log > self.most { None } else { Some(self.of(bits)) }
    }

    /// Returns the rows of form number `k` in a line that has several, for all widths.
    #[must_use]
    pub const fn form(self, k: u16) -> Family {
        let widths = (self.most - self.least) as u16 + 1;
        Family { first: self.first.form(k * widths), ..self }
    }
}

/// Location of a row's operand: a [`Constraint`](kingpost_regalloc::Constraint) before values are known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowConstraint {
    /// Any allocatable register of the class.
    Reg,
    /// Exactly this register.
    Fixed(PReg),
    /// The location of the operand at this index. Only for defs.
    Reuse(u8),
    /// A register, or a slot if the row's memory twin can be used instead.
    MemOk,
    /// A register of this subset.
    Within(PRegSet),
}

/// One operand of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OperandSpec {
    /// Whether it is a use or a def.
    pub kind: Kind,
    /// Point at which it is read or written.
    pub pos: Pos,
    /// Class of its register.
    pub class: RegClass,
    /// Bytes of the register that the instruction reads or writes; chooses the register's name in text.
    pub width: u8,
    /// Constraint on its location.
    pub constraint: RowConstraint,
}

impl OperandSpec {
    /// Returns the number of bytes of the widest value that a def of this kind writes completely, even in memory.
    pub(crate) const fn whole_width(&self) -> u8 {
        if self.width < 4 { 4 } else { self.width }
    }

    /// Returns an early use of `width` bytes in any register.
    pub const fn uses(class: RegClass, width: u8) -> OperandSpec {
        OperandSpec { kind: Kind::Use, pos: Pos::Early, class, width, constraint: RowConstraint::Reg }
    }

    /// Returns a late def of `width` bytes in any register.
    pub const fn defs(class: RegClass, width: u8) -> OperandSpec {
        OperandSpec { kind: Kind::Def, pos: Pos::Late, class, width, constraint: RowConstraint::Reg }
    }

    /// Returns the operand under another constraint.
    #[must_use]
    pub const fn at(mut self, constraint: RowConstraint) -> OperandSpec {
        self.constraint = constraint;
        self
    }

    /// Returns the operand in `reg`.
    #[must_use]
    pub const fn fixed(self, reg: PReg) -> OperandSpec {
        self.at(RowConstraint::Fixed(reg))
    }

    /// Returns the operand in the location of operand `k`.
    #[must_use]
    pub const fn reuse(self, k: u8) -> OperandSpec {
        self.at(RowConstraint::Reuse(k))
    }

    /// Returns the operand at the early point (a def that shares with no use).
    #[must_use]
    pub const fn early(mut self) -> OperandSpec {
        self.pos = Pos::Early;
        self
    }

    /// Returns the operand at the late point (a use that shares with no def).
    #[must_use]
    pub const fn late(mut self) -> OperandSpec {
        self.pos = Pos::Late;
        self
    }
}

/// Effect of a row on the flags register, which is never allocated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlagsEffect {
    /// Neither reads nor writes it.
    None,
    /// Writes it with a meaning that a later row may read.
    Def,
    /// Reads it.
    Use,
    /// Reads it, then writes it with a meaning (add with carry).
    UseDef,
    /// Writes it with no useful meaning.
    Clobber,
}

impl FlagsEffect {
    /// Returns `true` if the row reads the flags.
    pub fn reads(self) -> bool {
        matches!(self, FlagsEffect::Use | FlagsEffect::UseDef)
    }

    /// Returns `true` if the row changes the flags.
    pub fn writes(self) -> bool {
        matches!(self, FlagsEffect::Def | FlagsEffect::UseDef | FlagsEffect::Clobber)
    }
}

/// Effects of a row beyond computing its defs. Calls may have any effect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effect {
    /// Whether it reads its memory operand.
    pub reads: bool,
    /// Whether it writes its memory operand.
    pub writes: bool,
    /// Whether it traps under some condition besides a fault of its memory access.
    pub traps: bool,
}

impl Effect {
    /// No effect.
    pub const NONE: Effect = Effect { reads: false, writes: false, traps: false };

    /// Returns `true` if the row may trap, including by its memory accesses.
    pub const fn may_trap(self) -> bool {
        self.reads || self.writes || self.traps
    }
}

/// Form of a row that takes one of its operands from memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Twin {
    /// Index of the operand that may be in memory. A `Reuse` def of it is in memory as well: the twin reads, modifies
    /// and writes.
    pub operand: u8,
    /// Row to use for that. It has the same operands in order, without this one and its `Reuse` def, and a memory
    /// operand.
    pub row: RowId,
}

/// Operands of a row that may all be in any registers: a late def first, if there is one, then early uses, with the
/// operands of the address last. At most one use may be in memory instead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlainOperands {
    /// Whether there is a def.
    pub has_def: bool,
    /// Index of the use whose register the def shares; 0 if there is none.
    pub tied: u8,
    /// Operands of the row without their values, all in registers.
    pub(crate) forms: [OperandForm; PlainOperands::MOST - 2],
    /// Index of the use that is in memory in the row's memory form; beyond all operands if there is none.
    pub(crate) in_memory: u8,
    /// Least number of bytes of that use in memory.
    pub(crate) memory_bytes: u8,
    /// Largest number of bytes of a def that may share its memory; 0 if no def may.
    pub(crate) def_bytes: u8,
}

impl PlainOperands {
    /// Largest number of operands of such a row, including the operands of the address.
    pub const MOST: usize = 6;

    /// Returns the plain operands of a row, or `None` if an operand is not plain.
    pub(crate) const fn of(row: &Row) -> Option<PlainOperands> {
        let forms = [OperandForm::USE; PlainOperands::MOST - 2];
        let mut plain =
            PlainOperands { has_def: false, tied: 0, forms, in_memory: u8::MAX, memory_bytes: 0, def_bytes: 0 };
        if row.operands.len() + 2 > Self::MOST
            || matches!(row.addr_pos, Pos::Late)
            || matches!(row.kind, RowKind::Call | RowKind::TryCall)
        {
            return None;
        }
        let mut k = 0;
        while k < row.operands.len() {
            let OperandSpec { kind, pos, constraint, .. } = row.operands[k];
            match (kind, pos, constraint) {
                (Kind::Use, Pos::Early, RowConstraint::Reg | RowConstraint::MemOk) => {}
                (Kind::Def, Pos::Late, RowConstraint::Reg) if k == 0 => {
                    (plain.has_def, plain.forms[0]) = (true, OperandForm::DEF);
                }
                (Kind::Def, Pos::Late, RowConstraint::Reuse(of)) if k == 0 => {
                    (plain.has_def, plain.tied, plain.forms[0]) = (true, of, OperandForm::reuse_def(of));
                }
                _ => return None,
            }
            k += 1;
        }
        if let Some(Twin { operand, .. }) = row.twin {
            plain.in_memory = operand;
            plain.memory_bytes = row.operands[operand as usize].width;
            if plain.tied != 0 && plain.tied == operand {
                plain.def_bytes = row.operands[0].whole_width();
            }
        }
        if plain.has_def && matches!(row.kind, RowKind::Branch | RowKind::Exit) { None } else { Some(plain) }
    }
}

/// Kind of a row, as far as the compiler distinguishes them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowKind {
    /// Any other row.
    Plain,
    /// Copies its one use to its one def completely, without any effect.
    Move,
    /// Has one def and no use or effect and preserves the flags, so that it may run again anywhere.
    Remat,
    /// Calls: variadic operands, a safepoint. May have an annotation.
    Call,
    /// Marks a location that debug information records: no bytes, an annotation.
    SequencePoint,
    /// Calls and ends a block. Control continues after the call, or at one of its handlers.
    TryCall,
    /// Ends a block by a transfer to other blocks.
    Branch,
    /// Ends a block by leaving the function: returns, tail calls, traps.
    Exit,
}

impl RowKind {
    /// Returns the flags of the instruction for allocators.
    pub(crate) fn inst_flags(self) -> InstFlags {
        match self {
            RowKind::Plain | RowKind::SequencePoint => InstFlags::NONE,
            RowKind::Move => InstFlags::MOVE,
            RowKind::Remat => InstFlags::REMAT,
            RowKind::Call => InstFlags::SAFEPOINT,
            RowKind::TryCall => InstFlags::SAFEPOINT.and(InstFlags::BRANCH),
            RowKind::Branch | RowKind::Exit => InstFlags::BRANCH,
        }
    }

    /// Returns `true` if its emission involves more than its bytes.
    pub(crate) fn is_control(self) -> bool {
        matches!(self, RowKind::Call | RowKind::SequencePoint | RowKind::TryCall | RowKind::Branch)
    }
}

/// List of [`Code`](crate::Code) that the immediate of a row indexes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListIndex {
    /// No list: the immediate is a number, or is defined by the row's kind.
    None,
    /// Names.
    Name,
    /// Targets of jumps. The row reads this many, from the index on.
    Targets(usize),
}

/// Largest number of registers of one instruction, including the registers of its address.
pub(crate) const MAX_REGS: usize = 16;

/// One instruction form.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Unique name, which the text form of machine code uses too: `add64_rr`.
    pub name: &'static str,
    /// Assembler text, with `{0}` for an operand, `{m}` memory, `{i}` immediate, `{c}` condition, `{t}` target,
    /// `{sym}` the symbol if the memory is one.
    pub asm: &'static str,
    /// Register operands in order. Address registers of a memory operand follow them, then variadic ones.
    pub operands: &'static [OperandSpec],
    /// Kind of the row.
    pub kind: RowKind,
    /// Effect of the row on the flags.
    pub flags: FlagsEffect,
    /// Width of its memory operand in bytes, 0 if it has none.
    pub mem: u8,
    /// Latest point at which address registers are read: `Late` if the instruction writes a def before its last
    /// memory access.
    pub addr_pos: Pos,
    /// Whether every def narrower than 8 bytes leaves zeros above it in its register.
    pub zero_extends: bool,
    /// Effects beyond the effects of its kind.
    pub effect: Effect,
    /// Whether its first two uses may be exchanged, if no immediate refers to one of them.
    pub commutes: bool,
    /// Features that the CPU must have.
    pub needs: CpuFeatures,
    /// Form with an operand in memory.
    pub twin: Option<Twin>,
    /// Form of the same operands without ties between them, which is better on CPUs that have it.
    pub upgrade: Option<RowId>,
    /// List that the immediate indexes.
    pub index: ListIndex,
    /// Facts of its operands if all are plain. Computed by the table.
    pub plain: Option<PlainOperands>,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_has_the_narrowest_row_that_is_wide_enough() {
        let all = Family::new(RowId(10), &[8, 16, 32, 64]);
        assert_eq!([8, 16, 32, 64].map(|bits| all.of(bits).0), [10, 11, 12, 13]);
        let wide = Family::new(RowId(20), &[32, 64]);
        assert_eq!([8, 16, 32, 64].map(|bits| wide.of(bits).0), [20, 20, 20, 21]);
        assert_eq!([16, 32, 64, 128].map(|bits| wide.get(bits)), [None, Some(RowId(20)), Some(RowId(21)), None]);
        assert_eq!(wide.form(3).of(64), RowId(27));
    }
}
