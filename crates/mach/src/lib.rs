//! Machine code vocabulary shared by all instruction sets, and the parts of the compiler that are independent of the
//! machine.
//!
//! | file | holds |
//! |---|---|
//! | `row.rs` | one table row per machine instruction form |
//! | `operands.rs` | operands of rows by letter and width |
//! | `args.rs` | arguments of an instruction besides its row |
//! | `row_table.rs` | notation of an instruction set's rows |
//! | `inst.rs` | one machine instruction in 16 bytes |
//! | `mem.rs` | the memory operand of an instruction whose registers are known |
//! | `regs.rs` | the registers of one instruction |
//! | `code.rs` | a function in machine instructions over virtual registers |
//! | `settings.rs` | settings that all targets share |
//! | `cpu_flags.rs` | CPU features by name |
//! | `isa.rs` | facts of an instruction set |
//! | `tiles.rs` | list of an instruction set's local patterns |
//! | `abi.rs` | places of arguments and results |
//! | `abi_cache.rs` | cache of places by signature |
//! | `block_order.rs` | machine blocks and their order |
//! | `loop_rotation.rs` | order in which blocks are emitted |
//! | `limits.rs` | resource limits of a function |
//! | `live.rs` | liveness of instructions and values |
//! | `lower/` | the walk that turns instructions into machine instructions |
//! | `edge_widths.rs` | equal widths for parameters and their arguments |
//! | `verify.rs` | invariants of machine code |
//! | `frame.rs` | the shape of a frame |
//! | `emit.rs` | emission of allocated code |
//! | `emit_isa.rs` | interface of an instruction set for emission |
//! | `emit_blocks.rs` | the walk over the blocks, one instance per instruction set |
//! | `allocated_code.rs` | code whose operands have their places, last instruction first |
//! | `read_allocation.rs` | the allocation that such code represents |
//! | `value_sites.rs` | places of labeled values, by bytes |
//! | `branching.rs` | branches between blocks, and to traps |
//! | `buffer/` | bytes, branches, constants, fixups of one function |
//! | `compiled.rs` | compiled functions in a module buffer |
//! | `stored.rs`, `stored_tables.rs` | compiled functions as bytes |
//! | `data.rs` | data objects |
//! | `listing.rs` | text and bytes of the emitted code |
//! | `text/` | text form of machine code |
//!
//! ```
//! use kingpost_mach::settings::OptLevel;
//! use kingpost_mach::{Literal, Settings, SymbolName};
//!
//! let mut settings = Settings::default();
//! settings.set("opt_level", "speed").unwrap();
//! assert_eq!(settings.opt_level, OptLevel::Speed);
//! assert!(settings.set("opt_lever", "speed").is_err());
//!
//! let one = Literal::new(&1.0f32.to_le_bytes()).unwrap();
//! assert_eq!(SymbolName::Literal(one).to_string(), ".LC3f800000");
//! ```

pub mod abi;
mod abi_cache;
pub mod allocated_code;
mod args;
pub mod block_order;
mod branching;
pub mod buffer;
pub mod code;
pub mod compiled;
pub mod cpu_flags;
pub mod data;
mod edge_widths;
pub mod emit;
pub mod emit_blocks;
pub mod emit_isa;
mod error;
pub mod frame;
pub mod inst;
pub mod isa;
mod limits;
mod listing;
pub mod literal;
mod live;
mod loop_rotation;
pub mod lower;
pub mod mem;
pub mod operands;
mod read_allocation;
mod regs;
pub mod row;
pub mod row_table;
pub mod settings;
mod stored;
mod stored_tables;
pub mod text;
mod thread_jumps;
pub mod tiles;
mod value_sites;
pub mod verify;

pub use allocated_code::{AllocatedCode, AllocatedInst, BlockRanges, InstOrEdit, Origins, Outcome};
pub use args::{Args, fill_template};
pub use branching::Branching;
pub use buffer::{BranchForms, Buffer, JumpTable, JumpTables, Label, LastTwoWords, NoBranches, Reach, Target};
pub use code::{Annotation, CallExits, Code, Handler, LimitStep, StackLimit, SymbolRef};
pub use compiled::{
    BlockEdge, BlockHead, CallSite, CompiledFunction, ContextPlace, ControlFlowGuards, DebugTag, DebugTagSite,
    FrameInfo, FunctionHead, FunctionView, HandlerSite, KeyedSlot, ModuleBuffer, PatchableCall, Reloc, RelocKind,
    SrcLocSite, StackMapEntry, SymbolName, TrapSite, UnwindOp, UnwindSite, ValueConstant, ValueSite,
};
pub use cpu_flags::{CpuFeatures, FlagError};
pub use data::{DataFault, DataObject, DataPointer, Placement};
pub use emit::Emitter;
pub use emit_blocks::MAX_FLAG_ROWS;
pub use emit_isa::{Blocks, Body, EmitContext, EmitIsa, EmitOptions, MachineEdit, ShortRows};
pub use error::{LowerError, Refusal};
pub use frame::{FrameLayout, FrameNeeds, SlotBase};
pub use inst::{AddrKind, AddrMode, IndexExtend, MInst, NO_BLOCK};
pub use isa::{HalfPrecision, Isa};
pub use limits::{Guard, Limits, check_limit};
pub use listing::{ListedInst, ListedLabel, Listing, Mention, Origin};
pub use literal::Literal;
pub use lower::{Address, LowerBackend, LowerCtx, LowerIsa, LowerState};
pub use mem::{Mem, MemBase};
pub use read_allocation::AllocationMismatch;
pub use regs::Regs;
pub use row::{
    Effect, Family, FlagsEffect, ListIndex, OperandSpec, PlainOperands, Row, RowConstraint, RowId, RowKind, Twin,
};
pub use row_table::Line;
pub use settings::{SettingError, Settings};
