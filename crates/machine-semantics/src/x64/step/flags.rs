//! Flags and conditions.

use super::super::kinds::Condition;
use super::super::{CF, OF, PF, SF, ZF};
use super::Step;
use crate::flag::{Flag, Property, Source};
use crate::world::World;
use kingpost_smt::{Relation, Term};

impl<W: World> Step<'_, W> {
    pub(super) fn flag(&mut self, number: usize) -> Term {
        self.state.flags[number].value(self.world)
    }

    /// Sets all flags from an operation.
    pub(super) fn set_flags(&mut self, source: Source) {
        self.set_result_flags(source);
        self.state.flags[CF] = Flag::Of(source, Property::Carry);
        self.state.flags[OF] = Flag::Of(source, Property::Overflow);
    }

    /// Sets the zero, sign and parity flags from a result.
    pub(super) fn set_result_flags(&mut self, source: Source) {
        self.state.flags[ZF] = Flag::Of(source, Property::Zero);
        self.state.flags[SF] = Flag::Of(source, Property::Sign);
        self.state.flags[PF] = Flag::Of(source, Property::Parity);
    }

    /// Sets all flags from the result of a bitwise operation, which clears carry and overflow.
    pub(super) fn set_logic_flags(&mut self, result: Term) {
        self.set_result_flags(Source::Result(result));
        self.clear_flags([CF, OF]);
    }

    pub(super) fn clear_flags<const N: usize>(&mut self, numbers: [usize; N]) {
        let clear = self.terms().bool(false);
        for number in numbers {
            self.state.flags[number] = Flag::Value(clear);
        }
    }

    /// Leaves flags open, as the manual does.
    pub(super) fn leave_open<const N: usize>(&mut self, numbers: [usize; N]) {
        for number in numbers {
            self.state.flags[number] = Flag::Unspecified;
        }
    }

    /// Returns a condition as a boolean (volume 1, appendix B). Odd conditions are the complements of even ones.
    pub(super) fn condition(&mut self, condition: Condition) -> Term {
        if let Some(holds) = self.relation(condition) {
            return holds;
        }
        let (holds, is_complement) = match condition {
            Condition::O => (self.flag(OF), false),
            Condition::No => (self.flag(OF), true),
            Condition::B => (self.flag(CF), false),
            Condition::Ae => (self.flag(CF), true),
            Condition::E => (self.flag(ZF), false),
            Condition::Ne => (self.flag(ZF), true),
            Condition::Be => (self.below_or_equal(), false),
            Condition::A => (self.below_or_equal(), true),
            Condition::S => (self.flag(SF), false),
            Condition::Ns => (self.flag(SF), true),
            Condition::P => (self.flag(PF), false),
            Condition::Np => (self.flag(PF), true),
            Condition::L => (self.less(), false),
            Condition::Ge => (self.less(), true),
            Condition::Le => (self.less_or_equal(), false),
            Condition::G => (self.less_or_equal(), true),
        };
        if is_complement { self.terms().not(holds) } else { holds }
    }

    /// Returns a condition after a comparison of floats, which is a relation of them.
    fn relation(&mut self, condition: Condition) -> Option<Term> {
        use Relation::{Equal, Greater, Less, Unordered};
        let Flag::Of(source @ Source::Floats(a, b), Property::Carry) = self.state.flags[CF] else { return None };
        if self.state.flags[ZF] != Flag::Of(source, Property::Zero) {
            return None;
        }
        let relations: &[Relation] = match condition {
            Condition::B => &[Unordered, Less],
            Condition::Ae => &[Greater, Equal],
            Condition::E => &[Unordered, Equal],
            Condition::Ne => &[Less, Greater],
            Condition::Be => &[Unordered, Less, Equal],
            Condition::A => &[Greater],
            _ => return None,
        };
        Some(self.terms().any_relation([a, b], relations))
    }

    /// Returns the operands if a difference set the flags. Its conditions are comparisons of the operands.
    fn compared(&self, flags: [(usize, Property); 2]) -> Option<(Term, Term)> {
        let [first, second] = flags.map(|(number, property)| match self.state.flags[number] {
            Flag::Of(Source::Difference(a, b), other) if other == property => Some((a, b)),
            _ => None,
        });
        first.filter(|_| first == second)
    }

    fn below_or_equal(&mut self) -> Term {
        if let Some((a, b)) = self.compared([(CF, Property::Carry), (ZF, Property::Zero)]) {
            return self.terms().ule(a, b);
        }
        let (carry, zero) = (self.flag(CF), self.flag(ZF));
        self.terms().or(carry, zero)
    }

    fn less(&mut self) -> Term {
        if let Some((a, b)) = self.compared([(SF, Property::Sign), (OF, Property::Overflow)]) {
            return self.terms().slt(a, b);
        }
        let (sign, overflow) = (self.flag(SF), self.flag(OF));
        let equal = self.terms().eq(sign, overflow);
        self.terms().not(equal)
    }

    fn less_or_equal(&mut self) -> Term {
        let compared = self.compared([(SF, Property::Sign), (OF, Property::Overflow)]);
        if let Some((a, b)) = compared
            && self.state.flags[ZF] == Flag::Of(Source::Difference(a, b), Property::Zero)
        {
            return self.terms().sle(a, b);
        }
        if let Some(result) = self.tested() {
            let terms = self.world.terms();
            let zero = terms.number(terms.width(result), 0);
            return terms.sle(result, zero);
        }
        let (zero, less) = (self.flag(ZF), self.less());
        self.terms().or(zero, less)
    }

    /// Returns the result of a bitwise operation if the flags are its flags.
    fn tested(&mut self) -> Option<Term> {
        let clear = self.terms().bool(false);
        match (self.state.flags[ZF], self.state.flags[SF], self.state.flags[OF]) {
            (
                Flag::Of(Source::Result(result), Property::Zero),
                Flag::Of(Source::Result(other), Property::Sign),
                Flag::Value(overflow),
            ) if result == other && overflow == clear => Some(result),
            _ => None,
        }
    }

    pub(super) fn set(&mut self, condition: Condition) {
        let holds = self.condition(condition);
        let terms = self.world.terms();
        let (one, zero) = (terms.number(8, 1), terms.number(8, 0));
        let value = terms.ite(holds, one, zero);
        self.write(0, value);
    }

    /// Copies the source if the condition holds. Memory is loaded in both cases, and a register of 32 bits is written
    /// in both cases.
    pub(super) fn cmov(&mut self, condition: Condition) {
        let (source, old) = (self.read(1), self.read(0));
        let holds = self.condition(condition);
        let value = self.terms().ite(holds, source, old);
        self.write(0, value);
    }
}
