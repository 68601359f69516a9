//! The four analyses of control flow together, computed when they are needed after a change.

use crate::cfg::ControlFlowGraph;
use crate::dominators::DominatorTree;
use crate::frequencies::Frequencies;
use crate::function::Function;
use crate::loops::LoopForest;

/// What of the analyses holds for the function as it is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum State {
    /// Nothing.
    #[default]
    Stale,
    /// Which blocks dominate which, and the loops.
    Reordered,
    /// Everything.
    Current,
}

/// Control-flow graph, dominator tree, loops and frequencies of one function after the other.
///
/// A change to an edge, to the set of blocks or to a terminator's number must be followed by [`Analyses::invalidate`], and so must
/// the start of another function; for an exchange of a branch's destinations [`Analyses::reorder`] is enough.
#[derive(Clone, Default, Debug)]
pub struct Analyses {
    /// Successors and predecessors.
    pub cfg: ControlFlowGraph,
    /// Dominators and reverse post-order.
    pub dominators: DominatorTree,
    /// Loops.
    pub loops: LoopForest,
    /// How often blocks and edges run.
    pub frequencies: Frequencies,
    state: State,
}

impl Analyses {
    /// Computes what is stale of `func`.
    pub fn update(&mut self, func: &Function) {
        let state = std::mem::replace(&mut self.state, State::Current);
        if state == State::Current {
            return;
        }
        self.cfg.compute(func);
        if state == State::Reordered {
            self.dominators.reorder(func, &self.cfg);
        } else {
            self.dominators.compute(func, &self.cfg);
            self.loops.compute(func, &self.cfg, &self.dominators);
        }
        self.frequencies.compute(func, &self.cfg, &self.dominators, &self.loops);
    }

    /// Says that they are those of the function no more.
    pub fn invalidate(&mut self) {
        self.state = State::Stale;
    }

    /// Says that terminators name the same destinations in another order.
    pub fn reorder(&mut self) {
        if self.state == State::Current {
            self.state = State::Reordered;
        }
    }
}
