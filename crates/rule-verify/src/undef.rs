//! Formulas with choices: decides whether a model exists such that every choice of the source's undefined values
//! satisfies the formula.
//!
//! The search is guided by counterexamples. The formula is instantiated with finitely many choices, as terms over
//! the other variables. The first choices are those that usually explain the target: its own undefined values, its
//! result, and zero. A model of all instances is tested against all choices, and a choice that refutes it becomes
//! the next instance. If the instances have no model, the formula has none. A formula that is not decided in a few
//! rounds is left to the solver's quantifiers.

use crate::condition::Check;
use crate::prover::{Decision, Prover};
use kingpost_smt::{Model, Node, Op, Query, Sort, Substitution, Term, Terms, Value};

/// Maximum number of instances before the quantified query.
const ROUNDS: usize = 12;
/// Maximum depth to which a value is searched for choices.
const MAX_DEPTH: u32 = 24;

impl Prover {
    /// Decides a check whose formula has choices.
    pub(crate) fn decide_choices(
        &mut self,
        terms: &mut Terms,
        check: &Check,
        choices: &[Term],
        explanations: &[(Term, Term)],
    ) -> Decision {
        let mut instances = terms.bool(true);
        for witness in witnesses(terms, check, choices, explanations) {
            let instance = Substitution::new(witness).apply(terms, check.formula);
            instances = terms.and(instances, instance);
        }
        for _ in 0..ROUNDS {
            let model = match self.decide(terms, instances) {
                Decision::Sat(model) => model,
                other => return other,
            };
            match self.refutation(terms, check.formula, choices, &model) {
                Ok(Some(choice)) => {
                    let instance = Substitution::new(choice).apply(terms, check.formula);
                    instances = terms.and(instances, instance);
                }
                Ok(None) => return Decision::Sat(model),
                Err(reason) => return Decision::Unknown(reason),
            }
        }
        self.decide_quantified(terms, &Query { assertion: check.formula, universal: choices.to_vec() })
    }

    /// Returns a choice for which a model does not satisfy the formula.
    fn refutation(
        &mut self,
        terms: &mut Terms,
        formula: Term,
        choices: &[Term],
        model: &Model,
    ) -> Result<Option<Vec<(Term, Term)>>, String> {
        let mut fixed = Vec::new();
        for variable in terms.variables_of(&[formula]) {
            if !choices.contains(&variable) {
                let value = value_of(terms, variable, model);
                fixed.push((variable, terms.constant_of(value)));
            }
        }
        let formula = Substitution::new(fixed).apply(terms, formula);
        let refuted = terms.not(formula);
        match self.decide(terms, refuted) {
            Decision::Unsat => Ok(None),
            Decision::Unknown(reason) => Err(reason),
            Decision::Sat(choice) => {
                let pairs = choices.iter().map(|&variable| {
                    let value = value_of(terms, variable, &choice);
                    (variable, terms.constant_of(value))
                });
                Ok(Some(pairs.collect()))
            }
        }
    }
}

fn value_of(terms: &Terms, variable: Term, model: &Model) -> Value {
    let named = terms.name(variable).and_then(|name| model.get(name));
    named.unwrap_or(Value::zero(terms.sort(variable)))
}

/// Returns the choices that are likely to explain the target: constants, the target's own choices, and choices that
/// make both values equal.
fn witnesses(
    terms: &mut Terms,
    check: &Check,
    choices: &[Term],
    explanations: &[(Term, Term)],
) -> Vec<Vec<(Term, Term)>> {
    let mut all: Vec<Vec<(Term, Term)>> = Vec::new();
    for constant in [0, u128::MAX] {
        let mut each = |&choice: &Term| {
            let width = terms.width(choice);
            (choice, terms.number(width, constant))
        };
        all.push(choices.iter().map(&mut each).collect());
    }
    let explained = |&choice: &Term| {
        let in_memory = explanations.iter().find(|(value, _)| *value == choice);
        (choice, in_memory.map_or_else(|| same_in_target(terms, choice), |&(_, there)| there))
    };
    all.push(choices.iter().map(explained).collect());
    if let Some([source, target]) = check.values {
        let mut solved = Vec::new();
        solve(terms, source, target, choices, MAX_DEPTH, &mut solved);
        let found = |&choice: &Term| {
            let value = solved.iter().find(|(variable, _)| *variable == choice);
            (choice, value.map_or_else(|| zero_like(terms, choice), |&(_, value)| value))
        };
        all.push(choices.iter().map(found).collect());
    }
    // A witness may not depend on the variables that are chosen.
    all.retain(|witness| {
        let values: Vec<Term> = witness.iter().map(|&(_, value)| value).collect();
        terms.variables_of(&values).iter().all(|variable| !choices.contains(variable))
    });
    all
}

/// Finds values of the choices that make `term` equal to `goal`, by inverting operations. If several choices could
/// achieve that, the first one does. The values are only candidates, which are tested later.
fn solve(terms: &mut Terms, term: Term, goal: Term, choices: &[Term], depth: u32, solved: &mut Vec<(Term, Term)>) {
    if depth == 0 || !terms.variables_of(&[term]).iter().any(|variable| choices.contains(variable)) {
        return;
    }
    if let Node::Var(_) = terms.node(term) {
        if !solved.iter().any(|(variable, _)| *variable == term) {
            solved.push((term, goal));
        }
        return;
    }
    let mut go = |terms: &mut Terms, term: Term, goal: Term| solve(terms, term, goal, choices, depth - 1, solved);
    match terms.node(term) {
        Node::Ternary(Op::Ite, _, a, b) => {
            go(terms, b, goal);
            go(terms, a, goal);
        }
        Node::Binary(Op::Concat, high, low) => {
            let (low_width, high_width) = (terms.width(low), terms.width(high));
            let part = terms.extract(goal, low_width, high_width);
            go(terms, high, part);
            let part = terms.extract(goal, 0, low_width);
            go(terms, low, part);
        }
        Node::Unary(Op::Extract { low }, inner) => {
            let width = terms.width(inner);
            let wide = terms.zero_extend(goal, width);
            let by = terms.number(width, u128::from(low));
            let placed = terms.shl(wide, by);
            go(terms, inner, placed);
        }
        Node::Unary(Op::Neg, a) => {
            let goal = terms.neg(goal);
            go(terms, a, goal);
        }
        Node::Unary(Op::BitNot, a) => {
            let goal = terms.bit_not(goal);
            go(terms, a, goal);
        }
        Node::Binary(op @ (Op::Add | Op::BitXor), a, b) => {
            for (one, other) in [(a, b), (b, a)] {
                let goal = if op == Op::Add { terms.sub(goal, other) } else { terms.bit_xor(goal, other) };
                go(terms, one, goal);
            }
        }
        Node::Binary(Op::BitAnd | Op::BitOr, a, b) => {
            go(terms, a, goal);
            go(terms, b, goal);
        }
        _ => {}
    }
}

fn zero_like(terms: &mut Terms, choice: Term) -> Term {
    let width = terms.width(choice);
    terms.number(width, 0)
}

/// Returns the target's undefined value with the position and width of `choice`, or zero if there is none.
fn same_in_target(terms: &mut Terms, choice: Term) -> Term {
    let name = terms.name(choice).unwrap_or_default().replacen(".source.", ".target.", 1);
    let Sort::Bits(width) = terms.sort(choice) else { unreachable!("undefined values are bit-vectors") };
    terms.existing(&name, Sort::Bits(width)).unwrap_or_else(|| terms.number(width, 0))
}
