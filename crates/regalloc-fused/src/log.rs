//! The problem that the walk solved, for the checker and debuggers: the instructions from lowering, and the item
//! made of each. The answer is in the items alone ([`AllocatedCode::allocation`]).

use crate::selected::{Selected, WORD};
use cranelift_entity::{EntityRef, SecondaryMap};
use kingpost_mach::block_order::BlockOrder;
use kingpost_mach::lower::Edges;
use kingpost_mach::{Code, MInst, Origins, Outcome};
use kingpost_regalloc::meter::heap_bytes;
use kingpost_regalloc::{Block, ClobberId, Inst, InstFlags, Operand, RegClass, VReg};

/// An instruction, with the range of its operands.
#[derive(Clone, Copy, Debug)]
struct Logged {
    inst: MInst,
    flags: InstFlags,
    clobbers: ClobberId,
    operands: (usize, usize),
    srcloc: u32,
    outcome: Outcome,
}

/// A block of the problem.
#[derive(Clone, Default, Debug)]
struct LoggedBlock {
    /// Number of its first logged instruction, which is the last one of the block.
    end: usize,
    params: Vec<VReg>,
    succs: Vec<Block>,
    args: Vec<VReg>,
}

/// The log, in the order of the walk.
#[derive(Default, Debug)]
pub(crate) struct Log {
    insts: Vec<Logged>,
    operands: Vec<Operand>,
    blocks: SecondaryMap<Block, LoggedBlock>,
    /// Indices of rematerializing items in the list, with their values.
    remats: Vec<(u32, VReg)>,
    /// Indices of rematerializing items at the heads of blocks, with their values.
    head_remats: Vec<(u32, VReg)>,
}

heap_bytes!(Log { insts, operands, blocks, remats, head_remats });

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

    pub(crate) fn inst(&mut self, selected: &Selected, srcloc: u32, outcome: Outcome) {
        let start = self.operands.len();
        self.operands.extend_from_slice(&selected.operands);
        let Selected { inst, flags, clobbers, .. } = *selected;
        self.insts.push(Logged { inst, flags, clobbers, operands: (start, self.operands.len()), srcloc, outcome });
    }

    pub(crate) fn remat(&mut self, item: usize, vreg: VReg) {
        self.remats.push((item as u32, vreg));
    }

    pub(crate) fn head_remat(&mut self, item: usize, vreg: VReg) {
        self.head_remats.push((item as u32, vreg));
    }

    /// Reverses the log into the problem of `code`, and records in `origins` the outcome of each instruction.
    pub(crate) fn finish(self, code: &mut Code, order: &BlockOrder, origins: &mut Origins) {
        let blocks = (0..order.blocks().len()).map(Block::new);
        let has_srclocs = self.insts.iter().any(|logged| logged.srcloc != u32::MAX);
        let mut defs: SecondaryMap<VReg, Option<Inst>> = SecondaryMap::new();
        for data in code.problem.vregs.values_mut().filter(|data| data.class == RegClass::Int) {
            data.width = WORD;
        }
        for block in blocks.clone() {
            let data = &self.blocks[block];
            code.problem.begin_block(order.freq(block), &data.params);
            let start = block.index().checked_sub(1).map_or(self.insts.len(), |last| self.blocks[Block::new(last)].end);
            for logged in self.insts[data.end..start].iter().rev() {
                let operands = &self.operands[logged.operands.0..logged.operands.1];
                code.problem.push_operands(operands);
                let inst = code.problem.push_inst(logged.flags, logged.clobbers);
                for operand in operands.iter().filter(|operand| operand.is_def()) {
                    defs[operand.vreg()] = Some(inst);
                }
                code.insts.push(logged.inst);
                origins.insts.push(logged.outcome);
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
        for block in blocks.filter(|&block| !throws[block]) {
            let LoggedBlock { succs, args, .. } = &self.blocks[block];
            for &to in succs {
                let freq = order.freq(block).min(order.freq(to));
                code.problem.add_edge(block, to, freq, args, &[]);
            }
        }
        code.problem.finish();
        let defined = |(item, vreg): &(u32, VReg)| Some((*item, defs[*vreg]?));
        origins.remats.extend(self.remats.iter().filter_map(defined));
        origins.head_remats.extend(self.head_remats.iter().filter_map(defined));
    }
}
