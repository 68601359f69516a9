//! What lowering functions work on, and how rows are found by operand width.

use crate::isa::A64;
use crate::rows;
use kingpost_ir::Value;
use kingpost_mach::{Lower, RowId};
use std::ops::{Deref, DerefMut};

/// A function being lowered for an instruction set with settings.
pub(crate) struct Cx<'a, 'f> {
    pub(crate) lower: &'a mut Lower<'f>,
    pub(crate) isa: &'a A64,
}

impl<'f> Deref for Cx<'_, 'f> {
    type Target = Lower<'f>;
    fn deref(&self) -> &Lower<'f> {
        self.lower
    }
}

impl<'f> DerefMut for Cx<'_, 'f> {
    fn deref_mut(&mut self) -> &mut Lower<'f> {
        self.lower
    }
}

/// One row for 32 bits and one for 64.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Pair(pub(super) RowId, pub(super) RowId);

impl Pair {
    pub(super) fn of(self, bits: u32) -> RowId {
        if bits == 64 { self.1 } else { self.0 }
    }
}

/// A two-operand integer operation in both widths, by what its second operand is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Alu {
    /// A register, shifted by a constant if the immediate says so.
    pub(super) rr: Pair,
    /// An immediate.
    pub(super) ri: Pair,
    /// How immediates stand there.
    pub(super) immediates: Immediates,
}

/// What the immediate of an operation is, and what else its second operand can be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Immediates {
    /// A number; negated, the other row is given it. An extended register has a row of its own.
    Number {
        /// The opposite operation.
        negated: Pair,
        /// With an extended register, shifted left by up to 4.
        rx: Pair,
    },
    /// A bit pattern. With the complement of a register, the row is this one, if there is one.
    Pattern(Option<Pair>),
}

macro_rules! pair {
    ($narrow:ident $wide:ident) => {
        Pair(rows::$narrow, rows::$wide)
    };
}

impl Alu {
    pub(super) const ADD: Alu = Alu::numbers(
        pair!(ADD32_RRR ADD64_RRR),
        pair!(ADD32_RRI ADD64_RRI),
        pair!(SUB32_RRI SUB64_RRI),
        pair!(ADD32_RRX ADD64_RRX),
    );
    pub(super) const SUB: Alu = Alu::numbers(
        pair!(SUB32_RRR SUB64_RRR),
        pair!(SUB32_RRI SUB64_RRI),
        pair!(ADD32_RRI ADD64_RRI),
        pair!(SUB32_RRX SUB64_RRX),
    );
    pub(super) const ADDS: Alu = Alu::numbers(
        pair!(ADDS32_RRR ADDS64_RRR),
        pair!(ADDS32_RRI ADDS64_RRI),
        pair!(SUBS32_RRI SUBS64_RRI),
        pair!(ADDS32_RRX ADDS64_RRX),
    );
    pub(super) const SUBS: Alu = Alu::numbers(
        pair!(SUBS32_RRR SUBS64_RRR),
        pair!(SUBS32_RRI SUBS64_RRI),
        pair!(ADDS32_RRI ADDS64_RRI),
        pair!(SUBS32_RRX SUBS64_RRX),
    );
    pub(super) const CMP: Alu = Alu::numbers(
        pair!(CMP32_RR CMP64_RR),
        pair!(CMP32_RI CMP64_RI),
        pair!(CMN32_RI CMN64_RI),
        pair!(CMP32_RX CMP64_RX),
    );
    pub(super) const AND: Alu =
        Alu::patterns(pair!(AND32_RRR AND64_RRR), pair!(AND32_RRI AND64_RRI), Some(pair!(BIC32_RRR BIC64_RRR)));
    pub(super) const OR: Alu =
        Alu::patterns(pair!(ORR32_RRR ORR64_RRR), pair!(ORR32_RRI ORR64_RRI), Some(pair!(ORN32_RRR ORN64_RRR)));
    pub(super) const XOR: Alu =
        Alu::patterns(pair!(EOR32_RRR EOR64_RRR), pair!(EOR32_RRI EOR64_RRI), Some(pair!(EON32_RRR EON64_RRR)));
    pub(super) const TST: Alu = Alu::patterns(pair!(TST32_RR TST64_RR), pair!(TST32_RI TST64_RI), None);

    const fn numbers(rr: Pair, ri: Pair, negated: Pair, rx: Pair) -> Alu {
        Alu { rr, ri, immediates: Immediates::Number { negated, rx } }
    }

    const fn patterns(rr: Pair, ri: Pair, complement: Option<Pair>) -> Alu {
        Alu { rr, ri, immediates: Immediates::Pattern(complement) }
    }

    pub(super) fn is_bitwise(self) -> bool {
        matches!(self.immediates, Immediates::Pattern(_))
    }

    pub(super) fn commutes(self) -> bool {
        self != Alu::SUB && self != Alu::SUBS && self != Alu::CMP
    }
}

/// A shift or rotation in both widths.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct ShiftRows {
    /// By a register, modulo the width.
    pub(super) rr: Pair,
    /// By a constant.
    pub(super) ri: Pair,
}

impl ShiftRows {
    pub(super) const LSL: ShiftRows = ShiftRows { rr: pair!(LSL32_RRR LSL64_RRR), ri: pair!(LSL32_RRI LSL64_RRI) };
    pub(super) const LSR: ShiftRows = ShiftRows { rr: pair!(LSR32_RRR LSR64_RRR), ri: pair!(LSR32_RRI LSR64_RRI) };
    pub(super) const ASR: ShiftRows = ShiftRows { rr: pair!(ASR32_RRR ASR64_RRR), ri: pair!(ASR32_RRI ASR64_RRI) };
    pub(super) const ROR: ShiftRows = ShiftRows { rr: pair!(ROR32_RRR ROR64_RRR), ri: pair!(ROR32_RRI ROR64_RRI) };
}

impl Cx<'_, '_> {
    /// Does the register of this integer have zeros above the value's own bits?
    pub(super) fn has_zeros(&self, value: Value) -> bool {
        super::zero_extends(self.lower, value)
    }
}
