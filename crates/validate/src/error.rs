//! Verdicts, and the reasons for which a function is not proved.

use kingpost_ir::{Block, Opcode, TrapCode, Type};
use kingpost_smt::Value;
use std::fmt;

/// Verdict on a compiled function.
#[derive(Clone, PartialEq, Debug)]
pub enum Verdict {
    /// The code means what the function means.
    Proved,
    /// The code differs from the function for some inputs, in the entry block.
    Refuted(Finding),
    /// There is no proof, and no state in which code and function differ is known.
    NotProved(Finding),
    /// The function uses a feature that the validator does not know.
    OutOfScope(Feature),
}

impl Verdict {
    /// Returns the verdict as a word or two, without a reason.
    pub fn name(&self) -> &'static str {
        match self {
            Verdict::Proved => "proved",
            Verdict::Refuted(_) => "refuted",
            Verdict::NotProved(_) => "not proved",
            Verdict::OutOfScope(_) => "out of scope",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Verdict::Proved => Ok(()),
            Verdict::Refuted(finding) | Verdict::NotProved(finding) => write!(f, ": {finding}"),
            Verdict::OutOfScope(feature) => write!(f, ": {feature}"),
        }
    }
}

/// An obligation that failed, and its place.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// Block of the function whose code was examined; `None` for the prologue.
    pub block: Option<Block>,
    /// Offset of the instruction, in bytes from the start of the function.
    pub offset: u32,
    /// The obligation.
    pub fault: Fault,
    /// Whether the obligation is an equality or implication for which neither a proof nor a counterexample was found within
    /// the limits.
    pub is_undecided: bool,
    /// Values of the function and of registers at the block's head for which the obligation does not hold.
    pub state: Vec<(String, Value)>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.block {
            Some(block) => write!(f, "{block}, code+{:#x}: {}", self.offset, self.fault)?,
            None => write!(f, "entry, code+{:#x}: {}", self.offset, self.fault)?,
        }
        if self.is_undecided {
            f.write_str("; undecided within the limits")?;
        }
        for (number, (name, value)) in self.state.iter().enumerate() {
            let separator = if number == 0 { "; for " } else { ", " };
            match value {
                Value::Bool(value) => write!(f, "{separator}{name} = {value}")?,
                Value::Bits(bits) => write!(f, "{separator}{name} = {}", bits.unsigned())?,
            }
        }
        Ok(())
    }
}

