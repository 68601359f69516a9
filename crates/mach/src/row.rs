//! One table row per machine instruction form: operands, constraints, effect on the flags, memory twin, text.
//!
//! An instruction set is an array of rows. The encoding of a row is data of the instruction set's own type, in a table
//! parallel to this one; encoder, printer, and the comparison with the system assembler all follow from the two.

use crate::cpu_flags::CpuFeatures;
use kingpost_regalloc::{InstFlags, Kind, OperandForm, PReg, PRegSet, Pos, RegClass};
use std::fmt;

/// Number of a row in its instruction set's table.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct RowId(pub u16);

impl RowId {
    /// Returns the row in form number `k` of a line that has several.
    #[must_use]
    pub const fn form(self, k: u16) -> RowId {
        RowId(self.0 + k)
    }
}

/// The rows of one operation that differ by their width only: of operands, of a precision, of a lane.
///
/// Each is twice as wide as the one before it, and they follow each other in the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Family {
    first: RowId,
    /// Binary logarithms of the least and greatest width in bits.
    least: u8,
    most: u8,
}

impl Family {
    /// Returns the family whose rows begin with `first`, with their widths in bits.
    ///
    /// # Panics
    /// If the widths are not powers of two that double.
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

    /// Returns the narrowest row that holds `bits` bits, which are a power of two and no more than the widest has.
    #[inline]
    pub const fn of(self, bits: u32) -> RowId {
        let log = bits.trailing_zeros() as u8;
        debug_assert!(bits.is_power_of_two() && log <= self.most, "no row is as wide");
        RowId(self.first.0 + log.saturating_sub(self.least) as u16)
    }

    /// Returns the row of exactly `bits` bits, if there is one.
    #[inline]
    pub const fn get(self, bits: u32) -> Option<RowId> {
        let log = bits.trailing_zeros() as u8;
        if log < self.least || log > self.most { None } else { Some(self.of(bits)) }
    }

    /// Returns the rows in form number `k` of a line that has several, each for all widths.
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
    /// Read or written.
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
    /// Returns the bytes of the widest value of which a def of this kind writes all, be it in memory.
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

    /// Returns the same operand under another constraint.
    #[must_use]
    pub const fn at(mut self, constraint: RowConstraint) -> OperandSpec {
        self.constraint = constraint;
        self
    }

    /// Returns the same operand, in `reg`.
    #[must_use]
    pub const fn fixed(self, reg: PReg) -> OperandSpec {
        self.at(RowConstraint::Fixed(reg))
    }

    /// Returns the same operand, in the location of operand `k`.
    #[must_use]
    pub const fn reuse(self, k: u8) -> OperandSpec {
        self.at(RowConstraint::Reuse(k))
    }

    /// Returns the same operand at the early point (a def that shares with no use).
    #[must_use]
    pub const fn early(mut self) -> OperandSpec {
        self.pos = Pos::Early;
        self
    }

    /// Returns the same operand at the late point (a use that shares with no def).
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
    /// Destroys it.
    Clobber,
}

impl FlagsEffect {
    /// Returns `true` if the row reads the flags.
    pub fn reads(self) -> bool {
        matches!(self, FlagsEffect::Use | FlagsEffect::UseDef)
    }

    /// Returns `true` if the flags are different afterwards.
    pub fn writes(self) -> bool {
        matches!(self, FlagsEffect::Def | FlagsEffect::UseDef | FlagsEffect::Clobber)
    }
}

/// Effects of a row beyond computing its defs. Calls may do everything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Effect {
    /// Reads its memory operand.
    pub reads: bool,
    /// Writes its memory operand.
    pub writes: bool,
    /// Traps under some condition, whether it accesses memory or not.
    pub traps: bool,
}

impl Effect {
    /// None at all.
    pub const NONE: Effect = Effect { reads: false, writes: false, traps: false };

    /// Returns `true` if the row may trap, memory accesses included.
    pub const fn may_trap(self) -> bool {
        self.reads || self.writes || self.traps
    }
}

