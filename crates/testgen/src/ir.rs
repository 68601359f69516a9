//! Random functions with one meaning on every target.
//!
//! [`generate`] makes a [`Program`]: functions that call each other, and inputs for the first one. The meaning of a
//! program is fully defined, so that an interpreter and compiled code agree bit for bit:
//!
//! - It terminates: loops count down, endless loops are never entered, and a function calls only later functions.
//! - It accesses its own stack slots, which it fills first, and the memory of pointers that its caller passes. Indices
//!   are masked. Some accesses are to the lowest addresses, which are inaccessible, and trap.
//! - No address is observed.
//! - Every exception is caught: a function that may throw is called with a handler for all exceptions, or by a function
//!   that may itself throw.
//! - No bits of a NaN from arithmetic are observed: such a NaN is replaced before its bits are read.
//!
//! The instructions that ensure these properties are *pinned*: [`shrink`] leaves them unchanged as long as they are
//! used.
//!
//! | file | contents |
//! |---|---|
//! | `plan.rs` | names, signatures, inputs |
//! | `scope.rs` | the available values, and constants |
//! | `scalar.rs` | operations on scalars |
//! | `vector.rs` | operations on vectors |
//! | `memory.rs` | addresses, loads, stores, atomics |
//! | `control.rs` | branches, loops, calls, returns |
//! | `cycles.rs` | cycles that have several entries or never end |
//! | `exceptions.rs` | calls with handlers, and the throwing function |
//! | `frequencies.rs` | frequencies of blocks |
//! | `shrink.rs` | shrinks a failing program |

mod control;
mod cycles;
mod edge_values;
mod exceptions;
mod frequencies;
mod memory;
mod plan;
mod region;
mod scalar;
mod scope;
mod shrink;
mod vector;
mod vector_types;

use crate::rng::Rng;
use cranelift_entity::EntitySet;
use kingpost_ir::types::I64;
use kingpost_ir::verifier::TargetInfo;
use kingpost_ir::{Function, Inst};
use plan::TypeSet;

pub use shrink::shrink;

/// Functions and inputs for the first of them.
#[derive(Clone, Debug)]
pub struct Program {
    /// The functions. Each one calls only later ones.
    pub functions: Vec<Function>,
    /// Per function, the instructions that keep it well defined.
    pub pinned: Vec<EntitySet<Inst>>,
    /// Arguments of the first function, as bits.
    pub inputs: Vec<Vec<u64>>,
}

/// Target of programs. Exceptions find their handlers by the chain of frame pointers.
pub const TARGET: TargetInfo = {
    let mut target = TargetInfo::new(Some(I64));
    target.preserve_frame_pointers = true;
    target
};

/// Returns the program of a seed.
pub fn generate(seed: u64) -> Program {
    generate_by(TypeSet::All, &mut Rng::new(seed))
}

/// Returns the program of a seed, restricted to types that every compiler has: integers up to 64 bits, floats of 32
/// and 64.
pub fn generate_with_usual_types(seed: u64) -> Program {
    generate_by(TypeSet::Usual, &mut Rng::new(seed))
}

/// Returns the program of a seed with mostly operations on vectors: at least one, and many in most programs.
pub fn generate_vectors(seed: u64) -> Program {
    generate_by(TypeSet::Vectors, &mut Rng::new(seed))
}

/// Returns the program of a seed that mostly accesses a few places of memory, with and without alias regions.
pub fn generate_accesses(seed: u64) -> Program {
    generate_by(TypeSet::Memory, &mut Rng::new(seed))
}

/// Returns the program of a seed, whose blocks have frequencies that are mostly wrong.
pub fn generate_with_frequencies(seed: u64) -> Program {
    let mut program = generate(seed);
    let rng = &mut Rng::new(seed);
    program.functions.iter_mut().for_each(|function| frequencies::give(function, rng));
    program
}

fn generate_by(type_set: TypeSet, rng: &mut Rng) -> Program {
    let plans = plan::plans(type_set, rng);
    let throws = plans.iter().any(|plan| plan.may_throw);
    let mut program = Program { functions: Vec::new(), pinned: Vec::new(), inputs: plan::inputs(&plans[0], rng) };
    for index in 0..plans.len() {
        let (function, pinned) = match throws && index + 1 == plans.len() {
            true => exceptions::thrower(&plans[index]),
            false => control::function(&plans, index, type_set, rng),
        };
        program.functions.push(function);
        program.pinned.push(pinned);
    }
    program
}

impl Program {
    /// Returns the number of instructions in all functions.
    pub fn num_insts(&self) -> usize {
        let blocks = |f: &Function| f.layout.blocks().map(|block| f.layout.block_insts(block).count()).sum::<usize>();
        self.functions.iter().map(blocks).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kingpost_ir::Opcode;
    use kingpost_ir::verifier::verify;
    use std::collections::BTreeSet;

    #[test]
    fn programs_are_valid_and_varied() {
        let mut opcodes = BTreeSet::new();
        for seed in 0..400 {
            let program = generate(seed);
            for function in &program.functions {
                assert_eq!(verify(function, Some(TARGET)), Ok(()), "seed {seed}\n{function}");
                let insts = function.layout.blocks().flat_map(|block| function.layout.block_insts(block));
                opcodes.extend(insts.map(|inst| function.dfg.opcode(inst).name()));
            }
        }
        let missing: Vec<&str> =
            Opcode::ALL.iter().map(|opcode| opcode.name()).filter(|name| !opcodes.contains(name)).collect();
        assert!(opcodes.len() >= 100, "only {} opcodes; without {missing:?}", opcodes.len());
    }

    #[test]
    fn programs_of_vectors_are_valid_and_have_some() {
        let mut opcodes = BTreeSet::new();
        for seed in 0..200 {
            let mut count = 0;
            for function in &generate_vectors(seed).functions {
                assert_eq!(verify(function, Some(TARGET)), Ok(()), "seed {seed}\n{function}");
                for inst in function.layout.blocks().flat_map(|block| function.layout.block_insts(block)) {
                    let values = function.dfg.inst_args(inst).iter().chain(function.dfg.inst_results(inst));
                    if values.into_iter().any(|&value| function.dfg.value_type(value).is_vector()) {
                        opcodes.insert(function.dfg.opcode(inst).name());
                        count += 1;
                    }
                }
            }
            assert!(count > 0, "seed {seed}");
        }
        assert!(opcodes.len() >= 90, "only {} opcodes: {opcodes:?}", opcodes.len());
    }

    #[test]
    fn equal_seeds_give_equal_programs() {
        let text = |seed| generate(seed).functions.iter().map(ToString::to_string).collect::<String>();
        assert_eq!(text(7), text(7));
        assert_ne!(text(7), text(8));
    }
}
