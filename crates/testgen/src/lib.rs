//! Seeded generators of allocation problems, a simulator, planted faults and a shrinker.
//!
//! | file | holds |
//! |---|---|
//! | `problem.rs` | random machines and problems: `flow.rs` their control flow, `feasible.rs` whether an instruction can be served |
//! | `draft.rs` | a problem in pieces that can be changed |
//! | `mutate.rs` | mutants of texts of problems |
//! | `simulate.rs` | runs a problem and its allocation side by side |
//! | `faults.rs` | breaks allocations |
//! | `shrink.rs` | makes a failing problem small |
//! | `fuzz.rs` | all of these together, for tests and for `make fuzz` |
//! | `properties.rs` | what a good allocator needs for small functions, with any number of registers |
//! | `abstract_target.rs` | CLIF functions as problems for any number of registers |
//! | `large.rs` | CLIF functions of hundreds of blocks |
//! | `graphs.rs` | CLIF functions of random control flow that need not end |
//! | `interference.rs` | which values live at once, to judge classes that share places |
//! | `renumber.rs` | the same problem with other numbers |
//! | `shapes.rs` | problems of any size in the shapes that compilers meet |
//! | `conformance.rs` | what every allocator must do, for its tests |
//! | `phases.rs` | what the phases of an allocator find out, for its tests |
//! | `text.rs` | mutations of texts, for readers |
//! | `worst_cases.rs` | CLIF functions of any size that are as bad as can be for an optimizer |
//! | `ir.rs` | random functions, for interpreter and compiled code to agree on |
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
pub mod faults;
mod feasible;
mod flow;
pub mod fuzz;
pub mod graphs;
pub mod interference;
pub mod ir;
pub mod large;
mod mutate;
pub mod phases;
pub mod problem;
pub mod properties;
pub mod renumber;
pub mod rng;
pub mod shapes;
pub mod shrink;
pub mod simulate;
pub mod solve;
pub mod text;
pub mod worst_cases;
