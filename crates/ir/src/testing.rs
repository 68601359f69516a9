//! Helpers of this crate's tests: functions built from lists of edges, and a small random generator.

use crate::entities::Block;
use crate::function::Function;
use crate::instruction::InstData;
use crate::types::I32;

/// Returns a function whose block N branches to the blocks in list N. Blocks without successors return.
pub(crate) fn function_of_edges(edges: &[&[usize]]) -> Function {
    let mut func = Function::default();
    let blocks: Vec<Block> = edges.iter().map(|_| func.dfg.make_block()).collect();
    for (&block, succs) in blocks.iter().zip(edges) {
        func.layout.append_block(block);
        let calls: Vec<_> = succs.iter().map(|&succ| func.dfg.block_call(blocks[succ], &[])).collect();
        let data = match calls[..] {
            [] => func.dfg.return_data(&[]),
            [dest] => func.dfg.jump_data(dest),
            [default, ref entries @ ..] => {
                let index = func.dfg.make_inst(InstData::iconst(I32, 0));
                func.dfg.make_results(index, I32);
                func.layout.append_inst(index, block);
                let index = func.dfg.inst_results(index)[0];
                let table = func.dfg.make_jump_table(default, entries);
                func.dfg.br_table_data(index, table)
            }
        };
        let inst = func.dfg.make_inst(data);
        func.layout.append_inst(inst, block);
    }
    func
}

/// Returns random successors for up to `max` blocks. No edge leads to block 0.
pub(crate) fn random_edges(random: &mut Random, max: usize) -> Vec<Vec<usize>> {
    let blocks = 2 + random.below(max - 1);
    (0..blocks).map(|_| (0..random.below(4)).map(|_| 1 + random.below(blocks - 1)).collect()).collect()
}

/// A generator of pseudo-random numbers (splitmix64).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % limit as u64) as usize
    }
}
