//! SSA intermediate representation: functions, types, the opcode table, printer, verifier and control-flow analysis.
//!
//! [`function::Function`] owns everything. [`opcodes`] is the table from which all facts about opcodes derive.
//! [`InstView`] is the form of an instruction for pattern matching.
//!
//! ```
//! use kingpost_ir::builder::{ControlBuilder, InstBuilder};
//! use kingpost_ir::extfunc::FuncName;
//! use kingpost_ir::frontend::{FrontendContext, FunctionBuilder};
//! use kingpost_ir::signature::{AbiParam, CallConv, Signature};
//! use kingpost_ir::{Function, types::I32, verifier::verify};
//!
//! let mut signature = Signature::new(CallConv::SystemV);
//! signature.params.push(AbiParam::new(I32));
//! signature.returns.push(AbiParam::new(I32));
//! let mut func = Function::new(FuncName::Named("twice".into()), signature);
//! let mut scratch = FrontendContext::default();
//! let mut builder = FunctionBuilder::new(&mut func, &mut scratch);
//! let block = builder.create_block();
//! builder.append_function_params(block);
//! builder.switch_to_block(block);
//! let x = builder.block_params(block)[0];
//! let sum = builder.ins().iadd(x, x);
//! builder.ins().return_(&[sum]);
//! builder.seal_all_blocks();
//! builder.finalize()?;
//! assert_eq!(verify(&func, None), Ok(()));
//! assert!(func.to_string().contains("v1 = iadd v0, v0"));
//! # Ok::<(), kingpost_ir::frontend::BuildError>(())
//! ```

pub mod analyses;
pub mod atomic_rmw_op;
pub mod branch_weights;
pub mod builder;
pub mod cfg;
pub mod condcodes;
pub mod constants;
pub mod cursor;
pub mod dfg;
pub mod docs;
pub mod dominators;
pub mod entities;
pub mod exception_table;
pub mod extfunc;
pub mod frequencies;
pub mod frontend;
pub mod function;
pub mod immediates;
mod inst_view;
pub mod instruction;
pub mod layout;
pub mod libcall;
pub mod loops;
pub mod memflags;
pub mod names;
pub mod near;
mod opcode_lookup;
mod opcode_properties;
pub mod opcodes;
pub mod pool;
pub mod preamble;
mod print;
pub mod release;
pub mod replace;
pub mod signature;
mod table;
#[cfg(test)]
mod testing;
pub mod trapcode;
pub mod type_class;
pub mod types;
mod value_data;
pub mod verifier;

// Types of these crates are in public signatures.
pub use cranelift_entity;
pub use smallvec;

pub use dfg::DataFlowGraph;
pub use entities::{
    AliasRegion, AnyEntity, Block, Constant, DynamicStackSlot, DynamicType, ExceptionTable, FuncRef, GlobalValue, Inst,
    JumpTable, ShuffleMask, SigRef, StackSlot, UserNameRef, Value, ValueLabel,
};
pub use function::Function;
pub use inst_view::InstView;
pub use instruction::{BlockArg, BlockArgKind, BlockCall, InstData};
pub use memflags::MemFlags;
pub use opcodes::{Format, Opcode};
pub use trapcode::TrapCode;
pub use types::Type;
pub use value_data::{MAX_VALUES_PER_OWNER, ValueDef};
