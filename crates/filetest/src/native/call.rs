//! Calls of compiled functions: their arguments and results.

use kingpost_interpreter::DataValue;
use kingpost_ir::{TrapCode, Type};
use target_lexicon::Architecture;

use crate::native::trampoline::SLOT_BYTES;
use crate::outcome::Ending;

/// Largest number of values of a call.
pub(crate) const MAX_SLOTS: usize = 4096;
/// CPU time of all calls of a unit together, in seconds, unless another limit is requested.
pub(crate) const SECONDS: u32 = 10;
/// Byte that fills the slot above a narrower argument.
const GARBAGE: u8 = 0xa5;
/// Registers that calls preserve, in the order in which they are compared.
const PRESERVED_X64: &[&str] = &["rsp", "rbx", "rbp", "r12", "r13", "r14", "r15"];
/// Registers that calls preserve on AArch64; only the low halves of vector registers are preserved.
const PRESERVED_AARCH64: &[&str] = &[
    "sp", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "d8", "d9", "d10", "d11", "d12",
    "d13", "d14", "d15",
];
/// Largest distance in bytes from the stack pointer at which a fault counts as stack exhaustion.
const STACK_REACH: u64 = 1 << 16;

/// A call of a function through its trampoline.
#[derive(Clone, Debug)]
pub struct Request {
    /// Index of the trampoline in the module.
    pub trampoline: u32,
    /// Arguments of the function.
    pub arguments: Vec<DataValue>,
    /// The types of the results.
    pub results: Vec<Type>,
}

impl Request {
    /// Returns the arguments in the form that the trampoline reads.
    pub(crate) fn slots(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.arguments.len() * SLOT_BYTES);
        for argument in &self.arguments {
            let mut slot = [GARBAGE; SLOT_BYTES];
            let size = argument.ty().bytes() as usize;
            slot[..size].copy_from_slice(&argument.bits().to_le_bytes()[..size]);
            bytes.extend_from_slice(&slot);
        }
        bytes
    }

    /// Returns the ending of a call that left these results, or `None` if some are missing.
    pub(crate) fn returned(&self, slots: &[u8]) -> Option<Ending> {
        let (slots, _) = slots.as_chunks::<SLOT_BYTES>();
        let values = self.results.iter().zip(slots).map(|(&ty, slot)| DataValue::new(ty, u128::from_le_bytes(*slot)));
        (slots.len() >= self.results.len()).then(|| Ending::Returned(values.collect()))
    }

    /// Returns the number of slots, which is the greater of the numbers of arguments and results.
    pub(crate) fn count(&self) -> usize {
        self.arguments.len().max(self.results.len())
    }
}

/// Returns the registers that calls preserve on a machine, in the order in which they are compared.
pub(crate) fn preserved(architecture: Architecture) -> &'static [&'static str] {
    if architecture == Architecture::X86_64 { PRESERVED_X64 } else { PRESERVED_AARCH64 }
}

/// Returns the ending of a call that did not preserve a register. `register` is its index in [`preserved`].
pub(crate) fn clobbered(architecture: Architecture, register: usize) -> Ending {
    Ending::Wrong(format!("did not preserve {}", preserved(architecture).get(register).unwrap_or(&"a register")))
}

pub(crate) fn died() -> Ending {
    Ending::Wrong("killed the process".into())
}

pub(crate) fn late() -> Ending {
    Ending::Wrong("did not return in time".into())
}

pub(crate) fn not_run() -> Ending {
    Ending::Wrong("was not run: earlier calls used up the time".into())
}

/// A signal that stopped a call, and its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub(crate) signal: i32,
    pub(crate) pc: u64,
    pub(crate) address: u64,
    pub(crate) sp: u64,
    /// Architecture of the machine.
    pub(crate) architecture: Architecture,
}

impl Fault {
    const SIGTRAP: i32 = 5;
    const SIGSEGV: i32 = 11;

    /// Returns the ending of the call. `code_at` returns the trap code of the instruction at an address.
    pub(crate) fn ending(self, code_at: impl Fn(u64) -> Option<TrapCode>) -> Ending {
        // This processor reports a breakpoint at the address after it.
        let behind = self.signal == Self::SIGTRAP && self.architecture == Architecture::X86_64;
        let pc = self.pc.saturating_sub(u64::from(behind));
        let exhausted = self.signal == Self::SIGSEGV && self.address.abs_diff(self.sp) < STACK_REACH;
        Ending::Trapped(code_at(pc).or(exhausted.then_some(TrapCode::STACK_OVERFLOW)))
    }
}
