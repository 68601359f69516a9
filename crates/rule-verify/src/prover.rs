//! Solvers and the order of tactics.

use crate::divide::without_divisions;
use crate::products::Products;
use crate::reduce::reduce;
use crate::split::pivot;
use kingpost_smt::{Answer, Backend, Model, Query, Solver, Substitution, Term, Terms, Value};
use std::ops::RangeInclusive;
use std::time::Duration;

/// Solvers that must agree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SolverChoice {
    /// Z3; cvc5 helps with what Z3 cannot decide, if it is installed.
    Z3,
    /// cvc5 alone.
    Cvc5,
    /// Z3, and cvc5 again for every proof of Z3.
    Both,
}

impl SolverChoice {
    /// Returns the programs without which nothing is decided.
    pub fn backends(self) -> &'static [Backend] {
        match self {
            SolverChoice::Z3 => &[Backend::Z3],
            SolverChoice::Cvc5 => &[Backend::Cvc5],
            SolverChoice::Both => &[Backend::Z3, Backend::Cvc5],
        }
    }
}

/// Options for judging rules.
#[derive(Clone, Debug)]
pub struct Options {
    /// Widths of integers without a stated width, in bits.
    pub widths: RangeInclusive<u32>,
    /// Solvers.
    pub solver: SolverChoice,
    /// Time limit of one rule.
    pub timeout: Duration,
}

impl Default for Options {
    fn default() -> Options {
        Options { widths: 1..=64, solver: SolverChoice::Z3, timeout: Duration::from_secs(60) }
    }
}

/// Whether a formula has a model.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Decision {
    /// None.
    Unsat,
    /// This one.
    Sat(Model),
    /// Not found out.
    Unknown(String),
}

/// Time that a solver may try before something else is tried.
const FIRST_TRY: Duration = Duration::from_millis(1200);
/// Time for a case of a distinction.
const CASE_TRY: Duration = Duration::from_millis(500);
/// Time for a solver with other methods.
const OTHER_TRY: Duration = Duration::from_secs(4);
/// Time for formulas that simplification has decided.
const WRITTEN_TRY: Duration = Duration::from_millis(300);
/// Distinctions within distinctions.
const MAX_SPLITS: u32 = 2;

/// A way to decide a formula.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Tactic {
    /// The first solver, for a short time.
    First,
    /// With quotients of products simplified.
    Products,
    /// Without divisions.
    Divide,
    /// By cases.
    Split,
    /// A solver with other methods, or with more time.
    Other(Backend),
}

const TACTICS: [Tactic; 7] = [
    Tactic::First,
    Tactic::Products,
    Tactic::Divide,
    Tactic::Split,
    Tactic::Other(Backend::Cvc5Integers),
    Tactic::Other(Backend::Cvc5),
    Tactic::Other(Backend::Z3),
];

/// Solver processes, used for one rule after the other.
#[derive(Debug)]
pub struct Prover {
    choice: SolverChoice,
    solvers: [Solver; 3],
    has_cvc5: bool,
    /// Processor time of the solvers at which the rule at hand is given up.
    limit: Duration,
    /// Tactic that decided an earlier formula of the rule that the first solver did not.
    preferred: Option<Tactic>,
    /// Whether it is counted what the solver refutes.
    counts: bool,
    refuted_by_solver: u32,
}

impl Prover {
    /// Starts nothing yet.
    pub fn new(choice: SolverChoice) -> Prover {
        let solvers = [Backend::Z3, Backend::Cvc5, Backend::Cvc5Integers].map(Solver::new);
        Prover {
            choice,
            solvers,
            has_cvc5: Backend::Cvc5.is_installed(),
            limit: Duration::ZERO,
            preferred: None,
            counts: false,
            refuted_by_solver: 0,
        }
    }

