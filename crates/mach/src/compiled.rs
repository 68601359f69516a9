//! Compiled functions: bytes and the tables that go with them, in the pools of one module buffer.
//!
//! Objects, the just-in-time compiler and compatibility layers all read this form. Offsets are bytes from the start of
//! the function's code; every table is sorted by offset.

use crate::literal::Literal;
use kingpost_ir::extfunc::FuncName;
use kingpost_ir::libcall::{KnownSymbol, LibCall};
use kingpost_ir::{TrapCode, Type};
use kingpost_regalloc::PReg;
use std::fmt;
use std::sync::Arc;

/// The name of a function or symbol, independent of the function that mentions it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum SymbolName {
    /// `%word`, without the sign.
    Named(Arc<str>),
    /// `uN:M`.
    User(u32, u32),
    /// A library routine.
    LibCall(LibCall),
    /// A symbol that linkers know.
    KnownSymbol(KnownSymbol),
    /// A constant in read-only memory, which the object or image that mentions it has.
    Literal(Literal),
}

impl From<&FuncName> for SymbolName {
    fn from(name: &FuncName) -> SymbolName {
        match name {
            FuncName::Named(word) => SymbolName::named(word),
            FuncName::User(namespace, index) => SymbolName::User(*namespace, *index),
        }
    }
}

/// Text form: that of the function's text, `%word` or `uN:M`; of literals `.LC` and their digits.
impl fmt::Display for SymbolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SymbolName::Named(word) => write!(f, "%{word}"),
            SymbolName::User(namespace, index) => write!(f, "u{namespace}:{index}"),
            SymbolName::LibCall(libcall) => write!(f, "%{libcall}"),
            SymbolName::KnownSymbol(symbol) => write!(f, "%{symbol}"),
            SymbolName::Literal(literal) => write!(f, ".LC{literal}"),
        }
    }
}

impl SymbolName {
    /// The name `%word`.
    pub fn named(word: &str) -> SymbolName {
        SymbolName::Named(word.into())
    }
}

/// What a relocation writes. `S` is the symbol's address, `A` the addend, `P` the place, `G` its GOT entry, `L` its PLT entry.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RelocKind {
    /// 8 bytes, `S + A`.
    Abs8,
    /// 4 bytes, `S + A`, which is below 4 GiB: nothing is extended with a sign.
    Abs4,
    /// 4 bytes, `S + A - P`, data on x86-64.
    X86PcRel4,
    /// 4 bytes, `S + A - P`, a call on x86-64.
    X86CallPcRel4,
    /// 4 bytes, `L + A - P`, a call on x86-64 through the PLT.
    X86CallPltRel4,
    /// 4 bytes, `G + A - P`, a load from the GOT on x86-64.
    X86GotPcRel4,
    /// 4 bytes, the address minus `P` of the pair of words that names a thread-local symbol, plus `A`, on x86-64. It stands in the
    /// sequence of the general dynamic model.
    X86TlsGd,
    /// 26 bits of words, `S + A - P`, a call on AArch64.
    Aarch64Call,
    /// 21 bits of pages, `adrp`.
    Aarch64AdrPage,
    /// Low 12 bits, `add`.
    Aarch64AddLo12,
    /// Low 12 bits, `ldr` of 4 bytes.
    Aarch64Ld32Lo12,
    /// Low 12 bits, `ldr` of 8 bytes.
    Aarch64Ld64Lo12,
    /// Low 12 bits, `ldr` of 16 bytes.
    Aarch64Ld128Lo12,
    /// Bits 0 to 15 of `S + A`, `movz`.
    Aarch64MovwG0,
    /// Bits 16 to 31, `movk`.
    Aarch64MovwG1,
    /// Bits 32 to 47, `movk`.
    Aarch64MovwG2,
    /// Bits 48 to 63, `movk`.
    Aarch64MovwG3,
    /// 21 bits of pages of the GOT entry, `adrp`.
    Aarch64AdrGotPage,
    /// Low 12 bits of the GOT entry, `ldr`.
    Aarch64LdGotLo12,
    /// 21 bits of pages of a thread-local symbol's descriptor, `adrp`.
    Aarch64TlsDescAdrPage,
    /// Low 12 bits of the descriptor, `ldr`.
    Aarch64TlsDescLdLo12,
    /// Low 12 bits of the descriptor, `add`.
    Aarch64TlsDescAddLo12,
    /// The call by the descriptor: writes nothing, unless a linker replaces the sequence.
    Aarch64TlsDescCall,
}

