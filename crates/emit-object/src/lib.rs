//! Relocatable object files from compiled functions and data objects.
//!
//! | file | holds |
//! |---|---|
//! | `elf.rs` | sections, symbols and relocations of an ELF object |
//! | `eh_frame.rs` | unwind operations as `.eh_frame` |
//! | `module.rs` | a module that becomes an object |
//! | `tables.rs` | sections about the code: what the next three make |
//! | `debug.rs` | source locations as `.debug_line` |
//! | `traps.rs` | trapping instructions and addresses of functions as `kingpost_traps` |
//! | `relocated.rs` | contents with relocations |
//! | `names.rs` | names of symbols in object files |
//! | `error.rs` | why there is no object |

mod debug;
mod eh_frame;
mod elf;
mod error;
mod module;
mod names;
mod relocated;
mod tables;
mod traps;

pub use elf::{ObjectOptions, write};
pub use error::ObjectError;
pub use module::ObjectModule;
pub use names::symbol_name;
