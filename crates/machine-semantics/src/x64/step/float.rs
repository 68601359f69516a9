//! Floats. The control register has its initial value: results are rounded to nearest, exceptions are masked, and
//! denormal numbers are kept.

use super::super::vector::{FloatBinary, Floats};
use super::super::{CF, OF, PF, SF, ZF};
use super::Step;
use super::vector::with_lane;
use crate::flag::{Flag, Property, Source};
use crate::world::World;
use kingpost_smt::{Bits, FloatOp, Relation, Term, Terms};

impl<W: World> Step<'_, W> {
    /// Computes lanes of operand 0 from operands 1 and 2. Above a scalar, operand 0 is operand 1.
    fn lanes(&mut self, lanes: Floats, lane: impl Fn(&mut Terms, Term, Term) -> Term) {
        let width = lanes.width.into();
        if !lanes.packed {
            let (a, b) = (self.read_low(1, width), self.read_low(2, width));
            let value = lane(self.terms(), a, b);
            return self.write_low(value);
        }
        let (a, b) = (self.read_vector(1), self.read_vector(2));
        let halves = [0, 1].map(|half| by_lanes(self.world.terms(), width, [a[half], b[half]], &lane));
        self.write_vector(0, halves);
    }

    pub(super) fn float_binary(&mut self, op: FloatBinary, lanes: Floats) {
        self.lanes(lanes, |terms, a, b| {
            let op = match op {
                FloatBinary::Add => FloatOp::Add,
                FloatBinary::Mul => FloatOp::Mul,
                FloatBinary::Sub => FloatOp::Sub,
                FloatBinary::Div => FloatOp::Div,
                // The second operand is the result if both are zeros, or one is a NaN.
                FloatBinary::Min => return choose(terms, Relation::Less, a, b),
                FloatBinary::Max => return choose(terms, Relation::Greater, a, b),
            };
            terms.performed(op, &[a, b], terms.width(a))
        });
    }

    /// Computes lanes of operand 0 from the last vector: operand 1 if packed, else operand 2.
    fn lanes_of_one(&mut self, lanes: Floats, op: FloatOp) {
        let lane = |terms: &mut Terms, _, x| terms.float(op, &[x], terms.width(x));
        if !lanes.packed {
            return self.lanes(lanes, lane);
        }
        let source = self.read_vector(1);
        let halves = source.map(|half| by_lanes(self.world.terms(), lanes.width.into(), [half; 2], &lane));
        self.write_vector(0, halves);
    }

    pub(super) fn sqrt(&mut self, lanes: Floats) {
        self.lanes_of_one(lanes, FloatOp::Sqrt);
    }

    /// Rounds to an integer, in the mode of bits 0 and 1 of the immediate.
    pub(super) fn round(&mut self, lanes: Floats) {
        let op = match self.selector() & 3 {
            0 => FloatOp::Nearest,
            1 => FloatOp::Floor,
            2 => FloatOp::Ceil,
            _ => FloatOp::Trunc,
        };
        self.lanes_of_one(lanes, op);
    }

    /// Compares into masks (volume 2, "CMPPD", table 3-1). Predicates from 16 on differ in exceptions, which are masked.
    pub(super) fn compare_floats(&mut self, lanes: Floats) {
        use Relation::{Equal, Greater, Less, Unordered};
        let (relations, is_complement): (&[Relation], bool) = match self.selector() & 15 {
            0 => (&[Equal], false),
            1 => (&[Less], false),
            2 => (&[Less, Equal], false),
            3 => (&[Unordered], false),
            4 => (&[Unordered, Less, Greater], false),
            5 => (&[Unordered, Greater, Equal], false),
            6 => (&[Unordered, Greater], false),
            7 => (&[Unordered], true),
            8 => (&[Unordered, Equal], false),
            9 => (&[Unordered, Less], false),
            10 => (&[Unordered, Less, Equal], false),
            11 => (&[], false),
            12 => (&[Less, Greater], false),
            13 => (&[Greater, Equal], false),
            14 => (&[Greater], false),
            _ => (&[], true),
        };
        self.lanes(lanes, |terms, a, b| {
            let width = terms.width(a);
            let (ones, zeros) = (terms.constant(Bits::ones(width)), terms.number(width, 0));
            let holds = terms.any_relation([a, b], relations);
            if is_complement { terms.ite(holds, zeros, ones) } else { terms.ite(holds, ones, zeros) }
        });
    }

    /// Multiplies two operands and adds the third. Operand 0 is the first one, and holds the bits above a scalar.
    pub(super) fn fma(&mut self, order: u8, [negates_product, negates_addend]: [bool; 2], lanes: Floats) {
        let width = u32::from(lanes.width);
        let fma = |terms: &mut Terms, operands: [Term; 3]| {
            let [x, y, z] = match order {
                132 => [operands[0], operands[2], operands[1]],
                213 => [operands[1], operands[0], operands[2]],
                _ => [operands[1], operands[2], operands[0]],
            };
            let x = if negates_product { negated(terms, x) } else { x };
            let z = if negates_addend { negated(terms, z) } else { z };
            terms.performed(FloatOp::Fma, &[x, y, z], width)
        };
        let operands = if lanes.packed {
            [0, 1, 2].map(|number| self.read_vector(number))
        } else {
            let [a, b] = [0, 1].map(|number| self.read_vector(number));
            let c = self.read_low(2, width);
            let c = self.terms().zero_extend(c, 64);
            [a, b, [c, c]]
        };
        let [mut low, mut high] = operands[0];
        let count = if lanes.packed { 128 / width } else { 1 };
        for lane in 0..count {
            let (half, at) = ((lane * width / 64) as usize, lane * width % 64);
            let terms = self.world.terms();
            let lanes = operands.map(|operand| terms.extract(operand[half], at, width));
            let value = fma(terms, lanes);
            let target = if half == 0 { &mut low } else { &mut high };
            *target = with_lane(terms, *target, at, value);
        }
        self.write_vector(0, [low, high]);
    }

    /// Sets carry, zero and parity flags from a comparison, and clears the others.
    pub(super) fn ucomi(&mut self, width: u32) {
        let (a, b) = (self.read_low(0, width), self.read_low(1, width));
        let source = Source::Floats(a, b);
        self.state.flags[CF] = Flag::Of(source, Property::Carry);
        self.state.flags[ZF] = Flag::Of(source, Property::Zero);
        self.state.flags[PF] = Flag::Of(source, Property::Parity);
        self.clear_flags([SF, OF]);
    }

    pub(super) fn float_of_integer(&mut self, width: u32) {
        let integer = self.read(2);
        let value = self.terms().float(FloatOp::FromSigned, &[integer], width);
        self.write_low(value);
    }

    /// Truncates to an integer. A NaN and a number out of range give the least integer.
    pub(super) fn integer_of_float(&mut self, width: u32) {
        let (x, size) = (self.read_low(1, width), self.size());
        let terms = self.world.terms();
        let value = truncated(terms, x, size);
        self.write(0, value);
    }

    pub(super) fn convert(&mut self, width: u32) {
        let source = self.read_low(2, width);
        let value = self.terms().float(FloatOp::Convert, &[source], 96 - width);
        self.write_low(value);
    }
}

