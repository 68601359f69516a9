//! Control-flow analysis of a function: graph, dominators, loops and frequencies, recomputed on request after a
//! change.

use crate::cfg::ControlFlowGraph;
use crate::dominators::DominatorTree;
use crate::frequencies::Frequencies;
use crate::function::Function;
use crate::loops::LoopForest;
use kingpost_meter::heap_bytes;

/// Parts of the analysis that are valid for the current form of the function.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum State {
    /// None.
    #[default]
    Stale,
    /// Only the graph.
    Graph,
    /// All, but terminators have exchanged destinations since: the order of edges, the postorder and the frequencies
    /// are stale.
    Reordered,
    /// All, except that the dominator tree is not computed.
    Undominated,
    /// All.
    Current,
}

/// Control-flow graph, dominator tree, loops and frequencies. One `Analyses` serves one function after the other.
///
/// [`Analyses::invalidate`] must follow a change to an edge, to the set of blocks or to a terminator's number, and
/// the start of another function. After an exchange of a branch's destinations, [`Analyses::reorder`] is enough.
#[derive(Clone, Default, Debug)]
pub struct Analyses {
    /// Successors and predecessors.
    pub cfg: ControlFlowGraph,
    /// Dominator tree, after [`Analyses::update`], and reverse postorder.
    pub dominators: DominatorTree,
    /// Loops.
    pub loops: LoopForest,
    /// Frequencies of blocks and edges.
    pub frequencies: Frequencies,
    state: State,
}

heap_bytes!(Analyses { cfg, dominators, loops, frequencies } without { state });

impl Analyses {
    /// Clears everything and frees the memory.
    pub fn release(&mut self) {
        self.cfg.release();
        self.dominators.release();
        self.loops.release();
        self.frequencies.release();
        *self = Analyses::default();
    }

    /// Computes the stale parts for `func`.
    pub fn update(&mut self, func: &Function) {
        self.update_loops(func);
        if std::mem::replace(&mut self.state, State::Current) == State::Undominated {
            self.dominators.complete(func, &self.cfg);
        }
    }

    /// Computes the stale parts except the dominator tree: graph, search orders, loops and frequencies.
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

    /// Returns `true` if all parts are valid for the current form of the function.
    pub fn is_current(&self) -> bool {
        self.state == State::Current
    }

    /// Records that the function has changed and no part is valid.
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

    /// Invalidates all parts like [`Analyses::invalidate`], except the graph, which it exchanges for `graph`: the
    /// current graph of the function.
    pub fn invalidate_all_but(&mut self, graph: &mut ControlFlowGraph) {
        std::mem::swap(&mut self.cfg, graph);
        self.state = State::Graph;
    }
}
