//! Products multiplied out: a polynomial over the integers modulo 2^width whose unknowns are the terms that are neither
//! sums nor products. A shift left by `k` is the product with `1 << k`, for every `k`.
//!
//! Two terms with equal polynomials are equal for all values of their variables; the converse does not hold.

use crate::bits::{Bits, Value};
use crate::term::{Node, Op, Term, Terms};
use std::collections::BTreeMap;

/// Maximum number of monomials of a polynomial.
const MAX_MONOMIALS: usize = 128;
/// Maximum nesting of products. More deeply nested products are unknowns.
const MAX_DEPTH: u32 = 64;
/// Maximum number of visits to terms, counting a shared term each time.
const MAX_VISITS: u32 = 2000;

/// Coefficient by monomial, a sorted list of unknowns. No coefficient is zero.
type Polynomial = BTreeMap<Vec<Term>, Bits>;

/// Returns `true` if two bit-vector terms of one width have equal polynomials.
pub fn equal_polynomials(terms: &mut Terms, a: Term, b: Term) -> bool {
    let width = terms.width(a);
    let mut visits = MAX_VISITS;
    let (Some(a), Some(b)) =
        (polynomial(terms, a, MAX_DEPTH, &mut visits), polynomial(terms, b, MAX_DEPTH, &mut visits))
    else {
        return false;
    };
    add(a, b, Bits::ones(width)).is_some_and(|difference| difference.is_empty())
}

/// Returns `a + factor * b`, if it is not too large.
fn add(mut a: Polynomial, b: Polynomial, factor: Bits) -> Option<Polynomial> {
    for (monomial, coefficient) in b {
        let sum = a.entry(monomial).or_insert(Bits::new(factor.width(), 0));
        *sum = sum.add(coefficient.mul(factor));
    }
    a.retain(|_, coefficient| !coefficient.is_zero());
    (a.len() <= MAX_MONOMIALS).then_some(a)
}

fn multiply(a: &Polynomial, b: &Polynomial) -> Option<Polynomial> {
    if a.len() * b.len() > MAX_MONOMIALS {
        return None;
    }
    let mut product = Polynomial::new();
    for (left, x) in a {
        for (right, y) in b {
            let mut monomial = [left.as_slice(), right].concat();
            monomial.sort_unstable();
            let sum = product.entry(monomial).or_insert(Bits::new(x.width(), 0));
            *sum = sum.add(x.mul(*y));
        }
    }
    product.retain(|_, coefficient| !coefficient.is_zero());
    Some(product)
}

fn unknown(width: u32, term: Term) -> Polynomial {
    Polynomial::from([(vec![term], Bits::new(width, 1))])
}

fn polynomial(terms: &mut Terms, term: Term, depth: u32, visits: &mut u32) -> Option<Polynomial> {
    *visits = visits.checked_sub(1)?;
    let width = terms.width(term);
    let one = Bits::new(width, 1);
    if depth == 0 {
        return Some(unknown(width, term));
    }
    match terms.node(term) {
        Node::Const(Value::Bits(bits)) if bits.is_zero() => Some(Polynomial::new()),
        Node::Const(Value::Bits(bits)) => Some(Polynomial::from([(Vec::new(), bits)])),
        Node::Binary(Op::Add, a, b) => {
            add(polynomial(terms, a, depth - 1, visits)?, polynomial(terms, b, depth - 1, visits)?, one)
        }
        Node::Unary(Op::Neg, a) => add(Polynomial::new(), polynomial(terms, a, depth - 1, visits)?, one.neg()),
        Node::Unary(Op::BitNot, a) => {
            let minus_one = Polynomial::from([(Vec::new(), one.neg())]);
            add(minus_one, polynomial(terms, a, depth - 1, visits)?, one.neg())
        }
        Node::Binary(Op::Mul, a, b) => {
            multiply(&polynomial(terms, a, depth - 1, visits)?, &polynomial(terms, b, depth - 1, visits)?)
        }
        Node::Binary(Op::Shl, a, by) => {
            let power = power_of_two(terms, by);
            multiply(&polynomial(terms, a, depth - 1, visits)?, &power)
        }
        _ => Some(unknown(width, term)),
    }
}

/// Returns the polynomial `1 << by`.
fn power_of_two(terms: &mut Terms, by: Term) -> Polynomial {
    let width = terms.width(by);
    let one = terms.constant(Bits::new(width, 1));
    let power = terms.shl(one, by);
    match terms.bits(power) {
        Some(bits) if bits.is_zero() => Polynomial::new(),
        Some(bits) => Polynomial::from([(Vec::new(), bits)]),
        None => unknown(width, power),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bits::Sort;

    #[test]
    fn shared_products_do_not_explode() {
        let mut terms = Terms::new();
        let [mut x, mut y] = ["x", "y"].map(|name| terms.var(name, Sort::Bits(64)));
        let one = terms.number(64, 1);
        for _ in 0..200 {
            (x, y) = (terms.mul(x, x), terms.mul(y, y));
            (x, y) = (terms.add(x, one), terms.add(y, one));
        }
        assert!(!equal_polynomials(&mut terms, x, y));
    }

    #[test]
    fn distribution_and_shifts() {
        let mut terms = Terms::new();
        let [x, y, k] = ["x", "y", "k"].map(|name| terms.var(name, Sort::Bits(64)));
        let sum = terms.add(x, y);
        let square = terms.mul(sum, sum);
        let (xx, yy, xy) = (terms.mul(x, x), terms.mul(y, y), terms.mul(y, x));
        let twice = terms.add(xy, xy);
        let expected = terms.add(xx, yy);
        assert!(!equal_polynomials(&mut terms, square, expected));
        let expected = terms.add(expected, twice);
        assert!(equal_polynomials(&mut terms, square, expected));

        let left = terms.shl(sum, k);
        let (a, b) = (terms.shl(x, k), terms.shl(y, k));
        let right = terms.add(a, b);
        assert!(equal_polynomials(&mut terms, left, right));
    }
}
