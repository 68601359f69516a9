//! Normal forms of terms of 128 bits in machine code, which computes their halves.
//!
//! | spelling | normal form |
//! |---|---|
//! | `concat(h, l) << n` | `concat(h << n \| l >> (64 - n), l << n)`, or `concat(l << (n - 64), 0)` |
//! | a rotation of `concat(h, l)` | two shifts of either half, in the order that `n` chooses |
//! | `(x << n) << 1`, with `n` of 6 bits | `x << (64 - ~n)` |
//! | the high half of a product | the high half of the product of low halves, and both products of a low and a high half |
//! | the high half of a sum | the sum of high halves and carries |
//! | `if c \|\| d then 1 else 0`, where `c` and `d` are carries of one sum | `(if c then 1 else 0) + (if d then 1 else 0)` |

use crate::bits::Bits;
use crate::term::{Node, Op, Term, Terms};

/// The width, in bits, of terms that code computes in halves.
const WIDE: u32 = 128;

impl Terms {
    /// Returns the high half and the low half of a term.
    fn halves(&mut self, a: Term) -> [Term; 2] {
        let half = self.width(a) / 2;
        [self.extract(a, half, half), self.extract(a, 0, half)]
    }

    /// Returns the amount of a shift, if it has no bits but those that count.
    fn wide_amount(&self, a: Term, by: Term) -> Option<Term> {
        let width = self.width(a);
        match self.node(by) {
            Node::Unary(Op::ZeroExtend, amount) if 1 << self.width(amount) == width => Some(amount),
            _ => None,
        }
    }

    /// Returns the shift of a wide term by a variable amount as a shift of its halves.
    pub(super) fn code_wide_shift(&mut self, op: Op, a: Term, by: Term) -> Option<Term> {
        if self.width(a) != WIDE {
            return None;
        }
        let amount = self.wide_amount(a, by)?;
        Some(self.shifted_halves(op, a, amount))
    }

    fn shifted_halves(&mut self, op: Op, a: Term, amount: Term) -> Term {
        let [high, low] = self.halves(a);
        let (is_short, by, back) = self.short_amount(amount, self.width(high));
        let zero = self.number(self.width(high), 0);
        if op == Op::Shl {
            let (moved, spilled, beyond) = (self.shl(high, by), self.lshr(low, back), self.shl(low, by));
            let both = self.bit_or(moved, spilled);
            let (high, low) = (self.ite(is_short, both, beyond), self.ite(is_short, beyond, zero));
            return self.concat(high, low);
        }
        let last = self.number(self.width(high), u128::from(self.width(high) - 1));
        let rest = if op == Op::Ashr { self.ashr(high, last) } else { zero };
        let (moved, spilled, beyond) = (self.lshr(low, by), self.shl(high, back), self.binary(op, high, by));
        let both = self.bit_or(moved, spilled);
        let (high, low) = (self.ite(is_short, beyond, rest), self.ite(is_short, both, beyond));
        self.concat(high, low)
    }

    /// Returns whether the amount of a wide shift is below half the width, `half`; the amount modulo `half`; and `half` minus
    /// that.
    fn short_amount(&mut self, amount: Term, half: u32) -> (Term, Term, Term) {
        let top = self.width(amount) - 1;
        let (bit, zero, whole) = (self.extract(amount, top, 1), self.number(1, 0), self.number(half, half.into()));
        let rest = self.extract(amount, 0, top);
        let by = self.zero_extend(rest, half);
        (self.eq(bit, zero), by, self.sub(whole, by))
    }

    /// Returns a wide term rotated left by a variable amount as shifts of its halves. A rotation by a negated amount is one
    /// to the right.
    pub(super) fn code_wide_rotation(&mut self, a: Term, by: Term) -> Option<Term> {
        if !self.is_of_code() || self.width(a) != WIDE {
            return None;
        }
        let amount = self.wide_amount(a, by)?;
        Some(self.rotated_halves(a, amount))
    }

    fn rotated_halves(&mut self, a: Term, amount: Term) -> Term {
        let (amount, first, second) = match self.node(amount) {
            Node::Unary(Op::Neg, back) => (back, Op::Lshr, Op::Shl),
            _ => (amount, Op::Shl, Op::Lshr),
        };
        let [high, low] = self.halves(a);
        let (is_short, by, back) = self.short_amount(amount, self.width(high));
        let (near, far) = (self.ite(is_short, high, low), self.ite(is_short, low, high));
        let [high, low] = [(near, far), (far, near)].map(|(kept, filler)| {
            let (kept, filled) = (self.binary(first, kept, by), self.binary(second, filler, back));
            self.bit_or(kept, filled)
        });
        self.concat(high, low)
    }

