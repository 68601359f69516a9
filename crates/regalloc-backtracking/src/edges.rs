//! What the edges move: values into the registers in which they are live into a block, arguments to parameters, and
//! results of branches from where they come.

use crate::emit::{Emit, Phase};
use crate::order::PRE;
use crate::places::Where;
use kingpost_regalloc::{Block, Edge, Problem, RegClass};

/// Do moves of the edge stand at the head of its target?
pub(crate) fn is_at_head(problem: &Problem, edge: Edge) -> bool {
    problem.preds(problem.edge(edge).to).len() == 1 && problem.edge_args(edge).is_empty()
}

impl Emit<'_> {
    pub(crate) fn edges(&mut self) {
        for i in 0..self.places.all_pieces().len() {
            let piece = self.places.all_pieces()[i];
            let segment = piece.segment;
            let first = self.order.index_at(segment.from) as usize;
            let last = self.order.index_at(segment.to - 1) as usize;
            for at in first..=last {
                let place = self.order.places[at];
                let is_born = self.live.def(segment.vreg) == place.start();
                if place.start() >= segment.from && !is_born {
                    for &edge in self.problem.preds(place.block) {
                        let from = self.problem.edge(edge).from;
                        let end = self.order.place(from).stop() - 1;
                        let source = self.places.at(segment.vreg, end);
                        self.edge_move(edge, source, Where::Reg(piece.reg), segment.vreg);
                    }
                }
            }
        }
        for edge in self.problem.edges() {
            self.arguments(edge);
            self.results(edge);
        }
    }

    pub(crate) fn edge_move(&mut self, edge: Edge, from: Where, to: Where, vreg: kingpost_regalloc::VReg) {
        let data = self.problem.edge(edge);
        match is_at_head(self.problem, edge) {
            true => self.add(self.order.place(data.to).start(), Phase::Edge, from, to, vreg),
            false => self.add(self.order.place(data.from).stop() - 4, Phase::Jump, from, to, vreg),
        }
    }

    fn arguments(&mut self, edge: Edge) {
        let (from, to) = (self.problem.edge(edge).from, self.problem.edge(edge).to);
        let (end, start) = (self.order.place(from).stop() - 4 + PRE, self.order.place(to).start());
        for (&arg, &param) in self.problem.edge_args(edge).iter().zip(self.problem.params(to)) {
            if !self.live.ranges(param).is_empty() {
                self.edge_move(edge, self.places.at(arg, end), self.places.at(param, start), arg);
            }
        }
    }

    /// Results of the branch are in fixed registers, or in their slots.
    fn results(&mut self, edge: Edge) {
        let (from, to) = (self.problem.edge(edge).from, self.problem.edge(edge).to);
        if self.problem.edge_defs(edge).is_empty() {
            return;
        }
        let term = self.problem.terminator(from);
        let start = self.order.place(to).start();
        for k in self.problem.operand_range(term) {
            let operand = self.problem.all_operands()[k];
            let vreg = operand.vreg();
            if !operand.is_def() || self.live.edge_of(vreg) != edge.as_u32() || self.live.ranges(vreg).is_empty() {
                continue;
            }
            let source = self.machine.fixed(k).map_or(Where::Memory(vreg), Where::Reg);
            let at = self.places.at(vreg, start);
            if at != source && at != Where::Memory(vreg) {
                self.edge_move(edge, source, at, vreg);
            }
        }
    }

    /// Registers in which nothing is live into the block.
    pub(crate) fn free_at_head(&self, block: Block) -> kingpost_regalloc::PRegSet {
        let start = self.order.place(block).start();
        let mut free = kingpost_regalloc::PRegSet::EMPTY;
        for class in RegClass::ALL.into_iter().filter(|class| !self.occupancy[class.index()].is_empty()) {
            let taken = self.occupancy[class.index()].taken_at(start);
            free = free.union(self.machine.registers.free(class, taken));
        }
        free
    }
}
