//! Facts about operations on floats, whose results are free bits otherwise.
//!
//! - A number minus 0.0 is the number, and -0.0 minus -0.0 is 0.0.
//! - A sum or difference of a NaN is a NaN.
//! - A conversion to a signed integer is negative if the number is at most -1. Numbers out of range become the nearest
//!   integer, and NaNs become zero; any integer would do there, because code and functions do not use it.
//! - Numbers within 1 of zero become zero; those within 1 beyond a bound of 8 or 16 bits become the bound.
//! - The integer needs more than 8, 9, 16, 17, 32 or 33 bits if the number is outside of the range of these integers.
//! - Conversions to signed and unsigned integers are equal for numbers above -1 and below 2^63. From 2^63 on, and only
//!   there, the top bit of the unsigned one is set, and its other bits are the signed one of the number minus 2^63.

use super::blast::Blaster;
use super::circuit::{FALSE, TRUE, constant};
use super::clauses::Lit;
use crate::bits::Bits;
use crate::float_op::FloatOp;
use crate::term::{Node, Op, Term, Terms};

/// The numbers of magnitude bits of integers whose ranges code compares with.
const RANGES: [u32; 6] = [7, 8, 15, 16, 31, 32];

/// The bounds to which code limits numbers before it converts them.
const BOUNDS: [i32; 5] = [0, 127, -128, 32767, -32768];

/// Returns the number of stored significand bits and the greatest exponent of a format.
fn format(width: u32) -> Option<(u32, u32)> {
    match width {
        32 => Some((23, 127)),
        64 => Some((52, 1023)),
        _ => None,
    }
}

/// Returns 2^exponent.
fn power_of_two(width: u32, exponent: u32) -> Option<Bits> {
    let (digits, bias) = format(width)?;
    Some(Bits::new(width, u128::from(exponent + bias) << digits))
}

impl Blaster {
    /// Requires the facts about the operations among terms, which are all defined.
    pub(super) fn state_floats(&mut self, terms: &Terms, cone: &[Term]) {
        for &term in cone {
            match terms.node(term) {
                Node::Binary(Op::Float(FloatOp::Add), a, b) => self.state_nan(terms, [a, b], term),
                Node::Binary(Op::Float(FloatOp::Sub), a, b) => {
                    self.state_nan(terms, [a, b], term);
                    self.state_difference(terms, a, b, term);
                }
                Node::Unary(Op::Float(FloatOp::ToSigned), x) if terms.width(term) == 64 => {
                    self.state_sign(terms, x, term)
                }
                Node::Unary(Op::Float(FloatOp::ToUnsigned), x) if terms.width(term) == 64 => {
                    self.state_unsigned(terms, cone, x, term);
                }
                _ => {}
            }
        }
    }

    /// Requires a result to be a NaN if an operand is one.
    fn state_nan(&mut self, terms: &Terms, operands: [Term; 2], result: Term) {
        let width = terms.width(result);
        if format(width).is_none() {
            return;
        }
        let [a, b] = operands.map(|operand| self.is_nan(width, operand));
        let (any, is_nan) = (self.circuit.or(a, b), self.is_nan(width, result));
        self.imply(any, is_nan);
    }

    /// Requires a number minus 0.0 to be the number, and -0.0 minus -0.0 to be 0.0.
    fn state_difference(&mut self, terms: &Terms, a: Term, b: Term, result: Term) {
        let width = terms.width(a);
        if format(width).is_none() {
            return;
        }
        let is_nan = self.is_nan(width, a);
        let [a, b, result] = [a, b, result].map(|term| self.bits_of(term));
        let zero = vec![FALSE; width as usize];
        let mut minus_zero = zero.clone();
        minus_zero[width as usize - 1] = TRUE;
        let subtracts_zero = self.circuit.equal(&b, &zero);
        let is_same = self.circuit.equal(&result, &a);
        let is_kept = self.circuit.and(subtracts_zero, !is_nan);
        self.imply(is_kept, is_same);
        let [first, second] = [&a, &b].map(|operand| self.circuit.equal(operand, &minus_zero));
        let both = self.circuit.and(first, second);
        let is_zero = self.circuit.equal(&result, &zero);
        self.imply(both, is_zero);
    }

