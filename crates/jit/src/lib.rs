//! Compiled functions in executable memory.
//!
//! [`Image::load`] copies the functions of a [`ModuleBuffer`](kingpost_mach::ModuleBuffer) and their data into fresh
//! pages, resolves every relocation, and only then makes the code executable and no longer writable. Pages without
//! access stand before and behind.
//!
//! | file | holds |
//! |---|---|
//! | `image.rs` | loading, symbols, traps by address |
//! | `relocate.rs` | what each relocation writes |
//! | `memory.rs` | pages and calls: the only `unsafe` |
//! | `error.rs` | why a module could not be loaded |

mod error;
mod image;
mod memory;
mod relocate;

pub use error::LoadError;
pub use image::{Image, Resolver};
