//! The fastest allocator: registers are allocated during instruction selection, in one backward walk.
//!
//! ```text
//! lowering:   v3 = iadd v1, v2         add64_rr v3, v1, v2        v3 in rax below: v1 is met first, in rax
//! here:                                add rax, rcx
//! ```
//!
//! [`Fused`] is an [`InstReceiver`] of lowering. It receives instructions as they are selected, the last one first, and
//! turns them into [`AllocatedCode`], which is ready to be encoded. No instruction is selected twice, and no problem is
//! built for an allocator. The walk logs the problem only if a checker needs it; the items are its answer
//! ([`AllocatedCode::allocation`]).
//!
//! A value takes a register at its last use, which the walk meets first, and keeps it up to its definition. If
//! another value needs the register, or a call destroys it, the value is filled from its slot after that
//! instruction, and the definition stores it, once. Blocks pass on their registers: the end of a block takes over
//! the head of its hottest successor, and moves on the other edges resolve the differences.
//!
//! The walk meets the end of a loop first. The values in registers throughout a loop are not chosen beforehand. A
//! value from outside that takes a register untouched so far in the loop could have been in it from the beginning,
//! in all blocks walked and on all edges back. From then on it is *resident*: each block of the loop walked later
//! has it in that register at both its ends. Other values from outside are in their slots around the loop. The
//! loop's parameters get registers when its last block is met.
//!
//! The registers at the head of a block remain in use at the end of the next block walked if that block mostly
//! leads to it. An edge block that only jumps takes over the registers of its successor.
//!
//! The method follows Kannan and Proebsting's *demand-driven* allocation; registers between blocks are treated as
//! in Traub, Holloway and Smith, *Quality and speed in linear-scan register allocation* (1998). Cost: linear in
//! operands, and in registers at evictions and at the ends of blocks.
//!
//! | file | contents |
//! |---|---|
//! | `walk.rs` | the walk: instructions from lowering, and the items added for them |
//! | `state.rs` | values, and the registers that they are in |
//! | `plain.rs` | instructions with operands in any registers |
//! | `constrained.rs` | all other instructions |
//! | `edges.rs`, `heads.rs` | heads and ends of blocks |
//! | `selected.rs` | an instruction with its operands |
//! | `loops.rs` | residents of loops |
//! | `log.rs` | the problem, for the checker |
//!
//! [`InstReceiver`]: kingpost_mach::lower::InstReceiver
//! [`AllocatedCode`]: kingpost_mach::AllocatedCode
//! [`AllocatedCode::allocation`]: kingpost_mach::AllocatedCode::allocation

mod constrained;
mod edges;
mod heads;
mod log;
mod loops;
mod plain;
mod selected;
mod state;
mod walk;

pub use walk::Fused;
