//! If conversion: replaces a branch around a few cheap instructions by a choice between their results.
//!
//! ```text
//! brif v0, block1, block2                  v5 = iconst.i32 1
//! block1: v5 = iconst.i32 1                v6 = iconst.i32 0
//!         jump block3(v5)                  v7 = select v0, v5, v6
//! block2: v6 = iconst.i32 0                jump block3(v7)
//!         jump block3(v6)
//! ```
//!
//! Front ends emit such branches for `?:`, and for `if` with one assignment. Processors mispredict many of them, at
//! a cost of about twenty instructions. Part of [`crate::simplify_cfg`]. Both arms lead to one block, or one arm
//! leads directly to the block where the other arm ends. At most [`MAX_COST`] instructions that compute something
//! are executed without need, and at most [`MAX_SELECTS`] `select` instructions are made.
//!
//! A choice between places where an interpreter continues remains a branch: see [`crate::dispatch`].
//!
//! A load in an arm keeps the branch. Value numbering removes loads whose results are known, and the branches around
//! them are tried once more after it.

use kingpost_ir::cfg::ControlFlowGraph;
use kingpost_ir::frequencies::Frequencies;
use kingpost_ir::{Block, BlockArg, BlockCall, Function, Inst, InstData, Opcode, Type};
use smallvec::SmallVec;

use crate::dispatch::dispatches;
use crate::purity::{Purity, is_cheap, is_constant, purity};
use crate::simplify_cfg::SimplifyCfg;

/// Maximum cost of the instructions of both arms.
const MAX_COST: usize = 3;
/// Maximum number of arguments in which the arms differ.
const MAX_SELECTS: usize = 2;
/// Maximum number of instructions of an arm, including free ones.
const MAX_INSTS: usize = 12;
/// Branches remain that lead to an arm less than once in this number of times, as the client says.
const SELDOM: u32 = 32;

/// Path from a branch to the block where both arms meet.
#[derive(Clone, Copy)]
struct Arm {
    /// Block of the arm, if it has one.
    through: Option<Block>,
    meets: BlockCall,
    cost: usize,
}

impl SimplifyCfg {
    /// Converts branches to `select` instructions. Returns `true` if any was converted; the blocks of its arms are
    /// unreachable afterwards.
    pub(crate) fn convert_branches(&self, func: &mut Function) -> bool {
        let mut changed = false;
        for &block in self.blocks.iter().rev() {
            changed |= self.convert(func, &self.cfg, block).is_some();
        }
        changed
    }

    /// Converts branches to `blocks`, which have become shorter. Returns `true` if any was converted.
    pub(crate) fn convert_shortened(&mut self, func: &mut Function, cfg: &ControlFlowGraph, blocks: &[Block]) -> bool {
        if blocks.is_empty() {
            return false;
        }
        self.find_named_blocks(func);
        let mut changed = false;
        for &block in blocks {
            if let &[pred] = cfg.preds(block) {
                changed |= self.convert(func, cfg, pred.block).is_some();
            }
        }
        changed
    }

