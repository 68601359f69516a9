//! Block parameters that always have one value.
//!
//! ```text
//! block0(v0: i32): jump block1(v0)
//! block1(v1: i32): brif v1, block1(v1), block2      v1 is v0
//! ```
//!
//! A parameter is another value if every edge from a reachable block passes that value, or the parameter itself. Code
//! need not have a place for such a parameter. Cost: linear in edges and their arguments, a few times.

use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;
use kingpost_ir::{Block, BlockCall, Function, Value};

/// Maximum number of sweeps over parameters. Later ones would find parameters of nested loops only.
const SWEEPS: usize = 8;

/// The values that parameters and aliases are.
pub(crate) struct Sources(SecondaryMap<Value, PackedOption<Value>>);

impl Sources {
    /// Returns the values of parameters. `order` are the reachable blocks, beginning with the entry.
    pub(crate) fn of(func: &Function, order: &[Block]) -> Sources {
        let mut incoming: SecondaryMap<Block, Vec<BlockCall>> = SecondaryMap::new();
        for last in order.iter().filter_map(|&block| func.layout.last_inst(block)) {
            for &call in func.dfg.branch_destinations(last) {
                incoming[call.block].push(call);
            }
        }
        let mut sources = Sources(SecondaryMap::new());
        for _ in 0..SWEEPS {
            let mut changed = false;
            for &block in order.iter().skip(1) {
                for (number, &parameter) in func.dfg.block_params(block).iter().enumerate() {
                    if sources.is_constant(parameter) {
                        continue;
                    }
                    let only = sources.only_value(func, &incoming[block], number, parameter);
                    sources.0[parameter] = only.into();
                    changed |= only.is_some();
                }
            }
            if !changed {
                break;
            }
        }
        sources
    }

    /// Returns `true` if a parameter is another value.
    pub(crate) fn is_constant(&self, parameter: Value) -> bool {
        self.0[parameter].is_some()
    }

    /// Returns the value that a value is.
    pub(crate) fn resolve(&self, func: &Function, value: Value) -> Value {
        let mut value = func.dfg.resolve_aliases(value);
        while let Some(source) = self.0[value].expand() {
            value = source;
        }
        value
    }

    /// Returns the only value besides `parameter` itself that edges pass, if there is exactly one.
    fn only_value(&self, func: &Function, edges: &[BlockCall], number: usize, parameter: Value) -> Option<Value> {
        let mut only = None;
        for &edge in edges {
            let value = self.resolve(func, func.dfg.block_args(edge).get(number)?.value()?);
            if value != parameter && *only.get_or_insert(value) != value {
                return None;
            }
        }
        only
    }
}
