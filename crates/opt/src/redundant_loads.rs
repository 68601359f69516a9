//! Redundant loads: removes a load of memory that never changes if an earlier load has read its bytes. Examples are
//! the base of a heap, a table, or a field of the context.
//!
//! ```text
//! v1 = load.i64 notrap readonly v0+56      v1 = load.i64 notrap readonly v0+56
//! v2 = load.i32 v1                         v2 = load.i32 v1
//! v3 = load.i64 notrap readonly v0+56      v4 = load.i32 v1+4
//! v4 = load.i32 v3+4
//! ```
//!
//! Needs the control-flow graph. The function may use aliases. Leaves more aliases in use, and all `Analyses`
//! valid. The pass pays for itself without the optimizer, because front ends read such fields again for each
//! access, and a removed load need not be compiled.
//!
//! Dominance between loads is found without a dominator tree: the earlier load is in the same block, in the entry,
//! or a few single predecessors back. Instructions are visited in the order in which they were made. Front ends
//! write functions whose layout has this order; in other functions, some repeated loads stay. Cost: linear in
//! instructions.

use kingpost_ir::cfg::ControlFlowGraph;
use kingpost_ir::{Block, Function, Inst, InstData, MemFlags, Opcode};

use crate::value_table::ValueTable;
use kingpost_meter::heap_bytes;

/// Maximum number of single predecessors that are followed.
const STEPS: usize = 4;

/// Memory of the pass.
#[derive(Default, Debug)]
pub(crate) struct RedundantLoads {
    /// By key: the last load, or a load in the entry.
    loads: ValueTable,
}

heap_bytes!(RedundantLoads { loads });

impl RedundantLoads {
    /// Runs the pass.
    pub(crate) fn run(&mut self, func: &mut Function, cfg: &ControlFlowGraph) {
        let Some(entry) = func.layout.entry_block() else { return };
        // Loads of many places are rare; the table grows for them.
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

    /// Removes a load that repeats an earlier one, or else records it.
    fn visit(&mut self, func: &mut Function, cfg: &ControlFlowGraph, entry: Block, load: Inst) {
        let (Some(block), Some(value)) = (func.layout.inst_block(load), func.dfg.first_result(load)) else { return };
        let key = key(func, load);
        let (place, known) = self.loads.find(key);
        let known = known.map(Inst::from_u32);
        let source = known.filter(|&earlier| is_dominated(func, cfg, entry, (load, block), earlier));
        if let Some(source) = source.and_then(|earlier| func.dfg.first_result(earlier)) {
            func.dfg.clear_results(load);
            // Cannot fail: a value that has just lost its definition is no alias of another one.
            let _ = func.dfg.change_to_alias(value, source);
            func.layout.remove_inst(load);
        } else if known.and_then(|earlier| func.layout.inst_block(earlier)) != Some(entry) {
            // A load in the entry dominates most other loads, so it stays in the table.
            self.loads.set(place, key, load.as_u32());
        }
    }
}

/// Returns the first load among the instructions with number `from` or higher.
fn next_load(func: &Function, from: usize) -> Option<Inst> {
    let distance = func.dfg.insts()[from..].iter().position(|data| data.opcode() == Opcode::Load)?;
    Some(Inst::from_u32((from + distance) as u32))
}

/// Returns a key that is equal for loads that read equal bytes. The key ignores the flags on traps and on alias
/// regions, because the earlier load did not trap and the memory does not change.
fn key(func: &Function, load: Inst) -> [u64; 2] {
    let (flags, addr, offset) = func.dfg.load_parts(load);
    let flags = flags.endianness().map_or(MemFlags::new(), |order| MemFlags::new().with_endianness(order));
    let ty = func.dfg.inst(load).controlling_type();
    InstData::load(Opcode::Load, ty, flags, func.dfg.resolve_aliases(addr), offset).key()
}

/// Returns `true` if every path to a load in a block passes through `earlier`. Returns `false` if it takes more
/// than a few steps to find out.
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
