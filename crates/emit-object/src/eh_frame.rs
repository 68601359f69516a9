//! Unwind operations as `.eh_frame`: one CIE, one FDE per function (System V ABI, section 4.2.4; DWARF 5, section 6.4).

use crate::relocated::Relocated;
use gimli::write::{
    Address, CallFrameInstruction, CommonInformationEntry, EhFrame, FrameDescriptionEntry, FrameTable, Result,
};
use gimli::{DwEhPe, Encoding, Format, Register, constants};
use kingpost_codegen::DwarfRegisters;
use kingpost_mach::{ModuleBuffer, UnwindOp};
use object::Architecture;

/// Symbol of relocations that refer to the pointer to the personality routine.
pub(crate) const PERSONALITY: usize = usize::MAX;
/// Symbol of relocations that refer to the start of `.gcc_except_table`.
pub(crate) const EXCEPT_TABLE: usize = usize::MAX - 1;
const RELATIVE: DwEhPe = DwEhPe(constants::DW_EH_PE_pcrel.0 | constants::DW_EH_PE_sdata4.0);

/// Returns the contents of the section for all functions of `module`. A function with an offset into
/// `.gcc_except_table` in `handlers` refers to the table and to the personality routine.
pub(crate) fn write(module: &ModuleBuffer, architecture: Architecture, handlers: &[Option<u64>]) -> Result<Relocated> {
    let registers = registers(architecture);
    let encoding = Encoding { address_size: 8, format: Format::Dwarf32, version: 1 };
    let return_address = register(registers.return_address);
    let mut cie = CommonInformationEntry::new(encoding, registers.code_align, -8, return_address);
    cie.fde_address_encoding = RELATIVE;
    let entry_bytes = i32::from(registers.entry_bytes);
    cie.add_instruction(CallFrameInstruction::Cfa(register(registers.stack_pointer), entry_bytes));
    if entry_bytes > 0 {
        cie.add_instruction(CallFrameInstruction::Offset(return_address, -8));
    }
    let mut table = FrameTable::default();
    let mut catching = cie.clone();
    let pointer = Address::Symbol { symbol: PERSONALITY, addend: 0 };
    catching.personality = Some((DwEhPe(RELATIVE.0 | constants::DW_EH_PE_indirect.0), pointer));
    catching.lsda_encoding = Some(RELATIVE);
    let cie = table.add_cie(cie);
    let catching = handlers.iter().any(Option::is_some).then(|| table.add_cie(catching));
    for (index, f) in module.functions().enumerate() {
        let mut fde = FrameDescriptionEntry::new(Address::Symbol { symbol: index, addend: 0 }, f.code.len() as u32);
        for site in f.unwind {
            if let Some(instruction) = instruction(site.op, registers) {
                fde.add_instruction(site.offset, instruction);
            }
        }
        let start = handlers.get(index).copied().flatten();
        fde.lsda = start.map(|start| Address::Symbol { symbol: EXCEPT_TABLE, addend: start as i64 });
        table.add_fde(catching.filter(|_| start.is_some()).unwrap_or(cie), fde);
    }
    let mut frame = EhFrame(Relocated::new());
    table.write_eh_frame(&mut frame)?;
    Ok(frame.0)
}

/// Returns the DWARF numbers of an architecture's registers.
pub(crate) fn registers(architecture: Architecture) -> &'static DwarfRegisters {
    match architecture {
        Architecture::X86_64 => &DwarfRegisters::X86_64,
        _ => &DwarfRegisters::AARCH64,
    }
}

fn instruction(op: UnwindOp, registers: &DwarfRegisters) -> Option<CallFrameInstruction> {
    let number = |reg| register(registers.number(reg));
    let stack_pointer = register(registers.stack_pointer);
    Some(match op {
        UnwindOp::CfaStackPointer(bytes) => CallFrameInstruction::Cfa(stack_pointer, bytes as i32),
        UnwindOp::CfaPopped(bytes) => CallFrameInstruction::Cfa(stack_pointer, -(bytes as i32)),
        UnwindOp::CfaFramePointer(bytes) => CallFrameInstruction::Cfa(register(registers.frame_pointer), bytes as i32),
        UnwindOp::Saved(reg, below) => CallFrameInstruction::Offset(number(reg), -(below as i32)),
        UnwindOp::Restored(reg) => CallFrameInstruction::Restore(number(reg)),
        UnwindOp::SignedReturnToggled => CallFrameInstruction::NegateRaState,
        UnwindOp::EpilogueBegin => CallFrameInstruction::RememberState,
        UnwindOp::EpilogueEnd => CallFrameInstruction::RestoreState,
        UnwindOp::Allocated(_) => return None,
    })
}

fn register(number: u8) -> Register {
    Register(number.into())
}
