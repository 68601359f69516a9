//! The C interface of the compiler: `libkingpost` and `kingpost.h`.
//!
//! `include/kingpost.h` is generated from these sources, and a test compares it with them. Programs in C use objects
//! through handles, get errors as values, and cannot cause undefined behavior by a null or stale handle. A panic does
//! not cross the interface.
//!
//! | file | holds |
//! |---|---|
//! | `entry.rs` | the frame of every function, which lets no panic through; `unsafe` |
//! | `error.rs` | errors as values |
//! | `handles.rs` | handles of objects, and their errors |
//! | `items.rs` | handles of parts: functions of a module, values of a function |
//! | `foreign.rs` | texts, arrays and places in the memory of a C program; `unsafe` |
//! | `failures.rs` | errors of the compiler as errors of the interface |
//! | `version.rs` | the version of the library |
//! | `buffer.rs` | bytes and texts that the library hands out |
//! | `config.rs` | target, settings and allocator by name |
//! | `module.rs` | modules in memory and as objects |
//! | `text.rs` | functions and data in the text form |
//! | `builder.rs` | functions that are built: blocks, variables, and what they refer to |
//! | `annotations.rs` | source lines, names and stack maps of functions that are built |
//! | `instructions.rs` | one function for each form of instructions |
//! | `tables.rs` | numbers of types, opcodes, conditions and flags |
//! | `allocator.rs` | allocators of the caller; allocation and checking of `.ra` text |
//! | `research.rs` | tables of allocations and live ranges as JSON |
//! | `addresses.rs` | traps, stack maps and names by address; lookup of imported symbols |
//!
//! The memory of C programs is accessed in `foreign.rs` alone, and `entry.rs` gives functions the names that C programs
//! link with. Both are sound by the contract of the interface, which the header states: a pointer is null, or it points
//! to what the parameter says for the time of the call. Neither has public functions.

mod addresses;
mod allocator;
mod annotations;
mod buffer;
mod builder;
mod config;
mod entry;
mod error;
mod failures;
mod foreign;
mod handles;
mod instructions;
mod items;
mod module;
mod research;
mod tables;
mod text;
mod version;

pub use addresses::*;
pub use allocator::*;
pub use annotations::*;
pub use buffer::*;
pub use builder::*;
pub use config::*;
pub use error::{Error, Status};
pub use foreign::{Address, Array, Lent, Out, Text, User};
pub use handles::Handle;
pub use instructions::*;
pub use items::{BlockItem, CalleeItem, DataItem, FunctionItem, SignatureItem, SlotItem, ValueItem, VariableItem};
pub use module::*;
pub use research::*;
pub use tables::MEMORY_FLAGS;
pub use text::*;
pub use version::*;
