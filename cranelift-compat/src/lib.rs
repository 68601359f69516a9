//! Kingpost with Cranelift's API: clients keep Cranelift's intermediate representation, builder and settings, and get
//! code of our compiler.
//!
//! The package `cranelift-codegen` in `drop-in/` compiles with our compiler wherever a client compiles a function. This
//! crate has modules: [`ObjectModule`] and [`JITModule`] have the methods of Cranelift's types with these names and
//! implement its trait [`Module`](cranelift_module::Module). Other packages in `drop-in/` replace Cranelift's modules
//! in an unchanged client.
//!
//! | file | holds |
//! |---|---|
//! | `compiler.rs` | compilation of a module's functions |
//! | `library.rs` | symbols of library routines that Cranelift does not have |
//! | `unwind.rs` | `.eh_frame`; `unsafe` |
//! | `object.rs` | a module that becomes an object file |
//! | `relocation.rs` | relocations in each format |
//! | `section.rs` | sections in each format |
//! | `jit.rs` | a module in memory |
//! | `relocate.rs` | relocations in memory |
//! | `memory.rs` | memory of modules; `unsafe` |
//!
//! No other file has `unsafe`. Every public function that accesses the system is either `unsafe` and states its
//! requirements, or follows the rules of Rust for all arguments. There is one exception: the trait
//! [`JITMemoryProvider`] is safe to implement, like Cranelift's, and a module writes to memory that a client's
//! provider returns. The implementor is responsible for this memory.
//!
//! | public function of a file with `unsafe` | why it is sound |
//! |---|---|
//! | `JITModule::free_memory`, `JITMemoryProvider::free_memory` | `unsafe` |
//! | `SystemMemoryProvider::new`, `ArenaMemoryProvider::new_with_size` | reserve addresses where the system chooses |
//! | `JITMemoryProvider::allocate`, `JITMemoryProvider::finalize` | the providers here change only pages that they own, and return addresses |

mod compiler;
mod jit;
mod library;
mod memory;
mod object;
mod relocate;
mod relocation;
mod section;
mod unwind;

pub use cranelift_codegen as codegen;
pub use cranelift_frontend as frontend;
pub use cranelift_module as module;
pub use jit::{JITBuilder, JITModule};
pub use memory::{ArenaMemoryProvider, BranchProtection, JITMemoryKind, JITMemoryProvider, SystemMemoryProvider};
pub use object::{ObjectBuilder, ObjectModule, ObjectProduct};

/// Returns the version of Kingpost.
pub fn kingpost_version() -> &'static str {
    cranelift_codegen::kingpost_version()
}

/// Names that clients of Cranelift's umbrella crate import, and the modules.
pub mod prelude {
    pub use crate::codegen::ir::condcodes::{FloatCC, IntCC};
    pub use crate::codegen::ir::immediates::{Ieee32, Ieee64, Imm64};
    pub use crate::codegen::ir::{
        AbiParam, Block, ExtFuncData, ExternalName, Function, GlobalValueData, InstBuilder, JumpTableData,
        MemFlagsData, Signature, StackSlotData, StackSlotKind, TrapCode, Type, UserFuncName, Value, types,
    };
    pub use crate::codegen::isa::{self, CallConv};
    pub use crate::codegen::settings::{self, Configurable};
    pub use crate::frontend::{FunctionBuilder, FunctionBuilderContext, Variable};
    pub use crate::module::{
        DataDescription, DataId, FuncId, Linkage, Module, ModuleError, ModuleResult, default_libcall_names,
    };
    pub use crate::{JITBuilder, JITModule, ObjectBuilder, ObjectModule};
}