impl RelocKind {
    /// Does it name a symbol of which each thread has its own?
    pub fn is_thread_local(self) -> bool {
        matches!(
            self,
            RelocKind::X86TlsGd
                | RelocKind::Aarch64TlsDescAdrPage
                | RelocKind::Aarch64TlsDescLdLo12
                | RelocKind::Aarch64TlsDescAddLo12
                | RelocKind::Aarch64TlsDescCall
        )
    }

    /// Bytes of the field that it writes to.
    pub fn field_bytes(self) -> usize {
        if self == RelocKind::Abs8 { 8 } else { 4 }
    }
}

/// One relocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reloc {
    /// Where, in bytes from the function's start.
    pub offset: u32,
    /// What to write there.
    pub kind: RelocKind,
    /// Index into the function's [`FunctionView::symbols`].
    pub symbol: u32,
    /// Constant added to the symbol's address.
    pub addend: i64,
}

/// An instruction that may trap.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TrapSite {
    /// Offset of the instruction that faults.
    pub offset: u32,
    /// Why it traps.
    pub code: TrapCode,
}

/// A source location begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SrcLocSite {
    /// First byte that belongs to it, up to the next one.
    pub offset: u32,
    /// The location, opaque; `u32::MAX` is none.
    pub srcloc: u32,
}

/// A call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallSite {
    /// The return address: first byte behind the call.
    pub return_offset: u32,
}

/// A reference that is live in the frame during a call: what a moving collector reads and writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StackMapEntry {
    /// The return address of the call. A call without entries has no live references.
    pub return_offset: u32,
    /// Where the reference is: bytes above the stack pointer of the function's body.
    pub offset: u32,
    /// Its type.
    pub ty: Type,
}

/// A tag for debuggers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DebugTag {
    /// A number of the front end.
    User(u32),
    /// A stack slot: bytes above the stack pointer of the function's body.
    StackSlot(u32),
}

impl fmt::Display for DebugTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DebugTag::User(number) => write!(f, "tag {number}"),
            DebugTag::StackSlot(offset) => write!(f, "tag sp+{offset}"),
        }
    }
}

/// Where a tag for debuggers stands. Tags of one place are in the order of the source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DebugTagSite {
    /// The return address of a call, or the first byte behind a sequence point.
    pub offset: u32,
    /// Does the tag belong to the call before `offset`?
    pub of_call: bool,
    /// The tag.
    pub tag: DebugTag,
}

/// A call that may be overwritten by no-ops, and put back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PatchableCall {
    /// Its return address: first byte behind the call.
    pub return_offset: u32,
    /// Length of the call in bytes.
    pub bytes: u32,
}

/// A stack slot that debuggers find by its key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyedSlot {
    /// The front end's number.
    pub key: u64,
    /// Where it is: bytes above the stack pointer of the function's body.
    pub offset: u32,
    /// Its size in bytes.
    pub bytes: u32,
}

/// Where an exception goes on that a call lets through. Those of one call stand in the order of its exception table.
///
/// The frame that resumes has the stack pointer of its body, [`FrameInfo::body_offset`] below its frame pointer, whatever
/// the callee would have popped, and the payloads in the registers of the callee's convention.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HandlerSite {
    /// The return address of the call: that of a [`CallSite`].
    pub return_offset: u32,
    /// The tag that matches; without one, every tag that no other handler of the call matches.
    pub tag: Option<u32>,
    /// First byte of the handler.
    pub handler_offset: u32,
    /// The value that the exception table hands to the runtime with the tag.
    pub context: Option<ContextPlace>,
}

/// Where a value is while its call is active.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ContextPlace {
    /// In a register, which the callee preserves.
    Reg(PReg),
    /// In memory, bytes above the stack pointer of the body.
    Stack(u32),
}

/// Where a value of the function's text is while some of its instructions run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ValueSite {
    /// The first byte of those instructions.
    pub from: u32,
    /// The first byte behind them.
    pub to: u32,
    /// The number of the value: 4 for `v4`.
    pub value: u32,
    /// Its type.
    pub ty: Type,
    /// Where it is.
    pub place: ContextPlace,
}

/// A value of the function's text that is the same wherever its function runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ValueConstant {
    /// The number of the value: 4 for `v4`.
    pub value: u32,
    /// Its type, of 64 bits at most.
    pub ty: Type,
    /// Its bits, zero-extended.
    pub bits: u64,
}

