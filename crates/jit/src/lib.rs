//! Compiled functions in executable memory.
//!
//! [`Image::load`] copies the functions of a [`ModuleBuffer`](kingpost_mach::ModuleBuffer) and their data into fresh
//! pages, resolves every relocation, and only then makes the code executable and no longer writable. Pages without
//! access stand before and behind.
//!
//! | file | holds |
//! |---|---|
//! | `module.rs` | a module whose functions can be called; `unsafe` |
//! | `image.rs` | loading, symbols, traps by address; `unsafe` |
//! | `entry.rs` | types by which functions are called; `unsafe` |
//! | `relocate.rs` | what each relocation writes |
//! | `libcalls.rs` | library routines that a process may lack |
//! | `unwind.rs` | unwind information for this process; `unsafe` |
//! | `debugger.rs` | names and frames for debuggers; `unsafe` |
//! | `profiler.rs` | names for the profiler `perf` |
//! | `memory.rs` | pages; `unsafe` |
//! | `isolate.rs` | calls in a process of their own, for tests; `unsafe` |
//! | `error.rs` | why a module could not be loaded |
//!
//! No other file of the project has `unsafe`. Loading code is safe, calling it is not: what it does is what the module's
//! author wrote.
//!
//! ```
//! use kingpost_codegen::module::{Linkage, Module};
//! use kingpost_codegen::{Compiler, Settings};
//! use kingpost_jit::JitModule;
//!
//! let functions = kingpost_reader::parse_functions("function u0:0(i64) -> i64 system_v { block0(v0: i64): v1 = ineg v0 return v1 }");
//! let mut func = functions.unwrap().remove(0);
//! let mut module = JitModule::new(Compiler::host(Settings::default()).unwrap());
//! let id = module.declare_function("negate", Linkage::Export, &func.signature).unwrap();
//! module.define_function(id, &mut func).unwrap();
//! module.finalize_definitions().unwrap();
//! // SAFETY: the function was compiled with this type.
//! let negate = unsafe { module.get::<extern "C" fn(i64) -> i64>(id) }.unwrap();
//! assert_eq!(negate(42), -42);
//! ```

mod debugger;
mod entry;
mod error;
mod image;
pub mod isolate;
mod libcalls;
mod memory;
mod module;
mod profiler;
pub mod relocate;
mod unwind;

pub use debugger::{NamedCode, SymbolFile};
pub use entry::EntryPoint;
pub use error::LoadError;
pub use image::{Handler, Image, Resolver, StackMap};
pub use libcalls::library_address;
pub use memory::{process_symbol, publish_instructions};
pub use module::{JitModule, Lookup};
pub use profiler::add_to_perf_map;
pub use unwind::Registration;
