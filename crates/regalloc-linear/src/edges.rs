//! What the edges must move.
//!
//! Only stays at the two ends of an edge are compared, register by register, so an edge costs no more than there are
//! registers, plus its arguments; blocks that simply go on where their only predecessor ended are skipped.

use crate::resolve::Input;
use crate::values::{Values, fact};
use crate::walk::Found;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{Allocation, Block, Edge, EdgeData, VReg};
use kingpost_regalloc_common::point::ProgPoint;
use kingpost_regalloc_common::preference::{Masks, Reg, regs};

/// A copy on an edge.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EdgeMove {
    /// The value before and after: they differ for parameters.
    pub(crate) from_vreg: VReg,
    pub(crate) to_vreg: VReg,
    /// None if in memory.
    pub(crate) from: Reg,
    pub(crate) to: Reg,
    /// A store that is needed only if the value is not stored at its definition.
    pub(crate) leaves_register: bool,
}

/// The moves of all edges.
pub(crate) struct EdgeMoves {
    moves: Vec<EdgeMove>,
    /// By edge: where its moves end, and those of the next one begin.
    ends: Vec<u32>,
    /// The registers held where `block` ends, and by register whose they are.
    held: Masks,
    /// Those of them with values that can be computed again and have been in registers since their definitions.
    since_def: Masks,
    owners: [VReg; Reg::TABLE],
    block: Option<Block>,
}

impl Default for EdgeMoves {
    fn default() -> EdgeMoves {
        let owners = [VReg::from_u32(0); Reg::TABLE];
        EdgeMoves { moves: Vec::new(), ends: Vec::new(), held: [0; 2], since_def: [0; 2], owners, block: None }
    }
}

impl EdgeMoves {
    /// Finds the moves of all edges, takes note of what they read, and adds up what it would cost to store each value
    /// wherever an edge takes it from a register to memory.
    pub(crate) fn build(
        &mut self,
        input: &Input<'_>,
        values: &mut Values,
        found: &Found,
        out: &Allocation,
        leaving_freq: &mut [u64],
    ) {
        self.moves.clear();
        self.ends.clear();
        self.block = None;
        for edge in input.problem.edges() {
            let data = input.problem.edge(edge);
            let to = input.order.index(data.to).index();
            if found.resolve[to] && found.settled[to] != edge.as_u32() {
                Resolution { input, values, found, out, leaving_freq, s: self }.edge(edge, data);
            }
            self.ends.push(self.moves.len() as u32);
        }
    }

    pub(crate) fn of(&self, edge: Edge) -> &[EdgeMove] {
        let start = edge.index().checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.moves[start as usize..self.ends[edge.index()] as usize]
    }
}

struct Resolution<'a> {
    input: &'a Input<'a>,
    values: &'a mut Values,
    found: &'a Found,
    out: &'a Allocation,
    leaving_freq: &'a mut [u64],
    s: &'a mut EdgeMoves,
}

