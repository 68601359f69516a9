//! Removal of block parameters that always have one value.
//!
//! ```text
//! block0(v0: i32): jump block1(v0)         block0(v0: i32): jump block1
//! block1(v1: i32): return v1               block1: return v0
//! ```
//!
//! Needs the control-flow graph, which stays valid. The function may use aliases, before and after. A parameter is
//! superfluous if all its arguments are one value or the parameter itself (Braun et al., "Simple and Efficient
//! Construction of SSA Form", 2013, section 3). Blocks are swept backward and forward, at most [`SWEEPS`] times,
//! which finds all superfluous parameters of nested loops. Cycles of parameters in irreducible control flow are
//! kept. Cost: linear in blocks, edges and their arguments.

use kingpost_ir::cfg::{ControlFlowGraph, Predecessor};
use kingpost_ir::{Block, Function, Value};
use kingpost_meter::heap_bytes;

/// Maximum number of sweeps over parameters. Each sweep but the first follows one that found a superfluous
/// parameter.
const SWEEPS: usize = 4;

/// Memory of the pass.
#[derive(Default, Debug)]
pub(crate) struct ConstantParams {
    /// Blocks other than the entry that have parameters, or had some.
    pub(crate) joins: Vec<Block>,
    /// By parameter of the current block: whether it is kept.
    keep: Vec<bool>,
}

heap_bytes!(ConstantParams { joins, keep });

impl ConstantParams {
    /// Replaces parameters of `blocks` that always have one value by aliases of that value, possibly through other
    /// aliases. Returns `true` if there were any.
    pub(crate) fn remove(
        &mut self,
        func: &mut Function,
        cfg: &ControlFlowGraph,
        blocks: &[Block],
        entry: Block,
    ) -> bool {
        let joins = blocks.iter().copied();
        self.joins.clear();
        self.joins.extend(joins.filter(|&block| block != entry && !func.dfg.block_params(block).is_empty()));
        let mut found = 0;
        for sweep in 0..SWEEPS {
            let before = found;
            for index in 0..self.joins.len() {
                let index = if sweep % 2 == 0 { self.joins.len() - 1 - index } else { index };
                found += alias_constants(func, cfg, self.joins[index]);
            }
            if found == before {
                break;
            }
        }
        if found == 0 {
            return false;
        }
        for &block in &self.joins {
            let params = func.dfg.block_params(block).iter();
            self.keep.clear();
            self.keep.extend(params.map(|&param| func.dfg.value_alias(param).is_none()));
            if self.keep.iter().all(|&keep| keep) {
                continue;
            }
            for pred in cfg.preds(block) {
                func.dfg.retain_block_args(pred.inst, pred.edge as usize, |number| self.keep[number]);
            }
            func.dfg.drop_aliased_params(block);
        }
        true
    }
}

/// Makes the superfluous parameters of a block aliases, and returns their number.
fn alias_constants(func: &mut Function, cfg: &ControlFlowGraph, block: Block) -> usize {
    let mut found = 0;
    for number in 0..func.dfg.block_params(block).len() {
        let param = func.dfg.block_params(block)[number];
        if func.dfg.value_alias(param).is_none()
            && let Some(value) = only_value(func, cfg.preds(block), number, param)
            && func.dfg.change_to_alias(param, value).is_ok()
        {
            found += 1;
        }
    }
    found
}

/// Returns the only value besides `param` itself that a parameter receives, if there is exactly one. `preds` are
/// the edges into its block.
fn only_value(func: &Function, preds: &[Predecessor], number: usize, param: Value) -> Option<Value> {
    let mut only = None;
    for pred in preds {
        let call = func.dfg.branch_destinations(pred.inst)[pred.edge as usize];
        let value = func.dfg.resolve_aliases(func.dfg.block_args(call)[number].value()?);
        if value != param && *only.get_or_insert(value) != value {
            return None;
        }
    }
    only
}
