//! The walk as judges read it: the problem that it solved, and its answer.

use crate::walk::{Selected, WORD};
use cranelift_entity::{EntityRef, SecondaryMap};
use kingpost_mach::block_order::BlockOrder;
use kingpost_mach::lower::Edges;
use kingpost_mach::{Code, MInst};
use kingpost_regalloc::{
    Allocation, Block, ClobberId, Edit, EditKind, Inst, InstFlags, Loc, MachineEnv, Operand, RegClass, VReg,
};

/// An instruction, with the range of its operands.
#[derive(Clone, Copy, Debug)]
struct Logged {
    inst: MInst,
    flags: InstFlags,
    clobbers: ClobberId,
    operands: (usize, usize),
    srcloc: u32,
    is_dropped: bool,
}

/// What is known of a block.
#[derive(Clone, Default, Debug)]
struct LoggedBlock {
    /// Number of the first instruction logged of it, which is its last.
    end: usize,
    params: Vec<VReg>,
    succs: Vec<Block>,
    args: Vec<VReg>,
    head_edits: Vec<EditKind>,
}

/// Everything in the order of the walk.
#[derive(Default, Debug)]
pub(crate) struct Log {
    insts: Vec<Logged>,
    operands: Vec<Operand>,
    locs: Vec<Loc>,
    /// Each before the instruction logged last, by number.
    edits: Vec<(usize, EditKind)>,
    blocks: SecondaryMap<Block, LoggedBlock>,
}

impl Log {
    pub(crate) fn end(&mut self, block: Block, edges: &Edges) {
        let data = &mut self.blocks[block];
        data.end = self.insts.len();
        data.succs.clone_from(&edges.succs);
        data.args = edges.pairs.iter().map(|&(arg, _)| arg).collect();
    }

    pub(crate) fn params(&mut self, block: Block, params: &[VReg]) {
        self.blocks[block].params = params.into();
    }

    pub(crate) fn head_edits(&mut self, block: Block, edits: &[EditKind]) {
        self.blocks[block].head_edits = edits.into();
    }

    pub(crate) fn inst(&mut self, selected: &Selected, srcloc: u32, locs: &[Loc], is_dropped: bool) {
        let start = self.operands.len();
        self.operands.extend_from_slice(&selected.operands);
        self.locs.extend_from_slice(locs);
        let Selected { inst, flags, clobbers, .. } = *selected;
        self.insts.push(Logged { inst, flags, clobbers, operands: (start, self.operands.len()), srcloc, is_dropped });
    }

    pub(crate) fn edit(&mut self, kind: EditKind) {
        self.edits.push((self.insts.len() - 1, kind));
    }

    /// Turns everything round into the problem of `code`, and the answer to that.
    pub(crate) fn finish(
        self,
        code: &mut Code,
        order: &BlockOrder,
        env: &MachineEnv,
        slots: &Allocation,
    ) -> Allocation {
        let blocks = (0..order.blocks().len()).map(Block::new);
        let has_srclocs = self.insts.iter().any(|logged| logged.srcloc != u32::MAX);
        let mut locs = Vec::new();
        let mut defs: SecondaryMap<VReg, Option<Inst>> = SecondaryMap::new();
        for data in code.problem.vregs.values_mut().filter(|data| data.class == RegClass::Int) {
            data.width = WORD;
        }
        for block in blocks.clone() {
            let data = &self.blocks[block];
            code.problem.begin_block(order.freq(block), &data.params);
            let start = block.index().checked_sub(1).map_or(self.insts.len(), |last| self.blocks[Block::new(last)].end);
            for logged in self.insts[data.end..start].iter().rev() {
                let range = logged.operands.0..logged.operands.1;
                locs.extend_from_slice(&self.locs[range.clone()]);
                code.problem.push_operands(&self.operands[range.clone()]);
                let inst = code.problem.push_inst(logged.flags, logged.clobbers);
                for operand in self.operands[range].iter().filter(|operand| operand.is_def()) {
                    defs[operand.vreg()] = Some(inst);
                }
                code.insts.push(logged.inst);
                if has_srclocs {
                    code.srclocs.push(logged.srcloc);
                }
            }
        }
        // Lowering added the edges of calls with handlers.
        let mut throws: SecondaryMap<Block, bool> = SecondaryMap::new();
        for edge in code.problem.edges() {
            throws[code.problem.edge(edge).from] = true;
        }
        for block in blocks.clone().filter(|&block| !throws[block]) {
            let LoggedBlock { succs, args, .. } = &self.blocks[block];
            for &to in succs {
                let freq = order.freq(block).min(order.freq(to));
                code.problem.add_edge(block, to, freq, args, &[]);
            }
        }
        code.problem.finish();
        let mut answer = Allocation::default();
        answer.reset(&code.problem);
        answer.locs = locs;
        answer.slots.extend(slots.slots.values().copied());
        answer.emergency = slots.emergency;
        let last = self.insts.len().wrapping_sub(1);
        let kind = |kind: EditKind| match kind {
            EditKind::Remat { inst, to } => match defs[VReg::from_u32(inst.as_u32())] {
                Some(inst) => EditKind::Remat { inst, to },
                None => kind,
            },
            kind => kind,
        };
        for block in blocks {
            let at = code.problem.first_inst(block);
            answer.edits.extend(self.blocks[block].head_edits.iter().map(|&edit| Edit { at, kind: kind(edit) }));
        }
        let edits = self.edits.iter().rev();
        answer.edits.extend(edits.map(|&(number, edit)| Edit { at: Inst::new(last - number), kind: kind(edit) }));
        answer.edits.sort_by_key(|edit| edit.at);
        for (number, _) in self.insts.iter().enumerate().filter(|(_, logged)| logged.is_dropped) {
            answer.drop_inst(Inst::new(last - number));
        }
        answer.collect_saved(&code.problem, env.callee_saved());
        answer
    }
}
