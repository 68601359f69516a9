//! Lowering: the function's instructions become machine instructions over virtual registers.
//!
//! Before: `v2 = iadd v0, v1`, `v3 = load.i64 v2+8`. After: `mov64_rm [v0 + v1 + 8]`, if nothing else needs `v2`.
//!
//! This file is independent of the machine: it walks the machine blocks backwards, last instruction first, and has
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
//! | `mod.rs` | the walk |
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
//! | `machine.rs` | what an instruction set provides |
//! | `entry.rs`, `call.rs`, `tail_call.rs` | parameters, returns, calls |
//! | `try_call.rs` | calls with handlers |
//! | `annotations.rs` | stack maps and debug tags |
//! | `condition.rs` | conditions and booleans |
//! | `types.rs` | predicates on types |
//! | `wide.rs`, `wide_atomic.rs`, `vector.rs` | integers of 128 bits, vectors |
//! | `tile.rs` | local patterns: what they match, how often they fire |
//! | the others | opcodes, by family |

use crate::abi::AbiSignature;
use crate::abi_cache::AbiCache;
use crate::block_order::{BlockOrder, MachineBlock};
use crate::code::Code;
use crate::compiled::KeyedSlot;
use crate::edge_widths::EdgeWidths;
pub use crate::error::LowerError;
use crate::error::Refusal;
use crate::inst::{IndexExtend, MInst};
use crate::isa::Isa;
use crate::limits::{Guard, check_limit};
use crate::live::Needed;
use crate::loop_rotation::LoopRotation;
use crate::row::Row;
use crate::settings::Settings;
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{EntityRef, SecondaryMap};
use kingpost_ir::analyses::Analyses;
use kingpost_ir::release::release;
use kingpost_ir::{Block as IrBlock, BlockArgKind, Function, Inst, SigRef, Value};
use kingpost_regalloc::{Block, ClobberId, InstFlags, Operand, VReg};
use std::sync::Arc;

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
pub mod wide;
pub mod wide_atomic;
pub mod width;

pub use call::libcall;
pub use condition::{Cond, CondRows, TruthTest, branch_on, invert, is_greater, select_on, trap_on};
pub use endian::{in_memory_order, is_arithmetic, load_word, to_memory_order};
pub use machine::{CallRows, CommonRows, Machine};
pub use memory::{is_little, load_into, slot_place};
pub use operands::by_row;
pub use sink::{Edges, Sink};
pub use symbol::near_symbol;
pub use table::{SHAPES, Shape, columns, misplaced_none, none, refuse};
pub use tile::{MAX_TILES, Tile, TileCounts, TileId, TileInfo, tile_number};
pub use types::{float_bits, float_pattern, is_float, is_float_reg, is_word, precision, working_bits};
pub use values::ValueRegs;
pub use width::use_widened;

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
    edge_results: try_call::EdgeResults,
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
    handed: sink::Handed,
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
    isa: &'a dyn Isa,
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

    /// Lowers `func`, whose aliases are resolved and which is valid, into `code`. The analyses are those of `func` or
    /// stale.
    ///
    /// # Errors
    /// What the target does not support, a limit, or a request to stop.
    pub fn run(
        &mut self,
        func: &Function,
        analyses: &mut Analyses,
        isa: &dyn Isa,
        settings: &Settings,
        code: &mut Code,
    ) -> Result<(), Refusal> {
        let mut lower = self.start(func, analyses, isa, settings, code)?;
        lower.lower_blocks(&mut None)?;
        lower.finish();
        lower.label_values();
        self.needed.release();
        Ok(())
    }

    /// Everything that comes before the walk.
    #[inline(always)]
    fn start<'a>(
        &'a mut self,
        func: &'a Function,
        analyses: &'a mut Analyses,
        isa: &'a dyn Isa,
        settings: &'a Settings,
        code: &'a mut Code,
    ) -> Result<Lower<'a>, Refusal> {
        let first = func.layout.entry_block().and_then(|entry| Some((entry, func.layout.last_inst(entry)?)));
        let Some((block, inst)) = first else {
            return Err(LowerError::Feature { what: "a function without blocks", target: isa.name() }.into());
        };
        if func.signature.variadic.is_some() {
            return Err(
                LowerError::Feature { what: "the definition of a variadic function", target: isa.name() }.into()
            );
        }
        self.clear();
        code.clear();
        analyses.update_loops(func);
        self.order.compute(func, analyses);
        self.needed.compute(func, &analyses.cfg, &self.order);
        self.behind_block.resize(self.order.blocks().len(), 0);
        self.value_regs.resize(func.dfg.num_values(), [None.into(); 2]);
        let abi = self.abi_cache.assign(isa, &func.signature)?;
        let env = isa.env();
        code.also_preserved = abi.callee_saved.intersection(isa.registers()).difference(env.callee_saved());
        let (rows, zeros_from) = (isa.rows(), isa.zeros_from());
        let mut lower = Lower {
            func,
            analyses,
            settings,
            code,
            abi,
            isa,
            rows,
            zeros_from,
            cx: self,
            hands_over: false,
            srcloc: u32::MAX,
            block,
            inst,
        };
        lower.place_slots()?;
        Ok(lower)
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

    fn clear(&mut self) {
        self.value_regs.clear();
        self.edge_results.clear();
        self.records.clear();
        self.operands.clear();
        self.piece_start = 0;
        self.behind_block.clear();
        self.depend_on_widths.clear();
        self.has_srclocs = false;
        self.slot_offsets.clear();
        self.call_abis.clear();
        self.return_area = None.into();
        self.writes_incoming = false;
        self.handed.clear();
    }
}