/// An edge of the graph of emitted blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockEdge {
    /// The first byte of the block that it leaves.
    pub from: u32,
    /// The first byte of the block that it enters.
    pub to: u32,
}

/// One step of building or taking down the frame, in terms of the canonical frame address (CFA): the stack pointer
/// before the call that entered the function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnwindOp {
    /// The CFA is the stack pointer plus this many bytes.
    CfaStackPointer(u32),
    /// The CFA is the stack pointer minus this many bytes: the stack arguments are popped.
    CfaPopped(u32),
    /// The CFA is the frame pointer plus this many bytes.
    CfaFramePointer(u32),
    /// The caller's value of a register is at the CFA minus this many bytes.
    Saved(PReg, u32),
    /// The register has the caller's value again.
    Restored(PReg),
    /// From here on the return address is signed if it was not, and not signed if it was (AArch64).
    SignedReturnToggled,
    /// What follows is an epilogue: the present state comes back at the matching [`UnwindOp::EpilogueEnd`].
    EpilogueBegin,
    /// The code behind this point has the state from before the epilogue.
    EpilogueEnd,
}

/// An unwind operation and the offset behind the instruction that it describes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnwindSite {
    /// From here on the operation is in force.
    pub offset: u32,
    /// The operation.
    pub op: UnwindOp,
}

/// The shape of a frame, for debuggers and stack walkers.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct FrameInfo {
    /// Bytes from the stack pointer of the body to the CFA.
    pub size: u32,
    /// Bytes of stack arguments the caller pushed.
    pub incoming_bytes: u32,
    /// Bytes by which the stack pointer of the body is below the frame pointer, if there is one.
    pub body_offset: u32,
}

/// How the control flow of a function is guarded, as far as linkers and loaders have to know.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ControlFlowGuards {
    /// Whether every place that indirect branches lead to has a landing pad.
    pub landing_pads: bool,
    /// Whether return addresses in memory are signed.
    pub signed_returns: bool,
}

/// What a function is called and how its code is to be placed.
#[derive(Clone, Debug)]
pub struct FunctionHead {
    /// Its name.
    pub name: SymbolName,
    /// Alignment of its first byte, a power of two.
    pub align: u32,
    /// Shape of its frame.
    pub frame: FrameInfo,
    /// The guards that its code has.
    pub guards: ControlFlowGuards,
}

impl FunctionHead {
    /// Returns the head of code that is given as bytes: of its frame and its guards nothing is known.
    pub fn of_bytes(name: SymbolName, align: u32) -> FunctionHead {
        FunctionHead { name, align, frame: FrameInfo::default(), guards: ControlFlowGuards::default() }
    }
}

/// One function in a [`ModuleBuffer`].
#[derive(Clone, Debug)]
pub struct CompiledFunction {
    /// Name, alignment and frame.
    pub head: FunctionHead,
    /// Where jump tables begin in its code, bytes; its length if there are none.
    pub data_offset: u32,
    ends: Ends,
}

/// Compiled functions and the pools they lie in.
#[derive(Clone, Default, Debug)]
pub struct ModuleBuffer {
    functions: Vec<CompiledFunction>,
    pub(crate) pools: Pools,
}

