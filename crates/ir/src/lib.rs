//! SSA intermediate representation: functions, types, the opcode table, printer, verifier and
//! analyses.
//!
//! [`function::Function`] owns everything; [`opcodes`] is the table from which all facts about
//! opcodes derive; [`InstView`] is how instructions are matched.

pub mod atomic_rmw_op;
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
pub mod signature;
#[cfg(test)]
mod testing;
pub mod trapcode;
pub mod type_class;
pub mod types;
mod value_data;
pub mod verifier;

pub use dfg::DataFlowGraph;
pub use entities::{
    AliasRegion, AnyEntity, Block, Constant, DynamicStackSlot, DynamicType, ExceptionTable, FuncRef, GlobalValue, Inst,
    JumpTable, ShuffleMask, SigRef, StackSlot, UserNameRef, Value,
};
pub use function::Function;
pub use inst_view::InstView;
pub use instruction::{BlockArg, BlockArgKind, BlockCall, InstData};
pub use memflags::MemFlags;
pub use opcodes::{Format, Opcode};
pub use trapcode::TrapCode;
pub use types::Type;
pub use value_data::{MAX_VALUES_PER_OWNER, ValueDef};
