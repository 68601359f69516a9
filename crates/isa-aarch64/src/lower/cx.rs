//! Context of lowering functions, and rows by operand width.

use crate::a64::A64;
use crate::rows;
use kingpost_mach::{Family, LowerCtx};
use std::ops::{Deref, DerefMut};

/// A function being lowered for an instruction set with settings.
pub(crate) struct Cx<'a, 'f> {
    pub(crate) lower: &'a mut LowerCtx<'f>,
    pub(crate) isa: &'a A64,
}

impl<'f> Deref for Cx<'_, 'f> {
    type Target = LowerCtx<'f>;
    fn deref(&self) -> &LowerCtx<'f> {
        self.lower
    }
}

impl<'f> DerefMut for Cx<'_, 'f> {
    fn deref_mut(&mut self) -> &mut LowerCtx<'f> {
        self.lower
    }
}

/// Two-operand integer operation in both widths, by the kind of its second operand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Alu {
    /// The second operand is a register, shifted by a constant if the immediate says so.
    pub(super) rr: Family,
    /// The second operand is an immediate.
    pub(super) ri: Family,
    /// Encoding of immediates.
    pub(super) immediates: Immediates,
}

/// Immediates of an operation, and further forms of its second operand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Immediates {
    /// A number. Its negation is the immediate of the opposite operation. An extended register has a row of its own.
    Number {
        /// The opposite operation.
        negated: Family,
        /// The operation with an extended register, shifted left by up to 4.
        rx: Family,
    },
    /// A bit pattern. The payload is the row that complements its second operand, if there is one.
    Pattern(Option<Family>),
}

impl Alu {
    pub(super) const ADD: Alu = Alu::numbers(rows::ADD_RRR, rows::ADD_RRI, rows::SUB_RRI, rows::ADD_RRX);
    pub(super) const SUB: Alu = Alu::numbers(rows::SUB_RRR, rows::SUB_RRI, rows::ADD_RRI, rows::SUB_RRX);
    pub(super) const ADDS: Alu = Alu::numbers(rows::ADDS_RRR, rows::ADDS_RRI, rows::SUBS_RRI, rows::ADDS_RRX);
    pub(super) const SUBS: Alu = Alu::numbers(rows::SUBS_RRR, rows::SUBS_RRI, rows::ADDS_RRI, rows::SUBS_RRX);
    pub(super) const CMP: Alu = Alu::numbers(rows::CMP_RR, rows::CMP_RI, rows::CMN_RI, rows::CMP_RX);
    pub(super) const AND: Alu = Alu::patterns(rows::AND_RRR, rows::AND_RRI, Some(rows::BIC_RRR));
    pub(super) const OR: Alu = Alu::patterns(rows::ORR_RRR, rows::ORR_RRI, Some(rows::ORN_RRR));
    pub(super) const XOR: Alu = Alu::patterns(rows::EOR_RRR, rows::EOR_RRI, Some(rows::EON_RRR));
    pub(super) const TST: Alu = Alu::patterns(rows::TST_RR, rows::TST_RI, None);

    const fn numbers(rr: Family, ri: Family, negated: Family, rx: Family) -> Alu {
        Alu { rr, ri, immediates: Immediates::Number { negated, rx } }
    }

    const fn patterns(rr: Family, ri: Family, complement: Option<Family>) -> Alu {
        Alu { rr, ri, immediates: Immediates::Pattern(complement) }
    }

    pub(super) fn is_bitwise(self) -> bool {
        matches!(self.immediates, Immediates::Pattern(_))
    }

    pub(super) fn commutes(self) -> bool {
        rows::ROWS[usize::from(self.rr.of(64).0)].commutes
    }
}

/// A shift or rotation in both widths.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct ShiftRows {
    /// By a register, modulo the width.
    pub(super) rr: Family,
    /// By a constant.
    pub(super) ri: Family,
}

impl ShiftRows {
    pub(super) const LSL: ShiftRows = ShiftRows { rr: rows::LSL_RRR, ri: rows::LSL_RRI };
    pub(super) const LSR: ShiftRows = ShiftRows { rr: rows::LSR_RRR, ri: rows::LSR_RRI };
    pub(super) const ASR: ShiftRows = ShiftRows { rr: rows::ASR_RRR, ri: rows::ASR_RRI };
    pub(super) const ROR: ShiftRows = ShiftRows { rr: rows::ROR_RRR, ri: rows::ROR_RRI };
}
