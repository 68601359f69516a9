//! Relocatable object files from compiled functions and data objects.
//!
//! | file | holds |
//! |---|---|
//! | `write.rs` | the order in which an object comes about, and what goes into it |
//! | `module.rs` | a module that becomes an object |
//! | `elf.rs` | symbols, code and data of an ELF object |
//! | `tables.rs` | sections about the code: what the next four make |
//! | `eh_frame.rs` | unwind operations as `.eh_frame` |
//! | `except_table.rs` | handlers of exceptions as `.gcc_except_table` |
//! | `debug.rs` | source locations as `.debug_line` |
//! | `function_tables.rs` | what programs look up by function: `kingpost_traps` and the like |
//! | `relocated.rs` | contents with relocations |
//! | `names.rs` | names of symbols in object files |
//! | `error.rs` | why there is no object |

mod debug;
mod eh_frame;
mod elf;
mod error;
mod except_table;
mod function_tables;
mod module;
mod names;
mod relocated;
mod tables;
mod write;

pub use error::ObjectError;
pub use module::ObjectModule;
pub use names::symbol_name;
pub use write::{ObjectOptions, write};
