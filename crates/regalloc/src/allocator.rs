//! The trait of register allocators, their errors, and the observer that follows their decisions.

use crate::allocation::{Allocation, Loc};
use crate::entities::{Inst, VReg};
use crate::env::MachineEnv;
use crate::problem::Problem;
use crate::reg::{PReg, RegClass};
use kingpost_meter::{Exceeded, MeterRef};
use std::fmt;

/// A register allocator. It owns its scratch memory and may be called for any number of problems.
pub trait Allocator: Send {
    /// Returns the name by which settings and reports choose it.
    fn name(&self) -> &'static str;

    /// Solves `problem` for the machine `env` and replaces the contents of `out` by the answer. The problem must
    /// keep the rules of [`Problem::verify`]. Equal inputs give equal answers.
    ///
    /// # Errors
    /// [`AllocError`] if the problem has no solution, exceeds a limit, or takes more steps than its size allows.
    fn allocate(&mut self, problem: &Problem, env: &MachineEnv, out: &mut Allocation) -> Result<(), AllocError>;

    /// Solves `problem` with diagnostics and within a budget; see [`Allocator::allocate`]. An allocator without
    /// diagnostics ignores them. An allocator that does not charge [`Diagnostics::meter`] is charged afterwards for the
    /// steps in [`Stats::steps`](crate::Stats::steps).
    ///
    /// # Errors
    /// The errors of [`Allocator::allocate`], [`AllocError::Phase`] and [`AllocError::Exceeded`].
    fn allocate_with(
        &mut self,
        problem: &Problem,
        env: &MachineEnv,
        out: &mut Allocation,
        diagnostics: &mut Diagnostics<'_>,
    ) -> Result<(), AllocError> {
        let _ = diagnostics;
        self.allocate(problem, env, out)
    }

    /// Returns the bytes of its scratch memory on the heap, which count against a limit of the caller. An allocator that
    /// does not count them returns 0.
    fn memory_bytes(&self) -> u64 {
        0
    }
}

/// Optional diagnostics of an allocator besides the answer, and its budget. All are off by default.
#[derive(Default)]
#[non_exhaustive]
pub struct Diagnostics<'a> {
    /// Receiver of each decision.
    pub observer: Option<&'a mut (dyn Observer + 'a)>,
    /// Whether the result of each phase is verified before the next phase reads it.
    pub verifies: bool,
    /// Text form of each phase's result, with the name of the phase.
    pub texts: Option<&'a mut Vec<(&'static str, String)>>,
    /// Meter of the work and the bytes of the allocator. `?` turns its refusals into [`AllocError::Exceeded`].
    pub meter: MeterRef<'a>,
}

impl Diagnostics<'_> {
    /// Creates diagnostics that verify the result of each phase.
    pub fn verified() -> Self {
        Diagnostics { verifies: true, ..Diagnostics::default() }
    }

    /// Passes a decision to the observer, if there is one.
    #[inline]
    pub fn event(&mut self, event: Event<'_>) {
        if let Some(observer) = &mut self.observer {
            observer.event(event);
        }
    }

    /// Reports the beginning of a phase.
    #[inline]
    pub fn begin(&mut self, phase: &'static str) {
        self.event(Event::Stage(phase));
    }

    /// Ends a phase. `verify` returns the rule that its result breaks, and `dump` writes its result as text.
    ///
    /// # Errors
    /// [`AllocError::Phase`] if the result is verified and breaks a rule.
    #[inline]
    pub fn end(
        &mut self,
        phase: &'static str,
        verify: impl FnOnce() -> Result<(), String>,
        dump: impl FnOnce(&mut String) -> fmt::Result,
    ) -> Result<(), AllocError> {
        match self.verifies || self.texts.is_some() {
            true => self.inspect(phase, verify, dump),
            false => Ok(()),
        }
    }

    /// Verifies and dumps the result of a phase, as far as either is requested.
    #[cold]
    fn inspect(
        &mut self,
        phase: &'static str,
        verify: impl FnOnce() -> Result<(), String>,
        dump: impl FnOnce(&mut String) -> fmt::Result,
    ) -> Result<(), AllocError> {
        if let Some(texts) = &mut self.texts {
            let mut text = String::new();
            // Writing to a string cannot fail.
            let _ = dump(&mut text);
            texts.push((phase, text));
        }
        if self.verifies {
            verify().map_err(|what| AllocError::Phase { phase, what })?;
        }
        Ok(())
    }
}

