//! Lowering: turns the function's instructions into machine instructions over virtual registers.
//!
//! Before: `v2 = iadd v0, v1`, `v3 = load.i64 v2+8`. After: `mov64_rm [v0 + v1 + 8]`, if nothing else needs `v2`.
//!
//! The walk is independent of the machine. It visits the machine blocks backwards, last instruction first, and has
//! the instruction set lower each instruction that has an effect or whose result has a use. [`LowerCtx::use_reg`]
//! returns the virtual register of a value and makes its definition needed. Because users come before definitions, an
//! instruction set can fold a value's definition into the user instead (a constant, an address, a single-use load, a
//! comparison), and a value without uses is never lowered.
//!
//! The machine instructions of one instruction are a sequence. Sequences are appended to the [`Code`] and its problem
//! with their last instruction first, and the code is reversed at the end. Values narrower than their register have
//! undefined upper bits. Cost: linear in instructions and edges. The contexts are reused and do not allocate per
//! instruction once they have grown.
//!
//! | file | holds |
//! |---|---|
//! | `mod.rs` | traits and memory of lowering |
//! | `walk.rs` | the walk |
//! | `values.rs` | values, their definitions and registers |
//! | `emission.rs` | emission of machine instructions |
//! | `operands.rs` | shorthands of instruction sets |
//! | `finish.rs` | reversal of the code and its problem |
//! | `streaming.rs` | delivery of instructions as they are selected, instead of keeping them |
//! | `value_labels.rs` | requests for places of values, for debuggers |
//! | `variables.rs` | requests for places of the source's variables |
//!
//! Each instruction set has a table of opcodes and categories, in the form of `table.rs`. The walk calls the function
//! in the table, which belongs to the instruction set or to this library of functions over a [`LowerBackend`]:
//!
//! | file | holds |
//! |---|---|
//! | `machine.rs`, `rows.rs` | interface of an instruction set |
//! | `entry.rs`, `call.rs`, `tail_call.rs` | parameters, returns, calls |
//! | `try_call.rs` | calls with handlers |
//! | `annotations.rs` | stack maps and debug tags |
//! | `condition.rs` | conditions and booleans |
//! | `types.rs` | predicates on types |
//! | `access.rs` | rows and byte order of accesses |
//! | `wide.rs`, `wide_atomic.rs`, `vector.rs` | integers of 128 bits, vectors |
//! | `tile.rs` | local patterns, and counts of their use |
//! | all further files | opcodes, by family |

use crate::abi::AbiSignature;
use crate::abi_cache::AbiCache;
use crate::block_order::{BlockOrder, MachineBlock};
use crate::code::Code;
use crate::edge_widths::EdgeWidths;
pub use crate::error::LowerError;
use crate::inst::{IndexExtend, MInst};
use crate::isa::Isa;
use crate::limits::Guard;
use crate::live::Needed;
use crate::loop_rotation::LoopRotation;
use crate::row::Row;
use crate::settings::Settings;
use crate::tiles::TileCounts;
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, SecondaryMap};
use kingpost_ir::analyses::Analyses;
use kingpost_ir::release::release;
use kingpost_ir::{Block as IrBlock, Function, Inst, SigRef, Value};
use kingpost_meter::heap_bytes;
use kingpost_regalloc::{Block, ClobberId, InstFlags, Operand, VReg};
use std::sync::Arc;

mod access;
mod annotations;
pub mod branch;
pub mod call;
mod condition;
pub mod constant;
mod emission;
pub mod endian;
pub mod entry;
mod finish;
mod machine;
pub mod memory;
mod operands;
mod rows;
pub mod stack_switch;
pub mod streaming;
pub mod symbol;
mod table;
pub mod tail_call;
mod tile;
pub mod tls;
pub mod try_call;
mod types;
mod value_labels;
mod values;
mod variables;
pub mod vector;
mod walk;
pub mod wide;
pub mod wide_atomic;
pub mod width;

pub use access::is_little;
pub use call::libcall;
pub use condition::{Cond, TruthTest, branch_on, invert, is_greater, select_on, trap_on};
pub use endian::{in_memory_order, is_arithmetic, load_word, to_memory_order};
pub use machine::{LowerBackend, use_widened};
pub use memory::{load_into, slot_place};
pub use operands::by_row;
pub use rows::{CallRows, CommonRows, CondRows, PairRows, WideRows};
pub use symbol::near_symbol;
pub use table::{TYPE_CATEGORIES, TypeCategory, columns, misplaced_none, none, refuse};
pub use tile::Tile;
pub use types::{float_bits, float_pattern, is_float, is_float_reg, is_word, precision, working_bits};
pub use values::ValueRegs;

/// Result of lowering an instruction.
pub type LowerResult = Result<(), LowerError>;

