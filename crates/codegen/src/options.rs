//! What is observed while compiling, and when it is given up.

use crate::stage::Stage;
use kingpost_mach::{Guard, Limits};
use kingpost_opt::Pass;
use kingpost_opt::rewrite::RuleLimits;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Options of a compilation: observers, parts to leave out, and cancellation.
#[derive(Clone, Default)]
pub struct Options {
    /// Keep CPU time per stage.
    pub time: bool,
    /// Count spills, fills, moves and their weighted cost.
    pub count: bool,
    /// Keep the listing of each function, for [`Context::listing`](crate::Context::listing).
    pub list: bool,
    /// Takes the text of what stages make.
    pub dump: Option<Arc<dyn DumpSink>>,
    /// Free a large function once it is lowered, and what lowering recorded of it, for allocation needs the memory
    /// more: its name alone is left, and [`Context::lowering`](crate::Context::lowering) is empty.
    pub free_functions: bool,
    /// The last stage that runs; [`CompileError::Stopped`](crate::CompileError::Stopped) is the result if others would
    /// follow.
    pub stop_after: Option<Stage>,
    /// The optimizer's passes that run where the optimization level has any.
    pub passes: Passes,
    /// The rewrite rules that the optimizer applies.
    pub rules: RuleLimits,
    /// The most that a function may use.
    pub limits: Limits,
    /// Compilation stops with [`CompileError::Canceled`](crate::CompileError::Canceled) soon after this is set: before
    /// the next stage or block.
    pub cancel: Option<Arc<AtomicBool>>,
}

/// A set of the optimizer's passes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passes([bool; Pass::ALL.len()]);

impl Passes {
    /// Returns the set of some passes.
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
    pub(crate) fn guard(&self) -> Guard {
        Guard { limits: self.limits.clamped(), cancel: self.cancel.clone() }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("Options");
        f.field("time", &self.time).field("count", &self.count).field("limits", &self.limits).finish_non_exhaustive()
    }
}

/// Takes dumps.
pub trait DumpSink: Send + Sync {
    /// Returns `true` if the text of what `stage` makes of the function `name` is to be taken.
    fn takes(&self, stage: Stage, name: &str) -> bool;

    /// Takes that text.
    fn take(&self, stage: Stage, name: &str, text: String);
}
