//! Divisions by their definition: a dividend is quotient times divisor plus remainder.
//!
//! For each dividend and divisor there are fresh `q` and `r` with `x = q * y + r`, modulo 2^width, whatever the divisor is
//! (SMT-LIB's values for a zero divisor satisfy it too). A dividend that is a variable is replaced by the sum; what is left
//! are polynomials. What is known besides: the remainder is smaller than the divisor, and the product does not wrap.
//!
//! The result may have more models than the formula: only that it has none says anything.

use crate::reduce::reduce;
use crate::wrap::Sign;
use kingpost_smt::{Bits, Node, Op, Substitution, Term, Terms};

/// Formulas with more different divisions are left alone.
const MAX_DIVISIONS: usize = 6;

/// A dividend and a divisor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Division {
    sign: Sign,
    x: Term,
    y: Term,
}

impl Division {
    fn of(terms: &Terms, term: Term) -> Option<Division> {
        let Node::Binary(op, x, y) = terms.node(term) else { return None };
        let sign = match op {
            Op::Udiv | Op::Urem => Sign::Unsigned,
            Op::Sdiv | Op::Srem => Sign::Signed,
            _ => return None,
        };
        terms.bits(y).is_none().then_some(Division { sign, x, y })
    }

    fn quotient_and_rest(self) -> [Op; 2] {
        match self.sign {
            Sign::Unsigned => [Op::Udiv, Op::Urem],
            Sign::Signed => [Op::Sdiv, Op::Srem],
        }
    }
}

/// The formula without its divisions, if it has any.
pub(crate) fn without_divisions(terms: &mut Terms, formula: Term) -> Option<Term> {
    let mut formula = formula;
    let mut known: Vec<[Term; 3]> = Vec::new();
    for round in 0..=MAX_DIVISIONS {
        formula = reduce(terms, formula).formula;
        formula = exact_quotients(terms, formula, &known);
        let cone = terms.cone(&[formula]);
        let Some(division) = cone.iter().find_map(|&term| Division::of(terms, term)) else {
            return (round > 0).then_some(formula);
        };
        if round == MAX_DIVISIONS {
            break;
        }
        formula = define(terms, formula, division, &mut known);
    }
    None
}

/// Replaces one division by its definition. `known` gets quotient, divisor and their product.
fn define(terms: &mut Terms, formula: Term, division: Division, known: &mut Vec<[Term; 3]>) -> Term {
    let Division { sign, x, y } = division;
    let sort = terms.sort(x);
    let (q, r) = (terms.fresh("quotient", sort), terms.fresh("rest", sort));
    let product = terms.mul(q, y);
    let sum = terms.add(product, r);
    let [quotient, rest] = division.quotient_and_rest().map(|op| terms.binary(op, x, y));
    let mut replaced = vec![(quotient, q), (rest, r)];
    let is_variable = matches!(terms.node(x), Node::Var(_)) && !terms.variables_of(&[y]).contains(&x);
    if is_variable {
        replaced.push((x, sum));
    }
    let formula = Substitution::new(replaced).apply(terms, formula);
    let equal = if is_variable { terms.bool(true) } else { terms.eq(x, sum) };
    let small = rest_is_small(terms, sign, r, y);
    known.push([q, y, product]);
    terms.all([formula, equal, small])
}

/// The remainder is smaller than a divisor that is not zero.
fn rest_is_small(terms: &mut Terms, sign: Sign, r: Term, y: Term) -> Term {
    let width = terms.width(y);
    let zero = terms.number(width, 0);
    let none = terms.eq(y, zero);
    let [r, y] = [r, y].map(|term| if sign == Sign::Signed { magnitude(terms, term) } else { term });
    let less = terms.ult(r, y);
    terms.or(none, less)
}

fn magnitude(terms: &mut Terms, term: Term) -> Term {
    let width = terms.width(term);
    let zero = terms.number(width, 0);
    let negative = terms.slt(term, zero);
    let minus = terms.neg(term);
    terms.ite(negative, minus, term)
}

/// `(q * y) / y` is `q` and leaves nothing, where `q` is a quotient by `y` and so the product does not wrap.
fn exact_quotients(terms: &mut Terms, formula: Term, known: &[[Term; 3]]) -> Term {
    let mut replaced = Vec::new();
    for term in terms.cone(&[formula]) {
        let Some(division) = Division::of(terms, term) else { continue };
        let exact = known.iter().find(|[_, y, product]| *y == division.y && *product == division.x);
        let Some(&[q, y, _]) = exact else { continue };
        let [quotient, rest] = division.quotient_and_rest().map(|op| terms.binary(op, division.x, y));
        let width = terms.width(y);
        let zero = terms.number(width, 0);
        let none = terms.eq(y, zero);
        // By zero: all ones, as the dividend is zero then.
        let ones = terms.constant(Bits::ones(width));
        let value = terms.ite(none, ones, q);
        replaced.extend([(quotient, value), (rest, zero)]);
    }
    if replaced.is_empty() { formula } else { Substitution::new(replaced).apply(terms, formula) }
}
