//! Reads and writes of registers and flags.

use super::Reg;
use crate::{At, State, World};
use kingpost_smt::{Bits, Term, Terms};

/// The parts that the execution of an instruction reads and changes.
pub(super) struct Machine<'m, W> {
    pub(super) world: &'m mut W,
    pub(super) state: &'m mut State,
    pub(super) at: At,
}

/// Returns the width of an operand in bits.
pub(super) fn width(wide: bool) -> u32 {
    if wide { 64 } else { 32 }
}

impl<W: World> Machine<'_, W> {
    pub(super) fn terms(&mut self) -> &mut Terms {
        self.world.terms()
    }

    /// Returns the constant `value` modulo 2^`width`.
    pub(super) fn number(&mut self, width: u32, value: u64) -> Term {
        self.terms().number(width, value.into())
    }

    /// Returns the low `width` bits of a register.
    pub(super) fn read(&mut self, reg: Reg, width: u32) -> Term {
        match self.state.general.get(usize::from(reg.0)) {
            Some(&whole) => self.terms().extract(whole, 0, width),
            None => self.number(width, 0),
        }
    }

    /// Writes a register, with zeros above the value.
    pub(super) fn write(&mut self, reg: Reg, value: Term) {
        if usize::from(reg.0) < self.state.general.len() {
            let whole = self.terms().zero_extend(value, 64);
            self.state.general[usize::from(reg.0)] = whole;
        }
    }

    /// Returns a number relative to the beginning of the function as an address.
    pub(super) fn relative(&mut self, offset: i64) -> Term {
        let base = self.at.base;
        let offset = self.terms().constant(Bits::signed_new(64, offset.into()));
        self.terms().add(base, offset)
    }

    /// Returns the offset of the instruction from the beginning of the function plus `distance`, in bytes.
    pub(super) fn offset(&self, distance: i64) -> i64 {
        (self.at.offset as i64).wrapping_add(distance)
    }

    /// Returns the low 12 bits of an address as 64 bits.
    pub(super) fn page_offset(&mut self, address: Term) -> Term {
        let low = self.terms().extract(address, 0, 12);
        self.terms().zero_extend(low, 64)
    }

    /// Returns the low `width` bits of a vector register.
    pub(super) fn read_vector(&mut self, number: u8, width: u32) -> Term {
        let [low, high] = self.state.vector[usize::from(number)];
        match width {
            0..=64 => self.terms().extract(low, 0, width),
            _ => self.terms().concat(high, low),
        }
    }

    /// Writes a vector register, with zeros above the value.
    pub(super) fn write_vector(&mut self, number: u8, value: Term) {
        let terms = self.world.terms();
        let halves = match terms.width(value) {
            0..=64 => [terms.zero_extend(value, 64), terms.number(64, 0)],
            _ => [terms.extract(value, 0, 64), terms.extract(value, 64, 64)],
        };
        self.state.vector[usize::from(number)] = halves;
    }
}
