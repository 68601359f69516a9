//! Analyses of control flow, recomputed after a pass has changed it.

use kingpost_ir::Function;
use kingpost_ir::cfg::ControlFlowGraph;
use kingpost_ir::dominators::DominatorTree;
use kingpost_ir::frequencies::Frequencies;
use kingpost_ir::loops::LoopForest;

/// Control-flow graph, dominator tree, loops and frequencies of a function.
#[derive(Default, Debug)]
pub(crate) struct Analyses {
    pub(crate) cfg: ControlFlowGraph,
    pub(crate) tree: DominatorTree,
    pub(crate) loops: LoopForest,
    pub(crate) frequencies: Frequencies,
}

impl Analyses {
    /// Computes all of them.
    pub(crate) fn compute(&mut self, func: &Function) {
        self.cfg.compute(func);
        self.tree.compute(func, &self.cfg);
        self.loops.compute(func, &self.cfg, &self.tree);
        self.frequencies.compute(func, &self.cfg, &self.tree, &self.loops);
    }
}