    /// Returns one solver without help from the other, and of which it is counted what it refutes.
    pub fn alone(backend: Backend) -> Prover {
        let choice = if backend == Backend::Z3 { SolverChoice::Z3 } else { SolverChoice::Cvc5 };
        Prover { has_cvc5: backend != Backend::Z3, counts: true, ..Prover::new(choice) }
    }

    fn used(&self) -> Duration {
        self.solvers.iter().map(Solver::used).sum()
    }

    /// Begins a rule that may take so long.
    pub(crate) fn begin(&mut self, timeout: Duration) {
        self.limit = self.used() + timeout;
        self.preferred = None;
        self.refuted_by_solver = 0;
    }

    /// Returns the number of formulas of the current rule that the solver itself has refuted.
    pub fn refuted_by_solver(&self) -> u32 {
        self.refuted_by_solver
    }

    /// Counts a formula that has no model. One that simplification decided is put to the solver as it was written: it
    /// may be unable to decide that, but not say that there is a model.
    pub(crate) fn count(&mut self, settled: bool, written: impl FnOnce() -> (Terms, Term)) -> Result<(), String> {
        if settled && self.counts {
            let (terms, formula) = written();
            match self.first(&terms, formula, WRITTEN_TRY) {
                Decision::Unsat => {}
                Decision::Unknown(_) => return Ok(()),
                Decision::Sat(_) => return Err("simplification and a solver disagree".to_string()),
            }
        }
        self.refuted_by_solver += 1;
        Ok(())
    }

    /// Decides a formula without quantifiers.
    pub(crate) fn decide(&mut self, terms: &mut Terms, formula: Term) -> Decision {
        let reduced = reduce(terms, formula);
        match self.tactics(terms, reduced.formula) {
            Decision::Sat(model) => Decision::Sat(reduced.complete(terms, model)),
            other => other,
        }
    }

    /// Decides a formula with one try of a solver, for cases where that is usually enough.
    pub(crate) fn decide_at_once(&mut self, terms: &mut Terms, formula: Term) -> Decision {
        let reduced = reduce(terms, formula);
        match self.first(terms, reduced.formula, FIRST_TRY) {
            Decision::Sat(model) => Decision::Sat(reduced.complete(terms, model)),
            other => other,
        }
    }

    /// Returns `true` if an earlier formula of the rule needed more than the first solver.
    pub(crate) fn is_hard(&self) -> bool {
        self.preferred.is_some()
    }

    /// Tries one tactic after the other; first the one that helped with the rule before.
    fn tactics(&mut self, terms: &mut Terms, formula: Term) -> Decision {
        let mut last = Decision::Unknown("timeout".to_string());
        for tactic in self.preferred.into_iter().chain(TACTICS) {
            last = self.apply(tactic, terms, formula);
            if !matches!(last, Decision::Unknown(_)) {
                if tactic != Tactic::First {
                    self.preferred = Some(tactic);
                }
                break;
            }
        }
        last
    }

    fn apply(&mut self, tactic: Tactic, terms: &mut Terms, formula: Term) -> Decision {
        match tactic {
            Tactic::First => self.first(terms, formula, FIRST_TRY),
            Tactic::Products => {
                let other = Products::default().simplify(terms, formula);
                self.refuted(terms, other)
            }
            Tactic::Divide => {
                let other = without_divisions(terms, formula);
                self.refuted(terms, other)
            }
            Tactic::Split => self.split(terms, formula, MAX_SPLITS),
            Tactic::Other(backend) => {
                let limit = if backend == Backend::Z3 { self.limit } else { OTHER_TRY };
                let answer = self.ask(backend, terms, &Query::new(formula), limit);
                self.second_opinion(terms, formula, answer)
            }
        }
    }

    /// Decides a formula by another of which only that it has no model says anything.
    fn refuted(&mut self, terms: &Terms, other: Option<Term>) -> Decision {
        match other.map(|other| self.first(terms, other, FIRST_TRY)) {
            Some(Decision::Unsat) => Decision::Unsat,
            _ => Decision::Unknown("timeout".to_string()),
        }
    }

