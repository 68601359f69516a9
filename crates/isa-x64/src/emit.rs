//! Emission of instructions whose bytes depend on where blocks lie or on the frame, and of the allocator's edits.

use crate::branches::{jump, jump_if};
use crate::encode::{Args, encode};
use crate::encoding::Special;
use crate::regs::invert;
use crate::rows::{self, ENCODINGS};
use crate::{atomic_loop, frame};
use kingpost_ir::TrapCode;
use kingpost_mach::{Buffer, EmitContext, Label, MInst, MachineEdit, NO_BLOCK, RowId};
use kingpost_regalloc::{Block, PReg, RegClass};

/// Emits one instruction.
pub(crate) fn emit(inst: &MInst, cx: &EmitContext<'_>, buffer: &mut Buffer) {
    let encoding = &ENCODINGS[usize::from(inst.row.0)];
    let imm = if encoding.imm == 8 { inst.imm64() as i64 } else { i64::from(inst.imm) };
    let args = Args { regs: cx.regs, mem: cx.mem, imm, symbols: cx.symbols };
    match encoding.special {
        Special::No => single(inst, &args, buffer),
        Special::Jump => jump_unless_next(inst.aux, cx.next, buffer),
        Special::JumpIf => branch(inst, cx.next, buffer),
        Special::JumpIfOr => branch_or(Conditions::of(inst), inst.aux, inst.extra, cx.next, buffer),
        // Both hold unless one of the opposites does.
        Special::JumpIfAnd => {
            branch_or(Conditions::of(inst).inverted(), inst.extra, inst.aux, cx.next, buffer);
        }
        Special::TrapIf | Special::TrapIfOr => trap_if(inst, encoding.special, buffer),
        Special::Leave => frame::epilogue(cx.frame, buffer, |buffer| match inst.row {
            rows::RET => frame::ret(cx.frame, buffer),
            _ => single(inst, &args, buffer),
        }),
        Special::AtomicLoop(operation) => {
            if let Some(code) = inst.trap() {
                buffer.trap(code);
            }
            atomic_loop::emit(operation, encoding.mem, &args, buffer);
        }
    }
}

/// Emits `ud2` with its site.
pub(crate) fn emit_trap(code: TrapCode, buffer: &mut Buffer) {
    buffer.trap(code);
    encode(rows::UD2, &Args::default(), buffer);
}

fn single(inst: &MInst, args: &Args<'_>, buffer: &mut Buffer) {
    if let Some(code) = inst.trap() {
        buffer.trap(code);
    }
    encode(inst.row, args, buffer);
}

fn label(block: u32) -> Label {
    Label::new(block as usize)
}

fn is_next(block: u32, next: Option<Block>) -> bool {
    next.is_some_and(|next| next.as_u32() == block)
}

fn jump_unless_next(block: u32, next: Option<Block>, buffer: &mut Buffer) {
    if !is_next(block, next) {
        jump(label(block), buffer);
    }
}

/// `jcc taken`, and `jmp other` unless it comes next; the other way round if `taken` comes next.
fn branch(inst: &MInst, next: Option<Block>, buffer: &mut Buffer) {
    let (taken, other) = (inst.aux, inst.extra);
    if taken == other || other == NO_BLOCK {
        jump_unless_next(taken, next, buffer);
    } else if is_next(taken, next) {
        jump_if(invert(inst.imm), label(other), buffer);
    } else {
        jump_if(inst.imm, label(taken), buffer);
        jump_unless_next(other, next, buffer);
    }
}

/// The two conditions in an instruction's immediate.
#[derive(Clone, Copy)]
struct Conditions(i32, i32);

impl Conditions {
    fn of(inst: &MInst) -> Conditions {
        Conditions(inst.imm & 0xffff, inst.imm >> 16)
    }

    fn inverted(self) -> Conditions {
        Conditions(invert(self.0), invert(self.1))
    }
}

/// To `taken` if either condition holds, else to `other`.
fn branch_or(conditions: Conditions, taken: u32, other: u32, next: Option<Block>, buffer: &mut Buffer) {
    let Conditions(first, second) = conditions;
    if taken == other {
        jump_unless_next(taken, next, buffer);
        return;
    }
    jump_if(first, label(taken), buffer);
    if is_next(taken, next) {
        jump_if(invert(second), label(other), buffer);
    } else {
        jump_if(second, label(taken), buffer);
        jump_unless_next(other, next, buffer);
    }
}

/// Jumps to a trap behind the code if the condition, or either of the two, holds.
fn trap_if(inst: &MInst, special: Special, buffer: &mut Buffer) {
    let Some(code) = inst.trap() else {
        debug_assert!(false, "a conditional trap has a code");
        return;
    };
    let trap = buffer.defer_trap(code);
    let Conditions(first, second) = Conditions::of(inst);
    jump_if(first, trap, buffer);
    if special == Special::TrapIfOr {
        jump_if(second, trap, buffer);
    }
}

/// Emits one edit. None of these instructions touches the flags.
pub(crate) fn emit_edit(edit: &MachineEdit, buffer: &mut Buffer) {
    match *edit {
        MachineEdit::Move(from, to, width) => encode(move_row(from, width), &Args::regs(&[to, from]), buffer),
        MachineEdit::Exchange(a, b, width) => {
            debug_assert_eq!(a.class(), RegClass::Int, "only general-purpose registers can be exchanged");
            let row = if width <= 4 { rows::XCHG32_RR } else { rows::XCHG64_RR };
            encode(row, &Args::regs(&[a, b]), buffer);
        }
        MachineEdit::Spill(from, to, width) => encode(spill_row(from, width), &Args::mem(&[from], to), buffer),
        MachineEdit::Fill(from, to, width) => encode(fill_row(to, width), &Args::mem(&[to], from), buffer),
    }
}

fn move_row(reg: PReg, width: u8) -> RowId {
    match (reg.class(), width) {
        (RegClass::Int, ..=4) => rows::MOV32_RR,
        (RegClass::Int, _) => rows::MOV64_RR,
        (RegClass::Float, _) => rows::MOVAPS_RR,
    }
}

fn spill_row(reg: PReg, width: u8) -> RowId {
    match (reg.class(), width) {
        (RegClass::Int, ..=1) => rows::MOV8_MR,
        (RegClass::Int, 2) => rows::MOV16_MR,
        (RegClass::Int, 3..=4) => rows::MOV32_MR,
        (RegClass::Int, _) => rows::MOV64_MR,
        (RegClass::Float, ..=4) => rows::MOVSS_MR,
        (RegClass::Float, 5..=8) => rows::MOVSD_MR,
        (RegClass::Float, _) => rows::MOVUPS_MR,
    }
}

fn fill_row(reg: PReg, width: u8) -> RowId {
    match (reg.class(), width) {
        (RegClass::Int, ..=1) => rows::MOVZX32_8_RM,
        (RegClass::Int, 2) => rows::MOVZX32_16_RM,
        (RegClass::Int, 3..=4) => rows::MOV32_RM,
        (RegClass::Int, _) => rows::MOV64_RM,
        (RegClass::Float, ..=4) => rows::MOVSS_RM,
        (RegClass::Float, 5..=8) => rows::MOVSD_RM,
        (RegClass::Float, _) => rows::MOVUPS_RM,
    }
}
