//! Kingpost's register allocators and checker with the interface of [`regalloc2`].
//!
//! [`run`] solves a function with one of our allocators and returns an output of regalloc2. [`check`] checks an output
//! with our checker, and [`cost`] prices it: ours or regalloc2's own.
//!
//! | file | contents |
//! |---|---|
//! | `translate.rs` | functions as problems of our contract |
//! | `flow.rs` | an order of the blocks, loops and dominators |
//! | `machine.rs` | classes, registers and machines |
//! | `output.rs` | our allocations as outputs |
//! | `judge.rs` | outputs as allocations: checked and priced |
//! | `refusal.rs` | the reasons why there is no answer |

mod flow;
mod judge;
mod machine;
mod output;
mod refusal;
mod translate;

pub use judge::{Rejection, check, cost};
pub use refusal::Refusal;
// Their types are in public signatures.
pub use {kingpost_regalloc, regalloc2};

use flow::Flow;
use kingpost_regalloc::{Allocation, Allocator};
use kingpost_regalloc_backtracking::Backtracking;
use kingpost_regalloc_linear::LinearScan;
use kingpost_regalloc_spill_all::SpillAll;
use kingpost_regalloc_ssa::SsaAllocator;
use machine::Part;
use output::Collector;
use regalloc2::{Function, MachineEnv, Output, RegClass};
use translate::{Purpose, operand_offsets, translate};

/// The names of the allocators. The last one is a baseline for tests.
pub const NAMES: [&str; 4] = ["ssa", "linear", "backtracking", "spill_all"];

/// Returns the allocator with a name of [`NAMES`].
pub fn allocator(name: &str) -> Option<Box<dyn Allocator>> {
    match name {
        "ssa" => Some(Box::new(SsaAllocator::default())),
        "linear" => Some(Box::new(LinearScan::default())),
        "backtracking" => Some(Box::new(Backtracking::default())),
        "spill_all" => Some(Box::new(SpillAll::default())),
        _ => None,
    }
}

/// Allocates registers for a function with one of our allocators.
///
/// # Errors
/// [`Refusal`] if our contract cannot express the function, if the function breaks a rule of the contract, or if the
/// allocator fails.
pub fn run<F: Function>(func: &F, env: &MachineEnv, allocator: &mut dyn Allocator) -> Result<Output, Refusal> {
    let offsets = operand_offsets(func);
    let flow = Flow::new(func);
    let mut collector = Collector::new(func, env, offsets.clone());
    let mut allocation = Allocation::default();
    for part in parts(func) {
        let translation = translate(func, env, part, &flow, &offsets, Purpose::Solve)?;
        allocator.allocate(&translation.problem, &translation.env, &mut allocation).map_err(Refusal::Failed)?;
        collector.add(&translation, &allocation)?;
    }
    Ok(collector.finish())
}

/// Returns the parts of a function that are problems of their own.
fn parts<F: Function>(func: &F) -> Vec<Part> {
    let is_vector = |operand: &regalloc2::Operand| operand.class() == RegClass::Vector;
    let mut insts = (0..func.num_insts()).map(regalloc2::Inst::new);
    match insts.any(|inst| func.inst_operands(inst).iter().any(is_vector)) {
        true => vec![Part::SCALAR, Part::VECTOR],
        false => vec![Part::SCALAR],
    }
}

/// Returns the number of operands of all instructions.
fn num_operands<F: Function>(func: &F) -> usize {
    (0..func.num_insts()).map(|inst| func.inst_operands(regalloc2::Inst::new(inst)).len()).sum()
}
