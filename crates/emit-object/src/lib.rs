//! Relocatable object files from compiled functions and data objects.
//!
//! | file | holds |
//! |---|---|
//! | `elf.rs` | sections, symbols and relocations of an ELF object |
//! | `eh_frame.rs` | unwind operations as `.eh_frame` |
//! | `names.rs` | names of symbols in object files |
//! | `error.rs` | why there is no object |

mod eh_frame;
mod elf;
mod error;
mod names;

pub use elf::{ObjectOptions, write};
pub use error::ObjectError;
pub use names::symbol_name;
