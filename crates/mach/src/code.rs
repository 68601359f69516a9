//! A function in machine instructions over virtual registers, together with its allocation problem.
//!
//! [`Code::insts`] and the instructions of [`Code::problem`] have the same numbers; operands stand in the problem only.
//! Block ids are shared too: the blocks of the function in allocation order, edge blocks among them.

use crate::buffer::JumpTables;
use crate::compiled::{DebugTag, KeyedSlot, SymbolName, ValueConstant};
use crate::inst::MInst;
use cranelift_entity::PrimaryMap;
use kingpost_ir::{TrapCode, Type};
use kingpost_regalloc::{Block, Inst, PReg, PRegSet, Problem, VReg};
use smallvec::SmallVec;
use std::ops::Range;

/// A symbol the code refers to, and how near it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SymbolRef {
    /// Index into [`Code::names`].
    pub name: u32,
    /// Whether it is defined near enough to be addressed without a table.
    pub colocated: bool,
    /// Bytes added to its address.
    pub offset: i64,
}

/// The lowest address that the stack may reach, as a prologue can compute it from a parameter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StackLimit {
    /// The register of the parameter that it is computed from.
    pub base: PReg,
    /// What is done to the parameter, in order.
    pub steps: SmallVec<[LimitStep; 2]>,
}

/// A step of computing the limit of the stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LimitStep {
    /// Bytes are added.
    Add(i32),
    /// A pointer is loaded from this many bytes further.
    Load {
        /// Bytes.
        offset: i32,
        /// How the load may trap.
        trap: Option<TrapCode>,
    },
}

/// Entries of the compiled function's tables for a call or a sequence point. Offsets are bytes from the start of the
/// user's stack slots.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Annotation {
    /// References that are live in the frame during the call: their types and where they are.
    pub stack_map: SmallVec<[(Type, u32); 4]>,
    /// Tags for debuggers.
    pub tags: SmallVec<[DebugTag; 4]>,
    /// Whether the call may be overwritten by no-ops, and put back.
    pub patchable: bool,
}

/// Continuations of a call with handlers, which ends its block. Its [`MInst::imm`] is the index into [`Code::exits`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallExits {
    /// The block behind the call.
    pub normal: Block,
    /// The handlers: a part of [`Code::handlers`].
    pub handlers: Range<u32>,
}

/// A handler of exceptions that come out of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Handler {
    /// The tag that matches; without one, every tag that no other handler of the call matches.
    pub tag: Option<u32>,
    /// Block of the call.
    pub block: Block,
    /// The operand that the runtime gets with the tag, counted from the first one behind those of the row.
    pub context: Option<u32>,
}

/// A function after lowering. Cleared and used again.
#[derive(Clone, Default, Debug)]
pub struct Code {
    /// Register allocation problem: blocks, operands, frequencies.
    pub problem: Problem,
    /// Machine instructions, numbered as in the problem.
    pub insts: PrimaryMap<Inst, MInst>,
    /// Source location of each instruction if the function has any, else empty.
    pub srclocs: PrimaryMap<Inst, u32>,
    /// The types of values that the problem's labels stand for, by label, ascending.
    pub value_types: Vec<(u32, Type)>,
    /// Values of the text that are constants, by value, ascending.
    pub constants: Vec<ValueConstant>,
    /// Blocks in order of emission: cold ones last.
    pub layout: Vec<Block>,
    /// Symbols that instructions address, by [`MInst::aux`].
    pub symbols: Vec<SymbolRef>,
    /// Their names. A name can stand here more than once.
    pub names: Vec<SymbolName>,
    /// Jump tables, and the targets of branches with more than two.
    pub tables: JumpTables,
    /// Continuations of calls with handlers.
    pub exits: Vec<CallExits>,
    /// The handlers of all calls, call by call.
    pub handlers: Vec<Handler>,
    /// Annotations of calls and sequence points, by [`MInst::annotation`].
    pub annotations: Vec<Annotation>,
    /// Stack slots that debuggers find by a key. Offsets are bytes from the start of the user's stack slots.
    pub keyed_slots: Vec<KeyedSlot>,
    /// Registers that users rely on to have zeros above their low 32 bits. Noted under the setting `verify_each`.
    pub zero_extended: Vec<VReg>,
    /// Those of them that lowering answers for, as their rows write 64 bits.
    pub declared_zeros: Vec<VReg>,
    /// Bytes of the area for user stack slots, a multiple of `slots_align`.
    pub slots_bytes: u64,
    /// Alignment of that area.
    pub slots_align: u32,
    /// Bytes for stack arguments of calls: the most any of them needs.
    pub outgoing_bytes: u64,
    /// Bytes of stack arguments this function receives.
    pub incoming_bytes: u64,
    /// Bytes of stack arguments the function pops when it returns: its own, and any room beyond them that its tail
    /// calls need and its prologue makes.
    pub popped_bytes: u64,
    /// Whether it calls anything, so that the stack must be aligned and the return address is not enough.
    pub has_calls: bool,
    /// Whether a callee pops its arguments, so that the stack pointer is elsewhere until it is moved back.
    pub moves_stack_pointer: bool,
    /// Registers this function preserves for its caller beyond those that allocators know as callee-saved.
    pub also_preserved: PRegSet,
    /// The routine that touches the pages of a large frame, if the target calls one.
    pub probestack: Option<SymbolRef>,
    /// The limit of the stack that the prologue checks. Taken by emission.
    pub stack_limit: Option<StackLimit>,
}

impl Code {
    /// Empties the code, keeping its memory.
    pub fn clear(&mut self) {
        self.problem.clear();
        self.insts.clear();
        self.srclocs.clear();
        self.value_types.clear();
        self.constants.clear();
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
        self.also_preserved = PRegSet::EMPTY;
        self.probestack = None;
        self.stack_limit = None;
    }
}
