//! Decides how a code is proved.

use super::ledger::Way;
use kingpost_ir::Function;
use kingpost_smt::{Backend, Solver};
use kingpost_validate::{Code, Verdict, prove};
use std::time::Duration;

/// Limit of a solver's processor time for one obligation.
const LIMIT: Duration = Duration::from_secs(2);

/// The solvers, if they are installed. They start when they are needed.
pub(crate) struct Judge {
    solvers: Option<[Solver; 2]>,
}

impl Judge {
    /// Returns a judge with solvers, if it may use them and both are installed.
    pub(crate) fn new(uses_solvers: bool) -> Judge {
        let backends = [Backend::Z3, Backend::Cvc5];
        let has_solvers = uses_solvers && backends.into_iter().all(Backend::is_installed);
        Judge { solvers: has_solvers.then(|| backends.map(Solver::new)) }
    }

    /// Returns `true` if solvers decide what terms do not.
    pub(crate) fn uses_solvers(&self) -> bool {
        self.solvers.is_some()
    }

    /// Proves a code. Returns the way, and what is to be said about a code that is not proved.
    pub(crate) fn judge(&mut self, func: &Function, code: &Code<'_>) -> (Way, Option<String>) {
        let report = prove(func, code, None);
        match &report.verdict {
            Verdict::Proved if report.decisions.by_search > 0 => return (Way::Search, None),
            Verdict::Proved => return (Way::Terms, None),
            Verdict::OutOfScope(feature) => return (Way::Scope, Some(feature.to_string())),
            Verdict::Refuted(_) => return (Way::Open, Some(report.verdict.to_string())),
            Verdict::NotProved(_) => {}
        }
        let Some(solvers) = &mut self.solvers else { return (Way::Open, Some(report.verdict.to_string())) };
        let verdicts = solvers.each_mut().map(|solver| prove(func, code, Some((solver, LIMIT))).verdict);
        match verdicts.each_ref().map(|verdict| *verdict == Verdict::Proved) {
            [true, true] => (Way::Solvers, None),
            [true, false] => (Way::Z3, Some(verdicts[1].to_string())),
            [false, true] => (Way::Cvc5, Some(verdicts[0].to_string())),
            [false, false] => (Way::Open, Some(verdicts[0].to_string())),
        }
    }
}
