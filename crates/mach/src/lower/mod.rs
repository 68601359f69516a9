//! Lowering: the function's instructions become machine instructions over virtual registers.
//!
//! Before: `v2 = iadd v0, v1`, `v3 = load.i64 v2+8`. After: `mov64_rm [v0 + v1 + 8]`, if nothing else needs `v2`.
//!
//! The walk is independent of the machine: it goes over the machine blocks backwards, last instruction first, and has
//! the instruction set lower each instruction that has an effect or whose result has a use. [`Lower::use_reg`] returns
//! a value its virtual register and makes its definition needed. Because users come before definitions, an instruction
//! set can take a value's definition into the user instead (a constant, an address, a single-use load, a comparison),
//! and what has no use is never lowered.
//!
//! What one instruction becomes is a piece. Pieces are appended to the [`Code`] and its problem with their last
//! instruction first, and all is turned round at the end. Values narrower than their register have undefined upper
//! bits. Cost: linear in instructions and edges; the contexts are reused, nothing is allocated per instruction once
//! they are warm.
//!
//! | file | holds |
//! |---|---|
//! | `mod.rs` | the traits of lowering, its memory |
//! | `walk.rs` | the walk |
//! | `values.rs` | values, their definitions and registers |
//! | `emission.rs` | what instruction sets emit |
//! | `operands.rs` | shorthands of instruction sets |
//! | `finish.rs` | everything turned round into the code and its problem |
//! | `sink.rs` | instead of that: what takes over instructions as they are selected |
//! | `value_labels.rs` | what debuggers want to know of values |
//!
//! Each instruction set has a table of opcodes and shapes, in the form of `table.rs`; the walk calls that table, and
//! the table calls its own functions or those of the library here, which are written over a [`Machine`]:
//!
//! | file | holds |
//! |---|---|
//! | `machine.rs`, `rows.rs` | what an instruction set provides |
//! | `entry.rs`, `call.rs`, `tail_call.rs` | parameters, returns, calls |
//! | `try_call.rs` | calls with handlers |
//! | `annotations.rs` | stack maps and debug tags |
//! | `condition.rs` | conditions and booleans |
//! | `types.rs` | predicates on types |
//! | `access.rs` | rows and byte order of accesses |
//! | `wide.rs`, `wide_atomic.rs`, `vector.rs` | integers of 128 bits, vectors |
//! | `tile.rs` | local patterns: what they match, how often they fire |
//! | the others | opcodes, by family |

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
pub mod sink;
pub mod stack_switch;
pub mod symbol;
mod table;
pub mod tail_call;
mod tile;
pub mod tls;
pub mod try_call;
mod types;
mod value_labels;
mod values;
pub mod vector;
mod walk;
pub mod wide;
pub mod wide_atomic;
pub mod width;

pub use access::is_little;
pub use call::libcall;
pub use condition::{Cond, TruthTest, branch_on, invert, is_greater, select_on, trap_on};
pub use endian::{in_memory_order, is_arithmetic, load_word, to_memory_order};
pub use machine::{Machine, use_widened};
pub use memory::{load_into, slot_place};
pub use operands::by_row;
pub use rows::{CallRows, CommonRows, CondRows, PairRows, WideRows};
pub use symbol::near_symbol;
pub use table::{SHAPES, Shape, columns, misplaced_none, none, refuse};
pub use tile::Tile;
pub use types::{float_bits, float_pattern, is_float, is_float_reg, is_word, precision, working_bits};
pub use values::ValueRegs;

/// The result of lowering an instruction.
pub type Lowered = Result<(), LowerError>;

/// Receiver of instructions, if they are not to be kept.
type Receiver<'a> = Option<&'a mut dyn Sink>;

