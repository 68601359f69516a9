//! The list of passes, and their memory.

use crate::analyses::Analyses;
use crate::observer::Observer;
use crate::place::Place;
use crate::rewrite::{Applications, RuleLimits};
use crate::shape::Shape;
use crate::simplify::Simplify;
use crate::slots::Slots;
use kingpost_ir::Function;
use std::fmt;

/// A pass, in the order in which they run.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Pass {
    /// Unreachable blocks, constant block parameters, merging.
    Shape,
    /// Stack slots become values.
    Slots,
    /// Value numbering and rules.
    Simplify,
    /// Dead code, motion.
    Place,
}

impl Pass {
    /// All passes, in order. `shape` comes first so that there are fewer joins and all blocks are reachable, `slots` before
    /// `simplify` so that values that went through memory are known to be equal, `place` behind `simplify` because that
    /// leaves what is no longer used.
    pub const ALL: [Pass; 4] = [Pass::Shape, Pass::Slots, Pass::Simplify, Pass::Place];

    /// The pass's name.
    pub fn name(self) -> &'static str {
        match self {
            Pass::Shape => "shape",
            Pass::Slots => "slots",
            Pass::Simplify => "simplify",
            Pass::Place => "place",
        }
    }
}

impl Pass {
    /// The pass of this name.
    pub fn named(name: &str) -> Option<Pass> {
        Pass::ALL.into_iter().find(|pass| pass.name() == name)
    }
}

impl fmt::Display for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The optimiser: memory of all passes, used for function after function.
#[derive(Default, Debug)]
pub struct Optimizer {
    analyses: Analyses,
    /// Whether the analyses are those of the function as it is.
    is_current: bool,
    shape: Shape,
    slots: Slots,
    simplify: Simplify,
    place: Place,
}

impl Optimizer {
    /// One that applies only some rules.
    pub fn limited(limits: RuleLimits) -> Optimizer {
        let mut optimizer = Optimizer::default();
        optimizer.simplify.applications = Applications::new(limits);
        optimizer
    }

    /// The same, which leaves accesses to memory as they are if asked to.
    #[must_use]
    pub fn keeping_accesses(mut self, keeps: bool) -> Optimizer {
        self.simplify.keeps_accesses = keeps;
        self
    }

    /// The same, which reports every simplification.
    #[must_use]
    pub fn observed_by(mut self, observer: Box<dyn Observer>) -> Optimizer {
        self.simplify.observer = Some(observer);
        self
    }

    /// The rules that were applied to all functions so far.
    pub fn applications(&self) -> &Applications {
        &self.simplify.applications
    }

    /// Tells that a function comes that it has not seen.
    pub fn start(&mut self) {
        self.is_current = false;
        self.shape.may_use_aliases = true;
    }

    /// Runs one pass. The function has no aliases in use, before and after; before [`Pass::Shape`] it may.
    pub fn run(&mut self, pass: Pass, func: &mut Function) {
        match pass {
            Pass::Shape => {
                if self.shape.run(func) {
                    self.is_current = false;
                }
            }
            Pass::Slots if !Slots::occurs(func) => {}
            Pass::Slots => {
                self.analyze(func);
                if self.slots.run(func, &self.analyses) && self.shape.run(func) {
                    self.is_current = false;
                }
            }
            Pass::Simplify => {
                self.analyze(func);
                if self.simplify.run(func, &self.analyses) {
                    self.shape.run(func);
                    self.is_current = false;
                }
            }
            Pass::Place => {
                self.analyze(func);
                self.place.run(func, &self.analyses);
            }
        }
    }

    fn analyze(&mut self, func: &Function) {
        if !self.is_current {
            self.analyses.compute(func);
            self.is_current = true;
        }
    }
}
