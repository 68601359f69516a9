//! Normal forms of comparisons of floats, and of conversions to integers, in terms of code.
//!
//! | spelling | normal form |
//! |---|---|
//! | `trunc(x) < 128.0` | `x < 128.0` |
//! | `trunc(x) >= -128.0` | `x >= -128.99…`, the least number with this property |
//! | `x - 2^63 >= 2^63` | `x >= 2^64` |
//! | `trunc(x)` is a NaN | `x` is a NaN |
//! | `sqrt(x)` is a NaN | `x` is a NaN or less than -0.0 |
//! | a conversion of `if c then x else y` to an integer | `if c` the conversion of `x`, `else` of `y` |
//! | a conversion of `if c then 5 else x` from an integer | `if c` the conversion of 5, `else` of `x` |
//! | the signed conversion of `if x < 0 then (x >> 1) or (x and 1) else x`, with one added to its exponent if `x < 0` | the unsigned conversion of `x` |
//! | a conversion of `x` to a narrow integer | the low bits of its conversion to a signed integer of 64 bits |
//!
//! The last one is a definition where the number is out of range: any integer may be the result there.

use super::float_order::{Relation, stored_digits};
use crate::bits::Bits;
use crate::float::{apply, to_f64};
use crate::float_op::FloatOp;
use crate::linear::Linear;
use crate::term::{Node, Op, Term, Terms};

/// Width of the integers from which narrow ones are taken.
const WIDE: u32 = 64;

/// An operation that never decreases where its operand increases, and whose result is a NaN exactly if its operand is.
#[derive(Clone, Copy, Debug)]
struct Monotone {
    op: FloatOp,
    operand: Term,
    /// The constant that is added or subtracted.
    constant: Option<Bits>,
    /// Width of the result.
    width: u32,
}

impl Monotone {
    /// Returns the result for a constant operand.
    fn of(&self, x: Bits) -> f64 {
        let result = match self.constant {
            Some(constant) => apply(self.op, self.width, &[x, constant]),
            None => apply(self.op, self.width, &[x]),
        };
        to_f64(result)
    }
}

/// Returns the float with a number in the order of the floats of a format. Both zeros have the number 0.
fn numbered(width: u32, number: i128) -> Bits {
    let sign = if number < 0 { Bits::sign_bit(width).unsigned() } else { 0 };
    Bits::new(width, number.unsigned_abs() | sign)
}

impl Terms {
    /// Returns the integer of a conversion of a float in `width` bits as bits of a wider conversion.
    pub(crate) fn narrow_conversion(&mut self, op: FloatOp, x: Term, width: u32) -> Option<Term> {
        if !matches!(op, FloatOp::ToSigned | FloatOp::ToUnsigned) || width >= WIDE {
            return None;
        }
        let wide = self.float(FloatOp::ToSigned, &[x], WIDE);
        Some(self.extract(wide, 0, width))
    }

    /// Returns a conversion of an integer as a choice, if the integer is a choice with a constant, or with a choice of two: constants
    /// of different widths do not show which of them is an extension of the other.
    pub(crate) fn conversion_of_number(&mut self, op: FloatOp, x: Term, width: u32) -> Option<Term> {
        if !matches!(op, FloatOp::FromSigned | FloatOp::FromUnsigned) {
            return None;
        }
        let Node::Ternary(Op::Ite, condition, a, b) = self.node(x) else { return None };
        if !self.is_choice_of_numbers(a) && !self.is_choice_of_numbers(b) {
            return None;
        }
        let [a, b] = [a, b].map(|arm| self.float(op, &[arm], width));
        Some(self.ite(condition, a, b))
    }

    /// Returns `true` if a term is a constant, or a choice of two.
    fn is_choice_of_numbers(&self, term: Term) -> bool {
        match self.node(term) {
            Node::Const(_) => true,
            Node::Ternary(Op::Ite, _, a, b) => self.bits(a).is_some() && self.bits(b).is_some(),
            _ => false,
        }
    }

    /// Returns the unsigned conversion that a sum of bits spells by a signed one: code halves a number of 64 bits that is
    /// negative as a signed one, and adds one to the exponent of the float. The lowest bit stays set if it was, so that
    /// the half is rounded as the whole.
    pub(super) fn doubled_half(&mut self, sum: &Linear) -> Option<Term> {
        let [(first, one), (second, two)] = sum.parts[..] else { return None };
        if !sum.constant.is_zero() {
            return None;
        }
        [(first, one, second, two), (second, two, first, one)].into_iter().find_map(|(half, unit, sign, step)| {
            let Node::Unary(Op::Float(FloatOp::FromSigned), choice) = self.node(half) else { return None };
            let Node::Ternary(Op::Ite, _, _, x) = self.node(choice) else { return None };
            let (from, to) = (self.width(x), self.width(half));
            let adds_to_exponent = unit == Bits::new(to, 1) && step == Bits::new(to, 1 << stored_digits(to));
            if from != WIDE || !matches!(to, 32 | 64) || !adds_to_exponent || self.sign_as_number(x, to) != sign {
                return None;
            }
            (self.half_or_whole(x) == choice).then(|| self.float(FloatOp::FromUnsigned, &[x], to))
        })
    }