/// An address over virtual registers. Displacements and offsets are bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Address {
    /// `base + disp`.
    Base {
        /// Address register.
        base: VReg,
        /// Displacement.
        disp: i32,
    },
    /// `base + (extend(index) << shift) + disp`.
    Index {
        /// Address register.
        base: VReg,
        /// Index register.
        index: VReg,
        /// Left shift of the index.
        shift: u8,
        /// Extension of the index before it is scaled.
        extend: IndexExtend,
        /// Displacement.
        disp: i32,
    },
    /// A symbol, as [`Lower::symbol`] numbers it.
    Symbol(u32),
    /// A place in the area of the user's stack slots.
    Slot(u32),
    /// Bytes from the first stack argument of this function. Negative in the room that its prologue makes for tail
    /// calls.
    Incoming(i32),
    /// A stack argument of a call made here.
    Outgoing(u32),
    /// A jump table, by its number.
    Table(u32),
}

/// A machine instruction of a piece that is handed over.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// The instruction.
    pub inst: MInst,
    /// Its row.
    pub row: &'static Row,
    /// Range of its operands among those of the piece.
    pub operands: (u32, u32),
    /// Registers that it clobbers.
    pub clobbers: ClobberId,
    /// Other facts for allocators.
    pub flags: InstFlags,
    /// Whether it has operands after the operands of its row and its address, or destroys anything.
    pub has_more: bool,
}

/// Virtual registers of a value's parts, low part first.
type Parts = [PackedOption<VReg>; 2];

