//! Operations on all lanes of vectors: integers, shifts, conversions.

use super::super::instruction::Operand;
use super::super::kinds::Shift;
use super::super::vector::{LaneConversion, LaneOp};
use super::Step;
use super::float::truncated;
use super::vector::{lane, of_lanes};
use crate::world::World;
use kingpost_smt::{Bits, FloatOp, Term, Terms};

/// Most lanes of a vector.
const MOST_LANES: usize = 16;

impl<W: World> Step<'_, W> {
    /// Writes a vector whose lane `n` is computed from its number.
    pub(super) fn write_lanes(&mut self, width: u32, mut lane: impl FnMut(&mut Terms, u32) -> Term) {
        let count = (128 / width) as usize;
        let terms = self.world.terms();
        let mut lanes = [None; MOST_LANES];
        for (number, place) in (0..).zip(&mut lanes[..count]) {
            *place = Some(lane(terms, number));
        }
        let halves = of_lanes(terms, &lanes[..count]);
        self.write_vector(0, halves);
    }

    pub(super) fn lane_operation(&mut self, op: LaneOp, width: u32) {
        let (a, b) = (self.read_vector(1), self.read_vector(2));
        self.write_lanes(width, |terms, number| {
            let (a, b) = (lane(terms, a, width, number), lane(terms, b, width, number));
            apply(terms, op, a, b)
        });
    }

    pub(super) fn abs(&mut self, width: u32) {
        let source = self.read_vector(1);
        self.write_lanes(width, |terms, number| {
            let x = lane(terms, source, width, number);
            let (zero, minus) = (terms.number(width, 0), terms.neg(x));
            let negative = terms.slt(x, zero);
            terms.ite(negative, minus, x)
        });
    }

    /// Shifts all lanes. Counts from the width on shift all bits out.
    pub(super) fn shift_lanes(&mut self, shift: Shift, width: u32) {
        let source = self.read_vector(1);
        let count = match self.operand(2) {
            Operand::Immediate(count) => self.constant((count & 0xff).into(), 64),
            _ => self.read_vector(2)[0],
        };
        let terms = self.world.terms();
        let (limit, most) = (terms.number(64, width.into()), terms.number(width, u128::from(width - 1)));
        let fits = terms.ult(count, limit);
        let amount = terms.extract(count, 0, width);
        self.write_lanes(width, |terms, number| {
            let x = lane(terms, source, width, number);
            let (shifted, otherwise) = match shift {
                Shift::Shl => (terms.shl(x, amount), terms.number(width, 0)),
                Shift::Shr => (terms.lshr(x, amount), terms.number(width, 0)),
                _ => (terms.ashr(x, amount), terms.ashr(x, most)),
            };
            terms.ite(fits, shifted, otherwise)
        });
    }

    pub(super) fn convert_lanes(&mut self, conversion: LaneConversion) {
        let (width, operation) = match conversion {
            LaneConversion::IntegersToSingles => (32, FloatOp::FromSigned),
            LaneConversion::IntegersToDoubles => (64, FloatOp::FromSigned),
            LaneConversion::SinglesToIntegers | LaneConversion::DoublesToIntegers => (32, FloatOp::ToSigned),
            LaneConversion::SinglesToDoubles => (64, FloatOp::Convert),
            LaneConversion::DoublesToSingles => (32, FloatOp::Convert),
        };
        let from = match conversion {
            LaneConversion::DoublesToIntegers | LaneConversion::DoublesToSingles => 64,
            _ => 32,
        };
        let source = if from < width { self.read_half(1) } else { self.read_vector(1) };
        self.write_lanes(width, |terms, number| {
            if number >= 128 / from {
                return terms.number(width, 0);
            }
            let x = lane(terms, source, from, number);
            match operation {
                FloatOp::ToSigned => truncated(terms, x, width),
                _ => terms.float(operation, &[x], width),
            }
        });
    }
}