/// Receiver of instructions, unless they are kept.
type Receiver<'a> = Option<&'a mut dyn InstReceiver>;

/// Address over virtual registers. Displacements and offsets are in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Address {
    /// `base + disp`.
    Base {
        /// Base register.
        base: VReg,
        /// Displacement in bytes.
        disp: i32,
    },
    /// `base + (extend(index) << shift) + disp`.
    Index {
        /// Base register.
        base: VReg,
        /// Index register.
        index: VReg,
        /// Left shift of the index.
        shift: u8,
        /// Extension of the index before it is scaled.
        extend: IndexExtend,
        /// Displacement in bytes.
        disp: i32,
    },
    /// A symbol, by its number from [`LowerCtx::symbol`].
    Symbol(u32),
    /// An offset in the area of the user's stack slots.
    Slot(u32),
    /// `offset + (index << shift)` in the area of the user's stack slots.
    SlotIndex {
        /// Offset in the area in bytes.
        offset: u32,
        /// Index register, as wide as an address.
        index: VReg,
        /// Left shift of the index.
        shift: u8,
    },
    /// Offset in bytes from the first stack argument of this function. Negative in the memory that its prologue
    /// reserves for tail calls.
    Incoming(i32),
    /// An offset in the stack arguments of a call made by this function.
    Outgoing(u32),
    /// A jump table, by its number.
    Table(u32),
}

/// Machine instruction of a sequence that is delivered to a receiver.
#[derive(Clone, Copy, Debug)]
pub struct SelectedInst {
    /// Instruction without its operands.
    pub inst: MInst,
    /// Row of the instruction.
    pub row: &'static Row,
    /// Range of its operands among the operands of the sequence.
    pub operands: (u32, u32),
    /// Registers that it clobbers.
    pub clobbers: ClobberId,
    /// Further facts for allocators.
    pub flags: InstFlags,
    /// Whether it has operands after the operands of its row and its address, or clobbers a register.
    pub has_more: bool,
}

/// Virtual registers of a value's parts, low part first.
type Parts = [PackedOption<VReg>; 2];