    /// Returns a shift of a half by all bits of an amount and by 1 as one shift. Only halves have this form: of other widths,
    /// a shift by a constant is outside, as in a multiple of `1 << n` in a sum.
    pub(super) fn code_shift_and_one(&mut self, op: Op, a: Term, by: Term) -> Option<Term> {
        if self.width(a) != WIDE / 2 {
            return None;
        }
        self.shift_by_next(op, a, by)
    }

    /// Returns a shift by all bits of an amount and by 1 as one shift: by the width, less the complement of the amount.
    fn shift_by_next(&mut self, op: Op, a: Term, by: Term) -> Option<Term> {
        let amount = self.wide_amount(a, by)?;
        let (complement, width) = (self.bit_not(amount), self.width(a));
        let (most, complement) = (self.number(width, width.into()), self.zero_extend(complement, width));
        let by = self.sub(most, complement);
        Some(self.binary(op, a, by))
    }

    /// Returns the high half of a product of wide terms, if one of them has an own high half.
    pub(super) fn code_high_of_product(&mut self, a: Term, b: Term) -> Option<Term> {
        let is_concatenated = |term| matches!(self.node(term), Node::Binary(Op::Concat, ..));
        let is_known = |term| {
            let is_extended = matches!(self.node(term), Node::Unary(Op::ZeroExtend | Op::SignExtend, _));
            is_extended || is_concatenated(term) || self.bits(term).is_some()
        };
        if self.width(a) != WIDE || !is_known(a) || !is_known(b) || !is_concatenated(a) && !is_concatenated(b) {
            return None;
        }
        Some(self.high_of_product(a, b))
    }

    fn high_of_product(&mut self, a: Term, b: Term) -> Term {
        let (width, half) = (self.width(a), self.width(a) / 2);
        let ([a_high, a_low], [b_high, b_low]) = (self.halves(a), self.halves(b));
        let [x, y] = [a_low, b_low].map(|low| self.zero_extend(low, width));
        let product = self.mul(x, y);
        let (carried, left, right) =
            (self.extract(product, half, half), self.mul(a_low, b_high), self.mul(a_high, b_low));
        let sum = self.add(carried, left);
        self.add(sum, right)
    }

    /// Returns the high half of a sum or difference of two wide terms, and of a bit.
    pub(super) fn code_high_of_sum(&mut self, a: Term) -> Option<Term> {
        let (width, sum) = (self.width(a), self.linear(a));
        let (one, minus_one) = (Bits::new(width, 1), Bits::ones(width));
        let is_simple = sum.constant.is_zero() && sum.parts.iter().all(|(_, by)| *by == one || *by == minus_one);
        if width != WIDE || !is_simple {
            return None;
        }
        let mut parts = sum.parts;
        let rank = |(term, by): &(Term, Bits)| (self.is_bit(*term), *by == minus_one);
        parts.sort_by_key(rank);
        let wide = parts.iter().filter(|(term, _)| !self.is_bit(*term)).count();
        let is_known = |term| matches!(self.node(term), Node::Binary(Op::Concat, ..) | Node::Unary(..));
        if wide == 0
            || wide > 2
            || parts.len() > 3
            || parts[0].1 != one
            || !parts[..wide].iter().all(|part| is_known(part.0))
        {
            return None;
        }
        let [mut high, mut low] = self.halves(parts[0].0);
        for &(part, by) in &parts[1..] {
            let [more, below] = self.halves(part);
            [high, low] = if by == one {
                self.with_sum([high, low], [more, below])
            } else {
                self.with_difference([high, low], [more, below])
            };
        }
        Some(high)
    }

    fn with_sum(&mut self, [high, low]: [Term; 2], [more, below]: [Term; 2]) -> [Term; 2] {
        let (sum, highs) = (self.add(low, below), self.add(high, more));
        let carry = self.ult(sum, low.min(below));
        let carry = self.one_if(carry, self.width(low));
        [self.add(highs, carry), sum]
    }

    fn with_difference(&mut self, [high, low]: [Term; 2], [more, below]: [Term; 2]) -> [Term; 2] {
        let (difference, highs, borrow) = (self.sub(low, below), self.sub(high, more), self.ult(low, below));
        let borrow = self.one_if(borrow, self.width(low));
        [self.sub(highs, borrow), difference]
    }

    fn one_if(&mut self, condition: Term, width: u32) -> Term {
        let (one, zero) = (self.number(width, 1), self.number(width, 0));
        self.ite(condition, one, zero)
    }