    /// Returns the sign bit as a number of `width` bits.
    fn sign_as_number(&mut self, x: Term, width: u32) -> Term {
        let sign = self.extract(x, self.width(x) - 1, 1);
        self.zero_extend(sign, width)
    }

    /// Returns `if x < 0 then (x >> 1) or (x and 1) else x`.
    fn half_or_whole(&mut self, x: Term) -> Term {
        let width = self.width(x);
        let [zero, one] = [0, 1].map(|number| self.number(width, number));
        let (shifted, lowest) = (self.lshr(x, one), self.bit_and(x, one));
        let half = self.bit_or(shifted, lowest);
        let is_negative = self.slt(x, zero);
        self.ite(is_negative, half, x)
    }

    /// Returns a conversion of a choice to an integer as a choice, also if a constant is subtracted from the choice before.
    pub(crate) fn conversion_of_choice(&mut self, op: FloatOp, x: Term, width: u32) -> Option<Term> {
        if !matches!(op, FloatOp::ToSigned | FloatOp::ToUnsigned) {
            return None;
        }
        let (choice, subtrahend) = match self.node(x) {
            Node::Binary(Op::Float(FloatOp::Sub), choice, constant) if self.bits(constant).is_some() => {
                (choice, Some(constant))
            }
            _ => (x, None),
        };
        let Node::Ternary(Op::Ite, condition, a, b) = self.node(choice) else { return None };
        let format = self.width(x);
        let [a, b] = [a, b].map(|arm| {
            let from = match subtrahend {
                Some(subtrahend) => self.float(FloatOp::Sub, &[arm, subtrahend], format),
                None => arm,
            };
            self.float(op, &[from], width)
        });
        Some(self.ite(condition, a, b))
    }

