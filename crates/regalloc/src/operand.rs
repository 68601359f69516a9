//! One operand of one instruction, packed into 64 bits.

use crate::entities::{RegSetId, VReg};
use crate::reg::PReg;
use cranelift_entity::EntityRef;
use std::fmt;

/// Whether the instruction reads or writes the operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// The instruction reads the value.
    Use,
    /// The instruction defines the value.
    Def,
}

/// The point of an instruction at which an operand begins (def) or ends (use) to occupy its location.
///
/// An early use may share a register with a late def. A late use shares with no def, and an early def with no use.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Pos {
    /// Before the instruction writes anything. The usual point of a use.
    Early,
    /// Point at which the instruction writes its results. The usual point of a def.
    Late,
}

/// Constraint on the location of an operand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Constraint {
    /// Any allocatable register of the value's class.
    Reg,
    /// Exactly this register.
    Fixed(PReg),
    /// A def in the location of the use at this operand index of the same instruction.
    Reuse(u8),
    /// A spill slot.
    Stack,
    /// A register or a slot. At most one operand of an instruction has this constraint, because only one memory
    /// twin is chosen.
    MemOk,
    /// A register or a slot, for any number of operands: bookkeeping operands that no encoding reads.
    Any,
    /// A register of this subset of the class.
    Within(RegSetId),
}

/// One operand: value, [`Kind`], [`Pos`] and [`Constraint`].
///
/// Layout: bits 0–31 vreg, 32 def, 33 late, 34 read-modify-write, 35–38 constraint, 40–55 its payload.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Operand(u64);

/// Demands of operands beyond a register, as a set. They determine the [`OperandClass`](crate::OperandClass) of an
/// instruction.
#[derive(Clone, Copy, Default, Debug)]
pub struct Demands(u8);

impl Demands {
    pub(crate) const NOTHING: Demands = Demands(0);
    /// An early use that may be in memory.
    pub(crate) const MEMORY: Demands = Demands(1);
    /// A late def in the location of a use.
    pub(crate) const TIE: Demands = Demands(2);
    /// A def.
    pub(crate) const DEF: Demands = Demands(4);
    /// A fixed register, a slot, or an unusual point; or a second tie.
    pub(crate) const MORE: Demands = Demands(8);
    /// A slot that is read, modified and written, if the operand is in a slot.
    pub(crate) const RMW: Demands = Demands(16);

    /// Returns the union of both sets. Two ties make [`Demands::MORE`].
    pub(crate) fn and(self, other: Demands) -> Demands {
        let second_tie = self.0 & other.0 & Demands::TIE.0;
        Demands(self.0 | other.0 | second_tie << 2)
    }

    pub(crate) fn has(self, other: Demands) -> bool {
        self.0 & other.0 != 0
    }
}

/// Demands by the bits of an operand above the vreg, without the payload.
const DEMANDS: [Demands; 128] = {
    let mut demands = [Demands::MORE; 128];
    let mut tags = 0;
    while tags < demands.len() {
        let (is_def, is_late, is_rmw, tag) = (tags & 1 != 0, tags & 2 != 0, tags & 4 != 0, tags >> 3);
        demands[tags] = match (is_def, is_late, tag) {
            (false, false, 0) => Demands::NOTHING,
            (true, true, 0) => Demands::DEF,
            (false, false, 4 | 5) => Demands::MEMORY,
            (true, true, 2) => Demands(Demands::DEF.0 | Demands::TIE.0),
            (true, _, _) => Demands(Demands::DEF.0 | Demands::MORE.0),
            (false, _, _) => Demands::MORE,
        };
        if is_rmw {
            demands[tags].0 |= Demands::RMW.0;
        }
        tags += 1;
    }
    demands
};

const DEF: u64 = 1 << 32;
const LATE: u64 = 1 << 33;
const RMW: u64 = 1 << 34;

/// An operand without its value, in one of the forms that most instructions have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OperandForm(u16);

impl OperandForm {
    /// An early use in any register.
    pub const USE: OperandForm = OperandForm(0);
    /// An early use in a register or in memory.
    pub const MEM_OK_USE: OperandForm = OperandForm(4 << 3);
    /// A late def in any register.
    pub const DEF: OperandForm = OperandForm(((DEF | LATE) >> 32) as u16);

