//! The meaning of machine instructions of x86-64 and AArch64, from their bytes.
//!
//! ```text
//! 48 01 f8    decoded     add rax, rdi
//!             executed    rax := rax + rdi;  CF := rax + rdi < rdi;  …      terms over the state before
//! ```
//!
//! Proofs of emitted code rest on these meanings. They are written from the manuals ("Intel 64 and IA-32 Architectures
//! Software Developer's Manual", volume 2; "Arm Architecture Reference Manual for A-profile architecture", part C) and
//! share nothing with the crates that select and encode instructions; a test forbids the dependency.
//!
//! | file | holds |
//! |---|---|
//! | `state.rs` | [`State`]: registers and flags as terms |
//! | `flag.rs` | flags, computed when they are read |
//! | `world.rs` | [`World`]: memory, faults and unknown bits, given by the caller; [`Flow`], [`At`] |
//! | `x64/` | decoder and meanings of x86-64 |
//! | `a64/` | decoder and meanings of AArch64 |
//!
//! A caller that executes a path from one block to the next gives each instruction the same [`State`]. A caller that
//! tests a meaning evaluates its terms under a model.

mod flag;
mod state;
mod world;

pub mod a64;
pub mod x64;

pub use state::State;
pub use world::{Access, At, Flow, Order, Undecoded, World};
