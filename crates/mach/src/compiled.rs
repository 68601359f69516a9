//! Compiled functions: bytes and their tables, in the pools of one module buffer.
//!
//! Objects, the just-in-time compiler and compatibility layers all read this form. Offsets are bytes from the start of
//! the function's code; every table is sorted by offset.

use crate::literal::Literal;
use crate::stored::Stored;
use kingpost_ir::extfunc::FuncName;
use kingpost_ir::libcall::{KnownSymbol, LibCall};
use kingpost_ir::{TrapCode, Type};
use kingpost_regalloc::PReg;
use std::fmt;
use std::sync::Arc;

/// Name of a function or symbol, independent of the function that mentions it.
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
    /// A constant in read-only memory, which is part of the object or image that mentions it.
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

/// Writes the name as in the text of functions, `%word` or `uN:M`; literals are `.LC` and their digits.
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
    /// Returns the name `%word`.
    pub fn named(word: &str) -> SymbolName {
        SymbolName::Named(word.into())
    }
}

/// Value that a relocation writes. `S` is the symbol's address, `A` the addend, `P` the address of the field, `G` the
/// symbol's GOT entry, `L` its PLT entry.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RelocKind {
    /// 8 bytes, `S + A`.
    Abs8,
    /// 4 bytes, `S + A`, which is below 4 GiB because the field is not sign-extended.
    Abs4,
    /// 4 bytes, `S + A - P`, data on x86-64.
    X86PcRel4,
    /// 4 bytes, `S + A - P`, a call on x86-64.
    X86CallPcRel4,
    /// 4 bytes, `L + A - P`, a call on x86-64 through the PLT.
    X86CallPltRel4,
    /// 4 bytes, `G + A - P`, a load from the GOT on x86-64.
    X86GotPcRel4,
    /// 4 bytes, the address of the pair of words that names a thread-local symbol, minus `P`, plus `A`, on x86-64.
    /// Used in the sequence of the general dynamic model.
    X86TlsGd,
    /// 4 bytes, the address of the pointer to a thread-local symbol's descriptor, minus `P`, plus `A`, on x86-64
    /// (Mach-O).
    X86Tlv,
    /// 4 bytes, the offset of a thread-local symbol in its section, plus `A`, on x86-64 (COFF).
    X86SecRel,
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
    /// The call by the descriptor. The relocation writes no bytes, unless a linker replaces the sequence.
    Aarch64TlsDescCall,
    /// Bits 12 to 23 of the offset of a thread-local symbol in its section, `add` (COFF).
    Aarch64SecRelHi12,
    /// Low 12 bits of that offset, `add`.
    Aarch64SecRelLo12,
    /// 21 bits of pages of the pointer to a thread-local symbol's descriptor, `adrp` (Mach-O).
    Aarch64TlvPage,
    /// Low 12 bits of that pointer, `ldr`.
    Aarch64TlvLo12,
}

impl RelocKind {
    /// Returns `true` if the relocation refers to a thread-local symbol.
    pub fn is_thread_local(self) -> bool {
        matches!(
            self,
            RelocKind::X86TlsGd
                | RelocKind::X86SecRel
                | RelocKind::Aarch64TlsDescAdrPage
                | RelocKind::Aarch64TlsDescLdLo12
                | RelocKind::Aarch64TlsDescAddLo12
                | RelocKind::Aarch64TlsDescCall
                | RelocKind::X86Tlv
                | RelocKind::Aarch64SecRelHi12
                | RelocKind::Aarch64SecRelLo12
                | RelocKind::Aarch64TlvPage
                | RelocKind::Aarch64TlvLo12
        )
    }

    /// Returns the number of bytes of the field that the relocation writes.
    pub fn field_bytes(self) -> usize {
        if self == RelocKind::Abs8 { 8 } else { 4 }
    }
}

/// One relocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reloc {
    /// Offset in bytes from the start of the function.
    pub offset: u32,
    /// Kind of the relocation.
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
    /// Reason of the trap.
    pub code: TrapCode,
}

/// Start of a range of code with one source location.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SrcLocSite {
    /// Offset of the first byte of the range, which ends at the next site.
    pub offset: u32,
    /// Opaque source location; `u32::MAX` means that there is none.
    pub srcloc: u32,
}