    /// Returns a late def in the location of the use at operand index `k`.
    pub const fn reuse_def(k: u8) -> OperandForm {
        OperandForm(OperandForm::DEF.0 | 2 << 3 | (k as u16) << 8)
    }
}

impl Operand {
    /// Returns an operand of this form.
    pub fn of_form(vreg: VReg, form: OperandForm) -> Operand {
        Operand(u64::from(vreg.as_u32()) | u64::from(form.0) << 32)
    }

    /// Returns an operand with every part given.
    #[inline]
    pub fn new(vreg: VReg, kind: Kind, pos: Pos, constraint: Constraint) -> Operand {
        let (tag, payload) = match constraint {
            Constraint::Reg => (0, 0),
            Constraint::Fixed(reg) => (1, reg.index() as u64),
            Constraint::Reuse(k) => (2, u64::from(k)),
            Constraint::Stack => (3, 0),
            Constraint::MemOk => (4, 0),
            Constraint::Any => (5, 0),
            Constraint::Within(set) => {
                assert!(set.index() < 1 << 16, "a problem has at most 65,536 register subsets");
                (6, set.index() as u64)
            }
        };
        let def = if kind == Kind::Def { DEF } else { 0 };
        let late = if pos == Pos::Late { LATE } else { 0 };
        Operand(u64::from(vreg.as_u32()) | def | late | tag << 35 | payload << 40)
    }

    /// Returns an early use in any register.
    pub fn reg_use(vreg: VReg) -> Operand {
        Self::new(vreg, Kind::Use, Pos::Early, Constraint::Reg)
    }

    /// Returns a late use in any register, which it shares with no def.
    pub fn late_use(vreg: VReg) -> Operand {
        Self::new(vreg, Kind::Use, Pos::Late, Constraint::Reg)
    }

    /// Returns an early use in `reg`.
    pub fn fixed_use(vreg: VReg, reg: PReg) -> Operand {
        Self::new(vreg, Kind::Use, Pos::Early, Constraint::Fixed(reg))
    }

    /// Returns an early use in a register or in memory.
    pub fn mem_ok_use(vreg: VReg) -> Operand {
        Self::new(vreg, Kind::Use, Pos::Early, Constraint::MemOk)
    }

    /// Returns an early use anywhere.
    pub fn any_use(vreg: VReg) -> Operand {
        Self::new(vreg, Kind::Use, Pos::Early, Constraint::Any)
    }

    /// Returns a late def in any register.
    pub fn reg_def(vreg: VReg) -> Operand {
        Self::new(vreg, Kind::Def, Pos::Late, Constraint::Reg)
    }

    /// Returns an early def in any register, which it shares with no use. Temporaries are early defs without a use.
    pub fn early_def(vreg: VReg) -> Operand {
        Self::new(vreg, Kind::Def, Pos::Early, Constraint::Reg)
    }

    /// Returns a late def in `reg`.
    pub fn fixed_def(vreg: VReg, reg: PReg) -> Operand {
        Self::new(vreg, Kind::Def, Pos::Late, Constraint::Fixed(reg))
    }

    /// Returns a late def in the location of the use at operand index `k`.
    pub fn reuse_def(vreg: VReg, k: u8) -> Operand {
        Self::new(vreg, Kind::Def, Pos::Late, Constraint::Reuse(k))
    }

    /// Returns a copy of the operand that may be in a slot together with the use it reuses: its memory twin reads,
    /// modifies and writes the slot.
    #[must_use]
    pub fn with_rmw(self) -> Operand {
        Operand(self.0 | RMW)
    }

    /// Returns the value.
    pub fn vreg(self) -> VReg {
        VReg::from_u32(self.0 as u32)
    }

    /// Returns whether the operand is a use or a def.
    pub fn kind(self) -> Kind {
        if self.is_def() { Kind::Def } else { Kind::Use }
    }

    /// Returns `true` if the operand is a def.
    pub fn is_def(self) -> bool {
        self.0 & DEF != 0
    }

    /// Returns `true` if the operand is a use.
    pub fn is_use(self) -> bool {
        !self.is_def()
    }

    /// Returns the point of the operand, early or late.
    pub fn pos(self) -> Pos {
        if self.0 & LATE != 0 { Pos::Late } else { Pos::Early }
    }