/// Obligation of emitted code that was not shown to hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// An instruction does not begin or end within the code.
    OutsideCode,
    /// Bytes without a known instruction.
    Instruction,
    /// An instruction that the processor lacks, by the feature that it needs.
    Processor(&'static str),
    /// The code executes an instruction twice without reaching the head of a block, or has very many paths.
    Unbounded,
    /// The relation between values and places did not settle within the limit of steps.
    Unsettled,
    /// A load that the function does not have at this point.
    Load,
    /// A store where the function has none.
    Store,
    /// The address of a store.
    StoreAddress,
    /// The number of bytes that are stored.
    StoreWidth,
    /// The stored value.
    StoredValue,
    /// An access of 16 bytes that faults unless its address is a multiple of 16, which the function does not say.
    Alignment,
    /// An access that may trap, without its code in the table of traps.
    AccessTrap(TrapCode),
    /// A call where the function has none.
    Call,
    /// The function that is called.
    Callee,
    /// An argument of a call, by its number.
    Argument(u32),
    /// The handlers of a call: their tags, contexts, or the stack pointer with which they begin.
    Handlers,
    /// The place of the results of a call that are in memory.
    ResultArea,
    /// The alignment of the stack pointer at a call.
    StackAlignment,
    /// A stack slot below the stack pointer.
    SlotBelowStackPointer,
    /// The frame pointer at a call, and the words that it points to.
    FrameChain,
    /// The check of the stack limit in the prologue: that it is there, and the bytes that it checks.
    StackLimit,
    /// The bytes that the probe routine touches in the prologue.
    Probe,
    /// An atomic access where the function has none.
    Atomic,
    /// A fence where the function has none.
    Fence,
    /// A trap that the function does not have at this point.
    Trap,
    /// An instruction that traps with no code in the table of traps.
    UnlistedTrap,
    /// An effect of the function that the code omits.
    Omitted(&'static str),
    /// The block that follows.
    Successor,
    /// A return where the function has none.
    Return,
    /// A result, by its number.
    Result(u32),
    /// The address to which the code returns.
    ReturnAddress,
    /// The stack pointer at the return.
    StackPointer,
    /// A register of the caller at the return, by its name.
    SavedRegister(&'static str),
    /// The target of an indirect jump.
    IndirectJump,
    /// A place of a stack slot in memory that does not belong to the frame.
    SlotPlace,
    /// A store to memory of the caller.
    CallerMemory,
    /// A load of memory of the stack that is not memory of the frame.
    FrameLoad,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::OutsideCode => f.write_str("execution leaves the code"),
            Fault::Instruction => f.write_str("the bytes have no known meaning"),
            Fault::Processor(feature) => write!(f, "the instruction needs a processor with `{feature}`"),
            Fault::Unbounded => f.write_str("the paths through the block have no known end"),
            Fault::Unsettled => f.write_str("the places of values did not settle within the limit"),
            Fault::Load => f.write_str("the function has no such load here"),
            Fault::Store => f.write_str("the function has no store here"),
            Fault::StoreAddress => f.write_str("the address of the store differs"),
            Fault::StoreWidth => f.write_str("the width of the store differs"),
            Fault::StoredValue => f.write_str("the stored value differs"),
            Fault::Alignment => f.write_str("the access may not be aligned"),
            Fault::AccessTrap(code) => write!(f, "the access is not listed with the trap code {code}"),
            Fault::Call => f.write_str("the function has no call here"),
            Fault::Callee => f.write_str("the called function differs"),
            Fault::Argument(number) => write!(f, "argument {number} differs"),
            Fault::Handlers => f.write_str("the table of handlers differs"),
            Fault::ResultArea => f.write_str("results of the call have no place in the frame"),
            Fault::StackAlignment => f.write_str("the stack pointer is not aligned at the call"),
            Fault::SlotBelowStackPointer => f.write_str("a stack slot is below the stack pointer"),
            Fault::FrameChain => f.write_str("the frame pointer does not point to a frame at the call"),
            Fault::StackLimit => f.write_str("the checked bytes of the stack are not the bytes of the frame"),
            Fault::Probe => f.write_str("the probed bytes are not the bytes of the frame"),
            Fault::Atomic => f.write_str("the function has no such atomic access here"),
            Fault::Fence => f.write_str("the function has no fence here"),
            Fault::Trap => f.write_str("the function does not trap here in this way"),
            Fault::UnlistedTrap => f.write_str("the trap is not listed"),
            Fault::Omitted(what) => write!(f, "the code omits {what}"),
            Fault::Successor => f.write_str("the function continues in another block"),
            Fault::Return => f.write_str("the function does not return here"),
            Fault::Result(number) => write!(f, "result {number} differs"),
            Fault::ReturnAddress => f.write_str("the return address differs"),
            Fault::StackPointer => f.write_str("the stack pointer differs at the return"),
            Fault::SavedRegister(name) => write!(f, "{name} is not restored"),
            Fault::IndirectJump => f.write_str("the target of the jump is not known"),
            Fault::SlotPlace => f.write_str("a stack slot has a place outside the frame"),
            Fault::CallerMemory => f.write_str("the code writes to memory of the caller"),
            Fault::FrameLoad => f.write_str("the code reads memory of the stack outside of its frame"),
        }
    }
}

/// Feature that the validator does not know.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Feature {
    /// Values of a type.
    Type(Type),
    /// An opcode, at the types of its operands.
    Opcode(Opcode),
    /// A part of a signature.
    Signature(&'static str),
    /// A relocation of the code.
    Relocation(&'static str),
    /// A part of the function's preamble.
    Preamble(&'static str),
    /// A function with more values and blocks than the validator examines.
    Size,
    /// A table of the code that was not recorded.
    Tables,
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Feature::Type(ty) if ty.is_vector() => write!(f, "vector type {ty} is not supported"),
            Feature::Type(ty) => write!(f, "type {ty} is not supported"),
            Feature::Opcode(opcode) => write!(f, "{opcode} is not supported"),
            Feature::Signature(what) => write!(f, "{what} in a signature is not supported"),
            Feature::Relocation(what) => write!(f, "{what} is not supported"),
            Feature::Preamble(what) => write!(f, "{what} is not supported"),
            Feature::Size => f.write_str("a function of this size is not supported"),
            Feature::Tables => f.write_str("code without offsets of blocks is not supported"),
        }
    }
}

impl std::error::Error for Feature {}
