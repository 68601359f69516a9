//! Conditions on the flags of a state.

use super::flags::{Nzcv, Positive, Source};
use super::machine::Machine;
use super::numbers::{C, N, V, Z};
use crate::World;
use crate::flag::Flag;
use kingpost_smt::Term;

/// A condition on the flags (C1.2.4, "Condition code").
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Condition(pub(super) u8);

impl Condition {
    fn positive(self) -> Positive {
        match self.0 >> 1 {
            0b000 => Positive::Equal,
            0b001 => Positive::Carry,
            0b010 => Positive::Negative,
            0b011 => Positive::Overflow,
            0b100 => Positive::Higher,
            0b101 => Positive::GreaterOrEqual,
            0b110 => Positive::Greater,
            _ => Positive::Always,
        }
    }

    /// Returns `true` if the condition is the inverted one. "Always" has two numbers.
    fn is_inverted(self) -> bool {
        self.0 & 1 == 1 && self.0 != 0b1111
    }
}

impl<W: World> Machine<'_, W> {
    pub(super) fn set_flags(&mut self, source: Source) {
        self.set_nzcv(Nzcv { source, unless: None });
    }

    /// Sets the flags of a comparison if the condition holds, else to the four bits `otherwise`, N first.
    pub(super) fn set_flags_if(&mut self, condition: Condition, source: Source, otherwise: u8) {
        let holds = self.holds(condition);
        self.set_nzcv(Nzcv { source, unless: Some((holds, otherwise)) });
    }

    fn set_nzcv(&mut self, nzcv: Nzcv) {
        for number in [N, Z, C, V] {
            self.state.flags[number] = Flag::A64(nzcv, number as u8);
        }
    }

    /// Returns a term that holds if the condition does.
    pub(super) fn holds(&mut self, condition: Condition) -> Term {
        let positive = condition.positive();
        if let Some(nzcv) = self.operation() {
            return nzcv.holds(self.terms(), positive, condition.is_inverted());
        }
        let flags = [N, Z, C, V].map(|number| self.state.flag(self.world, number));
        let holds = positive.formula(self.terms(), flags);
        if condition.is_inverted() { self.terms().not(holds) } else { holds }
    }

    /// Returns the operation that set all four flags, if there is one.
    fn operation(&self) -> Option<Nzcv> {
        let Flag::A64(nzcv, _) = self.state.flags[N] else { return None };
        let is_of_operation = |number: usize| self.state.flags[number] == Flag::A64(nzcv, number as u8);
        [N, Z, C, V].into_iter().all(is_of_operation).then_some(nzcv)
    }
}
