//! Simplification of formulas before a solver sees them: conjuncts are assumed in the remaining formula, variables
//! that a conjunct defines are replaced, and equalities of equal polynomials become true.

use kingpost_smt::{Evaluator, Model, Node, Op, Sort, Substitution, Term, Terms, equal_polynomials};

/// Maximum number of rounds of propagation.
const ROUNDS: usize = 8;

/// A formula with equal models, except for the replaced variables.
#[derive(Clone, Debug)]
pub(crate) struct Reduced {
    pub(crate) formula: Term,
    /// Variables and their replacements, in the order of replacement.
    replaced: Vec<(Term, Term)>,
}

impl Reduced {
    /// Returns a model of the original formula, from one of the reduced formula.
    pub(crate) fn complete(&self, terms: &Terms, mut model: Model) -> Model {
        for &(variable, value) in self.replaced.iter().rev() {
            let value = Evaluator::new(terms, &[value], &model).value(value);
            model.set(terms.name(variable).unwrap_or_default(), value);
        }
        model
    }
}

/// Reduces a formula.
pub(crate) fn reduce(terms: &mut Terms, formula: Term) -> Reduced {
    let mut reduced = Reduced { formula, replaced: Vec::new() };
    for _ in 0..ROUNDS {
        let before = reduced.formula;
        reduced.formula = equal_by_polynomials(terms, reduced.formula);
        propagate(terms, &mut reduced);
        if reduced.formula == before {
            break;
        }
    }
    reduced
}

/// Returns the conjuncts of a formula.
pub(crate) fn conjuncts(terms: &Terms, formula: Term) -> Vec<Term> {
    let mut parts = Vec::new();
    let mut work = vec![formula];
    while let Some(next) = work.pop() {
        match terms.node(next) {
            Node::Binary(Op::And, a, b) => work.extend([b, a]),
            _ if parts.contains(&next) => {}
            _ => parts.push(next),
        }
    }
    parts
}

fn equal_by_polynomials(terms: &mut Terms, formula: Term) -> Term {
    let mut equal = Vec::new();
    for term in terms.cone(&[formula]) {
        if let Node::Binary(Op::Eq, a, b) = terms.node(term)
            && terms.sort(a) != Sort::Bool
            && equal_polynomials(terms, a, b)
        {
            equal.push((term, terms.bool(true)));
        }
    }
    if equal.is_empty() { formula } else { Substitution::new(equal).apply(terms, formula) }
}

/// Uses each conjunct in all other conjuncts.
fn propagate(terms: &mut Terms, reduced: &mut Reduced) {
    for part in conjuncts(terms, reduced.formula) {
        if let Some((variable, value)) = definition(terms, part) {
            reduced.formula = Substitution::new([(variable, value)]).apply(terms, reduced.formula);
            reduced.replaced.push((variable, value));
            return;
        }
    }
    // Atoms are assumed in all other conjuncts, and in atoms that contain them. A part has a smaller number than
    // the whole, so that no atom is replaced in itself.
    let (atoms, others): (Vec<Term>, Vec<Term>) =
        conjuncts(terms, reduced.formula).into_iter().partition(|&part| is_atom(terms, part));
    let known: Vec<(Term, Term)> = atoms.iter().map(|&atom| assumed(terms, atom)).collect();
    let mut known = Substitution::new(known);
    let atoms: Vec<Term> = atoms.into_iter().map(|atom| within(terms, &mut known, atom)).collect();
    let others = terms.all(others);
    let others = known.apply(terms, others);
    let atoms = terms.all(atoms);
    reduced.formula = terms.and(atoms, others);
}

/// Returns an atom with a substitution applied to its operands.
fn within(terms: &mut Terms, known: &mut Substitution, atom: Term) -> Term {
    match terms.node(atom) {
        Node::Unary(Op::Not, inner) => {
            let inner = within(terms, known, inner);
            terms.not(inner)
        }
        Node::Binary(op, a, b) => {
            let (a, b) = (known.apply(terms, a), known.apply(terms, b));
            terms.binary(op, a, b)
        }
        _ => atom,
    }
}

/// Returns the formula that a conjunct asserts or negates, and its truth value.
fn assumed(terms: &mut Terms, part: Term) -> (Term, Term) {
    match terms.node(part) {
        Node::Unary(Op::Not, inner) => (inner, terms.bool(false)),
        _ => (part, terms.bool(true)),
    }
}

fn is_atom(terms: &Terms, part: Term) -> bool {
    match terms.node(part) {
        Node::Unary(Op::Not, inner) => is_atom(terms, inner),
        Node::Binary(Op::Or | Op::And, ..) => false,
        _ => true,
    }
}

/// Returns a variable that a conjunct equates with a term without that variable, and the term.
fn definition(terms: &mut Terms, part: Term) -> Option<(Term, Term)> {
    match terms.node(part) {
        Node::Var(_) => Some((part, terms.bool(true))),
        Node::Unary(Op::Not, inner) if matches!(terms.node(inner), Node::Var(_)) => Some((inner, terms.bool(false))),
        Node::Binary(Op::Eq, a, b) => {
            let is_free = |variable: Term, value: Term| {
                matches!(terms.node(variable), Node::Var(_)) && !terms.variables_of(&[value]).contains(&variable)
            };
            let pairs = [(a, b), (b, a)];
            pairs.into_iter().find(|&(variable, value)| is_free(variable, value))
        }
        _ => None,
    }
}
