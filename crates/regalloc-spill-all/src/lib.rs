//! The simplest allocator, and a guide to writing one: every value lives in a spill slot of its own.
//!
//! ```text
//! i1: use v0, use v1 = r1, def v2 reuse 0         before i1: fill s0 -> r0 8
//!                                                 before i1: fill s1 -> r1 8
//!                                                 i1: r0, r1, r0
//!                                                 before i2: spill r0 -> s2 8
//! ```
//!
//! An allocator is a type that implements [`Allocator`]: its input is a [`Problem`] and a [`MachineEnv`], its
//! output an [`Allocation`]. This one uses only the contract. Every allocator has five duties:
//!
//! | duty | in this crate |
//! |---|---|
//! | a location for every operand, which meets its constraint | `locate` in `allocator.rs`; registers are chosen in `assign.rs` |
//! | edits between instructions, which bring values to these locations | `edit_block` in `allocator.rs` |
//! | arguments of edges, passed all at once | `pass_arguments` in `allocator.rs` |
//! | the callee-saved registers that it uses, and the locations of labeled values | `allocate`, `add_labels` in `allocator.rs` |
//! | the slots with references, at each safepoint | `stack_maps.rs` |
//!
//! Registers hold values only around one instruction: uses are filled before it and defs are stored after it.
//! Operands that may be in memory remain in their slots. Block arguments move from slot to slot before the jump.
//! The defs of a branch are stored at the head of the successor that they belong to. References are always in
//! memory, so that a stack map is a list of live values.
//!
//! The example `own_allocator` of the crate `kingpost` compiles with an allocator that is not in the compiler's table. To test
//! one, write `kingpost_testgen::conformance! { Mine::default() }` in a file of tests: problems designed on paper, generated
//! problems, growth. `kingpost_testgen::quality!` compares the price of its answers. The allocators in `regalloc-linear`,
//! `regalloc-ssa` and `regalloc-backtracking` show how registers are kept across instructions.
//!
//! Tests compare the other allocators with this one. It fails with [`AllocError::TooFewRegisters`] or
//! [`AllocError::FixedConflict`] only if the operands of one instruction cannot be placed by any allocator.
//!
//! Cost: linear in operands and in the length of the stack maps.
//!
//! [`Allocator`]: kingpost_regalloc::Allocator
//! [`Problem`]: kingpost_regalloc::Problem
//! [`MachineEnv`]: kingpost_regalloc::MachineEnv
//! [`Allocation`]: kingpost_regalloc::Allocation
//! [`AllocError::TooFewRegisters`]: kingpost_regalloc::AllocError::TooFewRegisters
//! [`AllocError::FixedConflict`]: kingpost_regalloc::AllocError::FixedConflict
//!
//! ```
//! use kingpost_regalloc::text::parse;
//! use kingpost_regalloc::{Allocation, Allocator};
//! use kingpost_regalloc_spill_all::SpillAll;
//!
//! let text = "
//!     env { int r0, r1 exchange }
//!     problem %sum {
//!       v0, v1, v2: int 8
//!       b0:
//!         i0: def v0 = r0, def v1 = r1
//!         i1: use v0, use v1, def v2 reuse 0
//!         i2: branch use v2 = r0
//!     }";
//! let file = parse(text).unwrap();
//! let (env, problem) = (file.env.unwrap(), &file.cases[0].problem);
//! let mut answer = Allocation::default();
//! SpillAll::default().allocate(problem, &env, &mut answer).unwrap();
//! assert_eq!(answer.slots.len(), 3, "every value has a slot");
//! ```

mod allocator;
mod assign;
mod stack_maps;

pub use allocator::SpillAll;
