//! Judgment of a rule at all typings, and the verdict.

use crate::condition::{Check, conditions, source_choices};
use crate::counterexample::{Counterexample, replay};
use crate::divide::without_divisions;
use crate::prover::{Decision, Options, Prover};
use crate::reduce::reduce;
use kingpost_rules::scope::{self, Scopes};
use kingpost_rules::types::{Typing, Typings};
use kingpost_rules::{Rule, RuleError};
use kingpost_smt::{Model, Terms};

/// Verdict on a rule.
#[derive(Clone, PartialEq, Debug)]
pub enum Verdict {
    /// Proved at every typing.
    Correct,
    /// Refuted.
    Wrong(Box<Counterexample>),
    /// Neither proved nor refuted, with the reason.
    Unknown(String),
    /// The rule makes no sense.
    Error(RuleError),
}

/// Result of a rule at one typing.
enum Judged {
    Holds,
    Fails(Box<Counterexample>),
    Undecided(String),
}

/// Judges a rule.
pub fn check(rule: &Rule, options: &Options, prover: &mut Prover) -> Verdict {
    prover.begin(options.timeout);
    run(rule, options, prover).unwrap_or_else(Verdict::Error)
}

fn run(rule: &Rule, options: &Options, prover: &mut Prover) -> Result<Verdict, RuleError> {
    let scopes = scope::check(rule)?;
    let typings = Typings::infer(rule, options.widths.clone())?;
    for typing in typings.iter() {
        match judge(rule, &scopes, typing, prover)? {
            Judged::Holds => {}
            Judged::Fails(counterexample) => return Ok(Verdict::Wrong(counterexample)),
            Judged::Undecided(reason) => {
                let at = match typing.largest() {
                    0 => String::new(),
                    width => format!(" at i{width}"),
                };
                return Ok(Verdict::Unknown(format!("{reason}{at}")));
            }
        }
    }
    Ok(Verdict::Correct)
}

/// Judges a rule at one typing. Tries all simple checks at once first, and then decides each open check by itself.
fn judge(rule: &Rule, scopes: &Scopes<'_>, typing: Typing<'_>, prover: &mut Prover) -> Result<Judged, RuleError> {
    let mut terms = Terms::new();
    let conditions = conditions(&mut terms, rule, scopes, typing)?;
    let mut open: Vec<Check> = conditions.checks.into_iter().filter(|check| !is_decided(&mut terms, check)).collect();
    let is_simple = |terms: &Terms, check: &Check| source_choices(terms, check.formula).is_empty();
    let simple: Vec<_> = open.iter().filter(|check| is_simple(&terms, check)).map(|check| check.formula).collect();
    if simple.len() > 1 && !prover.is_hard() {
        let any = terms.any(simple);
        if prover.decide_at_once(&mut terms, any) == Decision::Unsat {
            open.retain(|check| !is_simple(&terms, check));
        }
    }
    for check in &open {
        let choices = source_choices(&terms, check.formula);
        let decision = if choices.is_empty() {
            prover.decide(&mut terms, check.formula)
        } else {
            prover.decide_choices(&mut terms, check, &choices, &conditions.explanations)
        };
        match decision {
            Decision::Unsat => {}
            Decision::Unknown(reason) => return Ok(Judged::Undecided(reason)),
            Decision::Sat(model) => return Ok(confirmed(rule, scopes, typing, check, &model)),
        }
    }
    Ok(Judged::Holds)
}

/// Returns `true` if a check needs no solver.
fn is_decided(terms: &mut Terms, check: &Check) -> bool {
    let is_false = |terms: &Terms, formula| terms.value(formula).is_some_and(|value| !value.is_true());
    let reduced = reduce(terms, check.formula).formula;
    is_false(terms, reduced) || without_divisions(terms, reduced).is_some_and(|formula| is_false(terms, formula))
}

fn confirmed(rule: &Rule, scopes: &Scopes<'_>, typing: Typing<'_>, check: &Check, model: &Model) -> Judged {
    match replay(rule, scopes, typing, check, model) {
        Some(counterexample) => Judged::Fails(Box::new(counterexample)),
        None => Judged::Undecided(format!("the counterexample to {} is none when evaluated", check.kind.name())),
    }
}
