//! Resource limits of a function, and its meter.

use crate::error::LowerError;
use kingpost_meter::Meter;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Resource limits of one function. Exceeding a limit is an error that names it, and never a crash or an endless loop.
///
/// A caller that compiles untrusted functions lowers them. They cannot be raised above the defaults, which are the
/// ranges of offsets and ids.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// Number of instructions, before lowering and after.
    pub instructions: u64,
    /// Number of virtual registers.
    pub vregs: u64,
    /// Bytes of the frame, and of the user's stack slots in it.
    pub frame_bytes: u64,
    /// Bytes of code with its constants and jump tables.
    pub code_bytes: u64,
    /// Work units of all stages together. A unit is about one instruction, operand, block or live range that one stage
    /// examines. Equal functions and settings take equal work on every machine.
    pub work: u64,
    /// Bytes of the memory that compilation takes on the heap: the function, and the memory of all stages. The emitted
    /// code is not included. A context with this limit keeps no memory from function to function.
    pub bytes: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            instructions: 1 << 28,
            vregs: 1 << 30,
            frame_bytes: (1 << 31) - 4096,
            code_bytes: 1 << 31,
            work: u64::MAX,
            bytes: u64::MAX,
        }
    }
}

impl Limits {
    /// Returns the limits after `change`.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Limits)) -> Limits {
        change(&mut self);
        self
    }

    /// Names of the limits, in the order of the fields.
    pub const NAMES: [&'static str; 6] = ["instructions", "vregs", "frame_bytes", "code_bytes", "work", "bytes"];

    /// Sets the limit of this name. Returns `false` if there is none.
    pub fn set(&mut self, name: &str, value: u64) -> bool {
        let limit = match name {
            "instructions" => &mut self.instructions,
            "vregs" => &mut self.vregs,
            "frame_bytes" => &mut self.frame_bytes,
            "code_bytes" => &mut self.code_bytes,
            "work" => &mut self.work,
            "bytes" => &mut self.bytes,
            _ => return false,
        };
        *limit = value;
        true
    }

    /// Returns these limits where they are lower than the defaults, else the defaults.
    #[must_use]
    pub fn clamped(self) -> Limits {
        let most = Limits::default();
        Limits {
            instructions: self.instructions.min(most.instructions),
            vregs: self.vregs.min(most.vregs),
            frame_bytes: self.frame_bytes.min(most.frame_bytes),
            code_bytes: self.code_bytes.min(most.code_bytes),
            work: self.work,
            bytes: self.bytes,
        }
    }
}

/// Limits, and the meter that counts work and bytes against them.
#[derive(Clone, Default, Debug)]
pub struct Guard {
    /// Limits of each function.
    pub limits: Limits,
    /// Meter of the function that is compiled.
    pub meter: Arc<Meter>,
}

impl Guard {
    /// Returns a guard with a new meter. Another thread sets `cancel` to cancel compilation.
    pub fn new(limits: Limits, cancel: Option<Arc<AtomicBool>>) -> Guard {
        Guard { limits, meter: Arc::new(Meter::new(limits.work, limits.bytes, cancel)) }
    }
}

/// Checks an amount against its limit.
///
/// # Errors
/// [`LowerError::TooLarge`] if the amount exceeds the limit.
pub fn check_limit(what: &'static str, amount: u64, limit: u64) -> Result<(), LowerError> {
    if amount > limit { Err(LowerError::TooLarge { what, limit }) } else { Ok(()) }
}
