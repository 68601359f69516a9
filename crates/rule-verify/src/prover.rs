//! Solvers and the order of tactics.

use crate::divide::without_divisions;
use crate::products::Products;
use crate::reduce::reduce;
use crate::split::pivot;
use kingpost_smt::{Answer, Backend, Model, Query, Solver, Substitution, Term, Terms, Value};
use std::ops::RangeInclusive;
use std::time::Duration;

/// Choice of solvers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SolverChoice {
    /// Z3. If cvc5 is installed, it assists with formulas that Z3 cannot decide.
    Z3,
    /// cvc5 alone.
    Cvc5,
    /// Z3, and cvc5 to confirm every proof of Z3.
    Both,
}

impl SolverChoice {
    /// Returns the programs that are required.
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
#[non_exhaustive]
pub struct Options {
    /// Widths of integers without a stated width, in bits.
    pub widths: RangeInclusive<u32>,
    /// Solvers.
    pub solver: SolverChoice,
    /// Time limit of one rule.
    pub timeout: Duration,
}

impl Options {
    /// Returns the options after `change`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Options)) -> Options {
        change(&mut self);
        self
    }
}

impl Default for Options {
    fn default() -> Options {
        Options { widths: 1..=64, solver: SolverChoice::Z3, timeout: Duration::from_secs(60) }
    }
}

/// Decision whether a formula has a model.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Decision {
    /// It has no model.
    Unsat,
    /// It has this model.
    Sat(Model),
    /// Not decided, with the reason.
    Unknown(String),
}

/// Time limit of the first solver, before other tactics are tried.
const FIRST_TRY: Duration = Duration::from_millis(1200);
/// Time limit of one case of a case distinction.
const CASE_TRY: Duration = Duration::from_millis(500);
/// Time limit of a solver with other methods.
const OTHER_TRY: Duration = Duration::from_secs(4);
/// Time limit of formulas that simplification has decided.
const WRITTEN_TRY: Duration = Duration::from_millis(300);
/// Maximum nesting of case distinctions.
const MAX_SPLITS: u32 = 2;

/// A way to decide a formula.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Tactic {
    /// The first solver, with a short time limit.
    First,
    /// Simplification of quotients of products.
    Products,
    /// Elimination of divisions.
    Divide,
    /// Case distinction.
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

/// Solver processes, reused from rule to rule.
#[derive(Debug)]
pub struct Prover {
    choice: SolverChoice,
    solvers: [Solver; 3],
    has_cvc5: bool,
    /// Processor time of the solvers at which the current rule is given up.
    limit: Duration,
    /// Tactic that decided an earlier formula of the rule after the first solver had failed.
    preferred: Option<Tactic>,
    /// Whether formulas that the solver itself refutes are counted.
    counts: bool,
    refuted_by_solver: u32,
}

impl Prover {
    /// Returns a prover that has not started any process.
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

    /// Returns a prover with one solver only, which counts the formulas that the solver itself refutes.
    pub fn alone(backend: Backend) -> Prover {
        let choice = if backend == Backend::Z3 { SolverChoice::Z3 } else { SolverChoice::Cvc5 };
        Prover { has_cvc5: backend != Backend::Z3, counts: true, ..Prover::new(choice) }
    }

    fn used(&self) -> Duration {
        self.solvers.iter().map(Solver::used).sum()
    }

    /// Begins a rule with a time limit.
    pub(crate) fn begin(&mut self, timeout: Duration) {
        self.limit = self.used() + timeout;
        self.preferred = None;
        self.refuted_by_solver = 0;
    }

    /// Returns the number of formulas of the current rule that the solver itself has refuted.
    pub fn refuted_by_solver(&self) -> u32 {
        self.refuted_by_solver
    }

    /// Counts a formula that has no model. If simplification decided it, the solver is given the formula as
    /// written. The solver may be unable to decide it, but must not find a model.
    pub(crate) fn count(&mut self, decided: bool, written: impl FnOnce() -> (Terms, Term)) -> Result<(), String> {
        if decided && self.counts {
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

    /// Decides a formula with a single attempt of the first solver.
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

    /// Tries the tactics in order, first the one that decided an earlier formula of the rule.
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

    /// Decides a formula by another one, `other`, whose models prove nothing. Only its absence of models carries
    /// over.
    fn refuted(&mut self, terms: &Terms, other: Option<Term>) -> Decision {
        match other.map(|other| self.first(terms, other, FIRST_TRY)) {
            Some(Decision::Unsat) => Decision::Unsat,
            _ => Decision::Unknown("timeout".to_string()),
        }
    }

    /// Decides by the first solver of the choice. If both solvers were chosen, they must agree that there is no
    /// model.
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

    /// Decides each case of a case distinction.
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

    /// Checks a query with one solver.
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