/// A call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallSite {
    /// Return address: offset of the first byte after the call.
    pub return_offset: u32,
}

/// Reference that is live in the frame during a call, which a moving collector reads and writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StackMapEntry {
    /// Return address of the call. A call without entries has no live references.
    pub return_offset: u32,
    /// Offset of the reference in bytes above the stack pointer of the function's body.
    pub offset: u32,
    /// Type of the reference.
    pub ty: Type,
}

/// Tag for debuggers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DebugTag {
    /// A number from the front end.
    User(u32),
    /// A stack slot, by its offset in bytes above the stack pointer of the function's body.
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

/// Position of a tag for debuggers. Tags at one offset are in the order of the source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DebugTagSite {
    /// Return address of a call, or offset of the first byte after a sequence point.
    pub offset: u32,
    /// Whether the tag belongs to the call before `offset`.
    pub of_call: bool,
    /// The tag.
    pub tag: DebugTag,
}

/// A call that may be overwritten by no-ops and restored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PatchableCall {
    /// Return address: offset of the first byte after the call.
    pub return_offset: u32,
    /// Length of the call in bytes.
    pub bytes: u32,
}

/// A stack slot that debuggers find by its key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyedSlot {
    /// Number from the front end.
    pub key: u64,
    /// Offset in bytes above the stack pointer of the function's body.
    pub offset: u32,
    /// Size of the slot in bytes.
    pub bytes: u32,
}

/// Handler of an exception that a call raises. Handlers of one call are in the order of its exception table.
///
/// The frame that resumes must have the stack pointer of its body, [`FrameInfo::body_offset`] below its frame
/// pointer, regardless of the bytes that the callee would have popped. The payloads must be in the registers of the
/// callee's convention.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HandlerSite {
    /// Return address of the call, as in a [`CallSite`].
    pub return_offset: u32,
    /// The tag that matches. Without one, every tag matches that no other handler of the call matches.
    pub tag: Option<u32>,
    /// Offset of the first byte of the handler.
    pub handler_offset: u32,
    /// Value that the exception table passes to the runtime with the tag.
    pub context: Option<ContextPlace>,
}

/// Place of a value while its call is active.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ContextPlace {
    /// In a register, which the callee preserves.
    Reg(PReg),
    /// In memory, by its offset in bytes above the stack pointer of the body.
    Stack(u32),
}

/// Place of a value of the function's text during a range of its instructions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ValueSite {
    /// Offset of the first byte of these instructions.
    pub from: u32,
    /// Offset of the first byte after these instructions.
    pub to: u32,
    /// Number of the value, 4 for `v4`, or index of a variable if the function names variables.
    pub value: u32,
    /// Type of the value.
    pub ty: Type,
    /// Place of the value.
    pub place: ContextPlace,
}

/// Value of the function's text that is constant throughout the function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ValueConstant {
    /// Number of the value, 4 for `v4`, or index of a variable if the function names variables.
    pub value: u32,
    /// Type of the value, with 64 bits at most.
    pub ty: Type,
    /// Bits of the value, zero-extended.
    pub bits: u64,
}

/// Head of an emitted block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockHead {
    /// Number of the block in the machine code, [`Code::problem`](crate::Code::problem).
    pub block: u32,
    /// Offset of the first byte of the block.
    pub offset: u32,
}

/// Edge between two emitted blocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockEdge {
    /// Offset of the first byte of the block that the edge leaves.
    pub from: u32,
    /// Offset of the first byte of the block that the edge enters.
    pub to: u32,
}

/// One step of making or undoing the frame, in terms of the canonical frame address (CFA): the stack pointer before
/// the call that entered the function.
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
    /// The stack pointer moved down by this many bytes, and the CFA did not move. Only unwinders that have no frame
    /// pointer need it (Windows).
    Allocated(u32),
    /// The register has the caller's value again.
    Restored(PReg),
    /// From here on the return address is signed if it was not, and not signed if it was (AArch64).
    SignedReturnToggled,
    /// An epilogue begins. The current state is restored at the matching [`UnwindOp::EpilogueEnd`].
    EpilogueBegin,
    /// The code after this point has the state from before the epilogue.
    EpilogueEnd,
}

