//! Unwind operations as `.eh_frame`: one CIE, one FDE per function (System V ABI, section 4.2.4; DWARF 5, section 6.4).

use crate::relocated::Relocated;
use gimli::write::{
    Address, CallFrameInstruction, CommonInformationEntry, EhFrame, FrameDescriptionEntry, FrameTable, Result,
};
use gimli::{DwEhPe, Encoding, Format, Register, constants};
use kingpost_mach::{ModuleBuffer, UnwindOp};
use kingpost_regalloc::{PReg, RegClass};
use object::Architecture;

/// What DWARF calls the registers of an architecture.
struct Registers {
    stack_pointer: Register,
    frame_pointer: Register,
    return_address: Register,
    number: fn(PReg) -> u16,
}

const X86_64: Registers = Registers {
    stack_pointer: Register(7),
    frame_pointer: Register(6),
    return_address: Register(16),
    number: |reg| match reg.class() {
        // rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi (System V ABI for AMD64, figure 3.36).
        RegClass::Int if reg.enc() < 8 => [0, 2, 1, 3, 7, 6, 4, 5][usize::from(reg.enc())],
        RegClass::Int => u16::from(reg.enc()),
        RegClass::Float => 17 + u16::from(reg.enc()),
    },
};

const AARCH64: Registers = Registers {
    stack_pointer: Register(31),
    frame_pointer: Register(29),
    return_address: Register(30),
    number: |reg| u16::from(reg.enc()) + if reg.class() == RegClass::Float { 64 } else { 0 },
};

/// Contents of the section for all functions of `module`.
pub(crate) fn write(module: &ModuleBuffer, architecture: Architecture) -> Result<Relocated> {
    let x86 = architecture == Architecture::X86_64;
    let registers = if x86 { &X86_64 } else { &AARCH64 };
    let encoding = Encoding { address_size: 8, format: Format::Dwarf32, version: 1 };
    let code_align = if x86 { 1 } else { 4 };
    let mut cie = CommonInformationEntry::new(encoding, code_align, -8, registers.return_address);
    cie.fde_address_encoding = DwEhPe(constants::DW_EH_PE_pcrel.0 | constants::DW_EH_PE_sdata4.0);
    if x86 {
        cie.add_instruction(CallFrameInstruction::Cfa(registers.stack_pointer, 8));
        cie.add_instruction(CallFrameInstruction::Offset(registers.return_address, -8));
    } else {
        cie.add_instruction(CallFrameInstruction::Cfa(registers.stack_pointer, 0));
    }
    let mut table = FrameTable::default();
    let cie = table.add_cie(cie);
    for (index, f) in module.functions().enumerate() {
        let mut fde = FrameDescriptionEntry::new(Address::Symbol { symbol: index, addend: 0 }, f.code.len() as u32);
        for site in f.unwind {
            fde.add_instruction(site.offset, instruction(site.op, registers));
        }
        table.add_fde(cie, fde);
    }
    let mut frame = EhFrame(Relocated::new());
    table.write_eh_frame(&mut frame)?;
    Ok(frame.0)
}

fn instruction(op: UnwindOp, registers: &Registers) -> CallFrameInstruction {
    let number = |reg| Register((registers.number)(reg));
    match op {
        UnwindOp::CfaStackPointer(bytes) => CallFrameInstruction::Cfa(registers.stack_pointer, bytes as i32),
        UnwindOp::CfaPopped(bytes) => CallFrameInstruction::Cfa(registers.stack_pointer, -(bytes as i32)),
        UnwindOp::CfaFramePointer(bytes) => CallFrameInstruction::Cfa(registers.frame_pointer, bytes as i32),
        UnwindOp::Saved(reg, below) => CallFrameInstruction::Offset(number(reg), -(below as i32)),
        UnwindOp::Restored(reg) => CallFrameInstruction::Restore(number(reg)),
        UnwindOp::SignedReturnToggled => CallFrameInstruction::NegateRaState,
        UnwindOp::EpilogueBegin => CallFrameInstruction::RememberState,
        UnwindOp::EpilogueEnd => CallFrameInstruction::RestoreState,
    }
}
