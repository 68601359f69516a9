//! A compiler back end: compiles functions in SSA form to machine code for x86-64 and AArch64, in memory or in an
//! object file.
//!
//! ```
//! use kingpost::prelude::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut module = JitModule::new(Compiler::host(Settings::default())?);
//! let mut signature = module.signature();
//! signature.params.push(AbiParam::new(I64));
//! signature.returns.push(AbiParam::new(I64));
//! let id = module.declare_function("triple", Linkage::Export, &signature)?;
//!
//! let (mut func, mut scratch) = (Function::new(FuncName::default(), signature), FrontendContext::default());
//! let mut builder = FunctionBuilder::new(&mut func, &mut scratch);
//! let entry = builder.create_block();
//! builder.append_function_params(entry);
//! builder.switch_to_block(entry);
//! let x = builder.block_params(entry)[0];
//! let result = builder.ins().imul_imm(x, 3);
//! builder.ins().return_(&[result]);
//! builder.seal_all_blocks();
//! builder.finalize()?;
//!
//! module.define_function(id, &mut func)?;
//! module.finalize_definitions()?;
//! // SAFETY: the function was built with this type, and only multiplies.
//! let triple = unsafe { module.get::<extern "C" fn(i64) -> i64>(id) }?;
//! println!("{}", triple(14));
//! # assert_eq!(triple(14), 42);
//! # Ok(())
//! # }
//! ```
//!
//! The [`prelude`] has the names that most front ends need. All crates of the compiler are here under shorter names:
//!
//! | module | contents |
//! |---|---|
//! | [`ir`] | functions, types, opcodes, builder, printer, verifier |
//! | [`reader`] | parser of CLIF text |
//! | [`interpreter`] | the meaning of every opcode |
//! | [`codegen`] | the compiler, its options, and modules of functions and data |
//! | [`jit`] | modules in memory |
//! | [`object`] | modules that become object files |
//! | [`compiled`] | compiled functions and data objects: their bytes and tables |
//! | [`settings`] | settings that all targets share |
//! | [`regalloc`] | the contract of register allocators |
//! | [`checker`] | proofs of allocations |
//!
//! `examples/` has a function in memory, an object file, two small languages, and an external register allocator. The
//! book in the project's folder `docs` explains them, and its chapter `stability.md` lists the names that stay as they
//! are between releases.

#[doc(inline)]
pub use kingpost_checker as checker;
#[doc(inline)]
pub use kingpost_codegen as codegen;
#[doc(inline)]
pub use kingpost_codegen::{compiled, settings};
#[cfg(feature = "object")]
#[doc(inline)]
pub use kingpost_emit_object as object;
#[cfg(feature = "interpreter")]
#[doc(inline)]
pub use kingpost_interpreter as interpreter;
#[doc(inline)]
pub use kingpost_ir as ir;
#[cfg(feature = "jit")]
#[doc(inline)]
pub use kingpost_jit as jit;
#[cfg(feature = "reader")]
#[doc(inline)]
pub use kingpost_reader as reader;
#[doc(inline)]
pub use kingpost_regalloc as regalloc;
// Types of these crates are in public signatures.
pub use kingpost_ir::{cranelift_entity, smallvec};
pub use target_lexicon::{self, Triple};

/// Names that most front ends need.
pub mod prelude {
    pub use crate::Triple;
    pub use crate::codegen::module::{DataDescription, DataId, DataKind, FuncId, Linkage, Module, ModuleError};
    pub use crate::codegen::{Compiler, OptLevel, Settings};
    pub use crate::ir::builder::{ControlBuilder, ImmediateBuilder, InstBuilder, SlotBuilder};
    pub use crate::ir::condcodes::{FloatCC, IntCC};
    pub use crate::ir::extfunc::{ExtFuncData, ExternalName, FuncName};
    pub use crate::ir::frontend::{FrontendContext, FunctionBuilder, Overlap, Switch, Variable};
    pub use crate::ir::function::SourceLoc;
    pub use crate::ir::signature::{AbiParam, CallConv, Signature};
    pub use crate::ir::types::{self, F32, F64, I8, I16, I32, I64, I128, Type};
    pub use crate::ir::{Block, FuncRef, Function, GlobalValue, Inst, MemFlags, StackSlot, TrapCode, Value};
    #[cfg(feature = "jit")]
    pub use crate::jit::JitModule;
    #[cfg(feature = "object")]
    pub use crate::object::{ObjectModule, ObjectOptions};
}

/// Programs of the README and the book, as documentation tests.
#[cfg(doctest)]
mod book {
    #[doc = include_str!("../../../README.md")]
    mod readme {}
    #[doc = include_str!("../../../docs/getting-started.md")]
    mod getting_started {}
    #[doc = include_str!("../../../docs/front-end.md")]
    mod front_end {}
    #[doc = include_str!("../../../docs/regalloc/own.md")]
    mod own_allocator {}
    #[doc = include_str!("../../../docs/sandbox.md")]
    mod sandbox {}
    #[doc = include_str!("../../../docs/stability.md")]
    mod stability {}
}
