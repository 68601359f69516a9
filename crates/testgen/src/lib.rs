//! Seeded generators of allocation problems, a simulator, planted faults and a shrinker.
//!
//! | file | contents |
//! |---|---|
//! | `problem.rs` | random machines and problems: `flow.rs` their control flow, `feasible.rs` whether an instruction has a solution |
//! | `draft.rs` | a problem in parts that can be changed |
//! | `mutate.rs` | mutants of texts of problems |
//! | `simulate.rs` | runs a problem and its allocation side by side |
//! | `faults.rs` | breaks allocations |
//! | `exchanging.rs` | an allocator whose code is wrong |
//! | `shrink.rs` | shrinks a failing problem |
//! | `shrink_answer.rs` | shrinks a problem together with a wrong answer |
//! | `fuzz.rs` | all of these together, for tests and for `make fuzz` |
//! | `properties.rs` | requirements of a good allocation of small functions, with any number of registers |
//! | `abstract_target.rs` | CLIF functions as problems for any number of registers |
//! | `large.rs` | CLIF functions of hundreds of blocks |
//! | `graphs.rs` | CLIF functions of random control flow that need not terminate |
//! | `interference.rs` | interference of values, to check classes that share locations |
//! | `renumber.rs` | problems with other numbers |
//! | `shapes.rs` | problems of any size in shapes that compilers meet |
//! | `conformance.rs` | requirements on every allocator, for its tests |
//! | `phases.rs` | the results of the phases of an allocator, for its tests |
//! | `shard.rs` | parts of a list of work that machines share |
//! | `text.rs` | mutations of texts, for readers |
//! | `squares.rs` | a CLIF function with lines and named variables, for tests of debuggers |
//! | `worst_cases.rs` | CLIF functions of any size that are as expensive as possible for an optimizer |
//! | `opcode_cases.rs` | a CLIF function for each opcode, type and variant, with operands of any kind |
//! | `ir.rs` | random functions on which interpreter and compiled code must agree |
//! | `rng.rs` | the random numbers |
//!
//! ```
//! use kingpost_regalloc_linear::LinearScan;
//! use kingpost_testgen::{problem, solve};
//!
//! let (problem, env) = problem::generate(7);
//! assert!(problem.verify_with(&env).is_ok());
//! // Fails unless the checker accepts the answer.
//! solve::solve(&mut LinearScan::default(), &problem, &env);
//! ```

pub mod abstract_target;
pub mod conformance;
pub mod draft;
pub mod exchanging;
pub mod faults;
mod feasible;
mod flow;
pub mod fuzz;
pub mod graphs;
pub mod interference;
pub mod ir;
pub mod large;
mod mutate;
pub mod opcode_cases;
pub mod phases;
pub mod problem;
pub mod properties;
pub mod renumber;
pub mod rng;
pub mod shapes;
mod shard;
pub mod shrink;
pub mod shrink_answer;
pub mod simulate;
pub mod solve;
pub mod squares;
pub mod text;
pub mod worst_cases;

pub use shard::Shard;
