//! Which values matter at the entry of each root: those that some path from there still reads.
//!
//! States at block entries are cut down to these values, or a chain of copies would pile up names without end. The
//! search goes from each use upwards until the definition or a block already seen for this value; its cost is the
//! number of (block, live value) pairs. Cutting away too little or too much can only lose knowledge, never invent it.

use crate::flow::Flow;
use cranelift_entity::EntityRef;
use kingpost_regalloc::{Block, Inst, Problem, VReg};

const NONE: u32 = u32::MAX;

#[derive(Default)]
pub(crate) struct Live {
    /// Root by root, ascending: ends of the ranges of `values`.
    ends: Vec<u32>,
    values: Vec<VReg>,
    def_block: Vec<u32>,
    /// Where each value is read from above, sorted by value.
    reads: Vec<(VReg, Block)>,
    /// The last value for which a block was seen.
    seen: Vec<u32>,
    found: Vec<(u32, VReg)>,
    stack: Vec<Block>,
}

impl Live {
    /// Computes the lists; `false` if they would have more than `limit` members.
    pub(crate) fn compute(&mut self, problem: &Problem, flow: &Flow, limit: usize) -> bool {
        self.find_defs(problem, flow);
        self.find_reads(problem, flow);
        self.seen.clear();
        self.seen.resize(problem.num_blocks(), NONE);
        self.found.clear();
        for i in 0..self.reads.len() {
            let (vreg, block) = self.reads[i];
            self.walk_up(problem, flow, vreg, block);
            if self.found.len() > limit {
                return false;
            }
        }
        self.sort_by_root(flow.roots.len());
        true
    }

    /// Values that matter on entry to the root with this number, ascending.
    pub(crate) fn at_root(&self, root: usize) -> &[VReg] {
        let start = root.checked_sub(1).map_or(0, |r| self.ends[r]);
        &self.values[start as usize..self.ends[root] as usize]
    }

    fn find_defs(&mut self, problem: &Problem, flow: &Flow) {
        self.def_block.clear();
        self.def_block.resize(problem.vregs.len(), NONE);
        for block in problem.blocks().filter(|&b| flow.reaches(b)) {
            let number = block.as_u32();
            for param in problem.params(block) {
                self.def_block[param.index()] = number;
            }
            for inst in problem.insts(block) {
                for operand in problem.operands(inst).iter().filter(|o| o.is_def()) {
                    self.def_block[operand.vreg().index()] = number;
                }
            }
        }
    }

    fn find_reads(&mut self, problem: &Problem, flow: &Flow) {
        self.reads.clear();
        for block in problem.blocks().filter(|&b| flow.reaches(b)) {
            for inst in problem.insts(block) {
                for operand in problem.operands(inst).iter().filter(|o| o.is_use()) {
                    self.read(operand.vreg(), block);
                }
            }
            for &edge in problem.succs(block) {
                for &arg in problem.edge_args(edge) {
                    self.read(arg, block);
                }
            }
        }
        for wish in &problem.labels {
            if wish.from >= wish.to || wish.to.index() > problem.num_insts() {
                continue;
            }
            let (first, last) = (problem.block_of(wish.from), problem.block_of(Inst::new(wish.to.index() - 1)));
            for block in (first.index()..=last.index()).map(Block::new).filter(|&b| flow.reaches(b)) {
                self.read(wish.vreg, block);
            }
        }
        self.reads.sort_unstable();
        self.reads.dedup();
    }

    fn read(&mut self, vreg: VReg, block: Block) {
        if self.def_block[vreg.index()] != block.as_u32() {
            self.reads.push((vreg, block));
        }
    }

    /// Marks `vreg` as live on entry to `block` and to all blocks from there up to its definition.
    fn walk_up(&mut self, problem: &Problem, flow: &Flow, vreg: VReg, block: Block) {
        self.stack.push(block);
        while let Some(block) = self.stack.pop() {
            if self.seen[block.index()] == vreg.as_u32() || !flow.reaches(block) {
                continue;
            }
            self.seen[block.index()] = vreg.as_u32();
            if let Some(root) = flow.root(block) {
                self.found.push((root as u32, vreg));
            }
            let preds = problem.preds(block).iter().map(|&edge| problem.edge(edge).from);
            self.stack.extend(preds.filter(|pred| self.def_block[vreg.index()] != pred.as_u32()));
        }
    }

    /// Counting sort of `found`; values stay ascending within a root.
    fn sort_by_root(&mut self, roots: usize) {
        self.ends.clear();
        self.ends.resize(roots, 0);
        for &(root, _) in &self.found {
            self.ends[root as usize] += 1;
        }
        let mut start = 0;
        for end in &mut self.ends {
            let len = *end;
            *end = start;
            start += len;
        }
        self.values.clear();
        self.values.resize(self.found.len(), VReg::new(0));
        for &(root, vreg) in &self.found {
            self.values[self.ends[root as usize] as usize] = vreg;
            self.ends[root as usize] += 1;
        }
    }
}
