//! The simplest allocator: every value lives in a spill slot of its own.
//!
//! ```text
//! i1: use v0, use v1 = r1, def v2 reuse 0         before i1: fill s0 -> r0 8
//!                                                 before i1: fill s1 -> r1 8
//!                                                 i1: r0, r1, r0
//!                                                 before i2: spill r0 -> s2 8
//! ```
//!
//! Registers hold values only around one instruction: uses are filled before it and defs are stored after it. Operands
//! that may be in memory remain in their slots. Block arguments go from slot to slot before the jump; the defs of a branch
//! are stored at the head of the successor that they belong to. References are always in memory, so that a stack map is
//! a list of live values.
//!
//! It is an oracle for the other allocators and the example of a third party's: it uses the contract and nothing else.
//! It answers [`AllocError::TooFewRegisters`] or [`AllocError::FixedConflict`] if the operands of one instruction
//! cannot be placed, which no other allocator could change.
//!
//! Cost: linear in operands, but for stack maps, which are as long as references live across safepoints are many.
//!
//! | file | holds |
//! |---|---|
//! | `allocator.rs` | slots, and the edits around each instruction |
//! | `assign.rs` | registers for the operands of one instruction |
//! | `stack_maps.rs` | which references are live at which safepoint |
//!
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