/// Defines the pools of a module buffer, and what a function has in each.
macro_rules! pools {
    ($($(#[$doc:meta])* $pool:ident: $entry:ty,)*) => {
        /// Tables of all functions, one behind the other.
        #[derive(Clone, Default, Debug)]
        pub(crate) struct Pools {
            $(pub(crate) $pool: Vec<$entry>,)*
        }

        /// Where what belongs to one function ends in each pool. It begins where that of the function before ends.
        #[derive(Clone, Copy, Default, Debug)]
        struct Ends {
            $($pool: usize,)*
        }

        /// One function with its tables at hand.
        #[derive(Clone, Copy, Debug)]
        pub struct FunctionView<'a> {
            /// Name, alignment and frame.
            pub function: &'a CompiledFunction,
            $($(#[$doc])* pub $pool: &'a [$entry],)*
        }

        impl Pools {
            fn clear(&mut self) {
                $(self.$pool.clear();)*
            }

            /// Removes everything behind the last function.
            fn truncate(&mut self, last: &Ends) {
                $(self.$pool.truncate(last.$pool);)*
            }

            fn extend(&mut self, view: &FunctionView<'_>) {
                $(self.$pool.extend_from_slice(view.$pool);)*
            }

            fn view<'a>(&'a self, function: &'a CompiledFunction, start: &Ends) -> FunctionView<'a> {
                FunctionView { function, $($pool: &self.$pool[start.$pool..function.ends.$pool],)* }
            }

            fn ends(&self) -> Ends {
                Ends { $($pool: self.$pool.len(),)* }
            }
        }
    };
}

pools! {
    /// Machine code, with jump tables behind it.
    code: u8,
    /// Relocations.
    relocs: Reloc,
    /// What the relocations name.
    symbols: SymbolName,
    /// Trapping instructions.
    traps: TrapSite,
    /// Source locations.
    srclocs: SrcLocSite,
    /// Calls.
    calls: CallSite,
    /// References that are live during calls.
    stack_maps: StackMapEntry,
    /// Tags for debuggers.
    debug_tags: DebugTagSite,
    /// Calls that may be overwritten.
    patchable_calls: PatchableCall,
    /// Stack slots with keys, in the order of the source.
    keyed_slots: KeyedSlot,
    /// Handlers of exceptions, call by call.
    handlers: HandlerSite,
    /// Where values are, for debuggers, by value and offset.
    values: ValueSite,
    /// Values that are constants, for debuggers, by value.
    constants: ValueConstant,
    /// Unwind operations.
    unwind: UnwindSite,
    /// Offsets of the emitted blocks.
    blocks: u32,
    /// The edges between them, block by block.
    block_edges: BlockEdge,
}

impl<'a> FunctionView<'a> {
    /// The handlers of the call that returns to an offset, in the order of its exception table.
    pub fn handlers_at(&self, return_offset: u32) -> &'a [HandlerSite] {
        let start = self.handlers.partition_point(|handler| handler.return_offset < return_offset);
        let len = self.handlers[start..].partition_point(|handler| handler.return_offset == return_offset);
        &self.handlers[start..start + len]
    }
}

impl ModuleBuffer {
    /// Empties the buffer, keeping its memory.
    pub fn clear(&mut self) {
        self.functions.clear();
        self.pools.clear();
    }

    /// Number of functions.
    pub fn len(&self) -> usize {
        self.functions.len()
    }

    /// Is there no function?
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// Bytes of code of all functions.
    pub fn code_bytes(&self) -> usize {
        self.pools.code.len()
    }

    /// Does any function have handlers, stack maps, tags, patchable calls or slots with keys?
    pub fn has_sites(&self) -> bool {
        let Pools { handlers, stack_maps, debug_tags, patchable_calls, keyed_slots, .. } = &self.pools;
        let has_tables = !(handlers.is_empty() && stack_maps.is_empty() && debug_tags.is_empty());
        has_tables || !patchable_calls.is_empty() || !keyed_slots.is_empty()
    }

    /// All functions in order of compilation.
    pub fn functions(&self) -> impl ExactSizeIterator<Item = FunctionView<'_>> {
        (0..self.len()).map(|index| self.function(index))
    }

    /// One function.
    ///
    /// # Panics
    /// If there is no function `index`.
    pub fn function(&self, index: usize) -> FunctionView<'_> {
        self.pools.view(&self.functions[index], &self.ends(index))
    }

    /// Where the first `count` functions end.
    fn ends(&self, count: usize) -> Ends {
        count.checked_sub(1).map_or_else(Ends::default, |last| self.functions[last].ends)
    }

    /// Bytes of code of the function added last.
    pub(crate) fn last_code_bytes(&self) -> usize {
        self.functions.last().map_or(0, |function| function.ends.code - self.ends(self.len() - 1).code)
    }

    /// Removes the last function.
    pub fn pop_function(&mut self) {
        self.functions.pop();
        self.discard_unfinished();
    }

    /// Removes what the pools hold beyond the last function: what an error or a caught panic left of the next one.
    pub fn discard_unfinished(&mut self) {
        let ends = self.ends(self.len());
        self.pools.truncate(&ends);
    }

    /// Adds all functions of `other` behind those already here.
    pub fn append(&mut self, other: &ModuleBuffer) {
        for view in other.functions() {
            self.append_function(&view);
        }
    }

    /// Adds one function of another buffer behind those already here.
    pub fn append_function(&mut self, view: &FunctionView<'_>) {
        self.pools.extend(view);
        self.push_function(view.function.head.clone(), view.function.data_offset);
    }

    /// Makes everything that the pools hold beyond the last function one.
    pub(crate) fn push_function(&mut self, head: FunctionHead, data_offset: u32) {
        let ends = self.pools.ends();
        self.functions.push(CompiledFunction { head, data_offset, ends });
    }
}
