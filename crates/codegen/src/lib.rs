//! The compiler driver: from functions to machine code.
//!
//! | file | holds |
//! |---|---|
//! | `pipeline.rs` | the whole compiler on one screen |
//! | `compiler.rs` | the interface for callers: [`Compiler`] and [`Context`] |
//! | `options.rs` | observation and limits: [`Options`] |
//! | `compile.rs` | one function through the pipeline, with panics caught |
//! | `recompile.rs` | code without a proof, replaced by code of the baseline allocator |
//! | `cache/` | compiled functions that outlive the process: [`Cache`](cache::Cache) |
//! | `cached.rs` | one function through the cache |
//! | `batch.rs` | many functions on many threads, with the result of a single thread |
//! | `stage.rs`, `stages.rs` | the list of stages; timing, counting and dumps |
//! | `expand/` | the stage that replaces target-neutral operations by simpler ones |
//! | `select.rs`, `allocate.rs`, `emit.rs` | the stages from a function to machine code, its registers and its bytes |
//! | `validate.rs`, `proofs.rs` | the stage that proves the emitted code, a feature of this crate |
//! | `without_validate.rs` | an empty stage in its place, in builds without the feature |
//! | `module/` | functions and data that are declared by name and refer to one another |
//! | `allocators.rs` | the table of register allocators by name |
//! | `targets.rs` | the table of instruction sets by architecture |
//! | `dwarf.rs` | DWARF numbers of registers |
//! | `error.rs` | errors of the compilation of a function |
//!
//! ```
//! use kingpost_codegen::compiled::ModuleBuffer;
//! use kingpost_codegen::{Compiler, Settings};
//!
//! let mut functions = kingpost_reader::parse_functions("function %f(i32) -> i32 { block0(v0: i32): return v0 }").unwrap();
//! let compiler = Compiler::host(Settings::default()).unwrap();
//! let (mut context, mut module) = (compiler.context(), ModuleBuffer::default());
//! compiler.compile(&mut context, &mut functions[0], &mut module).unwrap();
//! assert!(!module.function(0).code.is_empty());
//! ```

mod allocate;
mod allocators;
mod batch;
pub mod cache;
mod cached;
mod compile;
mod compiler;
mod dwarf;
mod emit;
mod error;
mod expand;
pub mod module;
mod options;
mod pipeline;
#[cfg(feature = "validate")]
mod proofs;
mod recompile;
mod select;
mod stage;
mod stages;
mod targets;
#[cfg(feature = "validate")]
mod validate;
#[cfg(not(feature = "validate"))]
#[path = "without_validate.rs"]
mod validate;

pub use allocators::{ALLOCATORS, AllocatorFactory, CHOICES, allocator, allocator_name};
pub use batch::Batch;
pub use compiler::{Compiler, Context};
pub use dwarf::DwarfRegisters;
pub use error::CompileError;
pub use kingpost_mach::settings::{OptLevel, SettingError, Settings};
// Results of `Context`, `TargetIsa` and `CompileError`.
#[cfg(feature = "aarch64")]
pub use kingpost_isa_aarch64::A64Flags;
#[cfg(feature = "x64")]
pub use kingpost_isa_x64::X64Flags;
pub use kingpost_mach::{Code, Isa, Limits, LowerError, LowerState, Refusal};
pub use kingpost_opt::Pass;
pub use kingpost_opt::rewrite::{Rule, RuleLimits};
pub use options::{DumpReceiver, Options, Passes};
#[cfg(feature = "validate")]
pub use proofs::Reference;
pub use stage::Stage;
pub use stages::{ProofCounts, Stats, solution_text};
pub use targets::{CpuFlags, TARGETS, TargetError, TargetIsa, Unavailable};
// Types of this crate are in public signatures.
pub use target_lexicon;

/// Version of the compiler.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Compiled functions and data objects: their bytes, and the tables about them.
///
/// [`ModuleBuffer`](compiled::ModuleBuffer) has the functions of one or more compilations, and gives each as a
/// [`FunctionView`](compiled::FunctionView).
pub mod compiled {
    pub use kingpost_mach::{
        BlockEdge, CallSite, CompiledFunction, ContextPlace, ControlFlowGuards, DataFault, DataObject, DataPointer,
        DebugTag, DebugTagSite, FrameInfo, FunctionHead, FunctionView, HandlerSite, KeyedSlot, ListedInst, ListedLabel,
        Listing, Literal, Mention, ModuleBuffer, Origin, PatchableCall, Placement, Reloc, RelocKind, SrcLocSite,
        StackMapEntry, SymbolName, TrapSite, UnwindOp, UnwindSite, ValueConstant, ValueSite,
    };
}

/// Settings that all targets share, and the types of their values.
pub mod settings {
    pub use kingpost_mach::settings::{
        AllocatedRegisters, LibcallCallConv, OptLevel, ProbestackStrategy, SettingError, Settings, StackSwitchModel,
        TlsModel, ValidateCode, ValidateFailure,
    };
}
