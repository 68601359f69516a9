//! The pass of `opt_level=none`: removes code whose removal costs less than its compilation.
//!
//! Loads that repeat another one of memory that never changes are removed, and unreachable blocks and block parameters that
//! always have one value: the part of [`Pass::SimplifyCfg`](crate::Pass::SimplifyCfg) that takes next to no time.

use crate::optimizer::Optimizer;
use kingpost_ir::Function;
use kingpost_ir::analyses::Analyses;

impl Optimizer {
    /// Removes repeated loads of constant memory, unless accesses are kept, unreachable blocks and constant block parameters. The
    /// function may use aliases before, and uses none after.
    pub fn cleanup(&mut self, func: &mut Function, analyses: &mut Analyses) {
        analyses.update_loops(func);
        self.start();
        if !self.gvn.keeps_accesses {
            self.redundant_loads.run(func, &analyses.cfg);
        }
        let has_unreachable = analyses.dominators.cfg_postorder().len() < analyses.cfg.blocks().len();
        if has_unreachable && self.simplify_cfg.run_on_unreachable(func, &mut analyses.cfg) {
            analyses.invalidate();
        }
        // Leaves the graph as it is.
        if let Some(entry) = func.layout.entry_block() {
            self.simplify_cfg.params.remove(func, &analyses.cfg, analyses.cfg.blocks(), entry);
        }
        self.finish(func);
    }
}
