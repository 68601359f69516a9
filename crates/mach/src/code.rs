//! A function in machine instructions over virtual registers, together with its allocation problem.
//!
//! [`Code::insts`] and the instructions of [`Code::problem`] have equal numbers; operands are in the problem only.
//! Block ids are shared too: the blocks of the function in allocation order, edge blocks among them.

use crate::buffer::JumpTables;
use crate::compiled::{DebugTag, KeyedSlot, SymbolName, ValueConstant};
use crate::inst::MInst;
use cranelift_entity::PrimaryMap;
use kingpost_ir::{TrapCode, Type};
use kingpost_meter::heap_bytes;
use kingpost_regalloc::{Block, Inst, PReg, PRegSet, Problem, VReg};
use smallvec::SmallVec;
use std::ops::Range;
use std::sync::Arc;

/// Symbol that the code refers to, and whether it is near.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SymbolRef {
    /// Index into [`Code::names`].
    pub name: u32,
    /// Whether the symbol is defined near enough to be addressed without a table.
    pub colocated: bool,
    /// Number of bytes added to its address.
    pub offset: i64,
}

/// Lowest address that the stack may reach, as a prologue computes it from a parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StackLimit {
    /// Register of the parameter.
    pub base: PReg,
    /// Steps from the parameter to the limit, in order.
    pub steps: SmallVec<[LimitStep; 2]>,
}

/// Step of computing the limit of the stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LimitStep {
    /// Add a number of bytes.
    Add(i32),
    /// Load a pointer from an offset to the address computed so far.
    Load {
        /// Offset in bytes.
        offset: i32,
        /// Code with which the load may trap.
        trap: Option<TrapCode>,
    },
}

/// Entries of the compiled function's tables for a call or a sequence point. Offsets are bytes from the start of the
/// user's stack slots.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Annotation {
    /// References that are live in the frame during the call: their types and offsets.
    pub stack_map: SmallVec<[(Type, u32); 4]>,
    /// Tags for debuggers.
    pub tags: SmallVec<[DebugTag; 4]>,
    /// Whether the call may be overwritten by no-ops and restored.
    pub patchable: bool,
}

/// Continuations of a call with handlers, which ends its block. Its [`MInst::imm`] is the index into [`Code::exits`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallExits {
    /// Block of the continuation after the call.
    pub normal: Block,
    /// Range of the handlers in [`Code::handlers`].
    pub handlers: Range<u32>,
}

/// Handler of exceptions that a call raises.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Handler {
    /// The tag that matches. Without one, every tag matches that no other handler of the call matches.
    pub tag: Option<u32>,
    /// Block of the handler.
    pub block: Block,
    /// Operand that the runtime receives with the tag, counted from the first one after the operands of the row.
    pub context: Option<u32>,
}

/// Function after lowering. Cleared and reused.
#[derive(Clone, Default, Debug)]
pub struct Code {
    /// Register allocation problem: blocks, operands, frequencies.
    pub problem: Problem,
    /// Machine instructions, numbered as in the problem.
    pub insts: PrimaryMap<Inst, MInst>,
    /// Source location of each instruction, or empty if the function has none.
    pub srclocs: PrimaryMap<Inst, u32>,
    /// Types of the values that the problem's labels represent, by label, ascending.
    pub value_types: Vec<(u32, Type)>,
    /// Values of the text that are constants, by value, ascending.
    pub constants: Vec<ValueConstant>,
    /// Names of the source's variables, by label. If there are any, labels and constants are variables, not values of
    /// the text.
    pub variables: Vec<Arc<str>>,
    /// Blocks in order of emission: cold ones last.
    pub layout: Vec<Block>,
    /// Symbols that instructions address, by [`MInst::aux`].
    pub symbols: Vec<SymbolRef>,
    /// Names of the symbols. A name can occur more than once.
    pub names: Vec<SymbolName>,
    /// Jump tables, and the targets of branches with more than two.
    pub tables: JumpTables,
    /// Continuations of calls with handlers.
    pub exits: Vec<CallExits>,
    /// Handlers of all calls, call by call.
    pub handlers: Vec<Handler>,
    /// Annotations of calls and sequence points, by [`MInst::annotation`].
    pub annotations: Vec<Annotation>,
    /// Stack slots that debuggers find by a key. Offsets are bytes from the start of the user's stack slots.
    pub keyed_slots: Vec<KeyedSlot>,
    /// Registers whose users rely on zeros above their low 32 bits. Recorded under the setting `verify_each`.
    pub zero_extended: Vec<VReg>,
    /// Registers among `zero_extended` that lowering declares to have zeros, because their rows write 64 bits.
    pub declared_zeros: Vec<VReg>,
    /// Bytes of the area for user stack slots, a multiple of `slots_align`.
    pub slots_bytes: u64,
    /// Alignment of the area for user stack slots.
    pub slots_align: u32,
    /// Bytes of stack arguments for calls: the maximum over all calls.
    pub outgoing_bytes: u64,
    /// Bytes of stack arguments that this function receives.
    pub incoming_bytes: u64,
    /// Bytes of stack arguments that the function pops when it returns: its own, and any further bytes that its tail
    /// calls need and its prologue reserves.
    pub popped_bytes: u64,
    /// Whether the function calls another one, so that the stack must be aligned and the return address needs a frame.
    pub has_calls: bool,
    /// Whether a callee pops its arguments, so that the stack pointer has another value until it is moved back.
    pub moves_stack_pointer: bool,
    /// Registers that this function preserves for its caller beyond the callee-saved registers of the allocators.
    pub extra_callee_saved: PRegSet,
    /// The routine that touches the pages of a large frame, if the target calls one.
    pub probestack: Option<SymbolRef>,
    /// Limit of the stack that the prologue checks. Emission takes it out.
    pub stack_limit: Option<StackLimit>,
}

heap_bytes!(Code { problem, insts, srclocs, value_types, constants, layout, symbols, names, tables, exits, handlers, annotations, keyed_slots, zero_extended, declared_zeros } without { variables, slots_bytes, slots_align, outgoing_bytes, incoming_bytes, popped_bytes, has_calls, moves_stack_pointer, extra_callee_saved, probestack, stack_limit });

impl Code {
    /// Clears the code, keeping its memory.
    pub fn clear(&mut self) {
        self.problem.clear();
        self.insts.clear();
        self.srclocs.clear();
        self.value_types.clear();
        self.constants.clear();
        self.variables.clear();
        self.layout.clear();
        self.symbols.clear();
        self.names.clear();
        self.tables.clear();
        self.exits.clear();
        self.handlers.clear();
        self.annotations.clear();
        self.keyed_slots.clear();
        self.zero_extended.clear();
        self.declared_zeros.clear();
        self.slots_bytes = 0;
        self.slots_align = 1;
        self.outgoing_bytes = 0;
        self.incoming_bytes = 0;
        self.popped_bytes = 0;
        self.has_calls = false;
        self.moves_stack_pointer = false;
        self.extra_callee_saved = PRegSet::EMPTY;
        self.probestack = None;
        self.stack_limit = None;
    }
}
