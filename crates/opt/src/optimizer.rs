//! The list of passes, and their memory.

use crate::observer::Observer;
use crate::place::Place;
use crate::repeated_loads::RepeatedLoads;
use crate::rewrite::{Applications, RuleLimits};
use crate::shape::{Changes, Shape};
use crate::simplify::{Edges, Simplify};
use crate::slots::Slots;
use kingpost_ir::Function;
use kingpost_ir::analyses::Analyses;
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
    repeated_loads: RepeatedLoads,
    shape: Shape,
    slots: Slots,
    simplify: Simplify,
    place: Place,
    /// Whether the function may use aliases.
    may_use_aliases: bool,
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

    /// The same, which makes short code rather than fast code if requested.
    #[must_use]
    pub fn preferring_size(mut self, prefers: bool) -> Optimizer {
        self.simplify.prefers_size = prefers;
        self.place.prefers_size = prefers;
        self
    }

    /// The same, for a machine of so many integer registers: where they are few, more is computed anew rather than kept.
    #[must_use]
    pub fn for_registers(mut self, count: usize) -> Optimizer {
        self.simplify.has_few_registers = count <= 16;
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

    /// Runs all passes on a function.
    pub fn run_all(&mut self, func: &mut Function, analyses: &mut Analyses) {
        analyses.invalidate();
        self.start();
        Pass::ALL.into_iter().for_each(|pass| self.run(pass, func, analyses));
        self.finish(func);
    }

    /// Tells that a function comes that it has not seen, which may use aliases.
    pub fn start(&mut self) {
        self.may_use_aliases = true;
    }

    /// Ends the work on a function, which uses no aliases then.
    pub fn finish(&mut self, func: &mut Function) {
        if std::mem::take(&mut self.may_use_aliases) {
            func.dfg.resolve_all_aliases();
        }
    }

    /// What pays for itself without an optimiser, as less is left to compile: removes loads that repeat another of memory that
    /// never changes (unless it keeps accesses), and the part of [`Pass::Shape`] that takes next to no time: unreachable blocks,
    /// and parameters that always have one value. The function may use aliases before, and uses none after.
    pub fn tidy(&mut self, func: &mut Function, analyses: &mut Analyses) {
        analyses.update_loops(func);
        self.start();
        if !self.simplify.keeps_accesses {
            self.repeated_loads.run(func, &analyses.cfg);
        }
        let has_unreachable = analyses.dominators.cfg_postorder().len() < analyses.cfg.blocks().len();
        if has_unreachable && self.shape.run_on_unreachable(func, &mut analyses.cfg) {
            analyses.invalidate();
        }
        // Leaves the graph as it is.
        if let Some(entry) = func.layout.entry_block() {
            self.shape.params.remove(func, &analyses.cfg, analyses.cfg.blocks(), entry);
        }
        self.finish(func);
    }

    /// Runs one pass. The function may use aliases, before and after. The analyses are those of the function or stale, before and
    /// after.
    pub fn run(&mut self, pass: Pass, func: &mut Function, analyses: &mut Analyses) {
        match pass {
            Pass::Shape => self.run_shape(func, analyses),
            Pass::Slots if !Slots::occurs(func) => {}
            Pass::Slots => {
                analyses.update(func);
                if self.slots.run(func, analyses) {
                    self.may_use_aliases = true;
                    self.run_shape(func, analyses);
                }
            }
            Pass::Simplify => {
                analyses.update(func);
                let edges = self.simplify.run(func, analyses);
                // It has replaced them with all that it has visited.
                self.may_use_aliases = false;
                match edges {
                    Edges::Kept => {}
                    Edges::Reordered => analyses.reorder(),
                    Edges::Died => {
                        analyses.invalidate();
                        self.run_shape(func, analyses);
                    }
                }
            }
            Pass::Place => {
                self.finish(func);
                analyses.update(func);
                self.place.run(func, analyses);
            }
        }
    }

    fn run_shape(&mut self, func: &mut Function, analyses: &mut Analyses) {
        let is_graph_known = analyses.is_current();
        if is_graph_known {
            std::mem::swap(&mut self.shape.cfg, &mut analyses.cfg);
        }
        match self.shape.run(func, is_graph_known) {
            Changes::None if is_graph_known => std::mem::swap(&mut self.shape.cfg, &mut analyses.cfg),
            Changes::None => analyses.invalidate_all_but(&mut self.shape.cfg),
            Changes::AllButGraph => {
                self.may_use_aliases = true;
                analyses.invalidate_all_but(&mut self.shape.cfg);
            }
            Changes::All => {
                self.may_use_aliases = true;
                analyses.invalidate();
            }
        }
    }
}
