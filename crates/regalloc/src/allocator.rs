//! What a register allocator is: the trait, its errors, and the observer that follows its decisions.

use crate::allocation::{Allocation, Loc};
use crate::entities::{Inst, VReg};
use crate::env::MachineEnv;
use crate::problem::Problem;
use crate::reg::{PReg, RegClass};
use std::fmt;

/// A register allocator. It owns its scratch memory and may be called for one problem after another.
pub trait Allocator: Send {
    /// Returns the name by which settings and reports choose it.
    fn name(&self) -> &'static str;

    /// Solves `problem`, which must keep the rules of [`Problem::verify`], for the machine `env`, and leaves the answer
    /// in `out`, whose former contents are lost. Equal inputs give equal answers.
    ///
    /// # Errors
    /// [`AllocError`] if the problem has no solution, exceeds a limit, or took more steps than its size allows.
    fn allocate(&mut self, problem: &Problem, env: &MachineEnv, out: &mut Allocation) -> Result<(), AllocError>;

    /// As [`Allocator::allocate`], with all the diagnostics asked for that the allocator has; by default it has none.
    ///
    /// # Errors
    /// As [`Allocator::allocate`], and [`AllocError::Phase`].
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
}

/// Optional diagnostics of an allocator besides the answer. All are off by default. By default that is nothing.
#[derive(Default)]
pub struct Diagnostics<'a> {
    /// Receiver of each decision.
    pub observer: Option<&'a mut (dyn Observer + 'a)>,
    /// Whether the result of each phase is verified before the next phase reads it.
    pub verifies: bool,
    /// Text form of each phase's result, after the name of the phase.
    pub texts: Option<&'a mut Vec<(&'static str, String)>>,
}

impl Diagnostics<'_> {
    /// Tells the observer of a decision, if there is one.
    #[inline]
    pub fn event(&mut self, event: Event<'_>) {
        if let Some(observer) = &mut self.observer {
            observer.event(event);
        }
    }

    /// A phase begins.
    #[inline]
    pub fn begin(&mut self, phase: &'static str) {
        self.event(Event::Stage(phase));
    }

    /// A phase has ended. `verify` returns the rule that its result breaks, `dump` writes its result as text.
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

    /// Does what is asked for with the result of a phase.
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

/// Reason for which an allocator gave up.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum AllocError {
    /// The operands of `inst` need more registers of `class` at once than the machine has for them.
    TooFewRegisters {
        /// The instruction that cannot be served.
        inst: Inst,
        /// The class that ran out.
        class: RegClass,
    },
    /// Two operands of `inst` need `reg` at the same time.
    FixedConflict {
        /// The instruction that cannot be served.
        inst: Inst,
        /// The register that both need.
        reg: PReg,
    },
    /// The step budget, proportional to the problem's size, is used up.
    StepBudget {
        /// Steps taken.
        steps: u64,
    },
    /// The result of a phase is not what the next phase relies on: a bug of the allocator, found as
    /// [`Diagnostics::verifies`] requests.
    Phase {
        /// The phase at fault.
        phase: &'static str,
        /// The rule, and what breaks it.
        what: String,
    },
    /// The problem is larger than the allocator can number.
    TooLarge {
        /// Quantity that exceeds its limit.
        what: &'static str,
        /// The largest count it takes.
        limit: u64,
    },
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
            AllocError::TooLarge { what, limit } => write!(f, "more than {limit} {what}"),
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
    /// Over `from..to` (instructions), `vreg` lives in `loc`.
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
        /// The loser.
        vreg: VReg,
        /// The value that takes the register.
        winner: VReg,
        /// Instruction.
        at: Inst,
    },
    /// `vreg` goes to memory.
    Spill {
        /// The value.
        vreg: VReg,
        /// Instruction.
        at: Inst,
    },
    /// `vreg` comes back into a register before `at`.
    Reload {
        /// The value.
        vreg: VReg,
        /// Instruction.
        at: Inst,
    },
    /// Two values get one location.
    Coalesce {
        /// One value.
        a: VReg,
        /// The other.
        b: VReg,
    },
}

/// Text form: what was decided, where.
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
    /// Called for each decision, in the order in which they are made.
    fn event(&mut self, event: Event<'_>);
}
