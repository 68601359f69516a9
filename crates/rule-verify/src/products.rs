//! Quotients of products. No solver decides `(x * c) / (y * c) = x / y` at 64 bits by its bits. The equality holds
//! if no product wraps, which a rule states by `nuw`, `nsw` or its precondition.
//!
//! First, conjuncts that state that a product does not wrap become facts: lists of factors whose product as
//! integers equals the product modulo 2^width. Then each term below is replaced by
//! `if condition then other else term`, which equals the term for all values of its variables. Most conditions are
//! conjuncts themselves, so that only `other` remains.
//!
//! | term | condition | other |
//! |---|---|---|
//! | `(x * c) / (y * c)` | neither product wraps, `c` is not 0 | `x / y` |
//! | `(x * c) % (y * c)` | neither product wraps, `c` is not 0 | `(x % y) * c` |
//! | `(z / a) / y` | `a * y` does not wrap, `a` is not 0 | `z / (a * y)` |
//! | `(z >> k) / y`, unsigned | `y << k` does not wrap | `z / (y << k)` |
//! | `a * b` does not wrap | it is part of a product that does not wrap | true |
//! | `a * b` is 0, 1 or -1 | `a * b` does not wrap | equalities of `a` and of `b` |
//!
//! The minimum of signed operands is negative and has no opposite. Conditions exclude it if the argument requires
//! it.

use crate::reduce::conjuncts;
use crate::wrap::Sign;
use kingpost_smt::{Bits, Node, Op, Substitution, Term, Terms};

/// Maximum number of rounds of replacements.
const ROUNDS: usize = 3;
/// Maximum number of factors of a product.
const MAX_FACTORS: usize = 6;

/// A product of factors as integers that equals their product modulo 2^width.
#[derive(Clone, Debug)]
struct Fact {
    sign: Sign,
    factors: Vec<Term>,
    /// Condition under which the fact holds.
    condition: Term,
}

/// Facts about products.
#[derive(Clone, Default, Debug)]
pub(crate) struct Products {
    facts: Vec<Fact>,
    replaced: Vec<Term>,
}

impl Products {
    /// Records that a product of two factors does not wrap if `condition` holds.
    pub(crate) fn note(&mut self, terms: &mut Terms, sign: Sign, [a, b]: [Term; 2], condition: Term) {
        let (factors, inner) = self.expanded(terms, sign, [a, b]);
        let condition = terms.and(condition, inner);
        if factors.len() <= MAX_FACTORS && !self.facts.iter().any(|fact| fact.sign == sign && fact.factors == factors) {
            self.facts.push(Fact { sign, factors, condition });
        }
    }

    /// Expands each factor whose own factors have a product that is known not to wrap. Returns all factors, and the
    /// condition for it.
    fn expanded(&self, terms: &mut Terms, sign: Sign, factors: [Term; 2]) -> (Vec<Term>, Term) {
        let (mut all, mut condition) = (Vec::new(), terms.bool(true));
        for factor in factors {
            let parts = factors_of(terms, factor);
            let is_whole =
                |fact: &&Fact| fact.sign == sign && without(&fact.factors, &parts).is_some_and(|rest| rest.is_empty());
            match self.facts.iter().find(is_whole) {
                Some(fact) => {
                    condition = terms.and(condition, fact.condition);
                    all.extend(parts);
                }
                None => all.push(factor),
            }
        }
        (all, condition)
    }

    /// Returns the formula with its quotients of products simplified, if there are any.
    pub(crate) fn simplify(&mut self, terms: &mut Terms, formula: Term) -> Option<Term> {
        let mut current = formula;
        for _ in 0..ROUNDS {
            // A product within a product requires the facts about the inner one.
            for _ in 0..2 {
                for conjunct in conjuncts(terms, current) {
                    if let Some((sign, factors)) = product_that_fits(terms, conjunct) {
                        let always = terms.bool(true);
                        self.note(terms, sign, factors, always);
                    }
                }
            }
            let next = self.round(terms, current);
            if next == current {
                break;
            }
            current = crate::reduce::reduce(terms, next).formula;
        }
        (current != formula).then_some(current)
    }

    fn round(&mut self, terms: &mut Terms, formula: Term) -> Term {
        let assumed = conjuncts(terms, formula);
        let mut pairs = Vec::new();
        for term in terms.cone(&[formula]) {
            if self.replaced.contains(&term) || assumed.contains(&term) {
                continue;
            }
            if let Some((condition, other)) = self.other(terms, term) {
                self.replaced.push(term);
                let choice = terms.ite(condition, other, term);
                pairs.push((term, choice));
            }
        }
        if pairs.is_empty() { formula } else { Substitution::new(pairs).apply(terms, formula) }
    }