    fn monotone(&self, term: Term) -> Option<Monotone> {
        let width = self.bits_width(term)?;
        let of = |op, operand, constant| Some(Monotone { op, operand, constant, width });
        let is_finite = |bits: Bits| to_f64(bits).is_finite();
        match self.node(term) {
            Node::Unary(
                Op::Float(op @ (FloatOp::Trunc | FloatOp::Floor | FloatOp::Ceil | FloatOp::Nearest | FloatOp::Convert)),
                x,
            ) => of(op, x, None),
            Node::Binary(Op::Float(op @ (FloatOp::Add | FloatOp::Sub)), x, y) => match (self.bits(x), self.bits(y)) {
                (None, Some(y)) if is_finite(y) => of(op, x, Some(y)),
                (Some(x), None) if is_finite(x) && op == FloatOp::Add => of(op, y, Some(x)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the term that is a NaN exactly if a float is, or `false` if the float is never one.
    pub(super) fn source_of_nan(&mut self, x: Term) -> Option<Term> {
        if self.is_converted_integer(x) {
            return Some(self.bool(false));
        }
        if let Node::Unary(Op::Float(FloatOp::Sqrt), operand) = self.node(x) {
            let negative_zero = self.constant(Bits::sign_bit(self.width(operand)));
            let [nan, negative] = [self.is_nan(operand), self.ult(negative_zero, operand)];
            return Some(self.or(nan, negative));
        }
        let operand = self.monotone(x)?.operand;
        Some(self.is_nan(operand))
    }

    /// Returns `true` if a float is a converted integer, or a choice of one or a constant number.
    fn is_converted_integer(&self, x: Term) -> bool {
        let is_converted =
            |x| matches!(self.node(x), Node::Unary(Op::Float(FloatOp::FromSigned | FloatOp::FromUnsigned), _));
        let is_number =
            |x| self.bits(x).is_some_and(|bits| matches!(bits.width(), 16 | 32 | 64) && !to_f64(bits).is_nan());
        match self.node(x) {
            Node::Ternary(Op::Ite, _, a, b) => [a, b].into_iter().all(|arm| is_converted(arm) || is_number(arm)),
            _ => is_converted(x),
        }
    }

    /// Returns a term that holds if a float has one of some relations to a constant number, if the float is the result of a
    /// monotone operation. The term is about the operand.
    pub(super) fn relation_of_operand(&mut self, x: Term, y: Term, relations: &[Relation]) -> Option<Term> {
        let limit = to_f64(self.bits(y)?);
        let monotone = self.monotone(x)?;
        if limit.is_nan() || !matches!(self.width(monotone.operand), 16 | 32 | 64) {
            return None;
        }
        let at_least = self.at_threshold(&monotone, |result| result >= limit);
        let above = self.at_threshold(&monotone, |result| result > limit);
        let nan = self.is_nan(monotone.operand);
        let mut any = self.bool(false);
        for relation in relations {
            let holds = match relation {
                Relation::Unordered => nan,
                Relation::Greater => above,
                Relation::Equal => {
                    let not = self.not(above);
                    self.and(at_least, not)
                }
                Relation::Less => {
                    let either = self.or(at_least, nan);
                    self.not(either)
                }
            };
            any = self.or(any, holds);
        }
        Some(any)
    }

    /// Returns a term that holds if the operand is at least the least number whose result has a property. Results of larger
    /// numbers have it, too.
    fn at_threshold(&mut self, monotone: &Monotone, has: impl Fn(f64) -> bool) -> Term {
        let width = self.width(monotone.operand);
        let infinity = self.infinity(width);
        let most = self.bits(infinity).map_or(0, |bits| bits.signed());
        let holds = |number: i128| has(monotone.of(numbered(width, number)));
        if !holds(most) {
            return self.bool(false);
        }
        let (mut low, mut high) = (-most, most);
        while low < high {
            let middle = low + (high - low) / 2;
            if holds(middle) { high = middle } else { low = middle + 1 }
        }
        let least = self.constant(numbered(width, low));
        self.any_relation([monotone.operand, least], &[Relation::Greater, Relation::Equal])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::{Sort, Value};
    use crate::evaluate::{Evaluator, Model};

    /// Compares relations of results with the relations of the numbers.
    #[test]
    fn relations_of_operands_are_those_of_results() {
        let (mut terms, mut plain) = (Terms::for_code(), Terms::new());
        let numbers =
            [0.0, -0.0, 0.5, 1.0, -1.0, -1.5, 127.0, 128.0, -128.0, -129.0, 2147483648.0, 1e30, f32::INFINITY];
        let numbers: Vec<f32> =
            numbers.into_iter().chain([-128.99, 127.99, -0.99, f32::NEG_INFINITY, f32::NAN]).collect();
        let bits = |value: f32| Bits::new(32, value.to_bits().into());
        let sets: [&[Relation]; 5] = [
            &[Relation::Less],
            &[Relation::Greater, Relation::Equal],
            &[Relation::Unordered, Relation::Greater],
            &[Relation::Equal],
            &[Relation::Less, Relation::Equal, Relation::Unordered],
        ];
        let operations = [FloatOp::Trunc, FloatOp::Floor, FloatOp::Nearest, FloatOp::Sub, FloatOp::Add];
        for op in operations {
            for &limit in &numbers {
                for set in sets {
                    let term = |terms: &mut Terms| {
                        let (x, limit) = (terms.var("x", Sort::Bits(32)), terms.constant(bits(limit)));
                        let constant = terms.constant(bits(2147483648.0));
                        let result = match op {
                            FloatOp::Sub | FloatOp::Add => terms.float(op, &[x, constant], 32),
                            _ => terms.float(op, &[x], 32),
                        };
                        terms.any_relation([result, limit], set)
                    };
                    let [normal, expected] = [term(&mut terms), term(&mut plain)];
                    for &x in &numbers {
                        let mut model = Model::default();
                        model.set("x", Value::Bits(bits(x)));
                        let values = [(&terms, normal), (&plain, expected)]
                            .map(|(terms, term)| Evaluator::new(terms, &[term], &model).value(term));
                        assert_eq!(values[0], values[1], "{op:?} {x} {set:?} {limit}");
                    }
                }
            }
        }
    }

    /// Compares the conversion that code spells with the unsigned conversion, and with what the machine calculates.
    #[test]
    fn half_with_a_greater_exponent_is_the_unsigned_conversion() {
        let numbers = [0, 1, 2, 3, u64::MAX, u64::MAX - 1, 1 << 63, (1 << 63) + 1, (1 << 63) - 1, (1 << 62) + 1];
        // Numbers between two floats, near the middle: the lowest bit decides.
        let near = [1 << 39, (1 << 39) + 1, (1 << 39) - 1, 1 << 10, (1 << 10) + 1, (1 << 10) - 1, 3 << 39, 3 << 10];
        for width in [32, 64] {
            let spelled = |terms: &mut Terms| {
                let x = terms.var("x", Sort::Bits(64));
                let half = terms.half_or_whole(x);
                let (float, sign) = (terms.float(FloatOp::FromSigned, &[half], width), terms.sign_as_number(x, width));
                let digits = terms.number(width, stored_digits(width).into());
                let step = terms.shl(sign, digits);
                terms.add(step, float)
            };
            let (mut terms, mut plain) = (Terms::for_code(), Terms::new());
            let [normal, expected] = [spelled(&mut terms), spelled(&mut plain)];
            let x = terms.var("x", Sort::Bits(64));
            assert_eq!(normal, terms.float(FloatOp::FromUnsigned, &[x], width));
            for x in numbers.into_iter().chain(near.map(|low| 1 << 63 | low)) {
                let mut model = Model::default();
                model.set("x", Value::Bits(Bits::new(64, x.into())));
                let values = [(&terms, normal), (&plain, expected)]
                    .map(|(terms, term)| Evaluator::new(terms, &[term], &model).value(term));
                let bits = if width == 32 { u128::from((x as f32).to_bits()) } else { (x as f64).to_bits().into() };
                assert_eq!(values, [Value::Bits(Bits::new(width, bits)); 2], "{x:#x} in {width} bits");
            }
        }
    }

    /// Checks that a step of another number, or the half without its lowest bit, is no conversion.
    #[test]
    fn other_sums_are_no_conversions() {
        let mut terms = Terms::for_code();
        let x = terms.var("x", Sort::Bits(64));
        let [half, sign] = [terms.half_or_whole(x), terms.sign_as_number(x, 64)];
        let [one, zero, digits, others] = [1, 0, 52, 51].map(|number| terms.number(64, number));
        let (shifted, is_negative) = (terms.lshr(x, one), terms.slt(x, zero));
        let truncated = terms.ite(is_negative, shifted, x);
        let lowest = terms.bit_and(x, one);
        let expected = terms.float(FloatOp::FromUnsigned, &[x], 64);
        for (number, bit, by, is_equal) in [
            (half, sign, digits, true),
            (half, sign, others, false),
            (half, lowest, digits, false),
            (truncated, sign, digits, false),
        ] {
            let (float, step) = (terms.float(FloatOp::FromSigned, &[number], 64), terms.shl(bit, by));
            assert_eq!(terms.add(float, step) == expected, is_equal);
        }
    }

    #[test]
    fn roots_of_negative_numbers_are_nans() {
        let (mut terms, mut plain) = (Terms::for_code(), Terms::new());
        let [normal, expected] = [&mut terms, &mut plain].map(|terms| {
            let x = terms.var("x", Sort::Bits(32));
            let root = terms.float(FloatOp::Sqrt, &[x], 32);
            terms.is_nan(root)
        });
        assert_eq!(
            terms
                .cone(&[normal])
                .iter()
                .filter(|&&term| matches!(terms.node(term), Node::Unary(Op::Float(_), _)))
                .count(),
            0
        );
        let numbers = [0.0, -0.0, 1.0, -1.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -f32::NAN, 1e-45, -1e-45];
        for x in numbers {
            let mut model = Model::default();
            model.set("x", Value::Bits(Bits::new(32, x.to_bits().into())));
            let values = [(&terms, normal), (&plain, expected)]
                .map(|(terms, term)| Evaluator::new(terms, &[term], &model).value(term));
            assert_eq!(values, [Value::Bool(x.sqrt().is_nan()); 2], "{x}");
        }
    }

    #[test]
    fn conversions_of_choices_of_constants_ignore_the_width_of_integers() {
        let mut terms = Terms::for_code();
        let condition = terms.var("c", Sort::Bool);
        let [narrow, wide] = [32, 64].map(|width| {
            let [a, b] = [0xfb0_0568, 0].map(|number| terms.number(width, number));
            terms.ite(condition, a, b)
        });
        let unsigned = terms.float(FloatOp::FromUnsigned, &[narrow], 64);
        assert_eq!(unsigned, terms.float(FloatOp::FromSigned, &[wide], 64));
        assert_eq!(terms.is_nan(unsigned), terms.bool(false));
        let [a, b] = [-1, 1].map(|number| terms.constant(Bits::signed_new(32, number)));
        let choice = terms.ite(condition, a, b);
        let [signed, unsigned] = [FloatOp::FromSigned, FloatOp::FromUnsigned].map(|op| terms.float(op, &[choice], 64));
        assert_ne!(signed, unsigned);
    }

    #[test]
    fn bounds_of_conversions_are_bounds_of_the_operand() {
        let mut terms = Terms::for_code();
        let x = terms.var("x", Sort::Bits(64));
        let number = |terms: &mut Terms, value: f64| terms.constant(Bits::new(64, value.to_bits().into()));
        let truncated = terms.float(FloatOp::Trunc, &[x], 64);
        let (limit, bound) = (number(&mut terms, -128.0), number(&mut terms, -129.0));
        let within = terms.any_relation([truncated, limit], &[Relation::Greater, Relation::Equal]);
        let above = terms.any_relation([x, bound], &[Relation::Greater]);
        let differ = terms.eq(within, above);
        let differ = terms.not(differ);
        assert!(matches!(crate::search(&terms, differ, 1000), crate::Answer::Unsat));
    }
}
