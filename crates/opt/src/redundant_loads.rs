//! Loads of memory that never changes, where an earlier load has read the same: the base of a heap, a table, a field of
//! the context.
//!
//! ```text
//! v1 = load.i64 notrap readonly v0+56      v1 = load.i64 notrap readonly v0+56
//! v2 = load.i32 v1                         v2 = load.i32 v1
//! v3 = load.i64 notrap readonly v0+56      v4 = load.i32 v1+4
//! v4 = load.i32 v3+4
//! ```
//!
//! Needs the graph, the function may use aliases; leaves more aliases in use, and all analyses valid. Without an
//! optimizer this pays for itself: a front end reads such fields anew for each access, and what is not there need not
//! be compiled.
//!
//! A load is found to be dominated by another without a dominator tree: by one in the same block, in the entry, or a
//! few single predecessors back. Instructions are met in the order in which they were made, which is that of the layout
//! as front ends write; where it is not, repeated loads stay. Linear in instructions.

use kingpost_ir::cfg::ControlFlowGraph;
use kingpost_ir::{Block, Function, Inst, InstData, MemFlags, Opcode};

use crate::value_table::ValueTable;

/// Number of single predecessors to go back.
const STEPS: usize = 4;

/// Memory of the pass.
#[derive(Default, Debug)]
pub(crate) struct RedundantLoads {
    /// By key: the last load, or one in the entry.
    loads: ValueTable,
}

impl RedundantLoads {
    /// Runs the pass.
    pub(crate) fn run(&mut self, func: &mut Function, cfg: &ControlFlowGraph) {
        let Some(entry) = func.layout.entry_block() else { return };
        // Loads of many places are rare: the table grows then.
        self.loads.reset(0);
        let mut from = 0;
        while let Some(load) = next_load(func, from) {
            from = load.as_u32() as usize + 1;
            let (flags, ..) = func.dfg.load_parts(load);
            if flags.readonly() {
                self.visit(func, cfg, entry, load);
            }
        }
    }

    /// Removes a load that repeats an earlier one, or remembers it.
    fn visit(&mut self, func: &mut Function, cfg: &ControlFlowGraph, entry: Block, load: Inst) {
        let (Some(block), Some(value)) = (func.layout.inst_block(load), func.dfg.first_result(load)) else { return };
        let key = key(func, load);
        let (place, known) = self.loads.find(key);
        let known = known.map(Inst::from_u32);
        let source = known.filter(|&earlier| is_dominated(func, cfg, entry, (load, block), earlier));
        if let Some(source) = source.and_then(|earlier| func.dfg.first_result(earlier)) {
            func.dfg.clear_results(load);
            // A value that has just lost its definition is no alias of another one.
            let _ = func.dfg.change_to_alias(value, source);
            func.layout.remove_inst(load);
        } else if known.and_then(|earlier| func.layout.inst_block(earlier)) != Some(entry) {
            // One in the entry dominates most others, and stays.
            self.loads.set(place, key, load.as_u32());
        }
    }
}

/// Returns the first load of those instructions that have at least this number.
#[inline]
fn next_load(func: &Function, from: usize) -> Option<Inst> {
    let distance = func.dfg.insts()[from..].iter().position(|data| data.opcode() == Opcode::Load)?;
    Some(Inst::from_u32((from + distance) as u32))
}

/// Equal for loads that read the same: what may trap and which other accesses may meet it plays no part, as the earlier
/// one did not trap and memory does not change.
fn key(func: &Function, load: Inst) -> [u64; 2] {
    let (flags, addr, offset) = func.dfg.load_parts(load);
    let flags = flags.endianness().map_or(MemFlags::new(), |order| MemFlags::new().with_endianness(order));
    let ty = func.dfg.inst(load).controlling_type();
    InstData::load(Opcode::Load, ty, flags, func.dfg.resolve_aliases(addr), offset).key()
}

/// Returns `true` if every path to a load in a block goes through `earlier`. `false` if that takes more than a few
/// steps to find out.
fn is_dominated(
    func: &Function,
    cfg: &ControlFlowGraph,
    entry: Block,
    (load, block): (Inst, Block),
    earlier: Inst,
) -> bool {
    let Some(source) = func.layout.inst_block(earlier) else { return false };
    if block == source {
        return func.layout.seq(earlier) < func.layout.seq(load);
    }
    if source == entry {
        return true;
    }
    let mut block = block;
    for _ in 0..STEPS {
        match cfg.preds(block) {
            [pred] if block != entry => block = pred.block,
            _ => return false,
        }
        if block == source {
            return true;
        }
    }
    false
}