    /// Returns a condition, and another term that equals `term` if the condition holds.
    fn other(&self, terms: &mut Terms, term: Term) -> Option<(Term, Term)> {
        if let Node::Binary(op @ (Op::Udiv | Op::Sdiv | Op::Urem | Op::Srem), x, y) = terms.node(term) {
            return self.cancelled(terms, op, x, y).or_else(|| self.nested(terms, op, x, y));
        }
        if let Some((sign, [a, b])) = product_that_fits(terms, term) {
            let (factors, inner) = self.expanded(terms, sign, [a, b]);
            let fits = self.fits(terms, sign, &factors)?;
            let condition = terms.and(inner, fits);
            return Some((condition, terms.bool(true)));
        }
        self.unit(terms, term)
    }

    /// Returns the condition under which a product of integers does not wrap: it is part of a product that does
    /// not, and the remaining factors are not zero.
    fn fits(&self, terms: &mut Terms, sign: Sign, factors: &[Term]) -> Option<Term> {
        if factors.len() < 2 {
            return Some(terms.bool(true));
        }
        let parts = self.facts.iter().filter(|fact| fact.sign == sign);
        let (fact, rest) =
            parts.filter_map(|fact| Some((fact, without(&fact.factors, factors)?))).min_by_key(|part| part.1.len())?;
        let mut condition = fact.condition;
        for &factor in &rest {
            condition = and_nonzero(terms, condition, factor);
        }
        if sign == Sign::Signed && !rest.is_empty() {
            let (part, rest) = (product(terms, factors)?, product(terms, &rest)?);
            let fits = minimum_by_minus_one(terms, part, rest);
            condition = terms.and(condition, fits);
        }
        Some(condition)
    }

    /// Cancels the common factors of both operands of a division. Returns the condition for it, and the new term.
    fn cancelled(&self, terms: &mut Terms, op: Op, x: Term, y: Term) -> Option<(Term, Term)> {
        let sign = sign_of(op);
        let (above, below) = (factors_of(terms, x), factors_of(terms, y));
        let mut common = Vec::new();
        let mut rest = above.clone();
        for &factor in &below {
            if let Some(at) = rest.iter().position(|&other| other == factor) {
                common.push(rest.remove(at));
            }
        }
        if common.is_empty() {
            return None;
        }
        let divisor = without(&below, &common)?;
        let mut condition = terms.bool(true);
        for factors in [&above, &below, &rest, &divisor] {
            let fits = self.fits(terms, sign, factors)?;
            condition = terms.and(condition, fits);
        }
        // The product does not wrap, so it is not zero if no factor is.
        for &factor in &below {
            condition = and_nonzero(terms, condition, factor);
        }
        let (dividend, common) = (product(terms, &rest), product(terms, &common)?);
        let one = terms.number(terms.width(x), 1);
        let dividend = dividend.unwrap_or(one);
        let other = match (product(terms, &divisor), op) {
            (Some(divisor), Op::Udiv | Op::Sdiv) => terms.binary(op, dividend, divisor),
            (Some(divisor), _) => {
                let remainder = terms.binary(op, dividend, divisor);
                terms.mul(remainder, common)
            }
            (None, Op::Udiv | Op::Sdiv) => dividend,
            (None, _) => terms.number(terms.width(x), 0),
        };
        Some((condition, other))
    }

    /// Combines two nested divisions. Returns the condition for it, and the new term.
    fn nested(&self, terms: &mut Terms, op: Op, x: Term, y: Term) -> Option<(Term, Term)> {
        let (z, a) = match (op, terms.node(x)) {
            (Op::Udiv | Op::Sdiv, Node::Binary(inner, z, a)) if inner == op => (z, a),
            (Op::Udiv, Node::Binary(Op::Lshr, z, by)) => {
                let one = terms.number(terms.width(z), 1);
                (z, terms.shl(one, by))
            }
            _ => return None,
        };
        let sign = sign_of(op);
        let (factors, inner) = self.expanded(terms, sign, [a, y]);
        let fits = self.fits(terms, sign, &factors)?;
        let mut condition = terms.and(inner, fits);
        condition = and_nonzero(terms, condition, a);
        if sign == Sign::Signed {
            condition = and_nonzero(terms, condition, y);
            let fits = minimum_by_minus_one(terms, z, a);
            condition = terms.and(condition, fits);
        }
        let divisor = product(terms, &factors)?;
        Some((condition, terms.binary(op, z, divisor)))
    }

