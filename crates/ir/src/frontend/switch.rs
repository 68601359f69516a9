//! A branch to one of many blocks, selected by any integers.
//!
//! Before: `3 => a, 4 => b, 5 => c, 6 => d, 100 => e, otherwise f`. After: a comparison with 100 that divides the
//! keys, a `br_table` over the keys from 3 to 6, and a comparison for equality.
//!
//! Consecutive keys form a run. A binary search finds the run. A long run is a jump table, a short one a few
//! comparisons. Cost: `n log n` in the keys to build, `log n` comparisons in the runs to execute.

use super::FunctionBuilder;
use crate::builder::{ControlBuilder, ImmediateBuilder, InstBuilder};
use crate::condcodes::IntCC;
use crate::entities::{Block, Value};
use crate::types::I32;
use std::collections::BTreeMap;

/// Minimum length of a run that becomes a table.
const TABLE_LEN: usize = 4;

/// Destination blocks by integer key.
///
/// ```
/// use kingpost_ir::Function;
/// use kingpost_ir::builder::{ControlBuilder, InstBuilder};
/// use kingpost_ir::frontend::{FrontendContext, FunctionBuilder, Switch};
/// use kingpost_ir::types::I32;
///
/// let (mut func, mut scratch) = (Function::default(), FrontendContext::default());
/// let mut b = FunctionBuilder::new(&mut func, &mut scratch);
/// let [entry, three, hundred, otherwise] = [(); 4].map(|()| b.create_block());
/// b.switch_to_block(entry);
/// let key = b.ins().iconst(I32, 3);
/// let mut switch = Switch::new();
/// switch.set_entry(3, three);
/// switch.set_entry(100, hundred);
/// switch.emit(&mut b, key, otherwise);
/// for block in [three, hundred, otherwise] {
///     b.switch_to_block(block);
///     b.ins().return_(&[]);
/// }
/// b.seal_all_blocks();
/// b.finalize().unwrap();
/// ```
#[derive(Clone, Default, Debug)]
pub struct Switch {
    blocks: BTreeMap<u64, Block>,
}

impl Switch {
    /// Returns a switch without entries.
    pub fn new() -> Switch {
        Switch::default()
    }

    /// Sets the destination of `key` to `block`, a block without parameters. Returns the previous destination, if
    /// there is one.
    pub fn set_entry(&mut self, key: u64, block: Block) -> Option<Block> {
        self.blocks.insert(key, block)
    }

    /// Ends the current block with the branch: to the block of the key `value`, or to `otherwise` if there is no such
    /// key. `value` is an unsigned integer of at most 64 bits. The blocks have no parameters. Keys that the type
    /// cannot represent are ignored.
    ///
    /// # Panics
    /// If the value has another type.
    pub fn emit(self, builder: &mut FunctionBuilder<'_>, value: Value, otherwise: Block) {
        let ty = builder.func.dfg.value_type(value);
        assert!(ty.is_int() && ty.bits() <= 64, "a switch on {ty}");
        let largest = u64::MAX >> (64 - ty.bits());
        let entries: Vec<(u64, Block)> = self.blocks.into_iter().take_while(|&(key, _)| key <= largest).collect();
        let runs: Vec<&[(u64, Block)]> = entries.chunk_by(|a, b| a.0 + 1 == b.0).collect();
        search(builder, value, &runs, otherwise);
    }
}

/// Ends the current block with a search for one of the runs, which are sorted.
fn search(builder: &mut FunctionBuilder<'_>, value: Value, runs: &[&[(u64, Block)]], otherwise: Block) {
    match runs {
        [] => {
            builder.ins().jump(otherwise, &[]);
        }
        [run] if run.len() >= TABLE_LEN => table(builder, value, run, otherwise),
        [run] => compare(builder, value, run, otherwise),
        _ => {
            let (low, high) = runs.split_at(runs.len() / 2);
            let is_low = builder.ins().icmp_imm(IntCC::UnsignedLessThan, value, high[0][0].0 as i64);
            let (low_block, high_block) = (builder.create_block(), builder.create_block());
            builder.ins().brif(is_low, low_block, &[], high_block, &[]);
            for (block, runs) in [(low_block, low), (high_block, high)] {
                builder.seal_block(block);
                builder.switch_to_block(block);
                search(builder, value, runs, otherwise);
            }
        }
    }
}

/// Inserts comparisons of the value with each key.
fn compare(builder: &mut FunctionBuilder<'_>, value: Value, run: &[(u64, Block)], otherwise: Block) {
    for (index, &(key, block)) in run.iter().enumerate() {
        let is_key = builder.ins().icmp_imm(IntCC::Equal, value, key as i64);
        let next = if index + 1 == run.len() { otherwise } else { builder.create_block() };
        builder.ins().brif(is_key, block, &[], next, &[]);
        if next != otherwise {
            builder.seal_block(next);
            builder.switch_to_block(next);
        }
    }
}

/// Inserts a table branch, indexed by the distance from the first key.
fn table(builder: &mut FunctionBuilder<'_>, value: Value, run: &[(u64, Block)], otherwise: Block) {
    let bits = builder.func.dfg.value_type(value).bits();
    let mut index = if run[0].0 == 0 { value } else { builder.ins().iadd_imm(value, (run[0].0 as i64).wrapping_neg()) };
    if bits < 32 {
        index = builder.ins().uextend(I32, index);
    } else if bits > 32 {
        let is_near = builder.ins().icmp_imm(IntCC::UnsignedLessThan, index, run.len() as i64);
        let near = builder.create_block();
        builder.ins().brif(is_near, near, &[], otherwise, &[]);
        builder.seal_block(near);
        builder.switch_to_block(near);
        index = builder.ins().ireduce(I32, index);
    }
    let blocks: Vec<Block> = run.iter().map(|&(_, block)| block).collect();
    let table = builder.create_jump_table(otherwise, &blocks);
    builder.ins().br_table(index, table);
}
