//! The compiler: functions in, machine code out.
//!
//! | file | holds |
//! |---|---|
//! | `pipeline.rs` | the whole compiler on one screen |
//! | `compiler.rs` | what callers use: [`Compiler`] and [`Context`] |
//! | `batch.rs` | many functions on many threads, with the bytes of one |
//! | `stages.rs` | the list of stages; timing and dumps |
//! | `expand.rs` | the stage that replaces target-neutral operations by simpler ones |
//! | `module/` | functions and data that are declared by name and refer to one another |
//! | `allocators.rs` | the table of register allocators by name |
//! | `targets.rs` | the table of instruction sets by architecture |
//! | `error.rs` | why a function was not compiled |

mod allocators;
mod batch;
mod compiler;
mod error;
mod expand;
pub mod module;
mod pipeline;
mod stages;
mod targets;

pub use allocators::{ALLOCATORS, AllocatorFactory, allocator};
pub use batch::Batch;
pub use compiler::{Compiler, Context, DumpSink, Options};
pub use error::CompileError;
pub use kingpost_mach::Limits;
pub use kingpost_mach::settings::{SettingError, Settings};
pub use stages::{Stage, Stats};
pub use targets::{CpuFlags, TargetError, Unavailable};
