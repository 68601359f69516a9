//! Memory of the stage that proves the emitted code.

use kingpost_ir::Function;
use kingpost_smt::{Backend, Solver};
use kingpost_validate::{Head, Report, Verdict};
use std::sync::Mutex;

/// Text from which a proof begins.
#[derive(Clone, PartialEq, Debug)]
pub enum Reference {
    /// The function as the compiler received it.
    Read,
    /// The function as lowering read it, after expansion and cleanup. From the function as the compiler received it, the
    /// proof had this verdict.
    Expanded(Verdict),
    /// The optimized function.
    Optimized,
}

impl Reference {
    /// Returns the reference as a word.
    pub fn name(&self) -> &'static str {
        match self {
            Reference::Read => "read",
            Reference::Expanded(_) => "expanded",
            Reference::Optimized => "optimized",
        }
    }
}

/// The solver, the function and the last report. The mutex is never locked. It makes contexts [`Sync`], because solvers are not.
pub(crate) struct Proofs {
    pub(crate) solver: Mutex<Solver>,
    pub(crate) report: Option<(Report, Reference)>,
    /// The places of values at the heads of the last function, if its compilation is observed.
    pub(crate) heads: Vec<Head>,
    /// The function as it was read, if it is needed later.
    pub(crate) input: Option<Box<Function>>,
}

impl Default for Proofs {
    fn default() -> Proofs {
        Proofs { solver: Mutex::new(Solver::new(Backend::Z3)), report: None, heads: Vec::new(), input: None }
    }
}
