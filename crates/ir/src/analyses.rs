//! The four analyses of control flow together, computed when they are needed after a change.

use crate::cfg::ControlFlowGraph;
use crate::dominators::DominatorTree;
use crate::frequencies::Frequencies;
use crate::function::Function;
use crate::loops::LoopForest;

/// Analyses that hold for the function as it is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum State {
    /// Nothing.
    #[default]
    Stale,
    /// The graph alone.
    Graph,
    /// Dominance and loops are out of date.
    Reordered,
    /// Everything but which blocks dominate which.
    Undominated,
    /// Everything.
    Current,
}

/// Control-flow graph, dominator tree, loops and frequencies of one function after the other.
///
/// A change to an edge, to the set of blocks or to a terminator's number must be followed by [`Analyses::invalidate`],
/// and so must the start of another function; for an exchange of a branch's destinations [`Analyses::reorder`] is
/// enough.
#[derive(Clone, Default, Debug)]
pub struct Analyses {
    /// Successors and predecessors.
    pub cfg: ControlFlowGraph,
    /// Dominators, after [`Analyses::update`], and reverse post-order.
    pub dominators: DominatorTree,
    /// Loops.
    pub loops: LoopForest,
    /// Frequencies of blocks and edges.
    pub frequencies: Frequencies,
    state: State,
}

impl Analyses {
    /// Clears everything and frees the memory.
    pub fn release(&mut self) {
        self.cfg.release();
        self.dominators.release();
        self.loops.release();
        self.frequencies.release();
        *self = Analyses::default();
    }

    /// Computes what is stale of `func`.
    pub fn update(&mut self, func: &Function) {
        self.update_loops(func);
        if std::mem::replace(&mut self.state, State::Current) == State::Undominated {
            self.dominators.complete(func, &self.cfg);
        }
    }

    /// Computes what is stale but for which blocks dominate which: the orders and loops of a depth-first search.
    pub fn update_loops(&mut self, func: &Function) {
        match self.state {
            State::Current | State::Undominated => return,
            State::Reordered => {
                self.cfg.compute(func);
                self.dominators.reorder(func, &self.cfg);
                self.state = State::Current;
            }
            State::Stale | State::Graph => {
                if self.state == State::Stale {
                    self.cfg.compute(func);
                }
                self.dominators.search(func, &self.cfg);
                self.state = State::Undominated;
                if !self.loops.compute_reducible(func, &self.cfg, &self.dominators) {
                    self.dominators.complete(func, &self.cfg);
                    self.loops.compute(func, &self.cfg, &self.dominators);
                    self.state = State::Current;
                }
            }
        }
        self.frequencies.compute(func, &self.cfg, &self.dominators, &self.loops);
    }

    /// Returns `true` if all are known to be those of the function.
    pub fn is_current(&self) -> bool {
        self.state == State::Current
    }

    /// Records that they are those of the function no more.
    pub fn invalidate(&mut self) {
        self.state = State::Stale;
    }

    /// Records that terminators name the same destinations in another order.
    pub fn reorder(&mut self) {
        self.state = match self.state {
            State::Current | State::Reordered => State::Reordered,
            State::Undominated | State::Stale | State::Graph => State::Stale,
        };
    }

    /// Invalidates as [`Analyses::invalidate`], but exchanges the graph for the given one, which is the graph of the
    /// function.
    pub fn invalidate_all_but(&mut self, graph: &mut ControlFlowGraph) {
        std::mem::swap(&mut self.cfg, graph);
        self.state = State::Graph;
    }
}
