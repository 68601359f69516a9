//! Case distinction on one variable: an amount of shifts, or a value that has one bit set according to the formula.
//! A shift by a constant amount only rewires bits, and a division by a power of two is a shift.

use crate::reduce::conjuncts;
use kingpost_smt::{Bits, Node, Op, Term, Terms};

/// Maximum width of variables that are split.
const MAX_WIDTH: u32 = 128;

/// A variable and the values that it is likely to have.
#[derive(Clone, Debug)]
pub(crate) struct Pivot {
    pub(crate) variable: Term,
    pub(crate) values: Vec<Bits>,
    /// Whether the variable has no other value in any model of the formula.
    pub(crate) exhaustive: bool,
}

/// Returns the variable to split on: a power of two if there is one, or else the most frequent shift amount.
pub(crate) fn pivot(terms: &Terms, formula: Term) -> Option<Pivot> {
    // A conjunct holds in every model, so that no other value is possible.
    let conjuncts = conjuncts(terms, formula);
    if let Some(variable) = conjuncts.iter().find_map(|&term| power_of_two(terms, term)) {
        return Some(powers(terms, variable, true));
    }
    let cone = terms.cone(&[formula]);
    if let Some(variable) = cone.iter().find_map(|&term| power_of_two(terms, term)) {
        return Some(powers(terms, variable, false));
    }
    let mut amounts: Vec<(Term, usize)> = Vec::new();
    for &term in &cone {
        if let Node::Binary(Op::Shl | Op::Lshr | Op::Ashr, _, by) = terms.node(term) {
            for variable in terms.variables_of(&[by]) {
                match amounts.iter_mut().find(|(other, _)| *other == variable) {
                    Some((_, count)) => *count += 1,
                    None => amounts.push((variable, 1)),
                }
            }
        }
    }
    let fits = |variable: Term| terms.bits_width(variable).is_some_and(|width| width <= MAX_WIDTH);
    let (variable, _) = amounts.into_iter().filter(|&(variable, _)| fits(variable)).max_by_key(|&(_, count)| count)?;
    let width = terms.width(variable);
    let values = (0..=MAX_WIDTH).take_while(|&value| value == 0 || value.ilog2() < width);
    let values = values.map(|value| Bits::new(width, u128::from(value))).collect();
    Some(Pivot { variable, values, exhaustive: false })
}

/// Returns the pivot for a variable with at most one bit set.
fn powers(terms: &Terms, variable: Term, exhaustive: bool) -> Pivot {
    let width = terms.width(variable);
    let mut values: Vec<Bits> = (0..width).map(|bit| Bits::new(width, 1 << bit)).collect();
    values.push(Bits::new(width, 0));
    Pivot { variable, values, exhaustive }
}

/// Returns `x` if the term is `x & (x - 1) = 0` and `x` is a variable.
fn power_of_two(terms: &Terms, term: Term) -> Option<Term> {
    let Node::Binary(Op::Eq, a, b) = terms.node(term) else { return None };
    let masked = if terms.bits(a).is_some_and(Bits::is_zero) { b } else { a };
    let Node::Binary(Op::BitAnd, x, y) = terms.node(masked) else { return None };
    let less_one = |sum: Term, x: Term| match terms.node(sum) {
        Node::Binary(Op::Add, base, one) => base == x && terms.bits(one).is_some_and(Bits::is_ones),
        _ => false,
    };
    let pairs = [(x, y), (y, x)];
    let (variable, _) = pairs.into_iter().find(|&(x, sum)| less_one(sum, x))?;
    let fits = terms.bits_width(variable).is_some_and(|width| width <= MAX_WIDTH);
    (fits && matches!(terms.node(variable), Node::Var(_))).then_some(variable)
}
