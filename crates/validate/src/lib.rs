//! Proves that the bytes of a compiled function mean what the function means.
//!
//! ```text
//! function %f(i64) -> i64 {           00: add x0, x0, x0, lsl #1
//! block0(v0: i64):                    04: ret
//!     v1 = imul_imm v0, 3
//!     return v1                       proved: x0 + (x0 << 1) at the return is v0 * 3
//! }
//! ```
//!
//! Each path from the head of a block to the next head is executed with terms in place of numbers, by the meanings of
//! `machine-semantics`. It must perform the effects of the block in order, and arrive where the function continues. The
//! relation between values and places at each head is inferred, and proved by induction over the paths.
//!
//! | file | holds |
//! |---|---|
//! | `input.rs` | compiled code and its tables: [`Code`] |
//! | `clif.rs` | the function as terms and effects |
//! | `translate.rs` | translation of blocks |
//! | `computed.rs` | translation of instructions without other effects than traps |
//! | `globals.rs` | global values |
//! | `parameters.rs` | block parameters that always have one value |
//! | `byte_order.rs` | byte orders of accesses |
//! | `vector.rs` | operations on floats by lanes |
//! | `lanes.rs` | moves of lanes |
//! | `addresses.rs` | addresses of the frame and of the code that are values |
//! | `limit.rs` | the limit of the stack |
//! | `checked.rs` | its checks |
//! | `float.rs` | NaNs that are results of arithmetic |
//! | `live.rs` | values that may be needed at a head |
//! | `abi.rs` | calling conventions, from the standards' text |
//! | `machine.rs` | the two instruction sets under one interface |
//! | `frame.rs` | memory of the frame |
//! | `path.rs` | a path, and its progress through the effects of a block |
//! | `step.rs` | the accesses of one instruction of a path to memory |
//! | `attempt.rs` | attempts at an atomic access |
//! | `atomic.rs` | atomic accesses: instructions and loops |
//! | `fact.rs` | places, and the values in them |
//! | `relation.rs` | places of values at a head: [`Head`] |
//! | `simplified.rs` | values that conditions simplify |
//! | `guess.rs` | values in other forms |
//! | `calls.rs` | calls and returns |
//! | `exceptions.rs` | handlers of exceptions |
//! | `symbols.rs` | addresses of symbols, and constants in memory |
//! | `setup.rs` | a proof before its first path |
//! | `traps.rs` | traps of instructions |
//! | `successors.rs` | ends of paths, and relations of the blocks that follow |
//! | `follow.rs` | execution of a path |
//! | `prove.rs` | the proof: [`prove`] |
//! | `heads.rs` | places of values at heads, as text |
//! | `conditions.rs` | conditions of paths, and what terms decide under them |
//! | `equal.rs` | equality of terms: normal forms, models, a search, a solver |
//! | `parts.rs` | equality of terms by their parts |
//! | `error.rs` | verdicts and their reasons |
//!
//! A proof trusts the meanings of the function and of instructions, the decoder, the conventions, this crate, the
//! normal forms of `smt` or the solver, the linker, and that addresses of the function do not point into its frame
//! outside of its stack slots. It trusts no part of the compiler.

mod abi;
mod addresses;
mod atomic;
mod attempt;
mod byte_order;
mod calls;
mod checked;
mod clif;
mod computed;
mod conditions;
mod equal;
mod error;
mod exceptions;
mod fact;
mod float;
mod follow;
mod frame;
mod globals;
mod guess;
mod heads;
mod input;
mod lanes;
mod limit;
mod live;
mod machine;
mod parameters;
mod parts;
mod path;
mod prove;
mod relation;
mod setup;
mod simplified;
mod step;
mod successors;
mod symbols;
mod translate;
mod traps;
mod vector;

pub use equal::Decisions;
pub use error::{Fault, Feature, Finding, Verdict};
pub use input::{Code, ContextPlace, Handler, Machine, Relocation, RelocationKind, Symbol};
pub use prove::{Report, prove, prove_with_heads, prove_with_terms};
pub use relation::Head;
