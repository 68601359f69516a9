//! Shifts and rotations.

use super::super::kinds::Shift;
use super::super::{CF, OF, PF, SF, ZF};
use super::Step;
use super::operands::Place;
use crate::flag::{Flag, Property, Source, differ};
use crate::world::World;
use kingpost_smt::{Bits, Sort, Term, Terms};

/// Flags of a shift whose count is not zero.
struct ShiftFlags {
    /// Operation that gives the carry flag.
    carry: Source,
    /// Overflow flag of a count of 1. It is left open for larger counts.
    overflow: Flag,
    /// Result, if it sets flags.
    result: Option<Term>,
}

impl<W: World> Step<'_, W> {
    /// Returns the count in an operand: modulo 64 for 64 bits, else modulo 32. It has the size of the operation.
    fn count(&mut self, number: usize) -> Term {
        let size = self.size();
        let most = if size == 64 { 63 } else { 31 };
        let (count, mask) = (self.read(number), self.constant(most, size));
        self.terms().bit_and(count, mask)
    }

    /// Returns place and content of operand 0.
    fn target(&mut self) -> (Place, Term) {
        let size = self.size();
        let place = self.place(self.operand(0), size);
        (place, self.load(place, size))
    }

    pub(super) fn shift(&mut self, shift: Shift) {
        let (place, old) = self.target();
        let count = self.count(1);
        let new = shifted(self.terms(), shift, old, count);
        self.store(place, new);
        let (carry, result) = match shift {
            Shift::Rol => (Source::RotationLeft(new), None),
            Shift::Ror => (Source::RotationRight(new), None),
            Shift::Shl => (Source::ShiftLeft(old, count), Some(new)),
            Shift::Shr => (Source::ShiftRight(old, count), Some(new)),
            Shift::Sar => (Source::SignedShiftRight(old, count), Some(new)),
        };
        self.set_shift_flags(count, ShiftFlags { carry, overflow: Flag::Of(carry, Property::Overflow), result });
    }

    /// Shifts or rotates without a change of flags. The count is modulo the size.
    pub(super) fn shiftx(&mut self, shift: Shift) {
        let (old, count) = (self.read(1), self.count(2));
        let new = shifted(self.terms(), shift, old, count);
        self.write(0, new);
    }

    /// Shifts operand 0, and fills it with bits of operand 1.
    pub(super) fn double_shift(&mut self, is_left: bool) {
        let size = self.size();
        let (place, old) = self.target();
        let (filler, count) = (self.read(1), self.count(2));
        let terms = self.world.terms();
        let width = terms.number(size, size.into());
        let rest = terms.sub(width, count);
        let (kept, filled, carry) = if is_left {
            (terms.shl(old, count), terms.lshr(filler, rest), Source::ShiftLeft(old, count))
        } else {
            (terms.lshr(old, count), terms.shl(filler, rest), Source::ShiftRight(old, count))
        };
        let new = terms.bit_or(kept, filled);
        let overflow = Flag::Value(differ(terms, (new, size - 1), (old, size - 1)));
        self.store(place, new);
        self.set_shift_flags(count, ShiftFlags { carry, overflow, result: Some(new) });
    }

    /// Sets the flags of a shift. A count of zero leaves them alone.
    fn set_shift_flags(&mut self, count: Term, flags: ShiftFlags) {
        match self.terms().bits(count) {
            Some(count) if count.is_zero() => {}
            Some(count) => self.set_flags_of_count(count, flags),
            None => self.set_flags_of_any_count(count, flags),
        }
    }

    /// Sets the flags for a count that is known, and not zero.
    fn set_flags_of_count(&mut self, count: Bits, flags: ShiftFlags) {
        let is_open = has_open_carry(flags.carry, self.size()) && count.unsigned() >= self.size().into();
        self.state.flags[CF] = if is_open { Flag::Unspecified } else { Flag::Of(flags.carry, Property::Carry) };
        self.state.flags[OF] = if count.unsigned() == 1 { flags.overflow } else { Flag::Unspecified };
        if let Some(result) = flags.result {
            self.set_result_flags(Source::Result(result));
        }
    }

    fn set_flags_of_any_count(&mut self, count: Term, flags: ShiftFlags) {
        let size = self.size();
        let terms = self.world.terms();
        let [zero, one, width] = [0, 1, size].map(|number| terms.number(size, number.into()));
        let (none, once, is_small) = (terms.eq(count, zero), terms.eq(count, one), terms.ult(count, width));
        let before = self.state.flags;
        let carry = flags.carry.property(terms, Property::Carry);
        let carry = if has_open_carry(flags.carry, size) { self.if_defined(is_small, carry) } else { carry };
        let overflow = flags.overflow.value(self.world);
        let overflow = self.if_defined(once, overflow);
        (self.state.flags[CF], self.state.flags[OF]) = (Flag::Value(carry), Flag::Value(overflow));
        if let Some(result) = flags.result {
            self.set_result_flags(Source::Result(result));
        }
        self.keep_flags_if(none, before);
    }

    /// Returns a boolean where it is defined, else an unspecified one.
    fn if_defined(&mut self, defined: Term, value: Term) -> Term {
        let always = self.terms().bool(true);
        if defined == always {
            return value;
        }
        let open = self.world.unspecified(Sort::Bool);
        self.terms().ite(defined, value, open)
    }

    /// Restores the flags if a condition holds. A flag that was open stays open, which allows
    /// more than the manual does.
    fn keep_flags_if(&mut self, condition: Term, before: [Flag; 6]) {
        for number in [CF, PF, ZF, SF, OF] {
            let (old, new) = (before[number], self.state.flags[number]);
            if old == new {
                continue;
            }
            self.state.flags[number] = match old {
                Flag::Unspecified => old,
                _ => {
                    let (old, new) = (old.value(self.world), new.value(self.world));
                    Flag::Value(self.world.terms().ite(condition, old, new))
                }
            };
        }
    }
}

/// Returns `true` if the carry is open for counts from the size on, which are possible for 8 and 16 bits.
fn has_open_carry(source: Source, size: u32) -> bool {
    size < 32 && matches!(source, Source::ShiftLeft(..) | Source::ShiftRight(..))
}

fn shifted(terms: &mut Terms, shift: Shift, value: Term, count: Term) -> Term {
    match shift {
        Shift::Rol => terms.rotate_left(value, count),
        Shift::Ror => {
            let back = terms.neg(count);
            terms.rotate_left(value, back)
        }
        Shift::Shl => terms.shl(value, count),
        Shift::Shr => terms.lshr(value, count),
        Shift::Sar => terms.ashr(value, count),
    }
}