/// The form of a row that takes one of its operands from memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Twin {
    /// Index of the operand that may be in memory. A `Reuse` def of it goes there as well: the twin reads, modifies and
    /// writes.
    pub operand: u8,
    /// The row to use then. It has the same operands in the same order, without this one and without its `Reuse` def,
    /// and a memory operand.
    pub row: RowId,
}

/// What is known of the operands of a row that may all be in any registers: a late def first, if there is one, then
/// early uses, those of the address last. One use at most may be in memory instead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlainOperands {
    /// Whether there is a def.
    pub has_def: bool,
    /// Index of the use whose register the def takes over; 0 if there is none.
    pub tied: u8,
    /// The operands of the row without their values, all in registers.
    pub(crate) forms: [OperandForm; PlainOperands::MOST - 2],
    /// Index of the use that the row's memory form has in memory; beyond all operands if there is none.
    pub(crate) in_memory: u8,
    /// Bytes that it has there, at least.
    pub(crate) memory_bytes: u8,
    /// Bytes of a def that may take its place there, at most; 0 if it does not.
    pub(crate) def_bytes: u8,
}

impl PlainOperands {
    /// Most operands of such a row, those of the address among them.
    pub const MOST: usize = 6;

    /// Returns the plain operands of a row; `None` if one of them cannot be in any register.
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

/// Kind of a row, where the compiler must know it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RowKind {
    /// Nothing special.
    Plain,
    /// Copies its one use to its one def, wholly and without effect.
    Move,
    /// Has one def and no use or effect and leaves the flags alone, so that it may run again anywhere.
    Remat,
    /// Calls: variadic operands, a safepoint. May have an annotation.
    Call,
    /// A place that debug information records: no bytes, an annotation.
    SequencePoint,
    /// As `Call`, and ends a block: behind the call, or at one of its handlers.
    TryCall,
    /// Ends a block by going to other blocks.
    Branch,
    /// Ends a block by leaving the function: returns, tail calls, traps.
    Exit,
}

impl RowKind {
    /// Returns the flags of the instruction for allocators.
    #[inline]
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

    /// Returns `true` if there is more to emitting it than its bytes.
    #[inline]
    pub(crate) fn is_control(self) -> bool {
        matches!(self, RowKind::Call | RowKind::SequencePoint | RowKind::TryCall | RowKind::Branch)
    }
}

/// The list of [`Code`](crate::Code) into which the immediate of a row is an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListIndex {
    /// None: it is a number, or as the row's kind says.
    None,
    /// Names.
    Name,
    /// Targets of jumps, of which the row reads so many from there on.
    Targets(usize),
}

/// Registers that one instruction of a row may name, those of its address included.
pub(crate) const MAX_REGS: usize = 16;

/// One instruction form.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Unique name, also in the text form of machine code: `add64_rr`.
    pub name: &'static str,
    /// The assembler's text, with `{0}` for an operand, `{m}` memory, `{i}` immediate, `{c}` condition, `{t}` target,
    /// `{sym}` the symbol if the memory is one.
    pub asm: &'static str,
    /// Register operands in order. Address registers of a memory operand follow them, then variadic ones.
    pub operands: &'static [OperandSpec],
    /// Kind.
    pub kind: RowKind,
    /// Its effect on the flags.
    pub flags: FlagsEffect,
    /// Width in bytes of the memory operand it has, 0 if none.
    pub mem: u8,
    /// Until when address registers are read: `Late` if the instruction writes a def before it is done with memory.
    pub addr_pos: Pos,
    /// Whether every def narrower than 8 bytes leaves zeros above it in its register.
    pub zero_extends: bool,
    /// Effects beyond the kind's.
    pub effect: Effect,
    /// Whether its first two uses may change places, if no immediate refers to one of them.
    pub commutes: bool,
    /// Features that the CPU must have.
    pub needs: CpuFeatures,
    /// The form with an operand in memory.
    pub twin: Option<Twin>,
    /// A form of the same operands without ties between them, better where the CPU has what it needs.
    pub upgrade: Option<RowId>,
    /// Of which list the immediate is an index.
    pub index: ListIndex,
    /// Facts of its operands if all are plain. The table finds them. The table finds it.
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
