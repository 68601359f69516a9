//! Second opinions on compiled code: the interpreter, the system's C compiler, and the boundaries of memory.
//!
//! | file | contents |
//! |---|---|
//! | `ir.rs` | generated programs: interpreter and compiled code agree under every allocator |
//! | `abi/` | generated signatures: compiled code and C call each other |
//! | `checked.rs` | generated programs: the checker accepts the answers of every allocator |
//! | `validate.rs` | generated programs: the emitted code is proved, for both machines, by every allocator |
//! | `flips.rs` | single-bit faults in proved code, which proofs must refuse |
//! | `execution.rs` | execution of machine code on numbers, to judge faults that proofs accept |
//! | `graphs.rs` | functions of random control flow that mostly never return: compiling them terminates |
//! | `memory/` | every access that may be folded, at the first and last bytes of memory |
//! | `native.rs` | compiles, loads and calls, in a process that may die |
//! | `emulated.rs` | runs code for another machine, by an emulator |
//! | `tables.rs` | checks of the tables of compiled functions against their text |
//! | `watch.rs` | work that is abandoned if a case takes too long |
//! | `stub.rs` | machine code around each call that checks preserved registers |
//! | `failure.rs` | the fault of one case, and the command that repeats it |
//!
//! ```
//! // Functions made of two seeds, by every allocator and the interpreter.
//! let report = kingpost_difftest::ir::run(0..2).unwrap_or_else(|failure| panic!("{failure}"));
//! println!("{report}");
//! ```

pub mod abi;
pub mod checked;
mod emulated;
mod execution;
mod failure;
pub mod flips;
pub mod graphs;
pub mod ir;
pub mod memory;
mod native;
mod stub;
mod tables;
pub mod validate;
mod watch;

pub use failure::{Failure, Report};
