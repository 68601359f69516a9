//! Uses of values after their loop: they become uses of parameters, so that each way out of the loop can have its own value.
//!
//! ```text
//! block1(v1: i32):                         block1(v1: i32):
//!   brif v2, block2, block3                  brif v2, block2, block3(v1)
//! block2:                                  block2:
//!   brif v3, block1(v4), block4              brif v3, block1(v4), block4
//! block3:                                  block3(v9: i32):
//!   return v1                                return v9
//! ```
//!
//! Part of [`crate::unroll`], for loops that can be left in several places. Cost: linear in the function, and then in the uses
//! of each loop times its exits. A loop has at most [`MAX_EXITS`].

use kingpost_ir::analyses::Analyses;
use kingpost_ir::loops::Loop;
use kingpost_ir::{Block, Function, Inst, Value};
use kingpost_meter::heap_bytes;
use smallvec::SmallVec;

/// Maximum number of blocks to which a loop leads.
const MAX_EXITS: usize = 4;
/// Maximum number of parameters of one block for values of a loop.
const MAX_PARAMS: usize = 4;

/// A use of a value outside of the innermost loop that defines it.
#[derive(Clone, Copy, Debug)]
struct Use {
    of: Loop,
    value: Value,
    user: Inst,
    block: Block,
}

/// Uses of values after their loops.
#[derive(Default, Debug)]
pub(crate) struct LoopExits {
    /// In the order of loops.
    uses: Vec<Use>,
    is_computed: bool,
}

heap_bytes!(LoopExits { uses } without { is_computed });

/// Blocks outside of a loop to which it leads, and which no other block leads to.
pub(crate) type Exits = SmallVec<[Block; MAX_EXITS]>;

impl LoopExits {
    /// Prepares for a function.
    pub(crate) fn clear(&mut self) {
        self.is_computed = false;
    }

    /// Makes uses of the values of a loop uses of parameters. Returns `false`, and changes nothing, if some values are used
    /// where several ways out meet.
    pub(crate) fn close(&mut self, func: &mut Function, analyses: &Analyses, of: Loop, blocks: &[Block]) -> bool {
        if !std::mem::replace(&mut self.is_computed, true) {
            self.find_uses(func, analyses);
        }
        let first = self.uses.partition_point(|each| each.of < of);
        let uses = &self.uses[first..];
        let uses = &uses[..uses.partition_point(|each| each.of == of)];
        if uses.is_empty() {
            return true;
        }
        let Some(exits) = exits(func, analyses, of, blocks) else { return false };
        let exit_of = |each: &Use| exits.iter().position(|&exit| analyses.dominators.dominates(exit, each.block));
        let mut closed = SmallVec::<[(usize, Value); MAX_EXITS]>::new();
        for each in uses {
            let Some(exit) = exit_of(each) else { return false };
            if !closed.contains(&(exit, each.value)) {
                closed.push((exit, each.value));
            }
        }
        if (0..exits.len()).any(|exit| closed.iter().filter(|each| each.0 == exit).count() > MAX_PARAMS) {
            return false;
        }
        for (exit, value) in closed {
            let param = func.dfg.append_block_param(exits[exit], func.dfg.value_type(value));
            for pred in analyses.cfg.preds(exits[exit]) {
                func.dfg.append_block_arg(pred.inst, pred.edge as usize, value.into());
            }
            for each in uses.iter().filter(|each| each.value == value && exit_of(each) == Some(exit)) {
                replace(func, each.user, value, param);
            }
        }
        true
    }

    fn find_uses(&mut self, func: &Function, analyses: &Analyses) {
        self.uses.clear();
        for &block in analyses.dominators.preorder() {
            for user in func.layout.block_insts(block) {
                func.dfg.for_each_use(user, |value| {
                    let value = func.dfg.resolve_aliases(value);
                    if let Some(of) = loop_of(func, analyses, value)
                        && !analyses.loops.contains(of, block)
                    {
                        self.uses.push(Use { of, value, user, block });
                    }
                });
            }
        }
        self.uses.sort_by_key(|each| each.of);
    }
}

/// Returns the exits of a loop. `None` if there are too many.
pub(crate) fn exits(func: &Function, analyses: &Analyses, of: Loop, blocks: &[Block]) -> Option<Exits> {
    let mut exits = Exits::new();
    for last in blocks.iter().filter_map(|&block| func.layout.last_inst(block)) {
        for dest in func.dfg.branch_destinations(last) {
            let is_own = || analyses.cfg.preds(dest.block).iter().all(|pred| analyses.loops.contains(of, pred.block));
            if !analyses.loops.contains(of, dest.block) && !exits.contains(&dest.block) && is_own() {
                exits.push(dest.block);
            }
        }
    }
    (exits.len() <= MAX_EXITS).then_some(exits)
}

/// Replaces a value, and its aliases, in an instruction.
fn replace(func: &mut Function, user: Inst, value: Value, by: Value) {
    let mut uses = SmallVec::<[Value; 8]>::new();
    func.dfg.for_each_use(user, |used| uses.push(used));
    uses.retain(|used| func.dfg.resolve_aliases(*used) == value);
    func.dfg.map_values(user, |used| if uses.contains(&used) { by } else { used });
}

/// Returns the innermost loop around the definition of a value.
fn loop_of(func: &Function, analyses: &Analyses, value: Value) -> Option<Loop> {
    let block = func.defining_block(value)?;
    analyses.loops.innermost_loop(block)
}