/// Returns a float truncated to an integer of `size` bits; the least integer if there is none.
pub(super) fn truncated(terms: &mut Terms, x: Term, size: u32) -> Term {
    let width = terms.width(x);
    let truncated = terms.float(FloatOp::Trunc, &[x], width);
    let limit = power_of_two(terms, width, size - 1);
    let least = negated(terms, limit);
    let below = terms.any_relation([truncated, limit], &[Relation::Less]);
    let above = terms.any_relation([truncated, least], &[Relation::Greater, Relation::Equal]);
    let within = terms.and(below, above);
    let integer = terms.float(FloatOp::ToSigned, &[x], size);
    let none = terms.constant(Bits::sign_bit(size));
    terms.ite(within, integer, none)
}

/// Returns 2^exponent as a float.
fn power_of_two(terms: &mut Terms, width: u32, exponent: u32) -> Term {
    let (digits, bias) = if width == 32 { (23, 127) } else { (52, 1023) };
    terms.number(width, u128::from(exponent + bias) << digits)
}

fn negated(terms: &mut Terms, x: Term) -> Term {
    let sign = terms.constant(Bits::sign_bit(terms.width(x)));
    terms.bit_xor(x, sign)
}

/// Returns `a` if the relation holds, else `b`.
fn choose(terms: &mut Terms, relation: Relation, a: Term, b: Term) -> Term {
    let holds = terms.any_relation([a, b], &[relation]);
    terms.ite(holds, a, b)
}

/// Returns half a vector whose lanes are computed from the lanes of two halves.
fn by_lanes(terms: &mut Terms, width: u32, [a, b]: [Term; 2], lane: &impl Fn(&mut Terms, Term, Term) -> Term) -> Term {
    let mut result = None;
    for at in (0..64).step_by(width as usize) {
        let (a, b) = (terms.extract(a, at, width), terms.extract(b, at, width));
        let value = lane(terms, a, b);
        result = Some(result.map_or(value, |low| terms.concat(value, low)));
    }
    result.unwrap_or(a)
}
