//! Relocatable object files from compiled functions and data objects.
//!
//! | file | holds |
//! |---|---|
//! | `write.rs` | the steps of writing an object, and its options |
//! | `module.rs` | a module that becomes an object |
//! | `writer.rs` | symbols, code and data of an object |
//! | `target.rs` | the format of a target |
//! | `format.rs` | differences between the formats, each in the file of its name |
//! | `elf.rs`, `coff.rs`, `macho.rs` | ELF for Linux, COFF for Windows, Mach-O for macOS |
//! | `data_sections.rs` | sections of data objects |
//! | `addends.rs` | distances from symbols in instructions |
//! | `thread_variables.rs` | thread-local symbols of Mach-O |
//! | `tables.rs` | sections about the code, from the next four files and from `kingpost-debug-info` |
//! | `eh_frame.rs` | unwind operations as `.eh_frame` |
//! | `compact_unwind.rs` | frames as `__compact_unwind`, for macOS |
//! | `xdata.rs` | `.pdata` and `.xdata`, by which Windows finds callers |
//! | `except_table.rs` | handlers of exceptions as `.gcc_except_table` |
//! | `function_tables.rs` | tables by function, such as `kingpost_traps` |
//! | `property_note.rs` | control-flow guards that all code has |
//! | `relocated.rs` | contents with relocations |
//! | `names.rs` | names of symbols in object files |
//! | `assembly/` | an object as text for an assembler |
//! | `error.rs` | errors of writing an object |
//!
//! ```
//! use kingpost_codegen::module::{Linkage, Module};
//! use kingpost_codegen::{Compiler, Settings};
//! use kingpost_emit_object::{ObjectModule, ObjectOptions};
//!
//! let functions = kingpost_reader::parse_functions("function u0:0(i32) -> i32 { block0(v0: i32): return v0 }");
//! let mut func = functions.unwrap().remove(0);
//! let mut module = ObjectModule::new(Compiler::baseline(Settings::default()).unwrap(), ObjectOptions::default());
//! let id = module.declare_function("same", Linkage::Export, &func.signature).unwrap();
//! module.define_function(id, &mut func).unwrap();
//! assert!(module.finish().unwrap().starts_with(b"\x7fELF"));
//! ```

mod addends;
mod assembly;
mod coff;
mod compact_unwind;
mod data_sections;
mod eh_frame;
mod elf;
mod error;
mod except_table;
mod format;
mod function_tables;
mod macho;
mod module;
mod names;
mod property_note;
mod relocated;
mod tables;
mod target;
mod thread_variables;
mod write;
mod writer;
mod xdata;

pub use assembly::Assembly;
pub use error::ObjectError;
pub use module::ObjectModule;
pub use names::symbol_name;
pub use write::{ObjectOptions, write};
