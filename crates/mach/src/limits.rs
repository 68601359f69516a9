//! Resource limits of a function, and its meter.

use crate::error::LowerError;
use kingpost_meter::Meter;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Makes the structure, its defaults, its names and [`Limits::set`] from a table with a row for each limit: its name, its
/// default, and its documentation.
macro_rules! limits {
    ($($name:ident = $default:expr, $doc:literal;)+) => {
        /// Resource limits of one function. Exceeding a limit is an error that names it, and never a crash or an
        /// endless loop.
        ///
        /// A caller that compiles untrusted functions lowers them. They cannot be raised above the defaults, which are
        /// the ranges of offsets and ids.
        ///
        /// ```
        /// use kingpost_mach::Limits;
        ///
        /// let mut limits = Limits::default().with(|limits| limits.instructions = 100_000);
        /// assert!(limits.set("work", 5_000_000) && !limits.set("time", 1));
        /// assert_eq!(limits.work, 5_000_000);
        /// ```
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[non_exhaustive]
        pub struct Limits { $(#[doc = $doc] pub $name: u64,)+ }

        impl Default for Limits {
            fn default() -> Limits {
                Limits { $($name: $default,)+ }
            }
        }

        impl Limits {
            /// Names of the limits, in the order of the fields.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),+];

            /// Returns the limits after `change`.
            #[must_use]
            pub fn with(mut self, change: impl FnOnce(&mut Limits)) -> Limits {
                change(&mut self);
                self
            }

            /// Sets the limit of this name. Returns `false` if there is none.
            pub fn set(&mut self, name: &str, value: u64) -> bool {
                match name {
                    $(stringify!($name) => self.$name = value,)+
                    _ => return false,
                }
                true
            }

            /// Returns these limits where they are lower than the defaults, else the defaults.
            #[must_use]
            pub fn clamped(self) -> Limits {
                Limits { $($name: self.$name.min($default),)+ }
            }
        }
    };
}

limits! {
    instructions = 1 << 28, "Number of instructions, before lowering and after.";
    vregs = 1 << 30, "Number of virtual registers.";
    frame_bytes = (1 << 31) - 4096, "Bytes of the frame, and of the user's stack slots in it.";
    code_bytes = 1 << 31, "Bytes of code with its constants and jump tables.";
    work = u64::MAX, "Work units of all stages together. A unit is about one instruction, operand, block or live range that one stage examines. Equal functions and settings take equal work on every machine.";
    bytes = u64::MAX, "Bytes of the memory that compilation takes on the heap: the function, and the memory of all stages. The emitted code is not included. A context with this limit keeps no memory from function to function.";
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
