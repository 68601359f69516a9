//! Divisions by definition: a dividend is quotient times divisor plus remainder.
//!
//! For each dividend and divisor there are fresh variables `q` and `r` with `x = q * y + r`, modulo 2^width, for
//! every divisor. SMT-LIB's values for a zero divisor satisfy this, too. A dividend that is a variable is replaced
//! by the sum. The result consists of polynomials. Two more facts are added: the remainder is smaller than the
//! divisor, and the product does not wrap.
//!
//! The result may have more models than the formula. Only the absence of models carries over.

use crate::products::{Products, minimum_by_minus_one};
use crate::reduce::{conjuncts, reduce};
use crate::wrap::Sign;
use kingpost_smt::{Bits, Node, Op, Substitution, Term, Terms};

/// Maximum number of different divisions in a formula.
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

/// Returns the formula without its divisions, if it has any.
pub(crate) fn without_divisions(terms: &mut Terms, formula: Term) -> Option<Term> {
    let mut formula = formula;
    let mut known: Vec<[Term; 3]> = Vec::new();
    let mut products = Products::default();
    for round in 0..=MAX_DIVISIONS {
        formula = reduce(terms, formula).formula;
        formula = exact_quotients(terms, formula, &known);
        formula = products.simplify(terms, formula).unwrap_or(formula);
        let Some(division) = first_division(terms, formula) else {
            return (round > 0).then_some(formula);
        };
        if round == MAX_DIVISIONS {
            break;
        }
        formula = define(terms, formula, division, &mut known);
        if let Some(&[q, y, _]) = known.last() {
            let always = terms.bool(true);
            let fits = if division.sign == Sign::Signed { minimum_by_minus_one(terms, q, y) } else { always };
            products.note(terms, division.sign, [q, y], fits);
        }
    }
    None
}

/// Returns the division to define first: one that leaves no remainder, or else one whose dividend is a variable,
/// which the sum then replaces, or else any.
fn first_division(terms: &Terms, formula: Term) -> Option<Division> {
    let exact = |term: Term| match terms.node(term) {
        Node::Binary(Op::Eq, a, b) => match (terms.bits(a), terms.node(b)) {
            (Some(zero), Node::Binary(Op::Urem | Op::Srem, ..)) if zero.is_zero() => Division::of(terms, b),
            _ => None,
        },
        _ => None,
    };
    if let Some(division) = conjuncts(terms, formula).into_iter().find_map(exact) {
        return Some(division);
    }
    let divisions = || terms.cone(&[formula]).into_iter().filter_map(|term| Division::of(terms, term));
    divisions().find(|division| matches!(terms.node(division.x), Node::Var(_))).or_else(|| divisions().next())
}

/// Replaces one division by its definition. Adds quotient, divisor and their product to `known`.
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

/// Returns a term that holds if the remainder is smaller than the divisor, or the divisor is zero.
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

/// Replaces `(q * y) / y` by `q`, and its remainder by zero, if `q` is a quotient by `y`. The product does not wrap
/// then.
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
        // A quotient by zero is all ones, because the dividend is zero then.
        let ones = terms.constant(Bits::ones(width));
        let value = terms.ite(none, ones, q);
        replaced.extend([(quotient, value), (rest, zero)]);
    }
    if replaced.is_empty() { formula } else { Substitution::new(replaced).apply(terms, formula) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wrap;
    use kingpost_rules::InstOp;
    use kingpost_smt::Sort;

    /// Checks that `(x * b) / c = x / (c / b)` is proved if `b` divides `c` and the product does not wrap.
    #[test]
    fn quotients_of_multiples_need_no_solver() {
        let mut terms = Terms::new();
        let [x, b, c] = ["x", "b", "c"].map(|name| terms.var(name, Sort::Bits(64)));
        let fits = wrap::fits(&mut terms, InstOp::Mul, Sign::Unsigned, x, b);
        let zero = terms.number(64, 0);
        let some = terms.ne(c, zero);
        let remainder = terms.urem(c, b);
        let exact = terms.eq(remainder, zero);
        let product = terms.mul(x, b);
        let left = terms.udiv(product, c);
        let quotient = terms.udiv(c, b);
        let right = terms.udiv(x, quotient);
        let differs = terms.ne(left, right);
        let formula = terms.all([fits, some, exact, differs]);
        let decided = without_divisions(&mut terms, formula).and_then(|formula| terms.value(formula));
        assert!(decided.is_some_and(|value| !value.is_true()));
    }
}