    /// Returns `true` if a term is a choice between 0 and 1.
    fn is_bit(&self, term: Term) -> bool {
        let is_small = |term| self.bits(term).is_some_and(|bits| bits.unsigned() <= 1);
        matches!(self.node(term), Node::Ternary(Op::Ite, _, a, b) if is_small(a) && is_small(b))
    }

    /// Returns the number of carries, at most one: 1 if `c || d` holds, where `c` and `d` are the carries of a sum
    /// or difference and of a bit that is added or subtracted after it.
    pub(super) fn code_carries(&mut self, condition: Term, a: Term, b: Term) -> Option<Term> {
        let width = self.bits_width(a).filter(|&width| width == WIDE / 2)?;
        let (a, b) = (self.bits(a)?.unsigned(), self.bits(b)?.unsigned());
        let (c, d) = match (self.node(condition), a, b) {
            (Node::Binary(Op::Or, c, d), 1, 0) => (c, d),
            (Node::Binary(Op::And, c, d), 0, 1) => match (self.node(c), self.node(d)) {
                (Node::Unary(Op::Not, c), Node::Unary(Op::Not, d)) => (c, d),
                _ => return None,
            },
            _ => return None,
        };
        if !self.is_carry_after(c, d) && !self.is_carry_after(d, c) {
            return None;
        }
        let (c, d) = (self.one_if(c, width), self.one_if(d, width));
        Some(self.add(c, d))
    }

    /// Returns `true` if `second` is the carry of a bit that is added to the sum, or subtracted from the difference, with the
    /// carry `first`. If the sum wraps, it is not the greatest number; if the difference wraps, it is not zero.
    fn is_carry_after(&mut self, first: Term, second: Term) -> bool {
        let (Node::Binary(Op::Ult, x, y), Node::Binary(Op::Ult, z, w)) = (self.node(first), self.node(second)) else {
            return false;
        };
        if self.bits_width(x) != self.bits_width(z) {
            return false;
        }
        let added = self.sub(z, x);
        if self.is_bit(added) && (w == x || w == added) {
            return true;
        }
        self.is_bit(w) && self.sub(x, y) == z
    }

