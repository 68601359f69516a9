//! Program counters of interpreters: values with whose help a loop finds the next destination of its branch table.
//!
//! ```text
//! block1(v1: i64): v2 = load.i8 v1         v1 is one: the byte that it points to chooses the destination
//!                  br_table v2, ..
//! ```
//!
//! If such a value is the result of a `select`, the next round cannot load before the condition is known. After a branch
//! it can, because the processor predicts the destination.
//!
//! The search follows the value from a join through few blocks and instructions.

use kingpost_ir::analyses::Analyses;
use kingpost_ir::{Block, Function, Inst, Opcode, Value};
use smallvec::SmallVec;

/// Maximum number of blocks that a search visits.
const MAX_BLOCKS: usize = 8;
/// Maximum number of instructions that a search visits.
const MAX_INSTS: usize = 48;

/// Values that depend on a parameter, and whether they do by a load from an address that depends on it.
type Dependent = SmallVec<[(Value, bool); 16]>;

/// Returns `true` if the search finds a branch table whose operand is loaded with the help of the parameter of `join`
/// that has this number.
pub(crate) fn dispatches(func: &Function, join: Block, number: usize) -> bool {
    let mut dependent = Dependent::new();
    let Some(&param) = func.dfg.block_params(join).get(number) else { return false };
    dependent.push((param, false));
    let mut blocks = SmallVec::<[Block; MAX_BLOCKS]>::from_slice(&[join]);
    let (mut next, mut left) = (0, MAX_INSTS);
    while let Some(&block) = blocks.get(next) {
        next += 1;
        for inst in func.layout.block_insts(block) {
            if left == 0 {
                return false;
            }
            left -= 1;
            let Some(by_load) = dependence(func, inst, &dependent) else { continue };
            match func.dfg.opcode(inst) {
                Opcode::BrTable if by_load => return true,
                opcode if opcode.is_call() || opcode.is_branch() => {}
                opcode => {
                    let results = func.dfg.inst_results(inst).iter();
                    dependent.extend(results.map(|&result| (result, by_load || opcode.can_load())));
                }
            }
        }
        let Some(last) = func.layout.last_inst(block) else { continue };
        if matches!(func.dfg.opcode(last), Opcode::Jump | Opcode::Brif) {
            enter_successors(func, last, &mut dependent, &mut blocks);
        }
    }
    false
}

/// Returns `None` if no operand of an instruction depends on the parameter, and otherwise whether one does by a load.
fn dependence(func: &Function, inst: Inst, dependent: &Dependent) -> Option<bool> {
    let operands = func.dfg.inst_args(inst).iter().filter_map(|&operand| find(func, operand, dependent));
    operands.reduce(|x, y| x || y)
}

fn find(func: &Function, value: Value, dependent: &Dependent) -> Option<bool> {
    let value = func.dfg.resolve_aliases(value);
    dependent.iter().find(|(each, _)| *each == value).map(|&(_, by_load)| by_load)
}

/// Adds the destinations of a branch, and their parameters that get dependent values.
fn enter_successors(
    func: &Function,
    branch: Inst,
    dependent: &mut Dependent,
    blocks: &mut SmallVec<[Block; MAX_BLOCKS]>,
) {
    for &dest in func.dfg.branch_destinations(branch) {
        if blocks.len() == MAX_BLOCKS || blocks.contains(&dest.block) {
            continue;
        }
        blocks.push(dest.block);
        for (&param, arg) in func.dfg.block_params(dest.block).iter().zip(func.dfg.block_args(dest)) {
            if let Some(by_load) = arg.value().and_then(|value| find(func, value, dependent)) {
                dependent.push((param, by_load));
            }
        }
    }
}

/// Returns `true` if a loop chooses among many blocks by a table, as interpreters do. Another run of value numbering would find
/// more equal computations in these blocks, and code motion would place them before the choice, where each round runs them.
pub(crate) fn has_dispatch_loop(func: &Function, analyses: &Analyses) -> bool {
    analyses.dominators.preorder().iter().any(|&block| {
        let is_table = |last: Inst| func.dfg.opcode(last) == Opcode::BrTable;
        analyses.loops.innermost_loop(block).is_some() && analyses.cfg.terminator(block).is_some_and(is_table)
    })
}