    /// Splits the equality of a product of two factors with 0, 1 or -1. Returns the condition for it, and the new
    /// term.
    fn unit(&self, terms: &mut Terms, term: Term) -> Option<(Term, Term)> {
        let Node::Binary(Op::Eq, left, right) = terms.node(term) else { return None };
        let (value, product) = match (terms.bits(left), terms.bits(right)) {
            (Some(value), None) => (value, right),
            (None, Some(value)) => (value, left),
            _ => return None,
        };
        let factors = factors_of(terms, product);
        let &[a, b] = &factors[..] else { return None };
        let units: &[(Sign, [i128; 2])] = match value.signed() {
            0 => &[(Sign::Signed, [0, 0]), (Sign::Unsigned, [0, 0])],
            -1 => &[(Sign::Signed, [1, -1]), (Sign::Signed, [-1, 1])],
            1 => &[(Sign::Signed, [1, 1]), (Sign::Signed, [-1, -1])],
            _ => return None,
        };
        let mut either = terms.bool(false);
        for (_, pair) in units {
            let [is_a, is_b] = [(a, pair[0]), (b, pair[1])].map(|(factor, value)| {
                let value = terms.constant(Bits::signed_new(terms.width(factor), value));
                terms.eq(factor, value)
            });
            let both = if value.is_zero() { terms.or(is_a, is_b) } else { terms.and(is_a, is_b) };
            either = terms.or(either, both);
        }
        let condition = units.iter().find_map(|&(sign, _)| self.fits(terms, sign, &factors))?;
        Some((condition, either))
    }
}

fn sign_of(op: Op) -> Sign {
    if matches!(op, Op::Udiv | Op::Urem) { Sign::Unsigned } else { Sign::Signed }
}

fn and_nonzero(terms: &mut Terms, condition: Term, term: Term) -> Term {
    let zero = terms.number(terms.width(term), 0);
    let some = terms.ne(term, zero);
    terms.and(condition, some)
}

/// Returns a term that holds unless `a` is the minimum and `b` is -1.
pub(crate) fn minimum_by_minus_one(terms: &mut Terms, a: Term, b: Term) -> Term {
    let width = terms.width(a);
    let (least, minus_one) = (terms.constant(Bits::sign_bit(width)), terms.constant(Bits::ones(width)));
    let (not_least, not_minus_one) = (terms.ne(a, least), terms.ne(b, minus_one));
    terms.or(not_least, not_minus_one)
}

/// Returns a list without the elements of another list, or `None` if it does not contain them all.
fn without(list: &[Term], part: &[Term]) -> Option<Vec<Term>> {
    let mut rest = list.to_vec();
    for element in part {
        let at = rest.iter().position(|other| other == element)?;
        rest.remove(at);
    }
    Some(rest)
}

/// Returns the factors of a product. `x << k` is `x * (1 << k)`.
fn factors_of(terms: &mut Terms, term: Term) -> Vec<Term> {
    let mut factors = Vec::new();
    let mut work = vec![term];
    while let Some(next) = work.pop() {
        match terms.node(next) {
            Node::Binary(Op::Mul, a, b) if factors.len() + work.len() < MAX_FACTORS => work.extend([a, b]),
            Node::Binary(Op::Shl, a, by) if factors.len() + work.len() < MAX_FACTORS => {
                let one = terms.number(terms.width(a), 1);
                let power = terms.shl(one, by);
                if power != next {
                    work.push(a);
                }
                factors.push(power);
            }
            _ => factors.push(next),
        }
    }
    factors
}

fn product(terms: &mut Terms, factors: &[Term]) -> Option<Term> {
    factors.iter().copied().reduce(|product, factor| terms.mul(product, factor))
}

/// Returns the factors of a product that does not wrap according to a term. The term states that the product of
/// both factors, extended to twice the width, equals the extended product, or that a shift right undoes a shift
/// left.
fn product_that_fits(terms: &mut Terms, term: Term) -> Option<(Sign, [Term; 2])> {
    let Node::Binary(Op::Eq, left, right) = terms.node(term) else { return None };
    shift_that_fits(terms, left, right)
        .or_else(|| shift_that_fits(terms, right, left))
        .or_else(|| wide_product(terms, left, right))
        .or_else(|| wide_product(terms, right, left))
}

