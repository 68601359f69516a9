//! Jump threading: an edge that decides the branch of its target block is redirected to the destination of that
//! branch.
//!
//! ```text
//! block1: v1 = iconst.i8 0                 block1: jump block5
//!         jump block3(v1)
//! block2: v2 = icmp ult v0, v9             block2: v2 = icmp ult v0, v9
//!         jump block3(v2)                          jump block3(v2)
//! block3(v3: i8): brif v3, block4, block5  block3(v3: i8): brif v3, block4, block5
//! ```
//!
//! Front ends emit such blocks for `&&`, `||` and flags. Part of [`crate::simplify_cfg`]. An edge skips a block
//! that only tests one of its parameters, directly or against a constant, if no other block uses its parameters.
//! The skipped block often keeps one predecessor. Cost: linear, because each edge is followed once, through at most
//! [`MAX_CHAIN`] blocks.

use kingpost_ir::cfg::Predecessor;
use kingpost_ir::{Block, BlockArg, BlockCall, Function, Inst, Opcode, Value, ValueDef};
use smallvec::SmallVec;

use crate::fold::{self, Constant};
use crate::purity::{constant, is_constant};
use crate::simplify_cfg::SimplifyCfg;

/// Maximum number of blocks that one edge skips.
const MAX_CHAIN: usize = 8;
/// Maximum number of arguments of a redirected edge.
const MAX_ARGS: usize = 16;
/// Maximum number of instructions of a skipped block: constants, a comparison, the branch.
const MAX_INSTS: usize = 4;

/// A block that only tests one of its parameters.
struct Test {
    /// Number of the parameter.
    param: usize,
    /// Tested comparison with a constant, and the constant; none if the parameter itself is tested.
    comparison: Option<(Inst, u64)>,
    then_dest: BlockCall,
    else_dest: BlockCall,
}

impl Test {
    fn of(func: &Function, block: Block) -> Option<Test> {
        let branch = func.layout.last_inst(block).filter(|&last| func.dfg.opcode(last) == Opcode::Brif)?;
        let &[then_dest, else_dest] = func.dfg.branch_destinations(branch) else { return None };
        let cond = func.dfg.resolve_aliases(func.dfg.inline_arg(branch, 0));
        let tested = |value, comparison| match func.dfg.value_def(value) {
            ValueDef::Param(of, param) if of == block => {
                Some(Test { param: param as usize, comparison, then_dest, else_dest })
            }
            _ => None,
        };
        let mut comparison = None;
        for inst in func.layout.block_insts(block).take(MAX_INSTS) {
            let opcode = func.dfg.opcode(inst);
            if inst == branch {
                return match comparison {
                    None => tested(cond, None),
                    Some(inst) if func.dfg.first_result(inst) == Some(cond) => {
                        let &[x, y] = func.dfg.inst_args(inst) else { return None };
                        tested(x, Some((inst, constant(func, func.dfg.resolve_aliases(y))?)))
                    }
                    Some(_) => None,
                };
            }
            match opcode {
                Opcode::Icmp if comparison.is_none() => comparison = Some(inst),
                _ if is_constant(opcode) => {}
                _ => return None,
            }
        }
        None
    }

    /// Returns the destination of the branch if `param`, the argument for the tested parameter, is a constant.
    fn destination(&self, func: &Function, param: Value) -> Option<BlockCall> {
        let param = func.dfg.resolve_aliases(param);
        let x = Constant { bits: constant(func, param)?, width: func.dfg.value_type(param).bits() };
        let is_true = match self.comparison {
            None => x.bits != 0,
            Some((inst, bits)) => fold::binary(func.dfg.inst(inst), x, Constant { bits, ..x })? != 0,
        };
        Some(if is_true { self.then_dest } else { self.else_dest })
    }
}

type Args = SmallVec<[BlockArg; 8]>;

/// Returns the destination of a block that consists of a jump only.
fn jump(func: &Function, block: Block) -> Option<BlockCall> {
    let first = func.layout.first_inst(block).filter(|&first| func.dfg.opcode(first) == Opcode::Jump)?;
    Some(func.dfg.branch_destinations(first)[0])
}