/// Unwind operation and the offset after the instruction that it describes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnwindSite {
    /// Offset from which the operation is in force.
    pub offset: u32,
    /// The operation.
    pub op: UnwindOp,
}

/// The shape of a frame, for debuggers and stack walkers.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct FrameInfo {
    /// Bytes from the stack pointer of the body to the CFA.
    pub size: u32,
    /// Bytes of stack arguments that the caller pushed.
    pub incoming_bytes: u32,
    /// Bytes by which the stack pointer of the body is below the frame pointer, if there is one.
    pub body_offset: u32,
    /// Whether the prologue compares the stack pointer with a limit before the frame is complete.
    pub checks_limit: bool,
    /// Offset of the user's stack slots in bytes above the stack pointer of the body.
    pub slots_offset: u32,
}

/// Guards of the control flow of a function that linkers and loaders have to know.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ControlFlowGuards {
    /// Whether every target of an indirect branch has a landing pad.
    pub landing_pads: bool,
    /// Whether return addresses in memory are signed.
    pub signed_returns: bool,
}

/// Name, placement and frame of a function.
#[derive(Clone, Debug)]
pub struct FunctionHead {
    /// Name of the function.
    pub name: SymbolName,
    /// Alignment of the function's first byte, a power of two.
    pub align: u32,
    /// Shape of the function's frame.
    pub frame: FrameInfo,
    /// Guards that the function's code has.
    pub guards: ControlFlowGuards,
}

impl FunctionHead {
    /// Returns the head of code that is given as bytes, without a frame and guards.
    pub fn of_bytes(name: SymbolName, align: u32) -> FunctionHead {
        FunctionHead { name, align, frame: FrameInfo::default(), guards: ControlFlowGuards::default() }
    }
}

/// One function in a [`ModuleBuffer`].
#[derive(Clone, Debug)]
pub struct CompiledFunction {
    /// Name, alignment and frame.
    pub head: FunctionHead,
    /// Offset in bytes of the jump tables in the function's code, or the code's length if there are none.
    pub data_offset: u32,
    ends: Ends,
}

/// Compiled functions and the pools that hold their tables.
#[derive(Clone, Default, Debug)]
pub struct ModuleBuffer {
    functions: Vec<CompiledFunction>,
    pub(crate) pools: Pools,
}

/// Defines the pools of a module buffer, and the part of a function in each.
macro_rules! pools {
    ($($(#[$doc:meta])* $pool:ident: $entry:ty,)*) => {
        /// Tables of all functions, consecutive in each pool.
        #[derive(Clone, Default, Debug)]
        pub(crate) struct Pools {
            $(pub(crate) $pool: Vec<$entry>,)*
        }

        /// End of one function's part in each pool. It begins at the end of the preceding function's part.
        #[derive(Clone, Copy, Default, Debug)]
        struct Ends {
            $($pool: usize,)*
        }

        /// One function with its tables.
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

            /// Removes the entries after the last function.
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

            /// Appends the entries that [`FunctionView::write`] wrote.
            fn read(&mut self, input: &mut &[u8]) -> Option<()> {
                $(<$entry>::read_list(input, &mut self.$pool)?;)*
                Some(())
            }
        }

        impl FunctionView<'_> {
            /// Appends the function with all its tables to `out`, for [`ModuleBuffer::read_function`].
            pub fn write(&self, out: &mut Vec<u8>) {
                self.function.head.write(out);
                self.function.data_offset.write(out);
                $(<$entry>::write_list(self.$pool, out);)*
            }
        }
    };
}

pools! {
    /// Machine code, followed by jump tables.
    code: u8,
    /// Relocations.
    relocs: Reloc,
    /// Symbols that the relocations refer to.
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
    /// Places of values, for debuggers, by value and offset.
    values: ValueSite,
    /// Values that are constants, for debuggers, by value.
    constants: ValueConstant,
    /// Names of the source's variables. If there are any, `values` and `constants` have their indices as numbers.
    variables: Arc<str>,
    /// Unwind operations.
    unwind: UnwindSite,
    /// Offsets of the emitted blocks.
    blocks: u32,
    /// Heads of the emitted blocks, by offset.
    block_heads: BlockHead,
    /// Edges between the emitted blocks, block by block.
    block_edges: BlockEdge,
}

