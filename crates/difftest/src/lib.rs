//! Second opinions on compiled code: the interpreter, the system's C compiler, and the edges of memory.
//!
//! | file | holds |
//! |---|---|
//! | `ir.rs` | generated programs: interpreter and compiled code agree under every allocator |
//! | `abi/` | generated signatures: compiled code and C call each other |
//! | `checked.rs` | generated programs: the checker accepts what every allocator makes of them |
//! | `graphs.rs` | functions of random control flow, most of which never end: compiling them does |
//! | `memory/` | every access that may fold, at the first and last bytes of memory |
//! | `native.rs` | compiles, loads and calls, in a process that may die |
//! | `emulated.rs` | the same for another machine, by an emulator |
//! | `tables.rs` | tables of compiled functions against their text |
//! | `watch.rs` | work that is given up when a case takes too long |
//! | `stub.rs` | machine code around each call that checks what must be preserved |
//! | `failure.rs` | what is wrong with one case, and how to repeat it |
//!
//! ```
//! // Functions made of two seeds, by every allocator and the interpreter.
//! let report = kingpost_difftest::ir::run(0..2).unwrap_or_else(|failure| panic!("{failure}"));
//! println!("{report}");
//! ```

pub mod abi;
pub mod checked;
mod emulated;
mod failure;
pub mod graphs;
pub mod ir;
pub mod memory;
mod native;
mod stub;
mod tables;
mod watch;

pub use failure::{Failure, Report};
