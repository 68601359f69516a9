//! The two instruction sets under one interface: decoded instructions, and the roles of registers.

use crate::input::Machine;
use kingpost_machine_semantics::{At, Flow, State, Undecoded, World, a64, x64};
use kingpost_smt::Terms;

/// A decoded instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Decoded {
    X64(x64::Instruction),
    A64(a64::Instruction),
}

/// Number of bytes below the stack pointer that signal handlers do not overwrite (System V ABI, AMD64 supplement,
/// section 3.2.2). AAPCS64 has none (section 6.4.5.1).
const RED_ZONE: i64 = 128;

impl Machine {
    /// Decodes the instruction at the beginning of `bytes`. Returns it and its length in bytes.
    pub(crate) fn decode(self, bytes: &[u8]) -> Result<(Decoded, usize), Undecoded> {
        match self {
            Machine::X64 => x64::decode(bytes).map(|(instruction, len)| (Decoded::X64(instruction), len)),
            Machine::Aarch64 => a64::decode(bytes).map(|(instruction, len)| (Decoded::A64(instruction), len)),
        }
    }

    /// Returns the number of the stack pointer among the general registers.
    pub(crate) fn stack_pointer(self) -> usize {
        match self {
            Machine::X64 => x64::RSP,
            Machine::Aarch64 => a64::SP,
        }
    }

    /// Returns the number of the frame pointer among the general registers.
    pub(crate) fn frame_pointer(self) -> usize {
        match self {
            Machine::X64 => x64::RBP,
            Machine::Aarch64 => 29,
        }
    }

    /// Returns the number of general registers, including the stack pointer.
    pub(crate) fn generals(self) -> usize {
        match self {
            Machine::X64 => 16,
            Machine::Aarch64 => 32,
        }
    }

    /// Returns the number of vector registers.
    pub(crate) fn vectors(self) -> usize {
        match self {
            Machine::X64 => 16,
            Machine::Aarch64 => 32,
        }
    }

    /// Returns a state whose registers and flags are variables with names that begin with `prefix`.
    pub(crate) fn variables(self, terms: &mut Terms, prefix: &str) -> State {
        State::variables_of(terms, prefix, self.generals().max(self.vectors()))
    }

    /// Returns the number of bytes that the call which entered the function pushed.
    pub(crate) fn pushed_by_call(self) -> i64 {
        match self {
            Machine::X64 => 8,
            Machine::Aarch64 => 0,
        }
    }

    /// Returns the number of bytes below the stack pointer that stay as they are.
    pub(crate) fn red_zone(self) -> i64 {
        match self {
            Machine::X64 => RED_ZONE,
            Machine::Aarch64 => 0,
        }
    }
}

impl Decoded {
    /// Returns the feature of the processor that the instruction needs, unless it is one of `features`.
    pub(crate) fn missing(&self, features: &[&str]) -> Option<&'static str> {
        let needed = match self {
            Decoded::X64(instruction) => instruction.feature(),
            Decoded::A64(instruction) => instruction.feature(),
        };
        // The manuals write `sse4.1`, flags `sse41`.
        let is_needed = |feature: &&str, needed: &str| needed.bytes().filter(|&byte| byte != b'.').eq(feature.bytes());
        needed.filter(|needed| !features.iter().any(|feature| is_needed(feature, needed)))
    }

    /// Executes an instruction of `len` bytes.
    pub(crate) fn step(&self, world: &mut impl World, len: usize, at: At, state: &mut State) -> Flow {
        match self {
            Decoded::X64(instruction) => x64::step(world, instruction, len, at, state),
            Decoded::A64(instruction) => a64::step(world, instruction, at, state),
        }
    }
}
