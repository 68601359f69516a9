//! Register allocation in one backward pass: each instruction is looked at once, last one first.
//!
//! ```text
//! i1: def v0                r0
//! i2: call, clobbers r0     (fill s0 -> r0 before i3; spill r0 -> s0 before i2)
//! i3: use v0                v0 is met here first: r0, free
//! ```
//!
//! A value takes a register at its last use, which the walk meets first, and keeps it up to its definition. Where another
//! value needs the register, or a call destroys it, the value is filled from its slot behind that instruction; the definition
//! then stores it, once, as values are defined once. So no liveness is needed: what is in no register and still used below is
//! in its slot. Only where parameters need slots, live ranges say which arguments can share them.
//!
//! Blocks hand their registers on. A block's end takes over what its hottest successor has at its head; the other edges get the
//! moves that make up the difference. A loop's header is met after the blocks that jump back to it: what it has in registers is
//! decided before its last block, from the uses that a survey has counted, and made true at its head by moves that are
//! mostly void.
//!
//! The walk is that of local allocators that work backwards (Kannan and Proebsting's *demand-driven* allocation; the fast
//! allocators of LLVM and others), the hand-over of registers between blocks as in Traub, Holloway and Smith, *Quality and speed
//! in linear-scan register allocation* (1998), the other way round. Cost: linear in operands; registers where one is evicted
//! or at the ends of blocks.
//!
//! | file | holds |
//! |---|---|
//! | `allocator.rs` | the walk over blocks |
//! | `survey.rs` | what is known before: rematerialisable values, calls, uses in loops |
//! | `state.rs` | values, and which of them is in which register |
//! | `edits.rs` | edits, collected backwards |
//! | `plain.rs` | instructions that take any registers for their operands |
//! | `constrained.rs` | all others |
//! | `edges.rs` | heads and ends of blocks |
//! | `slot_coalescing.rs` | slots that parameters share with arguments |
//! | `references.rs` | stack maps |
//!
//! ```
//! use kingpost_regalloc::text::parse;
//! use kingpost_regalloc::{Allocation, Allocator};
//! use kingpost_regalloc_single_pass::SinglePass;
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
//! SinglePass::default().allocate(problem, &env, &mut answer).unwrap();
//! assert!(answer.edits.is_empty(), "every value stays in its register");
//! ```

mod allocator;
mod constrained;
mod edges;
mod edits;
mod plain;
mod references;
mod slot_coalescing;
mod state;
mod survey;

pub use allocator::SinglePass;
