//! Solvers and the order of tactics.


use kingpost_smt::{Answer, Backend, Model, Query, Solver, SolverError, Term, Terms};
use std::ops::RangeInclusive;
use std::time::{Duration, Instant};

/// Which solvers must agree.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SolverChoice {
    /// Z3; cvc5 helps with what Z3 cannot decide, if it is installed.
    Z3,
    /// cvc5 alone.
    Cvc5,
    /// What Z3 proves is proved by cvc5 again.
    Both,
}

impl SolverChoice {
    /// The programs without which nothing is decided.
    pub fn backends(self) -> &'static [Backend] {
        match self {
            SolverChoice::Z3 => &[Backend::Z3],
            SolverChoice::Cvc5 => &[Backend::Cvc5],
            SolverChoice::Both => &[Backend::Z3, Backend::Cvc5],
        }
    }
}

/// How rules are judged.
#[derive(Clone, Debug)]
pub struct Options {
    /// Widths of integers without a stated width, in bits.
    pub widths: RangeInclusive<u32>,
    /// Which solvers.
    pub solver: SolverChoice,
    /// How long one rule may take.
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

/// How long a solver may try before something else is tried.
const FIRST_TRY: Duration = Duration::from_millis(1500);

/// Solver processes, used for one rule after the other.
#[derive(Debug)]
pub struct Prover {
    choice: SolverChoice,
    z3: Solver,
    cvc5: Solver,
    deadline: Instant,
}

impl Prover {
    /// Starts nothing yet.
    pub fn new(choice: SolverChoice) -> Prover {
        let [z3, cvc5] = [Backend::Z3, Backend::Cvc5].map(Solver::new);
        Prover { choice, z3, cvc5, deadline: Instant::now() }
    }

    /// Begins a rule that may take so long.
    pub(crate) fn begin(&mut self, timeout: Duration) {
        self.deadline = Instant::now() + timeout;
    }

    /// The time that is left for the rule.
    pub(crate) fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Decides a formula without quantifiers.
    pub(crate) fn decide(&mut self, terms: &mut Terms, formula: Term) -> Decision {
        self.query(terms, &Query::new(formula))
    }

    /// Decides a query by the chosen solvers.
    pub(crate) fn query(&mut self, terms: &Terms, query: &Query) -> Decision {
        if let Some(value) = terms.value(query.assertion) {
            return if value.is_true() { Decision::Sat(Model::default()) } else { Decision::Unsat };
        }
        let left = self.left();
        if left.is_zero() {
            return Decision::Unknown("timeout".to_string());
        }
        let answer = match self.choice {
            SolverChoice::Cvc5 => self.cvc5.check(terms, query, left),
            SolverChoice::Z3 | SolverChoice::Both => self.z3.check(terms, query, left.min(FIRST_TRY)),
        };
        decision(answer)
    }
}

fn decision(answer: Result<Answer, SolverError>) -> Decision {
    match answer {
        Ok(Answer::Unsat) => Decision::Unsat,
        Ok(Answer::Sat(model)) => Decision::Sat(model),
        Ok(Answer::Unknown) => Decision::Unknown("timeout".to_string()),
        Err(error) => Decision::Unknown(error.to_string()),
    }
}