    fn state_sign(&mut self, terms: &Terms, x: Term, result: Term) {
        let width = terms.width(x);
        let Some(one) = power_of_two(width, 0) else { return };
        let (is_nan, is_large) = (self.is_nan(width, x), self.has_magnitude(width, x, one));
        let sign = self.bits_of(x)[width as usize - 1];
        let is_negative = self.circuit.and(sign, is_large);
        let is_negative = self.circuit.and(is_negative, !is_nan);
        let bits = self.bits_of(result);
        let differ = self.circuit.xor(bits[63], is_negative);
        self.imply(differ, FALSE);
        for count in RANGES {
            self.state_range(width, x, &bits, count);
        }
        for bound in BOUNDS {
            self.state_bound(width, x, &bits, bound);
        }
    }

    /// Requires numbers from an integer to the next one away from zero, exclusive, to become the integer.
    fn state_bound(&mut self, width: u32, x: Term, bits: &[Lit], bound: i32) {
        let number = |value: u32| match width {
            32 => Bits::new(32, (value as f32).to_bits().into()),
            _ => Bits::new(64, f64::from(value).to_bits().into()),
        };
        let magnitude = bound.unsigned_abs();
        let (reaches, exceeds) =
            (self.has_magnitude(width, x, number(magnitude)), self.has_magnitude(width, x, number(magnitude + 1)));
        let sign = self.bits_of(x)[width as usize - 1];
        let has_sign = if bound == 0 { TRUE } else { sign.negated_if(bound > 0) };
        let is_near = self.circuit.and(reaches, !exceeds);
        let is_near = self.circuit.and(is_near, has_sign);
        let expected: Vec<Lit> = (0..64).map(|at| constant(i64::from(bound) >> at & 1 == 1)).collect();
        let is_bound = self.circuit.equal(bits, &expected);
        self.imply(is_near, is_bound);
    }

    /// Requires a number between -2^n - 1 and 2^n, exclusive, to have an integer with equal bits from bit n on, and
    /// others to have none.
    fn state_range(&mut self, width: u32, x: Term, bits: &[Lit], count: u32) {
        let (Some(limit), Some((digits, _))) = (power_of_two(width, count), format(width)) else { return };
        // The least number that is not less than 2^n + 1 in magnitude. It is 2^n plus the distance to the next number where
        // 2^n + 1 is none.
        let beyond = Bits::new(width, limit.unsigned() + (1 << digits.saturating_sub(count)));
        let sign = self.bits_of(x)[width as usize - 1];
        let (is_above, is_below) = (self.has_magnitude(width, x, limit), self.has_magnitude(width, x, beyond));
        let is_nan = self.is_nan(width, x);
        let is_outside = self.circuit.choice(sign, is_below, is_above);
        let is_outside = self.circuit.and(is_outside, !is_nan);
        let mut differ = FALSE;
        for &bit in &bits[count as usize..63] {
            let other = self.circuit.xor(bit, bits[63]);
            differ = self.circuit.or(differ, other);
        }
        let is_same = !self.circuit.xor(is_outside, differ);
        self.imply(TRUE, is_same);
    }

    fn state_unsigned(&mut self, terms: &Terms, cone: &[Term], x: Term, result: Term) {
        let width = terms.width(x);
        let Some(limit) = power_of_two(width, 63) else { return };
        let Some(one) = power_of_two(width, 0) else { return };
        let (is_large, is_nan) = (self.has_magnitude(width, x, limit), self.is_nan(width, x));
        let rounds_to_zero = !self.has_magnitude(width, x, one);
        let sign = self.bits_of(x)[width as usize - 1];
        let is_positive = self.circuit.and(!sign, !is_nan);
        let is_above = self.circuit.and(is_positive, is_large);
        let is_below = self.circuit.and(is_positive, !is_large);
        let is_below = self.circuit.or(is_below, rounds_to_zero);
        let zero = vec![FALSE; 64];
        let is_zero = self.circuit.equal(&self.bits_of(result), &zero);
        self.imply(rounds_to_zero, is_zero);
        let top = self.bits_of(result)[63];
        let differ = self.circuit.xor(top, is_above);
        self.imply(differ, FALSE);
        for &term in cone {
            let Node::Unary(Op::Float(FloatOp::ToSigned), from) = terms.node(term) else { continue };
            let mut expected = self.bits_of(result);
            if from == x && terms.width(term) == 64 {
                let is_same = self.circuit.equal(&self.bits_of(term), &expected);
                self.imply(is_below, is_same);
            }
            let Node::Binary(Op::Float(FloatOp::Sub), minuend, subtrahend) = terms.node(from) else { continue };
            if minuend == x && terms.bits(subtrahend) == Some(limit) && terms.width(term) == 64 {
                expected[63] = !expected[63];
                let is_same = self.circuit.equal(&self.bits_of(term), &expected);
                self.imply(is_above, is_same);
            }
        }
    }