/// An instruction set that lowers functions: selects its instructions.
pub trait LowerIsa: Isa {
    /// Lowers an instruction that has an effect or a result with a use: calls the function that the instruction set's
    /// table has for its opcode and shape. The successors of a terminator are [`Lower::targets`].
    ///
    /// # Errors
    /// Opcodes, types or settings this target does not support.
    fn lower(&self, cx: &mut Lower<'_>, inst: Inst) -> Lowered;

    /// Lowers the function's entry: parameters from where the convention passes them.
    ///
    /// # Errors
    /// Parameters this target does not support.
    fn lower_entry(&self, cx: &mut Lower<'_>) -> Lowered;

    /// Lowers the block of an edge, the one to destination number `edge` of `branch`: a jump to `target`, and before it
    /// what a call with handlers leaves to be done.
    ///
    /// # Errors
    /// Results this target does not support.
    fn lower_edge(&self, cx: &mut Lower<'_>, branch: Inst, edge: usize, target: Block) -> Lowered;
}

/// What takes over machine code as it is selected.
pub trait Sink {
    /// The walk has come to the end of `block`. The sink may keep `edges` and leave others to be used again.
    fn end(&mut self, lower: &mut Lower<'_>, block: Block, edges: &mut Box<Edges>);

    /// One instruction of the function has become those of [`Lower::piece`], one at least.
    fn piece(&mut self, lower: &mut Lower<'_>);

    /// The walk has come to the head of `block`.
    fn head(&mut self, lower: &mut Lower<'_>, block: Block);

    /// The walk is over. The sink may complete the instructions and the problem of [`Lower::code`], which labels of values need.
    fn finish(&mut self, lower: &mut Lower<'_>);
}

/// The edges out of a block.
#[derive(Default, Debug)]
pub struct Edges {
    /// Where they lead.
    pub succs: Vec<Block>,
    /// The arguments passed to the only successor, with their parameters.
    pub pairs: Vec<(VReg, VReg)>,
}

/// Memory of lowering into a sink.
#[derive(Default, Debug)]
struct Handed {
    edges: Option<Box<Edges>>,
    /// By register: the value that it is a part of, if lowering into a sink. What is behind those of this function is left over from
    /// others.
    origins: Vec<PackedOption<Value>>,
    /// Instructions handed over so far.
    count: usize,
}

impl Handed {
    fn clear(&mut self) {
        self.count = 0;
    }
}

/// Results that the call being lowered defines on its edges, as far as they have uses. Empty between calls.
#[derive(Default, Debug)]
struct EdgeResults {
    /// By number of the result.
    results: Vec<Parts>,
    /// By number of the handler's edge.
    payloads: Vec<[PackedOption<VReg>; 2]>,
}

impl EdgeResults {
    fn clear(&mut self) {
        self.results.clear();
        self.payloads.clear();
    }
}

/// Memory of lowering. Cleared and used again for function after function, of one instruction set under one set of
/// settings.
#[derive(Default, Debug)]
pub struct Lowering {
    guard: Guard,
    order: BlockOrder,
    rotation: LoopRotation,
    needed: Needed,
    /// By value.
    value_regs: Vec<Parts>,
    edge_results: EdgeResults,
    /// The piece being lowered, in order, if it is to be handed over.
    records: Vec<Record>,
    /// Operands of the instructions in `records`, or of the one being emitted.
    operands: Vec<Operand>,
    /// Instructions before the piece being lowered.
    piece_start: usize,
    /// For each machine block, how many instructions come behind it.
    behind_block: Vec<u32>,
    /// Moves, and instructions that may read, modify and write: what they may be treated as is known when all widths
    /// are. Counted from the end of the code.
    depend_on_widths: Vec<u32>,
    edge_args: Vec<VReg>,
    edge_widths: EdgeWidths,
    /// Whether a lowered instruction has a source location.
    has_srclocs: bool,
    slot_offsets: SecondaryMap<kingpost_ir::StackSlot, u64>,
    abi_cache: AbiCache,
    /// Assignments of the signatures that calls have named so far.
    call_abis: SecondaryMap<SigRef, Option<Arc<AbiSignature>>>,
    /// The hidden pointer to the caller's return area, if a return uses it.
    return_area: PackedOption<VReg>,
    /// Whether a tail call writes stack arguments over the ones that this function received.
    writes_incoming: bool,
    /// Start of the area that calls receive results in: behind the user's slots.
    call_area: u64,
    /// Number of times that each tile has fired, over all functions.
    tile_counts: TileCounts,
    handed: Handed,
}

/// One function being lowered.
pub struct Lower<'a> {
    /// The function. Its aliases are resolved.
    pub func: &'a Function,
    analyses: &'a Analyses,
    /// Shared settings.
    pub settings: &'a Settings,
    /// Code being made.
    pub code: &'a mut Code,
    /// Places of this function's arguments and results.
    pub abi: Arc<AbiSignature>,
    isa: &'a dyn LowerIsa,
    rows: &'static [Row],
    zeros_from: &'static [u8],
    cx: &'a mut Lowering,
    /// Whether instructions are handed to a sink rather than kept.
    hands_over: bool,
    srcloc: u32,
    block: IrBlock,
    /// The instruction being lowered, or the branch whose edges are.
    inst: Inst,
}

impl Lowering {
    /// Memory of lowering that keeps to limits and can be canceled.
    pub fn with_guard(guard: Guard) -> Lowering {
        Lowering { guard, ..Lowering::default() }
    }

    /// Frees the memory of the function lowered last. Nothing is known of it then.
    pub fn release(&mut self) {
        self.order.release();
        release(&mut self.value_regs);
        release(&mut self.records);
        release(&mut self.behind_block);
        release(&mut self.depend_on_widths);
        let Lowering { guard, abi_cache, tile_counts, .. } = std::mem::take(self);
        *self = Lowering { guard, abi_cache, tile_counts, ..Lowering::default() };
    }

    /// Returns the origins of the blocks of the code made last.
    pub fn machine_blocks(&self) -> &[MachineBlock] {
        self.order.blocks()
    }

    /// Returns the registers of a value in the code made last, low part first; none if no instruction needed it in a
    /// register.
    pub fn registers(&self, value: Value) -> impl Iterator<Item = VReg> {
        self.value_regs.get(value.index()).into_iter().flatten().filter_map(|vreg| vreg.expand())
    }
}