/// Matches `(a << k) >> k = a` with a logical shift. Signed shifts are not matched, because `1 << k` is negative if
/// `k` is the place of the sign.
fn shift_that_fits(terms: &mut Terms, back: Term, a: Term) -> Option<(Sign, [Term; 2])> {
    let Node::Binary(Op::Lshr, shifted, by) = terms.node(back) else { return None };
    let Node::Binary(Op::Shl, base, amount) = terms.node(shifted) else { return None };
    let one = terms.number(terms.width(a), 1);
    (base == a && amount == by).then(|| (Sign::Unsigned, [a, terms.shl(one, by)]))
}

fn wide_product(terms: &mut Terms, wide: Term, extended: Term) -> Option<(Sign, [Term; 2])> {
    let Node::Unary(extend @ (Op::ZeroExtend | Op::SignExtend), narrow) = terms.node(extended) else { return None };
    let Node::Binary(Op::Mul, a, b) = terms.node(wide) else { return None };
    let width = terms.width(narrow);
    if terms.width(wide) != 2 * width {
        return None;
    }
    let mut factor = |term: Term| match terms.node(term) {
        Node::Unary(op, inner) if op == extend && terms.width(inner) == width => Some(inner),
        _ => {
            let bits = terms.bits(term)?;
            let cut = Bits::new(width, bits.unsigned());
            let fits = if extend == Op::ZeroExtend {
                cut.unsigned() == bits.unsigned()
            } else {
                cut.signed() == bits.signed()
            };
            fits.then(|| terms.constant(cut))
        }
    };
    let factors = [factor(a)?, factor(b)?];
    let sign = if extend == Op::ZeroExtend { Sign::Unsigned } else { Sign::Signed };
    (terms.mul(factors[0], factors[1]) == narrow).then_some((sign, factors))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wrap;
    use kingpost_rules::InstOp;
    use kingpost_smt::{Evaluator, Model, Sort, Value};

    const WIDTH: u32 = 3;

    /// Checks that replacements keep the value of formulas for every model.
    #[test]
    fn replacements_change_no_value() {
        for (sign, divide, rest) in [(Sign::Unsigned, Op::Udiv, Op::Urem), (Sign::Signed, Op::Sdiv, Op::Srem)] {
            let mut terms = Terms::new();
            let [x, y, c, limit] = ["x", "y", "c", "limit"].map(|name| terms.var(name, Sort::Bits(WIDTH)));
            let [xc, yc, one] = [terms.mul(x, c), terms.mul(y, c), terms.number(WIDTH, 1)];
            let shifted = terms.lshr(x, y);
            let power = terms.shl(one, y);
            let quotient = terms.binary(divide, x, y);
            let candidates = [
                terms.binary(divide, xc, yc),
                terms.binary(rest, xc, yc),
                terms.binary(divide, xc, c),
                terms.binary(rest, xc, c),
                terms.binary(divide, quotient, c),
                terms.binary(divide, shifted, c),
            ];
            let mut facts = [(x, c), (y, c)].map(|(a, b)| wrap::fits(&mut terms, InstOp::Mul, sign, a, b)).to_vec();
            facts.push(wrap::fits(&mut terms, InstOp::Shl, Sign::Unsigned, c, y));
            let scaled = terms.mul(c, power);
            let mut replaced = 0;
            for candidate in candidates {
                let below = terms.ult(candidate, limit);
                let units = [0, 1, u128::MAX].map(|value| {
                    let value = terms.number(WIDTH, value);
                    let [is_xc, is_scaled] = [xc, scaled].map(|product| terms.eq(product, value));
                    terms.or(is_xc, is_scaled)
                });
                let any = terms.any(units.into_iter().chain([below]));
                let formula = terms.all(facts.iter().copied().chain([any]));
                let Some(other) = Products::default().simplify(&mut terms, formula) else { continue };
                replaced += 1;
                for number in 0..1_u128 << (4 * WIDTH) {
                    let mut model = Model::default();
                    for (index, name) in (0..).zip(["x", "y", "c", "limit"]) {
                        model.set(name, Value::Bits(Bits::new(WIDTH, number >> (index * WIDTH))));
                    }
                    let evaluator = Evaluator::new(&terms, &[formula, other], &model);
                    assert_eq!(evaluator.value(formula), evaluator.value(other), "{divide:?} {candidate:?} {model:?}");
                }
            }
            assert!(replaced >= 4, "{divide:?}: {replaced}");
        }
    }
}