    fn imply(&mut self, condition: Lit, fact: Lit) {
        let lit = self.circuit.or(!condition, fact);
        self.facts.push(lit);
    }

    /// Returns `true` if the magnitude of a float is at least a positive number, or the float is a NaN.
    fn has_magnitude(&mut self, width: u32, x: Term, least: Bits) -> Lit {
        let bits = self.bits_of(x);
        let least: Vec<Lit> = (0..width - 1).map(|at| constant(least.unsigned() >> at & 1 == 1)).collect();
        !self.circuit.less(&bits[..width as usize - 1], &least)
    }

    fn is_nan(&mut self, width: u32, x: Term) -> Lit {
        let (digits, _) = format(width).unwrap_or_default();
        let infinity = (1_u128 << (width - 1)) - (1 << digits);
        self.has_magnitude(width, x, Bits::new(width, infinity + 1))
    }
}

#[cfg(test)]
mod tests {
    use crate::bits::{Bits, Sort, Value};
    use crate::evaluate::{Evaluator, Model};
    use crate::float_op::FloatOp;
    use crate::search::search;
    use crate::solver::Answer;
    use crate::term::{Term, Terms};

    /// Returns the numbers around each power of two, and others.
    fn numbers() -> Vec<f64> {
        let mut all = vec![0.0, -0.0, 0.5, 1.5, f64::INFINITY, f64::NAN, 1e300, 5e-324, 255.5, 3.7];
        for exponent in [0, 7, 8, 15, 16, 31, 32, 52, 53, 63, 64] {
            let power = f64::powi(2.0, exponent);
            all.extend([
                power,
                power + 1.0,
                power - 1.0,
                power.next_up(),
                power.next_down(),
                (power + 1.0).next_down(),
            ]);
        }
        all.extend(all.clone().into_iter().map(|number: f64| -number));
        all
    }

    /// Compares the facts with the values of operations on numbers.
    #[test]
    fn stated_facts_hold_for_numbers() {
        for width in [32, 64] {
            let mut terms = Terms::raw();
            let x = terms.var("x", Sort::Bits(width));
            let y = terms.var("y", Sort::Bits(width));
            let bits = |number: f64| match width {
                32 => Bits::new(32, (number as f32).to_bits().into()),
                _ => Bits::new(64, number.to_bits().into()),
            };
            let limit = terms.constant(bits(f64::powi(2.0, 63)));
            let less = terms.float(FloatOp::Sub, &[x, limit], width);
            let operations = [
                terms.float(FloatOp::ToSigned, &[x], 64),
                terms.float(FloatOp::ToUnsigned, &[x], 64),
                terms.float(FloatOp::ToSigned, &[less], 64),
                terms.float(FloatOp::Sub, &[x, y], width),
                terms.float(FloatOp::Add, &[x, y], width),
            ];
            let mut is_model = |values: [(Term, Bits); 2], changed: Option<usize>| {
                let mut model = Model::default();
                for (variable, bits) in values {
                    model.set(terms.name(variable).unwrap(), Value::Bits(bits));
                }
                let evaluator = Evaluator::new(&terms, &operations, &model);
                let results = operations.map(|term| evaluator.value(term).bits().unwrap());
                let equalities = values.into_iter().chain(operations.into_iter().zip(results)).enumerate();
                let mut formula = terms.bool(true);
                for (number, (term, bits)) in equalities {
                    let flipped = if changed == Some(number) {
                        // Also the top bit of an exponent.
                        Bits::new(bits.width(), 1 << 62 | 1 << 30)
                    } else {
                        Bits::new(bits.width(), 0)
                    };
                    let bits = terms.constant(bits.xor(flipped));
                    let equal = terms.eq(term, bits);
                    formula = terms.and(formula, equal);
                }
                matches!(search(&terms, formula, 1000), Answer::Sat(_))
            };
            for (place, number) in numbers().into_iter().enumerate() {
                let others = if place < 6 { [0.0, -0.0, 1.0].as_slice() } else { &[0.0] };
                for &other in others {
                    let values = [(x, bits(number)), (y, bits(other))];
                    assert!(is_model(values, None), "{number} {other} in {width} bits");
                }
            }
            // Another signed integer is no model, and neither is a sum or difference that is no NaN.
            assert!(!is_model([(x, bits(100.0)), (y, bits(1.0))], Some(2)));
            for (x_bits, y_bits) in [(f64::NAN, 1.0), (1.0, f64::NAN)] {
                let values = [(x, bits(x_bits)), (y, bits(y_bits))];
                assert!(is_model(values, None) && !is_model(values, Some(5)) && !is_model(values, Some(6)));
            }
        }
    }
}
