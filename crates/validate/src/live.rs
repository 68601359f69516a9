//! Values that may be needed at the head of a block.
//!
//! A value is needed at a head if an instruction or edge that is reached from there uses it, or if the term of a needed
//! value has it as an operand: code may compute a value again from its operands. Cost: the number of needed values of
//! all blocks.

use crate::clif::Repeat;
use crate::error::Feature;
use crate::parameters::Sources;
use cranelift_entity::SecondaryMap;
use kingpost_ir::{Block, Function, Value, ValueDef};
use kingpost_smt::Term;

/// Maximum number of pairs of a block and a needed value.
const MAX_PAIRS: usize = 1 << 22;

/// Returns the values that may be needed at the head of each block, block parameters included, in ascending order.
///
/// # Errors
/// If there are too many.
pub(crate) fn needed(
    func: &Function,
    sources: &Sources,
    order: &[Block],
) -> Result<SecondaryMap<Block, Vec<Value>>, Feature> {
    collect(func, sources, order, true)
}

/// Returns the values that an instruction or edge which is reached from the head of each block uses, in ascending order.
///
/// # Errors
/// If there are too many.
pub(crate) fn used(
    func: &Function,
    sources: &Sources,
    order: &[Block],
) -> Result<SecondaryMap<Block, Vec<Value>>, Feature> {
    collect(func, sources, order, false)
}

fn collect(
    func: &Function,
    sources: &Sources,
    order: &[Block],
    with_operands: bool,
) -> Result<SecondaryMap<Block, Vec<Value>>, Feature> {
    let dfg = &func.dfg;
    let predecessors = predecessors(func, order);
    let defining = |value: Value| match dfg.value_def(value) {
        ValueDef::Result(inst, _) => func.layout.inst_block(inst),
        ValueDef::Param(block, _) => Some(block),
        _ => None,
    };
    let mut needed: SecondaryMap<Block, Vec<Value>> = SecondaryMap::new();
    let mut pairs = 0;
    // Values are handled one after the other, so that a block knows a value if it is the last one in its list.
    let mut uses: SecondaryMap<Value, Vec<Block>> = SecondaryMap::new();
    for &block in order {
        for inst in func.layout.block_insts(block) {
            dfg.for_each_use(inst, |value| {
                let list = &mut uses[sources.resolve(func, value)];
                if list.last() != Some(&block) {
                    list.push(block);
                }
            });
        }
    }
    // Operands come after the values computed from them: a value passes its blocks on to its operands.
    let mut values: Vec<Value> = Vec::new();
    for &block in order {
        values.extend(dfg.block_params(block));
        for inst in func.layout.block_insts(block) {
            values.extend(dfg.inst_results(inst));
        }
    }
    let mut work = Vec::new();
    for &value in values.iter().rev() {
        let home = defining(value);
        work.extend(std::mem::take(&mut uses[value]));
        let operands: Vec<Value> = match dfg.value_def(value) {
            ValueDef::Result(inst, _) if with_operands => {
                dfg.inst_args(inst).iter().map(|&arg| sources.resolve(func, arg)).collect()
            }
            _ => Vec::new(),
        };
        while let Some(block) = work.pop() {
            // A parameter is needed at the head of its own block.
            let is_home = home == Some(block);
            if is_home && !matches!(dfg.value_def(value), ValueDef::Param(..)) {
                continue;
            }
            if needed[block].last() == Some(&value) {
                continue;
            }
            needed[block].push(value);
            pairs += 1;
            if pairs > MAX_PAIRS {
                return Err(Feature::Size);
            }
            for &operand in &operands {
                uses[operand].push(block);
            }
            if !is_home {
                work.extend(&predecessors[block]);
            }
        }
    }
    for &block in order {
        needed[block].sort_unstable();
    }
    Ok(needed)
}

/// Returns the bits of memory that does not change which may be needed at the head of each block, because a block that is
/// reached from there reads them again.
///
/// # Errors
/// If there are too many.
pub(crate) fn needed_bits(
    func: &Function,
    order: &[Block],
    repeats: &[Repeat],
) -> Result<SecondaryMap<Block, Vec<Term>>, Feature> {
    let mut needed: SecondaryMap<Block, Vec<Term>> = SecondaryMap::new();
    if repeats.is_empty() {
        return Ok(needed);
    }
    let (mut repeats, predecessors, mut pairs) = (repeats.to_vec(), predecessors(func, order), 0);
    repeats.sort_unstable();
    for Repeat { bits, again, ends } in repeats {
        let mut work = vec![again];
        while let Some(block) = work.pop() {
            if ends.contains(&block) || needed[block].last() == Some(&bits) {
                continue;
            }
            needed[block].push(bits);
            pairs += 1;
            if pairs > MAX_PAIRS {
                return Err(Feature::Size);
            }
            work.extend(&predecessors[block]);
        }
    }
    Ok(needed)
}

/// Returns the predecessors of blocks, once for each edge.
fn predecessors(func: &Function, order: &[Block]) -> SecondaryMap<Block, Vec<Block>> {
    let mut predecessors: SecondaryMap<Block, Vec<Block>> = SecondaryMap::new();
    for &block in order {
        let Some(last) = func.layout.last_inst(block) else { continue };
        for destination in func.dfg.branch_destinations(last) {
            predecessors[destination.block].push(block);
        }
    }
    predecessors
}
