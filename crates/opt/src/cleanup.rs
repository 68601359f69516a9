//! The pass of `opt_level=none`: removes code whose removal costs less than its compilation.
//!
//! Removes loads that repeat an earlier load of memory that never changes, unreachable blocks, and block parameters
//! that always have one value. The last two are the part of [`Pass::SimplifyCfg`](crate::Pass::SimplifyCfg) that
//! takes almost no time.

use crate::optimizer::Optimizer;
use kingpost_ir::Function;
use kingpost_ir::analyses::Analyses;

impl Optimizer {
    /// Removes unreachable blocks and constant block parameters, and, unless accesses are kept, repeated loads of
    /// constant memory. The function may use aliases before, and uses none after.
    pub fn cleanup(&mut self, func: &mut Function, analyses: &mut Analyses) {
        // Analyses, loads, and aliases.
        if self.meter.reserve(2 * (func.dfg.num_insts() + func.dfg.num_blocks()) as u64).is_err() {
            return;
        }
        analyses.update_loops(func);
        self.start();
        if !self.gvn.keeps_accesses {
            self.redundant_loads.run(func, &analyses.cfg);
        }
        let has_unreachable = analyses.dominators.cfg_postorder().len() < analyses.cfg.blocks().len();
        if has_unreachable && self.simplify_cfg.run_on_unreachable(func, &mut analyses.cfg) {
            analyses.invalidate();
        }
        // The removal of parameters keeps the control-flow graph valid.
        if let Some(entry) = func.layout.entry_block() {
            self.simplify_cfg.params.remove(func, &analyses.cfg, analyses.cfg.blocks(), entry);
        }
        self.finish(func);
    }
}
