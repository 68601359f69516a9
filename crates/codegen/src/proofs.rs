//! Memory of the stage that proves the emitted code.

use kingpost_ir::Function;
use kingpost_smt::{Backend, Solver};
use kingpost_validate::Report;
use std::sync::Mutex;

/// The solver, the function and the last report. The mutex is never locked. It makes contexts [`Sync`], because solvers are not.
pub(crate) struct Proofs {
    pub(crate) solver: Mutex<Solver>,
    pub(crate) report: Option<Report>,
    /// The function as it was read, if it is needed later.
    pub(crate) input: Option<Box<Function>>,
}

impl Default for Proofs {
    fn default() -> Proofs {
        Proofs { solver: Mutex::new(Solver::new(Backend::Z3)), report: None, input: None }
    }
}
