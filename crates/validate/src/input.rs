//! Compiled code as the validator reads it.

use kingpost_ir::{Block, TrapCode};

/// An instruction set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Machine {
    /// x86-64.
    X64,
    /// AArch64.
    Aarch64,
}

/// The bytes of a function and the tables about them. Offsets are bytes from the start of the function. Tables ascend
/// by offset.
///
/// No table is trusted to be right: a wrong one makes a proof fail.
#[derive(Clone, Debug)]
pub struct Code<'a> {
    /// The instruction set.
    pub machine: Machine,
    /// Features of the processor beyond the base of the architecture, such as `bmi2` and `lse`.
    pub features: Vec<&'static str>,
    /// Whether each NaN that arithmetic returns is replaced by the canonical one.
    pub canonical_nans: bool,
    /// Whether x86-64 returns a third integer in rcx, as LLVM does.
    pub llvm_results: bool,
    /// Instructions, and jump tables after them.
    pub bytes: &'a [u8],
    /// Offset of the first byte after the instructions.
    pub end: u32,
    /// Offset of the first instruction of each block that was emitted.
    pub heads: Vec<(Block, u32)>,
    /// Instructions that may trap.
    pub traps: Vec<(u32, TrapCode)>,
    /// Handlers of exceptions, call by call. Handlers of one call are in the order of its exception table.
    pub handlers: Vec<Handler>,
    /// Number of bytes by which the stack pointer is below the frame pointer where a handler begins.
    pub body_offset: i64,
    /// Number of bytes from the stack pointer of the body to the stack pointer before the call that entered the function, if
    /// a table tells it.
    pub frame_bytes: Option<i64>,
    /// Fields whose contents the linker writes.
    pub relocations: Vec<Relocation>,
    /// Offset of each stack slot in bytes from the stack pointer before the call that entered the function. It is
    /// negative.
    pub slots: Vec<i64>,
}

/// A handler of exceptions that a call raises.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Handler {
    /// Offset of the first instruction after the call.
    pub return_offset: u32,
    /// The tag that matches; `None` for all tags without a handler.
    pub tag: Option<u32>,
    /// Offset of the handler's first instruction.
    pub offset: u32,
    /// Place of the value that the runtime receives with the tag.
    pub context: Option<ContextPlace>,
}

/// Place of a value during a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ContextPlace {
    /// A general register, by the number in its encoding.
    General(usize),
    /// The low half of a vector register.
    Vector(usize),
    /// Memory, by its offset in bytes above the stack pointer.
    Stack(u32),
}

/// A field that the linker writes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Relocation {
    /// Offset of the field.
    pub offset: u32,
    /// Value of the field.
    pub kind: RelocationKind,
    /// Name of the symbol as the text of functions writes it: `%word` or `uN:M`.
    pub symbol: Symbol,
    /// Number of bytes added to the symbol's address.
    pub addend: i64,
}

/// A symbol that the linker resolves.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Symbol {
    /// A function or a data object, by its name.
    Named(String),
    /// Read-only memory with these contents.
    Literal(Vec<u8>),
}

/// Value that the linker writes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RelocationKind {
    /// The address, or a part of it that the instruction completes.
    Address,
    /// The distance from the field to the address.
    Distance,
    /// The address of a word that holds the symbol's address, or a part of it.
    Pointer,
    /// The distance from the field to a word that holds the symbol's address.
    PointerDistance,
    /// A value that the validator does not know, by its name.
    Other(&'static str),
}
