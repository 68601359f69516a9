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
    let operands = |value: Value| match func.dfg.value_def(value) {
        ValueDef::Result(inst, _) => func.dfg.inst_args(inst),
        _ => &[],
    };
    values_at_heads(func, sources, order, operands)
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
    values_at_heads(func, sources, order, |_| &[])
}

/// Returns the values that are used at or after the head of each block, in ascending order. A use of a value is also a use
/// of its `operands`.
///
/// # Errors
/// If there are too many.
fn values_at_heads<'a>(
    func: &Function,
    sources: &Sources,
    order: &[Block],
    operands: impl Fn(Value) -> &'a [Value],
) -> Result<SecondaryMap<Block, Vec<Value>>, Feature> {
    let predecessors = predecessors(func, order);
    let mut at_heads: SecondaryMap<Block, Vec<Value>> = SecondaryMap::new();
    let mut pairs = 0;
    let mut uses = blocks_of_uses(func, sources, order);
    let mut work = Vec::new();
    // Operands come after the values computed from them: a value passes its blocks on to its operands. Values are handled
    // one after the other, so that a block knows a value if it is the last one in its list.
    for &value in definitions(func, order).iter().rev() {
        let (home, is_parameter) = match func.dfg.value_def(value) {
            ValueDef::Result(inst, _) => (func.layout.inst_block(inst), false),
            ValueDef::Param(block, _) => (Some(block), true),
            _ => (None, false),
        };
        let operands: Vec<Value> = operands(value).iter().map(|&operand| sources.resolve(func, operand)).collect();
        work.extend(std::mem::take(&mut uses[value]));
        while let Some(block) = work.pop() {
            // A parameter is needed at the head of its own block.
            let is_home = home == Some(block);
            if is_home && !is_parameter || at_heads[block].last() == Some(&value) {
                continue;
            }
            at_heads[block].push(value);
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
        at_heads[block].sort_unstable();
    }
    Ok(at_heads)
}

/// Returns the blocks with an instruction or edge that uses each value.
fn blocks_of_uses(func: &Function, sources: &Sources, order: &[Block]) -> SecondaryMap<Value, Vec<Block>> {
    let mut uses: SecondaryMap<Value, Vec<Block>> = SecondaryMap::new();
    for &block in order {
        for inst in func.layout.block_insts(block) {
            func.dfg.for_each_use(inst, |value| {
                let list = &mut uses[sources.resolve(func, value)];
                if list.last() != Some(&block) {
                    list.push(block);
                }
            });
        }
    }
    uses
}

/// Returns the parameters and results of blocks, in their order.
fn definitions(func: &Function, order: &[Block]) -> Vec<Value> {
    let mut values = Vec::new();
    for &block in order {
        values.extend(func.dfg.block_params(block));
        for inst in func.layout.block_insts(block) {
            values.extend(func.dfg.inst_results(inst));
        }
    }
    values
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
