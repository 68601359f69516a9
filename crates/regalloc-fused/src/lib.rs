//! The fastest way through the compiler: registers are allocated while instructions are selected, in one backward walk.
//!
//! ```text
//! lowering:   v3 = iadd v1, v2         add64_rr v3, v1, v2        v3 in rax below: v1 is met first, in rax
//! here:                                add rax, rcx
//! ```
//!
//! [`Fused`] is a [`Sink`] of lowering: it takes instructions over as they are selected, last ones first, and makes
//! [`Steps`] of them, which need only be encoded. Nothing is selected twice, and no problem is built for an allocator to read. Only
//! if a judge needs it, the walk logs the problem besides, to which the steps are the answer ([`Steps::allocation`]).
//!
//! A value takes a register at its last use, which the walk meets first, and keeps it up to its definition. Where another
//! value needs the register, or a call destroys it, the value is filled from its slot behind that instruction; the definition
//! then stores it, once. Blocks hand their registers on: a block's end takes over what its hottest successor has at its head, and
//! moves make up the difference on the other edges.
//!
//! Of a loop the walk meets the end first. What is in registers all around it is not chosen beforehand: a value from outside that
//! takes a register which nothing in the loop has touched so far may as well have been there all along, in all blocks
//! walked and all edges back. It is *resident* from then on: each block of the loop walked later has it there at both its
//! ends. Other values from outside are in their slots around the loop; its parameters get registers when its last block is met.
//!
//! What the registers hold at the head of a block is still there at the end of the block walked next if that mostly leads to it; an
//! edge's block that has a jump and nothing else is passed with the registers of its successor.
//!
//! After Kannan and Proebsting's *demand-driven* allocation; registers between blocks as in Traub, Holloway and Smith, *Quality
//! and speed in linear-scan register allocation* (1998). Cost: linear in operands; registers where one is evicted or at the ends of blocks.
//!
//! | file | holds |
//! |---|---|
//! | `walk.rs` | the walk: what lowering hands over, and where it goes |
//! | `state.rs` | values, and which of them is in which register |
//! | `plain.rs` | instructions that take any registers for their operands |
//! | `fixed.rs` | instructions whose operands all are in fixed registers |
//! | `constrained.rs` | all others |
//! | `edges.rs` | heads and ends of blocks |
//! | `loops.rs` | what is resident in loops |
//! | `log.rs` | the problem, for judges |

mod constrained;
mod edges;
mod fixed;
mod log;
mod loops;
mod plain;
mod state;
mod walk;

pub use walk::Fused;