    /// Returns `true` if the operand is an early use or a late def in any register, as most operands are.
    pub fn is_plain(self) -> bool {
        let tags = self.0 >> 32;
        tags == 0 || tags == (DEF | LATE) >> 32
    }

    /// Returns the demands of the operand.
    #[inline]
    pub(crate) fn demands(self) -> Demands {
        DEMANDS[(self.0 >> 32 & 127) as usize]
    }

    /// Returns `true` if a [`Constraint::Reuse`] def may be in a slot.
    pub fn is_rmw(self) -> bool {
        self.0 & RMW != 0
    }

    /// Returns the constraint.
    #[inline]
    pub fn constraint(self) -> Constraint {
        let payload = (self.0 >> 40) as u16;
        match self.0 >> 35 & 15 {
            0 => Constraint::Reg,
            1 => Constraint::Fixed(PReg::from_index(usize::from(payload) % PReg::COUNT)),
            2 => Constraint::Reuse(payload as u8),
            3 => Constraint::Stack,
            4 => Constraint::MemOk,
            5 => Constraint::Any,
            _ => Constraint::Within(RegSetId::from_u32(u32::from(payload))),
        }
    }

    /// Returns `true` if the constraint is [`Constraint::Reg`].
    pub fn is_reg(self) -> bool {
        self.0 >> 35 & 15 == 0
    }

    /// Returns the use whose location a [`Constraint::Reuse`] def shares.
    pub fn reused(self) -> Option<u8> {
        (self.0 >> 35 & 15 == 2).then_some((self.0 >> 40) as u8)
    }

    /// Returns the register of a [`Constraint::Fixed`] operand.
    #[inline]
    pub fn fixed_reg(self) -> Option<PReg> {
        (self.0 >> 35 & 15 == 1).then(|| PReg::from_index((self.0 >> 40) as usize % PReg::COUNT))
    }
}

/// Text form as in `.ra` files: `use v1`, `late use v1`, `def v2 = r0`, `def v3 reuse 0 rmw`, `use v4 mem`, `use v5 in
/// set0`; files spell the subset out: `in {r0, r1}`.
impl fmt::Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = match (self.kind(), self.pos()) {
            (Kind::Use, Pos::Early) => "use",
            (Kind::Use, Pos::Late) => "late use",
            (Kind::Def, Pos::Late) => "def",
            (Kind::Def, Pos::Early) => "early def",
        };
        write!(f, "{word} {}", self.vreg())?;
        match self.constraint() {
            Constraint::Reg => {}
            Constraint::Fixed(reg) => write!(f, " = {reg}")?,
            Constraint::Reuse(k) => write!(f, " reuse {k}")?,
            Constraint::Stack => f.write_str(" stack")?,
            Constraint::MemOk => f.write_str(" mem")?,
            Constraint::Any => f.write_str(" any")?,
            Constraint::Within(set) => write!(f, " in {set}")?,
        }
        if self.is_rmw() { f.write_str(" rmw") } else { Ok(()) }
    }
}

impl fmt::Debug for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_operands_without_a_value() {
        let v = VReg::from_u32(7);
        let forms = [
            (OperandForm::USE, Operand::reg_use(v)),
            (OperandForm::MEM_OK_USE, Operand::mem_ok_use(v)),
            (OperandForm::DEF, Operand::reg_def(v)),
            (OperandForm::reuse_def(255), Operand::reuse_def(v, 255)),
        ];
        for (form, operand) in forms {
            assert_eq!(Operand::of_form(v, form), operand);
        }
    }

    #[test]
    fn every_part_survives_packing() {
        let v = VReg::from_u32(u32::MAX - 1);
        let constraints = [
            Constraint::Reg,
            Constraint::Fixed(PReg::float(63)),
            Constraint::Reuse(255),
            Constraint::Stack,
            Constraint::MemOk,
            Constraint::Any,
            Constraint::Within(RegSetId::from_u32(65_535)),
        ];
        for constraint in constraints {
            for kind in [Kind::Use, Kind::Def] {
                for pos in [Pos::Early, Pos::Late] {
                    let op = Operand::new(v, kind, pos, constraint).with_rmw();
                    assert_eq!(
                        (op.vreg(), op.kind(), op.pos(), op.constraint(), op.is_rmw()),
                        (v, kind, pos, constraint, true)
                    );
                }
            }
        }
    }
}