    fn convert(&self, func: &mut Function, cfg: &ControlFlowGraph, block: Block) -> Option<()> {
        let branch = func.layout.last_inst(block).filter(|&last| func.dfg.opcode(last) == Opcode::Brif)?;
        let &[then_dest, else_dest] = func.dfg.branch_destinations(branch) else { return None };
        let cond = func.dfg.inline_arg(branch, 0);
        let straight = |meets| Arm { through: None, meets, cost: 0 };
        let (then_arm, else_arm) = match (self.arm(func, cfg, block, then_dest), self.arm(func, cfg, block, else_dest))
        {
            (Some(x), Some(y)) if x.meets.block == y.meets.block => (x, y),
            (Some(x), _) if x.meets.block == else_dest.block => (x, straight(else_dest)),
            (_, Some(y)) if y.meets.block == then_dest.block => (straight(then_dest), y),
            _ if then_dest.block == else_dest.block => (straight(then_dest), straight(else_dest)),
            _ => return None,
        };
        if then_arm.cost + else_arm.cost > MAX_COST || then_arm.meets.block == block {
            return None;
        }
        let pairs = func.dfg.block_args(then_arm.meets).iter().zip(func.dfg.block_args(else_arm.meets));
        let resolved = |arg: &BlockArg| arg.value().map_or(*arg, |value| func.dfg.resolve_aliases(value).into());
        let pairs: SmallVec<[(BlockArg, BlockArg); 8]> = pairs.map(|(x, y)| (resolved(x), resolved(y))).collect();
        let mut differing = pairs.iter().filter(|(x, y)| x != y);
        let is_word = |arg: BlockArg| arg.value().is_some_and(|value| is_word(func.dfg.value_type(value)));
        if differing.clone().count() > MAX_SELECTS || !differing.all(|&(x, _)| is_word(x)) {
            return None;
        }
        let selected = pairs.iter().enumerate().filter(|(_, (x, y))| x != y);
        if selected.map(|(number, _)| number).any(|number| dispatches(func, then_arm.meets.block, number)) {
            return None;
        }
        for through in [then_arm.through, else_arm.through].into_iter().flatten() {
            while let Some(inst) = func.layout.first_inst(through).filter(|&inst| func.dfg.opcode(inst) != Opcode::Jump)
            {
                func.layout.remove_inst(inst);
                func.layout.insert_inst(inst, branch);
            }
        }
        let mut args = SmallVec::<[BlockArg; 8]>::new();
        for (x, y) in pairs {
            args.push(match (x.value(), y.value()) {
                (Some(x), Some(y)) if x != y => {
                    let ty = func.dfg.value_type(x);
                    let select = func.dfg.make_inst(InstData::ternary(Opcode::Select, ty, [cond, x, y]));
                    func.dfg.make_results(select, ty);
                    let location = func.srcloc(branch);
                    if !location.is_none() {
                        func.srclocs[select] = location;
                    }
                    func.layout.insert_inst(select, branch);
                    func.dfg.inst_results(select)[0].into()
                }
                _ => x,
            });
        }
        let meets = func.dfg.block_call(then_arm.meets.block, &args);
        let jump = func.dfg.jump_data(meets);
        func.dfg.replace_inst(branch, jump);
        Some(())
    }

    /// Returns the arm through a block that only `from` leads to, if all instructions of the block can be executed
    /// before the branch.
    fn arm(&self, func: &Function, cfg: &ControlFlowGraph, from: Block, dest: BlockCall) -> Option<Arm> {
        let block = dest.block;
        let is_only = matches!(cfg.preds(block), [pred] if pred.block == from);
        if !is_only {
            return None;
        }
        let jump = func.layout.last_inst(block).filter(|&last| func.dfg.opcode(last) == Opcode::Jump)?;
        if self.is_named(block) || is_seldom(func, from, block) || !func.dfg.block_params(block).is_empty() {
            return None;
        }
        let mut cost = 0;
        for inst in func.layout.block_insts(block).take(MAX_INSTS) {
            if inst == jump {
                return Some(Arm { through: Some(block), meets: func.dfg.branch_destinations(jump)[0], cost });
            }
            cost += cost_of(func, inst)?;
            if cost > MAX_COST {
                break;
            }
        }
        None
    }
}

/// Returns `true` if a branch from `from` hardly ever leads to `block`, so that it is well predicted.
fn is_seldom(func: &Function, from: Block, block: Block) -> bool {
    let frequency = |block| func.layout.frequency(block);
    let is_below = |own| frequency(from).is_some_and(|from| own < from / SELDOM);
    frequency(block).is_some_and(|own| own <= Frequencies::RARE || is_below(own))
}

/// Returns the cost of an instruction whose result is not needed. `None` if it must not be executed or is too
/// expensive.
fn cost_of(func: &Function, inst: Inst) -> Option<usize> {
    let opcode = func.dfg.opcode(inst);
    let is_scalar = || func.dfg.inst_results(inst).iter().all(|&result| is_word(func.dfg.value_type(result)));
    match opcode {
        _ if !matches!(purity(opcode), Purity::Pure | Purity::Constant) || !is_scalar() => None,
        Opcode::Ireduce | Opcode::Uextend | Opcode::Sextend => Some(0),
        _ if is_constant(opcode) => Some(0),
        _ => (is_cheap(opcode) || opcode == Opcode::Select).then_some(1),
    }
}

fn is_word(ty: Type) -> bool {
    ty.is_int() && ty.bits() <= 64
}
