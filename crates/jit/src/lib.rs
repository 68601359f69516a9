//! Compiled functions in executable memory.
//!
//! [`Image::load`] copies the functions of a [`ModuleBuffer`](kingpost_mach::ModuleBuffer) and their data into fresh
//! pages, and resolves every relocation. Only then it makes the code executable and no longer writable.
//!
//! | file | holds |
//! |---|---|
//! | `module.rs` | a module whose functions can be called; `unsafe` |
//! | `image.rs` | loading, symbols, traps by address; `unsafe` |
//! | `layout.rs` | places of the parts of a module |
//! | `entry.rs` | types by which functions are called; `unsafe` |
//! | `relocate.rs` | the value that each relocation writes |
//! | `pages.rs` | memory of code and data; `unsafe` |
//! | `arena.rs` | ranges of addresses for it; `unsafe` |
//! | `runs.rs` | free addresses |
//! | `system/mod.rs` | the requirements of an operating system; `unsafe` |
//! | `system/unix.rs` | Linux and macOS; `unsafe` |
//! | `system/apple_silicon.rs` | memory for code on Apple silicon; `unsafe` |
//! | `system/windows.rs` | Windows; `unsafe` |
//! | `publish.rs` | announcement of new code to processors; `unsafe` |
//! | `symbols.rs` | addresses of the process; `unsafe` |
//! | `libcalls.rs` | library routines that a process may lack |
//! | `unwind.rs` | unwind information for this process; `unsafe` |
//! | `eh_frame.rs` | its contents on Linux and macOS |
//! | `function_table.rs` | its contents on Windows; `unsafe` |
//! | `debugger.rs` | registration with debuggers; `unsafe` |
//! | `no_debugger.rs` | the same, on systems without an interface for it |
//! | `symbol_file.rs` | names and frames for debuggers, as object files |
//! | `debug_info.rs` | lines and variables for debuggers |
//! | `profiler.rs` | names for the profiler `perf` |
//! | `heap.rs` | a heap for command line tools; `unsafe` |
//! | `error.rs` | errors of loading a module |
//!
//! Loading code is safe. Calling it is not, because its effects are up to the module's author. Every public function
//! that accesses the system is either `unsafe` and states its requirements, or follows the rules of Rust for all
//! arguments:
//!
//! | public function of a file with `unsafe` | why it is sound |
//! |---|---|
//! | `EntryPoint::at`, `Image::get`, `JitModule::get`, `Registration::of_section` | `unsafe` |
//! | `JitModule::new`, `JitModule::symbol`, `JitModule::symbol_lookup`, `JitModule::enable_debugger`, `JitModule::enable_debug_info`, `JitModule::enable_profiler` | store their arguments for loading |
//! | `Image::load`, `JitModule::finalize_definitions` | write to pages that they own, through slices; only loaded code uses addresses of symbols |
//! | `Image::functions`, `Image::address`, `Image::trap_at`, `Image::stack_map_at`, `Image::handlers`, `Image::handlers_at`, `Image::function_at` | read tables of the image |
//! | `JitModule::function_address`, `JitModule::data_address`, `JitModule::address`, `JitModule::trap_at`, `JitModule::stack_map_at`, `JitModule::handlers_at`, `JitModule::function_at` | read tables of the images |
//! | `PageSource::shared`, `PageSource::reserve`, `PageSource::allocate` | map memory where the system chooses |
//! | `Pages::address`, `Pages::size`, `Pages::contents`, `Pages::truncate`, `Pages::seal`, `Pages::leak` | act on pages that belong to the value; slices borrow it |
//! | `Registration::section` | borrows the value |
//! | `SymbolFile::register` | only debuggers, which are other processes, read its arguments; `debugger.rs` has the requirements for the process |
//! | `process_symbol` | returns a number |
//! | `ToolHeap::new` | keeps what it is given |
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

mod arena;
mod debug_info;
#[cfg_attr(any(windows, target_vendor = "apple"), path = "no_debugger.rs")]
mod debugger;
#[cfg(not(windows))]
mod eh_frame;
mod entry;
mod error;
mod function_table;
mod heap;
mod image;
mod layout;
mod libcalls;
mod module;
mod pages;
mod profiler;
mod publish;
pub mod relocate;
mod runs;
#[cfg_attr(any(windows, target_vendor = "apple"), allow(dead_code, reason = "no debugger reads these files there"))]
mod symbol_file;
mod symbols;
mod system;
mod unwind;

pub use arena::PageKind;
pub use debugger::SymbolFile;
pub use entry::EntryPoint;
pub use error::{LoadError, MissingFunction};
pub use heap::ToolHeap;
pub use image::{Handler, Image, Resolver, StackMap};
pub use libcalls::library_address;
pub use module::{JitModule, Lookup};
pub use pages::{BranchTargets, PageSource, Pages};
pub use profiler::add_to_perf_map;
pub use symbol_file::NamedCode;
pub use symbols::process_symbol;
pub use unwind::Registration;
