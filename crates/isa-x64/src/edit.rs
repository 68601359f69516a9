//! Emission of the allocator's edits: moves of registers, spills and fills.

use crate::encode::{RmBytes, assemble, encode};
use crate::recipe::RECIPES;
use crate::rows;
use kingpost_mach::{Args, Buffer, MachineEdit, Regs, RowId};
use kingpost_regalloc::{PReg, RegClass};

/// Emits one edit. None of these instructions changes the flags. Inlined because little remains of it in a caller
/// that knows the kind of the edit.
#[inline(always)]
pub(crate) fn emit_edit(edit: &MachineEdit, buffer: &mut Buffer) {
    let (row, regs, mem) = match *edit {
        MachineEdit::Move(from, to, width) => (move_row(from, width), Regs::of(&[to, from]), None),
        MachineEdit::Exchange(a, b, width) => {
            debug_assert_eq!(a.class(), RegClass::Int, "only general-purpose registers can be exchanged");
            let row = if width <= 4 { rows::XCHG_RR.of(32) } else { rows::XCHG_RR.of(64) };
            (row, Regs::of(&[a, b]), None)
        }
        MachineEdit::Spill(from, to, width) => (spill_row(from.class(), width), Regs::of(&[from]), Some(to)),
        MachineEdit::Fill(from, to, width) => (fill_row(to.class(), width), Regs::of(&[to]), Some(from)),
    };
    if buffer.is_listed() {
        return encode(row, &Args { mem, ..Args::regs(&regs.to_array()[..regs.len()]) }, buffer);
    }
    let place = mem.map_or(RmBytes::default(), RmBytes::in_frame);
    assemble(row, &RECIPES[usize::from(row.0)], regs, place, 0, buffer);
}

fn move_row(reg: PReg, width: u8) -> RowId {
    match (reg.class(), width) {
        (RegClass::Int, ..=4) => rows::MOV_RR.of(32),
        (RegClass::Int, _) => rows::MOV_RR.of(64),
        (RegClass::Float, _) => rows::MOVAPS_RR,
    }
}

/// Returns the row that stores `width` bytes of a register.
pub(crate) fn spill_row(class: RegClass, width: u8) -> RowId {
    match (class, width) {
        (RegClass::Int, ..=1) => rows::MOV_MR.of(8),
        (RegClass::Int, 2) => rows::MOV_MR.of(16),
        (RegClass::Int, 3..=4) => rows::MOV_MR.of(32),
        (RegClass::Int, _) => rows::MOV_MR.of(64),
        (RegClass::Float, ..=4) => rows::MOVS_MR.of(32),
        (RegClass::Float, 5..=8) => rows::MOVS_MR.of(64),
        (RegClass::Float, _) => rows::MOVUPS_MR,
    }
}

/// Returns the row that loads `width` bytes into a register and clears the bytes above.
pub(crate) fn fill_row(class: RegClass, width: u8) -> RowId {
    match (class, width) {
        (RegClass::Int, ..=1) => rows::MOVZX32_RM.of(8),
        (RegClass::Int, 2) => rows::MOVZX32_RM.of(16),
        (RegClass::Int, 3..=4) => rows::MOV_RM.of(32),
        (RegClass::Int, _) => rows::MOV_RM.of(64),
        (RegClass::Float, ..=4) => rows::MOVS_RM.of(32),
        (RegClass::Float, 5..=8) => rows::MOVS_RM.of(64),
        (RegClass::Float, _) => rows::MOVUPS_RM,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::branches::X64Branches;
    use crate::regs::{RAX, RBX, RCX, xmm};
    use kingpost_mach::{FunctionHead, JumpTables, Mem, MemBase, ModuleBuffer, SymbolName};

    fn bytes(edit: &MachineEdit) -> String {
        let (mut buffer, mut module) = (Buffer::default(), ModuleBuffer::default());
        buffer.start(0);
        emit_edit(edit, &mut buffer);
        let head = FunctionHead::of_bytes(SymbolName::User(0, 0), 1);
        buffer.finish(head, &JumpTables::default(), &[], &X64Branches, &mut module).unwrap();
        module.function(0).code.iter().map(|b| format!("{b:02x}")).collect()
    }

    #[test]
    fn edits_follow_class_and_width() {
        let slot = Mem::base(MemBase::FramePointer, -8);
        let cases = [
            (MachineEdit::Move(RAX, RBX, 4), "89c3"),
            (MachineEdit::Move(RAX, RBX, 8), "4889c3"),
            (MachineEdit::Move(xmm(1), xmm(2), 8), "0f28d1"),
            (MachineEdit::Exchange(RCX, RBX, 8), "4887d9"),
            (MachineEdit::Exchange(RCX, RAX, 4), "91"),
            (MachineEdit::Spill(RBX, slot, 4), "895df8"),
            (MachineEdit::Spill(xmm(3), slot, 16), "0f115df8"),
            (MachineEdit::Fill(slot, RBX, 8), "488b5df8"),
            (MachineEdit::Fill(slot, xmm(3), 4), "f30f105df8"),
            (MachineEdit::Fill(slot, xmm(3), 8), "f20f105df8"),
        ];
        for (edit, expected) in cases {
            assert_eq!(bytes(&edit), expected, "{edit:?}");
        }
    }
}
