//! The list of passes, and their memory.

use crate::code_motion::CodeMotion;
use crate::dispatch::has_dispatch_loop;
use crate::gvn::{Edges, Gvn};
use crate::induction::Induction;
use crate::invariant_loads::InvariantLoads;
use crate::mem2reg::Mem2Reg;
use crate::observer::Observer;
use crate::range_tests;
use crate::redundant_loads::RedundantLoads;
use crate::rewrite::{Applications, RuleLimits};
use crate::simplify_cfg::{Changes, SimplifyCfg};
use crate::store_promotion::StorePromotion;
use crate::strength_reduction::StrengthReduction;
use crate::unroll::Unroll;
use kingpost_ir::Function;
use kingpost_ir::analyses::Analyses;
use kingpost_meter::Meter;
use kingpost_meter::heap_bytes;
use std::fmt;
use std::sync::Arc;

/// Number of nested loops that are unrolled: a loop around unrolled ones has no inner loops.
const UNROLLED_LEVELS: usize = 2;

/// A pass. The variants are in the order in which the passes run.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Pass {
    /// Unreachable blocks, constant block parameters, merging.
    SimplifyCfg,
    /// Promotion of stack slots to values.
    Mem2Reg,
    /// Value numbering and rules.
    Gvn,
    /// Loops of a few rounds.
    Unroll,
    /// Dead code, code motion.
    CodeMotion,
    /// Products of counters.
    StrengthReduction,
}

impl Pass {
    /// All passes, in order. `simplify_cfg` runs first, so that there are fewer joins and all blocks are reachable.
    /// `mem2reg` runs before `gvn`, so that values that passed through memory are known to be equal.
    /// `unroll` runs after `gvn`, because it depends on the number of instructions in a loop; functions with unrolled loops
    /// then pass `gvn` again. `code_motion` runs after these, which leave unused instructions, and `strength_reduction` last,
    /// because it hides how often a loop runs. Functions that it changes pass `gvn` and `code_motion` again.
    pub const ALL: [Pass; 6] =
        [Pass::SimplifyCfg, Pass::Mem2Reg, Pass::Gvn, Pass::Unroll, Pass::CodeMotion, Pass::StrengthReduction];

    /// Returns the pass's name.
    pub fn name(self) -> &'static str {
        match self {
            Pass::SimplifyCfg => "simplify_cfg",
            Pass::Mem2Reg => "mem2reg",
            Pass::Gvn => "gvn",
            Pass::CodeMotion => "code_motion",
            Pass::Unroll => "unroll",
            Pass::StrengthReduction => "strength_reduction",
        }
    }
}

impl fmt::Display for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Optimizer, with the memory of all passes, which is reused from function to function.
#[derive(Default, Debug)]
pub struct Optimizer {
    pub(crate) redundant_loads: RedundantLoads,
    pub(crate) simplify_cfg: SimplifyCfg,
    mem2reg: Mem2Reg,
    unroll: Unroll,
    strength_reduction: StrengthReduction,
    pub(crate) gvn: Gvn,
    induction: Induction,
    invariant_loads: InvariantLoads,
    store_promotion: StorePromotion,
    code_motion: CodeMotion,
    /// Whether the function may use aliases.
    may_use_aliases: bool,
    pub(crate) meter: Arc<Meter>,
}

heap_bytes!(Optimizer { redundant_loads, simplify_cfg, mem2reg, unroll, strength_reduction, gvn, induction, invariant_loads, store_promotion, code_motion } without { may_use_aliases, meter });

impl Optimizer {
    /// Returns an optimizer that applies only some rules.
    pub fn limited(limits: RuleLimits) -> Optimizer {
        let mut optimizer = Optimizer::default();
        optimizer.gvn.applications = Applications::new(limits);
        optimizer
    }

    /// Returns this optimizer, set to leave accesses to memory as they are if `keeps` is `true`.
    #[must_use]
    pub fn keeping_accesses(mut self, keeps: bool) -> Optimizer {
        self.gvn.keeps_accesses = keeps;
        self
    }

    /// Returns this optimizer, set to prefer short code to fast code if `prefers` is `true`.
    #[must_use]
    pub fn preferring_size(mut self, prefers: bool) -> Optimizer {
        self.gvn.prefers_size = prefers;
        self.code_motion.prefers_size = prefers;
        self.unroll.prefers_size = prefers;
        self.strength_reduction.prefers_size = prefers;
        self
    }

    /// Returns this optimizer, set for a machine with `count` integer registers. If there are few, more values are
    /// computed again rather than kept.
    #[must_use]
    pub fn for_registers(mut self, count: usize) -> Optimizer {
        self.gvn.has_few_registers = count <= 16;
        self
    }

    /// Returns this optimizer, set for a machine whose addresses extend integers of 32 bits if `extend` is `true`. Such
    /// integers are then not widened for addresses.
    #[must_use]
    pub fn for_addresses(mut self, extend: bool) -> Optimizer {
        self.induction.has_extending_addresses = extend;
        self
    }