    /// Decides by the first solver of the choice; both must agree that there is no model if both were chosen.
    fn first(&mut self, terms: &Terms, formula: Term, limit: Duration) -> Decision {
        let backend = if self.choice == SolverChoice::Cvc5 { Backend::Cvc5 } else { Backend::Z3 };
        let answer = self.ask(backend, terms, &Query::new(formula), limit);
        self.second_opinion(terms, formula, answer)
    }

    fn second_opinion(&mut self, terms: &Terms, formula: Term, answer: Decision) -> Decision {
        if self.choice != SolverChoice::Both || answer != Decision::Unsat || terms.value(formula).is_some() {
            return answer;
        }
        match self.ask(Backend::Cvc5, terms, &Query::new(formula), OTHER_TRY) {
            Decision::Sat(_) => Decision::Unknown("the solvers disagree".to_string()),
            other => other,
        }
    }

    /// Decides each case of a distinction.
    fn split(&mut self, terms: &mut Terms, formula: Term, depth: u32) -> Decision {
        let unknown = Decision::Unknown("timeout".to_string());
        let Some(pivot) = pivot(terms, formula).filter(|_| depth > 0) else { return unknown };
        let mut others = terms.bool(true);
        for value in pivot.values {
            let value = terms.constant(value);
            let differs = terms.ne(pivot.variable, value);
            others = terms.and(others, differs);
            let case = Substitution::new([(pivot.variable, value)]).apply(terms, formula);
            let reduced = reduce(terms, case);
            let mut decision = self.first(terms, reduced.formula, CASE_TRY);
            if let Decision::Unknown(_) = decision {
                decision = self.split(terms, reduced.formula, depth - 1);
            }
            match decision {
                Decision::Unsat => {}
                Decision::Unknown(_) => return unknown,
                Decision::Sat(model) => {
                    let mut model = reduced.complete(terms, model);
                    let name = terms.name(pivot.variable).unwrap_or_default();
                    model.set(name, terms.value(value).unwrap_or(Value::Bool(false)));
                    return Decision::Sat(model);
                }
            }
        }
        if pivot.exhaustive {
            return Decision::Unsat;
        }
        let rest = terms.and(formula, others);
        let reduced = reduce(terms, rest);
        match self.first(terms, reduced.formula, FIRST_TRY) {
            Decision::Sat(model) => Decision::Sat(reduced.complete(terms, model)),
            other => other,
        }
    }

    /// Decides a query with a quantifier.
    pub(crate) fn decide_quantified(&mut self, terms: &Terms, query: &Query) -> Decision {
        let first = self.ask(Backend::Cvc5, terms, query, OTHER_TRY);
        match first {
            Decision::Unknown(_) => self.ask(Backend::Z3, terms, query, OTHER_TRY),
            other => other,
        }
    }

    /// Queries one solver.
    fn ask(&mut self, backend: Backend, terms: &Terms, query: &Query, limit: Duration) -> Decision {
        if let Some(value) = terms.value(query.assertion) {
            return if value.is_true() { Decision::Sat(Model::default()) } else { Decision::Unsat };
        }
        let left = self.limit.saturating_sub(self.used());
        let is_chosen = match backend {
            Backend::Z3 => self.choice != SolverChoice::Cvc5,
            Backend::Cvc5 | Backend::Cvc5Integers => self.has_cvc5,
        };
        if left.is_zero() || !is_chosen {
            return Decision::Unknown("timeout".to_string());
        }
        match self.solvers[backend as usize].check(terms, query, left.min(limit)) {
            Ok(Answer::Unsat) => Decision::Unsat,
            Ok(Answer::Sat(model)) => Decision::Sat(model),
            Ok(Answer::Unknown) => Decision::Unknown("timeout".to_string()),
            Err(error) => Decision::Unknown(error.to_string()),
        }
    }
}
