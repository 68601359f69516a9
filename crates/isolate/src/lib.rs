//! Calls of compiled functions in a process of their own, for code that may trap, loop or be wrong.
//!
//! [`run`] forks: the child calls one function after the other and notes in shared memory how each ended. A fault ends the
//! child; the next child makes the next call. The child's own memory is a copy, so whatever the code does to it is
//! gone with the child; only [`SharedMemory`] is seen by both.
//!
//! | file | holds |
//! |---|---|
//! | `run.rs` | calls of the functions of images; `unsafe` |
//! | `call.rs` | descriptions of calls, and how they end |
//! | `memory.rs` | memory that both see; `unsafe` |
//! | `process.rs` | children; `unsafe` |
//! | `no_fork.rs` | the same on other systems than Unix: calls are refused; `unsafe` |
//! | `error.rs` | errors |
//!
//! No function is `unsafe`, because none of them breaks a rule of Rust whatever its arguments are:
//!
//! | public function of a file with `unsafe` | why it is sound |
//! |---|---|
//! | `SharedMemory::new` | maps memory where the system chooses |
//! | `SharedMemory::address` | returns a number |
//! | `SharedMemory::bytes`, `SharedMemory::bytes_mut` | borrow a copy, which no child sees |
//! | `SharedMemory::publish` | writes to the mapping by atomic operations, as the compiled code of other children may |
//! | `run` | calls only functions of the images that it holds, and only in a child; the code can do there what any other process can |

mod call;
mod error;
mod memory;
#[cfg_attr(not(unix), path = "no_fork.rs")]
mod process;
mod run;

pub use call::{Ending, IsolatedCall};
pub use error::IsolateError;
pub use memory::SharedMemory;
pub use run::run;