impl<'a> FunctionView<'a> {
    /// Returns the handlers of the call that returns to `return_offset`, in the order of its exception table.
    pub fn handlers_at(&self, return_offset: u32) -> &'a [HandlerSite] {
        let start = self.handlers.partition_point(|handler| handler.return_offset < return_offset);
        let len = self.handlers[start..].partition_point(|handler| handler.return_offset == return_offset);
        &self.handlers[start..start + len]
    }
}

impl ModuleBuffer {
    /// Clears the buffer, keeping its memory.
    pub fn clear(&mut self) {
        self.functions.clear();
        self.pools.clear();
    }

    /// Returns the number of functions.
    pub fn len(&self) -> usize {
        self.functions.len()
    }

    /// Returns `true` if there is no function.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// Returns the number of bytes of code of all functions.
    pub fn code_bytes(&self) -> usize {
        self.pools.code.len()
    }

    /// Returns `true` if any function has handlers, stack maps, tags, patchable calls or slots with keys.
    pub fn has_sites(&self) -> bool {
        let Pools { handlers, stack_maps, debug_tags, patchable_calls, keyed_slots, .. } = &self.pools;
        let has_tables = !(handlers.is_empty() && stack_maps.is_empty() && debug_tags.is_empty());
        has_tables || !patchable_calls.is_empty() || !keyed_slots.is_empty()
    }

    /// Returns all functions in order of compilation.
    pub fn functions(&self) -> impl ExactSizeIterator<Item = FunctionView<'_>> {
        (0..self.len()).map(|index| self.function(index))
    }

    /// Returns one function.
    ///
    /// # Panics
    /// If there is no function `index`.
    pub fn function(&self, index: usize) -> FunctionView<'_> {
        self.pools.view(&self.functions[index], &self.ends(index))
    }

    /// Returns the ends of the first `count` functions in the pools.
    fn ends(&self, count: usize) -> Ends {
        count.checked_sub(1).map_or_else(Ends::default, |last| self.functions[last].ends)
    }

    /// Returns the number of bytes of code of the function added last.
    pub fn last_code_bytes(&self) -> usize {
        self.functions.last().map_or(0, |function| function.ends.code - self.ends(self.len() - 1).code)
    }

    /// Removes the last function.
    pub fn pop_function(&mut self) {
        self.functions.pop();
        self.discard_unfinished();
    }

    /// Removes the entries of the pools after the last function, which an error or a caught panic left there.
    pub fn discard_unfinished(&mut self) {
        let ends = self.ends(self.len());
        self.pools.truncate(&ends);
    }

    /// Appends all functions of `other`.
    pub fn append(&mut self, other: &ModuleBuffer) {
        for view in other.functions() {
            self.append_function(&view);
        }
    }

    /// Appends one function of another buffer.
    pub fn append_function(&mut self, view: &FunctionView<'_>) {
        self.pools.extend(view);
        self.push_function(view.function.head.clone(), view.function.data_offset);
    }

    /// Appends the function that [`FunctionView::write`] wrote. Returns `None`, and leaves the buffer unchanged, if the
    /// bytes are not a function. The tables of a function are not checked against one another.
    pub fn read_function(&mut self, mut bytes: &[u8]) -> Option<()> {
        let input = &mut bytes;
        let (head, data_offset) = (Stored::read(input)?, u32::read(input)?);
        match self.pools.read(input) {
            Some(()) if input.is_empty() => {
                self.push_function(head, data_offset);
                Some(())
            }
            _ => {
                self.discard_unfinished();
                None
            }
        }
    }

    /// Adds a function that consists of all entries of the pools after the last function.
    pub(crate) fn push_function(&mut self, head: FunctionHead, data_offset: u32) {
        let ends = self.pools.ends();
        self.functions.push(CompiledFunction { head, data_offset, ends });
    }
}
