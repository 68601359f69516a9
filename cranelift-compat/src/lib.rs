//! Kingpost behind Cranelift's API: clients keep Cranelift's intermediate representation, builder and settings, and get code of
//! our compiler.
//!
//! [`ObjectModule`] and [`JITModule`] have the methods of Cranelift's types of these names and implement its trait
//! [`Module`](cranelift_module::Module). [`Compiler`] is for clients without modules. Packages in `drop-in/` replace
//! Cranelift's own in a client that is left as it is.
//!
//! | file | holds |
//! |---|---|
//! | `translate/` | a function of Cranelift as one of ours |
//! | `settings.rs` | Cranelift's settings and CPU flags as ours |
//! | `compiler.rs` | a function of Cranelift through our compiler |
//! | `pool.rs` | parts of compilers that serve the next ones |
//! | `compiled_code.rs` | what was compiled, in Cranelift's form |
//! | `library.rs` | library routines that Cranelift does not have |
//! | `literals.rs` | constants behind the code that loads them |
//! | `unwind.rs` | `.eh_frame`; `unsafe` |
//! | `object.rs` | a module that becomes an object file |
//! | `elf.rs` | relocations in ELF files |
//! | `jit.rs` | a module in memory |
//! | `relocate.rs` | relocations in memory |
//! | `memory.rs` | memory of modules; `unsafe` |
//!
//! No other file has `unsafe`. Every public function that reaches the system is `unsafe` and says what its caller promises, or
//! breaks no rule of Rust whatever its arguments are. There is one exception: the trait [`JITMemoryProvider`] is safe to implement, as
//! Cranelift's is, and a module writes where a client's provider says. Its implementor answers for that.
//!
//! | public function of a file with `unsafe` | why it is sound |
//! |---|---|
//! | `JITModule::free_memory`, `JITMemoryProvider::free_memory` | `unsafe` |
//! | `SystemMemoryProvider::new`, `ArenaMemoryProvider::new_with_size` | reserve addresses where the system chooses |

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

/// What clients of Cranelift's umbrella crate import, and the modules.
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
