//! Addressing modes (C1.3.3, "Load/Store addressing modes").

use super::machine::Machine;
use super::word::Reg;
use crate::World;
use kingpost_smt::{Bits, Term, Terms};

/// An extension of the low part of a register to 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Extend {
    /// Whether the part is sign-extended.
    pub(super) signed: bool,
    /// Width of the part in bits.
    pub(super) bits: u8,
}

impl Extend {
    /// Decodes the field `option`.
    pub(super) fn decode(option: u32) -> Extend {
        Extend { signed: option & 4 != 0, bits: 8 << (option & 3) }
    }

    /// Returns the low part of a 64-bit term, extended and then shifted to the left.
    pub(super) fn apply(self, terms: &mut Terms, x: Term, amount: u8) -> Term {
        let part = terms.extract(x, 0, self.bits.into());
        let whole = super::bits::extended(terms, part, self.signed, 64);
        if amount == 0 {
            return whole;
        }
        let by = terms.number(64, amount.into());
        terms.shl(whole, by)
    }
}

/// The second part of an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Index {
    /// A distance in bytes.
    Distance(i64),
    /// A register, extended and then shifted to the left.
    Register(Reg, Extend, u8),
}

/// An address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Address {
    /// A distance from the instruction, in bytes.
    Literal(i64),
    /// A base and an index.
    Base(Reg, Index),
    /// A base and a distance; the base becomes their sum before the access.
    Before(Reg, i64),
    /// A base, which is increased by a distance after the access.
    After(Reg, i64),
}

impl Address {
    /// Returns the register that the access changes.
    pub(super) fn changed(self) -> Option<Reg> {
        match self {
            Address::Before(n, _) | Address::After(n, _) => Some(n),
            Address::Literal(_) | Address::Base(..) => None,
        }
    }

    /// Returns the address, and the new content of the base if the access changes it.
    pub(super) fn resolve<W: World>(self, machine: &mut Machine<'_, W>) -> (Term, Option<Term>) {
        match self {
            Address::Literal(distance) => {
                (machine.at.symbol.unwrap_or_else(|| machine.relative(machine.offset(distance))), None)
            }
            Address::Base(n, index) => {
                let base = machine.read(n, 64);
                let index = index.value(machine);
                (machine.terms().add(base, index), None)
            }
            Address::Before(n, distance) => {
                let moved = moved(machine, n, distance);
                (moved, Some(moved))
            }
            Address::After(n, distance) => (machine.read(n, 64), Some(moved(machine, n, distance))),
        }
    }
}

fn moved<W: World>(machine: &mut Machine<'_, W>, n: Reg, distance: i64) -> Term {
    let base = machine.read(n, 64);
    let terms = machine.terms();
    let distance = terms.constant(Bits::signed_new(64, distance.into()));
    terms.add(base, distance)
}

impl Index {
    /// Returns the index: the low 12 bits of the symbol, if the distance is relocated.
    fn value<W: World>(self, machine: &mut Machine<'_, W>) -> Term {
        match (self, machine.at.symbol) {
            (Index::Distance(_), Some(symbol)) => machine.page_offset(symbol),
            (Index::Distance(distance), None) => machine.terms().constant(Bits::signed_new(64, distance.into())),
            (Index::Register(m, extend, amount), _) => {
                let m = machine.read(m, 64);
                extend.apply(machine.terms(), m, amount)
            }
        }
    }
}
