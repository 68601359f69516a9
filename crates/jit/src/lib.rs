//! Compiled functions in executable memory.
//!
//! [`Image::load`] copies the functions of a [`ModuleBuffer`](kingpost_mach::ModuleBuffer) and their data into fresh
//! pages, resolves every relocation, and only then makes the code executable and no longer writable. Pages without
//! access stand before and behind.
//!
//! | file | holds |
//! |---|---|
//! | `module.rs` | a module whose functions can be called |
//! | `image.rs` | loading, symbols, traps by address |
//! | `relocate.rs` | what each relocation writes |
//! | `routines.rs` | library routines that a process may lack |
//! | `unwind.rs` | unwind information for this process |
//! | `memory.rs` | pages and calls; with `isolate.rs` and `unwind.rs`, the only `unsafe` |
//! | `isolate.rs` | calls in a process of their own, for tests |
//! | `error.rs` | why a module could not be loaded |

mod error;
mod image;
pub mod isolate;
mod memory;
mod module;
mod relocate;
mod routines;
mod unwind;

pub use error::LoadError;
pub use image::{Image, Resolver};
pub use memory::process_symbol;
pub use module::{JitModule, Lookup};
pub use routines::library_address;
