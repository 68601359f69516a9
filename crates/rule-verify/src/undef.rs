//! Formulas with a choice: is there a model such that every choice of the source's undefined values satisfies the formula?
//!
//! Counterexample-guided: the formula is instantiated with finitely many choices, first with those that usually explain the
//! target (its own undefined values, its result, zero), as terms over the other variables; a model of all instances is
//! tested against all choices, and a choice that refutes it becomes the next instance. If the instances have no model, there
//! is none. What this does not decide in a few rounds is left to the solver's own quantifiers.

use crate::condition::Check;
use crate::prover::{Decision, Prover};
use kingpost_smt::{Model, Query, Sort, Substitution, Term, Terms, Value};

/// Instances before the quantified query.
const ROUNDS: usize = 12;

impl Prover {
    /// Decides a check whose formula has choices.
    pub(crate) fn decide_choices(&mut self, terms: &mut Terms, check: &Check, choices: &[Term]) -> Decision {
        let mut instances = terms.bool(true);
        for witness in witnesses(terms, check, choices) {
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
        self.query(terms, &Query { assertion: check.formula, universal: choices.to_vec() })
    }

    /// A choice for which a model does not satisfy the formula.
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

/// Choices that are likely to explain the target.
fn witnesses(terms: &mut Terms, check: &Check, choices: &[Term]) -> Vec<Vec<(Term, Term)>> {
    let mut all = Vec::new();
    for constant in [0, u128::MAX] {
        let mut each = |&choice: &Term| {
            let width = terms.width(choice);
            (choice, terms.number(width, constant))
        };
        all.push(choices.iter().map(&mut each).collect());
    }
    all.push(choices.iter().map(|&choice| (choice, same_in_target(terms, choice))).collect());
    let Some([source, target]) = check.values else { return all };
    // What makes the source's value the target's, if the choice is added or exclusively or-ed to the rest.
    let zero: Vec<(Term, Term)> = choices.iter().map(|&choice| (choice, zero_like(terms, choice))).collect();
    let rest = Substitution::new(zero).apply(terms, source);
    for value in [target, terms.sub(target, rest), terms.bit_xor(target, rest)] {
        let fitting = |&choice: &Term| {
            let fits = terms.sort(choice) == terms.sort(value);
            (choice, if fits { value } else { zero_like(terms, choice) })
        };
        all.push(choices.iter().map(fitting).collect());
    }
    // A witness may not depend on what is being chosen.
    all.retain(|witness| {
        let values: Vec<Term> = witness.iter().map(|&(_, value)| value).collect();
        terms.variables_of(&values).iter().all(|variable| !choices.contains(variable))
    });
    all
}

fn zero_like(terms: &mut Terms, choice: Term) -> Term {
    let width = terms.width(choice);
    terms.number(width, 0)
}

/// The target's undefined value of the same position and width.
fn same_in_target(terms: &mut Terms, choice: Term) -> Term {
    let name = terms.name(choice).unwrap_or_default().replacen(".source.", ".target.", 1);
    let Sort::Bits(width) = terms.sort(choice) else { unreachable!("undefined values are bit-vectors") };
    terms.existing(&name, Sort::Bits(width)).unwrap_or_else(|| terms.number(width, 0))
}