/// The least alignment of stack slots.
const WORD_BYTES: u64 = 8;

/// Walking the function.
impl Lower<'_> {
    /// Lays out the user's stack slots, each at a multiple of a machine word at least. Those aligned beyond the stack
    /// get room to align them at run time.
    fn place_slots(&mut self) -> Result<(), LowerError> {
        self.cx.call_area = 0;
        if self.func.stack_slots.is_empty() {
            return Ok(());
        }
        let stack_align = u64::from(self.isa.stack_align());
        let mut top = 0u64;
        for (slot, data) in self.func.stack_slots.iter() {
            let align = (1u64 << data.align_shift.min(63)).max(WORD_BYTES);
            let slack = align.saturating_sub(stack_align);
            let align = align.min(stack_align);
            self.code.slots_align = self.code.slots_align.max(align as u32);
            top = top.next_multiple_of(align);
            self.cx.slot_offsets[slot] = top;
            if let Some(key) = data.key {
                let offset = self.fixed_slot_offset(slot, "a key of a stack slot that is aligned beyond the stack")?;
                self.code.keyed_slots.push(KeyedSlot { key, offset, bytes: data.size });
            }
            top = top.saturating_add(u64::from(data.size)).saturating_add(slack);
        }
        self.code.slots_bytes = top.next_multiple_of(u64::from(self.code.slots_align));
        self.cx.call_area = self.code.slots_bytes.next_multiple_of(stack_align);
        check_limit("bytes of stack slots", self.code.slots_bytes, self.cx.guard.limits.frame_bytes)
    }

    fn lower_blocks(&mut self, sink: &mut Receiver<'_>) -> Result<(), Refusal> {
        for index in (0..self.cx.order.blocks().len()).rev() {
            self.cx.behind_block[index] = self.code.insts.len() as u32;
            match self.cx.order.blocks()[index] {
                MachineBlock::Ir(block) => self.lower_block(block, Block::from_u32(index as u32), sink)?,
                MachineBlock::Edge { from, edge } => {
                    self.lower_edge_block(from, edge, Block::from_u32(index as u32), sink)?
                }
            }
            if let Some(sink) = sink {
                sink.head(self, Block::from_u32(index as u32));
            }
            self.check_guard()?;
        }
        Ok(())
    }

    /// Asked once per block: one block's instructions are bounded by those of the text, which are counted before.
    fn check_guard(&self) -> Result<(), LowerError> {
        let guard = &self.cx.guard;
        if guard.is_cancelled() {
            return Err(LowerError::Cancelled);
        }
        let insts = self.code.insts.len() + self.cx.handed.count;
        check_limit("machine instructions", insts as u64, guard.limits.instructions)?;
        check_limit("virtual registers", self.code.problem.vregs.len() as u64, guard.limits.vregs)
    }

    fn lower_block(&mut self, block: IrBlock, machine: Block, sink: &mut Receiver<'_>) -> Result<(), Refusal> {
        self.block = block;
        let mut next = self.func.layout.last_inst(block);
        if let Some(terminator) = next {
            self.locate(terminator);
            match sink {
                Some(sink) => self.hand_edges(block, terminator, machine, *sink),
                None => self.record_edges(block, terminator, machine),
            }
            self.isa.lower(self, terminator).map_err(Refusal::of(terminator))?;
            self.cx.edge_results.clear();
            self.flush(sink);
            next = self.func.layout.prev_inst(terminator);
        }
        while let Some(inst) = next {
            if self.cx.needed.is_lowered(inst) {
                self.locate(inst);
                self.isa.lower(self, inst).map_err(Refusal::of(inst))?;
                self.note_zeros(inst);
                self.flush(sink);
            }
            next = self.func.layout.prev_inst(inst);
        }
        if Some(block) == self.func.layout.entry_block() {
            self.srcloc = u32::MAX;
            self.isa.lower_entry(self)?;
            self.flush(sink);
        }
        Ok(())
    }

    /// Sets the location of instructions emitted from now on to the location of `inst`.
    #[inline]
    fn locate(&mut self, inst: Inst) {
        self.inst = inst;
        self.srcloc = self.func.srcloc(inst).0;
        self.cx.has_srclocs |= self.srcloc != u32::MAX;
    }

    fn lower_edge_block(&mut self, from: IrBlock, edge: u32, machine: Block, sink: &mut Receiver<'_>) -> Lowered {
        self.srcloc = u32::MAX;
        let edge = edge as usize;
        let branch = self.analyses.cfg.terminator(from).expect("a block with edges has a branch");
        let target = self.analyses.cfg.succs(from)[edge];
        let target = self.cx.order.block_of(target).expect("a reachable block is placed");
        if let Some(sink) = sink {
            self.inst = branch;
            self.hand_edge(edge, &self.func.dfg.branch_destinations(branch)[edge], (machine, target), *sink);
        }
        self.isa.lower_edge(self, branch, edge, target)?;
        self.flush(sink);
        Ok(())
    }

    /// Records the edges out of `block`, whose arguments are needed then.
    fn record_edges(&mut self, block: IrBlock, terminator: Inst, machine: Block) {
        let func = self.func;
        let dests = func.dfg.branch_destinations(terminator);
        let table = func.dfg.inst_exception_table(terminator);
        let table = table.map(|table| func.dfg.exception_table(table));
        let throws = table.is_some_and(|table| !table.handlers.is_empty());
        let mut args = std::mem::take(&mut self.cx.edge_args);
        for (k, dest) in dests.iter().enumerate() {
            let Some(to) = self.cx.order.own_target(block, k) else { continue };
            let direct = self.cx.order.block_of(dest.block).expect("a reachable block is placed");
            args.clear();
            for (&param, arg) in func.dfg.block_params(dest.block).iter().zip(func.dfg.block_args(*dest)) {
                if !self.is_needed(param) {
                    continue;
                }
                match (arg.kind(), table) {
                    (BlockArgKind::Value(arg), _) => {
                        self.use_regs(arg).iter().for_each(|&part| args.push(part));
                    }
                    (kind, Some(table)) => {
                        let parts = self.edge_result(table, k, kind);
                        args.extend(parts.into_iter().filter_map(PackedOption::expand));
                    }
                    _ => {}
                }
            }
            if to == direct {
                // No critical edge is direct: it is the only one out of its source, or the only one into its target.
                let freq = self.cx.order.freq(machine).min(self.cx.order.freq(to));
                self.code.problem.add_edge(machine, to, freq, &args, &[]);
            } else {
                let freq = self.cx.order.freq(to);
                self.code.problem.add_edge(to, direct, freq, &args, &[]);
                // A call with handlers adds this one itself, with what it defines on it.
                if !throws {
                    self.code.problem.add_edge(machine, to, freq, &[], &[]);
                }
            }
        }
        self.cx.edge_args = args;
    }

    /// Ends the piece.
    #[inline(always)]
    fn flush(&mut self, sink: &mut Receiver<'_>) {
        if let Some(sink) = sink {
            return self.hand_over(*sink);
        }
        let end = self.code.insts.len();
        let start = std::mem::replace(&mut self.cx.piece_start, end);
        // One instruction is its own reverse.
        if end - start > 1 {
            self.reverse_piece(start, end);
        }
    }

    /// Turns the instructions of a piece, which were appended in order, round.
    fn reverse_piece(&mut self, start: usize, end: usize) {
        self.code.problem.reverse_last(end - start);
        self.code.insts.values_mut().into_slice()[start..].reverse();
        for index in self.cx.depend_on_widths.iter_mut().rev().take_while(|index| **index >= start as u32) {
            *index = (start + end - 1) as u32 - *index;
        }
    }
}