impl Resolution<'_> {
    fn edge(&mut self, edge: Edge, data: &EdgeData) {
        let (problem, order) = (self.input.problem, self.input.order);
        self.read_end(data.from);
        let head = order.index(data.to);
        let start = order.block(head).start();
        let (args, defs) = (problem.edge_args(edge), problem.edge_defs(edge));
        let params = problem.params(data.to);
        let last = order.block(order.index(data.from)).stop().prev();
        // Whoever has no register at the head of the successor.
        let mut left = self.s.held;
        for &id in self.found.map(&self.found.at_head[head.index()]) {
            let stay = self.found.residence.stay(id);
            if !stay.covers(start) {
                continue;
            }
            let (vreg, to) = (stay.vreg, stay.reg);
            if stay.from == start && self.values.def(vreg) == start {
                self.values[vreg].home = to;
                continue;
            }
            if to.is_in(&left) && self.s.owners[to.index()] == vreg {
                left[to.class()] &= !to.bit();
                self.note_def_read(vreg, to);
                continue;
            }
            let from = self.find(vreg);
            if !from.is_none() {
                left[from.class()] &= !from.bit();
            }
            // Where liveness is a superset there may be nothing to move.
            if self.values.is_exact(vreg) || self.values.is_live_at(vreg, last) {
                self.pass(vreg, vreg, from, to, data.freq.0);
            }
        }
        for (&arg, &param) in args.iter().zip(params) {
            if self.values.is_used(param) {
                let (from, to) = (self.find(arg), self.values.home(param));
                self.pass(arg, param, from, to, data.freq.0);
                if to.is_none() && !from.is_none() {
                    self.weigh_jump(arg, data);
                }
            }
        }
        for &def in defs {
            if self.values.is_used(def) {
                self.pass(def, def, self.written(data.from, def), self.values.home(def), 0);
            }
        }
        for (class, left) in left.into_iter().enumerate() {
            for reg in regs(class, left) {
                self.leave(self.s.owners[reg.index()], reg, start, data.freq.0);
            }
        }
        for &vreg in params.iter().chain(defs) {
            self.values[vreg].home = Reg::NONE;
        }
    }

    /// A store on an edge with a block of its own costs that block's jump as well, unless other things stand there. If a
    /// store where the value is defined is cheaper than both, it is to be in memory from there on.
    fn weigh_jump(&mut self, vreg: VReg, data: &EdgeData) {
        let order = self.input.order;
        let place = order.block(order.index(data.from));
        if place.num_insts() != 1 || self.input.problem.succs(data.from).len() != 1 {
            return;
        }
        let costs = self.input.registers.costs();
        let jump = data.freq.0.saturating_mul(costs.edge_block.into()) / u64::from(costs.spill.max(1));
        if data.freq.0.saturating_add(jump) > order.block_at(self.values.def(vreg).position()).freq.0 {
            self.values.note_read(vreg);
            let leaving = &mut self.leaving_freq[vreg.index()];
            *leaving = leaving.saturating_add(jump);
        }
    }

    /// Whose the registers are where the block ends.
    fn read_end(&mut self, block: Block) {
        if self.s.block.replace(block) == Some(block) {
            return;
        }
        let at = self.input.order.index(block);
        let last = self.input.order.block(at).stop().prev();
        self.s.held = [0; 2];
        self.s.since_def = [0; 2];
        for &id in self.found.map(&self.found.at_end[at.index()]) {
            let stay = self.found.residence.stay(id);
            if stay.covers(last) {
                self.s.held[stay.reg.class()] |= stay.reg.bit();
                self.s.owners[stay.reg.index()] = stay.vreg;
                if stay.since_def {
                    self.s.since_def[stay.reg.class()] |= stay.reg.bit();
                }
            }
        }
    }

    /// The register of a value where the predecessor ends.
    fn find(&self, vreg: VReg) -> Reg {
        let class = self.values[vreg].class();
        regs(class, self.s.held[class]).find(|reg| self.s.owners[reg.index()] == vreg).unwrap_or(Reg::NONE)
    }

    /// The register that the terminator of `block` writes `def` to.
    fn written(&self, block: Block, def: VReg) -> Reg {
        let problem = self.input.problem;
        let mut range = problem.operand_range(problem.terminator(block));
        let operand = range.find(|&at| {
            let operand = problem.all_operands()[at];
            operand.is_def() && operand.vreg() == def
        });
        let loc = operand.map(|at| self.out.locs[at]);
        loc.and_then(|loc| loc.as_reg()).map_or(Reg::NONE, |preg| self.input.registers.reg(preg))
    }

    /// The value is read from `reg`, where it is at the end of the predecessor.
    fn note_def_read(&mut self, vreg: VReg, reg: Reg) {
        if reg.is_in(&self.s.since_def) {
            self.values.set(vreg, fact::KEEP_DEF);
        }
    }

    /// `from` at the predecessor's end becomes `to` at the successor's head.
    fn pass(&mut self, from_vreg: VReg, to_vreg: VReg, from: Reg, to: Reg, freq: u64) {
        if !from.is_none() {
            self.note_def_read(from_vreg, from);
        } else if from_vreg != to_vreg || !to.is_none() {
            self.values.note_read(from_vreg);
        }
        // Once stored where it is defined, it need not be stored for a parameter that shares its slot.
        if to.is_none() && !from.is_none() {
            let leaving = &mut self.leaving_freq[from_vreg.index()];
            *leaving = leaving.saturating_add(freq);
        }
        if from != to || (from.is_none() && from_vreg != to_vreg) {
            self.s.moves.push(EdgeMove { from_vreg, to_vreg, from, to, leaves_register: false });
        }
    }

    /// The value was in `reg` and may be in memory where the successor begins.
    fn leave(&mut self, vreg: VReg, reg: Reg, start: ProgPoint, freq: u64) {
        if self.values.is_remat(vreg) || !self.values.is_live_at(vreg, start) || self.values.def(vreg) == start {
            return;
        }
        let leaving = &mut self.leaving_freq[vreg.index()];
        *leaving = leaving.saturating_add(freq);
        self.note_def_read(vreg, reg);
        self.s.moves.push(EdgeMove { from_vreg: vreg, to_vreg: vreg, from: reg, to: Reg::NONE, leaves_register: true });
    }
}
