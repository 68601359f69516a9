//! Loads of memory that never changes, where an earlier load has read the same: the base of a heap, a table, a field of the
//! context.
//!
//! ```text
//! v1 = load.i64 notrap readonly v0+56      v1 = load.i64 notrap readonly v0+56
//! v2 = load.i32 v1                         v2 = load.i32 v1
//! v3 = load.i64 notrap readonly v0+56      v4 = load.i32 v1+4
//! v4 = load.i32 v3+4
//! ```
//!
//! Needs the graph, the function may use aliases; leaves more aliases in use, and all analyses valid. Without an optimiser
//! this pays for itself: a front end reads such fields anew for each access, and what is not there need not be compiled.
//!
//! A load is found to be dominated by another without a dominator tree: by one in the same block, in the entry, or a few
//! single predecessors back. Instructions are met in the order in which they were made, which is that of the layout as
//! front ends write; where it is not, repeated loads stay. Linear in instructions.

use kingpost_ir::cfg::ControlFlowGraph;
use kingpost_ir::{Block, Function, Inst, InstData, MemFlags, Opcode, Value};

/// How many loads are remembered, each at the index that its key hashes to.
const ENTRIES: usize = 64;
/// How many single predecessors are gone back.
const STEPS: usize = 4;

/// A load that others may repeat.
#[derive(Copy, Clone, Debug)]
struct Load {
    key: [u64; 2],
    inst: Inst,
    block: Block,
    value: Value,
}

/// Memory of the pass.
#[derive(Default, Debug)]
pub(crate) struct RepeatedLoads {
    /// By a hash of the key: the last load of such a key, or one in the entry.
    loads: Vec<Option<Load>>,
}

impl RepeatedLoads {
    /// Runs the pass.
    pub(crate) fn run(&mut self, func: &mut Function, cfg: &ControlFlowGraph) {
        let Some(entry) = func.layout.entry_block() else { return };
        self.loads.clear();
        for number in 0..func.dfg.num_insts() {
            let inst = Inst::from_u32(number as u32);
            let data = func.dfg.inst(inst);
            if data.opcode() == Opcode::Load && data.memflags().is_some_and(MemFlags::readonly) {
                self.visit(func, cfg, entry, inst);
            }
        }
    }

    /// Removes a load that repeats an earlier one, or remembers it.
    fn visit(&mut self, func: &mut Function, cfg: &ControlFlowGraph, entry: Block, inst: Inst) {
        let (Some(block), Some(value)) = (func.layout.inst_block(inst), func.dfg.first_result(inst)) else { return };
        let load = Load { key: key(func, func.dfg.inst(inst)), inst, block, value };
        self.loads.resize(ENTRIES, None);
        let earlier = &mut self.loads[hash(load.key)];
        match *earlier {
            Some(earlier) if earlier.key == load.key && is_dominated(func, cfg, entry, &load, &earlier) => {
                func.dfg.clear_results(inst);
                // A value that has just lost its definition is no alias of another one.
                let _ = func.dfg.change_to_alias(value, earlier.value);
                func.layout.remove_inst(inst);
            }
            // One in the entry dominates most others.
            Some(Load { block, .. }) if block == entry => {}
            _ => *earlier = Some(load),
        }
    }
}

/// Equal for loads that read the same: what may trap and which other accesses may meet it plays no part, as the earlier one
/// did not trap and memory does not change.
fn key(func: &Function, load: &InstData) -> [u64; 2] {
    let order = load.memflags().and_then(MemFlags::endianness);
    let flags = order.map_or(MemFlags::new(), |order| MemFlags::new().with_endianness(order));
    let addr = func.dfg.resolve_aliases(load.args()[0]);
    InstData::load(load.opcode(), load.controlling_type(), flags, addr, load.offset()).key()
}

/// The index of a key.
fn hash([head, rest]: [u64; 2]) -> usize {
    /// 2^64 divided by the golden ratio: Knuth, The Art of Computer Programming, volume 3, section 6.4.
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    ((head ^ rest.rotate_left(32)).wrapping_mul(GOLDEN) >> 32) as usize % ENTRIES
}

/// Whether every path to `load` goes through `earlier`. `false` if that takes more than a few steps to find out.
fn is_dominated(func: &Function, cfg: &ControlFlowGraph, entry: Block, load: &Load, earlier: &Load) -> bool {
    if load.block == earlier.block {
        return func.layout.seq(earlier.inst) < func.layout.seq(load.inst);
    }
    if earlier.block == entry {
        return true;
    }
    let mut block = load.block;
    for _ in 0..STEPS {
        match cfg.preds(block) {
            [pred] if block != entry => block = pred.block,
            _ => return false,
        }
        if block == earlier.block {
            return true;
        }
    }
    false
}