    /// Returns this optimizer, set to report every simplification to `observer`.
    #[must_use]
    pub fn observed_by(mut self, observer: Box<dyn Observer>) -> Optimizer {
        self.gvn.observer = Some(observer);
        self
    }

    /// Returns this optimizer, set to charge its work to `meter`. Once the meter refuses, passes end early, and the
    /// function is unfinished: [`Meter::status`] tells.
    #[must_use]
    pub fn metered_by(mut self, meter: Arc<Meter>) -> Optimizer {
        self.meter = meter;
        self
    }

    /// Returns the counts of rules applied to all functions so far.
    pub fn applications(&self) -> &Applications {
        &self.gvn.applications
    }

    /// Runs all passes on a function.
    pub fn run_all(&mut self, func: &mut Function, analyses: &mut Analyses) {
        analyses.invalidate();
        self.start();
        Pass::ALL.into_iter().for_each(|pass| self.run(pass, func, analyses));
        self.finish(func);
    }

    /// Prepares for a new function, whose values may be aliases.
    pub fn start(&mut self) {
        self.may_use_aliases = true;
    }

    /// Ends the work on a function. The function uses no aliases afterwards.
    pub fn finish(&mut self, func: &mut Function) {
        if std::mem::take(&mut self.may_use_aliases) {
            func.dfg.resolve_all_aliases();
        }
    }

    /// Runs one pass. Before and after, the function may use aliases, and `analyses` is either valid for the function
    /// or marked as stale.
    pub fn run(&mut self, pass: Pass, func: &mut Function, analyses: &mut Analyses) {
        let size = (func.dfg.num_insts() + func.dfg.num_blocks()) as u64;
        // Analyses, and one or two walks over the instructions.
        if pass != Pass::SimplifyCfg && self.meter.reserve(3 * size).is_err() {
            return;
        }
        match pass {
            Pass::SimplifyCfg => self.run_simplify_cfg(func, analyses),
            Pass::Mem2Reg if !Mem2Reg::occurs(func) => {}
            Pass::Mem2Reg => {
                analyses.update(func);
                if self.mem2reg.run(func, analyses, &self.meter) {
                    self.may_use_aliases = true;
                    self.run_simplify_cfg(func, analyses);
                }
            }
            Pass::Gvn => {
                analyses.update(func);
                self.may_use_aliases |= self.induction.run(func, analyses);
                let edges = self.gvn.run(func, analyses, &self.meter);
                // The pass has replaced the aliases in all instructions that it visited.
                self.may_use_aliases = false;
                let shortened = &self.gvn.shortened;
                if edges == Edges::Died
                    || range_tests::join(func, &analyses.cfg)
                    || self.simplify_cfg.convert_shortened(func, &analyses.cfg, shortened)
                {
                    analyses.invalidate();
                    self.run_simplify_cfg(func, analyses);
                } else if edges == Edges::Reordered {
                    analyses.reorder();
                }
            }
            Pass::CodeMotion => {
                self.finish(func);
                analyses.update(func);
                if !self.gvn.keeps_accesses {
                    self.invariant_loads.run(func, analyses);
                    self.may_use_aliases = self.store_promotion.run(func, analyses);
                    self.finish(func);
                }
                self.code_motion.run(func, analyses, &self.meter);
            }
            Pass::Unroll => self.run_unroll(func, analyses),
            Pass::StrengthReduction => {
                self.finish(func);
                analyses.update(func);
                if !has_dispatch_loop(func, analyses) && self.strength_reduction.run(func, analyses) {
                    self.may_use_aliases = true;
                    self.run(Pass::Gvn, func, analyses);
                    self.run(Pass::CodeMotion, func, analyses);
                }
            }
        }
    }

    fn run_unroll(&mut self, func: &mut Function, analyses: &mut Analyses) {
        analyses.update(func);
        if has_dispatch_loop(func, analyses) {
            return;
        }
        let mut left = Unroll::growth(func);
        for _ in 0..UNROLLED_LEVELS {
            analyses.update(func);
            if !self.unroll.run(func, analyses, &mut left) {
                break;
            }
            analyses.invalidate();
            self.run_simplify_cfg(func, analyses);
            self.run(Pass::Gvn, func, analyses);
        }
    }

    fn run_simplify_cfg(&mut self, func: &mut Function, analyses: &mut Analyses) {
        let is_graph_known = analyses.is_current();
        if is_graph_known {
            std::mem::swap(&mut self.simplify_cfg.cfg, &mut analyses.cfg);
        }
        match self.simplify_cfg.run(func, is_graph_known, &self.meter) {
            Changes::None if is_graph_known => std::mem::swap(&mut self.simplify_cfg.cfg, &mut analyses.cfg),
            Changes::None => analyses.invalidate_all_but(&mut self.simplify_cfg.cfg),
            Changes::AllButGraph => {
                self.may_use_aliases = true;
                analyses.invalidate_all_but(&mut self.simplify_cfg.cfg);
            }
            Changes::All => {
                self.may_use_aliases = true;
                analyses.invalidate();
            }
        }
    }
}