fn apply(terms: &mut Terms, op: LaneOp, a: Term, b: Term) -> Term {
    let width = terms.width(a);
    match op {
        LaneOp::Add => terms.add(a, b),
        LaneOp::Sub => terms.sub(a, b),
        LaneOp::AddSigned => saturated(terms, true, Terms::add, a, b),
        LaneOp::SubSigned => saturated(terms, true, Terms::sub, a, b),
        LaneOp::AddUnsigned => saturated(terms, false, Terms::add, a, b),
        LaneOp::SubUnsigned => saturated(terms, false, Terms::sub, a, b),
        LaneOp::Average => {
            let (a, b) = (terms.zero_extend(a, width + 1), terms.zero_extend(b, width + 1));
            let (sum, one) = (terms.add(a, b), terms.number(width + 1, 1));
            let rounded = terms.add(sum, one);
            terms.extract(rounded, 1, width)
        }
        LaneOp::MinSigned => first_if(terms, Terms::slt, [a, b], [a, b]),
        LaneOp::MaxSigned => first_if(terms, Terms::slt, [a, b], [b, a]),
        LaneOp::MinUnsigned => first_if(terms, Terms::ult, [a, b], [a, b]),
        LaneOp::MaxUnsigned => first_if(terms, Terms::ult, [a, b], [b, a]),
        LaneOp::MulLow => terms.mul(a, b),
        LaneOp::MulHighSigned => product_bits(terms, Terms::sign_extend, [a, b], width, width),
        LaneOp::MulHighUnsigned => product_bits(terms, Terms::zero_extend, [a, b], width, width),
        LaneOp::MulRounded => {
            let shifted = product_bits(terms, Terms::sign_extend, [a, b], width - 2, width + 2);
            let one = terms.number(width + 2, 1);
            let rounded = terms.add(shifted, one);
            terms.extract(rounded, 1, width)
        }
        LaneOp::MulWideSigned => product_of_parts(terms, [Terms::sign_extend; 2], [a, b], 0, width / 2),
        LaneOp::MulWideUnsigned => product_of_parts(terms, [Terms::zero_extend; 2], [a, b], 0, width / 2),
        LaneOp::MulAdd => {
            let half = width / 2;
            let [low, high] = [0, half].map(|at| product_of_parts(terms, [Terms::sign_extend; 2], [a, b], at, half));
            terms.add(low, high)
        }
        LaneOp::MulAddBytes => {
            let extend = [Terms::zero_extend, Terms::sign_extend];
            let [low, high] = [0, 8].map(|at| product_of_parts(terms, extend, [a, b], at, 8));
            saturated(terms, true, Terms::add, low, high)
        }
        LaneOp::SumDifferences => sum_of_differences(terms, a, b),
        LaneOp::Equal => {
            let holds = terms.eq(a, b);
            mask(terms, holds, width)
        }
        LaneOp::Greater => {
            let holds = terms.slt(b, a);
            mask(terms, holds, width)
        }
    }
}

type Extend = fn(&mut Terms, Term, u32) -> Term;
type Binary = fn(&mut Terms, Term, Term) -> Term;

fn mask(terms: &mut Terms, holds: Term, width: u32) -> Term {
    let (ones, zeros) = (terms.constant(Bits::ones(width)), terms.number(width, 0));
    terms.ite(holds, ones, zeros)
}

/// Returns the first of two results if a comparison of the operands holds, else the second.
fn first_if(terms: &mut Terms, compare: Binary, [a, b]: [Term; 2], [first, second]: [Term; 2]) -> Term {
    let holds = compare(terms, a, b);
    terms.ite(holds, first, second)
}

/// Returns the sum or difference that is nearest to the exact one, computed with two more bits.
fn saturated(terms: &mut Terms, signed: bool, operation: Binary, a: Term, b: Term) -> Term {
    let width = terms.width(a);
    let extend = if signed { Terms::sign_extend } else { Terms::zero_extend };
    let (a, b) = (extend(terms, a, width + 2), extend(terms, b, width + 2));
    let exact = operation(terms, a, b);
    clamped(terms, signed, exact, width)
}

/// Returns the number of `width` bits that is nearest to a wider signed number.
pub(super) fn clamped(terms: &mut Terms, signed: bool, exact: Term, width: u32) -> Term {
    let wide = terms.width(exact);
    let (least, most) =
        if signed { (-(1_i128 << (width - 1)), (1_i128 << (width - 1)) - 1) } else { (0, (1_i128 << width) - 1) };
    let [least, most] = [least, most].map(|limit| terms.constant(Bits::signed_new(wide, limit)));
    let too_small = terms.slt(exact, least);
    let above = terms.ite(too_small, least, exact);
    let fits = terms.slt(above, most);
    let within = terms.ite(fits, above, most);
    terms.extract(within, 0, width)
}

/// Returns bits of the product of double width.
fn product_bits(terms: &mut Terms, extend: Extend, [a, b]: [Term; 2], at: u32, count: u32) -> Term {
    let width = terms.width(a);
    let (a, b) = (extend(terms, a, 2 * width), extend(terms, b, 2 * width));
    let product = terms.mul(a, b);
    terms.extract(product, at, count)
}

/// Returns the product of parts of `width` bits, of double width.
fn product_of_parts(terms: &mut Terms, extend: [Extend; 2], operands: [Term; 2], at: u32, width: u32) -> Term {
    let [a, b] = [0, 1].map(|number| {
        let part = terms.extract(operands[number], at, width);
        extend[number](terms, part, 2 * width)
    });
    terms.mul(a, b)
}

/// Returns the sum of the absolute differences of bytes.
fn sum_of_differences(terms: &mut Terms, a: Term, b: Term) -> Term {
    let width = terms.width(a);
    let mut sum = terms.number(width, 0);
    for at in (0..width).step_by(8) {
        let (a, b) = (terms.extract(a, at, 8), terms.extract(b, at, 8));
        let (less, positive, negative) = (terms.ult(a, b), terms.sub(a, b), terms.sub(b, a));
        let difference = terms.ite(less, negative, positive);
        let difference = terms.zero_extend(difference, width);
        sum = terms.add(sum, difference);
    }
    sum
}
