//! Options of a compilation: observation, limits and cancellation.

use crate::stage::Stage;
use kingpost_mach::{Guard, Limits};
use kingpost_opt::Pass;
use kingpost_opt::rewrite::RuleLimits;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Options of a compilation: observers, disabled parts, limits and cancellation.
///
/// ```
/// use kingpost_codegen::Options;
///
/// let options = Options::default().with(|options| options.limits.instructions = 100_000);
/// assert!(options.cancel.is_none());
/// ```
#[derive(Clone, Default)]
#[non_exhaustive]
pub struct Options {
    /// Whether to measure CPU time per stage.
    pub time: bool,
    /// Whether to count spills, fills, moves and their weighted cost.
    pub count: bool,
    /// Whether to keep the listing of each function, for [`Context::listing`](crate::Context::listing).
    pub list: bool,
    /// Receiver of the text of stages.
    pub dump: Option<Arc<dyn DumpReceiver>>,
    /// Whether to free a large function, and the record of its lowering, once it is lowered. This leaves more memory
    /// for allocation. Only the function's name remains, and [`Context::lowering`](crate::Context::lowering) is
    /// empty.
    pub free_functions: bool,
    /// Whether to refuse operations that need a routine of the compiler's library, such as `__udivti3`.
    pub no_compiler_routines: bool,
    /// The last stage that runs. If other stages would follow, the result is
    /// [`CompileError::Stopped`](crate::CompileError::Stopped).
    pub stop_after: Option<Stage>,
    /// The optimizer's passes to run, if the optimization level runs any.
    pub passes: Passes,
    /// The rewrite rules that the optimizer applies.
    pub rules: RuleLimits,
    /// Limits of a function.
    pub limits: Limits,
    /// Cancellation flag. Once it is set, compilation stops with the error `CompileError::Cancelled` before the next
    /// stage, and within a stage after about a thousand units of [`Limits::work`].
    pub cancel: Option<Arc<AtomicBool>>,
}

/// A set of the optimizer's passes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Passes([bool; Pass::ALL.len()]);

impl Passes {
    /// Returns the set of these passes.
    pub fn of(passes: impl IntoIterator<Item = Pass>) -> Passes {
        let mut set = [false; Pass::ALL.len()];
        passes.into_iter().for_each(|pass| set[pass as usize] = true);
        Passes(set)
    }

    pub(crate) fn contains(self, pass: Pass) -> bool {
        self.0[pass as usize]
    }
}

/// All passes.
impl Default for Passes {
    fn default() -> Passes {
        Passes([true; Pass::ALL.len()])
    }
}

impl Options {
    /// Returns the options after `change`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Options)) -> Options {
        change(&mut self);
        self
    }

    pub(crate) fn guard(&self) -> Guard {
        Guard::new(self.limits.clamped(), self.cancel.clone())
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("Options");
        f.field("time", &self.time).field("count", &self.count).field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// A receiver of dumps.
pub trait DumpReceiver: Send + Sync {
    /// Returns `true` if the receiver takes the text of `stage` for the function `name`.
    fn takes(&self, stage: Stage, name: &str) -> bool;

    /// Receives the text of `stage` for the function `name`.
    fn take(&self, stage: Stage, name: &str, text: String);
}