/// Follows an edge with arguments `args` through a block that only jumps or branches. Returns the next destination,
/// its arguments, and whether `args` decided a branch.
fn step(func: &Function, block: Block, args: &[BlockArg]) -> Option<(Block, Args, bool)> {
    let (dest, decided) = match jump(func, block) {
        Some(dest) => (dest, false),
        None => {
            let test = Test::of(func, block)?;
            (test.destination(func, args.get(test.param)?.value()?)?, true)
        }
    };
    let passed = func.dfg.block_args(dest);
    if passed.len() > MAX_ARGS {
        return None;
    }
    let substitute = |arg: &BlockArg| match func.dfg.value_def(arg.value()?) {
        ValueDef::Param(of, number) if of == block => Some(args[number as usize]),
        ValueDef::Result(inst, _) if func.layout.inst_block(inst) == Some(block) => None,
        _ => Some(*arg),
    };
    let args: Option<Args> = passed.iter().map(substitute).collect();
    Some((dest.block, args?, decided))
}

impl SimplifyCfg {
    /// Redirects edges past branches that they decide. Returns `true` if any edge was redirected.
    pub(crate) fn thread_jumps(&mut self, func: &mut Function) -> bool {
        self.used_elsewhere.clear();
        let mut changed = false;
        for index in 0..self.params.joins.len() {
            let block = self.params.joins[index];
            if func.dfg.block_params(block).is_empty()
                || (Test::of(func, block).is_none() && jump(func, block).is_none())
            {
                continue;
            }
            for number in 0..self.cfg.preds(block).len() {
                let pred = self.cfg.preds(block)[number];
                if let Some(call) = self.past(func, pred, block) {
                    func.dfg.set_block_call(pred.inst, pred.edge as usize, call);
                    changed = true;
                }
            }
        }
        changed
    }

    /// Returns the final destination of an edge into a block if the edge decides the block's branch.
    fn past(&mut self, func: &mut Function, pred: Predecessor, block: Block) -> Option<BlockCall> {
        let old = func.dfg.branch_destinations(pred.inst)[pred.edge as usize];
        if old.block != block || !matches!(func.dfg.opcode(pred.inst), Opcode::Jump | Opcode::Brif | Opcode::BrTable) {
            return None;
        }
        let (mut at, mut args) = (block, SmallVec::from_slice(func.dfg.block_args(old)));
        let mut past = None;
        let mut skipped = SmallVec::<[Block; MAX_CHAIN]>::new();
        for _ in 0..MAX_CHAIN {
            let Some((next, next_args, decided)) = step(func, at, &args) else { break };
            skipped.push(at);
            (at, args) = (next, next_args);
            // Few edges decide a branch, so uses are searched only for these.
            if decided {
                if !skipped.drain(..).all(|block| self.is_private(func, block)) {
                    break;
                }
                past = Some((at, args.clone()));
            }
        }
        past.map(|(block, args)| func.dfg.block_call(block, &args))
    }

    /// Returns `true` if only a block itself uses the values that it defines.
    fn is_private(&mut self, func: &Function, block: Block) -> bool {
        if self.used_elsewhere.is_empty() {
            self.find_used_elsewhere(func);
        }
        let is_used = |value: &Value| self.used_elsewhere[value.as_u32() as usize];
        let mut results = func.layout.block_insts(block).flat_map(|inst| func.dfg.inst_results(inst));
        !func.dfg.block_params(block).iter().any(is_used) && !results.any(is_used)
    }

    fn find_used_elsewhere(&mut self, func: &Function) {
        self.used_elsewhere.resize(func.dfg.num_values(), false);
        for &block in &self.blocks {
            for inst in func.layout.block_insts(block) {
                func.dfg.for_each_use(inst, |value| {
                    let value = func.dfg.resolve_aliases(value);
                    self.used_elsewhere[value.as_u32() as usize] |= func.defining_block(value) != Some(block);
                });
            }
        }
    }
}
