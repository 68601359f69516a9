//! The list of passes, and their memory.

use crate::code_motion::CodeMotion;
use crate::gvn::{Edges, Gvn};
use crate::mem2reg::Mem2Reg;
use crate::observer::Observer;
use crate::redundant_loads::RedundantLoads;
use crate::rewrite::{Applications, RuleLimits};
use crate::simplify_cfg::{Changes, SimplifyCfg};
use kingpost_ir::Function;
use kingpost_ir::analyses::Analyses;
use std::fmt;

/// A pass, in the order in which they run.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Pass {
    /// Unreachable blocks, constant block parameters, merging.
    SimplifyCfg,
    /// Stack slots become values.
    Mem2Reg,
    /// Value numbering and rules.
    Gvn,
    /// Dead code, motion.
    CodeMotion,
}

impl Pass {
    /// All passes, in order. `simplify_cfg` comes first so that there are fewer joins and all blocks are reachable, `mem2reg` before
    /// `gvn` so that values that went through memory are known to be equal, `code_motion` behind `gvn` because that
    /// leaves what is no longer used.
    pub const ALL: [Pass; 4] = [Pass::SimplifyCfg, Pass::Mem2Reg, Pass::Gvn, Pass::CodeMotion];

    /// The pass's name.
    pub fn name(self) -> &'static str {
        match self {
            Pass::SimplifyCfg => "simplify_cfg",
            Pass::Mem2Reg => "mem2reg",
            Pass::Gvn => "gvn",
            Pass::CodeMotion => "code_motion",
        }
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
    pub(crate) redundant_loads: RedundantLoads,
    pub(crate) simplify_cfg: SimplifyCfg,
    mem2reg: Mem2Reg,
    pub(crate) gvn: Gvn,
    code_motion: CodeMotion,
    /// Whether the function may use aliases.
    may_use_aliases: bool,
}

impl Optimizer {
    /// One that applies only some rules.
    pub fn limited(limits: RuleLimits) -> Optimizer {
        let mut optimizer = Optimizer::default();
        optimizer.gvn.applications = Applications::new(limits);
        optimizer
    }

    /// The same, which leaves accesses to memory as they are if asked to.
    #[must_use]
    pub fn keeping_accesses(mut self, keeps: bool) -> Optimizer {
        self.gvn.keeps_accesses = keeps;
        self
    }

    /// The same, which makes short code rather than fast code if requested.
    #[must_use]
    pub fn preferring_size(mut self, prefers: bool) -> Optimizer {
        self.gvn.prefers_size = prefers;
        self.code_motion.prefers_size = prefers;
        self
    }

    /// The same, for a machine of so many integer registers: where they are few, more is computed anew rather than kept.
    #[must_use]
    pub fn for_registers(mut self, count: usize) -> Optimizer {
        self.gvn.has_few_registers = count <= 16;
        self
    }

    /// The same, which reports every simplification.
    #[must_use]
    pub fn observed_by(mut self, observer: Box<dyn Observer>) -> Optimizer {
        self.gvn.observer = Some(observer);
        self
    }

    /// The rules that were applied to all functions so far.
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

    /// Runs one pass. The function may use aliases, before and after. The analyses are those of the function or stale, before and
    /// after.
    pub fn run(&mut self, pass: Pass, func: &mut Function, analyses: &mut Analyses) {
        match pass {
            Pass::SimplifyCfg => self.run_simplify_cfg(func, analyses),
            Pass::Mem2Reg if !Mem2Reg::occurs(func) => {}
            Pass::Mem2Reg => {
                analyses.update(func);
                if self.mem2reg.run(func, analyses) {
                    self.may_use_aliases = true;
                    self.run_simplify_cfg(func, analyses);
                }
            }
            Pass::Gvn => {
                analyses.update(func);
                let edges = self.gvn.run(func, analyses);
                // It has replaced them with all that it has visited.
                self.may_use_aliases = false;
                match edges {
                    Edges::Kept => {}
                    Edges::Reordered => analyses.reorder(),
                    Edges::Died => {
                        analyses.invalidate();
                        self.run_simplify_cfg(func, analyses);
                    }
                }
            }
            Pass::CodeMotion => {
                self.finish(func);
                analyses.update(func);
                self.code_motion.run(func, analyses);
            }
        }
    }

    fn run_simplify_cfg(&mut self, func: &mut Function, analyses: &mut Analyses) {
        let is_graph_known = analyses.is_current();
        if is_graph_known {
            std::mem::swap(&mut self.simplify_cfg.cfg, &mut analyses.cfg);
        }
        match self.simplify_cfg.run(func, is_graph_known) {
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