/// Instruction set that lowers functions by selecting its instructions.
pub trait LowerIsa: Isa {
    /// Lowers an instruction that has an effect or a result with a use, by the function that the instruction set's
    /// table has for its opcode and category. The successors of a terminator are [`LowerCtx::targets`].
    ///
    /// # Errors
    /// If this target does not support the opcode, a type or a setting.
    fn lower(&self, cx: &mut LowerCtx<'_>, inst: Inst) -> LowerResult;

    /// Lowers the function's entry: defines the parameters from the places of the convention.
    ///
    /// # Errors
    /// If this target does not support a parameter.
    fn lower_entry(&self, cx: &mut LowerCtx<'_>) -> LowerResult;

    /// Lowers the block of the edge to destination number `edge` of `branch`: the work that a call with handlers
    /// leaves to its edges, then a jump to `target`.
    ///
    /// # Errors
    /// If this target does not support a result.
    fn lower_edge(&self, cx: &mut LowerCtx<'_>, branch: Inst, edge: usize, target: Block) -> LowerResult;
}

/// Receiver of machine code as it is selected.
pub trait InstReceiver {
    /// Begins `block` at its end. The receiver may take `edges` and leave another value there, whose memory is reused.
    fn end(&mut self, lower: &mut LowerCtx<'_>, block: Block, edges: &mut Box<Edges>);

    /// Receives [`LowerCtx::sequence`]: the machine instructions of one instruction of the function. There is at least
    /// one.
    fn receive(&mut self, lower: &mut LowerCtx<'_>);

    /// Ends `block` at its head.
    fn head(&mut self, lower: &mut LowerCtx<'_>, block: Block);

    /// Ends the walk. The receiver may complete the instructions and the problem of [`LowerCtx::code`], which labels of
    /// values need.
    fn finish(&mut self, lower: &mut LowerCtx<'_>);
}

/// Edges out of a block.
#[derive(Default, Debug)]
pub struct Edges {
    /// Successors of the block.
    pub succs: Vec<Block>,
    /// Arguments passed to the only successor, with their parameters.
    pub pairs: Vec<(VReg, VReg)>,
}

heap_bytes!(Edges { succs, pairs });

/// Memory of lowering into a receiver.
#[derive(Default, Debug)]
struct StreamState {
    edges: Option<Box<Edges>>,
    /// For each register, the value that it is a part of. Entries after the registers of this function are left over
    /// from earlier ones.
    origins: Vec<PackedOption<Value>>,
    /// Number of instructions delivered so far.
    count: usize,
}

heap_bytes!(StreamState { edges, origins } without { count });

impl StreamState {
    fn clear(&mut self) {
        self.count = 0;
    }
}

/// Results with uses that the current call defines on its edges. Empty between calls.
#[derive(Default, Debug)]
struct EdgeResults {
    /// Registers by number of the result.
    results: Vec<Parts>,
    /// Registers by number of the handler's edge.
    payloads: Vec<[PackedOption<VReg>; 2]>,
}

heap_bytes!(EdgeResults { results, payloads });

impl EdgeResults {
    fn clear(&mut self) {
        self.results.clear();
        self.payloads.clear();
    }
}

/// Memory of lowering, for one instruction set under one set of settings. Cleared and reused from function to
/// function.
#[derive(Default, Debug)]
pub struct LowerState {
    guard: Guard,
    order: BlockOrder,
    rotation: LoopRotation,
    needed: Needed,
    /// Registers by value.
    value_regs: Vec<Parts>,
    edge_results: EdgeResults,
    /// The sequence being lowered, in order, if it is delivered to a receiver.
    records: Vec<SelectedInst>,
    /// Operands of the instructions in `records`, or of the one being emitted.
    operands: Vec<Operand>,
    /// Number of instructions before the sequence being lowered.
    sequence_start: usize,
    /// For each machine block, the number of instructions after it.
    insts_after_block: Vec<u32>,
    /// Moves, and instructions that may read, modify and write. Their constraints are decided when all widths are
    /// known. Counted from the end of the code.
    depend_on_widths: Vec<u32>,
    edge_args: Vec<VReg>,
    edge_widths: EdgeWidths,
    /// Whether a lowered instruction has a source location.
    has_srclocs: bool,
    slot_offsets: SecondaryMap<kingpost_ir::StackSlot, u64>,
    abi_cache: AbiCache,
    /// Places of the signatures of calls lowered so far.
    call_abis: SecondaryMap<SigRef, Option<Arc<AbiSignature>>>,
    /// Hidden pointer to the caller's return area, if a return uses it.
    return_area: PackedOption<VReg>,
    /// Whether a tail call overwrites stack arguments that this function received.
    writes_incoming: bool,
    /// Start of the area in which calls return results, after the user's slots.
    call_area: u64,
    /// Number of times that each tile has fired, over all functions.
    tile_counts: TileCounts,
    stream: StreamState,
}

heap_bytes!(LowerState { order, rotation, needed, value_regs, edge_results, records, operands, insts_after_block, depend_on_widths, edge_args, edge_widths, slot_offsets, stream } without { guard, sequence_start, has_srclocs, abi_cache, call_abis, return_area, writes_incoming, call_area, tile_counts });

/// State of lowering one function.
pub struct LowerCtx<'a> {
    /// Function that is lowered, with its aliases resolved.
    pub func: &'a Function,
    analyses: &'a Analyses,
    /// Shared settings.
    pub settings: &'a Settings,
    /// Code that is being built.
    pub code: &'a mut Code,
    /// Places of this function's arguments and results.
    pub abi: Arc<AbiSignature>,
    isa: &'a dyn LowerIsa,
    rows: &'static [Row],
    zeros_from: &'static [u8],
    cx: &'a mut LowerState,
    /// Whether instructions are delivered to a receiver and not kept.
    is_streaming: bool,
    srcloc: u32,
    block: IrBlock,
    /// Instruction being lowered, or the branch whose edges are.
    inst: Inst,
}

impl LowerState {
    /// Returns memory of lowering that obeys limits.
    pub fn with_guard(guard: Guard) -> LowerState {
        LowerState { guard, ..LowerState::default() }
    }

    /// Frees the memory of the function lowered last. Its facts are not available afterwards.
    pub fn release(&mut self) {
        self.order.release();
        release(&mut self.value_regs);
        release(&mut self.records);
        release(&mut self.insts_after_block);
        release(&mut self.depend_on_widths);
        let LowerState { guard, abi_cache, tile_counts, .. } = std::mem::take(self);
        *self = LowerState { guard, abi_cache, tile_counts, ..LowerState::default() };
    }

    /// Returns the origins of the blocks of the code made last.
    pub fn machine_blocks(&self) -> &[MachineBlock] {
        self.order.blocks()
    }

    /// Returns the offset of a stack slot of the code made last in the area of stack slots, in bytes.
    pub fn slot_offset(&self, slot: kingpost_ir::StackSlot) -> u64 {
        self.slot_offsets[slot]
    }

    /// Returns the registers of a value in the code made last, low part first. There are none if no instruction
    /// needed it in a register.
    pub fn registers(&self, value: Value) -> impl Iterator<Item = VReg> {
        self.value_regs.get(value.index()).into_iter().flatten().filter_map(|vreg| vreg.expand())
    }
}