/// Reason why an allocator failed.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum AllocError {
    /// The operands of `inst` need more registers of `class` at once than the machine has.
    TooFewRegisters {
        /// The instruction without a solution.
        inst: Inst,
        /// The class with too few registers.
        class: RegClass,
    },
    /// Two operands of `inst` need `reg` at the same time.
    FixedConflict {
        /// The instruction without a solution.
        inst: Inst,
        /// The register that both operands need.
        reg: PReg,
    },
    /// The step budget, which is proportional to the size of the problem, is exhausted.
    StepBudget {
        /// Steps taken.
        steps: u64,
    },
    /// The result of a phase breaks a rule on which the next phase relies: a bug of the allocator, found by
    /// [`Diagnostics::verifies`].
    Phase {
        /// The phase at fault.
        phase: &'static str,
        /// The broken rule and the entity that breaks it.
        what: String,
    },
    /// A program that allocates failed, or its answer cannot be read.
    Program {
        /// The exit status and what the program wrote to standard error, or what is wrong with the answer.
        what: String,
    },
    /// The problem is larger than the allocator can number.
    TooLarge {
        /// Quantity that exceeds its limit.
        what: &'static str,
        /// Largest allowed count.
        limit: u64,
    },
    /// The budget of the caller is exceeded, or the caller cancels.
    Exceeded(Exceeded),
}

impl From<Exceeded> for AllocError {
    fn from(exceeded: Exceeded) -> AllocError {
        AllocError::Exceeded(exceeded)
    }
}

impl fmt::Display for AllocError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AllocError::TooFewRegisters { inst, class } => {
                write!(f, "{inst} needs more {class} registers than there are")
            }
            AllocError::FixedConflict { inst, reg } => write!(f, "two operands of {inst} need {reg} at once"),
            AllocError::StepBudget { steps } => write!(f, "no solution within {steps} steps"),
            AllocError::Phase { phase, what } => write!(f, "phase `{phase}` produced an invalid result: {what}"),
            AllocError::Program { what } => write!(f, "the program that allocates failed: {what}"),
            AllocError::TooLarge { what, limit } => write!(f, "more than {limit} {what}"),
            AllocError::Exceeded(exceeded) => write!(f, "{exceeded}"),
        }
    }
}

impl std::error::Error for AllocError {}

/// One decision of an allocator, for logs and for pages that explain an allocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A stage of the allocator begins.
    Stage(&'a str),
    /// `vreg` is in `loc` over the instructions `from..to`.
    Assign {
        /// The value.
        vreg: VReg,
        /// Its location.
        loc: Loc,
        /// First instruction.
        from: Inst,
        /// One past the last instruction.
        to: Inst,
    },
    /// The live range of `vreg` is cut before `at`.
    Split {
        /// The value.
        vreg: VReg,
        /// Instruction.
        at: Inst,
    },
    /// `vreg` loses its register to `winner` at `at`.
    Evict {
        /// The evicted value.
        vreg: VReg,
        /// The value that takes the register.
        winner: VReg,
        /// Instruction.
        at: Inst,
    },
    /// `vreg` is spilled to memory.
    Spill {
        /// The value.
        vreg: VReg,
        /// Instruction.
        at: Inst,
    },
    /// `vreg` is loaded into a register before `at`.
    Reload {
        /// The value.
        vreg: VReg,
        /// Instruction.
        at: Inst,
    },
    /// Two values share one location.
    Coalesce {
        /// One value.
        a: VReg,
        /// The other.
        b: VReg,
    },
}

/// Text form: the decision and its place.
impl fmt::Display for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Event::Stage(name) => write!(f, "[{name}]"),
            Event::Assign { vreg, loc, from, to } => write!(f, "{vreg} in {loc} {from}..{to}"),
            Event::Split { vreg, at } => write!(f, "split {vreg} at {at}"),
            Event::Evict { vreg, winner, at } => write!(f, "{winner} evicts {vreg} at {at}"),
            Event::Spill { vreg, at } => write!(f, "spill {vreg} at {at}"),
            Event::Reload { vreg, at } => write!(f, "reload {vreg} at {at}"),
            Event::Coalesce { a, b } => write!(f, "coalesce {a} and {b}"),
        }
    }
}

/// Follows an allocation decision by decision.
pub trait Observer {
    /// Receives each decision, in the order in which they are made.
    fn event(&mut self, event: Event<'_>);
}
