//! Kingpost with Cranelift's API: clients keep Cranelift's intermediate representation, builder and settings, and get
//! code of our compiler.
//!
//! [`ObjectModule`] and [`JITModule`] have the methods of Cranelift's types with these names and implement its trait
//! [`Module`](cranelift_module::Module). [`Compiler`] is for clients without modules. Packages in `drop-in/` replace
//! Cranelift's own packages in an unchanged client.
//!
//! | file | holds |
//! |---|---|
//! | `translate/` | a function of Cranelift as one of ours |
//! | `settings.rs` | Cranelift's settings and CPU flags as ours |
//! | `compiler.rs` | compilation of a function of Cranelift by our compiler |
//! | `pool.rs` | parts of compilers, kept for later compilers |
//! | `compiled_code.rs` | compiled code in Cranelift's form |
//! | `library.rs` | library routines that Cranelift does not have |
//! | `literals.rs` | constants after the code that loads them |
//! | `unwind.rs` | `.eh_frame`; `unsafe` |
//! | `object.rs` | a module that becomes an object file |
//! | `elf.rs` | relocations in ELF files |
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

mod compiled_code;
mod compiler;
mod elf;
mod jit;
mod library;
mod literals;
mod memory;
mod object;
mod pool;
mod relocate;
mod settings;
mod translate;
mod unwind;

pub use compiler::Compiler;
pub use cranelift_codegen as codegen;
pub use cranelift_frontend as frontend;
pub use cranelift_module as module;
pub use jit::{JITBuilder, JITModule};
pub use memory::{ArenaMemoryProvider, BranchProtection, JITMemoryKind, JITMemoryProvider, SystemMemoryProvider};
pub use object::{ObjectBuilder, ObjectModule, ObjectProduct};
pub use translate::translate;

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
