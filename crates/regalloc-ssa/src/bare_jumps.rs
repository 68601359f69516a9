//! Bare jumps: blocks that split critical edges and pass arguments, four blocks of ten. Liveness treats them as
//! edges. Spilling and coloring reuse the values in registers at the end of the predecessor, including dead ones,
//! for the end of the bare jump, because no value changes in between.
//!
//! ```text
//! b1: ..; branch -> b2, b3
//! b2: branch -> b4(v1)         b2 is a bare jump: b1 is the source of both edges to b4
//! ```
//!
//! If no block is treated as an edge, compilation takes 2.1 % more instructions (`make gate`, `x86_64 ssa none`).

use crate::tables::scaled;
use cranelift_entity::EntityRef;
use kingpost_regalloc::meter::heap_bytes;
use kingpost_regalloc::{Edge, OperandClass, Problem};
use kingpost_regalloc_common::order::{BlockIndex, LinearOrder, OrderedBlock};
use kingpost_regalloc_common::point::ProgPoint;

/// Distance added on an edge to a block that runs less than a third as often. Uses after a loop then come after the
/// uses in its next iteration, unless these are even farther away. The lower frequency of the edge is counted
/// separately.
const AWAY: u32 = 1 << 4;

/// The distance from the head of a block over one of its edges.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EdgeDistance {
    /// Instructions of the block, plus the extra distance of uses after the edge.
    pub(crate) distance: u32,
    /// Frequency of the edge.
    pub(crate) freq: u32,
}

impl EdgeDistance {
    pub(crate) fn new(problem: &Problem, edge: Edge) -> EdgeDistance {
        let data = problem.edge(edge);
        let away = problem.freq(data.to).0.saturating_mul(3) < problem.freq(data.from).0;
        let distance = problem.insts(data.from).len() as u32 + if away { AWAY } else { 0 };
        EdgeDistance { distance, freq: scaled(data.freq) }
    }

    /// Returns the distance over the edge `before` and then this one.
    fn after(self, before: EdgeDistance) -> EdgeDistance {
        EdgeDistance { distance: self.distance + before.distance, freq: self.freq.min(before.freq) }
    }
}

/// Source of an edge. If the source is a bare jump, its predecessor takes its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source {
    pub(crate) from: BlockIndex,
    pub(crate) edge: EdgeDistance,
}

/// The bare jumps of a problem.
#[derive(Default)]
pub(crate) struct BareJumps {
    /// Per block in order: whether it is a bare jump.
    pub(crate) are: Vec<bool>,
    /// Per block in order, the first point after it and after the bare jumps that follow it.
    pub(crate) stops: Vec<ProgPoint>,
}

heap_bytes!(BareJumps { are, stops });

impl BareJumps {
    pub(crate) fn find(&mut self, problem: &Problem, order: &LinearOrder) {
        self.are.clear();
        self.are.extend(order.indices().map(|index| is_bare_jump(problem, order, index)));
        self.stops.clear();
        self.stops.extend(order.blocks().values().map(OrderedBlock::stop));
        for i in (1..self.are.len()).rev().filter(|&i| self.are[i]) {
            self.stops[i - 1] = self.stops[i];
        }
    }

    /// Returns the predecessor of a bare jump, or `None` for other blocks.
    pub(crate) fn source_of(&self, order: &LinearOrder, index: BlockIndex) -> Option<BlockIndex> {
        if self.are[index.index()] { order.block(index).inherits().map(|(_, from)| from) } else { None }
    }

    /// Returns the source of an edge.
    pub(crate) fn source(&self, problem: &Problem, order: &LinearOrder, edge: Edge) -> Source {
        let last = order.index(problem.edge(edge).from);
        let distance = EdgeDistance::new(problem, edge);
        match order.block(last).inherits() {
            Some((before, from)) if self.are[last.index()] => {
                Source { from, edge: distance.after(EdgeDistance::new(problem, before)) }
            }
            _ => Source { from: last, edge: distance },
        }
    }
}

/// Returns `true` if the block consists of a jump to a block with several incoming edges, and continues from the
/// end of its only predecessor.
fn is_bare_jump(problem: &Problem, order: &LinearOrder, index: BlockIndex) -> bool {
    let block = order.block(index);
    let (1, Some((before, _))) = (block.num_insts(), block.inherits()) else { return false };
    let &[edge] = problem.succs(block.block) else { return false };
    let jump = problem.terminator(block.block);
    order.block(order.index(problem.edge(edge).to)).inherits().is_none()
        && problem.edge_defs(before).is_empty()
        && problem.operands(jump).is_empty()
        && problem.operand_class(jump) == OperandClass::Plain
}
