//! What DWARF calls the registers of each architecture, for writers of unwind information.

use kingpost_regalloc::{PReg, RegClass};

/// DWARF's view of an architecture.
#[derive(Clone, Copy, Debug)]
pub struct DwarfRegisters {
    /// The stack pointer's number.
    pub stack_pointer: u8,
    /// The frame pointer's number.
    pub frame_pointer: u8,
    /// Place of the return address: a register, or a column of its own.
    pub return_address: u8,
    /// Bytes by which code offsets are divided.
    pub code_align: u8,
    /// Bytes between the stack pointer and the CFA at a function's start: what the call has pushed.
    pub entry_bytes: u8,
    number: fn(PReg) -> u8,
}

impl DwarfRegisters {
    /// System V ABI for AMD64, figure 3.36.
    pub const X86_64: DwarfRegisters = DwarfRegisters {
        stack_pointer: 7,
        frame_pointer: 6,
        return_address: 16,
        code_align: 1,
        entry_bytes: 8,
        number: |reg| match reg.class() {
            // rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi.
            RegClass::Int if reg.enc() < 8 => [0, 2, 1, 3, 7, 6, 4, 5][usize::from(reg.enc())],
            RegClass::Int => reg.enc(),
            RegClass::Float => 17 + reg.enc(),
        },
    };

    /// DWARF for the Arm 64-bit Architecture, section 4.1.
    pub const AARCH64: DwarfRegisters = DwarfRegisters {
        stack_pointer: 31,
        frame_pointer: 29,
        return_address: 30,
        code_align: 4,
        entry_bytes: 0,
        number: |reg| match reg.class() {
            RegClass::Int => reg.enc(),
            RegClass::Float => 64 + reg.enc(),
        },
    };

    /// Returns the number of a register.
    pub fn number(&self, reg: PReg) -> u8 {
        (self.number)(reg)
    }
}
