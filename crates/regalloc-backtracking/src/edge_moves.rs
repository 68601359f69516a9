//! The moves on edges: values into the registers in which they are live into a block, arguments to parameters, and
//! results of branches from their registers.
//!
//! ```text
//! b1: .. branch -> b3(v1)        edge b1 -> b3: move the register of v1 to that of v3, fill v0 if it is in memory in
//! b1 b3(v3): .. use v0
//! ```
//!
//! Cost: linear in edges and arguments, and in the edges into blocks that fragments cover.

use crate::emit::{Emit, Phase};
use crate::interference::Interference;
use crate::liveness::Use;
use crate::value_locations::ValueLoc;
use kingpost_regalloc::{Block, Edge, PRegSet, VReg};
use kingpost_regalloc_common::edge_sites::{EdgeSite, edge_site};
use kingpost_regalloc_common::order::OrderedBlock;
use kingpost_regalloc_common::point::ProgPoint;

impl Emit<'_> {
    /// Collects the moves of all edges.
    pub(crate) fn edges(&mut self) {
        for i in 0..self.locations.all_fragments().len() {
            let fragment = self.locations.all_fragments()[i];
            let first = self.order.index_at(fragment.points.from.position());
            let last = self.order.index_at(fragment.points.to.prev().position());
            for at in first.up_to(last.next()) {
                let block = self.order.block(at);
                let start = block.start();
                if start < fragment.points.from || self.live.def(fragment.vreg) == start {
                    continue;
                }
                for &edge in self.problem.preds(block.block) {
                    let end = ProgPoint::after(self.source(edge).terminator());
                    if !fragment.points.contains(end) {
                        let from = self.locations.at(fragment.vreg, end);
                        self.edge_move(edge, from, ValueLoc::Reg(fragment.reg), fragment.vreg);
                    }
                }
            }
        }
        for edge in self.problem.edges() {
            self.arguments(edge);
            self.results(edge);
        }
    }

    fn source(&self, edge: Edge) -> &OrderedBlock {
        self.block(self.problem.edge(edge).from)
    }

    pub(crate) fn block(&self, block: Block) -> &OrderedBlock {
        self.order.block(self.order.index(block))
    }

    /// Adds a move to an edge.
    pub(crate) fn edge_move(&mut self, edge: Edge, from: ValueLoc, to: ValueLoc, vreg: VReg) {
        if from == to {
            return;
        }
        match edge_site(self.problem, edge) {
            EdgeSite::AtHead(block) => self.add(self.block(block).head, Phase::Edge, from, to, vreg),
            EdgeSite::BeforeTerminator(block) => self.add(self.block(block).terminator(), Phase::Jump, from, to, vreg),
        }
    }

    fn arguments(&mut self, edge: Edge) {
        let target = self.problem.edge(edge).to;
        let (end, start) = (ProgPoint::before(self.source(edge).terminator()), self.block(target).start());
        for (&arg, &param) in self.problem.edge_args(edge).iter().zip(self.problem.params(target)) {
            if !self.live.ranges(param).is_empty() {
                self.edge_move(edge, self.locations.at(arg, end), self.locations.at(param, start), arg);
            }
        }
    }

    /// Adds the moves of the branch's results, which are in fixed registers or in their slots.
    fn results(&mut self, edge: Edge) {
        let start = self.block(self.problem.edge(edge).to).start();
        for &vreg in self.problem.edge_defs(edge) {
            let def = self.live.uses(vreg).iter().find(|place| place.is_def).and_then(Use::operand);
            let Some(k) = def.filter(|_| !self.live.ranges(vreg).is_empty()) else { continue };
            let source = self.reservations.fixed(k).map_or(ValueLoc::Memory(vreg), ValueLoc::Reg);
            let at = self.locations.at(vreg, start);
            if at != source && at != ValueLoc::Memory(vreg) {
                self.edge_move(edge, source, at, vreg);
            }
        }
    }

    /// Returns registers that hold no value live into the block.
    pub(crate) fn free_at_head(&self, block: Block) -> PRegSet {
        let start = self.block(block).start();
        self.free_registers(|interference| interference.taken_at(start))
    }

    /// Returns registers of each class that are not in the set that `taken` returns.
    pub(crate) fn free_registers(&self, taken: impl Fn(&Interference) -> u64) -> PRegSet {
        let registers = &self.reservations.registers;
        registers.some_of([0, 1].map(|class| match &self.interference[class] {
            interference if interference.is_empty() => 0,
            interference => registers.allocatable[class] & !taken(interference),
        }))
    }
}
