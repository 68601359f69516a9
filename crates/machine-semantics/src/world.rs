//! The surroundings of an instruction: memory, faults and unspecified bits.

use kingpost_smt::{Sort, Term, Terms};
use std::fmt;

/// Order of an access to memory relative to others.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Order {
    /// An access that is not atomic.
    Plain,
    /// An access of AArch64 with acquire or release semantics (`ldar`, `stlr`).
    Synchronizing,
    /// The load of an exclusive pair with acquire semantics (`ldaxr`), or the store of one with release semantics
    /// (`stlxr`).
    Exclusive,
    /// The load or the store of an exclusive pair that orders no other access (`ldxr`, `stxr`).
    ExclusiveRelaxed,
    /// A load or store that is part of one atomic instruction (`lock xadd`, `xchg`, `ldaddal`).
    Atomic,
}

/// An access to memory.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Access {
    /// Address of the lowest byte, 64 bits.
    pub address: Term,
    /// Size in bytes, at most 16.
    pub bytes: u8,
    /// Order relative to other accesses.
    pub order: Order,
    /// Whether the processor faults if the address is not a multiple of the size.
    pub aligned: bool,
}

/// Place of an instruction in its function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct At {
    /// Address of the function, 64 bits.
    pub base: Term,
    /// Offset of the instruction from the beginning of the function, in bytes.
    pub offset: u64,
    /// Address in the relocated field of the instruction (symbol and addend, 64 bits), if the field is relocated. It
    /// replaces the immediate, the target, or the address relative to the instruction; of the fields
    /// of AArch64 that hold a part of an address, it is the whole address.
    pub symbol: Option<Term>,
}

/// Continuation of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flow {
    /// Continues with the next instruction.
    Next,
    /// Continues at an offset from the beginning of the function, in bytes; negative before it.
    Jump(i64),
    /// Continues at an offset from the beginning of the function if the condition holds, else with the next instruction.
    Branch {
        /// The condition, a boolean.
        condition: Term,
        /// Offset from the beginning of the function, in bytes.
        target: i64,
    },
    /// Continues at an address: an indirect jump, or a direct one whose target is relocated.
    Indirect(Term),
    /// Calls a function at an address. The return address is already in its place (`x30`, or stored at `rsp`).
    Call(Term),
    /// Returns to an address.
    Return(Term),
    /// Traps always (`ud2`, `udf`, `brk`).
    Trap,
}

/// Memory, faults and unspecified bits. Calls arrive in the order in which the instruction performs the effects.
pub trait World {
    /// Returns the arena of the terms.
    fn terms(&mut self) -> &mut Terms;

    /// Loads from memory. Returns a term of eight bits a byte.
    fn load(&mut self, access: Access) -> Term;

    /// Stores to memory: a term of eight bits a byte.
    fn store(&mut self, access: Access, value: Term);

    /// Stores `then` if a condition holds, and `otherwise` if it does not, as a comparison with memory chooses.
    fn store_choice(&mut self, access: Access, condition: Term, [then, otherwise]: [Term; 2]) {
        let value = self.terms().ite(condition, then, otherwise);
        self.store(access, value);
    }

    /// Raises a fault if a condition holds, as a division by zero does on x86-64.
    fn fault(&mut self, condition: Term);

    /// Orders all earlier accesses before all later ones (`mfence`, `dmb ish`).
    fn fence(&mut self);

    /// Returns a value that the manual leaves open.
    fn unspecified(&mut self, sort: Sort) -> Term;
}

/// Bytes without an instruction that this crate knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Undecoded {
    /// The bytes end within an instruction.
    Truncated,
    /// The encoding is reserved, or the instruction has no meaning here.
    Unknown,
}

impl fmt::Display for Undecoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Undecoded::Truncated => "the bytes end within an instruction",
            Undecoded::Unknown => "the instruction has no known meaning",
        })
    }
}

impl std::error::Error for Undecoded {}
