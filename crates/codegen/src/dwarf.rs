//! DWARF numbers of registers, for writers of unwind information.

use kingpost_regalloc::{PReg, RegClass};

/// Numbers and constants of an architecture in DWARF.
#[derive(Clone, Copy, Debug)]
pub struct DwarfRegisters {
    /// The number of the stack pointer.
    pub stack_pointer: u8,
    /// The number of the frame pointer.
    pub frame_pointer: u8,
    /// The column of the return address: a register, or a separate column.
    pub return_address: u8,
    /// Factor of code offsets, in bytes.
    pub code_align: u8,
    /// Bytes between the stack pointer and the CFA at the start of a function, which the call has pushed.
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

    /// Returns the DWARF number of a register.
    pub fn number(&self, reg: PReg) -> u8 {
        (self.number)(reg)
    }
}