    /// Returns the carry of a sum as a comparison with the operand that is older.
    pub(super) fn code_carry(&mut self, sum: Term, operand: Term) -> Option<Term> {
        let Node::Binary(Op::Add, x, y) = self.node(sum) else { return None };
        let other = match operand {
            _ if x == operand => y,
            _ if y == operand => x,
            _ => return None,
        };
        (other < operand && self.bits(other).is_none()).then(|| self.ult(sum, other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::{Sort, Value};
    use crate::evaluate::{Evaluator, Model};
    use crate::script::Query;
    use crate::solver::{Answer, Backend, Solver};
    use std::time::Duration;

    /// A spelling of a value of `width` bits, and its normal form.
    type Rule = fn(&mut Terms, u32) -> [Term; 2];

    fn wide(terms: &mut Terms, name: &str, width: u32) -> Term {
        let [high, low] = ["high", "low"].map(|half| terms.var(&format!("{name}{half}"), Sort::Bits(width / 2)));
        terms.concat(high, low)
    }

    fn amount(terms: &mut Terms, width: u32) -> Term {
        terms.var("amount", Sort::Bits(width.ilog2()))
    }

    fn shift(terms: &mut Terms, width: u32, op: Op) -> [Term; 2] {
        let (a, amount) = (wide(terms, "a", width), amount(terms, width));
        let by = terms.zero_extend(amount, width);
        [terms.binary(op, a, by), terms.shifted_halves(op, a, amount)]
    }

    fn rotation(terms: &mut Terms, width: u32, is_back: bool) -> [Term; 2] {
        let (a, mut amount) = (wide(terms, "a", width), amount(terms, width));
        if is_back {
            amount = terms.unary(Op::Neg, amount, terms.sort(amount));
        }
        let by = terms.zero_extend(amount, width);
        [terms.rotate_left(a, by), terms.rotated_halves(a, amount)]
    }

    fn shift_and_one(terms: &mut Terms, width: u32, op: Op) -> [Term; 2] {
        let (a, amount) = (terms.var("a", Sort::Bits(width)), amount(terms, width));
        let (by, one) = (terms.zero_extend(amount, width), terms.number(width, 1));
        let shifted = terms.binary(op, a, by);
        [terms.binary(op, shifted, one), terms.shift_by_next(op, a, by).unwrap()]
    }

    fn sum(terms: &mut Terms, width: u32, is_difference: bool) -> [Term; 2] {
        let [a, b] = ["a", "b"].map(|name| wide(terms, name, width));
        let (halves, more) = (terms.halves(a), terms.halves(b));
        let [high, low] = match is_difference {
            true => terms.with_difference(halves, more),
            false => terms.with_sum(halves, more),
        };
        let whole = if is_difference { terms.sub(a, b) } else { terms.add(a, b) };
        [whole, terms.concat(high, low)]
    }

    const RULES: &[(&str, Rule)] = &[
        ("shl", |terms, width| shift(terms, width, Op::Shl)),
        ("lshr", |terms, width| shift(terms, width, Op::Lshr)),
        ("ashr", |terms, width| shift(terms, width, Op::Ashr)),
        ("rotation left", |terms, width| rotation(terms, width, false)),
        ("rotation right", |terms, width| rotation(terms, width, true)),
        ("shift left and by one", |terms, width| shift_and_one(terms, width, Op::Shl)),
        ("shift right and by one", |terms, width| shift_and_one(terms, width, Op::Lshr)),
        ("sum", |terms, width| sum(terms, width, false)),
        ("difference", |terms, width| sum(terms, width, true)),
        ("product", |terms, width| {
            let [a, b] = ["a", "b"].map(|name| wide(terms, name, width));
            let product = terms.mul(a, b);
            [terms.extract(product, width / 2, width / 2), terms.high_of_product(a, b)]
        }),
        ("carries of a sum", |terms, width| {
            let [x, y, bit] = ["x", "y", "bit"].map(|name| terms.var(name, Sort::Bits(width)));
            let one = terms.number(width, 1);
            let (bit, sum) = (terms.bit_and(bit, one), terms.add(x, y));
            let next = terms.add(sum, bit);
            carries(terms, [sum, x], [next, sum])
        }),
        ("carries of a difference", |terms, width| {
            let [x, y, bit] = ["x", "y", "bit"].map(|name| terms.var(name, Sort::Bits(width)));
            let one = terms.number(width, 1);
            let (bit, difference) = (terms.bit_and(bit, one), terms.sub(x, y));
            carries(terms, [x, y], [difference, bit])
        }),
        ("either operand of a carry", |terms, width| {
            let [x, y] = ["x", "y"].map(|name| terms.var(name, Sort::Bits(width)));
            let sum = terms.add(x, y);
            [x, y].map(|operand| {
                let carry = terms.ult(sum, operand);
                terms.one_if(carry, width)
            })
        }),
    ];

    fn carries(terms: &mut Terms, [x, y]: [Term; 2], [z, w]: [Term; 2]) -> [Term; 2] {
        let width = terms.width(x);
        let (c, d) = (terms.ult(x, y), terms.ult(z, w));
        let either = terms.or(c, d);
        let [either, c, d] = [either, c, d].map(|condition| terms.one_if(condition, width));
        [either, terms.add(c, d)]
    }

    #[test]
    fn halves_have_the_values_of_wide_terms() {
        for (name, rule) in RULES {
            let mut terms = Terms::raw();
            let sides = rule(&mut terms, WIDE);
            let (variables, mut evaluator) = (terms.variables_of(&sides), Evaluator::prepare(&terms, &sides));
            let mut state = 0x9e37_79b9_7f4a_7c15_u128;
            for _ in 0..2000 {
                let mut model = Model::default();
                for &variable in &variables {
                    state = state.wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645).wrapping_add(1);
                    let width = terms.width(variable);
                    let bits =
                        [state >> 64, state >> 121, 0, u128::MAX, state >> 66 & state][(state >> 124) as usize % 5];
                    model.set(terms.name(variable).unwrap(), Value::Bits(Bits::new(width, bits)));
                }
                evaluator.evaluate(&model);
                assert_eq!(evaluator.value(sides[0]), evaluator.value(sides[1]), "{name}: {model:?}");
            }
        }
    }

    #[test]
    fn solvers_prove_the_forms_of_halves() {
        for backend in [Backend::Z3, Backend::Cvc5] {
            if !backend.is_installed() {
                assert!(std::env::var_os("CI").is_none(), "{} is missing", backend.program());
                eprintln!("SKIPPED: {} is not installed", backend.program());
                continue;
            }
            let mut solver = Solver::new(backend);
            for (name, rule) in RULES {
                // Products of more bits take long.
                let width = if *name == "product" { 8 } else { 32 };
                let mut terms = Terms::raw();
                let [a, b] = rule(&mut terms, width);
                let differ = terms.ne(a, b);
                let answer = solver.check(&terms, &Query::new(differ), Duration::from_secs(20)).unwrap();
                assert_eq!(answer, Answer::Unsat, "{name} by {}", backend.program());
            }
        }
    }
}
